"""A report as tables of cells and notes, which `formats` writes, and results as JSON."""

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from halluscope.signature import keys_of
from halluscope.vocabularies import read_toml

OTHER = "*"  # marks a number of rows that are not the rows of the first result

FEWEST = 30  # how many rows a result must be about for its intervals to stand in tables

BEST = "best"  # a key added to a result: the score that is highlighted, since it is better than each other model's

RESPONSES, ROWS = "responses", "rows"  # names of columns: what was scored, and on how many rows


class Number(NamedTuple):
    """A number in a table."""

    value: float | None  # None or NaN where it is undefined
    form: str = ".1f"  # how it is printed, as a specification for `format`
    times: int = 100  # what it is multiplied by before it is printed: 100 for a fraction in percent, else 1
    ends: Sequence[float] = ()  # the ends of its interval; () if it has no interval
    mark: str = ""  # what is printed after it
    said: str = ""  # what is printed instead of it; "" to print the number
    best: bool = False  # whether it is highlighted as the best of its column

    @property
    def is_defined(self) -> bool:
        """Whether it is neither NaN nor None."""
        return is_defined(self.value)

    @property
    def has_ends(self) -> bool:
        """Whether the number has an interval."""
        return len(self.ends) == 2 and all(map(is_defined, self.ends))

    def __str__(self) -> str:
        return self.said or f"{self._printed(self.value)}{self.mark}"

    @property
    def interval(self) -> str:
        """The interval as it is printed; "-" if the number has none."""
        return " to ".join(self.printed_ends) if self.has_ends else "-"

    @property
    def printed_ends(self) -> list[str]:
        """Both ends of the interval as they are printed."""
        return [self._printed(end) for end in self.ends]

    def _printed(self, value: float | None) -> str:
        if not is_defined(value):
            return "-"
        return format(value if self.times == 1 else self.times * value, self.form)


Cell = str | int | Number | None  # a cell of a table; None if it is empty
Json = dict[str, Any]  # an object of JSON


class Table(NamedTuple):
    """A table."""

    name: str  # what it holds, in a word, to tell a report's tables apart
    header: Sequence[str]  # a name per column
    rows: Sequence[Sequence[Cell]]  # a cell per column
    left: int = 1  # how many columns, from the first on, say what a row is about
    of: str = ""  # whose table it is, if the rows do not say so; "" otherwise
    # whether rows that differ only in their first column compete; each column's best is then highlighted
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


def plain(value: float | None, form: str = ".3f", ends: Sequence[float] = ()) -> Number:
    """Return a number that is not a fraction, printed as it is."""
    return Number(value, form, 1, ends)


def scored(value: float | None, is_plain: bool, ends: Sequence[float] = ()) -> Number:
    """Return a score, printed with three decimals if it is not a fraction, else in percent."""
    return plain(value, ends=ends) if is_plain else share(value, ends)


def table(
    results: Named,
    columns: Sequence[str],
    is_points: Callable[[str], bool] = lambda _: False,
    name: str = "scores",
    turned: bool = False,
    intervals: Collection[str] = (),
) -> Table:
    """Return a table with one row per LVLM, in the order of the results.

    A column such as "mean_words:.1f" is no fraction, and printed in this form.
    """

    def cell(result: Mapping[str, Any], column: str) -> Number:
        named, _, form = column.partition(":")
        return plain(result.get(named), form) if form else score(result, column, is_points(column))

    are_counted = any(isinstance(result.get(ROWS), Number) for _, result in results)
    rows: list[list[Cell]] = []
    for named, result in results:
        count = result.get(ROWS)
        counts = [count if isinstance(count, Number) else Number(None)] if are_counted else []
        rows.append([named, *counts, *(cell(result, column) for column in columns)])
    names = [column.partition(":")[0] for column in columns]
    header = [RESPONSES, ROWS, *names] if are_counted else [RESPONSES, *names]
    return Table(name, header, rows, ranked=True, turned=turned, intervals=intervals)


def counted(results: Named) -> list[tuple[str, Mapping[str, Any]]]:
    """Return results with how many rows each is about (`ROWS`), marked if these are not the first result's rows.

    Those about too few rows (`has_few`) lose their intervals.
    """
    data = [keys_of(result["signature"])["data"] for _, result in results]
    rows = [Number(int(of.rsplit("-", 2)[1]), "d", 1, mark=OTHER if of != data[0] else "") for of in data]
    return [
        (name, {**(_bare(result) if has_few(result) else result), ROWS: number})
        for (name, result), number in zip(results, rows, strict=True)
    ]


def has_few(result: Mapping[str, Any]) -> bool:
    """Whether a result has intervals, and is about too few rows for them."""
    return "interval" in result and int(keys_of(result["signature"])["data"].rsplit("-", 2)[1]) < FEWEST


