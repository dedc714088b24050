"""`score` hints where nearly all of a hundred responses have one verdict; it is no warning, and no score changes."""

import json
from pathlib import Path

import pytest

ROWS = 120

pytestmark = pytest.mark.filterwarnings("ignore")


SCORE = "score haloquest --responses mine.jsonl --dataset dataset.jsonl --json"


@pytest.fixture
def haloquest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {
        "file_name": "1.jpg",
        "image_type": "real",
        "type": "false premises",
        "answers": ["There is none."],
    }
    write("dataset.jsonl", [row | {"id": n, "question": f"What about thing {n}?"} for n in range(ROWS)])
    write("mine.jsonl", [{"id": n, "response": f"It is thing {n}."} for n in range(ROWS)])


def write(name, rows):
    Path(name).write_text("\n".join(json.dumps(row) for row in rows))


@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        (115, 5, "mine: 115 of 120 responses have the verdict correct true"),
        (0, 110, "mine: 110 of 110 responses have the verdict correct false"),
        (114, 6, ""),
        (99, 0, ""),
    ],
)
def test_a_hint_of_one_verdict(haloquest, ran, right, wrong, hint):
    values = [True] * right + [False] * wrong + [None] * (ROWS - right - wrong)
    write("verdicts.jsonl", [{"id": n, "correct": value} for n, value in enumerate(values)])
    printed = ran(f"{SCORE} --ratings verdicts.jsonl")
    assert ("have the verdict" in printed.err) == bool(hint)
    assert hint in printed.err
    assert json.loads(printed.out)[0]["signature"].startswith("haloquest|")


def test_no_hint_where_nobody_judged(haloquest, ran):
    assert "have the verdict" not in ran(f"{SCORE} --judge none").err
