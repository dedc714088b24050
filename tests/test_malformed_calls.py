"""Malformed arguments of a metric: each gives a correct result, or an error that says what is wrong.

Every benchmark that the registry finds, every parameter of it, every value of `tests.malformed`.
"""

import re
import types
import typing
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

import halluscope
from halluscope import registry
from halluscope.options import MatchingOptions
from halluscope.paths import share
from halluscope.sanitize import one_line
from tests import malformed, small_datasets
from tests.malformed import ODD, OTHER, SAME
from tests.test_contract import example, offline

ALL = registry.benchmarks()
LISTS = [
    pytest.param(benchmark, name, id=f"{benchmark.name}-{name}")
    for benchmark in ALL
    for name in malformed.lists(benchmark)
]
EACH = [
    pytest.param(benchmark, name, id=f"{benchmark.name}-{name}")
    for benchmark in ALL
    for name in malformed.parameters(benchmark)
]
ALSO_TAKEN = {("correctness", "text"), ("same", "text")}
"""Digits in one text are taken as digits in a list."""

UNKNOWN = {("ratings", "None at the end")}
"""Nobody could judge that answer."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* questions are scored"),
    pytest.mark.filterwarnings("ignore:All .* scores are"),
]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file exists under the name of an odd value."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")


def outcome(run: Any, parameter: str, value: Any, **options: Any) -> str | None:
    """Return the result as text, or None for a proper error; anything else fails the test."""
    with warnings.catch_warnings():
        for kind in (RuntimeWarning, FutureWarning, DeprecationWarning):
            warnings.simplefilter("error", kind)
        try:
            return repr(run(**{parameter: value, **options}))
        except OSError as error:  # documented, where a path may be given
            assert one_line(str(value), 40).removesuffix("...") in str(error)
            return None
        except ValueError as error:
            said = str(error)
    assert 20 <= len(said) < 1500 and said.isprintable(), said
    assert parameter.removesuffix("s") in said or "is a folder" in said, said
    return None


def fits(hint: Any, value: Any) -> bool:
    """Whether a type of a signature allows a value."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or "ArrayLike" in repr(hint) or "_Buffer" in repr(hint):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(one, value) for one in of)
    if origin is typing.Literal:
        return isinstance(value, str) and value in of
    if hint in (int, float):
        allowed = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, allowed) and not isinstance(value, bool)
    if getattr(hint, "_is_protocol", False):
        return False  # none of the values is a judge
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        deepest = 1 + any(typing.get_origin(one) is origin for one in of)
        return not isinstance(value, str | bytes | bytearray | memoryview) and 1 <= np.ndim(value) <= deepest
    return isinstance(value, origin or hint)


def plain(hint: Any, value: Any) -> Any:
    """The same as Python's own values."""
    if hint is float:
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.long
@pytest.mark.parametrize(("benchmark", "parameter"), EACH)
def test_odd_values_of_each_argument(benchmark, parameter):
    call = malformed.call(benchmark)
    hint = call.hints[parameter]
    for name, value in malformed.odd():
        if value is None and fits(hint, None):  # as if it were left out
            continue
        got = outcome(call.with_, parameter, value)
        if got is not None:
            assert fits(hint, value), f"{parameter}={name} is taken, against {hint}"
            assert got == repr(call.with_(**{parameter: plain(hint, value)})), f"{parameter}={name}"


@pytest.mark.parametrize(("benchmark", "parameter"), LISTS)
def test_lists_in_other_forms(benchmark, parameter):
    call = malformed.call(benchmark)
    values = call.lists[parameter]
    expected = repr(call.with_(**{parameter: values}))
    for name, make in SAME.items():
        try:
            form = make(values)
        except (TypeError, ValueError):  # Arrow has no array of such things
            continue
        assert outcome(call.with_, parameter, form) == expected, f"{parameter} as {name}"
    for name in OTHER.keys() - {name for of, name in UNKNOWN if of == parameter}:
        make = OTHER[name]
        got = outcome(call.with_, parameter, make(values))
        known = (None, expected) if (parameter, name) in ALSO_TAKEN else (None,)
        assert got in known, f"{parameter} as {name}"


# The same through evaluate, at once and in batches


def error_of(run: Any, **arguments: Any) -> str:
    """Return the message of an error, or "" if there is no error."""
    try:
        run(**arguments)
    except (ValueError, OSError) as error:  # the latter for a file that is not there, or has too long a name
        return re.sub(r" at 0x\w+", "", str(error))
    return ""


@pytest.mark.parametrize("benchmark", ALL, ids=lambda one: one.name)
def test_lists_in_other_forms_in_a_batch(benchmark):
    call = malformed.call(benchmark)
    metric = evaluate.load(str(share("metrics", benchmark.name)))
    options = {name: value for name, value in call.given.items() if name not in ("predictions", "references")}
    rows = {name: call.given[name] for name in ("predictions", "references")}
    expected = repr(metric.compute(**call.given))
    for parameter, values in rows.items():
        for name in ("tuple", "Series in another order", "array of objects"):
            metric.add_batch(**rows | {parameter: SAME[name](values)})
            assert repr(metric.compute(**options)) == expected, f"{parameter} as {name}"
        for name, make in OTHER.items():
            metric = type(metric)()
            with pytest.raises(ValueError) as refused:
                metric.add_batch(**rows | {parameter: make(values)})
                metric.compute(**options)
            assert len(str(refused.value)) >= 20, f"{parameter} as {name}"


# The same through the door


@pytest.mark.long
@pytest.mark.parametrize("benchmark", [one for one in ALL if one.datasets], ids=lambda one: one.name)
def test_malformed_arguments_of_score(benchmark, tmp_path):
    name = benchmark.datasets[0].name
    built = str(small_datasets.build(name, tmp_path))
    rows = benchmark.module("rows").load([built])
    responses = [
        {column: getattr(row, column) for column in registry.first_dataset(benchmark).key}
        | {"response": "Yes."}
        for row in rows
    ]
    own = [option.name for option in benchmark.options]
    shown = {name: value for name, value in example(benchmark)[2].items() if name in own}
    shown |= offline(benchmark)
    given = {"name": benchmark.name, "responses": responses, "dataset": built, **shown}
    assert halluscope.score(**given)["signature"]
    hints = {"name": str, "responses": Any, "dataset": Any} | typing.get_type_hints(MatchingOptions)
    for number, parameter in enumerate([*hints, *own]):
        for odd in [*ODD][(number + ALL.index(benchmark)) % 12 :: 12]:
            value = ODD[odd]()
            if value is None or isinstance(value, malformed.Hostile):
                continue
            got = error_of(halluscope.score, **given | {parameter: value})
            assert got or fits(hints.get(parameter, Any), value), f"{parameter}={odd}"
