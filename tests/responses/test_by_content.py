"""Files whose ids do not decide are matched by the images and questions that they state."""

import json
import os
from itertools import cycle
from pathlib import Path

import pytest

import halluscope
from halluscope import cli
from tests import small_datasets

LABELS = ("yes", "no")
SAID = ("Yes, I see it.", "No, I see none.")
"""Right answers in an LVLM's words; the mere labels in each row would be no responses."""
THINGS = {
    "random": ("dog", "car", "cat", "bus", "cup", "tie"),
    "popular": ("dog", "person", "cat", "chair", "cup", "table"),
}
IMAGES = [f"COCO_val2014_{number:012}.jpg" for number in (42, 7, 99)]


def samplings(result):
    """Return the names of the samplings that a result is about."""
    return [name.removeprefix("rows/") for name in result if name.startswith("rows/")]


def question(thing, word="image"):
    return f"Is there a {thing} in the {word}?"


def of_images(things):
    """Return the image and the thing of each question; each image has questions of its own."""
    return [
        (image, f"{colour} {thing}")
        for image, colour in zip(IMAGES, ("red", "green", "blue"), strict=True)
        for thing in things
    ]


def questions_file(file, rows):
    """Write a file of POPE's questions about images and things; every other answer is yes."""
    answers = cycle(LABELS)
    return small_datasets.pope_file(file, [(*row, next(answers)) for row in rows])


@pytest.fixture
def dataset(tmp_path):
    """Return the files of two samplings, which share their ids and half of their questions."""
    return [
        questions_file(tmp_path / f"coco_pope_{sampling}.json", of_images(things))
        for sampling, things in THINGS.items()
    ]


def said(sampling, first=1, word="image", image=False, keep=lambda place: True):
    """Return responses as LLaVA's scripts write them: the right answers, without the image unless it is asked for."""
    rows = of_images(THINGS[sampling])
    kept = [(place, *row) for place, row in enumerate(rows) if keep(place)]
    return [
        {
            "question_id": first + number,
            "prompt": f"{question(thing, word)}\nAnswer the question using a single word or phrase.",
            "text": SAID[place % 2],
            **({"image": name} if image else {}),
        }
        for number, (place, name, thing) in enumerate(kept)
    ]


@pytest.mark.parametrize(("word", "image"), [("image", True), ("imange", False)])
@pytest.mark.parametrize("sampling", THINGS)
def test_a_file_of_one_sampling_is_scored_for_it(dataset, sampling, word, image):
    result = halluscope.score("pope", said(sampling, word=word, image=image), dataset, bootstrap=0)
    assert (result["rows"], result["accuracy"], samplings(result)) == (18, 1.0, [sampling])
    assert "part" not in result


@pytest.mark.parametrize("order", [("random", "popular"), ("popular", "random")])
def test_samplings_one_after_the_other_in_any_order_and_with_any_ids(dataset, order):
    rows = [row for number, name in enumerate(order) for row in said(name, first=10_000_000 * number + 1)]
    result = halluscope.score("pope", rows, dataset, bootstrap=0)
    assert (result["rows"], result["accuracy"], {*samplings(result)}) == (36, 1.0, {*order})
    assert result["matched"] == "order and question" and "|responses:order,question|" in result["signature"]


@pytest.mark.parametrize("told_by", ["ids", "sampling", "nothing"])
def test_repeats_among_samplings_that_share_questions(told_by, dataset):
    """A question of both samplings is answered twice alike, which is no repeat."""
    rows = []
    for number, sampling in enumerate(THINGS):
        first = 1 if told_by != "ids" else 1000 * number + 1
        more = {"sampling": sampling} if told_by == "sampling" else {}
        rows += [row | more for row in said(sampling, first)]
    assert halluscope.score("pope", rows, dataset, bootstrap=0)["accuracy"] == 1
    resumed = [*rows[:24], *rows[21:]]
    if told_by == "nothing":
        with pytest.raises(ValueError, match="of the 36 rows .* give each response its sampling"):
            halluscope.score("pope", resumed, dataset, bootstrap=0)
        return
    result = halluscope.score("pope", resumed, dataset, bootstrap=0)
    assert (result["rows"], result["accuracy"], result["repeats"]) == (36, 1.0, 3)


