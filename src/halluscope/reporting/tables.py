"""A report as tables of cells and notes, which `formats` writes, and results as JSON."""

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from halluscope.benchmark import LOWER, Benchmark
from halluscope.signature import keys_of

OTHER = "*"  # marks a number of rows that are not the rows of the first result

FEWEST = 30  # how many rows a result must be about for its intervals to stand in tables

BEST = "best"  # a key added to a result: the score that is highlighted, since it is better than each other model's

# What a result holds that is named like its scores, and is none
NO_SCORES = {"counts", "interval", "no_interval", "spread", "difference"}

RESPONSES, ROWS = "responses", "rows"  # names of columns: what was scored, and on how many rows


class Number(NamedTuple):
    """A number in a table."""

    value: float | None  # None or NaN where it is undefined
    form: str = ".1%"  # how it is printed, as a specification for `format`; of a share, without the sign "%"
    ends: Sequence[float] = ()  # the ends of its interval; () if it has no interval
    mark: str = ""  # what is printed after it
    text: str = ""  # what is printed instead of it; "" to print the number
    best: bool = False  # whether it is highlighted as the best of its column

    def __str__(self) -> str:
        return self.text or f"{self.printed(self.value)}{self.mark}"

    @property
    def interval(self) -> str:
        """The interval as it is printed; "" if the number has none."""
        return " to ".join(map(self.printed, self.ends)) if all(map(is_defined, self.ends)) else ""

    def printed(self, value: float | None) -> str:
        return format(value, self.form).removesuffix("%") if is_defined(value) else "-"


Cell = str | int | Number | None  # a cell of a table; None if it is empty
Json = dict[str, Any]  # an object of JSON


class Table(NamedTuple):
    """A table."""

    name: str  # what it holds, in a word, to tell a report's tables apart
    header: Sequence[str]  # a name per column
    rows: Sequence[Sequence[Cell]]  # a cell per column
    left: int = 1  # how many columns, from the first on, say what a row is about
    of: str = ""  # whose table it is, if the rows do not say so; "" otherwise
    ranked: bool = (
        False  # whether each row is an LVLM, so that text too wide for a terminal shows columns as rows
    )
    turned: bool = False  # whether columns are shown as rows, for tables with many columns
    intervals: Collection[str] = ()  # the columns whose intervals are shown next to them


class Notes(NamedTuple):
    """Lines of text between or below tables."""

    lines: Sequence[str]  # the lines; no text in a line can break it
    of: str = ""  # what the notes are about; "" for the whole report


Report = Sequence[Table | Notes]  # tables and notes, one below the other

Values = Mapping[str, Any]  # options, a result, a row: what they hold, by name

Named = Sequence[tuple[str, Values]]  # results, each with the name of what was scored


def share(value: float | None, ends: Sequence[float] = ()) -> Number:
    """Return a fraction, printed in percent."""
    return Number(value, ends=ends)


def plain(value: float | None, form: str = ".3f") -> Number:
    """Return a number that is not a fraction, printed as it is."""
    return Number(value, form)


def scored(value: float | None, is_points: bool, ends: Sequence[float] = ()) -> Number:
    """Return a score, printed in percent, or with three decimals if it counts points."""
    return Number(value, ".3f" if is_points else ".1%", ends)


def estimate(of: Values, value: str = "value", is_points: bool = False) -> Number:
    """Return an estimate with its ends `low` and `high`; `value` names the estimate itself."""
    return scored(of[value], is_points, (of["low"], of["high"]))


def gap(value: float | None, is_points: bool, ends: Sequence[float] = ()) -> Number:
    """Return a difference of two scores, printed with its sign."""
    return Number(value, "+.3f" if is_points else "+.1%", ends)


def table(
    results: Named, columns: Sequence[str], is_points: Callable[[str], bool] = lambda _: False, **more: Any
) -> Table:
    """Return a table with one row per LVLM, in the order of the results; `more` sets the other fields of a `Table`.

    A column such as "mean_words:.1f" is no fraction, and printed in this form.
    """

    def cell(result: Values, column: str) -> Number:
        name, _, form = column.partition(":")
        return plain(result.get(name), form) if form else score(result, name, is_points(name))

    # a result that was not `counted` may have rows of its own
    counts = [ROWS] if any(isinstance(result.get(ROWS), Number) for _, result in results) else []
    rows = [
        [
            named,
            *(result.get(of, Number(None)) for of in counts),
            *(cell(result, column) for column in columns),
        ]
        for named, result in results
    ]
    header = [RESPONSES, *counts, *(column.partition(":")[0] for column in columns)]
    return Table(**{"name": "scores", "header": header, "rows": rows, "ranked": True, **more})


def counted(results: Named) -> Named:
    """Return results with how many rows each is about (`ROWS`), marked if these are not the first result's rows.

    Those about too few rows (`has_few`) lose their intervals.
    """
    data = [keys_of(result["signature"])["data"] for _, result in results]
    return [
        (
            name,
            {
                **(_bare(result) if has_few(result) else result),
                ROWS: Number(rows_of(result), "d", mark=OTHER if of != data[0] else ""),
            },
        )
        for (name, result), of in zip(results, data, strict=True)
    ]


