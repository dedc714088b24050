"""`halluscope inspect` says what files are."""

import json
import os
import re
from pathlib import Path

import pytest

from halluscope import cli
from halluscope.inspection.inspecting import inspect
from tests import small_datasets

QUESTION = "Is there a {} in the image?"
THINGS = ("dog", "cat", "car")
PROMPTS = [
    f"{QUESTION.format(thing)}\nAnswer the question using a single word or phrase." for thing in THINGS
]


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def inspected(tmp_path):
    return lambda content: inspect(written(tmp_path / "r.json", content))


def test_responses_of_a_benchmark_are_recognised(inspected, tmp_path):
    rows = [
        {"question_id": place, "prompt": prompt, "text": "Yes" if place else "<think>A dog?</think>Yes"}
        for place, prompt in enumerate(PROMPTS)
    ]
    inspection = inspected(rows)
    assert (inspection.kind, inspection.benchmarks, inspection.rows) == ("responses", ["pope"], 3)
    assert inspection.columns == {"id": "question_id", "text": "text", "question": "prompt"}
    assert inspection.odd == {"with thoughts": 1}
    assert "3 questions in another order, or made anew" in str(inspection)
    assert inspection.command == f"halluscope score pope --responses {tmp_path / 'r.json'} --dataset DATASET"
    rows = [
        {"image_id": place, "caption": "A dog runs over a green lawn after a ball."} for place in range(3)
    ]
    inspection = inspected({"config": {}, "captions": rows, "seed": 4})
    assert {"throne", "chair"} <= set(inspection.benchmarks) and inspection.columns["image"] == "image_id"


def test_several_models_in_one_file_are_counted(inspected):
    rows = [
        {"question_id": place, "prompt": prompt, "text": "Yes", "model": model}
        for model in ("one", "other")
        for place, prompt in enumerate(PROMPTS)
    ]
    assert "2 LVLMs in the column model, which need a file each" in str(inspected(rows))
    assert "LVLMs in the column" not in str(inspected(rows[:3]))


@pytest.mark.parametrize("tasks", [("pope", "repope"), ("mine", "mine"), ("object_enumeration",) * 2])
def test_samples_of_no_one_benchmark(tasks, inspected):
    logs = [inspect_log(task)["samples"][0] for task in tasks]
    log = inspect_log("pope") | {"samples": [one | {"id": str(place)} for place, one in enumerate(logs)]}
    with pytest.raises(ValueError, match="holds no samples; expected a log"):
        inspected(log | {"samples": None})
    inspection = inspected(log)
    assert inspection.kind == "responses" and not inspection.benchmarks and not inspection.command


def test_replies_of_a_judge_that_is_not_known(inspected):
    replies = [{"index": 0, "judge_text": "Rather good."}]
    assert inspected(replies).kind == "verdicts" and not inspected(replies).benchmarks


def test_rows_without_a_response_and_empty_ones_are_counted_apart(inspected):
    rows = [{"question_id": place, "prompt": prompt, "text": "Yes"} for place, prompt in enumerate(PROMPTS)]
    rows[0]["text"], rows[1]["text"] = None, ""
    assert inspected(rows).odd == {"without a response": 1, "empty": 1}


def test_notes_of_programs_are_counted(inspected):
    rows = [{"question_id": place, "prompt": prompt, "text": "Yes"} for place, prompt in enumerate(PROMPTS)]
    rows[1]["text"] = "Error code: 429"
    assert inspected(rows).odd == {"notes of a program that it has no response": 1}


def test_questions_and_scores(inspected):
    assert inspected([{"question_id": 1, "text": PROMPTS[0], "label": "yes"}]).kind == "questions"
    metrics = {"accuracy": 0.5, "f1": 0.25, "n_samples": 9}
    inspection = inspected({"model": "m", "metrics": metrics, "efficiency": {"ms": 3.1}})
    assert inspection.kind == "printed scores"
    assert inspection.figures == {"metrics/accuracy": 0.5, "metrics/f1": 0.25}
    inspection = inspected("TP\tFP\nAccuracy: 0.85\nF1 score: 0.84\n=====\nAccuracy: 0.88\nSeed: 3\n")
    assert inspection.figures == {"Accuracy": 0.85, "F1 score": 0.84, "Accuracy #2": 0.88}
    assert "Accuracy 0.85, F1 score 0.84" in str(inspection)
    assert len(inspected("\n".join(f"Accuracy: 0.{number}" for number in range(40))).figures) == 30
    with pytest.raises(ValueError, match="is not JSON"):
        inspected("Nothing to see.")


def sample(place, doc, text):
    return {"doc_id": place, "doc": doc, "target": "yes", "resps": [[text]], "filtered_resps": [text]}