def test_answers_by_image_and_question_are_told_what_to_write(dataset, tmp_path):
    by_image = {}
    for name, thing in of_images(THINGS["random"]):
        by_image.setdefault(name, {})[question(thing, "image")] = "Yes"
    (tmp_path / "r.json").write_text(json.dumps(by_image, indent=1))
    with pytest.raises(ValueError, match="Its keys are questions: write a row for each"):
        halluscope.score("pope", tmp_path / "r.json", dataset, bootstrap=0)


def test_addresses_of_images_are_images(dataset):
    """In no order, with ids of their own."""
    rows = said("random", first=100, image=True)
    for row in rows:
        row["coco_url"] = f"http://images.cocodataset.org/val2014/{row.pop('image')}"
    result = halluscope.score("pope", rows[::-1], dataset, bootstrap=0)
    assert (result["rows"], result["accuracy"], result["matched"]) == (18, 1.0, "image and question")


def test_images_and_questions_in_the_datasets_order(dataset, tmp_path, ran):
    """They tell the rows apart as in any other order; nothing is said of an order."""
    rows = said("random", image=True) + said("popular", image=True)
    (tmp_path / "r.json").write_text(json.dumps(rows))
    printed = ran("score pope --dataset", *dataset, "--responses", tmp_path / "r.json", "--bootstrap", 0)
    assert "|responses:image,question|" in printed.out and "order" not in printed.err
    for row in rows:
        del row["image"]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    printed = ran("score pope --dataset", *dataset, "--responses", tmp_path / "r.json", "--bootstrap", 0)
    assert "order" in printed.out.partition("|responses:")[2].partition("|")[0]


def test_ids_of_their_own_beside_the_questions_in_order(tmp_path):
    """Both samplings ask the same, so that only the order of all responses tells which is about which."""
    files = [
        questions_file(tmp_path / f"coco_pope_{name}.json", of_images(["dog", "cat"])) for name in THINGS
    ]
    rows = []
    for place, (_, thing) in enumerate(2 * of_images(["dog", "cat"])):
        rows.append({"question_id": 100 + place, "prompt": question(thing), "text": SAID[place % 2]})
    result = halluscope.score("pope", rows, files, bootstrap=0)
    assert (result["rows"], result["accuracy"], result["matched"]) == (12, 1.0, "order")
    with pytest.raises(ValueError, match="question_id 101 is not among the 12 rows"):
        halluscope.score("pope", rows[1:] + rows[:1], files, bootstrap=0)


@pytest.mark.parametrize("partial", [False, True])
def test_a_repeated_response_belongs_to_no_other_sampling(dataset, partial):
    """Half of the questions are in both samplings: a second response is not the other sampling's."""
    rows = said("popular", image=True)
    again = [row for row in rows if row["prompt"].split()[4] == "dog"][:1]
    result = halluscope.score("pope", [*rows, *again], dataset, bootstrap=0, partial=partial)
    assert (result["rows"], result["repeats"], samplings(result)) == (18, 1, ["popular"])
    again = [again[0] | {"text": "no" if again[0]["text"] == "yes" else "yes"}]
    with pytest.raises(ValueError, match="the image and the question of an earlier response.*Remove one"):
        halluscope.score("pope", [*rows, *again], dataset, bootstrap=0, partial=partial)


def test_what_contradicts_is_refused(dataset):
    with pytest.raises(ValueError, match="question"):  # popular's responses to random's questions
        halluscope.score("pope", said("popular"), dataset[:1], bootstrap=0)
    rows = said("random", first=100)  # below, in no order of the questions
    with pytest.raises(ValueError, match="question_id 117 is not among the 36 rows"):
        halluscope.score("pope", rows[::-1], dataset, bootstrap=0)
    both = [row for row in said("random", image=True) if row["prompt"].split()[4] in ("dog", "cat", "cup")]
    with pytest.raises(
        ValueError, match="fits sampling random and sampling popular equally well.*--sampling"
    ):
        halluscope.score("pope", both, dataset, bootstrap=0, partial=True)


def asked(sampling):
    """Return the image, the question and the response of each row."""
    return [(row["image"], row["prompt"].split("\n")[0], row["text"]) for row in said(sampling, image=True)]


def chat(ask, text):
    return [{"role": "user", "content": f"<image>{ask}"}, {"role": "assistant", "content": text}]


