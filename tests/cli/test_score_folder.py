"""`halluscope score --responses FOLDER`: each file under the benchmark that `inspect` names."""

import json
import shutil

import pytest

import halluscope
from halluscope import cli

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_folder_becomes_a_table(upstream, tmp_path, monkeypatch, capsys):
    """LLaVA's own responses to POPE, under two names; a file that is none is named, and left out."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    (file,) = (upstream / "wild/Haoming2000__VLM-Benchmarks").glob("*llava-v1.5-13b.jsonl")
    (tmp_path / "files").mkdir()
    shutil.copy(file, tmp_path / "files/llava 13b.jsonl")
    no = [{**json.loads(line), "text": "No"} for line in file.read_text().splitlines()]
    for row in no:
        row["model_id"] = "no-man"
    (tmp_path / "files/no.jsonl").write_text("\n".join(map(json.dumps, no)))
    (tmp_path / "files/notes.txt").write_text("Not responses.")
    (tmp_path / "files/.hidden").write_text("{}")
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 0
    out, err = capsys.readouterr()
    assert "Not scored:\n  notes.txt: " in err and ".hidden" not in err
    assert "halluscope score pope --responses 'files/llava 13b.jsonl' files/no.jsonl --dataset pope" in out
    assert "Next: `halluscope table runs`" in err.splitlines()[-1]
    table = halluscope.table("runs", preset="decoding")
    assert round(table["llava-v1.5-13b"]["pope/f1_mean"], 3) == 0.859
    assert table["no-man"]["pope/accuracy"] == pytest.approx(0.5, abs=0.02)


def test_a_folder_with_a_text_per_subtask_is_one_model(upstream, tmp_path, monkeypatch, capsys):
    """Alone, and beside other files."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    shutil.copytree(upstream / "mme/LaVIN", tmp_path / "files/LaVIN")
    for folder, out in (("files/LaVIN", "alone"), ("files", "beside")):
        assert cli.main(["score", "--responses", folder, "--out", out, "--quiet"]) == 0
        assert halluscope.table(out)["LaVIN"]["mme/hallucination"] == pytest.approx(411.67, abs=0.01)


def test_files_called_as_the_subtasks_that_they_answer_are_one_models(upstream, tmp_path, monkeypatch):
    """JSON per subtask, in folders of one name, as ICD's script writes them: each file was a model of its own."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    for run in ("baseline", "icd"):
        folder = tmp_path / "files" / run / "None"
        folder.mkdir(parents=True)
        for file in (upstream / "mme/LaVIN").glob("*.txt"):
            rows = []
            for line in file.read_text().splitlines():
                image, asked, right, text = line.split("\t")
                asked = f"{asked} Use one word."
                rows.append(
                    {"image": [f"/mme/{image}"], "question": asked, "gt_ans": right, "pred_ans": text}
                )
            (folder / f"{file.stem}.json").write_text(json.dumps(rows))
    assert cli.main(["score", "--responses", "files", "--out", "runs", "--quiet"]) == 0
    table = halluscope.table("runs")
    for run in ("baseline", "icd"):
        assert table[f"{run}/None"]["mme/hallucination"] == pytest.approx(411.67, abs=0.01)


def test_a_table_that_was_written_again_is_scored_once(upstream, tmp_path, monkeypatch, capsys):
    """As VLMEvalKit writes what it read in each response; another model's answers are kept."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    (tmp_path / "files").mkdir()
    lines = (upstream / "mme/LaVIN/color.txt").read_text().splitlines()
    for name in ("A_MME", "A_MME_auxmatch", "A_MME_v2"):
        table = ["index\timage_path\tquestion\tanswer\tprediction"]
        for number, line in enumerate(lines):
            image, asked, right, text = line.split("\t")
            if name == "A_MME_v2":
                text = f"{text}, I think."
            table.append(f"{number}\tcolor/{image}\t{asked}\t{right}\t{text}")
        (tmp_path / "files" / f"{name}.tsv").write_text("\n".join(table))
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 0
    assert list(halluscope.table("runs")) == ["A_MME", "A_MME_v2"]
    assert "A_MME_auxmatch.tsv: the same responses as A_MME.tsv." in capsys.readouterr().err


