"""The marks in texts are exactly what was counted: the scores are recomputed from the items."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope import registry, vocabularies
from halluscope.benchmarks.amber.words import load_words
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.votes import NO, OTHER, YES
from halluscope.reporting.report_items import Item, Shown
from halluscope.responses.matching import Matched
from halluscope.runs import run as runs
from halluscope.runs.page import shown
from halluscope.scoring import Ready
from tests.benchmarks.test_amber import asked, described
from tests.fake_judge import Voter

COCO = vocabularies.load("coco")
AMBER = load_words()
TRUE = [["dog", "cat"], [], ["umbrella", "toilet", "person"], ["bus", "cup", "hot dog"]]
"""What is in the images of made texts."""

HOSTILE = ["\0", "\x1b[31m", "\u2028", "\ud800", "İ", "👩‍🍳", "</script>", "<think>a cup</think>", "\n"]
SAID = [
    "A dog",
    "no dog.",
    "two cats and a bus.",
    "A hot dog,",
    "women with a red umbrella",
    "The toilet seat",
    "Is there a car? No.",
    "a passenger train; a teddy bear",
]
TEXTS = st.lists(st.sampled_from([*SAID, *HOSTILE]), max_size=8).map(" ".join)
FOUR = st.lists(TEXTS, min_size=4, max_size=4)
few = settings(max_examples=8)


def moody(key: str) -> Voter:
    """A voter that says yes, no or neither, depending on the text, the question and its name."""

    def vote(text: str, question: Any) -> int:
        about = f"{key} {text} {question.text}".encode("utf-8", "replace")
        return (NO, *[YES] * 6, OTHER)[zlib.crc32(about) % 8]

    return Voter(vote, key)


def says(key: str, *classes: str) -> Voter:
    """A voter that says yes to some classes only."""
    return Voter(lambda text, question: question.object in classes, key)


def seen(
    name: str, said: Sequence[str], rows: Sequence[Mapping[str, Any]], **options: Any
) -> tuple[Shown, Any]:
    """Return the items for responses to these rows, and the scores."""
    benchmark = registry.benchmark(name)
    module = benchmark.module("rows")
    read = module.read_all(rows)
    matched = Matched(
        "made", read, [*said], by="order", of=len(read), sampled=False, left_out=0, other_prompts=0
    )
    run = runs.score(benchmark, Ready(matched, module.inputs(read)), {"progress": False, **options})
    found = shown(run)
    assert [item.id for item in found.items] == [str(row.get("id", row.get("image_id"))) for row in rows]
    assert all(map(is_well_marked, found.items))
    return found, run.scores


def is_well_marked(item: Item) -> bool:
    """Whether marks are within the text, in order, around words."""
    spans = [(mark.start, mark.end) for mark in item.marks]
    inside = all(0 <= start < end <= len(item.text) for start, end in spans)
    return inside and spans == sorted(spans) and all(piece == piece.strip() for piece in pieces(item))


def pieces(item: Item) -> list[str]:
    return [item.text[mark.start : mark.end] for mark in item.marks]


def fact(item: Item, name: str) -> list[tuple[str, str]]:
    return [value for one in item.facts if one.name == name for value in one.values]


def counted(items: Sequence[Item]) -> Counter[str]:
    """How many marks, and words without a place, there are of each kind."""
    return Counter(
        kind
        for item in items
        for kind in [*(mark.kind for mark in item.marks), *(k for _, k in fact(item, "words"))]
    )


def images(of: Sequence[Sequence[str]] = TRUE) -> list[dict[str, Any]]:
    return [{"image_id": number, "objects": [*names]} for number, names in enumerate(of)]


def same(found: float, score: float) -> bool:
    """Whether two numbers are equal, or both undefined."""
    return found == pytest.approx(score, nan_ok=True)


def share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


# THRONE


def of_throne(items: Sequence[Item]) -> dict[str, float]:
    """The scores by what is marked, implied and missed."""
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for item in items:
        said = {(mark.of, mark.kind) for mark in item.marks if mark.kind in ("good", "bad")}
        said |= {(told.partition(":")[0], kind) for told, kind in fact(item, "implied")}
        right.update(name for name, kind in said if kind == "good")
        wrong.update(name for name, kind in said if kind == "bad")
        missed.update(name for name, _ in fact(item, "missed"))
    precisions = [right[name] / (right[name] + wrong[name]) for name in {*right, *wrong}]
    recalls = [right[name] / (right[name] + missed[name]) for name in {*right, *missed}]
    return {
        "precision_all": share(right.total(), right.total() + wrong.total()),
        "recall_all": share(right.total(), right.total() + missed.total()),
        "precision_cls": share(sum(precisions), len(precisions)),
        "recall_cls": share(sum(recalls), len(recalls)),
    }


@few
@given(FOUR, st.sampled_from(["lexical", "moody", "both"]), st.sampled_from(["needed", "all"]), st.booleans())
def test_thrones_marks_give_its_scores(said: list[str], who: str, ask: str, majority: bool) -> None:
    """Judged by rules, by judges that imagine mentions, and by both."""
    judges = {"lexical": "lexical", "moody": [moody("a"), moody("b")], "both": ["lexical", moody("a")]}[who]
    agreement = "majority" if majority else "unanimous"
    options = {"judges": judges, "ask": ask, "agreement": agreement, "questions": ["Any {x}?"]}
    found, scores = seen("throne", said, images(), **options)
    for name, value in of_throne(found.items).items():
        assert same(value, scores[name]), name
    reader = LexicalJudge(COCO)
    for item in found.items:
        assert all(
            mark.of in {one.object for one in reader.mentions(piece)}
            for mark, piece in zip(item.marks, pieces(item), strict=True)
        )
        assert item.disputed == ("disputed" in item.errors)
        assert all(len(signs) == len(found.voters) for signs in item.votes.values())


def test_throne_by_hand() -> None:
    """The rules take two mentions back; a dog is present, a cat is not, the cup is not mentioned."""
    rows = [{"image_id": 7, "objects": ["dog", "cup"]}]
    found, _ = seen(
        "throne", ["A dog beside a cat, no horse, a bus stop."], rows, judges="lexical", ask="all"
    )
    (item,) = found.items
    assert [(piece, mark.kind, mark.says) for piece, mark in zip(pieces(item), item.marks, strict=True)] == [
        ("dog", "good", "dog: found"),
        ("cat", "bad", "cat: hallucinated"),
        ("horse", "back", "horse: not counted (negated)"),
        ("bus", "back", "bus: not counted (part of a compound)"),
    ]
    assert fact(item, "missed") == [("cup", "plain")] and not fact(item, "implied")
    assert (item.id, item.image, item.errors) == ("7", "7", ["hallucinated", "missed"])
    assert item.classes == {"dog": "found", "cat": "hallucinated", "cup": "missed"}
    assert item.votes["horse"] == "000" and item.votes["dog"] == "111" and not item.disputed


def test_throne_where_judges_are_no_rules() -> None:
    """They hear no dog, do not agree on the cat, believe in the horse in spite of a rule, and imply a bus."""
    judges = [says("a", "cat", "horse", "bus"), says("b", "horse", "bus")]
    rows = [{"image_id": 7, "objects": ["horse", "cat"]}]
    found, _ = seen("throne", ["A dog, a cat, no horse."], rows, judges=judges, ask="all")
    (item,) = found.items
    assert [(mark.kind, mark.says) for mark in item.marks] == [
        ("back", "dog: mentioned, but the judges say no"),
        ("open", "cat: mentioned, but the judges do not agree"),
        ("good", "horse: found (though a rule takes it back: negated)"),
    ]
    assert fact(item, "implied") == [("bus: hallucinated", "bad")] and not fact(item, "missed")
    assert item.errors == ["hallucinated", "disputed"] and item.disputed
    assert item.votes == {"cat": "111000", "dog": "000000", "horse": "111111", "bus": "111111"}


def test_a_text_that_is_cut_is_shown_as_judges_see_it() -> None:
    text = "<think>a cat</think>" + "x" * 1020 + " a dog and a cat"
    found, _ = seen("throne", [text], images([["dog"]]), judges="lexical", questions="released")
    assert found.items[0].text == text.partition("</think>")[2][:1024] and not found.items[0].marks
    kept, _ = seen("throne", [text], images([["dog"]]), judges="lexical", thoughts="kept")
    assert kept.items[0].text == text and len(kept.items[0].marks) == 3


def of_chair(items: Sequence[Item]) -> dict[str, float]:
    """The scores by what is marked and missed."""
    kinds = counted(items)
    found = sum(len({mark.of for mark in item.marks if mark.kind == "good"}) for item in items)
    missed = sum(len(fact(item, "missed")) for item in items)
    return {
        "chair_i": share(kinds["bad"], kinds["bad"] + kinds["good"]),
        "chair_s": sum(any(mark.kind == "bad" for mark in item.marks) for item in items) / len(items),
        "recall": share(found, found + missed),
    }


# Real captions


def test_real_captions(upstream: Path) -> None:
    """500 of them, against CHAIR's ground truth."""
    with gzip.open(upstream / "chair" / "coco2014_chair_objects.json.gz") as file:
        known = json.load(file)
    lines = (upstream / "responses" / "opera_llava-1.5_greedy.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    truth = [{"image_id": row["image_id"], "objects": known[str(row["image_id"])]} for row in rows]
    said = [row["caption"] for row in rows]
    found, scores = seen("throne", said, truth, judges="lexical")
    assert len(found.items) == 500
    assert all(same(value, scores[name]) for name, value in of_throne(found.items).items())
    found, scores = seen("chair", said, truth, synonyms=str(upstream / "chair" / "synonyms.txt"))
    assert all(same(value, scores[name]) for name, value in of_chair(found.items).items())


# AMBER


def test_amber_by_hand() -> None:
    """A safe word is a mention, and plain; a person is imagined, a bench is not."""
    rows = [described(1, ["dog", "ball"], ["person"])]
    for number, answer in enumerate(("no", "yes", "no", "yes"), 1005):
        rows.append(asked(number, "existence", answer))
    assert "light" in load_words().safe
    said = ["A Dog, a person, a bench in the light.", "Yes.", "<think>Yes</think>No.", "Hm.", "Yes."]
    found, scores = seen("amber", said, rows)
    first, wrong_yes, wrong_no, unreadable, right = found.items
    assert list(zip(pieces(first), ((mark.kind, mark.says) for mark in first.marks), strict=True)) == [
        ("Dog", ("good", "dog: found")),
        ("person", ("bad", "person: hallucinated, and easily imagined here")),
        ("bench", ("bad", "bench: hallucinated")),
        ("light", ("plain", "light: a word that AMBER counts as neither right nor wrong")),
    ]
    hallucinated = dict.fromkeys(("person", "bench"), "hallucinated")
    assert first.classes == {"dog": "found", "ball": "missed"} | hallucinated
    assert first.errors == ["hallucinated", "imagined", "missed"]
    assert (wrong_yes.errors, wrong_no.errors) == (["wrong yes"], ["wrong no"])
    assert (unreadable.errors, right.errors) == (["unreadable"], [])
    assert fact(wrong_no, "read as") == [("no", "bad")]
    assert fact(unreadable, "read as") == [("unreadable", "open")]
    assert wrong_no.text == "No." and fact(wrong_no, "right answer") == [("yes", "plain")]
    assert wrong_yes.question == "Is it 1005?" and wrong_yes.parts == {"dimension": "existence"}
    assert scores["accuracy/existence"] == 1 / 4


# OpenCHAIR


def test_openchair_by_hand() -> None:
    """ "photo" does not count, and is not marked; a cup is there for one of the judges."""
    rows = [{"image_id": 5, "true_caption": "A dog."}]
    judges = [says("a", "dog", "cup"), says("b", "dog")]
    found, scores = seen("openchair", ["A photo of two dogs, a bus and a cup."], rows, judges=judges)
    (item,) = found.items
    assert list(zip(pieces(item), ((mark.kind, mark.says) for mark in item.marks), strict=True)) == [
        ("dogs", ("good", "dog: found")),
        ("bus", ("bad", "bus: hallucinated")),
        ("cup", ("open", "cup: undecided")),
    ]
    assert item.votes == {"dog": "11", "bus": "00", "cup": "10"} and item.disputed
    assert item.errors == ["hallucinated", "undecided"] and scores["openchair"] == 1 / 2