ALL, ONE = [(name, *row) for name in THINGS for row in asked(name)], asked("popular")
ROWS = {
    "beside scores of each": {name: {"metrics": {"f1": 1}, "results": said(name)} for name in THINGS},
    "under a key": {"model": "m", "config": {"k": [1]}, "results": {name: said(name) for name in THINGS}},
    "in any column": [
        {"question_id": row["question_id"], "kind": name, "response": row["text"]}
        for row, *names in zip(said("random"), *map(said, THINGS), strict=True)
        for name, row in zip(THINGS, names, strict=True)
    ],
    "by category": {
        key: [{"image": image, "question": ask, "pred": text} for image, ask, text in ONE if text == words]
        for key, words in zip(LABELS, SAID, strict=True)
    },
    "by image": {
        image: [{"question": ask, "answer": text} for name, ask, text in ONE if name == image]
        for image in IMAGES
    },
    "by number": {
        "scores": {"A": 1},
        "answers": {f"{i}": {"question": ask, "pred": text} for i, (_, ask, text) in enumerate(ONE)},
    },
    "columns in the plural": dict(
        zip(("images", "questions", "predictions"), map(list, zip(*ONE, strict=True)), strict=True)
    ),
    "a question in any column": [{"image_file": image, "q": ask, "a": text} for image, ask, text in ONE],
    "a question in a column with a capital": [
        {"Picture": image, "Asked Here": ask, "Reply": text} for image, ask, text in ONE
    ],
    "a question in an object": [
        {"input": {"image": image, "question": ask}, "output": {"answer": text}} for image, ask, text in ONE
    ],
    "a question in a chat": [
        {"messages": chat(ask, text), "response": text, "images": [{"bytes": None, "path": f"/val/{image}"}]}
        for image, ask, text in ONE
    ],
    "a question among words": [
        {"prompt": f"USER: <image>{ask} ASSISTANT:", "predict": text} for _, ask, text in ONE
    ],
    "between settings and a summary": [
        {"model": "m", "temperature": 0},
        *({"question": ask, "answer": text} for _, ask, text in ONE),
        {"accuracy": 1.0, "config": {"seed": 1}},
    ],
}


@pytest.mark.parametrize("form", ROWS)
def test_forms_of_others(form, dataset, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(ROWS[form]))
    result = halluscope.score("pope", str(tmp_path / "r.json"), dataset, bootstrap=0, parser="strict")
    rows = len(ALL) if form in [*ROWS][:3] else len(ONE)
    assert (result["rows"], result["accuracy"]) == (rows, 1.0)


