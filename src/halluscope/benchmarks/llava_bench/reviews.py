"""The review files of LLaVA's script, which hold a judge's ratings."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.benchmarks.llava_bench.reading import MODEL, REFERENCE
from halluscope.files.opening import json_rows
from halluscope.sanitize import short_repr


def plain_rating(rating: Any) -> Any:
    """Return a rating by our names: a pair, or a line of the authors' review files, may state it too.

    The authors' script writes the pair -1, -1 for a reply that it cannot read.

    >>> plain_rating([7, 9]), plain_rating({"tuple": [-1, -1]}), plain_rating({"content": "7 9"})
    ({'reference': 7, 'model': 9}, {'reference': None, 'model': None}, {'reply': '7 9'})
    """
    if isinstance(rating, Mapping):
        if "tuple" in rating:
            return plain_rating(rating["tuple"])
        if "content" in rating:
            return {"reply": rating["content"]}
        return rating
    if not isinstance(rating, list | tuple) or len(rating) != 2:
        return rating
    if list(rating) == [-1, -1]:
        return {REFERENCE: None, MODEL: None}
    return {REFERENCE: rating[0], MODEL: rating[1]}


def row_of_review(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return a row of a review file by our names; its `id` is a number of its own, and not the question's."""
    rating = plain_rating(row)
    if not isinstance(rating, Mapping):  # its tuple is no pair
        raise ValueError(
            f"{where}: tuple is {short_repr(row['tuple'])}; expected two ratings, of GPT-4's answer and of the "
            "response."
        )
    values = dict(row)
    values.update(rating)
    if "question_id" in row:
        values["id"] = row["question_id"]
    return values


def check_reviewed(file: Path, responses: str, answers: Mapping[int, str]) -> None:
    """Check that a file's reviews are of these responses, where both say which they are; warn where they do not.

    Args:
        responses: the name of the responses.
        answers: what they are called in their file, by their questions' ids.
    """
    reviews = 0
    checked = 0
    for where, review in json_rows(file):
        if not isinstance(review, Mapping) or "question_id" not in review:
            continue
        reviews += 1
        expected = answers.get(review["question_id"])
        if expected is None or "answer2_id" not in review:
            continue
        checked += 1
        if review["answer2_id"] != expected:
            raise ValueError(
                f"{where}: answer2_id is {short_repr(review['answer2_id'])}, but the answer_id of {responses} is "
                f"{short_repr(expected)} there: these are ratings of other responses. Name the reviews of "
                f"{responses}: one file of --ratings for each of --responses, in the same order."
            )
    if checked == reviews:
        return
    why = f"{reviews - checked:,} of the {reviews:,} reviews have no answer2_id"
    if not answers:
        why = "the responses have no answer_id"
    warnings.warn(
        f"{responses}: {why}, so it is not checked that these responses are rated in {file}, and not another model's.",
        stacklevel=2,
    )
