"""The page of a metric's Space: it scores an example, or whatever is pasted in its place.

Each metrics/<name>/app.py says what its page asks for (`Page`); this module builds and runs the page. Nothing that is
pasted is shown as HTML, kept, or sent anywhere, and the page sends no request to any other server.
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.errors import LimitExceeded, MissingExtra
from halluscope.hub.space_html import render
from halluscope.responses.files import text_of
from halluscope.sanitize import short_repr

LINES, JSON_LINES = "one row per line", "JSON lines"

Table = Sequence[list[str]]


@dataclass(frozen=True)
class Box:
    """A text box with one row per line."""

    label: str  # what goes into the box, and how a line is read
    example: str  # what it holds at first
    read: Callable[[str], Any] = str  # makes a row of a plain line; its ValueError says what was expected
    keys: tuple[
        str, ...
    ] = ()  # the first of them that a JSON object has holds the row; () takes whole objects
    responses: bool = False  # whether a JSON object's text is found as in a file of responses

    def rows(self, text: str, form: str) -> list[Any]:
        """Return the rows of a text; an empty line is an empty row."""
        for limit, amount in {"page": len(text), "page_rows": text.count("\n")}.items():
            if amount > (most := limits.most(limit)):
                raise LimitExceeded(
                    f"{self.label}: {amount:,} {limits.LIMITS[limit].unit}; this page takes {most:,}. Use the package "
                    "for more."
                )
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
        return [self._row(line, form, f"{self.label}, line {number}") for number, line in enumerate(lines, 1)]

    def _row(self, line: str, form: str, where: str) -> Any:
        try:
            row = json.loads(line) if form == JSON_LINES else self.read(line)
        except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
            raise ValueError(f"{where}: {short_repr(line)} cannot be read: {error}.") from error
        if not isinstance(row, dict):
            return row
        if self.responses:
            return text_of(row, where)[0]
        if form != JSON_LINES or not self.keys:
            return row
        key = next((key for key in self.keys if key in row), None)
        if key is None:
            raise ValueError(
                f"{where} has none of the keys {', '.join(self.keys)}; it has {', '.join(row)!s:.200}."
            )
        return row[key]


@dataclass(frozen=True)
class Choice:
    """An option of the metric."""

    label: str
    values: Mapping[str, Any]  # what is shown -> what the metric gets; the first is the default

    def value(self, shown: str) -> Any:
        """Return the value that the metric gets."""
        if not isinstance(shown, str) or shown not in self.values:
            raise ValueError(
                f"{self.label} is {short_repr(shown)}; expected one of {', '.join(self.values)}."
            )
        return self.values[shown]


class Answer(NamedTuple):
    """What a page shows after scoring."""

    message: str  # warnings, or an error
    texts: str = ""  # HTML of the responses with their marks
    chart: str = ""  # HTML of a figure
    scores: Table = ()
    rows: Table = ()  # its header first
    signature: str = ""


@dataclass(frozen=True)
class Page:
    """What a metric's page shows and asks for."""

    title: str
    about: str  # what the page says about the metric, in Markdown
    score: Callable[..., dict[str, Any]]  # takes predictions, references and options
    predictions: Box
    references: Box
    choices: Mapping[str, Choice] = field(default_factory=dict)  # options that a visitor may choose
    options: Mapping[str, Any] = field(default_factory=dict)  # options that are fixed
    each: str | None = None  # the key of a result's table of rows, if it has one

    def answer(self, form: str, predictions: str, references: str, *chosen: str) -> Answer:
        """Score what was pasted; if that fails, the answer holds only a message that says why."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            try:
                rows = self.predictions.rows(predictions, form), self.references.rows(references, form)
                options = {
                    name: choice.value(value)
                    for (name, choice), value in zip(self.choices.items(), chosen, strict=True)
                }
                with limits.given(f"cells={limits.most('page_cells')}"):
                    result = dict(self.score(*rows, **self.options, **options))
                html = render(result, *rows, {**self.options, **options})
            except (ValueError, OSError, ImportError, RecursionError) as error:
                return Answer(str(error))
        each = (result.pop(self.each, None) if self.each else None) or []
        signature = str(result.pop("signature"))
        remarks = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
        return Answer("\n".join(remarks), *html, list(_listed(result)), _rows(each), signature)

    def example(self) -> Answer:
        """Score the example, which is shown at first."""
        chosen = [next(iter(choice.values)) for choice in self.choices.values()]
        return self.answer(LINES, self.predictions.example, self.references.example, *chosen)

    def blocks(self) -> Any:
        """Return the page as gradio's blocks, with gradio's usage reports off."""
        try:
            import gradio
        except ImportError as error:
            raise MissingExtra("A metric's page needs gradio: pip install 'halluscope[space]'.") from error
        first = self.example()
        shown = partial(gradio.Textbox, interactive=False)
        table = partial(gradio.Dataframe, datatype="str", interactive=False)
        has_rows = self.each is not None
        with gradio.Blocks(analytics_enabled=False, title=self.title) as blocks:
            gradio.Markdown(f"# {self.title}\n{self.about}")
            form = gradio.Radio([LINES, JSON_LINES], value=LINES, label="Format of what is pasted")
            with gradio.Row():
                boxes = [
                    gradio.Textbox(box.example, label=box.label, lines=5, max_lines=20, elem_id=name)
                    for name, box in (("predictions", self.predictions), ("references", self.references))
                ]
            choices = [
                gradio.Dropdown(list(choice.values), label=choice.label) for choice in self.choices.values()
            ]
            button = gradio.Button("Score", variant="primary", elem_id="score")
            message = shown(first.message, label="Message", placeholder="None.", elem_id="message")
            texts = gradio.HTML(first.texts, elem_id="texts", visible=has_rows)
            with gradio.Row():
                with gradio.Column(scale=1):
                    scores = table(
                        [*first.scores], headers=["score", "value"], label="Scores", elem_id="scores"
                    )
                with gradio.Column(scale=2):
                    chart = gradio.HTML(first.chart, elem_id="chart")
            signature = shown(first.signature, label="Signature", elem_id="signature")
            rows = _framed(first.rows)
            each = table(rows, label="Each row", elem_id="rows", visible=has_rows, wrap=True)

            def score(*pasted: str) -> Any:
                new = self.answer(*pasted)
                return [*new.scores], _framed(new.rows), new.signature, new.message, new.texts, new.chart

            outputs = [scores, each, signature, message, texts, chart]
            button.click(score, [form, *boxes, *choices], outputs, api_name="score")
        return blocks

    def launch(self, **options: Any) -> Any:
        """Serve the page; on a Space, the Hub sets its address."""
        return self.blocks().launch(
            share=False, ssr_mode=False, footer_links=["api"], run_history=False, **options
        )


def names(line: str) -> list[str]:
    """Return the names on a line, separated by commas; an empty line has none."""
    return [name.strip() for name in line.split(",")] if line.strip() else []


def _listed(result: Mapping[str, Any], of: str = "") -> Iterator[list[str]]:
    """Yield a result as rows of a table; nested values are named by their path."""
    for name, value in result.items():
        if isinstance(value, Mapping):
            yield from _listed(value, f"{of}{name}/")
        elif value is not None:
            yield [f"{of}{name}", _plain(value)]


def _rows(each: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows as a table with a header, numbered like the pasted lines."""
    keys = list(each[0]) if each else []
    rows = [[str(line), *(_plain(row[key]) for key in keys)] for line, row in enumerate(each, 1)]
    return [["line", *keys], *rows] if each else []


def _framed(rows: Table) -> dict[str, Any]:
    """Return rows in the form of gradio's table."""
    return {"headers": rows[0] if rows else [""], "data": [*rows[1:]]}


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    if isinstance(value, list | tuple):
        return (" to " if isinstance(value, tuple) else ", ").join(map(_plain, value))
    return "" if value is None else str(value)