@pytest.mark.parametrize(
    "content, message",
    [
        ({"baseline": said("random"), "ours": said("random")}, "several LVLMs.*: baseline, ours; expected"),
        (
            {name: {"random": said("random"), "popular": said("popular")} for name in ("a", "b")},
            "several LVLMs.*: a, random, a, popular, b, random",
        ),
        ([{"model": "m", "text": "No"}, *said("random")], "line 1|entry 1"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(content, message, dataset, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        halluscope.score("pope", str(tmp_path / "r.json"), dataset, bootstrap=0)


UPSTREAM = os.environ.get("HALLUSCOPE_UPSTREAM")
WILD = Path(UPSTREAM or "", "wild")
OFFICIAL = [
    str(Path(UPSTREAM or "", "pope/coco", f"coco_pope_{name}.json"))
    for name in ("random", "popular", "adversarial")
]


@pytest.mark.skipif(not UPSTREAM, reason="needs HALLUSCOPE_UPSTREAM")
def test_llavas_own_answers_give_its_printed_scores(tmp_path):
    """Older question files serve as datasets too."""
    (file,) = WILD.glob("Haoming2000*/*pope__answers__llava-v1.5-13b.jsonl")
    whole = halluscope.score("pope", file, OFFICIAL, bootstrap=0)
    printed = {"random": 87.1, "popular": 86.2, "adversarial": 84.5}
    assert {name: round(100 * whole[f"f1/{name}"], 1) for name in samplings(whole)} == printed
    assert "|questions:2023-05" in whole["signature"]
    source = WILD / "questions" / "llava_pope_test.jsonl"  # it has no labels of its own
    assert cli.main(["build", "pope", "--source", str(source), "--out", str(tmp_path / "built")]) == 0
    for dataset in (source, tmp_path / "built"):
        result = halluscope.score("pope", file, str(dataset), bootstrap=0)
        assert (result["rows"], result["questions_version"]) == (8910, "2023-05")
        for name in samplings(whole):
            assert result[f"f1/{name}"] == whole[f"f1/{name}"]


@pytest.mark.parametrize("limit", [2, 4, 18, 99])
@pytest.mark.parametrize("sampling", THINGS)
def test_the_first_of_one_sampling_are_scored_for_it(dataset, sampling, limit):
    responses = said(sampling)
    result = halluscope.score("pope", responses, dataset, bootstrap=0, limit=limit)
    alone = halluscope.score("pope", responses[:limit], dataset, bootstrap=0, partial=limit < 18)
    assert samplings(result) == [sampling] and result["accuracy"] == 1
    assert result["signature"] == alone["signature"]
    assert ("part:" in result["signature"]) == (limit < 18)
    for rows in (responses, [row["text"] for row in responses]):  # texts alone may belong to either sampling
        chosen = halluscope.score("pope", rows, dataset, bootstrap=0, limit=limit, sampling=sampling)
        assert (samplings(chosen), chosen["accuracy"]) == ([sampling], 1)


def test_the_first_that_several_samplings_ask_belong_to_none(dataset):
    """The first question is the same in both."""
    with pytest.raises(ValueError, match="fits sampling random and sampling popular equally well"):
        halluscope.score("pope", said("popular"), dataset, limit=1)


def test_a_limit_that_leaves_no_response_to_a_sampling_is_named(dataset):
    both = [row | {"sampling": sampling} for sampling in THINGS for row in said(sampling)]
    with pytest.raises(ValueError, match=r"none of the first 10 responses \(--limit\) is about popular"):
        halluscope.score("pope", both, dataset, sampling="popular", limit=10)


def test_a_refusal_names_the_first_contradiction(dataset):
    responses = said("popular", image=True)
    responses[4]["image"] = IMAGES[2]
    first = r"The nearest is sampling popular.* in responses\[4\]: 'Is there a red cup in the image\?' about image 99"
    with pytest.raises(ValueError, match=first):
        halluscope.score("pope", responses, dataset)


def test_an_object_is_compared_where_no_question_is_stated(dataset):
    """As of scripts that keep the image and the object: images in the dataset's order, their objects in another."""
    rows = []
    for place, (image, thing) in enumerate(of_images(THINGS["random"])):
        rows.append({"image": image, "object": thing.replace(" ", "_"), "response": SAID[place % 2]})
    options = {"sampling": "random", "bootstrap": 0}
    assert halluscope.score("pope", rows, dataset, **options)["accuracy"] == 1
    rows[:2] = rows[1::-1]
    with pytest.raises(
        ValueError, match="has the object 'red_car', but its row in the dataset has 'red dog'"
    ):
        halluscope.score("pope", rows, dataset, **options)
    # beside its question, an object may be any
    for row, (_, thing) in zip(rows, of_images(THINGS["random"]), strict=True):
        row["question"] = question(thing)
    assert halluscope.score("pope", rows, dataset, **options)["rows"] == 18


@pytest.mark.parametrize("orient", ["split", "columns", "index"])
def test_the_index_that_pandas_writes_beside_rows_in_another_order(dataset, orient, tmp_path):
    """It has no name there; before, rows of "split" were matched by their order, and those of "columns" refused."""
    import pandas as pd

    rows = [
        {"question_id": row["question_id"], "response": row["text"], "note": "-"} for row in said("random")
    ]
    table = pd.DataFrame(rows).set_index("question_id")
    file = tmp_path / "responses.json"
    options = {"sampling": "random", "bootstrap": 0}
    for order in (table, table.iloc[::-1], table.sample(frac=1, random_state=1)):
        order.to_json(file, orient=orient)
        assert halluscope.score("pope", str(file), dataset, **options)["accuracy"] == 1
    # a row's number in a table, which is no id where rows have their own
    order.reset_index().sample(frac=1, random_state=2).to_json(file, orient=orient)
    assert halluscope.score("pope", str(file), dataset, **options)["accuracy"] == 1
    order.iloc[:0].to_json(file, orient=orient)
    with pytest.raises(ValueError, match="expected (an object with )?the LVLM's text|holds no responses"):
        halluscope.score("pope", str(file), dataset, **options)


def test_some_questions_that_are_asked_about_several_images(tmp_path, capsys):
    """Only their order tells the images: responses about the second image are matched to the first, so it is said."""
    same = [(image, thing) for image in IMAGES for thing in ("dog", "cat")]
    file = questions_file(tmp_path / "coco_pope_random.json", same)
    rows = [
        {"question": question(thing), "response": SAID[place]} for place, (_, thing) in enumerate(same[2:4])
    ]
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert cli.main(["score", "pope", "--responses", str(path), "--dataset", file, "--partial"]) == 0
    assert (
        "state no image, so they are matched by their questions, in the dataset's order"
        in capsys.readouterr().err
    )
