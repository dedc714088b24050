"""Results for people: what a report says, as tables of cells and notes below them, and JSON for machines.

How a report is written down, `halluscope.reporting.formats` knows.
"""

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from halluscope.signature import keys_of

OTHER = "*"
"""Marks a number of rows where these are not those of the first result."""

RESPONSES, ROWS = "responses", "rows"
"""Names of columns: what was scored, and how many rows it is about."""


@dataclass(frozen=True)
class Number:
    """A number in a table.

    Attributes:
        value: the number; None or NaN where it is undefined.
        form: how it is printed, as `format` has it.
        times: what it is multiplied by for that: 100 for a fraction in percent, else 1.
        ends: of its interval; () for none.
        mark: stands behind it.
        said: is printed in its place; "" for the number itself.
    """

    value: float | None
    form: str = ".1f"
    times: int = 100
    ends: Sequence[float] = ()
    mark: str = ""
    said: str = ""

    @property
    def is_defined(self) -> bool:
        """Whether there is a number."""
        return is_defined(self.value)

    @property
    def has_ends(self) -> bool:
        """Whether it has an interval."""
        return len(self.ends) == 2 and all(map(is_defined, self.ends))

    def __str__(self) -> str:
        return self.said or f"{self._printed(self.value)}{self.mark}"

    @property
    def interval(self) -> str:
        """Its interval, "-" where it has none."""
        return " to ".join(map(self._printed, self.ends)) if self.has_ends else "-"

    @property
    def printed_ends(self) -> list[str]:
        """Both ends of its interval."""
        return [self._printed(end) for end in self.ends]

    def _printed(self, value: float | None) -> str:
        if not is_defined(value):
            return "-"
        return format(value if self.times == 1 else self.times * value, self.form)


@dataclass(frozen=True)
class Label:
    """A name in a table, with what is said of it elsewhere: it would make the table too wide.

    Attributes:
        name: what was scored.
        said: such as who judged.
    """

    name: str
    said: str


Cell = str | int | Number | Label | None
"""What stands in a table; None where there is nothing."""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: what it holds, in a word; it tells tables of one report apart.
        header: a name per column.
        rows: a cell per column.
        left: how many columns, from the first on, say what a row is about.
        of: whose it is, where the rows do not say so; "" otherwise.
        ranked: whether rows compete that differ in their first column only: the best of each column is then shown.
        turned: whether people are shown its columns as rows, of which there are many.
        intervals: the columns whose intervals people are shown beside them.
    """

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: int = 1
    of: str = ""
    ranked: bool = False
    turned: bool = False
    intervals: Collection[str] = ()


@dataclass(frozen=True)
class Notes:
    """Lines of text between or below tables.

    Attributes:
        lines: each a line; whoever's words they hold, they stay on it.
        of: what they are about; "" for the whole.
    """

    lines: Sequence[str]
    of: str = ""


Report = Sequence[Table | Notes]
"""What is told, one thing below the other."""

Named = Sequence[tuple[str, Mapping[str, Any]]]
"""Results, each with the name of what was scored."""

Shown = Sequence[tuple[str | Label, Mapping[str, Any]]]
"""The same, with what is to be said of some."""

_Name = TypeVar("_Name", bound=str | Label)


def share(value: float | None, ends: Sequence[float] = ()) -> Number:
    """A fraction, printed in percent."""
    return Number(value, ends=ends)


def plain(value: float | None, form: str = ".3f", ends: Sequence[float] = ()) -> Number:
    """A number that is no fraction, printed as it is."""
    return Number(value, form, 1, ends)


def scored(value: float | None, is_plain: bool, ends: Sequence[float] = ()) -> Number:
    """A score: a number with three digits if it is no fraction, else in percent."""
    return plain(value, ends=ends) if is_plain else share(value, ends)


def table(
    results: Shown,
    columns: Sequence[str],
    is_points: Callable[[str], bool] = lambda _: False,
    name: str = "scores",
    turned: bool = False,
) -> Table:
    """One row per LVLM, in the order of the results.

    Args:
        results: absent and undefined scores have an undefined number.
        columns: scores, by their names in a result.
        is_points: whether a score is no fraction (`Benchmark.is_points`); the others are in percent.
        name: of the table.
        turned: whether the columns are many.
    """
    rows = [
        [*counted, *(score(result, column, is_points(column)) for column in columns)]
        for counted, (_, result) in zip(labels(results), results, strict=True)
    ]
    return Table(name, [*label_names(results), *columns], rows, ranked=True, turned=turned)


def label_names(results: Shown) -> list[str]:
    """The names of the columns that `labels` fills."""
    return [RESPONSES, *([ROWS] if _are_counted(results) else [])]


def labels(results: Shown) -> list[list[Cell]]:
    """Whose each row is, and of how many rows of the dataset, where `counted` has said that."""
    with_rows = _are_counted(results)
    return [[name, *([_rows(result)] if with_rows else [])] for name, result in results]


def _are_counted(results: Shown) -> bool:
    return any(isinstance(result.get(ROWS), Number) for _, result in results)


def _rows(result: Mapping[str, Any]) -> Number:
    found = result.get(ROWS)
    return found if isinstance(found, Number) else Number(None)


def counted(results: Named) -> list[tuple[str, Mapping[str, Any]]]:
    """Results that say how many rows each is about (`ROWS`), marked where these are not those of the first."""
    data = [keys_of(result["signature"])["data"] for _, result in results]
    return [
        (name, {**result, ROWS: _counted(of, data[0])})
        for (name, result), of in zip(results, data, strict=True)
    ]


def _counted(of: str, first: str) -> Number:
    return Number(int(of.rsplit("-", 2)[1]), "d", 1, mark=OTHER if of != first else "")


def score(result: Mapping[str, Any], name: str, is_plain: bool = False) -> Number:
    """A score of a result, with its interval where there is one."""
    return scored(result.get(name), is_plain, result.get("interval", {}).get(name, ()))


def group_table(results: Named, by: str) -> Table:
    """A score of each group of questions: of "aAcc" all scores "aAcc/..."."""
    groups = dict.fromkeys(name for _, result in results for name in result if name.startswith(f"{by}/"))
    return table(results, list(groups), name="groups", turned=True)


def class_table(result: Mapping[str, Any], of: str) -> Table:
    """One row per class: its counts, and its ratios in percent.

    Args:
        result: with the table `classes`.
        of: what was scored.
    """
    columns = list(next(iter(result["classes"].values()), {}))
    rows = [
        [name, *(value if isinstance(value, int) else share(value) for value in row.values())]
        for name, row in result["classes"].items()
    ]
    return Table("classes", ["class", *columns], rows, of=of)


def report(
    tables: Sequence[Table], remarks: Mapping[str, Sequence[str]], brackets: str = "", source: str = ""
) -> list[Table | Notes]:
    """A benchmark's report: its tables, where what is published comes from, and the remarks on each result.

    Args:
        tables: those without a row are left out.
        remarks: name -> lines.
        brackets: what stands in square brackets behind the names of what is published.
        source: of what is published; "" if nothing is.
    """
    said = [Notes([f"In square brackets: {brackets}. {source}."])] if source else []
    return [*(one for one in tables if one.rows), *said, *below(remarks)]


def as_published(by: str, questions: int) -> str:
    """What `report` says of square brackets, and of rows that somebody else counted."""
    return f"{by}. Where no number of rows stands, the row is as published, of all {questions:,} questions"


def below(remarks: Mapping[str, Sequence[str]]) -> list[Notes]:
    """What stands below a table: the remarks on each result, those that are the same once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        names.setdefault(tuple(lines), []).append(name)
    return [Notes(lines, ", ".join(of)) for lines, of in names.items()]


