"""Checks of what every metric gets: texts, references, image ids."""

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any


def check_texts(
    predictions: Sequence[str], references: Sequence[Any], image_ids: Sequence[Any] | None = None
) -> None:
    """Check that there is one text and one reference a row.

    Raises:
        ValueError: for no or unequal numbers of rows, a text that is none, or an image id that comes twice.
    """
    for name, rows in (("predictions", predictions), ("references", references)):
        if isinstance(rows, str | bytes | Mapping | Set) or not hasattr(rows, "__len__"):
            raise ValueError(
                f"{name} is {rows!r:.80}; predictions and references are lists, one text and one reference a row."
            )
    if len(predictions) != len(references):
        raise ValueError(
            f"There are {len(predictions)} predictions and {len(references)} references; expected one of each a "
            "row, in the same order. Nothing is cut to the shorter of the two."
        )
    if not len(predictions):
        raise ValueError("predictions is empty; expected at least one text.")
    for row, text in enumerate(predictions):
        if not isinstance(text, str):
            raise ValueError(
                f"predictions[{row}] is {text!r:.80}; expected a text. If the LVLM said nothing, pass the empty text."
            )
    if image_ids is not None:
        _check_unique(image_ids, len(predictions))


def labelled(references: Sequence[Iterable[str]], image_ids: Sequence[Any] | None) -> Iterator[list[Any]]:
    """Images with the objects in them, as a signature's digest takes them."""
    ids = image_ids if image_ids is not None else [""] * len(references)
    return ([image_id, *sorted(set(objects))] for image_id, objects in zip(ids, references, strict=True))


def warn_of_a_part(found: int, expected: int) -> None:
    """Warn the caller's caller that these are not all questions of a benchmark, or more."""
    if found != expected:
        warnings.warn(
            f"{found:,} questions are scored; expected the benchmark's {expected:,}. Scores on a part of it cannot be "
            "compared with published ones.",
            stacklevel=3,
        )


def _check_unique(image_ids: Sequence[Hashable], rows: int) -> None:
    if isinstance(image_ids, str) or not hasattr(image_ids, "__len__"):
        raise ValueError(f"image_ids is {image_ids!r:.80}; expected a list, one id a row.")
    if len(image_ids) != rows:
        raise ValueError(
            f"There are {len(image_ids)} image_ids and {rows} predictions; expected one of each a row."
        )
    first: dict[Hashable, int] = {}
    for row, image_id in enumerate(image_ids):
        if image_id is None or not isinstance(image_id, Hashable):
            raise ValueError(f"image_ids[{row}] is {image_id!r:.80}; expected a number or a name.")
        if first.setdefault(image_id, row) != row:
            raise ValueError(
                f"image_ids[{row}] is {image_id!r}, as is image_ids[{first[image_id]}]; expected one row an image."
            )
