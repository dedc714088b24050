"""Scores as they were on the day before the house was rebuilt, to compare with: a move changes no digit of them.

To freeze anew, after a change that is meant to move a score, run the test with HALLUSCOPE_FREEZE=1; CHANGELOG.md says
why.
"""

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden" / "frozen"


def same(name: str, text: str) -> None:
    """Compare with what was frozen under this name."""
    file = FOLDER / name
    if os.environ.get("HALLUSCOPE_FREEZE"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def listed(result: Any) -> str:
    """A result as lines, a number with all its digits."""
    return json.dumps(result, indent=1, default=lambda value: value.tolist()) + "\n"
