"""The lexical judge: sentences with the classes that they say and deny, and any other text."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope import vocabularies
from halluscope.benchmarks.throne.questions import questions_of
from halluscope.judging.lexical import TEXTS_A_BATCH, LexicalJudge
from halluscope.judging.lexical.sentences import sentences
from halluscope.judging.lexical.tables import readings, tables
from halluscope.judging.votes import NO, YES
from halluscope.vocabularies import Vocabulary

COCO = vocabularies.load("coco")
JUDGE = LexicalJudge(COCO)
ROOT = Path(__file__).parents[2]


def read(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


SENTENCES = read(ROOT / "tests" / "golden" / "lexical_sentences.jsonl")
EVERY_TEXT = [row["text"] for row in SENTENCES]


def implied(text: str, judge: LexicalJudge = JUDGE) -> set[str]:
    return {mention.object for mention in judge.mentions(text) if mention.implied}


@pytest.mark.parametrize("row", SENTENCES, ids=EVERY_TEXT)
def test_a_sentence_says_a_class_or_a_rule_takes_it_back(row):
    mentions = JUDGE.mentions(row["text"])
    assert {*row["says"], *row["denies"]} <= {*COCO.classes}
    assert {*row["says"]} <= implied(row["text"])
    assert not {*row["denies"]} & implied(row["text"])
    if row["rule"]:
        assert {mention.rule for mention in mentions if mention.object in row["denies"]} <= {row["rule"]}


@pytest.mark.parametrize(
    ("file", "right"), [("lexical_cases.jsonl", 750), ("lexical_cases_unread.jsonl", 135)]
)
def test_the_share_of_labels_by_other_writers(file, right):
    """Check the development cases, and the unread cases, of which 90 % must be right."""
    rows = read(ROOT / "perf" / file)
    assert sum((row["class"] in implied(row["text"])) == (row["answer"] == "yes") for row in rows) >= right


def test_every_class_is_found_by_its_name_and_its_own_words():
    for cls in COCO.classes:
        assert cls in implied(f"There is a {cls}."), cls
        for word in COCO.mentions[cls]:
            named = {mention.object for mention in JUDGE.mentions(f"There is a {word}.")}
            assert cls in named or word in readings("senses"), (cls, word)


OBJECTS365 = LexicalJudge(vocabularies.load("objects365"))


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("A skateboarder with her labrador.", {"Person", "Skateboard", "Dog"}),
        ("An individual in black rides a bmx.", {"Person", "Bicycle"}),
        ("A van and a bmw.", {"Van", "Car"}),  # "van" is a word for COCO's car
        ("A fan on a desk.", {"Fan", "Desk"}),  # and "fan" for its person
    ],
)
def test_objects365_has_cocos_words_but_for_those_of_another_class(text, classes):
    assert implied(text, OBJECTS365) == classes


def test_a_mention_tells_where_it_stands():
    text = "İstanbul: two  Hot Dogs, no\tteddy-bear; the man’s cup 🐶 and a CAT."
    rows = JUDGE.explain(text)
    assert [(row["class"], row["words"], row["taken_back_by"]) for row in rows] == [
        ("hot dog", "Hot Dogs", None),
        ("teddy bear", "teddy-bear", "negated"),
        ("person", "man’s", None),
        ("cup", "cup", None),
        ("dog", "🐶", None),
        ("cat", "CAT", None),
    ]
    assert all(text[row["start"] : row["end"]] == row["words"] for row in rows)


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_neither_a_sentence_next_to_it_nor_its_case_matters(text):
    for other in ("The light is soft.", "There are no lamps here.", "Perhaps it rains."):
        assert implied(f"{other} {text}") >= implied(text)
        if not text.endswith("?"):  # what follows a question may answer it
            assert implied(f"{text.rstrip('.')}. {other}") >= implied(text)
    if "\n" not in text:
        assert implied(text.upper()) == implied(text.lower()) == implied(text)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ('"Is that a cat?" she asks. "Yes, asleep."', True),
        ('"Is that a cat?" she asks. "No, a cushion."', False),
        ('"What did he leave?" "A cat."', True),
        ('A sign says "What did he leave?" and "A cat".', False),
    ],
)
def test_what_is_said_in_quotation_marks_counts_as_an_answer(text, there):
    assert ("cat" in implied(text)) == there


def test_any_list_of_names_will_do():
    judge = LexicalJudge(
        vocabularies.load(["Cabinet/shelf", "Gloves", "Coffee Table", "dog", "Wild Bird", "🐶"])
    )
    text = "No cabinets, but two shelves, a coffee table with gloves on it, a hot dog and wild birds. 🐶"
    assert implied(text, judge) == {"Cabinet/shelf", "Gloves", "Coffee Table", "Wild Bird", "🐶"}


# ---- The judge's answers ----

ASKED_ABOUT = questions_of("paper").about(COCO)[0]


def answers_of(texts: list[str], order: np.ndarray | None = None) -> np.ndarray:
    """The answers as [texts, classes], asked in the given order of pairs."""
    pairs = np.array([(i, j) for i in range(len(texts)) for j in range(len(ASKED_ABOUT))], dtype=np.int64)
    pairs = pairs if order is None else pairs[order]
    table = np.full((len(texts), len(ASKED_ABOUT)), -1, dtype=np.int8)
    for places, answers in JUDGE.answer(texts, ASKED_ABOUT, pairs):
        assert (table[tuple(pairs[places].T)] == -1).all()
        table[tuple(pairs[places].T)] = answers
    return table


def test_an_answer_depends_on_its_text_alone():
    texts = [*EVERY_TEXT, "", *EVERY_TEXT[:TEXTS_A_BATCH]]
    expected = [[YES if cls in implied(text) else NO for cls in COCO.classes] for text in texts]
    shuffled = np.random.default_rng(0).permutation(len(texts) * len(ASKED_ABOUT))
    assert (answers_of(texts) == expected).all()
    assert (answers_of(texts, shuffled) == expected).all()


def test_the_key_moves_with_the_words():
    assert re.fullmatch(r"lexical-\d+-[0-9a-f]{8}", JUDGE.key)
    assert LexicalJudge(COCO).key == JUDGE.key
    other = Vocabulary("coco", COCO.classes, COCO.plurals, {**COCO.mentions, "dog": ("hound",)})
    assert LexicalJudge(other).key != JUDGE.key


# ---- lexical.toml ----

NO_WORDS = {"rule", "reach", "definite", "after", "near", "class"}
"""What of lexical.toml is no word that a text may hold."""


def entries(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for name, value in part.items():
            if name not in NO_WORDS:
                yield from entries(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from entries(value)


def test_every_entry_of_the_tables_is_what_a_text_is_cut_into():
    """Otherwise it can never match; a dash counts as one only between spaces."""
    dead = {
        "."
    }  # in corrections.before_strike; without it, the judge's key in signatures would be another one
    for entry in set(entries(tables())) - dead:
        listed = entry.replace("*", "star").split()
        cut = [word for sentence in sentences(f"a {' '.join(listed)} b") for word in sentence.words]
        assert cut == ["a", *listed, "b"], entry
    for part in ("after", "absent", "clause", "depiction", "grammar", "hedges"):
        assert [word for word in entries(tables()[part]) if " " in word] == []  # lists of single words


# ---- Any text ----


HOSTILE = {
    "blank": " \n\t ",
    "emoji": "🐕‍🦺" * 25_000,
    "surrogates": "\ud800dog\udfff " * 12_000,
    "one word": "dog" * 33_000,
    "one sentence": "no dogs, " * 11_000,
    "or-lists": "possibly a dog, " * 6_000 + "or a cat",
    "quotes": "\"dog' " * 16_000,
    "line breaks": "\n " * 50_000,
    "digits": "1." * 50_000,
    "subjects": "dogs, " * 16_000 + "are not visible",
    "cues": "if not no without for " * 4_500,
    "photos": "photo of " * 11_000,
    "headings": "a: dog, " * 12_000,
    "corrections": "a dog; no, a cat; " * 5_000,
    "owners": "the barber's " * 7_000,
    "question": "dog no " * 20_000 + "?",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_read_in_linear_time(text):
    start = time.process_time()
    mentions = JUDGE.mentions(text)
    assert time.process_time() - start < 10
    assert all(0 <= mention.start < mention.end <= len(text) for mention in mentions)


PIECES = [
    *"adginos ,.;:'\"-\n?",
    "dog ",
    "no ",
    "the ",
    "for ",
    "possibly ",
    "are not visible",
    "\ud800",
    "🐶",
]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_can_be_read(text):
    for mention in JUDGE.mentions(text):
        assert 0 <= mention.start < mention.end <= len(text)
        assert mention.object in COCO.classes
