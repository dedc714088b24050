"""An option that cannot matter is refused, in Python and on the command line, with the reason; others are accepted."""

import json

import numpy as np
import pytest

from halluscope import cli, registry
from tests.test_contract import example

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

GIVEN = {
    "mmhal": ("ratings", 3),
    "gavie": ("ratings", {"relevancy": 5, "accuracy": 5}),
    "hqh": ("ratings", {"correct": True, "extra_claims": 0}),
    "haloquest": ("ratings", True),
    "llava_bench": ("ratings", (8, 6)),
}
"""The option for given verdicts, and a verdict on one row."""

MOVE_REPLIES = {"repeats": 2, "temperature": 0.5, "fresh": True, "judge_seed": 3, "max_tokens": 77}
COST = {"max_failed": 0.5, "at_once": 3, "device": "cpu", "progress": False}
"""Options of judges: those that can move a reply, and those that say only what asking costs."""


def compute(name, **options):
    benchmark = registry.benchmark(name)
    predictions, references, _ = example(benchmark)
    return benchmark.compute(predictions, references, **options)


def given(name):
    option, verdict = GIVEN[name]
    _, references, _ = example(registry.benchmark(name))
    return {option: [verdict] * len(references)}


def refused(name, option, value):
    return pytest.raises(ValueError, match=f"{option} is .*but .*; leave {option} out")


# Judges


@pytest.mark.parametrize("name", GIVEN)
def test_a_judges_options_beside_given_verdicts(name):
    options = MOVE_REPLIES | {"judge": "openai:some-model"}
    for option, value in options.items():
        with refused(name, option, value):
            compute(name, **given(name), **{option: value})
    plain = compute(name, **given(name))
    accepted = compute(name, **given(name), **COST, judge="none", repeats=1, temperature=0)
    assert json.dumps(accepted) == json.dumps(plain)


@pytest.mark.parametrize("name", ["hqh", "hallusionbench"])
def test_a_judges_options_beside_a_rule(name):
    options = MOVE_REPLIES | (
        {"claims": "all"} if name == "hqh" else {"prompts": "authors", "reading": "official"}
    )
    judge = "reference-only" if name == "hqh" else "rules"
    for option, value in options.items():
        with refused(name, option, value):
            compute(name, judge=judge, **{option: value})
    assert json.dumps(compute(name, judge=judge, **COST)) == json.dumps(compute(name, judge=judge))


def test_hallusionbench_beside_given_codes():
    rows = len(example(registry.benchmark("hallusionbench"))[0])
    codes = {"correctness": [1] * rows, "same": [1] * rows}
    others = {"prompts": "authors", "reading": "strict", "judge": "vlmevalkit"}
    for option, value in (MOVE_REPLIES | others).items():
        with refused("hallusionbench", option, value):
            compute("hallusionbench", **codes, **{option: value})
    # it reads yes and no from the responses here
    read = compute("hallusionbench", **codes, judge="vlmevalkit", bias="answers")
    assert "bias:answers,vlmevalkit" in read["signature"]
    for protocol in ("lmms-eval", "vlmevalkit"):
        with refused("hallusionbench", "diagnosis", "paper"):
            compute("hallusionbench", protocol=protocol, diagnosis="paper")


def test_one_kind_of_verdicts_leaves_the_other_to_a_judge():
    """The options of a judge matter while it is asked about one of two things."""
    rows = len(example(registry.benchmark("hallusionbench"))[0])
    got = compute("hallusionbench", correctness=[1] * rows)
    assert "correctness:given|same:rules" in got["signature"]


# Votes


def test_throne_beside_given_votes():
    predictions, _, _ = example(registry.benchmark("throne"))
    votes = np.ones((len(predictions), 80, 3), dtype=np.int8)
    plain = compute("throne", votes=votes)
    with refused("throne", "judges", "lexical"):
        compute("throne", votes=votes, judges="lexical")
    accepted = compute("throne", votes=votes, workers=2, max_failed=0.5, ask="needed", judges="flan-t5")
    assert json.dumps(accepted) == json.dumps(plain)
    with refused("throne", "cells_of", "a"):
        compute("throne", votes=votes, cells_of="a sample")


def test_openchair_beside_given_votes_and_nouns():
    predictions, _, _ = example(registry.benchmark("openchair"))
    votes = [{"dog": "yes"} for _ in predictions]
    nouns = [["dog"] for _ in predictions]
    for option, value in {
        "judges": "lexical",
        "questions": "plain",
        "agreement": "majority",
        "reader": "nltk",
    }.items():
        with refused("openchair", option, value):
            compute("openchair", votes=votes, **{option: value})
    with refused("openchair", "reader", "nltk"):
        compute("openchair", nouns=nouns, judges="lexical", reader="nltk")


# Readers and conventions


def test_amber_beside_given_nouns():
    _, references, _ = example(registry.benchmark("amber"))
    described = [row for row in references if row["task"] == "generative"]
    with refused("amber", "reader", "nltk"):
        registry.benchmark("amber").compute(
            ["A dog."] * len(described), described, nouns=[["dog"]] * len(described), reader="nltk"
        )


def test_chair_without_a_list_of_synonyms():
    with refused("chair", "allow_other_synonyms", True):
        registry.benchmark("chair").compute(["A dog."], [["dog"]], allow_other_synonyms=True)


def test_popes_conventions_about_responses_that_nobody_fails_to_read():
    """RePOPE's convention leaves unreadable responses out; the official rule and VCD's read all."""
    pope = registry.benchmark("pope").compute
    for parser in ("pope", "vcd"):
        with refused("pope", "convention", "repope"):
            pope(["Yes", "Hm"], ["yes", "no"], parser=parser, convention="repope")
    usual = pope(["Yes", "Hm"], ["yes", "no"], parser="strict")
    other = pope(["Yes", "Hm"], ["yes", "no"], parser="strict", convention="repope")
    assert (usual["accuracy"], other["accuracy"]) == (0.5, 1)
    # lmms-eval's yes ratio is that of the right answers
    assert pope(["Yes", "Yes"], ["yes", "no"], convention="lmms-eval")["yes_ratio"] == 0.5


# The command line


@pytest.mark.parametrize(
    "options",
    [
        ["--repeats", "3"],
        ["--judge-seed", "5"],
        ["--temperature", "0.5"],
        ["--max-tokens", "9"],
        ["--judge", "openai:some-model"],
        ["--prompts", "authors"],
        ["--reading", "official"],
    ],
)
def test_the_command_says_in_one_line_why(tmp_path, capsys, options):
    _, references, _ = example(registry.benchmark("mmhal"))
    ratings = [{"id": number, "rating": 3} for number in range(len(references))]
    answers = [{"id": number, "response": f"Text {number}"} for number in range(len(references))]
    contents = {"rows.json": references, "rated.json": ratings, "mine.json": answers}
    for name, content in contents.items():
        (tmp_path / name).write_text(json.dumps(content))
    command = [
        "score",
        "mmhal",
        "--responses",
        str(tmp_path / "mine.json"),
        "--dataset",
        str(tmp_path / "rows.json"),
    ]
    command += ["--ratings", str(tmp_path / "rated.json")]
    assert cli.main(command) == 0
    capsys.readouterr()
    assert cli.main([*command, *options]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("halluscope:")]
    name = options[0].removeprefix("--").replace("-", "_")
    assert f"{name} is " in line and f"leave {name} out" in line
