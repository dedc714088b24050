"""`score` hints where nearly all of a hundred responses have one verdict; it is no warning, and no score changes."""

import json
from pathlib import Path

import pytest

ROWS = 120

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def haloquest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    questions = []
    responses = []
    for number in range(ROWS):
        row = {"id": number, "file_name": f"{number}.jpg", "image_type": "real", "type": "false premises"}
        questions.append(row | {"question": f"What about thing {number}?", "answers": ["There is none."]})
        responses.append({"id": number, "response": f"It is thing {number}."})
    write("dataset.jsonl", questions)
    write("mine.jsonl", responses)


def write(name, rows):
    with Path(name).open("w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def verdicts(right, wrong):
    """Write the verdicts of a judge; the other responses could not be judged."""
    values = [True] * right + [False] * wrong
    values += [None] * (ROWS - len(values))
    write("verdicts.jsonl", [{"id": number, "correct": value} for number, value in enumerate(values)])


SCORE = "score haloquest --responses mine.jsonl --dataset dataset.jsonl --ratings verdicts.jsonl --json"


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
    verdicts(right, wrong)
    printed = ran(SCORE)
    assert ("have the verdict" in printed.err) == bool(hint)
    assert hint in printed.err
    (result,) = json.loads(printed.out)
    assert result["signature"].startswith("haloquest|")


def test_no_hint_where_nobody_judged(haloquest, ran):
    words = "score haloquest --responses mine.jsonl --dataset dataset.jsonl --judge none --json"
    assert "have the verdict" not in ran(words).err
