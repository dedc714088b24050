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


@pytest.fixture
def score_hqh(tmp_path, capsys):
    """Score four responses by given verdicts; return what is printed."""

    def run(verdicts, *options):
        rows = []
        answers = []
        for number in range(4):
            about = {
                "id": number,
                "image_id": 10,
                "question": f"How many dogs {number}?",
                "answer": "two dogs",
            }
            rows.append(about | {"type": "count"})
            answers.append({"id": number, "response": f"Text {number}"})
        judged = [{"id": number, **verdict} for number, verdict in enumerate(verdicts)]
        contents = {"rows.json": rows, "mine.json": answers, "judged.json": judged}
        for name, content in contents.items():
            (tmp_path / name).write_text(json.dumps(content))
        files = ["--responses", str(tmp_path / "mine.json"), "--dataset", str(tmp_path / "rows.json")]
        assert cli.main(["score", "hqh", *files, "--ratings", str(tmp_path / "judged.json"), *options]) == 0
        return capsys.readouterr().out

    return run


def test_an_undefined_score_has_no_other_in_its_place(score_hqh):
    """Nobody judged what is right, so overall_hal is undefined; extra_hal is not."""
    verdicts = [{"correct": None, "extra_claims": 1}] * 4
    (line,) = score_hqh(verdicts, "--format", "line").splitlines()
    assert line.endswith(" = overall_hal undefined")
    assert re.search(r"^overall_hal +-$", score_hqh(verdicts), re.MULTILINE)


def test_a_defined_score_stands_in_the_line(score_hqh):
    verdicts = [{"correct": True, "extra_claims": 0}] * 3 + [{"correct": False, "extra_claims": 0}]
    (line,) = score_hqh(verdicts, "--format", "line").splitlines()
    assert line.endswith(" = overall_hal 25.0")