def listed(results: Named) -> list[dict[str, Any]]:
    """Results with their names in them, as they stand in JSON."""
    return [{"responses": name, **result} for name, result in results]


def to_json(value: Any) -> str:
    """A value as JSON, in which any text is told as it is by signs of ASCII; what is undefined is null."""
    return json.dumps(finite(value), indent=2).replace("\x7f", "\\u007f")


def percent(fraction: float | None) -> str:
    """A fraction as a percentage with one decimal, "-" where it is undefined."""
    return f"{100 * fraction:.1f}" if is_defined(fraction) else "-"


def is_defined(score: float | None) -> TypeGuard[float]:
    """Whether a score is of anything: a number, not NaN, nor null, which stands for it in a file."""
    return score is not None and math.isfinite(score)


def printed(value: float | None, is_plain: bool) -> str:
    """A score as tables have it: as `percent`, or with three digits if it is no fraction."""
    return str(scored(value, is_plain))


def uncertainty(result: Mapping[str, Any], over: str = "images") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What a result says of how sure its scores are: in words what that is, and the ends of each score.

    Args:
        result: a metric's.
        over: what an interval resamples.
    """
    for key, text in (("interval", f"interval over {over}"), ("spread", "least and greatest of the repeats")):
        if key in result:
            yield text, result[key]


def interval(ends: Sequence[float]) -> str:
    """An interval in percent; nothing if there is none."""
    return " to ".join(map(percent, ends))


def ranked(
    results: Sequence[tuple[_Name, Mapping[str, Any]]], by: str, higher: bool = True
) -> list[tuple[_Name, Mapping[str, Any]]]:
    """Results, the best score first, those without one last."""

    def place(named: tuple[_Name, Mapping[str, Any]]) -> tuple[bool, float]:
        value = named[1].get(by)
        if not is_defined(value):
            return True, 0.0
        return False, -float(value) if higher else float(value)

    return sorted(results, key=place)


def finite(value: Any) -> Any:
    """The same nested value with None where a number is undefined, as JSON wants it."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
