"""The page of a metric's Space: it scores the metric's example, or whatever is pasted in its place.

The Space's app.py names the metric; example.json in the benchmark's package holds what the page opens with, and the
options that it offers. Nothing that is pasted is shown as HTML, kept, or sent anywhere, and the page sends no request
to any other server: the responses are in a frame that reaches nothing around it, and the chart is an image.
"""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from halluscope import limits, registry
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.errors import needs
from halluscope.files.opening import read_json
from halluscope.judging.verdicts import NOBODY
from halluscope.reporting.figures import of_classes, of_scores
from halluscope.reporting.page.html_template import data_uri
from halluscope.reporting.page.writing import Report
from halluscope.reporting.report_items import Shown
from halluscope.reporting.tables import Values, flat
from halluscope.responses.reading import text_of
from halluscope.runs.page import of_result, shown_result
from halluscope.sanitize import short_repr
from halluscope.validation import word

EXAMPLE = "example.json"
NAME = "responses"  # of the LVLM
USUAL = "default"  # what is shown for an option that is left out
RESAMPLES = 1000
HEIGHT = 700  # of the frame, in pixels

PASTE = "Paste your own in the place of the example, the first line of one box beside the first line of the other."
BY_RULES = "Rules judge here; language models need the package (`pip install 'halluscope[judge]'`)."
BY_RATINGS = (
    "No judge is asked here: each row holds the `rating` that a judge or a person gave, or null. "
    'The package asks a judge (`judge="openai:MODEL"`).'
)

ReadLine = Callable[[str, str], Any]  # makes a row of a line and of its place


class Answer(NamedTuple):
    """What the page shows of a result, in the order of its parts."""

    message: str  # warnings, or an error
    texts: str = ""  # HTML of the responses with their marks
    chart: str = ""  # HTML of a figure
    scores: list[list[str]] | None = None
    rows: Values | None = None  # `headers` and `data`
    signature: str = ""


