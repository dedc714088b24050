"""Each option of a benchmark that can move a score is in its signature; what cannot move one is not."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import halluscope
from halluscope import registry
from halluscope.signature import changed, keys_of
from halluscope.vocabularies import load
from tests.fake_judge import Voter
from tests.runs.made import Fitting
from tests.test_contract import example

pytestmark = pytest.mark.filterwarnings("ignore")


def other_judge() -> Fitting:
    judge = Fitting()
    judge.key = "fitting-2"
    return judge


@dataclass
class Options:
    """A benchmark's options. None is missing."""

    base: dict[str, Any] = field(default_factory=dict)
    moves: dict[str, Any] = field(default_factory=dict)  # what can move a score, and another value for it
    moves_nothing: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # what says only which rows these are
    elsewhere: set[str] = field(default_factory=set)  # tested where they can be given
    instead: dict[str, str] = field(default_factory=dict)  # an option that replaces one of the base

    def __or__(self, others: "Options") -> "Options":
        return Options(
            base=self.base | others.base,
            moves=self.moves | others.moves,
            moves_nothing=self.moves_nothing | others.moves_nothing,
            data=self.data | others.data,
            elsewhere=self.elsewhere | others.elsewhere,
            instead=self.instead | others.instead,
        )


OF_ALL = Options(moves={"bootstrap": 0, "level": 0.9, "thoughts": "kept"})

OF_QUESTIONS = Options(moves_nothing={"per_question": True, "seed": 1})

OF_VOTES = Options(
    moves={"judges": ["lexical", Voter(lambda text, question: True)]},
    moves_nothing={"ask": "all", "per_image": True, "store": ":memory:", "seed": 1, "progress": False},
    elsewhere={"at_once", "workers", "max_failed", "device"},  # of models; see tests/judging
)

OF_VERDICTS = Options(
    base={"judge": Fitting(), "max_failed": 1.0},
    moves={"repeats": 2, "judge_seed": 1, "seed": 1, "judge": other_judge()},
    moves_nothing={"max_failed": 0.9, "at_once": 3, "progress": False, "device": "cpu"}
    | {"per_question": True},
    elsewhere={"max_tokens", "temperature", "fresh", "store"},  # in a judge's key, or nowhere
    instead={"ratings": "judge"},
)

CASES = {
    "pope": OF_QUESTIONS
    | Options(
        base={"objects": ["dog", "dog"]},
        moves={
            "parser": "strict",
            "convention": "lmms-eval",
            "objects": ["dog", "cat"],
            "sampling": ["random", "popular"],
            "image_ids": [1, 2],
            "forms": ["parallel-1-0"] * 2,
        },
        moves_nothing={"per_class": True},
        data={"questions": ["Is there a dog?", "A dog?"]},
        elsewhere={"corrected"},
    ),
    "dash_b": OF_QUESTIONS | Options(moves={"parser": "strict"}),
    "humblebench": OF_QUESTIONS | Options(moves={"parser": "strict", "setting": "noise"}),
    "mme": OF_QUESTIONS | Options(moves={"parser": "strict"}),
    "amber": Options(
        moves={
            "parser": "official",
            "convention": "official",
            "nouns": [["dog"]],
            "similar": [["dog", "bench"]],
        },
        moves_nothing={"per_row": True, "seed": 1},
        elsewhere={"reader"},
    ),
    "throne": OF_VOTES
    | Options(
        base={"vocabulary": ["dog", "cat"], "judges": "lexical"},
        moves={
            "vocabulary": ["dog", "cat", "cow"],
            "questions": "released",
            "agreement": 2,
            "beta": 2.0,
            "class_f": "mean",
            "all_average": "image",
            "votes": np.zeros((2, 2, 1)),
            "forms": ["parallel-1", ""],
        },
        moves_nothing={"per_class": True, "explain": True},
        data={"image_ids": [1, 2]},
        elsewhere={"cells", "cells_of"},
        instead={"votes": "judges"},
    ),
    "openchair": OF_VOTES
    | Options(
        base={"judges": "lexical", "questions": "plain"},
        moves={
            "questions": "claims",
            "convention": "first",
            "nouns": [["dog"], ["cat"]],
            "forms": ["parallel-1", ""],
        },
        data={"image_ids": [7, 8]},
        elsewhere={"agreement", "concreteness", "reader", "votes"},
    ),
    "hqh": OF_VERDICTS
    | Options(
        moves={"claims": "all", "ratings": {"correct": True, "extra_claims": 0}},
        elsewhere={"prompts", "reading", "template"},
    ),
    "mmhal": OF_VERDICTS | Options(moves={"prompts": "authors", "reading": "official", "ratings": 1}),
    "gavie": OF_VERDICTS | Options(moves={"prompts": "authors", "ratings": {"relevancy": 1, "accuracy": 1}}),
    "haloquest": OF_VERDICTS | Options(moves={"prompts": "authors", "ratings": True}),
    "llava_bench": OF_VERDICTS
    | Options(moves={"ratings": (8, 6), "both_orders": True}, elsewhere={"prompts", "rule"}),
    "hallusionbench": OF_VERDICTS
    | Options(
        moves={
            "protocol": "lmms-eval",
            "bias": "answers",
            "diagnosis": "paper",
            "prompts": "authors",
            "reading": "official",
            "correctness": 1,
            "same": 1,
        },
    ),
}
PER_ROW = ("ratings", "correctness", "same")
"""Options with a verdict for each row."""

