"""A metric's page, as its Space shows it: an example that is scored, and whatever is pasted in its place.

Each metrics/<name>/app.py says what its page asks for (`Page`); what it does is here. Nothing that is pasted is shown
as HTML, kept, or sent anywhere, and the page itself asks no other server for anything.
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from halluscope import limits
from halluscope.errors import LimitExceeded, MissingExtra
from halluscope.foreign import brief
from halluscope.hub.seen import seen
from halluscope.responses.files import text_of

LINES, JSON_LINES = "one row a line", "JSON lines"

Table = Sequence[list[str]]


@dataclass(frozen=True)
class Box:
    """A text box with a row a line.

    Attributes:
        label: what goes into it, and how a line is read.
        example: what stands in it at first.
        read: makes a row of a plain line; its ValueError says what was expected.
        keys: where rows are JSON objects, the keys that hold what is meant, the first that is there; none takes whole
            objects.
        responses: whether a row is what an LVLM said; a JSON object's text is then found as in a file of responses.
    """

    label: str
    example: str
    read: Callable[[str], Any] = str
    keys: tuple[str, ...] = ()
    responses: bool = False

    def rows(self, text: str, form: str) -> list[Any]:
        """The rows of a text; a line without anything is an empty row.

        Raises:
            ValueError: naming the line that cannot be read.
            LimitExceeded: for more characters or rows than a page takes.
        """
        self._check("page", len(text))
        self._check("page_rows", text.count("\n"))
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
        return [self._row(line, form, f"{self.label}, line {number}") for number, line in enumerate(lines, 1)]

    def _check(self, limit: str, amount: int) -> None:
        if amount > (most := limits.most(limit)):
            unit = limits.LIMITS[limit].unit
            raise LimitExceeded(
                f"{self.label}: {amount:,} {unit}; this page takes {most:,}. Use the package for more."
            )

    def _row(self, line: str, form: str, where: str) -> Any:
        try:
            row = json.loads(line) if form == JSON_LINES else self.read(line)
        except (ValueError, RecursionError) as error:  # the latter for brackets in brackets, thousands deep
            raise ValueError(f"{where}: {brief(line)} cannot be read: {error}.") from error
        if self.responses and isinstance(row, dict):
            return text_of(row, where)[0]
        if not (form == JSON_LINES and isinstance(row, dict) and self.keys):
            return row
        key = next((key for key in self.keys if key in row), None)
        if key is None:
            raise ValueError(
                f"{where} has none of the keys {', '.join(self.keys)}; it has {', '.join(row)!s:.200}."
            )
        return row[key]


@dataclass(frozen=True)
class Choice:
    """An option of the metric.

    Attributes:
        label: what is chosen.
        values: what is shown -> what the metric gets; the first is the default.
    """

    label: str
    values: Mapping[str, Any]

    def value(self, shown: str) -> Any:
        """What the metric gets.

        Raises:
            ValueError: for what is not offered.
        """
        if not isinstance(shown, str) or shown not in self.values:
            raise ValueError(f"{self.label} is {brief(shown)}; expected one of {', '.join(self.values)}.")
        return self.values[shown]


class Answer(NamedTuple):
    """What a page says.

    Attributes:
        message: where something is to be said.
        texts: HTML of the texts with their marks.
        chart: HTML of a figure.
        scores: the table of scores, a row per score.
        rows: the table of rows, its header first.
        signature: of the scores.
    """

    message: str
    texts: str = ""
    chart: str = ""
    scores: Table = ()
    rows: Table = ()
    signature: str = ""


@dataclass(frozen=True)
class Page:
    """What a metric's page shows and asks for.

    Attributes:
        title: the metric's.
        about: Markdown.
        score: predictions, references and options to a result.
        predictions: the box of the responses.
        references: the box of what they are compared with.
        choices: options that a visitor may set, by their names.
        options: options that are set.
        each: the key of a result's table of rows, if it has one.
    """

    title: str
    about: str
    score: Callable[..., dict[str, Any]]
    predictions: Box
    references: Box
    choices: Mapping[str, Choice] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    each: str | None = None

    def answer(self, form: str, predictions: str, references: str, *chosen: str) -> Answer:
        """Score what was pasted; where that cannot be done, the message says why, and there is nothing else."""
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
                shown = seen(result, *rows, {**self.options, **options})
            except (ValueError, OSError, ImportError, RecursionError) as error:
                return Answer(str(error))
        each = (result.pop(self.each, None) if self.each else None) or []
        signature = str(result.pop("signature"))
        remarks = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
        return Answer(
            "\n".join(remarks), shown.texts, shown.chart, list(_listed(result)), _rows(each), signature
        )

    def example(self) -> Answer:
        """What is shown at first."""
        chosen = [next(iter(choice.values)) for choice in self.choices.values()]
        return self.answer(LINES, self.predictions.example, self.references.example, *chosen)

    def blocks(self) -> Any:
        """The page as gradio's blocks; it counts and reports nothing.

        Raises:
            MissingExtra: without gradio.
        """
        try:
            import gradio
        except ImportError as error:
            raise MissingExtra("A metric's page needs gradio: pip install 'halluscope[space]'.") from error
        first = self.example()
        with gradio.Blocks(analytics_enabled=False, title=self.title) as blocks:
            gradio.Markdown(f"# {self.title}\n{self.about}")
            form = gradio.Radio([LINES, JSON_LINES], value=LINES, label="What is pasted is")
            with gradio.Row():
                boxes = [
                    gradio.Textbox(box.example, label=box.label, lines=5, max_lines=20, elem_id=name)
                    for name, box in (("predictions", self.predictions), ("references", self.references))
                ]
            choices = [
                gradio.Dropdown(list(choice.values), label=choice.label) for choice in self.choices.values()
            ]
            button = gradio.Button("Score", variant="primary", elem_id="score")
            message = gradio.Textbox(
                first.message, label="Message", placeholder="None.", interactive=False, elem_id="message"
            )
            texts = gradio.HTML(first.texts, elem_id="texts", visible=self.each is not None)
            with gradio.Row():
                with gradio.Column(scale=1):
                    scores = gradio.Dataframe(
                        [*first.scores],
                        headers=["score", "value"],
                        datatype="str",
                        interactive=False,
                        label="Scores",
                        elem_id="scores",
                    )
                with gradio.Column(scale=2):
                    chart = gradio.HTML(first.chart, elem_id="chart")
            signature = gradio.Textbox(
                first.signature, label="Signature", interactive=False, elem_id="signature"
            )
            each = gradio.Dataframe(
                _framed(first.rows),
                datatype="str",
                interactive=False,
                label="Each row",
                elem_id="rows",
                visible=self.each is not None,
                wrap=True,
            )

            def score(*pasted: str) -> Any:
                said = self.answer(*pasted)
                return (
                    [*said.scores],
                    _framed(said.rows),
                    said.signature,
                    said.message,
                    said.texts,
                    said.chart,
                )

            button.click(
                score,
                [form, *boxes, *choices],
                [scores, each, signature, message, texts, chart],
                api_name="score",
            )
        return blocks

    def launch(self, **options: Any) -> Any:
        """Serve the page; on a Space, the Hub sets where."""
        return self.blocks().launch(
            share=False, ssr_mode=False, footer_links=["api"], run_history=False, **options
        )


def names(line: str) -> list[str]:
    """Names that are divided by commas; none on an empty line."""
    return [name.strip() for name in line.split(",")] if line.strip() else []


def _listed(result: Mapping[str, Any], of: str = "") -> Iterator[list[str]]:
    """A result as rows of a table, tables in it named by where they stand."""
    for name, value in result.items():
        if isinstance(value, Mapping):
            yield from _listed(value, f"{of}{name}/")
        elif value is not None:
            yield [f"{of}{name}", _plain(value)]


def _rows(each: Sequence[Mapping[str, Any]]) -> Table:
    """Rows as a table with a header, numbered like the lines that were pasted."""
    if not each:
        return []
    keys = list(each[0])
    return [
        ["line", *keys],
        *([str(number), *(_plain(row[key]) for key in keys)] for number, row in enumerate(each, 1)),
    ]


def _framed(rows: Table) -> dict[str, Any]:
    """Rows as gradio's table of them."""
    return {"headers": rows[0] if rows else [""], "data": [*rows[1:]]}


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    if isinstance(value, list | tuple):
        return (" to " if isinstance(value, tuple) else ", ").join(map(_plain, value))
    return "" if value is None else str(value)
