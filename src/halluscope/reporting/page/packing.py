"""Packs what a page's script reads: an index for finding items, and chunks with what is shown of them.

Only the index is parsed when the page opens; a chunk is parsed when it is needed. So a page with thousands of items
opens quickly.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from halluscope.foreign import keyless, printable, spelt
from halluscope.reporting.page.content import Page, Picture
from halluscope.reporting.page.sealed import data_uri
from halluscope.reporting.shown import ABSENT, FOUND, HALLUCINATED, MISSED, Fact, Item, pieces

OUTCOMES = (FOUND, HALLUCINATED, MISSED, ABSENT)
LONGEST = 2000
"""The most characters of a name or a fact; the rest is cut. Responses and questions are kept whole."""

ROWS, PICTURES = 50, 10
"""How many items, and how many pictures, a chunk holds."""

Clean = Callable[[str], str]


@dataclass(frozen=True)
class Packed:
    """A page's items as its script reads them, all as JSON values.

    Attributes:
        index: what filtering and sorting use: names, and lists with an entry per item or run.
        rows: for each item, its question and what is shown of each run's row; in chunks of `ROWS`.
        pictures: data URIs, in chunks of `PICTURES`.
    """

    index: Mapping[str, Any]
    rows: Iterator[Sequence[Any]]
    pictures: Iterator[Sequence[str]]


def pack(page: Page) -> Packed:
    """Pack the items of all runs; items with the same id become one."""
    clean: Clean = cache(_brief)
    first: dict[str, Item] = {}
    for run in page.runs:
        for item in run.items:
            first.setdefault(item.id, item)
    items = list(first.values())
    of_run = [{item.id: item for item in run.items} for run in page.runs]
    named = dict.fromkeys(item.image for item in items if item.image in page.pictures)
    pictures = {name: page.pictures[name] for name in named if name is not None}
    return Packed(
        _index(page, items, of_run, pictures, clean),
        _chunks((_row(item, [of.get(item.id) for of in of_run], clean) for item in items), ROWS),
        _chunks((data_uri(one.content, _kind(one.content)) for one in pictures.values()), PICTURES),
    )


def _index(
    page: Page,
    items: Sequence[Item],
    of_run: Sequence[Mapping[str, Item]],
    pictures: Mapping[str, Picture],
    clean: Clean,
) -> dict[str, Any]:
    place = {name: number for number, name in enumerate(pictures)}
    errors, classes, parts, credits = Names(), Names(), Names(), Names()
    signs = [[_signs(of.get(item.id), errors, classes, parts, clean) for item in items] for of in of_run]
    return {
        "runs": [clean(run.name) for run in page.runs],
        "voters": [[clean(voter) for voter in run.voters] for run in page.runs],
        "ids": [clean(item.id) for item in items],
        "groups": [clean(item.group) for item in items],
        "pictures": [place.get(item.image or "", -1) for item in items],
        "sizes": [[one.width, one.height, credits.code(clean(one.credit))] for one in pictures.values()],
        "signs": signs,
        "credits": credits.all,
        "errors": errors.all,
        "classes": classes.all,
        "outcomes": OUTCOMES,
        "parts": parts.all,
        "common": [clean(name) for name in _common(items, of_run)],
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


def _brief(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} ... ({len(text):,} characters)"


class Names:
    """Gives each name a number, in the order in which the names come."""

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}

    @property
    def all(self) -> list[Any]:
        """All names, in the order of their numbers."""
        return list(self._codes)

    def code(self, name: Any) -> int:
        """Return the number of a name."""
        return self._codes.setdefault(name, len(self._codes))


def _signs(item: Item | None, errors: Names, classes: Names, parts: Names, clean: Clean) -> list[Any] | None:
    """Return what a row can be found by; None if a run does not have the row."""
    if item is None:
        return None
    return [
        [errors.code(clean(error)) for error in item.errors],
        [
            classes.code(clean(name)) * len(OUTCOMES) + OUTCOMES.index(outcome)
            for name, outcome in item.classes.items()
        ],
        [parts.code((clean(name), clean(value))) for name, value in item.parts.items()],
        int(item.disputed),
        round(item.badness, 4) if math.isfinite(item.badness) else 0,
    ]


def _row(item: Item, each: Sequence[Item | None], clean: Clean) -> list[Any]:
    return [printable(item.question), [None if one is None else _said(one, clean) for one in each]]


def _said(item: Item, clean: Clean) -> list[Any]:
    return [
        _text(item, clean),
        [_fact(fact, clean) for fact in item.facts],
        [[clean(name), signs] for name, signs in item.votes.items()],
    ]


def _text(item: Item, clean: Clean) -> list[Any]:
    """Return a response as pieces.

    A response with an access key gets no marks, because blacking out the key shifts the places that the marks name.
    """
    keyed = keyless(item.text)
    if keyed != item.text:
        return [spelt(keyed)]
    return [
        [spelt(piece.text), piece.kind, clean(piece.says)] if piece.says else spelt(piece.text)
        for piece in pieces(item.text, item.marks)
        if piece.text
    ]


def _fact(fact: Fact, clean: Clean) -> list[Any]:
    return [clean(fact.name), [[clean(value), kind] for value, kind in fact.values]]


def _kind(content: bytes) -> str:
    return "image/webp" if content.startswith(b"RIFF") else "image/jpeg"


def _chunks(each: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(each)
    while chunk := list(islice(left, size)):
        yield chunk
