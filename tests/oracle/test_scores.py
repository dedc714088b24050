"""Every number of every benchmark, frozen: made rows and texts in, all that `compute` returns out (tests/frozen.py).

The inputs (tests/oracle/inputs.py) reach every part, parser and convention. Whether a number is right, other tests
show; these show that none moves.
"""

from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

from tests.frozen import listed, same
from tests.oracle import inputs
from tests.oracle.inputs import taken

ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:The rule "),
    pytest.mark.filterwarnings("ignore:.*warning of scores:"),
]


IN_FULL = {"bootstrap": 100, "per_question": True}


def check(benchmark: str, predictions: list[str], references: Any, calls: dict[str, dict[str, Any]]) -> None:
    """Compare the results of some calls, by name, with the frozen ones."""
    metric = evaluate.load(str(ROOT / "metrics" / benchmark))
    results = {}
    for name, options in calls.items():
        results[name] = metric.compute(predictions=predictions, references=references, **options)
    same(f"oracle_{benchmark}.json", listed(results))


def test_pope():
    rows = inputs.pope()
    answers = [row["answer"] for row in rows]
    columns = {
        "objects": [row["object"] for row in rows],
        "sampling": [row["sampling"] for row in rows],
        "image_ids": [row["image_id"] for row in rows],
        "questions": [row["question"] for row in rows],
    }
    corrected = list(answers)
    corrected[0] = "no"
    corrected[7] = None
    calls: dict[str, dict[str, Any]] = {"labels alone": {"bootstrap": 100}}
    for parser in ("pope", "strict", "lmms-eval", "vlmevalkit", "repope", "first-word", "vcd"):
        calls[parser] = columns | {"parser": parser, "bootstrap": 100, "per_class": True}
    for convention in ("usual", "lmms-eval", "repope"):
        strict = {"parser": "strict", "convention": convention, "per_question": True}
        calls[f"strict, {convention}"] = columns | strict
    calls["corrected"] = columns | {"corrected": corrected, "bootstrap": 100, "level": 0.9}
    calls["thoughts kept"] = columns | {"thoughts": "kept"}
    check("pope", taken(inputs.YES_NO_TEXTS, len(rows)), answers, calls)


def test_dash_b():
    rows = inputs.dash_b()
    calls = {}
    for parser in ("official", "strict"):
        calls[parser] = {"parser": parser, "bootstrap": 100, "per_question": True}
    check("dash_b", taken(inputs.YES_NO_TEXTS, len(rows), 3), rows, calls)


def test_mme():
    rows = inputs.mme()
    calls = {}
    for parser in ("official", "strict", "lmms-eval", "vlmevalkit"):
        calls[parser] = {"parser": parser}
    calls["official"]["bootstrap"] = 100
    check("mme", taken(inputs.YES_NO_TEXTS, len(rows), 3), rows, calls)


def test_humblebench():
    rows = inputs.humblebench()
    calls = {}
    for parser in ("official", "strict"):
        for setting in ("common", "noise"):
            calls[f"{parser}, {setting}"] = {"parser": parser, "setting": setting, "bootstrap": 100}
    calls["questions"] = {"per_question": True}
    check("humblebench", taken(inputs.LETTER_TEXTS, len(rows), 2), rows, calls)


def test_amber():
    rows = inputs.amber()
    describing = sum(row["task"] == "generative" for row in rows)
    texts = taken(inputs.DESCRIPTIONS, describing)
    texts += taken(inputs.YES_NO_TEXTS, len(rows) - describing)
    nouns = taken((["dog", "bus"], [], ["chair", "umbrella", "cat"]), describing)
    calls: dict[str, dict[str, Any]] = {
        "exact": {"bootstrap": 100, "per_row": True},
        "strict": {"parser": "strict", "bootstrap": 100},
        "official": {"convention": "official", "bootstrap": 100},
        "nouns": {"nouns": nouns, "similar": [["bus", "dog"]], "bootstrap": 100},
    }
    check("amber", texts, rows, calls)


def test_hallusionbench():
    rows = inputs.hallusionbench()
    calls: dict[str, dict[str, Any]] = {}
    for protocol in ("official", "lmms-eval", "vlmevalkit"):
        correctness = taken((1, 0, 1, 2, 1), len(rows))
        calls[f"verdicts, {protocol}"] = IN_FULL | {"correctness": correctness, "protocol": protocol}
    calls["verdicts, official"]["same"] = taken((1, 1, 0), len(rows))
    for judge in ("rules", "vlmevalkit"):
        calls[judge] = {"judge": judge, "bootstrap": 100}
    check("hallusionbench", taken(inputs.YES_NO_TEXTS, len(rows), 4), rows, calls)


def test_mmhal():
    rows = inputs.mmhal()
    calls = {
        "ratings": IN_FULL | {"ratings": taken((6, 4, 0, 2, 3, 5, 1), len(rows))},
        "some missing": {"ratings": taken((6, None, 0), len(rows)), "bootstrap": 100},
    }
    check("mmhal", taken(inputs.ANSWERS, len(rows)), rows, calls)