def test_a_models_parts_are_joined_and_what_is_left_out_says_what_to_type(
    upstream, tmp_path, monkeypatch, capsys
):
    """A file per sampling, in a folder of its own, beside descriptions, answers that need a judge, and reviews."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    inner = tmp_path / "files" / "vcd"
    inner.mkdir(parents=True)
    for file in (upstream / "wild/ustc-hyin__cd_rethink").glob("*greedy.jsonl"):
        shutil.copy(file, inner / file.name.removeprefix("outputs__pope__baseline__"))
    shutil.copy(upstream / "responses/opera_minigpt4_greedy.jsonl", inner)
    bench = upstream / "llava_bench_wild"
    shutil.copy(bench / "answers/llava-v1.5-7b.jsonl", inner)
    shutil.copy(bench / "reviews/llava-v1.5-7b-eval1.jsonl", inner)
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 0
    out, err = capsys.readouterr()
    assert "--responses llava-7b-coco-greedy=files/vcd/llava-7b-coco-adversarial-greedy.jsonl,files" in out
    assert "`halluscope score chair --responses FILE... --dataset DATASET --out runs/chair`" in err
    assert "eval1.jsonl: verdicts, not responses" in err and "--dataset llava_bench --ratings FILE" in err
    (model,) = halluscope.table("runs", preset="decoding").values()
    assert model["pope/f1_mean"] == pytest.approx(0.84, abs=0.001)


def test_responses_that_cannot_be_scored_together_say_why(upstream, tmp_path, monkeypatch, refused, ran):
    """A missing half of a pair of MME's questions; ratings of another model's answers."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    shutil.copytree(upstream / "mme/LaVIN", "LaVIN")
    lines = (tmp_path / "LaVIN/color.txt").read_text().splitlines()
    (tmp_path / "LaVIN/color.txt").write_text("\n".join(lines[:-1]))
    assert "both questions about an image" in refused("score mme --responses LaVIN --dataset mme")
    bench = upstream / "llava_bench_wild"
    halluscope.build("llava_bench", bench)
    rows = [json.loads(line) for line in (bench / "answers/llava-v1.5-7b.jsonl").read_text().splitlines()]
    other = [row | {"answer_id": f"other {row['question_id']}"} for row in rows]
    (tmp_path / "other.jsonl").write_text("\n".join(map(json.dumps, other)))
    reviews = bench / "reviews/llava-v1.5-7b-eval1.jsonl"
    ran(
        "score llava_bench --dataset llava_bench --responses",
        bench / "answers/llava-v1.5-7b.jsonl",
        "--ratings",
        reviews,
    )
    rows = [json.loads(line) for line in reviews.read_text().splitlines()]
    as_texts = [row | {"question_id": str(row["question_id"])} for row in rows]
    (tmp_path / "as_texts.jsonl").write_text("\n".join(map(json.dumps, as_texts)))
    for ratings in (reviews, "as_texts.jsonl"):
        score = ["score llava_bench --dataset llava_bench --responses other.jsonl --ratings", ratings]
        assert "ratings of other responses" in refused(*score)


@pytest.mark.parametrize(
    ("lacks", "said"),
    [("answer_id", "the responses have no answer_id"), ("answer2_id", "60 of the 60 reviews")],
)
def test_reviews_that_may_be_another_models_are_told(lacks, said, upstream, tmp_path, monkeypatch, ran):
    monkeypatch.chdir(tmp_path)
    bench = upstream / "llava_bench_wild"
    halluscope.build("llava_bench", bench)
    files = {
        "answers.jsonl": "answers/llava-v1.5-7b.jsonl",
        "reviews.jsonl": "reviews/llava-v1.5-7b-eval1.jsonl",
    }
    for name, source in files.items():
        rows = [json.loads(line) for line in (bench / source).read_text().splitlines()]
        for row in rows:
            row.pop(lacks, None)
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(UserWarning, match=f"{said}.* not checked that these responses are rated"):
        ran("score llava_bench --responses answers.jsonl --dataset llava_bench --ratings reviews.jsonl")


