"""Each option of a benchmark with verdicts that can move a score is in its signature."""

import pytest

from halluscope import registry
from tests.runs.made import Fitting
from tests.test_contract import example

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:.* prompts have no readable verdict"),
]

MOVES = {"repeats": 2, "judge_seed": 1, "bootstrap": 0, "seed": 1, "level": 0.9, "thoughts": "kept"}
"""Another value of each option that all of them have."""

PER_ROW = {
    "hqh": {"ratings": {"correct": True, "extra_claims": 0}},
    "mmhal": {"ratings": 1},
    "gavie": {"ratings": {"relevancy": 1, "accuracy": 1}},
    "haloquest": {"ratings": True},
    "hallusionbench": {"correctness": 1, "same": 1},
}
"""Verdicts that are given, of one row."""

CHOICES = {
    "hqh": {"claims": "all"},
    "mmhal": {"prompts": "authors", "reading": "official"},
    "gavie": {"prompts": "authors"},
    "haloquest": {"prompts": "authors"},
    "hallusionbench": {
        **{"protocol": "lmms-eval", "bias": "answers", "diagnosis": "paper"},
        **{"prompts": "authors", "reading": "official"},
    },
}
"""Another value of each benchmark's own options."""

MOVES_NOTHING = {"max_failed": 0.5, "at_once": 3, "per_question": True, "progress": False, "device": "cpu"}
ELSEWHERE = {"max_tokens", "temperature", "leave_out", "fresh", "store"}
"""Options that stand in a named judge's key, or nowhere."""


@pytest.mark.parametrize("name", CHOICES)
def test_no_option_is_missing_from_the_signature(name):
    benchmark = registry.benchmark(name)
    predictions, references, _ = example(benchmark)
    other = Fitting()
    other.key = "fitting-2"
    moves = MOVES | {"judge": other} | CHOICES[name]
    moves |= {option: [value] * len(references) for option, value in PER_ROW[name].items()}
    assert benchmark.keywords - ELSEWHERE == moves.keys() | MOVES_NOTHING.keys()

    def signed(**options):
        base = {"bootstrap": 5, "max_failed": 1.0}
        if name == "hallusionbench" or options.keys().isdisjoint(PER_ROW[name]):
            base["judge"] = Fitting()  # given verdicts need no judge
        return benchmark.compute(predictions, references, **base | options)["signature"]

    plain = signed()
    assert [option for option, value in moves.items() if signed(**{option: value}) == plain] == []
    assert [option for option, value in MOVES_NOTHING.items() if signed(**{option: value}) != plain] == []
