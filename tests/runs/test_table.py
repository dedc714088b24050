"""The table of a paper, from runs of several benchmarks."""

import json
from html import unescape
from pathlib import Path

import pytest

import halluscope
from halluscope import cli, registry
from halluscope.building.fetch import sha256_of
from halluscope.errors import RunError
from halluscope.reporting.formats import MARKDOWN, written
from halluscope.reporting.tables import to_json
from tests import small_datasets
from tests.runs.made import made
from tests.small_datasets import needs

pytestmark = [pytest.mark.filterwarnings("ignore"), needs("pope"), needs("mmhal")]

SAMPLINGS = ("random", "popular", "adversarial")


@pytest.fixture
def datasets(tmp_path):
    return {
        "pope": f"{small_datasets.build('pope', tmp_path / 'pope')}:coco",
        "mmhal": str(small_datasets.build("mmhal", tmp_path / "mmhal")),
    }


def pope(datasets, out: Path, model: str, said: str, **options) -> Path:
    """Score a model that says the same to all of POPE's 18 small questions."""
    rows = []
    for sampling in SAMPLINGS:
        for number in range(6):
            rows.append({"question_id": number, "sampling": sampling, "response": said})
    file = out.parent / f"{model}.json"
    file.write_text(json.dumps(rows))
    halluscope.score("pope", str(file), datasets["pope"], out=out, **options)
    return out


def mmhal(datasets, out: Path, model: str, ratings: list[int]) -> Path:
    rows = [{"id": number, "response": "Two dogs."} for number in range(len(ratings))]
    file = out.parent / f"{model}.json"
    file.write_text(json.dumps(rows))
    given = [{"id": number, "rating": rating} for number, rating in enumerate(ratings)]
    halluscope.score("mmhal", str(file), datasets["mmhal"], out=out, ratings=given)
    return out


@pytest.fixture
def runs(datasets, tmp_path):
    """Two models on POPE, one of them on MMHal-Bench too."""
    (tmp_path / "runs").mkdir()
    return [
        pope(datasets, tmp_path / "runs/a", "yes-man", "Yes"),
        pope(datasets, tmp_path / "runs/b", "no-man", "No"),
        mmhal(datasets, tmp_path / "runs/c", "no-man", [6, 0, 3]),
    ]


def test_the_command_prints_what_python_gets(runs, capsys):
    words = [str(run) for run in runs]
    assert cli.main(["table", *words, "--json"]) == 0
    expected = json.loads(to_json(halluscope.table(*runs)))
    assert json.loads(capsys.readouterr().out) == expected
    assert cli.main(["table", *words, "--scores", "pope/f1", "--format", "latex"]) == 0
    assert "\\toprule" in capsys.readouterr().out
    assert cli.main(["table", *words, "--preset", "decoding"]) == 0
    assert "--preset decoding --format latex` for a paper" in capsys.readouterr().err
    assert cli.main(["table", *words, "--preset", "decodign"]) == 2
    assert "Did you mean 'decoding'?" in capsys.readouterr().err
    with pytest.raises(ValueError, match="preset is 3; expected a text"):
        halluscope.table(*runs, preset=3)


def test_a_row_per_model_in_the_order_given(runs):
    table = halluscope.table(*runs)
    assert list(table) == ["yes-man", "no-man"]
    assert list(halluscope.table(runs[2], runs[0], runs[1])) == ["no-man", "yes-man"]
    pope_of = json.loads((runs[1] / "scores.json").read_text())
    assert table["no-man"]["pope/accuracy"] == pope_of["accuracy"]
    assert table["no-man"]["mmhal/rating"] == 3.0
    assert table["yes-man"]["mmhal/rating"] is None
    assert [row["model"] for row in table.rows] == ["yes-man", "no-man"]