def _bare(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without intervals, also those of its parts."""
    return {
        key: _bare(value) if isinstance(value, Mapping) else value
        for key, value in result.items()
        if key != "interval"
    }


def score(result: Mapping[str, Any], name: str, is_plain: bool = False) -> Number:
    """Return a score of a result, with its interval if it has one."""
    number = scored(result.get(name), is_plain, result.get("interval", {}).get(name, ()))
    return number._replace(best=True) if result.get(BEST) == name else number


def group_table(results: Named, by: str, is_points: Callable[[str], bool] = lambda _: False) -> Table:
    """Return a table of a score's groups of questions: for "aAcc", all scores "aAcc/..."."""
    groups = dict.fromkeys(name for _, result in results for name in result if name.startswith(f"{by}/"))
    return table(results, list(groups), is_points, name="groups", turned=True)


def class_table(result: Mapping[str, Any], of: str) -> Table:
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
    """Return remarks on each result as notes; equal remarks are printed once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, lines in remarks.items():
        names.setdefault(tuple(lines), []).append(name)
    return [Notes(lines, ", ".join(of)) for lines, of in names.items()]


def listed(results: Named) -> list[dict[str, Any]]:
    """Return results with their names in them, as JSON has them."""
    return [{"responses": name, **result} for name, result in results]


def to_json(value: Any) -> str:
    """Return a value as JSON in ASCII only; undefined numbers are null."""
    return json.dumps(finite(value), indent=2).replace("\x7f", "\\u007f")


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage with one decimal; "-" if it is undefined."""
    return f"{100 * fraction:.1f}" if is_defined(fraction) else "-"


def is_defined(score: float | None) -> TypeGuard[float]:
    """Whether a score is finite: neither NaN nor None, which stands for NaN in a file."""
    return score is not None and math.isfinite(score)


def printed(value: float | None, is_plain: bool) -> str:
    """Return a score as tables print it: like `percent`, or with three decimals if it is not a fraction."""
    return str(scored(value, is_plain))


def uncertainty(result: Mapping[str, Any], over: str = "images") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a result's measures of uncertainty: the name of each, and the ends for each score."""
    for key, text in (("interval", f"interval over {over}"), ("spread", "lowest and highest of the repeats")):
        if key in result:
            yield text, result[key]


def interval(ends: Sequence[float]) -> str:
    """Return an interval in percent; "" if there are no ends."""
    return " to ".join(map(percent, ends))


def ranked(results: Named, by: str, higher: bool = True) -> list[tuple[str, Mapping[str, Any]]]:
    """Return results with the best score first, and those without the score last."""

    def order(one: tuple[str, Mapping[str, Any]]) -> tuple[bool, float]:
        value = one[1].get(by)
        return (False, -value if higher else value) if is_defined(value) else (True, 0)

    return sorted(results, key=order)


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
        return super().__format__(form) if form else percent(self)


def filled(text: str, result: Mapping[str, Any]) -> str:
    """Return a text with values of a result; "f0_5_cls" stands for "f0.5_cls"."""
    shown = {name: _Share(one) if isinstance(one, float) else one for name, one in result.items()}
    return text.format(**{name.replace(".", "_"): one for name, one in shown.items()})


class Declared:
    """The columns, notes and sentences of the data file beside the module of this `__file__`."""

    def __init__(self, module: str) -> None:
        table = read_toml(module, "benchmark.toml")
        self.data, self.principal = table["report"], table["benchmark"]["principal"]
        self.higher = table["benchmark"]["scores"][self.principal] == "higher"

    def table(self, results: Named, columns: Sequence[str] = ()) -> Table:
        """Return a row per result, the best first, by default with the columns of the data file."""
        best = ranked(results, self.principal, self.higher)
        return table(best, columns or self.data["columns"], intervals=self.data.get("intervals", ()))

    def report(self, results: Named, **_: Any) -> Report:
        """Return a table, and notes on each result."""
        return report([self.table(results)], {name: self.notes(result) for name, result in results})

    def notes(self, result: Mapping[str, Any], *more: str) -> list[str]:
        """Return the notes that apply, others, the intervals that are named below tables, and the signature."""
        known = [(note, result.get(note["of"])) for note in self.data.get("notes", ())]
        ends = result.get("interval", {})
        return [
            *(
                filled(note["text"], result)
                for note, value in known
                if value is not None and ("above" not in note or value > note["above"])
            ),
            *more,
            *(
                f"interval of {name} over images: {interval(ends[name])}"
                for name in self.data.get("below", ())
                if name in ends and is_defined(result[name])
            ),
            f"signature: {result['signature']}",
        ]

    def meaning(self, scores: Mapping[str, Any]) -> str:
        """Say in a sentence what the principal score means, by the convention of the signature."""
        if not is_defined(scores[self.principal]):
            return str(self.data["undefined"])
        texts, keys = self.data["meaning"], keys_of(scores["signature"])
        named = [keys.get("convention"), keys.get("parser"), "usual"]
        return filled(next(texts[name] for name in named if name in texts), scores)
