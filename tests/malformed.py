"""Malformed arguments, and a small valid call of each benchmark's metric to insert them into.

Benchmarks come from the registry, and their calls from the examples on their pages, so a new benchmark is covered
automatically.
"""

import builtins
import inspect
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa

from halluscope.benchmark import Benchmark
from halluscope.options import defaults
from tests.test_contract import example, offline

# Things whose every answer is an error


class Hostile:
    """An object whose special methods all raise an error."""

    def __refuse(self, *_: Any) -> Any:
        raise RuntimeError("no")

    __repr__ = __len__ = __iter__ = __eq__ = __bool__ = __str__ = __float__ = __index__ = __refuse
    __hash__ = None


class Word(Enum):
    """A value with a name."""

    NO = "no"


def within_itself() -> list[Any]:
    """Return a list that contains itself."""
    whole: list[Any] = []
    whole.append(whole)
    return whole


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "7": lambda: 7,
    "2e9": lambda: 2_000_000_000,
    "2**63": lambda: 2**63,
    "2**64": lambda: 2**64,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "0.5": lambda: 0.5,
    "1.0": lambda: 1.0,
    "-0.5": lambda: -0.5,
    "95.0": lambda: 95.0,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "1e200": lambda: 1e200,
    "1e-200": lambda: 1e-200,
    "1j": lambda: 1j,
    "Fraction": lambda: Fraction(1, 2),
    "Decimal": lambda: Decimal("0.5"),
    "empty text": lambda: "",
    "no": lambda: "no",
    "digits": lambda: "0.5",
    "number as text": lambda: "1000",
    "nul": lambda: "\0",
    "half a character": lambda: "\ud800",
    "escape": lambda: "\x1b[31m",
    "long text": lambda: "x" * 100_000,
    "bytes": lambda: b"no",
    "bytearray": lambda: bytearray(b"no"),
    "memoryview": lambda: memoryview(b"no"),
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "empty set": set,
    "list of the empty text": lambda: [""],
    "list of a text": lambda: ["no"],
    "list of None": lambda: [None],
    "list of nan": lambda: [float("nan")],
    "list of a list": lambda: [[]],
    "list of True": lambda: [True],
    "list of a dict": lambda: [{"a": 1}],
    "list within itself": within_itself,
    "dict": lambda: {"a": 1},
    "frozenset": lambda: frozenset({"no"}),
    "range": lambda: range(1),
    "iterator": lambda: iter(["no"]),
    "generator": lambda: (one for one in ["no"]),
    "object": object,
    "hostile object": Hostile,
    "list of a hostile object": lambda: [Hostile()],
    "enum": lambda: Word.NO,
    "class": lambda: list,
    "function": lambda: len,
    "path": lambda: Path("no-such-thing"),
    "date": lambda: date(2024, 1, 1),
    "numpy whole": lambda: np.int64(7),
    "numpy negative": lambda: np.int64(-1),
    "numpy float": lambda: np.float32(0.5),
    "numpy nan": lambda: np.float64("nan"),
    "numpy bool": lambda: np.bool_(True),
    "numpy text": lambda: np.str_("no"),
    "numpy date": lambda: np.datetime64("2024-01-01"),
    "array of no axes": lambda: np.array(1),
    "array of no axes, text": lambda: np.array("no"),
    "empty array": lambda: np.array([]),
    "array of two axes": lambda: np.zeros((2, 2)),
    "array of None": lambda: np.array([None], dtype=object),
    "masked array": lambda: np.ma.masked_array([1, 0, 1], [0, 1, 0]),
    "structured array": lambda: np.array([("a", 1)], dtype=[("name", "U1"), ("of", int)]),
    "pandas NA": lambda: pd.NA,
    "pandas NaT": lambda: pd.NaT,
    "Series": lambda: pd.Series(["no"], index=[7]),
    "Series with a gap": lambda: pd.Series(["no", None]),
    "DataFrame": lambda: pd.DataFrame({"response": ["no"]}),
    "Arrow table": lambda: pa.table({"response": ["no"]}),
}
"""Values by name, each made anew."""


def _as_objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


SAME: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "deque": deque,
    "values of a dict": lambda values: dict(enumerate(values)).values(),
    "array of objects": _as_objects,
    "Series": pd.Series,
    "Series in another order": lambda values: pd.Series(values, index=range(len(values))[::-1]),
    "Series by name": lambda values: pd.Series(values, index=[f"row {n}" for n in range(len(values))]),
    "Series of objects": lambda values: pd.Series(values, dtype=object),
    "Arrow array": pa.array,
}
"""Forms of a list that are taken as the list is: by position."""

