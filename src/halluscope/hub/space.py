"""The page of a metric's Space: it scores an example, or whatever is pasted in its place.

Each metrics/<name>/app.py says what its page asks for (`Page`); this module builds and runs the page. Nothing that is
pasted is shown as HTML, kept, or sent anywhere, and the page sends no request to any other server: the responses are in
a frame that reaches nothing around it, and the chart is an image.
"""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.errors import needs
from halluscope.reporting.figures.plots import scores as chart_of_scores
from halluscope.reporting.page import content
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.page.writing import Report
from halluscope.reporting.tables import Values, flat
from halluscope.responses.reading import text_of
from halluscope.runs.page import of_result, of_signature, shown_result
from halluscope.sanitize import short_repr

LINES, JSON_LINES = "one row per line", "JSON lines"
NAME = "responses"  # of the LVLM
HEIGHT = 700  # pixels of the frame
CHARTS = ("classes", "groups")  # the figures that are useful for a few rows, the most useful first


class Box(NamedTuple):
    label: str  # what goes into the box, and how a line is read
    example: str  # what it holds at first
    read: Callable[[str], Any] = str  # makes a row of a plain line; its ValueError says what was expected
    # the first of them that a JSON object has holds the row; () takes whole objects
    keys: tuple[str, ...] = ()
    responses: bool = False  # whether a JSON object's text is found as in a file of responses

    def rows(self, text: str, form: str) -> list[Any]:
        """Return the rows of a text; an empty line is an empty row."""
        limits.check("page", len(text), self.label)
        limits.check("page_rows", text.count("\n"), self.label)
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
        return [
            self._row(line, form == JSON_LINES, f"{self.label}, line {number}")
            for number, line in enumerate(lines, 1)
        ]

    def _row(self, line: str, is_json: bool, where: str) -> Any:
        try:
            row = json.loads(line) if is_json else self.read(line)
        except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
            raise ValueError(f"{where}: {short_repr(line)} cannot be read: {error}.") from error
        if not is_json or not isinstance(row, dict):
            return row
        if self.responses:
            return text_of(row, where)[0]
        values = [row[key] for key in self.keys if key in row]
        if self.keys and not values:
            raise ValueError(
                f"{where} has none of the keys {', '.join(self.keys)}; it has {', '.join(row)!s:.200}."
            )
        return values[0] if values else row


class Choice(NamedTuple):
    label: str
    values: Values  # what is shown -> what the metric gets; the first is the default


class Answer(NamedTuple):
    message: str  # warnings, or an error
    texts: str = ""  # HTML of the responses with their marks
    chart: str = ""  # HTML of a figure
    scores: list[list[str]] | None = None
    rows: Values | None = None  # `headers` and `data`
    signature: str = ""