def test_a_folder_per_model_names_the_models(upstream, tmp_path, monkeypatch, capsys):
    """Files named alike in each model's folder make one row per model, also with a file per sampling of POPE."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    files = {"mme.jsonl": upstream / "mme/mme_benchmark.jsonl"}
    for sampling in ("random", "popular", "adversarial"):
        files[f"pope_{sampling}.jsonl"] = upstream / f"pope/coco/coco_pope_{sampling}.json"
    for model in ("one", "other"):
        (tmp_path / "files" / model).mkdir(parents=True)
        for name, questions in files.items():
            rows = [json.loads(line) for line in questions.read_text().splitlines()]
            for number, row in enumerate(rows):
                row["response"] = ("Yes", "No", "No")[number % 3]
            (tmp_path / "files" / model / name).write_text("\n".join(map(json.dumps, rows)))
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 0
    assert "one=files/one/mme.jsonl other=files/other/mme.jsonl --dataset mme" in capsys.readouterr().out
    table = halluscope.table("runs")
    assert {name: sorted(row) for name, row in table.items()} == {
        "one": ["mme/hallucination", "pope/accuracy"],
        "other": ["mme/hallucination", "pope/accuracy"],
    }


def test_what_cannot_be_scored_is_said(tmp_path, refused):
    (tmp_path / "one.json").write_text("[]")
    (tmp_path / "empty").mkdir()
    for name, said in (("one.json", "expected a folder with files of responses"), ("empty", "No file in")):
        assert said in refused("score --responses", tmp_path / name, "--out", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    assert "is a folder; expected a file" in refused(
        "score pope --dataset pope --responses", tmp_path / "empty"
    )


def test_one_models_folder_names_the_model(upstream, tmp_path, monkeypatch, ran):
    """Files that are called as benchmarks, whether the folder itself is named, or the one that holds it."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    ours = tmp_path / "answers" / "ours"
    ours.mkdir(parents=True)
    (answers,) = (upstream / "wild/ShunqiM__PM").iterdir()
    shutil.copy(answers, ours / "pope.jsonl")  # its rows state another name
    rows = [json.loads(line) for line in (upstream / "mme/mme_benchmark.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        row["response"] = ("Yes", "No", "No")[number % 3]
    (ours / "MME.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for folder, out in (("answers/ours", "alone"), ("answers", "beside")):
        ran(f"score --responses {folder} --out {out}")
        assert {name: sorted(row) for name, row in halluscope.table(out).items()} == {
            "ours": ["mme/hallucination", "pope/accuracy"]
        }


def test_a_file_that_is_called_as_a_benchmark_is_that_ones(upstream, tmp_path, monkeypatch, ran, refused):
    """Descriptions fit several; what has the images is still to be named, in a command that names the models."""
    monkeypatch.chdir(tmp_path)
    for name in ("llava", "instructblip"):
        folder = tmp_path / "answers" / name
        folder.mkdir(parents=True)
        shutil.copy(upstream / f"responses/pope_instruction1_{name}.jsonl", folder / "chair.jsonl")
    said = refused("score --responses answers --out runs")
    assert "`halluscope score chair --help` says what that can be" in said
    files = "--responses instructblip=answers/instructblip/chair.jsonl llava=answers/llava/chair.jsonl"
    assert f"`halluscope score chair {files} --dataset DATASET --out runs/chair`" in said
    objects = upstream / "chair/coco2014_chair_objects.json.gz"
    ran(f"score chair {files} --synonyms names --out runs/chair --bootstrap 0 --dataset", objects)
    assert list(halluscope.table("runs")) == ["instructblip", "llava"]


def answer(questions, file, most=None):
    """Write made answers to the first questions of an upstream file, JSON lines or one list."""
    text = questions.read_text()
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    for number, row in enumerate(rows):
        row["response"] = ("Yes", "No", "No")[number % 3]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(json.dumps, rows[:most])))


def test_each_file_of_many_is_scored_once_or_named(upstream, tmp_path, monkeypatch, capsys):
    """Parts of two models named alike, one part alone, another config, and what is not scored, each for its reason."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    halluscope.build("pope", upstream / "pope", out="files/built")  # no responses, and no word of it
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    random, popular, last = (
        upstream / f"pope/coco/coco_pope_{name}.json" for name in ("random", "popular", "adversarial")
    )
    files = tmp_path / "files"
    for folder in ("a", "b"):
        answer(random, files / folder / "m_random.jsonl")
        answer(popular, files / folder / "m_popular.jsonl")
    answer(popular, files / "b/m-popular.jsonl")
    answer(last, files / "a/alone_adversarial.jsonl")
    answer(upstream / "pope/gqa/gqa_pope_seem_random.json", files / "other.jsonl")
    answer(upstream / "mme/mme_benchmark.jsonl", files / "c/half.jsonl", most=1187)
    answer(random, files / "c/out.jsonl")  # of two benchmarks, so that the folder is a model's
    answer(random, files / "d/out.jsonl")
    for name in "abcd":
        shutil.copy(random, files / f"{name}.json")
    shutil.copy(upstream / "mme/mme_benchmark.jsonl", files / "right.jsonl")
    (files / "unknown.jsonl").write_text('{"nr": 1, "response": "Blue."}\n{"nr": 2, "response": "Red."}')
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 2
    err = capsys.readouterr().err
    assert "mme: 1 of 594 images have not two questions" in err
    assert (
        "1 of 3 benchmarks were not scored: mme." in err and "`halluscope table runs` shows the others" in err
    )
    assert "a.json, b.json, c.json and 1 more: questions, not responses." in err
    assert "right.jsonl: files/right.jsonl: the column 'answer' is the right answer" in err
    assert "unknown.jsonl: which benchmark these responses are for is not known" in err and "built" not in err
    folders = sorted(path.name for path in (tmp_path / "runs/pope-2").iterdir())
    assert folders == ["a_m", "alone_adversarial", "b_m", "c", "m_popular", "out"]
    assert list(halluscope.table("runs/pope")) == ["other"]


def test_a_folder_per_model_names_models_whatever_their_files_are_called(upstream, tmp_path, monkeypatch):
    """Each harness names its files in its own way; folders with responses to the same benchmarks are models."""
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "pope")
    halluscope.build("mme", upstream / "mme/mme_benchmark.jsonl")
    names = {"one": ("20251103_samples_pope", "20251103_samples_mme"), "other": ("one_POPE", "mme-answers")}
    for model, (pope, mme) in names.items():
        folder = tmp_path / "files" / model
        folder.mkdir(parents=True)
        answer(upstream / "pope/coco/coco_pope_random.json", folder / f"{pope}.jsonl")
        answer(upstream / "mme/mme_benchmark.jsonl", folder / f"{mme}.jsonl")
    assert cli.main(["score", "--responses", "files", "--out", "runs"]) == 0
    assert sorted(halluscope.table("runs")) == ["one", "other"]