def test_a_count_is_no_share(runs, ran):
    table = halluscope.table(*runs[:2], scores=["pope/rows", "pope/accuracy"])
    assert table["yes-man"]["pope/rows"] == 18 and " 18 " in str(table) and "1800" not in str(table)
    said = ran("table", *runs[:2], "--scores", "pope/rows", "--format", "csv").out
    assert said.splitlines()[1] == "yes-man,18"


def test_presets_show_what_papers_print(runs):
    decoding = halluscope.table(*runs, preset="decoding")
    assert list(decoding["yes-man"]) == ["pope/accuracy", "pope/f1_mean"]
    preference = halluscope.table(*runs, preset="preference")
    assert list(preference["no-man"]) == ["mmhal/rating", "mmhal/hallucination_rate", "pope/f1_mean"]
    printed = " ".join(written(decoding.report, MARKDOWN).split())
    assert "There are no runs of chair, mme" in printed
    assert "The preset decoding does not show the runs of mmhal." in printed


@pytest.mark.parametrize(
    "benchmark", [one for one in registry.benchmarks() if one.presets], ids=lambda one: one.name
)
def test_each_column_of_a_preset_can_be_tested(benchmark, tmp_path):
    """It has an interval, or a reason why not: without either, no model's score could be the best beyond chance."""
    scores = made(benchmark, tmp_path).scores
    for preset in benchmark.presets.values():
        for column in preset.columns:
            assert column.score in {**scores["interval"], **scores.get("no_interval", {})}


def test_models_that_share_no_row_are_named(runs):
    assert "No model has two runs here" in str(halluscope.table(runs[0], runs[2]))
    assert "No model has two runs here" not in str(halluscope.table(*runs))
    assert "No model has two runs here" not in str(halluscope.table(*runs[:2]))


def test_datasets_of_one_benchmark_have_columns_each(datasets, tmp_path):
    """As decoding papers print POPE on COCO, A-OKVQA and GQA."""
    runs = []
    for config in ("coco", "gqa"):
        (tmp_path / config).mkdir()
        of_config = {"pope": datasets["pope"].replace(":coco", f":{config}")}
        runs.append(pope(of_config, tmp_path / config / "run", "yes-man", "Yes"))
    table = halluscope.table(*runs)
    assert list(table["yes-man"]) == ["pope:coco/accuracy", "pope:gqa/accuracy"]
    assert "POPE (gqa) accuracy" in str(table)
    named = halluscope.table(*runs, scores=["pope:gqa/recall"])
    assert named["yes-man"] == {"pope:gqa/recall": 1.0}


@needs("repope")
def test_a_column_names_the_dataset_that_it_is_about(datasets, tmp_path):
    """RePOPE's runs stood below "POPE", alone, and below "POPE (default)" beside POPE's."""
    first = pope(datasets, tmp_path / "a", "yes-man", "Yes")
    corrected = {"pope": str(small_datasets.build("repope", tmp_path / "repope"))}
    second = pope(corrected, tmp_path / "b", "yes-man", "Yes", partial=True)
    assert "POPE (repope) Acc. \u2191" in str(halluscope.table(second, preset="decoding"))
    both = halluscope.table(first, second)
    assert list(both["yes-man"]) == ["pope/accuracy", "repope/accuracy"]
    assert "POPE accuracy" in str(both) and "POPE (repope) accuracy" in str(both)
    assert list(halluscope.table(second, scores=["repope/f1"])["yes-man"]) == ["repope/f1"]
    gqa = {"pope": datasets["pope"].replace(":coco", ":gqa")}
    alone = halluscope.table(pope(gqa, tmp_path / "c", "yes-man", "Yes"))
    assert "POPE (gqa) accuracy" in str(alone)


