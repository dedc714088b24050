"""An option that cannot matter is refused, in Python and on the command line, with the reason; others are accepted."""

import json

import numpy as np
import pytest

from halluscope import registry
from tests.test_contract import example

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

VERDICTS = {
    "mmhal": 3,
    "gavie": {"relevancy": 5, "accuracy": 5},
    "hqh": {"correct": True, "extra_claims": 0},
    "haloquest": True,
    "llava_bench": (8, 6),
}
"""A given verdict on one row."""

MOVE_REPLIES = {"repeats": 2, "temperature": 0.5, "fresh": True, "judge_seed": 3, "max_tokens": 77}
COST = {"max_failed": 0.5, "at_once": 3, "device": "cpu", "progress": False}
"""Options of judges: those that can move a reply, and those that say only what asking costs."""


def compute(name, **options):
    benchmark = registry.benchmark(name)
    predictions, references, _ = example(benchmark)
    return benchmark.compute(predictions, references, **options)


def rows_of(name):
    return len(example(registry.benchmark(name))[0])


CODES = {"correctness": [1] * rows_of("hallusionbench"), "same": [1] * rows_of("hallusionbench")}
VOTES = np.ones((rows_of("throne"), 80, 3), dtype=np.int8)

# Benchmark, options, and others that cannot matter beside them
REFUSED = [
    *(
        (name, {"ratings": [verdict] * rows_of(name)}, MOVE_REPLIES | {"judge": "openai:some-model"})
        for name, verdict in VERDICTS.items()
    ),
    ("hqh", {"judge": "reference-only"}, MOVE_REPLIES | {"claims": "all"}),
    ("hallusionbench", {"judge": "rules"}, MOVE_REPLIES | {"prompts": "authors", "reading": "official"}),
    ("hallusionbench", CODES, MOVE_REPLIES | {"prompts": "authors", "reading": "strict", "judge": "vlmevalkit"}),
    ("hallusionbench", {"protocol": "lmms-eval"}, {"diagnosis": "paper"}),
    ("throne", {"votes": VOTES}, {"judges": "lexical", "cells_of": "a sample"}),
    (
        "openchair",
        {"votes": [{"dog": "yes"}] * rows_of("openchair")},
        {"judges": "lexical", "questions": "plain", "agreement": "majority", "reader": "nltk"},
    ),
    ("openchair", {"nouns": [["dog"]] * rows_of("openchair"), "judges": "lexical"}, {"reader": "nltk"}),
    ("chair", {}, {"allow_other_synonyms": True}),
    ("pope", {"parser": "vcd"}, {"convention": "repope"}),  # this parser reads every response
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "others"), REFUSED)
def test_what_cannot_matter_is_refused(name, options, others):
    for other, value in others.items():
        with pytest.raises(ValueError, match=f"{other} is .*but .*; leave {other} out"):
            compute(name, **options, **{other: value})


ACCEPTED = [
    *((name, others, COST | {"judge": "none", "repeats": 1}) for name, others, _ in REFUSED[: len(VERDICTS)]),
    ("hqh", {"judge": "reference-only"}, COST),
    ("throne", {"votes": VOTES}, {"workers": 2, "max_failed": 0.5, "ask": "needed", "judges": "flan-t5"}),
]


@pytest.mark.parametrize(("name", "options", "others"), ACCEPTED)
def test_defaults_and_costs_are_accepted_and_move_nothing(name, options, others):
    assert json.dumps(compute(name, **options, **others)) == json.dumps(compute(name, **options))


def test_a_reader_beside_given_nouns_of_amber():
    amber = registry.benchmark("amber")
    described = [row for row in example(amber)[1] if row["task"] == "generative"]
    with pytest.raises(ValueError, match="reader is .*but .*; leave reader out"):
        amber.compute([""] * len(described), described, nouns=[[]] * len(described), reader="nltk")


def test_what_matters_still():
    """Codes of one kind leave the other to a judge; a convention matters where a response is unreadable."""
    assert (
        "correctness:given|same:rules"
        in compute("hallusionbench", correctness=CODES["correctness"])["signature"]
    )
    read = compute("hallusionbench", **CODES, judge="vlmevalkit", bias="answers")
    assert "bias:answers,vlmevalkit" in read["signature"]
    pope = registry.benchmark("pope").compute
    scores = [
        pope(["Yes", "Hm"], ["yes", "no"], parser="strict", convention=convention)["accuracy"]
        for convention in ("usual", "repope")
    ]
    assert scores == [0.5, 1]


def test_the_command_says_in_one_line_why(tmp_path, refused):
    _, references, _ = example(registry.benchmark("mmhal"))
    ids = range(len(references))
    contents = {
        "rows": references,
        "rated": [{"id": number, "rating": 3} for number in ids],
        "mine": [{"id": number, "response": f"Text {number}"} for number in ids],
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    command = ["score mmhal --responses", tmp_path / "mine.json", "--dataset", tmp_path / "rows.json"]
    said = refused(*command, "--ratings", tmp_path / "rated.json", "--judge-seed", 5)
    (line,) = [line for line in said.splitlines() if line.startswith("halluscope:")]
    assert "judge_seed is " in line and "leave judge_seed out" in line
