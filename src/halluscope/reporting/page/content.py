"""What stands on a report's page, whoever made it: texts, tables, figures, pictures, and the items to browse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halluscope.reporting.shown import Shown


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: what it tells.
        header: a name per column.
        rows: texts; the first of each is what the row is about.
        best: cells (row, column) that are the best of their column.
        left: how many columns, from the first on, say what a row is about.
        note: how it is to be read, in a sentence or two; "" for none.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[tuple[int, int]] = frozenset()
    left: int = 1
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """What a person asks first about a run.

    Attributes:
        name: of the responses.
        score: the name of the principal score.
        value: of it, as text.
        interval: of it, as text; "" for none.
        meaning: the same in a sentence.
        warnings: why to be careful with it, in a sentence each.
        signature: of the scores.
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
        name: of its file, such as "classes".
        title: the question that it answers.
        caption: what is to be seen, and how it was counted.
        svg: the drawing, without scripts, and without anything from elsewhere.
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
        credit: whose it is, and its licence, as the dataset says; "" where it does not.
    """

    content: bytes
    width: int
    height: int
    credit: str = ""


@dataclass(frozen=True)
class Page:
    """All that stands on a page.

    Attributes:
        title: of the benchmark.
        about: what it measures, in a sentence or two.
        headlines: one per run, the best first.
        tables: the scores, differences, the papers' results.
        figures: in this order.
        runs: whose items are shown, in the order of `headlines`.
        pictures: what `Item.image` names -> the image; none at all, or none for some, is well.
        asked: what all rows are asked; "" where each has its question.
        facts: what is to be known of it beside: how it was made, what may be done with the images.
        citation: BibTeX of the benchmark.
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
