"""A report as tables of cells and notes, which `formats` writes, and results as JSON."""

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from halluscope.benchmark import HIGHER, LOWER, Benchmark
from halluscope.signature import keys_of

OTHER = "*"  # marks a number of rows that are not the rows of the first result

FEWEST = 30  # how many rows a result must be about for its intervals to stand in tables

# What follows a score's name to say which direction is better
ARROWS = {HIGHER: " \u2191", LOWER: " \u2193", None: ""}

BEST = "best"  # a key added to a result: the score that is highlighted, since it is better than each other model's

# What a result holds that is named like its scores, and is none
NO_SCORES = {"counts", "interval", "no_interval", "spread", "difference", "printed"}

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
        ends = []
        for end in self.ends:
            if not is_defined(end):
                return ""
            ends.append(self.printed(end))
        return " to ".join(ends)

    def printed(self, value: float | None) -> str:
        if not is_defined(value):
            return "-"
        return format(value, self.form).removesuffix("%")


Cell = str | int | Number | None  # a cell of a table; None if it is empty
Json = dict[str, Any]  # an object of JSON


class Table(NamedTuple):
    """A table."""

    name: str  # what it holds, in a word, to tell a report's tables apart
    header: Sequence[str]  # a name per column
    rows: Sequence[Sequence[Cell]]  # a cell per column
    left: int = 1  # how many columns, from the first on, say what a row is about
    of: str = ""  # whose table it is, if the rows do not say so; "" otherwise
    # whether each row is an LVLM, so that text too wide for a terminal shows columns as rows
    ranked: bool = False
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
    """Return a score, printed in percent, or with three decimals if it counts points; a whole number is a count."""
    if isinstance(value, int):
        return Number(value, "d", ends)
    return Number(value, ".3f" if is_points else ".1%", ends)


def estimate(values: Values, name: str = "value", is_points: bool = False) -> Number:
    """Return an estimate with its ends `low` and `high`; `name` is the key of the estimate itself."""
    ends = (values["low"], values["high"])
    return scored(values[name], is_points, ends)


def gap(value: float | None, is_points: bool, ends: Sequence[float] = ()) -> Number:
    """Return a difference of two scores, printed with its sign."""
    return Number(value, "+.3f" if is_points else "+.1%", ends)


def table(
    results: Named,
    columns: Sequence[str],
    is_points: Callable[[str], bool] = lambda _: False,
    name: str = "scores",
    turned: bool = False,
    intervals: Collection[str] = (),
) -> Table:
    """Return a table with one row per LVLM, in the order of the results; the last arguments are fields of `Table`.

    A column such as "mean_words:.1f" is no fraction, and printed in this form.
    """
    # a result that was not `counted` may have rows of its own
    with_rows = any(isinstance(result.get(ROWS), Number) for _, result in results)
    header = [RESPONSES]
    if with_rows:
        header.append(ROWS)
    for column in columns:
        header.append(column.partition(":")[0])
    rows: list[list[Cell]] = []
    for responses, result in results:
        row: list[Cell] = [responses]
        if with_rows:
            row.append(result.get(ROWS, Number(None)))
        for column in columns:
            row.append(_cell(result, column, is_points))
        rows.append(row)
    return Table(name, header, rows, ranked=True, turned=turned, intervals=intervals)


def _cell(result: Values, column: str, is_points: Callable[[str], bool]) -> Number:
    name, _, form = column.partition(":")
    if form:
        return plain(result.get(name), form)
    return score(result, name, is_points(name))


def counted(results: Named) -> Named:
    """Return results with how many rows each is about (`ROWS`), marked if these are not the first result's rows.

    Those about too few rows (`has_few`) lose their intervals.
    """
    counted_results = []
    first = ""
    for name, result in results:
        data = keys_of(result["signature"])["data"]
        if not first:
            first = data
        mark = "" if data == first else OTHER
        counted_result = dict(result)
        if has_few(result):
            counted_result = _bare(result)
        counted_result[ROWS] = Number(rows_of(result), "d", mark=mark)
        counted_results.append((name, counted_result))
    return counted_results


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
    lines = []
    for reason, scores_without in names.items():
        lines.append(f"No interval for {', '.join(scores_without)}: {reason}")
    return lines


