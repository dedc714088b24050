"""Checks a card's metadata against what the Hub accepts, before anything is uploaded."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from huggingface_hub import DatasetCard, SpaceCard

from halluscope.errors import HubError
from halluscope.hub.publication import Kind

PYTHON = (3, 11)
"""The oldest Python for a Space. The card must name a version, or the Hub runs the Space with an older one."""


@cache
def terms() -> dict[str, Any]:
    """Return what the Hub accepts, from card_terms.toml."""
    return tomllib.loads(resources.files("halluscope.hub").joinpath("card_terms.toml").read_text("utf-8"))


def check(text: str, kind: Kind, where: str) -> None:
    """Check a card.

    Args:
        text: the card, with its front matter.
        kind: the kind of its repository.
        where: the card's name in messages.

    Raises:
        HubError: naming all that the Hub would refuse or a visitor would miss.
    """
    try:
        card: Any = (DatasetCard if kind == "dataset" else SpaceCard)(text)
        data = card.data.to_dict()
    except Exception as error:  # yaml's own, ValueError, TypeError
        raise HubError(f"{where} has no metadata that can be read: {error}.") from error
    problems = [*_any(data), *(_dataset(data) if kind == "dataset" else _space(data))]
    if problems:
        raise HubError(f"{where} cannot be published as it is: {'; '.join(problems)}.")


def _any(data: dict[str, Any]) -> Iterator[str]:
    licence = data.get("license")
    if not licence:
        yield "it names no license"
    elif licence not in terms()["licenses"]:
        yield f"license is {licence!r:.80}, which the Hub does not know (card_terms.toml lists the licences)"
    elif licence == "other" and not data.get("license_name"):
        yield "license is 'other', for which the Hub wants a license_name"
    yield from _lists(data, "tags")


def _dataset(data: dict[str, Any]) -> Iterator[str]:
    yield from _missing(data, "pretty_name", "configs", "dataset_info")
    for key, known in (("task_categories", None), ("size_categories", None), ("language", r"[a-z]{2,3}")):
        yield from _lists(data, key)
        for value in data.get(key) or []:
            if not (re.fullmatch(known, str(value)) if known else value in terms()[key]):
                yield f"{key} holds {value!r:.80}, which the Hub does not know"


def _space(data: dict[str, Any]) -> Iterator[str]:
    yield from _missing(data, "title", "short_description")
    for key, expected in {"sdk": "gradio", "app_file": "app.py"}.items():
        if data.get(key) != expected:
            yield f"{key} is {data.get(key)!r:.80}, expected {expected!r}"
    if not re.fullmatch(r"\d+\.\d+\.\d+", str(data.get("sdk_version"))):
        yield f"sdk_version is {data.get('sdk_version')!r:.80}, expected gradio's version, such as 6.31.0"
    python = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", str(data.get("python_version")))
    if not python or (int(python[1]), int(python[2])) < PYTHON:
        yield f'python_version is {data.get("python_version")!r:.80}, expected "3.11" or later, in quotes'
    if len(str(data.get("short_description", ""))) > terms()["short_description_characters"]:
        yield f"short_description is longer than {terms()['short_description_characters']} characters"
    for key in ("colorFrom", "colorTo"):
        if key in data and data[key] not in terms()["colors"]:
            yield f"{key} is {data[key]!r:.80}, expected {', '.join(terms()['colors'])}"
    if missing := {"evaluate", "metric"} - set(data.get("tags") or []):
        yield f"tags lacks {' and '.join(sorted(missing))}, by which visitors find metrics"


def _missing(data: dict[str, Any], *keys: str) -> Iterator[str]:
    return (f"{key} is missing" for key in keys if not data.get(key))


def _lists(data: dict[str, Any], key: str) -> Iterator[str]:
    if not isinstance(data.get(key), list) or not data[key]:
        yield f"{key} is {data.get(key)!r:.80}, expected a list"
