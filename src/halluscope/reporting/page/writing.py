"""Writes a page as one file of HTML in which foreign text stays text, and shows it in a notebook.

What the page's script reads is an index for finding items, and chunks with what is shown of them. Only the index is
parsed when the page opens, so a page with thousands of items opens quickly.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from halluscope.files.writing import check_new, new_file
from halluscope.paths import path_of
from halluscope.reporting.page.content import Page
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
        check_new(path_of(file))
        write(self.page, path_of(file))
        return path_of(file)

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
    with new_file(path) as file:
        file.writelines(parts(page))


def parts(page: Page) -> Iterator[str]:
    """Yield the page as consecutive texts; it is never in memory as a whole."""
    packed = pack(page)
    each = [one.warnings for one in page.headlines]
    choices = defaultdict[str, list[str]](list)  # the values of each part by which the items can be filtered
    for name, value in packed["index"]["parts"]:
        choices[name].append(value)
    credits = Counter(picture.credit for picture in page.pictures.values() if picture.credit)
    return template(__package__, finalize=_shown).generate(
        page=page,
        # warnings that all runs share are shown once
        shared=[one for one in dict.fromkeys(each[0] if each else ()) if all(one in own for own in each)],
        drawings=[drawing(one.svg) for one in page.figures],
        choices={name: sorted(values) for name, values in choices.items() if len(values) > 1},
        disputes=any(item.disputed for run in page.runs for item in run.items),
        credits=credits if len(credits) <= CREDITS else {},
        **packed,
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


def pack(page: Page) -> dict[str, Any]:
    """Pack the items of all runs, as JSON values; items with the same id become one.

    `index` is what filtering and sorting use: names, and lists with an entry per item or run. `rows` has the question
    and the responses of each item, in chunks of `ROWS`, and `pictures` has data URIs, in chunks of `PICTURES`.
    """
    _brief.cache_clear()  # what is a key to hide may have changed
    of_run = [{item.id: item for item in run.items} for run in page.runs]
    # each item in each run; None where a run lacks it
    shown = [[of.get(id) for of in of_run] for id in dict.fromkeys(chain.from_iterable(of_run))]
    items = [next(filter(None, each)) for each in shown]
    named = dict.fromkeys(item.image or "" for item in items)
    pictures = {name: page.pictures[name] for name in named if name in page.pictures}
    errors, classes, parts, credits, images = (_names() for _ in range(5))

    def signs(item: Item | None) -> list[Any] | None:
        """Return what a row can be found by."""
        if item is None:
            return None
        of_classes = (
            classes[_brief(name)] * len(OUTCOMES) + OUTCOMES.index(of) for name, of in item.classes.items()
        )
        return [
            [errors[_brief(error)] for error in item.errors],
            [*of_classes],
            [parts[_brief(name), _brief(value)] for name, value in item.parts.items()],
            int(item.disputed),
            round(item.badness, 4),
        ]

    places = {name: place for place, name in enumerate(pictures)}
    rows = [one for each in shown for one in each if one]
    marks = {mark.kind for one in rows for mark in one.marks}
    index = {
        "runs": [_brief(run.name) for run in page.runs],
        "voters": [[_brief(voter) for voter in run.voters] for run in page.runs],
        "ids": [_brief(item.id) for item in items],
        "groups": [_brief(item.group) for item in items],
        "pictures": [places.get(item.image or "", -1) for item in items],
        "image": [images[_brief(item.image or "")] for item in items],
        "sizes": [[one.width, one.height, credits[_brief(one.credit)]] for one in pictures.values()],
        "signs": [[signs(each[run]) for each in shown] for run in range(len(page.runs))],
        "outcomes": OUTCOMES,
        "kinds": sorted(marks.union(kind for one in rows for fact in one.facts for _, kind in fact.values)),
        "common": [_brief(name) for name in _common(shown)] if len(page.runs) > 1 else [],
        "chunk": {"rows": ROWS, "pictures": PICTURES},
    }
    numbered = {"credits": credits, "images": images, "errors": errors, "classes": classes, "parts": parts}
    responses = (
        [printable(item.question), [*map(_response, each)]] for item, each in zip(items, shown, strict=True)
    )
    uris = (
        data_uri(one.content, "image/webp" if one.content.startswith(b"RIFF") else "image/jpeg")
        for one in pictures.values()
    )
    index |= {name: [*numbers] for name, numbers in numbered.items()}
    return {"index": index, "rows": _chunks(responses, ROWS), "pictures": _chunks(uris, PICTURES)}


def _common(shown: Sequence[Sequence[Item | None]]) -> list[str]:
    """Return the names of facts that are the same in every run, for each item: facts about items, not responses."""
    common: dict[str, bool] = {}
    for each in shown:
        facts = [{fact.name: fact.values for fact in one.facts} for one in each if one]
        for name in chain.from_iterable(facts):
            same = all(one.get(name) == facts[0].get(name) for one in facts)
            common[name] = common.get(name, True) and same
    return [name for name, same in common.items() if same]


@lru_cache(10_000)
def _brief(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} ... ({len(text):,} characters)"


def _names() -> defaultdict[Any, int]:
    """Return name -> its number, in the order in which the names come."""
    names: defaultdict[Any, int] = defaultdict(lambda: len(names))
    return names


def _response(item: Item | None) -> list[Any] | None:
    """Return a response in pieces, its facts and its votes."""
    if item is None:
        return None
    keyed = redact(item.text)
    # a text with an access key gets no marks, since blacking it out shifts their places
    marks = item.marks if keyed == item.text else ()
    return [
        [
            [spelt(piece.text), piece.kind, _brief(piece.says)] if piece.says else spelt(piece.text)
            for piece in pieces(keyed, marks)
        ],
        [[_brief(fact.name), [[_brief(value), kind] for value, kind in fact.values]] for fact in item.facts],
        [[_brief(name), signs] for name, signs in item.votes.items()],
    ]


def _chunks(each: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(each)
    while chunk := [*islice(left, size)]:
        yield chunk
