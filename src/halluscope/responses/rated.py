"""Checks that given verdicts are on the rows and responses that are scored, as far as they say what they are on."""

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from halluscope.responses.agreement import asks, names_another_image
from halluscope.responses.identity import single_spaced
from halluscope.responses.names import IMAGES, QUESTIONS
from halluscope.sanitize import short_repr

# The column that asks the question, whose name the authors' file may give otherwise
QUESTION = "question"

# The columns in which files of verdicts repeat the response that was judged. A judge's own words may be called so too.
JUDGED_TEXTS = ("response", "model_answer", "model_response", "model_prediction", "prediction")


def check_row(
    where: str, verdict: Mapping[str, Any], row: Any, images: Collection[str], upstream: Sequence[str] = ()
) -> None:
    """Check that a verdict asks no other question than its row, and names no other row's image.

    Args:
        where: the place of the verdict, for errors.
        verdict: the verdict, with what else stands beside it.
        row: the dataset's row of its id.
        images: the names of the images of all rows. Any other is the user's own name, and says nothing.
        upstream: how the authors' file calls columns.

    Raises:
        ValueError: if it names another.
    """
    for column in QUESTIONS:
        question = verdict.get(column)
        is_its_name = column == QUESTION or column in upstream
        if not is_its_name or not isinstance(question, str) or not question.strip():
            continue
        if not asks(question.casefold(), row.question.casefold()):
            raise _contradiction(where, column, question, row.question)
    for column in IMAGES:
        image = verdict.get(column)
        if names_another_image(image, row, images):
            known = getattr(row, "file_name", "") or getattr(row, "image_id", "")
            raise _contradiction(where, column, image, known)


def _contradiction(where: str, column: str, value: Any, expected: Any) -> ValueError:
    return ValueError(
        f"{where} has the {column} {short_repr(value, 120)}, but the question of its id has "
        f"{short_repr(expected, 120)}; expected verdicts on the scored questions. Are the ids counted anew, or in "
        f"another order? Give each verdict the dataset's id, or leave the column {column} out if it is about something "
        "else."
    )


def warn_of_other_responses(verdicts: Sequence[Any], texts: Sequence[str], name: str) -> None:
    """Warn of verdicts beside which another response stands than the one that is scored.

    Args:
        verdicts: one per response.
        texts: the responses.
        name: the file of the verdicts, for the warning.
    """
    stated: Counter[str] = Counter()  # by column
    differing: Counter[str] = Counter()
    for verdict, text in zip(verdicts, texts, strict=True):
        if not isinstance(verdict, Mapping):
            continue
        for column in JUDGED_TEXTS:
            value = verdict.get(column)
            if not isinstance(value, str) or not value.strip():
                continue
            stated[column] += 1
            if not _are_same(single_spaced(value), single_spaced(text)):
                differing[column] += 1
    for column, count in differing.items():
        warnings.warn(
            f"{count:,} of the {stated[column]:,} texts under {column} in {name} are not the responses that are "
            "scored. If they are responses, these are verdicts on another model's, or on another run's.",
            stacklevel=2,
        )


def _are_same(text: str, other: str) -> bool:
    """Whether two texts are the same, but for a thought before one of them."""
    return text.endswith(other) or other.endswith(text)
