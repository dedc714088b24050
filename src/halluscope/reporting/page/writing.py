"""Writes a page as one file of HTML in which foreign text stays text, and shows it in a notebook.

What the page's script reads is an index for finding items, and chunks with what is shown of them. Only the index is
parsed when the page opens, so a page with thousands of items opens quickly.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from halluscope.files.writing import check_new, new_file
from halluscope.reporting.page.content import Page, Picture
from halluscope.reporting.page.html_template import data_uri, template
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, MISSED, Item, pieces
from halluscope.sanitize import printable, redact, spelt

OUTCOMES = (FOUND, HALLUCINATED, MISSED, ABSENT)
LONGEST = 2000  # characters of a name or a fact; the rest is cut. Responses and questions are kept whole.
ROWS, PICTURES = 50, 10  # items, and pictures, in a chunk
CREDITS = 40  # the most credits of images that the page lists at its end; each is also shown below its image
HEIGHT = 800  # of a page's frame in a notebook, in pixels
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "defs", "g", "path", "use", "text", "clipPath", "rect"}  # what a drawing may hold


@dataclass(frozen=True)
class Report:
    """A report, which a notebook shows if it is the last value of a cell, and which can be saved as a file."""

    page: Page  # the content of its page

    def save(self, file: str | Path) -> Path:
        """Write the report as a new file, which a browser opens without a network.

        Returns:
            The file.

        Raises:
            OutputError: if the file exists.
            OSError: if it cannot be written.
        """
        check_new(Path(file))
        write(self.page, Path(file))
        return Path(file)

    def __repr__(self) -> str:
        lines = (f"{one.name}: {one.score} {one.value}. {one.meaning}" for one in self.page.headlines)
        return "\n".join([self.page.title, *lines])

    def frame(self, height: int = HEIGHT) -> str:
        """Return HTML of the page in its own frame, which reaches neither the page around it nor a network."""
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.page.title)}" width="100%" height="{height}" '
            f'style="border: 1px solid #8886; border-radius: 8px" '
            f'srcdoc="{escape("".join(parts(self.page)))}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.frame()


def write(page: Page, path: Path) -> None:
    """Write a page; it appears at `path` when it is complete, and replaces an existing file."""
    with new_file(path, newline="") as file:
        file.writelines(parts(page))


def parts(page: Page) -> Iterator[str]:
    """Yield the page as consecutive texts; it is never in memory as a whole."""
    packed = pack(page)
    each = [one.warnings for one in page.headlines]
    choices: dict[str, list[str]] = {}  # the values of each part by which the items can be filtered
    for name, value in packed.index["parts"]:
        choices.setdefault(name, []).append(value)
    credits = Counter(picture.credit for picture in page.pictures.values() if picture.credit)
    return template(__package__, finalize=_shown).generate(
        page=page,
        # warnings that all runs share are shown once
        shared=[one for one in dict.fromkeys(each[0] if each else ()) if all(one in own for own in each)],
        drawings=[drawing(one.svg) for one in page.figures],
        packed=packed,
        choices={name: sorted(values) for name, values in choices.items() if len(values) > 1},
        disputes=any(item.disputed for run in page.runs for item in run.items),
        credits=credits if len(credits) <= CREDITS else {},
    )


def _shown(value: Any) -> Any:
    """Return a value for the template; all but our own HTML is made printable."""
    return value if isinstance(value, Markup) else printable(value)


def drawing(svg: str) -> Markup:
    """Return a drawing for a page, which allows no styles in it: known elements only, with attributes for styles."""
    root = ElementTree.fromstring(svg.encode("utf-8", "replace"))
    for above in [*root.iter()]:
        for one in [*above]:
            if one.tag.removeprefix(SVG) not in DRAWN or (
                one.tag == f"{SVG}defs" and one.find(f"{SVG}style") is not None
            ):
                above.remove(one)
    for one in root.iter():
        one.tag = one.tag.removeprefix(SVG)
        known = {name.rpartition("}")[2]: value for name, value in one.attrib.items()}
        known |= dict(re.findall(r"([\w-]+): *([^;]+)", known.pop("style", "")))
        if one.tag == "g":
            known.pop("id", None)  # the same in all drawings
        one.attrib = {
            name: value
            for name, value in known.items()
            if not name.startswith("on") and (name != "href" or value.startswith("#"))
        }
    root.attrib |= {"stroke-linejoin": "round"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


# Packing


@dataclass(frozen=True)
class Packed:
    """A page's items as its script reads them, all as JSON values."""

    index: dict[str, Any]  # what filtering and sorting use: names, and lists with an entry per item or run
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
        _chunks(
            (
                [
                    printable(item.question),
                    [_response(of[item.id]) if item.id in of else None for of in of_run],
                ]
                for item in items
            ),
            ROWS,
        ),
        _chunks((_uri(one.content) for one in pictures.values()), PICTURES),
    )


def _index(
    page: Page,
    items: Sequence[Item],
    of_run: Sequence[Mapping[str, Item]],
    pictures: Mapping[str, Picture],
) -> dict[str, Any]:
    picture = {name: number for number, name in enumerate(pictures)}
    errors, classes, parts, credits, images = (_names() for _ in range(5))
    signs = [[_signs(of.get(item.id), errors, classes, parts) for item in items] for of in of_run]
    return {
        "runs": [_brief(run.name) for run in page.runs],
        "voters": [[_brief(voter) for voter in run.voters] for run in page.runs],
        "ids": [_brief(item.id) for item in items],
        "groups": [_brief(item.group) for item in items],
        "pictures": [picture.get(item.image or "", -1) for item in items],
        "image": [images[_brief(item.image or "")] for item in items],
        "sizes": [[one.width, one.height, credits[_brief(one.credit)]] for one in pictures.values()],
        "signs": signs,
        "credits": [*credits],
        "images": [*images],
        "errors": [*errors],
        "classes": [*classes],
        "outcomes": OUTCOMES,
        "kinds": sorted({kind for of in of_run for item in of.values() for kind in _kinds(item)}),
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


def _kinds(item: Item) -> Iterator[str]:
    yield from (mark.kind for mark in item.marks)
    yield from (kind for fact in item.facts for _, kind in fact.values)


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


def _uri(content: bytes) -> str:
    return data_uri(content, "image/webp" if content.startswith(b"RIFF") else "image/jpeg")


def _chunks(each: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(each)
    while chunk := list(islice(left, size)):
        yield chunk