def rows_of(result: Values) -> int:
    """Return how many rows a result is about, by its signature."""
    return int(keys_of(result["signature"])["data"].rsplit("-", 2)[1])


def has_few(result: Values) -> bool:
    """Whether a result has intervals, and is about too few rows for them."""
    return "interval" in result and rows_of(result) < FEWEST


def without_intervals(benchmark: Benchmark, results: Named) -> list[Notes]:
    """Return notes on why defined scores have no interval, of each result that has intervals in tables."""
    remarks = {}
    for name, result in results:
        if not has_few(result):
            remarks[name] = _reasons(benchmark, result)
    return below(remarks)


def _reasons(benchmark: Benchmark, result: Values) -> list[str]:
    scores = dict(flat(result))
    names: dict[str, list[str]] = {}
    for name, reason in result.get("no_interval", {}).items():
        if benchmark.better(name) and is_defined(scores.get(name)):
            names.setdefault(reason, []).append(name)
    return [f"No interval for {', '.join(of)}: {reason}" for reason, of in names.items()]


def _bare(result: Values) -> dict[str, Any]:
    """Return a result without intervals, also those of its parts."""
    return {
        key: _bare(value) if isinstance(value, Mapping) else value
        for key, value in result.items()
        if key != "interval"
    }


def score(result: Values, name: str, is_points: bool = False) -> Number:
    """Return a score of a result, with its interval if it has one."""
    number = scored(result.get(name), is_points, result.get("interval", {}).get(name, ()))
    return number._replace(best=True) if result.get(BEST) == name else number


def group_table(results: Named, by: str, is_points: Callable[[str], bool] = lambda _: False) -> Table:
    """Return a table of a score's groups of questions: for "aAcc", all scores "aAcc/..."."""
    groups = dict.fromkeys(name for _, result in results for name in result if name.startswith(f"{by}/"))
    return table(results, list(groups), is_points, name="groups", turned=True)


def class_table(result: Values, of: str) -> Table:
    """Return a table with one row per class: its counts, and its ratios in percent."""
    columns = list(next(iter(result["classes"].values()), {}))
    rows = [
        [name, *(value if isinstance(value, int) else share(value) for value in row.values())]
        for name, row in result["classes"].items()
    ]
    return Table("classes", ["class", *columns], rows, of=of)


def report(tables: Sequence[Table], remarks: Mapping[str, Sequence[str]]) -> list[Table | Notes]:
    """Return a report: the tables that have rows, and the remarks (name -> lines) on each result."""
    return [*(one for one in tables if one.rows), *below(remarks)]


def below(remarks: Mapping[str, Sequence[str]]) -> list[Notes]:
    """Return remarks on each result as notes; equal remarks are printed once, and none where there are none."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        names.setdefault(tuple(lines), []).append(name)
    return [Notes(lines, ", ".join(of)) for lines, of in names.items() if lines]


def to_json(value: Any) -> str:
    """Return a value as JSON in ASCII only; undefined numbers are null."""
    return json.dumps(finite(value), indent=2).replace("\x7f", "\\u007f")


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage with one decimal; "-" if it is undefined."""
    return str(Number(fraction))


def is_defined(score: float | None) -> TypeGuard[float]:
    """Whether a score is finite: neither NaN nor None, which stands for NaN in a file."""
    return score is not None and math.isfinite(score)


def printed(value: float | None, is_points: bool) -> str:
    """Return a score as tables print it."""
    return str(scored(value, is_points))


def interval(ends: Sequence[float]) -> str:
    """Return an interval in percent; "" if there are no ends."""
    return " to ".join(map(percent, ends))


def principal(benchmark: Benchmark, results: Sequence[Values]) -> str:
    """Return the score to show first: the principal one, or the first defined one if that is undefined."""
    names = [benchmark.principal, *benchmark.scores]
    return next((name for name in names if any(is_defined(one.get(name)) for one in results)), names[0])


def best_first(benchmark: Benchmark, results: Named) -> Named:
    by = principal(benchmark, [one for _, one in results])
    return ranked(results, by, benchmark.direction(by) != LOWER)


def ranked(results: Named, by: str, higher: bool = True) -> Named:
    """Return results with the best score first, and those without the score last."""

    def order(one: tuple[str, Values]) -> float:
        value = one[1].get(by)
        return math.inf if not is_defined(value) else -value if higher else value

    return sorted(results, key=order)


def flat(scores: Values, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each score; the names of nested ones are joined with "/"."""
    for name, values in scores.items():
        if isinstance(values, Mapping):
            yield from flat(values, f"{above}{name}/")
        else:
            yield f"{above}{name}", values


def finite(value: Any) -> Any:
    """Return a nested value with None for undefined numbers, as JSON needs it."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# What a data file declares of a report


class _Share(float):
    """A fraction, which a text without a format shows in percent."""

    def __format__(self, form: str) -> str:
        if not form:
            return percent(self)
        return super().__format__(form) if is_defined(self) else "undefined"


def filled(text: str, result: Values) -> str:
    """Return a text with values of a result; "f0_5_cls" stands for "f0.5_cls". None is NaN in a file."""
    values = {name.replace(".", "_"): math.nan if value is None else value for name, value in result.items()}
    shares = {name: _Share(value) for name, value in values.items() if isinstance(value, float)}
    return text.format(**{**values, **shares})
