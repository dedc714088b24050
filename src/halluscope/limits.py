"""Limits how much is read, kept or computed. Each limit has a name, which errors mention when it is exceeded.

`--limits reply=32MB,pixels=400M` on the command line raises or lowers limits, and so does the environment variable
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

ENOUGH = 10**15  # The largest value that an error message suggests for a limit


@dataclass(frozen=True)
class Limit:
    """A limit."""

    default: int  # its value unless the user sets another
    unit: str  # what is counted
    about: str  # what is limited


LIMITS: Mapping[str, Limit] = {
    "file": Limit(4 * 2**30, "bytes", "a file that is read as a whole"),
    "unpacked": Limit(2**30, "bytes", "what is unpacked from a .gz file, or from one member of a zip"),
    "entry": Limit(64 * 2**20, "characters", "an entry of a large file of JSON"),
    "cell": Limit(10_000_000, "characters", "a cell of a table"),
    "rows": Limit(5_000_000, "rows", "a file of rows"),
    "columns": Limit(10_000, "columns", "a row of a table, or an object that is a row"),
    "sheet": Limit(128 * 2**20, "bytes", "what is unpacked from an .xlsx file"),
    "image": Limit(100 * 2**20, "bytes", "an image file"),
    "pixels": Limit(100_000_000, "pixels", "an image"),
    "reply": Limit(8 * 2**20, "bytes", "what a server replies to one request"),
    "resamples": Limit(1_000_000, "resamples", "a bootstrap"),
    "classes": Limit(100_000, "classes", "a vocabulary"),
    "cells": Limit(2 * 10**9, "cells", "a table with a row per text and a column per class"),
    "page": Limit(5_000_000, "characters", "a text that is pasted into a metric's page"),
    "page_rows": Limit(20_000, "rows", "what is pasted into a metric's page"),
    "page_cells": Limit(2_000_000, "cells", "a table of texts and classes on a metric's page"),
}

# An amount as a user writes it: "reply=32MB", "pixels=1.5K", "file=2GiB"
_AMOUNT = re.compile(
    r"(?P<name>\w+)\s*=\s*(?P<amount>\d{1,18}(?:\.\d{1,9})?)\s*(?P<unit>[KMGT]?)(?P<binary>(?<=[KMGT])i)?B?",
    re.IGNORECASE,
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}  # of 1,000, or of 1,024 where the unit is binary


def most(name: str) -> int:
    """Return the current value of a limit."""
    from_environment = _read(os.environ.get(VARIABLE, ""), VARIABLE)
    return from_environment.get(name, LIMITS[name].default)


def check(name: str, amount: int, noun: str) -> None:
    """Check an amount of something against a limit."""
    limit = most(name)
    if amount <= limit:
        return
    enough = max(2 * limit, min(amount, ENOUGH))
    raise LimitExceeded(
        f"{noun} is larger than the limit {name!r} of {limit:,} {LIMITS[name].unit}. If this is intended, raise the "
        f"limit: {OPTION} {name}={enough} on the command line, or the environment variable {VARIABLE}."
    )


@contextmanager
def given(written: str | None) -> Iterator[None]:
    """Set limits inside a `with` block, in this process and in those that it starts; None sets none."""
    if written is None:
        yield
        return
    _read(written, OPTION)  # so that a mistake is not blamed on the environment
    before = os.environ.get(VARIABLE)
    if before:
        os.environ[VARIABLE] = f"{before},{written}"
    else:
        os.environ[VARIABLE] = written
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


@lru_cache(maxsize=32)
def _read(written: str, where: str) -> dict[str, int]:
    """Read limits by name from a string such as "reply=32MB,pixels=400M"; if a name is repeated, the last value counts.

    >>> _read("reply=32MB, pixels=1.5K,file=2GiB", "--limits")
    {'reply': 32000000, 'pixels': 1500, 'file': 2147483648}
    """
    amounts: dict[str, int] = {}
    for part in written.split(","):
        part = part.strip()
        if not part:
            continue
        match = _AMOUNT.fullmatch(part)
        if not match or match["name"] not in LIMITS:
            raise ValueError(
                f"{where} holds {part!r:.80}; expected NAME=AMOUNT such as reply=32MB, where NAME is one of "
                f"{', '.join(LIMITS)} and the amount may end in K, M, G, KB, MB, GB, KiB, MiB or GiB."
            )
        base = 1000
        if match["binary"]:
            base = 1024
        power = _POWERS[match["unit"].upper()]
        amounts[match["name"]] = int(float(match["amount"]) * base**power)
    return amounts
