"""`--format line` says what the table says: no interval about few rows, and no other score for an undefined one."""

import json

import pytest

from halluscope import cli


@pytest.fixture
def score_pope(tmp_path, capsys):
    """Score a response to each of some questions about images of their own; return what is printed."""

    def run(count, *options):
        rows = []
        answers = []
        for number in range(count):
            row = {
                "question_id": number,
                "image": f"{number}.jpg",
                "text": "Is there a dog in the image?",
            }
            rows.append(row | {"label": "no" if number % 2 else "yes"})
            answers.append({"question_id": number, "response": "no" if number % 3 else "yes"})
        (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows)))
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
