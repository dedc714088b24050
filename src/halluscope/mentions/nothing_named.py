"""Notices responses that name none of the objects that a benchmark knows, such as refusals."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from halluscope.naming import named
from halluscope.sanitize import short_repr

# The least number and share of such responses for a warning. Of InstructBLIP's captions of one sentence 11 % are such,
# by CHAIR's list, which lacks "men"; of 10,000 longer descriptions 1 %.
FEWEST = 10
LEAST_SHARE = 0.15


def warn_if_nothing_is_named(texts: Sequence[str], names: ArrayLike) -> None:
    """Warn if many responses that are not empty name nothing, which scores take for descriptions without an error.

    Args:
        texts: the responses.
        names: of each, whether it names an object, or there is none to name [responses].
    """
    silent = []
    for text, names_object in zip(texts, np.asarray(names, dtype=bool), strict=True):
        if text.strip() and not names_object:
            silent.append(text)
    if len(silent) < FEWEST or len(silent) < LEAST_SHARE * len(texts):
        return
    warnings.warn(
        named(
            f"{len(silent):,} of {len(texts):,} responses name none of the benchmark's objects, such as "
            f"{short_repr(silent[0], 60)}. Refusals, error messages and texts in another language than English are "
            "scored as descriptions that name nothing."
        ),
        stacklevel=3,
    )