def inspect_log(task):
    """A log of Inspect as JSON, as far as it is read."""
    output = {"choices": [{"message": {"role": "assistant", "content": "A dog."}}]}
    asked = {"epoch": 1, "input": "Describe it.", "output": output}
    samples = [dict(asked, id=str(id), metadata={"halluscope_task": task, "image_id": id}) for id in (7, 8)]
    return {"version": 2, "status": "success", "eval": {"model": "m"}, "plan": {}, "samples": samples}


SAMPLES = [
    sample(place, {"question_id": str(place), "question": QUESTION.format(thing), "answer": "yes"}, "Yes")
    for place, thing in enumerate(THINGS)
]
CHART = {"subcategory": "chart", "set_id": "0", "figure_id": "1", "question": "Is it?"}
PROMPT_OF_QWEN = f"<img>1.jpg</img>{PROMPTS[0]} Answer:"
OF_RATINGS = "--responses RESPONSES --dataset"

FORMS = {
    "Inspect": (inspect_log("throne_objects365"), "score throne .* --dataset throne_objects365"),
    "samples": (SAMPLES, "score pope .* --dataset DATASET"),
    "samples by columns": ([sample(0, CHART, "No.")], "score hallusionbench .* --partial"),
    "rating": ([{"id": 0, "rating": 4}, {"rating": 0}], f"score mmhal {OF_RATINGS} mmhal --ratings .*"),
    "ratings": ([{"relevancy": 9, "accuracy": 8}] * 2, f"score gavie {OF_RATINGS} gavie --ratings .*"),
    "replies": (
        [{"index": 0, "judge_text": "Bad.\nRating: 2"}],
        "score mmhal .* --ratings .* --reading official",
    ),
    "AMBER": (
        [{"id": id, "response": "A dog."} for id in range(1, 15_221)],
        "score amber .* --dataset amber",
    ),
    "the questions with a visual": (
        [sample(place, CHART, "No.") for place in range(951)],
        "score hallusionbench .* --protocol lmms-eval",
    ),
    "Qwen-VL": ([{"prompt": PROMPT_OF_QWEN, "text": "Yes"}], "score pope .* --dataset DATASET"),
}


@pytest.mark.parametrize(("content", "command"), FORMS.values(), ids=FORMS)
def test_the_form_tells_the_command(content, command, inspected):
    assert re.fullmatch(f"halluscope {command}", inspected(content).command)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("wild/Darklightened__vlm/*gqa_pop_default.csv", "score pope .* --dataset pope:gqa"),
        ("wild/Darklightened__vlm/*aokvqa_pop_default.csv", "score pope .* --dataset pope:aokvqa"),
        ("wild/xjr1051__*/*baseline__mmhal_responses.json", "score mmhal .* --dataset mmhal --judge JUDGE"),
        ("wild/xjr1051__*/*judge_raw*", "score mmhal .* --ratings .*judge_raw.* --reading official"),
        ("wild/tianyi-lab__*/*sample.json", "score hallusionbench .* --dataset hallusionbench --partial"),
        ("wild/Areebol__*/*llava-1.5__regular.jsonl", "score chair .* --dataset DATASET"),
        ("wild/mehrdadfazli__CAAC/*", "score amber .* --dataset amber --partial"),
        ("llava_bench_wild/answers/*", "score llava_bench .* --dataset llava_bench --judge JUDGE"),
        ("llava_bench_wild/reviews/*eval1*", "score llava_bench .*RESPONSES.* --ratings .*eval1.jsonl"),
        ("llava_bench_wild/questions.jsonl", None),
        ("mme/LaVIN/color.txt", "score mme .* --dataset mme"),
        ("mme/llava_mme.jsonl", None),
    ],
)
def test_a_command_names_config_judge_and_part(file, command, upstream):
    (path,) = upstream.glob(file)
    inspection = inspect(path)
    if command is None:
        assert (inspection.kind, inspection.command) == ("questions", "")
    else:
        assert re.fullmatch(f"halluscope {command}", inspection.command)


def test_texts_in_another_column_are_no_gap(upstream):
    """The descriptions stand in response_64 to response_512, the answers in response."""
    (path,) = upstream.glob("wild/mehrdadfazli__CAAC/*")
    (remark,) = inspect(path).remarks
    assert "response_512" in remark and "--text-column response response_64" in remark


