"""The content of a report's page: texts, tables, figures, pictures, and the items to browse."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from halluscope.reporting.report_items import Shown
from halluscope.reporting.tables import Table


class Headline(NamedTuple):
    """What a reader wants to know first about a run."""

    name: str  # the name of the responses
    score: str  # the name of the principal score
    value: str  # the score's value, as text
    interval: str  # the score's interval, as text; "" if it has none
    meaning: str  # what the value means, in a sentence
    warnings: Sequence[str]  # reasons to be careful with the score, in a sentence each
    signature: str  # the signature of the scores


class Figure(NamedTuple):
    """A figure."""

    name: str  # the name of its file, such as "classes"
    title: str  # the question that the figure answers
    caption: str  # what the figure shows, and how that was counted
    svg: str  # the drawing, without scripts and without links to other files


class Picture(NamedTuple):
    """A small image."""

    content: bytes  # the file, JPEG or WebP, without metadata
    width: int  # in pixels
    height: int  # in pixels
    credit: str = ""  # the owner and the licence, as the dataset states them; "" if it does not


class Page(NamedTuple):
    """What a page says of runs of one benchmark."""

    title: str  # the title of the benchmark
    about: str  # what the benchmark measures, in a sentence or two
    headlines: Sequence[Headline]  # one per run, the best run first
    # the scores, differences, and the papers' results, each with a note or ""
    tables: Sequence[tuple[Table, str]]
    figures: Sequence[Figure]  # the figures, in the order of the page
    runs: Sequence[Shown]  # the runs whose items are shown, in the order of `headlines`
    # the name in `Item.image` -> the image; images may be missing
    pictures: Mapping[str, Picture] = {}
    asked: str = ""  # the prompt of all rows; "" if each row has its own question
    # name -> what else to know: how the page was made, what may be done with the images
    facts: Mapping[str, str] = {}
    citation: str = ""  # the benchmark's BibTeX entry
    verdict: Sequence[str] = ()  # the result in a sentence, and what else to know of it in further ones
    asked_by: str = "The benchmark's prompt"  # what `asked` is


class Book(NamedTuple):
    """A page about several benchmarks, which are shown one at a time."""

    title: str
    pages: Sequence[Page]
    tables: Sequence[tuple[Table, str]] = ()  # all benchmarks beside each other, each table with a note or ""
    figures: Sequence[Figure] = ()  # two benchmarks against each other
