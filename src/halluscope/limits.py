"""How much is read, kept or computed at the most. Each limit has a name; what goes beyond it is refused by that name.

A limit is raised, or lowered, by the command line's `--limits reply=32MB,pixels=400M`, or by the environment variable
HALLUSCOPE_LIMITS, which is written in the same way.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from halluscope.errors import LimitExceeded

VARIABLE = "HALLUSCOPE_LIMITS"
OPTION = "--limits"


ENOUGH = 10**15
"""No message says to raise a limit to more."""


@dataclass(frozen=True)
class Limit:
    """The most of something.

    Attributes:
        default: unless the user says otherwise.
        unit: what is counted.
        about: what is limited.
    """

    default: int
    unit: str
    about: str


LIMITS: Mapping[str, Limit] = {
    "file": Limit(4 * 2**30, "bytes", "a file that is read as a whole"),
    "unpacked": Limit(2**30, "bytes", "what is unpacked from a .gz file, or from one member of a zip"),
    "entry": Limit(64 * 2**20, "characters", "an entry of a large file of JSON"),
    "cell": Limit(10_000_000, "characters", "a cell of a table"),
    "rows": Limit(5_000_000, "rows", "a file of rows"),
    "sheet": Limit(128 * 2**20, "bytes", "what is unpacked from an .xlsx file"),
    "image": Limit(100 * 2**20, "bytes", "an image file"),
    "pixels": Limit(100_000_000, "pixels", "an image"),
    "reply": Limit(8 * 2**20, "bytes", "what a server replies to one request"),
    "resamples": Limit(1_000_000, "resamples", "a bootstrap"),
    "classes": Limit(100_000, "classes", "a vocabulary"),
    "cells": Limit(2 * 10**9, "cells", "a table of texts by classes"),
    "page": Limit(5_000_000, "characters", "a text that is pasted into a metric's page"),
    "page_rows": Limit(20_000, "rows", "what is pasted into a metric's page"),
    "page_cells": Limit(2_000_000, "cells", "such a table on a metric's page"),
}

_UNITS = {
    "": 1,
    **{letter: 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)},
    "B": 1,
}
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z]*)")


def most(name: str) -> int:
    """The limit of this name, as it is set now.

    Raises:
        ValueError: if the environment variable cannot be read.
    """
    return _read(os.environ.get(VARIABLE, ""), VARIABLE).get(name, LIMITS[name].default)


def check(name: str, amount: int, what: str) -> None:
    """Check an amount against a limit.

    Args:
        name: of the limit.
        amount: how much there is; beyond a limit nobody counts on, so this may be less than the whole.
        what: arrived; it begins the error's message.

    Raises:
        LimitExceeded: if it is more.
    """
    if amount > (limit := most(name)):
        enough = max(2 * limit, min(amount, ENOUGH))
        raise LimitExceeded(
            f"{what} is larger than the limit {name!r} of {limit:,} {LIMITS[name].unit}. If that is meant, raise the "
            f"limit: {OPTION} {name}={enough} on the command line, or the environment variable {VARIABLE}."
        )


@contextmanager
def given(written: str | None) -> Iterator[None]:
    """Set limits for a while, in this process and in those that it starts; None sets none.

    Raises:
        ValueError: for what is no list of limits.
    """
    before = os.environ.get(VARIABLE)
    if written is not None:
        _read(written, OPTION)
        os.environ[VARIABLE] = ",".join(filter(None, (before, written)))
    try:
        yield
    finally:
        if written is not None:
            os.environ.pop(VARIABLE, None)
            os.environ.update({} if before is None else {VARIABLE: before})


@lru_cache(maxsize=32)
def _read(written: str, where: str) -> dict[str, int]:
    """Limits by name, of a text such as "reply=32MB,pixels=400M"; the last one of a name counts.

    >>> _read("reply=32MB, pixels=1.5K,file=2GiB", "--limits")
    {'reply': 32000000, 'pixels': 1500, 'file': 2147483648}
    """
    found: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in written.split(","))):
        name, _, amount = (side.strip() for side in part.partition("="))
        number = _AMOUNT.fullmatch(amount)
        if name not in LIMITS or not number or number[2].upper() not in _UNITS:
            raise ValueError(
                f"{where} holds {part!r:.80}; expected NAME=AMOUNT such as reply=32MB, where NAME is one of "
                f"{', '.join(LIMITS)} and the amount may end in K, M, G, KB, MB, GB, KiB, MiB or GiB."
            )
        found[name] = int(float(number[1]) * _UNITS[number[2].upper()])
    return found