class Page(NamedTuple):
    title: str
    about: str  # what the page says about the metric, in Markdown
    score: Callable[..., dict[str, Any]]  # takes predictions, references and options
    predictions: Box
    references: Box
    choices: Mapping[str, Choice] = {}  # options that a visitor may choose
    options: Mapping[str, Any] = {}  # options that are fixed
    each: str = ""  # the key of a result's table of rows, if it has one

    def answer(self, form: str, predictions: str, references: str, *chosen: str) -> Answer:
        """Score what was pasted; if that fails, the answer holds only a message that says why."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            try:
                pasted = self.predictions.rows(predictions, form), self.references.rows(references, form)
                each = zip(self.choices.items(), chosen, strict=True)
                options = {**self.options, **{name: choice.values[shown] for (name, choice), shown in each}}
                with limits.given(f"cells={limits.most('page_cells')}"):
                    result = dict(self.score(*pasted, **options))
                html = _html(result, *pasted, options)
            except (ValueError, OSError, ImportError, RecursionError) as error:
                return Answer(str(error))
        found = result.pop(self.each, None) or []
        keys, signature = list(found[0]) if found else [], str(result.pop("signature"))
        cells = [[str(line), *(_plain(row[key]) for key in keys)] for line, row in enumerate(found, 1)]
        remarks = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
        scores = [[name, _plain(value)] for name, value in flat(result) if value is not None]
        rows = {"headers": ["line", *keys], "data": cells} if cells else None
        return Answer("\n".join(remarks), *html, scores, rows, signature)

    def example(self) -> Answer:
        chosen = [next(iter(choice.values)) for choice in self.choices.values()]
        return self.answer(LINES, self.predictions.example, self.references.example, *chosen)

    def blocks(self) -> Any:
        with needs("A metric's page", "space"):
            import gradio
        first = self.example()
        line = partial(gradio.Textbox, interactive=False)
        table = partial(gradio.Dataframe, datatype="str", interactive=False)
        box = partial(gradio.Textbox, lines=5, max_lines=20)
        inputs = [
            gradio.Radio([LINES, JSON_LINES], value=LINES, label="Format of what is pasted"),
            box(self.predictions.example, label=self.predictions.label, elem_id="predictions"),
            box(self.references.example, label=self.references.label, elem_id="references"),
            *(gradio.Dropdown(list(choice.values), label=choice.label) for choice in self.choices.values()),
        ]
        outputs = [  # in the order of an answer's fields
            line(first.message, label="Message", placeholder="None.", elem_id="message"),
            gradio.HTML(first.texts, elem_id="texts", visible=bool(self.each)),
            gradio.HTML(first.chart, elem_id="chart"),
            table(first.scores, headers=["score", "value"], label="Scores", elem_id="scores"),
            table(first.rows, label="Each row", elem_id="rows", visible=bool(self.each), wrap=True),
            line(first.signature, label="Signature", elem_id="signature"),
        ]
        return gradio.Interface(
            self.answer,
            inputs,
            outputs,
            title=self.title,
            description=self.about,
            submit_btn=gradio.Button("Score", variant="primary", elem_id="score"),
            flagging_mode="never",
            deep_link=False,
            analytics_enabled=False,
            api_name="score",
        )

    def launch(self, **options: Any) -> Any:
        """Serve the page; on a Space, the Hub sets its address."""
        return self.blocks().launch(
            share=False, ssr_mode=False, footer_links=["api"], run_history=False, **options
        )


def names(line: str) -> list[str]:
    """Return the names on a line, separated by commas; an empty line has none."""
    return [name.strip() for name in line.split(",")] if line.strip() else []


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    if isinstance(value, list | tuple):
        return (" to " if isinstance(value, tuple) else ", ").join(map(_plain, value))
    return "" if value is None else str(value)


def _html(
    result: Values,
    predictions: Sequence[Any],
    references: Sequence[Any],
    options: Values,
) -> tuple[str, str]:
    """Return a result's responses, marked as in a report, and a chart; "" for a result without rows."""
    benchmark, texts, charts = of_signature(result), "", dict[str, content.Figure]()
    if benchmark.items:
        own = {name: value for name, value in options.items() if name in benchmark.keywords}
        shown = shown_result(result, predictions, references, NAME, **own)
        if "image_ids" in benchmark.input_options:  # rows have no ids, but were pasted on lines
            items = [item._replace(id=f"line {line}") for line, item in enumerate(shown.items, 1)]
            shown = shown._replace(items=items)
        whole = of_result(shown).page
        (head,) = whole.headlines
        title = f"{head.score}: {head.value}" + (f" ({head.interval})" if head.interval else "")
        # only the responses, below the score and its meaning; the rest is shown around the frame
        texts = Report(content.Page(title, head.meaning, [], [], [], whole.runs)).frame(HEIGHT)
        charts = {figure.name: figure for figure in whole.figures}
    figure = next((charts[name] for name in CHARTS if name in charts), None)
    if not (figure := figure or chart_of_scores(NAME, result, benchmark)):
        return texts, ""
    source, title = data_uri(figure.svg.encode("utf-8", "replace"), "image/svg+xml"), escape(figure.title)
    return texts, (
        f'<figure style="margin: 0"><strong>{title}</strong>'
        f'<img src="{source}" alt="{title}" style="width: 100%; margin: .5rem 0">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