@dataclass(frozen=True)
class Page:
    """A metric's page."""

    benchmark: Benchmark
    predictions: Sequence[Any]  # of the example
    references: Sequence[Any]
    # option -> the values that a visitor may choose, the first one at first
    choices: Mapping[str, Sequence[Any]]

    @property
    def is_of_columns(self) -> bool:
        """Whether references are a column of the dataset's rows, rather than the rows."""
        return "image_ids" in self.benchmark.input_options

    @property
    def options(self) -> dict[str, Any]:
        """The options that are fixed: no language model is asked."""
        options: dict[str, Any] = {}
        if self.benchmark.items:
            options["bootstrap"] = RESAMPLES
            options[self.benchmark.items] = True
        judges = self.benchmark.judges
        if judges is not None:
            options[judges.option] = judges.rule or NOBODY
            options["progress"] = False
        return options

    @property
    def about(self) -> str:
        """What the page says about the metric, in Markdown."""
        parts = [self.benchmark.description, PASTE]
        judges = self.benchmark.judges
        if judges is not None:
            parts.append(BY_RULES if judges.rule else BY_RATINGS)
        return "\n".join(parts)

    def read(self, predictions: str, references: str) -> tuple[list[Any], list[Any]]:
        """Read what was pasted: a response per line, and a row per line.

        Raises:
            ValueError: for a line that cannot be read, or too many of them.
        """
        read_prediction = read_response
        if not self.benchmark.is_scored:  # predictions are scores
            read_prediction = read_row
        texts = read_lines(predictions, "Responses", read_prediction)
        rows = read_lines(references, "Rows", read_row)
        if self.is_of_columns:
            for number, row in enumerate(rows, 1):
                rows[number - 1] = _column(row, self.benchmark.target, f"Rows, line {number}")
        return texts, rows

    def score(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any] | None,
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Score rows; where no rule judges, by the ratings that the rows hold."""
        judges = self.benchmark.judges
        if references and judges is not None and judges.rule is None:
            ratings = [row.get("rating") if isinstance(row, Mapping) else None for row in references]
            options = {**options, "ratings": ratings}
        if not references and not self.benchmark.is_scored:
            references = None  # content validity has none
        result = self.benchmark.compute(predictions, references, **options)
        return dict(result)

    def answer(self, predictions: str, references: str, *chosen: str) -> Answer:
        """Score what was pasted; if that fails, the answer holds only a message that says why."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            try:
                options = {**self.options, **self.chosen(chosen)}
                texts, rows = self.read(predictions, references)
                with limits.given(f"cells={limits.most('page_cells')}"):
                    result = self.score(texts, rows, options)
                model = self._model(result, texts, rows, options)
                marked = _frame(model) if model.items else ""
                chart = _chart(model, self.benchmark)
            except (ValueError, OSError, ImportError, RecursionError) as error:
                return Answer(str(error))
        remarks = []
        for warning in warned:
            if issubclass(warning.category, UserWarning):
                remarks.append(str(warning.message))
        scores = []
        for name, value in flat(model.scores):
            if value is not None and name != SIGNATURE:
                scores.append([name, _plain(value)])
        return Answer(
            message="\n".join(remarks),
            texts=marked,
            chart=chart,
            scores=scores,
            rows=_table(result.get(self.benchmark.items)),
            signature=result[SIGNATURE],
        )

    def example(self) -> Answer:
        """Score the example."""
        chosen = [self.labels(name)[0] for name in self.choices]
        return self.answer(as_lines(self.predictions), as_lines(self.references), *chosen)

    def chosen(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the options that a visitor chose; one who does not use the page may send anything."""
        options = {}
        for name, label in zip(self.choices, labels, strict=True):
            word(name, label, self.labels(name))
            if label != USUAL:
                options[name] = label
        return options

    def labels(self, option: str) -> list[str]:
        """Return the values of an option as they are shown."""
        return [value or USUAL for value in self.choices[option]]

    def _model(
        self,
        result: Values,
        predictions: Sequence[Any],
        references: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Shown:
        """Return what is shown of a result."""
        if not self.benchmark.items:
            return Shown(NAME, result, [])
        model = shown_result(result, predictions, references, NAME, **options)
        if not self.is_of_columns:
            return model
        items = []
        for line, item in enumerate(model.items, 1):  # a column has no ids, but was pasted on lines
            items.append(item._replace(id=f"line {line}"))
        return model._replace(items=items)

    def blocks(self) -> Any:
        """Return the page as gradio has it."""
        with needs("A metric's page", "space"):
            import gradio
        return gradio.Interface(
            self.answer,
            self._inputs(),
            self._outputs(),
            title=self.benchmark.title,
            description=self.about,
            submit_btn=gradio.Button("Score", variant="primary", elem_id="score"),
            flagging_mode="never",
            deep_link=False,
            analytics_enabled=False,
            api_name="score",
        )

    def _inputs(self) -> list[Any]:
        import gradio

        references = "rows of the dataset, without images"
        if self.is_of_columns:
            references = self.benchmark.target
        inputs = [
            gradio.Textbox(
                as_lines(self.predictions),
                label="Responses, one per line: the text itself, or JSON",
                lines=5,
                max_lines=20,
                elem_id="predictions",
            ),
            gradio.Textbox(
                as_lines(self.references),
                label=f"What they are scored against, one per line as JSON: {references}",
                lines=5,
                max_lines=20,
                elem_id="references",
            ),
        ]
        for name in self.choices:
            inputs.append(gradio.Dropdown(self.labels(name), label=name))
        return inputs

    def _outputs(self) -> list[Any]:
        """Return what shows an answer, in the order of its fields; at first the example's."""
        import gradio

        example = self.example()
        has_rows = bool(self.benchmark.items)
        return [
            gradio.Textbox(
                example.message,
                label="Message",
                placeholder="None.",
                elem_id="message",
                interactive=False,
            ),
            gradio.HTML(example.texts, elem_id="texts", visible=has_rows),
            gradio.HTML(example.chart, elem_id="chart"),
            gradio.Dataframe(
                example.scores,
                headers=["score", "value"],
                label="Scores",
                elem_id="scores",
                datatype="str",
                interactive=False,
            ),
            gradio.Dataframe(
                example.rows,
                label="Each row",
                elem_id="rows",
                visible=has_rows,
                wrap=True,
                datatype="str",
                interactive=False,
            ),
            gradio.Textbox(
                example.signature,
                label="Signature",
                elem_id="signature",
                interactive=False,
            ),
        ]

    def launch(self, **options: Any) -> Any:
        """Serve the page; on a Space, the Hub sets its address."""
        return self.blocks().launch(
            share=False,
            ssr_mode=False,
            footer_links=["api"],
            run_history=False,
            **options,
        )


def page(name: str) -> Page:
    """Return the page of the metric of this name."""
    benchmark = registry.benchmark(name)
    example = read_json(benchmark.folder / EXAMPLE)
    return Page(benchmark, example["predictions"], example["references"], example.get("choices", {}))


# What is pasted


def read_lines(text: str, box: str, read_line: ReadLine) -> list[Any]:
    """Read each line of a box's text; no text has no lines."""
    limits.check("page", len(text), box)
    limits.check("page_rows", text.count("\n"), box)
    if not text:
        return []
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    rows = []
    for number, line in enumerate(lines, 1):
        rows.append(read_line(line, f"{box}, line {number}"))
    return rows


def read_response(line: str, where: str) -> str:
    """Return a response: the line itself, or the text in a JSON object or string."""
    if line.startswith("{"):
        return text_of(_json(line, where), where)
    if line.startswith('"'):
        with suppress(ValueError):  # a response may begin with a quotation mark
            return str(json.loads(line))
    return line


def read_row(line: str, where: str) -> Any:
    """Return a row: JSON, or a text such as the word yes."""
    if line.startswith(("{", "[", '"')):
        return _json(line, where)
    try:
        return json.loads(line)
    except ValueError:
        return line


def _json(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # RecursionError: thousands of nested brackets
        raise ValueError(f"{where}: {short_repr(line)} cannot be read: {error}.") from error


def _column(row: Any, name: str, where: str) -> Any:
    """Return a column of a row; a row that is no object is the column's value."""
    if not isinstance(row, dict):
        return row
    if name not in row:
        raise ValueError(f"{where} has no key {name}; it has {', '.join(row)!s:.200}.")
    return row[name]


def as_lines(rows: Sequence[Any]) -> str:
    """Return rows as they are pasted."""
    return "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)


# What is shown


def _frame(model: Shown) -> str:
    """Return HTML of the responses below the principal score; the rest of a report is shown around the frame."""
    report = of_result(model).page
    (headline,) = report.headlines
    title = f"{headline.score}: {headline.value}"
    if headline.interval:
        title += f" ({headline.interval})"
    shortened = report._replace(
        title=title,
        about=headline.meaning,
        headlines=[],
        tables=[],
        figures=[],
        facts={},
        citation="",
        asked="",
    )
    return Report(shortened).frame(HEIGHT)


def _chart(model: Shown, benchmark: Benchmark) -> str:
    """Return HTML of a figure; "" if there is nothing to draw."""
    figure = of_classes([model]) or of_scores([model], benchmark)
    if figure is None:
        return ""
    source = data_uri(figure.file("png"), "image/png")
    title = escape(figure.title)
    return (
        f'<figure style="margin: 0"><strong>{title}</strong>'
        f'<img src="{source}" alt="{title}" style="width: 100%; margin: .5rem 0">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _table(rows: Sequence[Values] | None) -> dict[str, Any] | None:
    """Return what was found in each row as a table; None for a result without rows."""
    if not rows:
        return None
    headers = ["line"]
    headers += rows[0]
    data = []
    for line, row in enumerate(rows, 1):
        cells = [str(line)]
        for name in rows[0]:
            cells.append(_plain(row[name]))
        data.append(cells)
    return {"headers": headers, "data": data}


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    if isinstance(value, tuple):  # an interval
        return " to ".join(_plain(end) for end in value)
    if isinstance(value, list):
        return ", ".join(_plain(part) for part in value)
    return str(value)
