"""Verdicts that are given as values, in a file, or as the run that has them."""

import json
import math

import pytest

from halluscope.judging.verdicts import Criterion, from_given, read_verdicts

RIGHT, RATING, SHARE = Criterion("right", bool), Criterion("rating", int, 6), Criterion("share", float, 10)


@pytest.mark.parametrize(
    ("criterion", "bad"),
    [
        (RIGHT, 1),
        (RATING, 7),
        (RATING, 3.0),
        (RATING, 10**400),
        (SHARE, 10.1),
        (SHARE, math.nan),
        (SHARE, True),
    ],
)
def test_a_value_of_another_kind_or_out_of_range(criterion, bad):
    with pytest.raises(ValueError, match=rf"verdicts\[1\]: {criterion.name} is .*expected .*, or null"):
        from_given("verdicts", [None, {criterion.name: bad}], (criterion,), 2)
    with pytest.raises(ValueError, match=r"verdicts\[0\] is .*expected 'right' and 'rating', or null"):
        from_given("verdicts", [{criterion.name: bad}], (RIGHT, RATING), 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 2, "rating": 1}], "line 1: the id 2 is not among the 1 questions; expected one such as 1"),
        (
            [{"id": "a", "rating": 1}],
            "line 1: the id 'a' is not among the 1 questions; expected one such as 1",
        ),
        (
            [{"id": 1, "rating": 0, "responses": "other"}],
            "no verdict on 1 of the 1 questions, such as id 1 of mine",
        ),
        ([{"rating": 1}, {"rating": 2}], "expected an object with id, rating"),
        ([{"id": 1, "score": 1}], "expected an object with id, rating"),
        ([1, 2], "expected an object with id, rating"),
    ],
)
def test_a_file_of_verdicts(tmp_path, rows, message):
    """Of other responses' verdicts none is taken."""
    file = tmp_path / "verdicts.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=message):
        read_verdicts(file, "mine", [1], (RATING,))
    file.write_text('{"index": 1, "rating": 2}')
    assert read_verdicts(file, "mine", [1], (RATING,)) == [{"rating": 2}]


def test_the_verdicts_of_a_run(tmp_path):
    """Other fields of a row are left out; a run of other responses has none of these."""
    with pytest.raises(
        ValueError, match=r"is a folder without run\.json; expected a file of verdicts, or the"
    ):
        read_verdicts(tmp_path, "mine", [1], (RATING,))
    (tmp_path / "run.json").write_text('{"responses": "mine"}')
    (tmp_path / "items.jsonl").write_text('{"id": 1, "rating": null, "response": "A dog.", "inputs": {}}')
    assert read_verdicts(tmp_path, "mine", [1], (RATING,)) == [{"rating": None}]
    with pytest.raises(ValueError, match="is a run of the responses 'mine'; expected a run of 'other'"):
        read_verdicts(tmp_path, "other", [1], (RATING,))
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(ValueError, match="is a run of the responses None"):
        read_verdicts(tmp_path, "mine", [1], (RATING,))