def _bare(result: Values) -> dict[str, Any]:
    """Return a result without intervals, also those of its parts."""
    bare = {}
    for key, value in result.items():
        if key == "interval":
            continue
        if isinstance(value, Mapping):
            value = _bare(value)
        bare[key] = value
    return bare


def score(result: Values, name: str, is_points: bool = False) -> Number:
    """Return a score of a result, with its interval if it has one."""
    ends = result.get("interval", {}).get(name, ())
    number = scored(result.get(name), is_points, ends)
    if result.get(BEST) == name:
        return number._replace(best=True)
    return number


def group_table(results: Named, by: str, is_points: Callable[[str], bool] = lambda _: False) -> Table:
    """Return a table of a score's groups of questions: for "aAcc", all scores "aAcc/..."."""
    groups: list[str] = []
    for _, result in results:
        for name in result:
            if name.startswith(f"{by}/") and name not in groups:
                groups.append(name)
    return table(results, groups, is_points, name="groups", turned=True)


def class_table(result: Values, of: str) -> Table:
    """Return a table with one row per class: its counts, and its ratios in percent."""
    header = ["class"]
    rows: list[list[Cell]] = []
    for name, counts in result["classes"].items():
        if not rows:
            header += counts
        row: list[Cell] = [name]
        for value in counts.values():
            row.append(value if isinstance(value, int) else share(value))
        rows.append(row)
    return Table("classes", header, rows, of=of)


def report(tables: Sequence[Table], remarks: Mapping[str, Sequence[str]]) -> list[Table | Notes]:
    """Return a report: the tables that have rows, and the remarks (name -> lines) on each result."""
    parts: list[Table | Notes] = []
    for table_of_report in tables:
        if table_of_report.rows:
            parts.append(table_of_report)
    parts += below(remarks)
    return parts


def below(remarks: Mapping[str, Sequence[str]]) -> list[Notes]:
    """Return remarks on each result as notes; equal remarks are printed once, and none where there are none."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        if lines:
            names.setdefault(tuple(lines), []).append(name)
    return [Notes(lines, ", ".join(about)) for lines, about in names.items()]


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
    return " to ".join(percent(end) for end in ends)


def principal(benchmark: Benchmark, results: Sequence[Values]) -> str:
    """Return the score to show first: the principal one, or the first defined one if that is undefined."""
    for name in (benchmark.principal, *benchmark.scores):
        if any(is_defined(result.get(name)) for result in results):
            return name
    return benchmark.principal


def best_first(benchmark: Benchmark, results: Named) -> Named:
    by = principal(benchmark, [result for _, result in results])
    return ranked(results, by, benchmark.direction(by) != LOWER)


def ranked(results: Named, by: str, higher: bool = True) -> Named:
    """Return results with the best score first, and those without the score last."""

    def order(named: tuple[str, Values]) -> float:
        _, result = named
        value = result.get(by)
        if not is_defined(value):
            return math.inf
        return -value if higher else value

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
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# A sentence with a result's values


class _Share(float):
    """A fraction, which a text without a format shows in percent."""

    def __format__(self, form: str) -> str:
        if not form:
            return percent(self)
        return super().__format__(form) if is_defined(self) else "undefined"


def filled(text: str, result: Values) -> str:
    """Return a text with values of a result; "f0_5_cls" stands for "f0.5_cls". None is NaN in a file."""
    values = {}
    for name, value in result.items():
        if value is None:
            value = math.nan
        if isinstance(value, float):
            value = _Share(value)
        values[name.replace(".", "_")] = value
    return text.format(**values)