def test_hqh():
    rows = inputs.hqh()
    wrong, unsearched = {"correct": False, "extra_claims": 2}, {"correct": False, "extra_claims": None}
    right, right_with_a_claim = {"correct": True, "extra_claims": 0}, {"correct": True, "extra_claims": 1}
    verdicts = taken((right, wrong, right_with_a_claim, None, unsearched), len(rows))
    calls = {
        "ratings": IN_FULL | {"ratings": verdicts},
        "reference-only": {"judge": "reference-only", "bootstrap": 100},
    }
    check("hqh", taken(inputs.ANSWERS, len(rows)), rows, calls)


def test_llava_bench():
    rows = inputs.llava_bench()
    pairs = ((8, 6), (9, 9.5), (7, 3), (10, 1), (6, 8))
    calls = {
        "ratings": IN_FULL | {"ratings": taken(pairs, len(rows))},
        "some missing": {"ratings": taken((*pairs, None, (-1, -1)), len(rows)), "bootstrap": 100},
    }
    check("llava_bench", taken(inputs.ANSWERS, len(rows)), rows, calls)


def test_gavie():
    rows = inputs.gavie()
    good, best = {"relevancy": 9, "accuracy": 4}, {"relevancy": 10, "accuracy": 10}
    ratings = taken((good, best, None, {"relevancy": 0, "accuracy": 2.5}), len(rows))
    calls = {"ratings": IN_FULL | {"ratings": ratings}}
    check("gavie", taken(inputs.ANSWERS, len(rows)), rows, calls)


def test_haloquest():
    rows = inputs.haloquest()
    verdicts = taken(({"correct": True}, {"correct": False}, {"correct": True}, None), len(rows), 3)
    calls = {"ratings": IN_FULL | {"ratings": verdicts}}
    check("haloquest", taken(inputs.ANSWERS, len(rows)), rows, calls)


def test_throne():
    rows = inputs.presence()
    draw = np.random.default_rng(0)
    votes = draw.integers(2, size=(len(rows), len(inputs.THINGS), 9))
    cells = draw.integers(2, size=(len(rows), len(inputs.THINGS))).astype(bool)
    tables = {"bootstrap": 100, "per_class": True}
    calls: dict[str, dict[str, Any]] = {
        "lexical": tables | {"judges": "lexical", "ask": "all", "per_image": True},
        "lexical, needed": {"judges": "lexical", "explain": True},
    }
    own = {"vocabulary": list(inputs.THINGS), "votes": votes.tolist()}
    for agreement in ("unanimous", "majority", 7):
        calls[f"votes, {agreement}"] = own | tables | {"agreement": agreement}
    released = {"agreement": "majority", "class_f": "mean", "all_average": "image", "bootstrap": 100}
    calls["released"] = own | released
    calls["cells"] = own | {"agreement": "majority", "cells": cells.tolist(), "beta": 2.0}
    references = [row["objects"] for row in rows]
    check("throne", taken(inputs.DESCRIPTIONS, len(rows)), references, calls)


def test_chair(tmp_path):
    rows = inputs.presence()
    synonyms = tmp_path / "synonyms.txt"
    from halluscope.vocabularies import load

    names = [f"{name}, {name}y" for name in load("coco").classes]
    synonyms.write_text("\n".join(names), encoding="utf-8")
    options = {"synonyms": synonyms, "allow_other_synonyms": True, "bootstrap": 100}
    calls = {
        "usual": options | {"per_image": True},
        "unfinished": options | {"drop_unfinished": True},
    }
    check("chair", taken(inputs.DESCRIPTIONS, len(rows)), [row["objects"] for row in rows], calls)


def test_object_halbench():
    rows = inputs.object_halbench()
    names = taken((["dogs", "a red cup"], [], ["hot dog", "people", "umbrella"], None), len(rows))
    options = {"synonyms": "names", "bootstrap": 100}
    calls = {
        "rules": options | {"per_question": True},
        "names": options | {"objects": names, "per_question": True},
    }
    check("object_halbench", taken(inputs.DESCRIPTIONS, len(rows)), rows, calls)


def test_openchair():
    captions = inputs.captions()
    nouns = taken((["dog", "cat"], [], ["chair"]), len(captions))
    votes = taken(([["dog", "yes"], ["cat", "no"]], [], [["chair", "unsure"]]), len(captions))
    calls: dict[str, dict[str, Any]] = {}
    for convention in ("released", "first"):
        by_rules = {"judges": "lexical", "convention": convention, "bootstrap": 100, "per_image": True}
        calls[convention] = by_rules
        calls[f"votes, {convention}"] = {"votes": votes, "convention": convention, "bootstrap": 100}
    calls["nouns"] = {"nouns": nouns, "judges": "lexical", "bootstrap": 100}
    check("openchair", taken(inputs.DESCRIPTIONS, len(captions)), captions, calls)
