"""Each option of a benchmark that can move a score is in its signature; what cannot move one is not."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from halluscope import registry
from halluscope.signature import changed, keys_of
from halluscope.vocabularies import load
from tests.runs.made import Fitting
from tests.test_contract import example

pytestmark = pytest.mark.filterwarnings("ignore")


def other_judge() -> Fitting:
    judge = Fitting()
    judge.key = "fitting-2"
    return judge


OF_ALL: dict[str, Any] = {"bootstrap": 0, "level": 0.9, "thoughts": "kept"}
"""Another value of each option that all benchmarks have."""

OF_JUDGES: dict[str, Any] = OF_ALL | {"repeats": 2, "judge_seed": 1, "seed": 1, "judge": other_judge()}
"""The same for those in which a judge gives verdicts."""

ASKED_ALIKE: dict[str, Any] = {"max_failed": 0.5, "at_once": 3, "progress": False, "device": "cpu"}
PER_QUESTION = {"per_question": True}

IN_A_JUDGES_KEY = {"max_tokens", "temperature", "leave_out", "fresh", "store"}
"""Options that stand in a named judge's key, or nowhere."""


@dataclass(frozen=True)
class Signed:
    """A benchmark's options. None is missing."""

    base: dict[str, Any]
    moves: dict[str, Any]  # an option that can move a score, and another value for it
    moves_nothing: dict[str, Any]
    data: dict[str, Any] = field(default_factory=dict)  # what says only which rows these are
    elsewhere: set[str] = field(default_factory=set)  # tested where they can be given
    instead: dict[str, str] = field(default_factory=dict)  # an option that replaces one of the base


VOTED = {"ask": "all", "per_image": True, "store": ":memory:", "seed": 1, "progress": False}
OF_MODELS = {"at_once", "workers", "max_failed", "device", "leave_out"}
"""Options of judges that are models; see tests/judging."""


class Yes:
    """A voter that says yes to all."""

    key = "yes"
    stored = False

    def answer(self, texts: Any, questions: Any, pairs: Any) -> Any:
        yield np.arange(len(pairs)), np.ones(len(pairs), dtype=np.int8)

    def close(self) -> None:
        pass


CASES = {
    "pope": Signed(
        {"objects": ["dog", "dog"]},
        OF_ALL
        | {"parser": "strict", "objects": ["dog", "cat"], "sampling": ["random", "popular"]}
        | {"image_ids": [1, 2], "forms": ["parallel-1-0"] * 2, "convention": "lmms-eval"},
        PER_QUESTION | {"per_class": True, "seed": 1},
        {"questions": ["Is there a dog?", "A dog?"]},
        {"corrected"},
    ),
    "dash_b": Signed({}, OF_ALL | {"parser": "strict"}, PER_QUESTION | {"seed": 1}),
    "humblebench": Signed({}, OF_ALL | {"parser": "strict", "setting": "noise"}, PER_QUESTION | {"seed": 1}),
    "mme": Signed({}, OF_ALL | {"parser": "strict"}, PER_QUESTION | {"seed": 1}),
    "amber": Signed(
        {},
        OF_ALL
        | {"parser": "official", "convention": "official", "nouns": [["dog"]], "similar": [["dog", "bench"]]},
        {"per_row": True, "seed": 1},
        elsewhere={"reader"},
    ),
    "throne": Signed(
        {"vocabulary": ["dog", "cat"], "judges": "lexical"},
        OF_ALL
        | {
            "vocabulary": ["dog", "cat", "cow"],
            "judges": ["lexical", Yes()],
            "questions": "released",
        }
        | {"agreement": 2, "beta": 2.0, "votes": np.zeros((2, 2, 1)), "class_f": "mean"}
        | {"all_average": "image", "forms": ["parallel-1", ""]},
        VOTED | {"per_class": True, "explain": True},
        {"image_ids": [1, 2]},
        {"cells", "cells_of"} | OF_MODELS,
        {"votes": "judges"},
    ),
    "openchair": Signed(
        {"judges": "lexical", "questions": "plain"},
        OF_ALL
        | {"judges": ["lexical", Yes()], "convention": "first"}
        | {"nouns": [["dog"], ["cat"]], "forms": ["parallel-1", ""]}
        | {"questions": "claims"},
        VOTED,
        {"image_ids": [7, 8]},
        {"agreement", "concreteness", "reader", "votes"} | OF_MODELS,
    ),
    "hqh": Signed(
        {"judge": Fitting()},
        OF_JUDGES | {"claims": "all", "ratings": {"correct": True, "extra_claims": 0}},
        ASKED_ALIKE | PER_QUESTION,
        elsewhere={"prompts", "reading", "template"},
    ),
    "mmhal": Signed(
        {"judge": Fitting()},
        OF_JUDGES | {"prompts": "authors", "reading": "official", "ratings": 1},
        ASKED_ALIKE | PER_QUESTION,
    ),
    "gavie": Signed(
        {"judge": Fitting()},
        OF_JUDGES | {"prompts": "authors", "ratings": {"relevancy": 1, "accuracy": 1}},
        ASKED_ALIKE | PER_QUESTION,
    ),
    "haloquest": Signed(
        {"judge": Fitting()},
        OF_JUDGES | {"prompts": "authors", "ratings": True},
        ASKED_ALIKE | PER_QUESTION,
    ),
    "llava_bench": Signed(
        {"judge": Fitting()},
        OF_JUDGES | {"ratings": (8, 6)},
        ASKED_ALIKE | PER_QUESTION,
        elsewhere={"prompts", "rule"},
    ),
    "hallusionbench": Signed(
        {"judge": Fitting()},
        OF_JUDGES
        | {"protocol": "lmms-eval", "bias": "answers", "diagnosis": "paper", "prompts": "authors"}
        | {"reading": "official", "correctness": 1, "same": 1},
        ASKED_ALIKE | PER_QUESTION,
    ),
}
PER_ROW = {"ratings", "correctness", "same"}
"""Options with a verdict for each row."""

