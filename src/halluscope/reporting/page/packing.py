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

    def signs(self, item: Item | None) -> list[Any] | None:
        """Return what a response can be found by: errors, classes, parts, disputed, badness, unreadable replies."""
        if item is None:
            return None
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
    places: dict[str, int] = {}
    sizes = []
    for name, picture in pictures.items():
        places[name] = len(places)
        sizes.append([picture.width, picture.height, numbers.credits[_brief(picture.credit)]])
    signs: list[list[Any]] = [[] for _ in page.runs]
    for number, signs_of_run in enumerate(signs):
        for row in rows:
            signs_of_run.append(numbers.signs(row.of_runs[number]))
    common: list[str] = []
    if len(page.runs) > 1:
        common = [_brief(name) for name in _common(rows)]
    runs = []
    voters = []
    for run in page.runs:
        runs.append(_brief(run.name))
        voters.append([_brief(voter) for voter in run.voters])
    ids = []
    groups = []
    images = []
    places_of_pictures = []
    for row in rows:
        ids.append(_brief(row.first.id))
        groups.append(_brief(row.first.group))
        images.append(numbers.images[_brief(row.image)])
        places_of_pictures.append(places.get(row.image, -1))
    return {
        "runs": runs,
        "voters": voters,
        "ids": ids,
        "groups": groups,
        "pictures": places_of_pictures,
        "image": images,
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
            for mark in item.marks:
                kinds.add(mark.kind)
            for fact in item.facts:
                for _, kind in fact.values:
                    kinds.add(kind)
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
    return [printable(row.first.question), [_response(item) for item in row.of_runs]]


def _response(item: Item | None) -> list[Any] | None:
    """Return a response in pieces, its facts and its votes."""
    if item is None:
        return None
    text = redact(item.text)
    marks = item.marks
    if text != item.text:
        marks = ()  # blacking out an access key shifts the marks' places
    text_in_pieces = [_piece(piece) for piece in pieces(text, marks)]
    facts = []
    for fact in item.facts:
        values = [[_brief(value), kind] for value, kind in fact.values]
        facts.append([_brief(fact.name), values])
    votes = []
    for name, signs in item.votes.items():
        votes.append([_brief(name), signs])
    return [text_in_pieces, facts, votes]


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
