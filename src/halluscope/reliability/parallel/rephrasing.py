"""Prompts and free-form questions in other words, from the table `rephrasings.toml` (HQM, section III.A)."""

import hashlib
import tomllib
from functools import cache
from importlib import resources
from typing import Any

from halluscope.reliability.parallel.choice import chooser
from halluscope.reliability.parallel.negation import Refused


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt in other words.

    A prompt of the table becomes another of its group; a question is put into another frame, and keeps its own words.

    Args:
        prompt: an instruction or a question.
        seed: chooses among the wordings; the same prompt and seed give the same text.

    Raises:
        Refused: for an instruction that the table does not have.

    >>> rephrase("What is behind the dog?") in {
    ...     frame.replace("{question}", "What is behind the dog?") for frame in table()["frames"]["question"]}
    True
    """
    choose = chooser(seed, prompt)
    for group in table()["same"]:
        others = [other for other in group["prompts"] if _plain(other) != _plain(prompt)]
        if len(others) < len(group["prompts"]):
            return choose(others)
    if not prompt.strip().endswith("?"):
        raise Refused("it is no question, and no instruction of the table of rephrasings")
    return choose(table()["frames"]["question"]).replace("{question}", prompt.strip())


@cache
def table() -> dict[str, Any]:
    """The table of rephrasings."""
    return tomllib.loads(_text())


def digest() -> str:
    """8 hexadecimal digits of the table."""
    return hashlib.sha256(_text().encode()).hexdigest()[:8]


def _text() -> str:
    return resources.files(__package__).joinpath("rephrasings.toml").read_text(encoding="utf-8")


def _plain(prompt: str) -> str:
    return " ".join(prompt.lower().split()).rstrip(".")
