"""`--format line` says what the table says: no interval about few rows, and no other score for an undefined one."""

import json
import re

import pytest

from halluscope import cli
from tests import small_datasets


@pytest.fixture
def score_pope(tmp_path, capsys):
    """Score a response to each of some questions about images of their own; return what is printed."""

    def run(count, *options):
        asked = [(f"{number}.jpg", "dog", "no" if number % 2 else "yes") for number in range(count)]
        small_datasets.pope_file(tmp_path / "rows.json", asked, first=0)
        answers = [
            {"question_id": number, "response": "no" if number % 3 else "yes"} for number in range(count)
        ]
        (tmp_path / "mine.json").write_text("\n".join(map(json.dumps, answers)))
        files = ["--responses", str(tmp_path / "mine.json"), "--dataset", str(tmp_path / "rows.json")]
        assert cli.main(["score", "pope", *files, *options]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(("count", "has_interval"), [(29, False), (30, True)])
def test_an_interval_is_shown_where_the_table_shows_one(score_pope, count, has_interval):
    (line,) = score_pope(count, "--format", "line").splitlines()
    score = line.rpartition(" = ")[2]
    assert score.startswith("accuracy ")
    assert (" to " in score) is has_interval
    table = score_pope(count)
    assert (" to " in table) is has_interval
    if has_interval:
        assert score.partition("(")[2].removesuffix(")") in table


@pytest.mark.filterwarnings("ignore")
def test_an_undefined_score_has_no_other_in_its_place(tmp_path, ran):
    """Nobody judged what is right, so overall_hal is undefined; extra_hal is not."""
    rows = []
    for number in range(4):
        about = {"id": number, "image_id": 10, "question": f"How many dogs {number}?", "answer": "two dogs"}
        rows.append(about | {"type": "count", "response": "Two.", "correct": None, "extra_claims": 1})
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows))
    command = ["score hqh --responses", file, "--dataset", file, "--ratings", file]
    (line,) = ran(*command, "--format", "line").out.splitlines()
    assert line.endswith(" = overall_hal undefined")
    assert re.search(r"^overall_hal +-$", ran(*command).out, re.MULTILINE)
