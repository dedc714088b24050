"""What a metric's page shows of a result besides tables: the responses, marked as in a report, and a chart.

Both are HTML in which pasted text stays text: the responses are in a frame that reaches nothing around it, and the
chart is an image.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from halluscope.registry import Benchmark
from halluscope.reporting.figures.plots import scores
from halluscope.reporting.page import content
from halluscope.reporting.page.notebook import Report
from halluscope.reporting.page.sealed import data_uri
from halluscope.reporting.shown import Shown
from halluscope.runs import page
from halluscope.runs.showing import of_result, of_signature

NAME = "responses"
HEIGHT = 700
"""Pixels of the frame."""

CHARTS = ("classes", "groups")
"""The figures that are useful for a few rows, the most useful first."""


@dataclass(frozen=True)
class Seen:
    """A result as HTML.

    Attributes:
        texts: the responses, each with its marks and facts; "" for a result without rows.
        chart: a figure; "" for a result in which nothing is defined.
    """

    texts: str
    chart: str


def seen(
    result: Mapping[str, Any],
    predictions: Sequence[Any],
    references: Sequence[Any],
    options: Mapping[str, Any],
) -> Seen:
    """Return a result's responses and chart as HTML.

    Args:
        result: a metric's result.
        predictions: the responses that were scored.
        references: what they were scored against.
        options: the options of scoring; those that the metric itself does not have are left out.

    Raises:
        MissingExtra: without matplotlib.
    """
    benchmark = of_signature(result)
    if not benchmark.items:
        return Seen("", _figure(scores(NAME, result, benchmark)))
    own = {name: value for name, value in options.items() if name in benchmark.keywords}
    whole = page.of_result(_by_lines(benchmark, of_result(result, predictions, references, NAME, **own))).page
    return Seen(Report(_texts(whole)).frame(HEIGHT), _figure(_chart(whole, result, benchmark)))


def _by_lines(benchmark: Benchmark, shown: Shown) -> Shown:
    """Name rows that have no ids by the lines on which they were pasted."""
    if "image_ids" not in benchmark.given:
        return shown
    return replace(
        shown, items=[replace(item, id=f"line {line}") for line, item in enumerate(shown.items, 1)]
    )


def _texts(whole: content.Page) -> content.Page:
    """Return a page with only the responses, below the score and its meaning; the rest is shown around the frame."""
    (head,) = whole.headlines
    title = f"{head.score}: {head.value}" + (f" ({head.interval})" if head.interval else "")
    return content.Page(title, head.meaning, [], [], [], whole.runs)


def _chart(whole: content.Page, result: Mapping[str, Any], benchmark: Benchmark) -> content.Figure | None:
    """Return the most useful figure for a few rows; without one, a figure of the scores."""
    drawn = {figure.name: figure for figure in whole.figures}
    return next((drawn[name] for name in CHARTS if name in drawn), None) or scores(NAME, result, benchmark)


def _figure(figure: content.Figure | None) -> str:
    if figure is None:
        return ""
    source = data_uri(figure.svg.encode("utf-8", "replace"), "image/svg+xml")
    title = escape(figure.title)
    return (
        f'<figure style="margin: 0"><strong>{title}</strong>'
        f'<img src="{source}" alt="{title}" style="width: 100%; margin: .5rem 0">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