def test_how_files_were_written_and_asked_is_said_below(datasets, tmp_path):
    """Labels and chats were refused in a column of texts; prompts that differ stood there in silence."""
    rows = {"labels": [], "asked": []}
    for sampling in SAMPLINGS:
        for number, thing in enumerate(("dog", "cat", "cup", "bus", "bench", "kite")):
            row = {"question_id": number, "sampling": sampling}
            prompt = f"Is there a {thing} in the image?\nAnswer in a word."
            rows["labels"].append(row | {"response": number % 2})
            rows["asked"].append(row | {"prompt": prompt, "response": "Yes"})
    runs = []
    for model, responses in rows.items():
        file = tmp_path / f"{model}.json"
        file.write_text(json.dumps(responses))
        runs.append(tmp_path / f"run-{model}")
        halluscope.score("pope", str(file), datasets["pope"], out=runs[-1])
    printed = " ".join(str(halluscope.table(*runs)).split())
    assert "responses are labels: labels 1,0" in printed
    assert "labels not stated, asked '{question} Answer in a word.'" in printed
    assert "prompts differ" not in str(halluscope.table(runs[1]))


def test_doubts_stay_with_a_run(datasets, tmp_path):
    """Though the filter of warnings above hides them from who scored."""
    ours = pope(datasets, tmp_path / "ours", "ours", "ERROR")
    doubt = "18 of 18 responses are a program's note that it has none, such as 'ERROR'"
    unchecked = "They state neither question nor image"
    notes = json.loads((ours / "run.json").read_text())["notes"]
    assert notes[0].startswith(unchecked) and notes[1].startswith(doubt)
    assert f"  ours: {doubt}" in str(halluscope.table(ours))
    assert f"  ours: {unchecked}" in str(halluscope.table(ours))
    halluscope.report(ours).save(tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text())
    assert doubt in page and unchecked in page
    assert list(halluscope.verify(ours)[str(ours)]) == []