def test_part_of_mme_is_known_by_its_images(upstream, tmp_path):
    """LLaVA's form: half of the questions; two whole subtasks; one question of each image."""
    questions = [json.loads(line) for line in (upstream / "mme/llava_mme.jsonl").read_text().splitlines()]
    of_two = [row for row in questions if row["category"] in ("posters", "OCR")]
    file = tmp_path / "mine.jsonl"
    for rows, about, end in (
        (questions[:1187], "10 of 14 subtasks, in part", "--dataset mme --partial"),
        (questions[::2], "all subtasks, in part", "--dataset mme --partial"),
        (of_two, "posters, OCR", "--dataset mme"),
    ):
        answered = [
            {"question_id": row["question_id"], "prompt": row["text"], "text": "Yes."} for row in rows
        ]
        file.write_text("\n".join(map(json.dumps, answered)))
        inspection = inspect(file)
        assert (inspection.benchmarks, inspection.about) == (["mme"], about)
        assert inspection.command == f"halluscope score mme --responses {file} {end}"


@pytest.mark.parametrize(
    ("file", "dataset"),
    [
        ("mme/llava_mme.jsonl", "mme"),  # has no right answers
        ("pope/coco/coco_pope_random.json", None),
        ("haloquest/haloquest-eval.csv", None),
        ("object_halbench/questions_rebuilt.jsonl", "object_halbench"),  # has no objects
    ],
)
def test_questions_say_which_dataset_has_their_answers(file, dataset, upstream, ran):
    path = upstream / file
    said = ran("inspect", path).out
    assert " questions of " in said
    assert said.splitlines()[1].endswith(f"--responses RESPONSES --dataset {dataset or path}")


def test_mmes_right_answers_are_no_responses(upstream):
    inspection = inspect(upstream / "mme/mme_benchmark.jsonl")
    assert "is the right answer in all 2,374 rows" in inspection.problem


def test_a_folder_is_inspected_file_by_file(upstream, tmp_path, ran):
    said = ran("inspect", upstream / "mme", status=2)  # of the empty form of results nothing can be read
    assert "llava_mme.jsonl: 2,374 questions" in said.out and "LaVIN: 240 responses" in said.out
    assert "1 of 4 files cannot be read" in said.err
    assert "without files" in ran("inspect", tmp_path, status=2).err


def test_rows_of_unknown_columns_are_named_by_the_user(tmp_path, ran):
    said = ran("inspect", written(tmp_path / "r.jsonl", [{"path": "a", "generated": "Yes"}]))
    assert "1 other rows" in said.out and "--text-column COLUMN" in said.err


