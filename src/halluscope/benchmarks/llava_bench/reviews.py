"""The review files of LLaVA's script, and harnesses' results, which hold a judge's ratings."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.benchmarks.llava_bench.reading import MODEL, REFERENCE
from halluscope.judging.question_ids import is_among, number_in
from halluscope.responses.rating_files import rows_in
from halluscope.sanitize import short_repr

# Where harnesses have the pair: lmms-eval in an object of each sample, VLMEvalKit in two columns
LMMS_EVAL = "gpt_eval_llava_all"
VLMEVALKIT = ("gpt4_score", "score")


def plain_rating(rating: Any) -> Any:
    """Return a rating by our names: a pair, a line of the authors' review files, or a harness's row may state it too.

    The authors' script writes the pair -1, -1 for a reply that it cannot read.

    >>> plain_rating([7, 9]), plain_rating({"tuple": [-1, -1]}), plain_rating({"content": "7 9"})
    ({'reference': 7, 'model': 9}, {'reference': None, 'model': None}, {'reply': '7 9'})
    >>> plain_rating({"gpt4_score": "7", "score": "9"}), plain_rating({LMMS_EVAL: {"scores": [7, 9]}})
    ({'reference': '7', 'model': '9'}, {'reference': 7, 'model': 9})
    """
    if isinstance(rating, Mapping):
        if isinstance(rating.get(LMMS_EVAL), Mapping):
            return plain_rating(rating[LMMS_EVAL].get("scores"))
        if rating.keys() >= set(VLMEVALKIT):
            return plain_rating([rating[column] for column in VLMEVALKIT])
        if "tuple" in rating:
            return plain_rating(rating["tuple"])
        if "content" in rating:
            return {"reply": rating["content"]}
        return rating
    if not isinstance(rating, list | tuple) or len(rating) != 2:
        return rating
    if [str(part) for part in rating] in (["-1", "-1"], ["-1.0", "-1.0"]):
        return {REFERENCE: None, MODEL: None}
    return {REFERENCE: rating[0], MODEL: rating[1]}


def row_of_review(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return a row of a review file by our names; its `id` is a number of its own, and not the question's."""
    rating = plain_rating(row)
    if not isinstance(rating, Mapping):
        raise ValueError(
            f"{where}: the rating is {short_repr(rating)}; expected two ratings, of GPT-4's answer and of the response."
        )
    values = dict(row)
    values.update(rating)
    question = row
    if isinstance(row.get("doc"), Mapping):  # in a sample of lmms-eval's
        question = row["doc"]
        values["question"] = question.get("question")
    if "question_id" in question:
        values["id"] = question["question_id"]
    return values


def check_reviewed(file: Path, responses: str, answers: Mapping[int, str]) -> None:
    """Check that a file's reviews are of these responses, where both say which they are; warn where they do not.

    Args:
        responses: the name of the responses.
        answers: what they are called in their file, by their questions' ids.
    """
    reviews = 0
    checked = 0
    for where, review in rows_in(file):
        if not isinstance(review, Mapping) or "question_id" not in review:
            continue
        reviews += 1
        id = number_in(review["question_id"])
        if not is_among(id, answers) or "answer2_id" not in review:
            continue
        checked += 1
        expected = answers[id]
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
