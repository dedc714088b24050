"""The content of a report's page: texts, tables, figures, pictures, and the items to browse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halluscope.reporting.shown import Shown


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: what the table shows.
        header: a name per column.
        rows: texts; the first text of each row says what the row is about.
        best: cells (row, column) that are the best of their column.
        left: how many columns, from the first on, say what a row is about.
        note: how to read the table, in a sentence or two; "" for no note.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    left: int = 1
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """What a reader wants to know first about a run.

    Attributes:
        name: the name of the responses.
        score: the name of the principal score.
        value: the score's value, as text.
        interval: the score's interval, as text; "" if it has none.
        meaning: what the value means, in a sentence.
        warnings: reasons to be careful with the score, in a sentence each.
        signature: the signature of the scores.
    """

    name: str
    score: str
    value: str
    interval: str
    meaning: str
    warnings: Sequence[str]
    signature: str


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        name: the name of its file, such as "classes".
        title: the question that the figure answers.
        caption: what the figure shows, and how that was counted.
        svg: the drawing, without scripts and without links to other files.
    """

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Picture:
    """A small image.

    Attributes:
        content: the file, JPEG or WebP, without metadata.
        width: in pixels.
        height: in pixels.
        credit: the owner and the licence, as the dataset states them; "" if it does not.
    """

    content: bytes
    width: int
    height: int
    credit: str = ""


@dataclass(frozen=True)
class Page:
    """The whole content of a page.

    Attributes:
        title: the title of the benchmark.
        about: what the benchmark measures, in a sentence or two.
        headlines: one per run, the best run first.
        tables: the scores, differences, and the papers' results.
        figures: the figures, in the order of the page.
        runs: the runs whose items are shown, in the order of `headlines`.
        pictures: the name in `Item.image` -> the image; images may be missing.
        asked: the prompt of all rows; "" if each row has its own question.
        facts: name -> what else to know: how the page was made, what may be done with the images.
        citation: the benchmark's BibTeX entry.
    """

    title: str
    about: str
    headlines: Sequence[Headline]
    tables: Sequence[Table]
    figures: Sequence[Figure]
    runs: Sequence[Shown]
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    asked: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
