"""Packs what a page's script reads: an index for finding items, and chunks with what is shown of them.

Only the index is parsed when the page opens, so a page with thousands of items opens quickly.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from halluscope.reporting.page.content import Page, Picture
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, MISSED, Item, pieces
from halluscope.sanitize import printable, redact, spelt

OUTCOMES = (FOUND, HALLUCINATED, MISSED, ABSENT)
LONGEST = 2000  # characters of a name or a fact; the rest is cut. Responses and questions are kept whole.
ROWS, PICTURES = 50, 10  # items, and pictures, in a chunk


@dataclass(frozen=True)
class Packed:
    """A page's items as its script reads them, all as JSON values."""

    index: Mapping[str, Any]  # what filtering and sorting use: names, and lists with an entry per item or run
    # for each item, its question and what is shown of each run's row; in chunks of `ROWS`
    rows: Iterator[Sequence[Any]]
    pictures: Iterator[Sequence[str]]  # data URIs, in chunks of `PICTURES`


def pack(page: Page) -> Packed:
    """Pack the items of all runs; items with the same id become one."""
    _brief.cache_clear()  # what is a key to hide may have changed
    first: dict[str, Item] = {}
    for run in page.runs:
        for item in run.items:
            first.setdefault(item.id, item)
    items = list(first.values())
    of_run = [{item.id: item for item in run.items} for run in page.runs]
    named = dict.fromkeys(item.image for item in items if item.image in page.pictures)
    pictures = {name: page.pictures[name] for name in named if name is not None}
    return Packed(
        _index(page, items, of_run, pictures),
        _chunks((_row(item, [of.get(item.id) for of in of_run]) for item in items), ROWS),
        _chunks((data_uri(one.content, _kind(one.content)) for one in pictures.values()), PICTURES),
    )


def _index(
    page: Page,
    items: Sequence[Item],
    of_run: Sequence[Mapping[str, Item]],
    pictures: Mapping[str, Picture],
) -> dict[str, Any]:
    picture = {name: number for number, name in enumerate(pictures)}
    errors, classes, parts, credits = (_names() for _ in range(4))
    signs = [[_signs(of.get(item.id), errors, classes, parts) for item in items] for of in of_run]
    return {
        "runs": [_brief(run.name) for run in page.runs],
        "voters": [[_brief(voter) for voter in run.voters] for run in page.runs],
        "ids": [_brief(item.id) for item in items],
        "groups": [_brief(item.group) for item in items],
        "pictures": [picture.get(item.image or "", -1) for item in items],
        "sizes": [[one.width, one.height, credits[_brief(one.credit)]] for one in pictures.values()],
        "signs": signs,
        "credits": [*credits],
        "errors": [*errors],
        "classes": [*classes],
        "outcomes": OUTCOMES,
        "parts": [*parts],
        "common": [_brief(name) for name in _common(items, of_run)],
        "chunk": {"rows": ROWS, "pictures": PICTURES},
    }


def _common(items: Sequence[Item], of_run: Sequence[Mapping[str, Item]]) -> list[str]:
    """Return the names of facts that are the same in every run, for each item: facts about items, not responses."""
    if len(of_run) < 2:
        return []
    names, differ = dict[str, None](), set[str]()
    for item in items:
        each = [{fact.name: fact.values for fact in of[item.id].facts} for of in of_run if item.id in of]
        here = dict.fromkeys(name for facts in each for name in facts)
        names |= here
        differ |= {name for name in here if any(facts.get(name) != each[0].get(name) for facts in each)}
    return [name for name in names if name not in differ]


@lru_cache(10_000)
def _brief(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} ... ({len(text):,} characters)"


Names = defaultdict[Any, int]  # name -> its number, in the order in which the names come


def _names() -> Names:
    names: Names = defaultdict(lambda: len(names))
    return names


def _signs(item: Item | None, errors: Names, classes: Names, parts: Names) -> list[Any] | None:
    """Return what a row can be found by; None if a run does not have the row."""
    if item is None:
        return None
    return [
        [errors[_brief(error)] for error in item.errors],
        [
            classes[_brief(name)] * len(OUTCOMES) + OUTCOMES.index(outcome)
            for name, outcome in item.classes.items()
        ],
        [parts[_brief(name), _brief(value)] for name, value in item.parts.items()],
        int(item.disputed),
        round(item.badness, 4) if math.isfinite(item.badness) else 0,
    ]


def _row(item: Item, each: Sequence[Item | None]) -> list[Any]:
    return [printable(item.question), [one and _response(one) for one in each]]


def _response(item: Item) -> list[Any]:
    return [
        _text(item),
        [[_brief(fact.name), [[_brief(value), kind] for value, kind in fact.values]] for fact in item.facts],
        [[_brief(name), signs] for name, signs in item.votes.items()],
    ]


def _text(item: Item) -> list[Any]:
    """Return a response as pieces; one with an access key gets no marks, since blacking it out shifts their places."""
    keyed = redact(item.text)
    if keyed != item.text:
        return [spelt(keyed)]
    return [
        [spelt(piece.text), piece.kind, _brief(piece.says)] if piece.says else spelt(piece.text)
        for piece in pieces(item.text, item.marks)
        if piece.text
    ]


def _kind(content: bytes) -> str:
    return "image/webp" if content.startswith(b"RIFF") else "image/jpeg"


def _chunks(each: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(each)
    while chunk := list(islice(left, size)):
        yield chunk
