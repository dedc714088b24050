"""Packs the items of runs as JSON for the page's script: an index for finding items, and chunks with what is shown.

Only the index is parsed when the page opens, so a page with thousands of items opens quickly.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from halluscope.reporting.page.content import Page, Picture
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, MISSED, Item, Piece, pieces
from halluscope.sanitize import printable, redact, spelt

OUTCOMES = (FOUND, HALLUCINATED, MISSED, ABSENT)
LONGEST = 2000  # characters of a name or a fact; the rest is cut. Responses and questions are kept whole.
ROWS, PICTURES = 50, 10  # items, and pictures, in a chunk


@dataclass(frozen=True)
class Packed:
    """The items of a page's runs, as values of JSON; items with the same id are one."""

    index: dict[str, Any]  # what filtering and sorting use: names, and lists with an entry per item or run
    rows: Iterator[list[Any]]  # the question and the responses of each item, in chunks of `ROWS`
    pictures: Iterator[list[str]]  # data URIs, in chunks of `PICTURES`


@dataclass(frozen=True)
class Row:
    """An item in all runs."""

    of_runs: Sequence[Item | None]  # None where a run lacks it

    @property
    def responses(self) -> list[Item]:
        return [item for item in self.of_runs if item is not None]

    @property
    def first(self) -> Item:
        """The item of the first run that has it: what is said of an item and not of a response is in each run."""
        return self.responses[0]

    @property
    def image(self) -> str:
        return self.first.image or ""


class Names(dict[Any, int]):
    """Names and their numbers, in the order in which the names come."""

    def __missing__(self, name: Any) -> int:
        self[name] = len(self)
        return self[name]


@dataclass(frozen=True)
class Numbers:
    """The names that the index lists once, and to which it refers by number."""

    errors: Names = field(default_factory=Names)
    classes: Names = field(default_factory=Names)
    parts: Names = field(default_factory=Names)
    credits: Names = field(default_factory=Names)
    images: Names = field(default_factory=Names)

    def signs(self, item: Item) -> list[Any]:
        """Return what a response can be found by: errors, classes, parts, disputed, badness, unreadable replies."""
        errors = []
        for error in item.errors:
            errors.append(self.errors[_brief(error)])
        classes = []
        for name, outcome in item.classes.items():
            number = self.classes[_brief(name)]
            classes.append(number * len(OUTCOMES) + OUTCOMES.index(outcome))
        parts = []
        for name, value in item.parts.items():
            parts.append(self.parts[_brief(name), _brief(value)])
        return [errors, classes, parts, int(item.disputed), round(item.badness, 4), int(item.unread)]


def pack(page: Page) -> Packed:
    """Pack the items of all runs."""
    _brief.cache_clear()  # what is a key to hide may have changed
    rows = _rows(page)
    pictures: dict[str, Picture] = {}
    for row in rows:
        if row.image in page.pictures:
            pictures[row.image] = page.pictures[row.image]
    return Packed(
        index=_index(page, rows, pictures),
        rows=_chunks((_shown(row) for row in rows), ROWS),
        pictures=_chunks((_uri(picture) for picture in pictures.values()), PICTURES),
    )


def _rows(page: Page) -> list[Row]:
    items_of_runs = []
    ids: dict[str, None] = {}
    for run in page.runs:
        by_id = {item.id: item for item in run.items}
        items_of_runs.append(by_id)
        ids.update(dict.fromkeys(by_id))
    return [Row([by_id.get(row_id) for by_id in items_of_runs]) for row_id in ids]


def _index(page: Page, rows: Sequence[Row], pictures: dict[str, Picture]) -> dict[str, Any]:
    numbers = Numbers()
    places = {name: place for place, name in enumerate(pictures)}
    sizes = []
    for picture in pictures.values():
        sizes.append([picture.width, picture.height, numbers.credits[_brief(picture.credit)]])
    signs = []
    for number in range(len(page.runs)):
        of_run = []
        for row in rows:
            item = row.of_runs[number]
            of_run.append(None if item is None else numbers.signs(item))
        signs.append(of_run)
    common: list[str] = []
    if len(page.runs) > 1:
        common = [_brief(name) for name in _common(rows)]
    return {
        "runs": [_brief(run.name) for run in page.runs],
        "voters": [[_brief(voter) for voter in run.voters] for run in page.runs],
        "ids": [_brief(row.first.id) for row in rows],
        "groups": [_brief(row.first.group) for row in rows],
        "pictures": [places.get(row.image, -1) for row in rows],
        "image": [numbers.images[_brief(row.image)] for row in rows],
        "sizes": sizes,
        "signs": signs,
        "outcomes": OUTCOMES,
        "kinds": _kinds(rows),
        "common": common,
        "chunk": {"rows": ROWS, "pictures": PICTURES},
        "credits": list(numbers.credits),
        "images": list(numbers.images),
        "errors": list(numbers.errors),
        "classes": list(numbers.classes),
        "parts": list(numbers.parts),
    }


def _kinds(rows: Sequence[Row]) -> list[str]:
    """Return the kinds of all marks and facts."""
    kinds: set[str] = set()
    for row in rows:
        for item in row.responses:
            kinds.update(mark.kind for mark in item.marks)
            for fact in item.facts:
                kinds.update(kind for _, kind in fact.values)
    return sorted(kinds)


def _common(rows: Sequence[Row]) -> list[str]:
    """Return the names of facts that are the same in every run, for each item: facts about items, not responses."""
    is_common: dict[str, bool] = {}
    for row in rows:
        facts_of_responses = []
        for item in row.responses:
            facts_of_responses.append({fact.name: fact.values for fact in item.facts})
        for facts in facts_of_responses:
            for name, values in facts.items():
                same = all(other_facts.get(name) == values for other_facts in facts_of_responses)
                is_common[name] = is_common.get(name, True) and same
    return [name for name, same in is_common.items() if same]


def _shown(row: Row) -> list[Any]:
    """Return an item's question, and its response in each run."""
    responses = [None if item is None else _response(item) for item in row.of_runs]
    return [printable(row.first.question), responses]


def _response(item: Item) -> list[Any]:
    """Return a response in pieces, its facts and its votes."""
    text = redact(item.text)
    marks = item.marks
    if text != item.text:
        marks = ()  # blacking out an access key shifts the marks' places
    facts = []
    for fact in item.facts:
        values = [[_brief(value), kind] for value, kind in fact.values]
        facts.append([_brief(fact.name), values])
    votes = [[_brief(name), signs] for name, signs in item.votes.items()]
    return [[_piece(piece) for piece in pieces(text, marks)], facts, votes]


def _piece(piece: Piece) -> Any:
    if not piece.says:
        return spelt(piece.text)
    return [spelt(piece.text), piece.kind, _brief(piece.says)]


def _uri(picture: Picture) -> str:
    is_webp = picture.content.startswith(b"RIFF")
    return data_uri(picture.content, "image/webp" if is_webp else "image/jpeg")


@lru_cache(10_000)
def _brief(text: str) -> str:
    shown = printable(text)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[:LONGEST]} ... ({len(text):,} characters)"


def _chunks(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    values_left = iter(values)
    chunk = list(islice(values_left, size))
    while chunk:
        yield chunk
        chunk = list(islice(values_left, size))