def test_the_command_goes_on_after_a_bad_file(tmp_path, capsys):
    good = written(tmp_path / "r.json", [{"prompt": PROMPTS[0], "text": "\x1b[31mYes"}])
    bad = written(tmp_path / "b.json", "{")
    assert cli.main(["inspect", str(good), str(bad)]) == 2
    out, err = capsys.readouterr()
    assert "1 responses of pope" in out and "\x1b" not in out and "1 of 2 files cannot be read" in err
    assert cli.main(["inspect", "--json", str(good)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kind"] == "responses"


def test_a_refusal_says_what_the_file_is(tmp_path, capsys):
    labels = written(tmp_path / "labels.json", {"7": ["dog"]})
    file = written(tmp_path / "r.json", [{"question_id": 70, "prompt": PROMPTS[0], "text": "Yes"}])
    words = ["score", "throne", "--judges", "lexical", "--dataset", str(labels), "--responses", str(file)]
    assert cli.main(words) == 2
    message = capsys.readouterr().err
    assert "question_id 70 is not among the 1 rows" in message
    assert "The file holds 1 responses of pope (1 questions in another order, or made anew)" in message


def test_questions_in_the_place_of_responses_are_told_apart(tmp_path, refused):
    questions = tmp_path / "coco_pope_random.json"
    dataset = small_datasets.pope_file(questions, [("COCO_val2014_000000000007.jpg", "dog", "yes")])
    message = refused("score pope --dataset", dataset, "--responses", questions)
    assert (
        "expected an object with the LVLM's text" in message
        and "The file holds 1 questions of pope" in message
    )


UPSTREAM = os.environ.get("HALLUSCOPE_UPSTREAM")


@pytest.mark.skipif(not UPSTREAM, reason="needs HALLUSCOPE_UPSTREAM")
def test_published_files():
    wild = Path(UPSTREAM or "", "wild")
    entries = {entry["file"]: entry for entry in json.loads((wild / "manifest.json").read_text())}
    benchmarks = {
        "POPE": "pope",
        "CHAIR": "chair",
        "HallusionBench": "hallusionbench",
        "MMHal-Bench": "mmhal",
    }
    kinds = set()
    for name, entry in entries.items():
        inspection = inspect(wild / name)
        kinds.add(inspection.kind)
        benchmark = benchmarks.get((entry["benchmark"] or "").partition(" ")[0])
        if "objhal_bench" in name:
            benchmark = "object_halbench"
        if benchmark and "ratings" not in entry["benchmark"]:
            assert benchmark in inspection.benchmarks, name
            assert inspection.rows == entry["rows"] or "rounds" in entry["format"], name
    assert kinds == {"responses", "questions", "verdicts", "printed scores", "other rows"}
    versions = {path.name: inspect(path).about for path in (wild / "questions").iterdir()}
    assert versions["llava_pope_test.jsonl"] == (
        "adversarial (COCO, 2023-05); random (COCO, 2023-05); popular (COCO, 2023-05)"
    )
    assert versions["coco_pope_adversarial_2023-10.json"] == "adversarial (COCO, 2023-10)"


def test_long_answers_of_yes_and_no_are_no_descriptions(inspected):
    """OPERA's prompts mark the image before the question; without a question, "Yes, there is ..." describes nothing."""
    rows = []
    for thing in THINGS:
        question = f"<ImageHere>{QUESTION.format(thing)}"
        rows.append(
            {"query": question, "label": 1, "ans": f"Yes, there is a {thing} in the image on the left."}
        )
    assert inspected(rows).benchmarks == ["pope"]
    answers = [{"nr": place, "response": row["ans"]} for place, row in enumerate(rows)]
    assert not inspected(answers).benchmarks
    for short in (
        {"body": {"choices": [{"message": {"content": "No."}}]}},
        f"<think>{'Hm. ' * 9}</think>No.",
    ):
        assert not inspected([{"nr": place, "response": short} for place in range(3)]).benchmarks


@pytest.mark.parametrize(
    ("prompts", "described"),
    [
        (["How many cups are on the table?", "Who sits there?", "What is it made of?"], False),
        (["Describe this image.", "What is in this image?", "Describe this image."], True),
        (["It shows a cup.", "It shows a dog.", "It shows a bus."], True),
    ],
    ids=["questions", "prompts", "texts to correct"],
)
def test_answers_to_questions_of_their_own_are_no_descriptions(inspected, prompts, described):
    """MMHal-Bench's, say, which were called descriptions for CHAIR."""
    text = "It looks as if somebody had put three of them on the old table."
    rows = [
        {"question_id": place, "prompt": prompt, "text": f"{text} {place}"}
        for place, prompt in enumerate(prompts)
    ]
    assert ("chair" in inspected(rows).benchmarks) is described


def test_a_benchmarks_prompt_about_other_images(inspected):
    """AMBER asks it of its own images, and others of COCO's."""
    for image, benchmark in (("COCO_val2014_00000000000{}.jpg", "chair"), ("AMBER_{}.jpg", "amber")):
        rows = []
        for number in range(1, 4):
            text = f"It looks as if there were {number} dogs and a cat on the old grass."
            rows.append({"image": image.format(number), "prompt": "Describe this image.", "text": text})
        assert inspected(rows).benchmarks[0] == benchmark


def test_whether_answers_are_right_is_a_verdict_about_the_questions_that_are_asked(
    inspected, refused, tmp_path
):
    """POPE's have a column `correct`, as HaloQuest's verdicts do, and POPE has no judge."""
    rows = []
    for place, thing in enumerate(THINGS):
        rows.append(
            {"question_id": place, "question": QUESTION.format(thing), "label": "yes", "correct": True}
        )
    found = inspected(rows)
    assert (found.kind, found.benchmarks, found.words) == ("verdicts", ["pope"], ())
    file = tmp_path / "verdicts.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    told = refused("score pope --dataset", file, "--responses", file)
    assert "POPE scores the LVLM's own texts: name a file that holds these." in told


def test_a_list_of_a_judges_texts(inspected):
    """Texts, and completions as OpenAI's client writes them, spelled as texts too; they were called descriptions."""
    texts = [f"It is wrong in every detail that it gives of it.\n\nRating: {number}" for number in range(4)]
    descriptions = [f"A dog and {number} cats on the old grass, far from here." for number in range(4)]
    for rows in (texts, completions(texts), list(map(json.dumps, completions(texts)))):
        found = inspected(rows)
        assert (found.kind, found.benchmarks, found.rows) == ("verdicts", ["mmhal"], 4)
    for rows in (descriptions, completions(descriptions)):
        assert inspected(rows).kind == "responses"


def completions(texts):
    return [{"choices": [{"message": {"role": "assistant", "content": text}}]} for text in texts]


def test_annotations_of_coco_are_recognised(tmp_path, ran):
    instances, captions = small_datasets.coco_files({1: ["dog"], 2: []}, [(1, "A dog.")])
    file = written(tmp_path / "instances.json", instances)
    printed = ran("inspect", file)
    assert "annotations in COCO's format (2 images, 80 categories, 1 annotations)" in printed.out
    assert "`halluscope build NAME --help`" in printed.err and "--text-column" not in printed.err
    captions = written(tmp_path / "captions.json", {"images": [{"id": 1}], **json.loads(captions)})
    assert inspect(captions).kind == "annotations in COCO's format"
