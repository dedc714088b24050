"""Reads the table `rephrasings.toml`: groups of equivalent prompts, frames, and the shapes of questions."""

import hashlib
import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table() -> dict[str, Any]:
    """Return the table of rephrasings."""
    return tomllib.loads(_text())


def digest() -> str:
    """Return 8 hexadecimal digits of the sha256 of the table."""
    return hashlib.sha256(_text().encode()).hexdigest()[:8]


def _text() -> str:
    return resources.files(__package__).joinpath("rephrasings.toml").read_text(encoding="utf-8")
