"""Compare scores with frozen ones: no digit may change by accident.

After a change that is meant to move a score, run the test with HALLUSCOPE_FREEZE=1 to freeze again; say why in
CHANGELOG.md.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
"""A number that is no whole one."""

ROUNDING = 1e-12  # ends of intervals are searched up to 1e-13 (`halluscope.stats.beta.NEAR`)
FOLDER = Path(__file__).parent / "golden" / "frozen"


def same(name: str, text: str) -> None:
    """Compare with the result frozen under this name: text exactly, numbers up to rounding by another CPU."""
    file = FOLDER / name
    if os.environ.get("HALLUSCOPE_FREEZE"):
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file} is missing; run this test once with HALLUSCOPE_FREEZE=1 to write it."
    frozen = file.read_text(encoding="utf-8")
    if text != frozen:  # in the last digits: sums are added in another order where registers are wider
        assert NUMBER.sub("#", text) == NUMBER.sub("#", frozen)
        found, known = (list(map(float, NUMBER.findall(part))) for part in (text, frozen))
        assert found == pytest.approx(known, rel=ROUNDING, abs=0)


def listed(result: Any) -> str:
    """A result as lines, a number with all its digits."""
    return json.dumps(result, indent=1, default=lambda value: value.tolist()) + "\n"


def unpacked(text: str, shape: list[int]) -> Any:
    """A table of 0 and 1 that a golden file holds as bits."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))
    return bits[: np.prod(shape)].reshape(shape)