ROWS = {
    "pope": (["", ""], ["yes", "no"]),
    "throne": (["", ""], [[], []]),
    "openchair": (["a dog", "a cat"], ["A dog.", "A cat."]),
}
"""Responses and references, where a benchmark's own example has too many."""

ELSEWHERE = {"chair", "hqm", "object_halbench"}
"""Benchmarks whose options need files, or that have hardly any; the first is below."""


@pytest.mark.parametrize("name", [name for name in halluscope.list_benchmarks() if name not in ELSEWHERE])
def test_each_option_that_can_move_a_score_is_in_the_signature(name: str) -> None:
    assert name in CASES, f"Say in CASES, in this file, which options of {name} can move a score."
    benchmark = registry.benchmark(name)
    case = OF_ALL | CASES[name]
    known = case.moves.keys() | case.moves_nothing.keys() | case.data.keys() | case.elsewhere
    assert benchmark.keywords - known == set(), "Say in CASES whether these options can move a score."
    if name in ROWS:
        predictions, references = ROWS[name]
    else:
        predictions, references, _ = example(benchmark)

    def signature(option: str = "", value: Any = None) -> str:
        options = {"bootstrap": 5} | case.base
        options.pop(case.instead.get(option, ""), None)
        if option in PER_ROW:
            value = [value] * len(references)
        if option:
            options[option] = value
        return str(benchmark.compute(predictions, references, **options)["signature"])

    plain = signature()
    for option, value in case.moves.items():
        assert signature(option, value) != plain, option
    for option, value in case.moves_nothing.items():
        assert signature(option, value) == plain, option
    for option, value in case.data.items():
        about = signature(option, value)
        assert about != plain == changed(about, data=keys_of(plain)["data"])


def test_chairs_options(tmp_path) -> None:
    """Its list of synonyms is a file."""
    chair = registry.benchmark("chair")
    classes = load("coco").classes
    (tmp_path / "one.txt").write_text("\n".join(classes))
    (tmp_path / "other.txt").write_text("\n".join(classes).replace("bear\n", "bear, panda\n", 1))
    moves = OF_ALL.moves | {
        "synonyms": tmp_path / "other.txt",
        "forms": ["parallel-1"],
        "drop_unfinished": True,
        "reader": "textblob",
    }
    assert chair.keywords == moves.keys() | {"allow_other_synonyms", "per_image", "seed", "image_ids"}
    base = {"synonyms": tmp_path / "one.txt", "allow_other_synonyms": True, "bootstrap": 5}

    def signature(**options: Any) -> str:
        return str(chair.compute([""], [[]], **base | options)["signature"])

    plain = signature()
    for option, value in moves.items():
        assert signature(**{option: value}) != plain, option
    assert signature(per_image=True) == signature(seed=1) == plain
    of_image = signature(image_ids=[1])
    assert of_image != plain == changed(of_image, data=keys_of(plain)["data"])