OTHER: dict[str, Callable[[list[Any]], Any]] = {
    "dict": lambda values: dict(enumerate(values)),
    "dict by value": lambda values: {str(value): 1 for value in values},
    "set": lambda values: {str(value) for value in values},
    "iterator": iter,
    "generator": lambda values: (value for value in values),
    "text": lambda values: "".join(map(str, values)),
    "DataFrame": lambda values: pd.DataFrame({"response": [str(value) for value in values]}),
    "DataFrame of as many columns": lambda values: pd.DataFrame([range(len(values))]),
    "Arrow table": lambda values: pa.table({"response": [str(value) for value in values]}),
    "array of no axes": lambda values: np.array(_as_objects(values)[:1].tolist()[0], dtype=object)[()],
    "array of two axes": lambda values: _as_objects(values)[:, None],
    "one less": lambda values: values[:-1],
    "one more": lambda values: [*values, values[-1]],
    "nothing": lambda values: [],
    "None at the end": lambda values: [*values[:-1], None],
    "nan at the end": lambda values: [*values[:-1], float("nan")],
    "an object at the end": lambda values: [*values[:-1], object()],
    "a hostile object at the end": lambda values: [*values[:-1], Hostile()],
    "bytes at the end": lambda values: [*values[:-1], b"no"],
    "in a list": lambda values: [values],
    "each in a list": lambda values: [[value] for value in values],
    "masked": lambda values: np.ma.masked_array(_as_objects(values), [False] * (len(values) - 1) + [True]),
}
"""What is made of a list that no list of that kind is."""


@dataclass(frozen=True)
class Call:
    """A valid call of a metric.

    Attributes:
        benchmark: the benchmark.
        given: all arguments by name.
        lists: the arguments that hold one value per row, with valid values for each; not all are given.
        hints: the type of each parameter, as the signature has it.
    """

    benchmark: Benchmark
    given: dict[str, Any]
    lists: dict[str, list[Any]] = field(default_factory=dict)
    hints: dict[str, Any] = field(default_factory=dict)

    def with_(self, **changes: Any) -> dict[str, Any]:
        """Score, with other arguments."""
        return self.benchmark.compute(**self.given | changes)


def call(benchmark: Benchmark) -> Call:
    """A small valid call of a benchmark's metric, without a network."""
    predictions, references, options = example(benchmark)
    options |= offline(benchmark) | {"bootstrap": 5}
    given = {"predictions": predictions, "references": references, **options}
    valid = {
        name: values for name, values in _per_row(len(predictions)).items() if name in benchmark.keywords
    }
    return Call(
        benchmark, given, {"predictions": predictions, "references": references} | valid, _hints(benchmark)
    )


def parameters(benchmark: Benchmark) -> list[str]:
    """The arguments of a metric, by name."""
    return ["predictions", "references", *sorted(benchmark.keywords)]


def lists(benchmark: Benchmark) -> list[str]:
    """The arguments of a metric that hold one value per row, by name."""
    return ["predictions", "references", *(name for name in _per_row(0) if name in benchmark.input_options)]


def odd() -> Iterator[tuple[str, Any]]:
    """Yield each odd value with its name."""
    return ((name, make()) for name, make in ODD.items())


def _per_row(rows: int) -> dict[str, list[Any]]:
    """Return valid values of the options that hold one value per row."""
    return {
        "image_ids": [f"image {row}" for row in range(rows)],
        "objects": [("dog", "cat")[row % 2] for row in range(rows)],
        "sampling": [("random", "popular")[row % 2] for row in range(rows)],
        "questions": [f"Is there thing {row}?" for row in range(rows)],
        "correctness": [row % 3 for row in range(rows)],
        "same": [row % 2 for row in range(rows)],
        "ratings": [_verdict(row) for row in range(rows)],
    }


def _verdict(row: int) -> dict[str, Any]:
    """Return a verdict that any benchmark can read, by its criteria."""
    return {
        "correct": row % 2 == 0,
        "extra_claims": row,
        "rating": row % 7,
        "relevancy": row % 11,
        "accuracy": row % 11,
    }


class _Names(dict[str, Any]):
    """The names in a module's annotations; those that only type checkers import are no type of any value here."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name) or type(name, (), {"_is_protocol": True})


def _hints(benchmark: Benchmark) -> dict[str, Any]:
    compute = inspect.unwrap(benchmark.compute)
    hints = get_type_hints(compute, localns=_Names(compute.__globals__))
    if benchmark.judges:
        options = benchmark.judges.options
        names = _Names(
            {name: value for one in options.__mro__ for name, value in vars(inspect.getmodule(one)).items()}
        )
        of_judges = get_type_hints(options, localns=names)
        hints |= {one.name: of_judges[one.name] for one in fields(options)}
    known = {"predictions", "references", *defaults(benchmark.compute), *benchmark.keywords}
    return {name: hint for name, hint in hints.items() if name in known}