def test_a_page_says_once_what_a_note_says_too(datasets, tmp_path):
    ours = pope(datasets, tmp_path / "ours", "ours", "<think>There may be a dog")
    halluscope.report(ours).save(tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text())
    assert page.count("18 of 18 responses are a thought that never ends") == 1
    facts = json.loads((ours / "run.json").read_text())
    del facts["notes"]  # as in a run of an earlier version
    (ours / "run.json").write_text(json.dumps(facts))
    sums = (ours / "SHA256SUMS").read_text().splitlines()
    sums = [f"{sha256_of(ours / line[66:])}  {line[66:]}" for line in sums]
    (ours / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    halluscope.report(ours).save(tmp_path / "earlier.html")
    page = unescape((tmp_path / "earlier.html").read_text())
    assert page.count("18 of 18 responses are a thought that never ends") == 1


def test_a_build_that_was_changed_is_told(datasets, tmp_path):
    import pandas

    built = pope(datasets, tmp_path / "built", "ours", "Yes")
    (file,) = Path(datasets["pope"].removesuffix(":coco")).glob("data/coco/*.parquet")
    rows = pandas.read_parquet(file)
    rows["answer"] = "yes"
    rows.to_parquet(file)
    with pytest.warns(UserWarning, match="is not the file that `halluscope build` wrote here"):
        changed = pope(datasets, tmp_path / "changed", "ours", "Yes")
    origins = [json.loads((run / "scores.json").read_text())["origin"] for run in (built, changed)]
    assert origins == ["subset", "other file"]


def test_captions_without_their_last_sentence_do_not_stand_beside_whole_ones(tmp_path):
    runs = []
    (tmp_path / "dataset.json").write_text(json.dumps([{"image_id": 1, "objects": ["dog"]}]))
    for model, is_dropped in (("whole", False), ("cut", True)):
        (tmp_path / f"{model}.json").write_text(json.dumps([{"image_id": 1, "caption": "A dog. A cat"}]))
        runs.append(tmp_path / f"run-{model}")
        options = {"synonyms": "names", "drop_unfinished": is_dropped}
        dataset = str(tmp_path / "dataset.json")
        halluscope.score("chair", str(tmp_path / f"{model}.json"), dataset, out=runs[-1], **options)
    with pytest.raises(RunError, match=r"unfinished is not set \(whole\) and dropped \(cut\)"):
        halluscope.table(*runs)


def test_ratings_by_different_judges_do_not_stand_in_one_column(datasets, tmp_path):
    """Where the judges' replies name their model, as OpenAI's do."""
    runs = []
    for model, judge in (("one", "gpt-4-0314"), ("other", "gpt-4o"), ("third", None)):
        file = tmp_path / f"{model}.json"
        file.write_text(json.dumps([{"id": number, "response": "Two dogs."} for number in range(3)]))
        message = {"message": {"role": "assistant", "content": "Rating: 4"}}
        given = [{"id": number, "choices": [message]} for number in range(3)]
        if judge:
            given = [reply | {"model": judge} for reply in given]
        ratings = tmp_path / f"{model}-ratings.json"
        ratings.write_text(json.dumps(given))
        runs.append(tmp_path / f"run-{model}")
        halluscope.score("mmhal", str(file), datasets["mmhal"], out=runs[-1], ratings=str(ratings))
    with pytest.raises(RunError, match=r"gpt-4-0314 \(one\) and given,.*gpt-4o \(other\)"):
        halluscope.table(*runs[:2])
    unnamed = r"gpt-4o \(other\) and given,[^(]*\(third\): other judges or prompts for them, as far as they are named"
    with pytest.raises(RunError, match=unnamed):
        halluscope.table(*runs[1:])
    assert not any(halluscope.verify(*runs).values())


def test_other_questions_are_named_with_a_command_for_each_kind(upstream, tmp_path, monkeypatch):
    """LLaVA's questions are an older version, which has 8,910 rows."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    llava = (
        upstream
        / "wild/Haoming2000__VLM-Benchmarks/playground__data__eval__pope__answers__llava-v1.5-13b.jsonl"
    )
    rethink = upstream / "wild/ustc-hyin__cd_rethink"
    parts = ",".join(str(file) for file in sorted(rethink.glob("*greedy.jsonl")))
    halluscope.score("pope", {"one": str(llava), "other": f"other={parts}"}, "datasets/pope", out="runs")
    with pytest.raises(RunError) as refusal:
        halluscope.table("runs", preset="decoding")
    for line in (
        "questions is 2023-05 (one) and 2023-10 (other): other versions of the questions.",
        "`halluscope table runs/one`",
        "`halluscope table runs/other`",
    ):
        assert line in str(refusal.value).splitlines()


def test_what_cannot_stand_in_one_column(datasets, tmp_path):
    first = pope(datasets, tmp_path / "a", "yes-man", "Yes")
    strict = pope(datasets, tmp_path / "b", "other", "No", parser="strict")
    again = pope(datasets, tmp_path / "c", "yes-man", "No")
    message = r"parser is pope \(yes-man\) and strict \(other\): scored by other conventions"
    with pytest.raises(RunError, match=message):
        halluscope.table(first, strict)
    with pytest.raises(RunError, match="Two runs are of POPE by 'yes-man'"):
        halluscope.table(first, again)
    kinds = [first, strict]
    for parser in ("lmms-eval", "vlmevalkit"):
        kinds.append(pope(datasets, tmp_path / parser, parser, "No", parser=parser))
    with pytest.raises(RunError, match="or make a table of each kind, by the folders of its runs"):
        halluscope.table(*kinds)


def test_bad_arguments(runs):
    with pytest.raises(ValueError, match="pope has no score 'f7'; expected one of accuracy"):
        halluscope.table(*runs, scores=["pope/f7"])
    with pytest.raises(ValueError, match="There is no run of 'chair'"):
        halluscope.table(*runs, scores=["chair/chair_i"])
    with pytest.raises(ValueError, match="leave one of them out"):
        halluscope.table(*runs, preset="decoding", scores=["pope/f1"])
    with pytest.raises(RunError, match="No run is of a benchmark that the preset 'decoding' shows; .* chair"):
        halluscope.table(runs[2], preset="decoding")
    with pytest.raises(RunError, match="There is no run in nowhere"):
        halluscope.table("nowhere")
