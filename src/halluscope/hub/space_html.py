"""What a metric's page shows of a result besides tables: the responses, marked as in a report, and a chart.

Both are HTML in which pasted text stays text: the responses are in a frame that reaches nothing around it, and the
chart is an image.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from halluscope.registry import Benchmark
from halluscope.reporting.figures.plots import scores
from halluscope.reporting.page import content
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.page.writing import Report
from halluscope.runs import page
from halluscope.runs.page import of_signature, shown_result

NAME = "responses"
HEIGHT = 700  # pixels of the frame
CHARTS = ("classes", "groups")  # the figures that are useful for a few rows, the most useful first


def render(
    result: Mapping[str, Any],
    predictions: Sequence[Any],
    references: Sequence[Any],
    options: Mapping[str, Any],
) -> tuple[str, str]:
    """Return a result's responses and chart; "" for a result without rows, and where nothing is defined.

    `options` are those of scoring; those that the metric itself does not have are left out.
    """
    benchmark = of_signature(result)
    if not benchmark.items:
        return "", _figure(scores(NAME, result, benchmark))
    own = {name: value for name, value in options.items() if name in benchmark.keywords}
    shown = shown_result(result, predictions, references, NAME, **own)
    if (
        "image_ids" in benchmark.input_options
    ):  # rows have no ids, so they are named by the lines on which they were pasted
        items = [replace(item, id=f"line {line}") for line, item in enumerate(shown.items, 1)]
        shown = replace(shown, items=items)
    whole = page.of_result(shown).page
    return Report(_responses(whole)).frame(HEIGHT), _figure(_chart(whole, result, benchmark))


def _responses(whole: content.Page) -> content.Page:
    """Return a page with only the responses, below the score and its meaning; the rest is shown around the frame."""
    (head,) = whole.headlines
    title = f"{head.score}: {head.value}" + (f" ({head.interval})" if head.interval else "")
    return content.Page(title, head.meaning, [], [], [], whole.runs)


def _chart(whole: content.Page, result: Mapping[str, Any], benchmark: Benchmark) -> content.Figure | None:
    figures = {figure.name: figure for figure in whole.figures}
    return next((figures[name] for name in CHARTS if name in figures), None) or scores(
        NAME, result, benchmark
    )


def _figure(figure: content.Figure | None) -> str:
    if figure is None:
        return ""
    source, title = data_uri(figure.svg.encode("utf-8", "replace"), "image/svg+xml"), escape(figure.title)
    return (
        f'<figure style="margin: 0"><strong>{title}</strong>'
        f'<img src="{source}" alt="{title}" style="width: 100%; margin: .5rem 0">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