TEXTS = {
    "pope": (["", ""], ["yes", "no"]),
    "throne": (["", ""], [[], []]),
    "openchair": (["a dog", "a cat"], ["A dog.", "A cat."]),
}


ELSEWHERE = {"chair", "hqm", "object_halbench"}
"""Benchmarks whose options need files, or that have hardly any; the first is below."""


def test_no_benchmark_is_missing() -> None:
    assert {benchmark.name for benchmark in registry.benchmarks()} == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_each_option_that_can_move_a_score_is_in_the_signature(name: str) -> None:
    benchmark, case = registry.benchmark(name), CASES[name]
    predictions, references, *_ = TEXTS.get(name) or example(benchmark)
    known = case.moves.keys() | case.moves_nothing.keys() | case.data.keys() | case.elsewhere
    assert benchmark.keywords - known - IN_A_JUDGES_KEY == set()

    def signed(**options: Any) -> str:
        base = {"bootstrap": 5} | case.base
        if "max_failed" in benchmark.keywords:
            base["max_failed"] = 1.0
        for option in options:
            base.pop(case.instead.get(option, ""), None)
            if option == "ratings":
                del base["judge"]
            if option in PER_ROW:
                options = {option: [options[option]] * len(references)}
        return str(benchmark.compute(predictions, references, **base | options)["signature"])

    plain = signed()
    assert [option for option, value in case.moves.items() if signed(**{option: value}) == plain] == []
    unmoved = [option for option, value in case.moves_nothing.items() if signed(**{option: value}) == plain]
    assert unmoved == [*case.moves_nothing]
    for option, value in case.data.items():
        about = signed(**{option: value})
        assert about != plain == changed(about, data=keys_of(plain)["data"])


def test_chairs_options(tmp_path) -> None:
    """Its list of synonyms is a file."""
    chair = registry.benchmark("chair")
    classes = load("coco").classes
    (tmp_path / "one.txt").write_text("\n".join(classes))
    (tmp_path / "other.txt").write_text("\n".join(classes).replace("bear\n", "bear, panda\n", 1))
    moves = OF_ALL | {"synonyms": tmp_path / "other.txt", "forms": ["parallel-1"], "drop_unfinished": True}
    moves["reader"] = "textblob"
    assert chair.keywords == moves.keys() | {"allow_other_synonyms", "per_image", "seed", "image_ids"}
    base = {"synonyms": tmp_path / "one.txt", "allow_other_synonyms": True, "bootstrap": 5}

    def signed(**options: Any) -> str:
        return str(chair.compute([""], [[]], **base | options)["signature"])

    plain = signed()
    assert [option for option, value in moves.items() if signed(**{option: value}) == plain] == []
    assert signed(per_image=True) == signed(seed=1) == plain
    of_image = signed(image_ids=[1])
    assert of_image != plain == changed(of_image, data=keys_of(plain)["data"])
