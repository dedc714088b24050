"""What is said of an explanation: scores, prompts, what parsers read differently, and where a number comes from."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from halluscope.explaining.explanation import Explanation
from halluscope.explaining.protocols import Protocol
from halluscope.reporting.tables import NO_SCORES, Values, flat
from halluscope.responses.identity import single_spaced
from halluscope.scoring import how_asked

ROUNDING = 1e-9


def as_json(explanation: Explanation, examples: int, number: str | None = None) -> dict[str, Any]:
    """Return all of an explanation as JSON has it, with at most so many examples of what is read differently."""
    prompts = {}
    for file in explanation.files:
        prompts[file] = prompts_of(explanation, file)
    whole: dict[str, Any] = {
        "benchmark": explanation.benchmark.name,
        "responses": explanation.files,
        "protocols": [of_protocol(explanation, protocol) for protocol in explanation.protocols],
        "not_computed": explanation.not_computed,
        "prompts": prompts,
        "readings": list(readings(explanation, examples)),
    }
    if number is not None:
        equal: list[dict[str, str]] = []
        unequal: list[dict[str, str]] = []
        for protocol in explanation.protocols:
            equal_names, unequal_names = scores_of(explanation, protocol)
            equal += places(explanation, protocol, equal_names, number)
            unequal += places(explanation, protocol, unequal_names, number)
        whole["number"] = equal
        whole["number_unequal"] = unequal
    return whole


def of_protocol(explanation: Explanation, protocol: Protocol) -> dict[str, Any]:
    """Return what a protocol does, and the scores by it."""
    facts: dict[str, Any] = {"name": protocol.name, "by": protocol.by, "prompt": protocol.prompt or None}
    for aspect, way in protocol.ways.items():
        facts[aspect] = way.said
    facts["discrepancy"] = explanation.discrepancy(protocol)
    facts["without_effect"] = explanation.without_effect(protocol)
    results = []
    for file in explanation.files:
        scores = {}
        for name in list(explanation.benchmark.scores) + list(explanation.known.shown):
            if protocol.reports(name):
                scores[name] = explanation.score(protocol, file, name)
        signature = explanation.result(protocol, file)["signature"]
        results.append({"responses": file, "scores": scores, "signature": signature})
    facts["results"] = results
    return facts


# Prompts


def prompts_of(explanation: Explanation, file: str) -> list[dict[str, Any]]:
    """Return the prompts that a file's responses name, with counts; {question} is a row's own."""
    matched = explanation.ready(explanation.protocols[0], file).matched
    if len(matched.prompts) == 1 and not any(matched.asked):
        # Our harness tasks log only the name of a prompt.
        prompt = single_spaced(explanation.benchmark.prompts.get(matched.prompts[0], ""))
        return [{"prompt": prompt or None, "responses": len(matched.rows)}]
    return [
        {"prompt": prompt or None, "responses": count} for prompt, count in how_asked(matched).most_common()
    ]


# What parsers read differently


@dataclass(frozen=True)
class Scored:
    """A row that a protocol scores."""

    identity: Mapping[str, Any]  # its id
    text: str  # the response
    reading: Values  # what was found in it


def readings(explanation: Explanation, examples: int) -> Iterator[dict[str, Any]]:
    """Yield what each two parsers read differently in each file, if the benchmark has a table of rows."""
    if not explanation.benchmark.items or len(explanation.protocols) == 1:
        return
    scored: dict[tuple[str, str], dict[str, Scored]] = {}  # by protocol and file
    for protocol in explanation.protocols:
        for file in explanation.files:
            scored[protocol.name, file] = rows_of(explanation, protocol, file)
    compared: list[set[str]] = []
    for first, second in combinations(explanation.protocols, 2):
        parsers = {repr(first.parser), repr(second.parser)}
        if len(parsers) == 1 or parsers in compared:
            continue
        compared.append(parsers)
        for file in explanation.files:
            unlike = read_otherwise(
                explanation, scored[first.name, file], scored[second.name, file], examples
            )
            yield {"responses": file, "first": first.name, "second": second.name, **unlike}


def read_otherwise(
    explanation: Explanation,
    first_rows: Mapping[str, Scored],
    second_rows: Mapping[str, Scored],
    examples: int,
) -> dict[str, Any]:
    """Return how many of the responses that two protocols score are read differently, and examples of each kind."""
    count = 0
    common = 0
    kinds: dict[str, dict[str, Any]] = defaultdict(dict)  # kind of difference -> an example per text
    for key, row in first_rows.items():
        if key not in second_rows:
            continue
        common += 1
        first = {}
        second = {}
        for name in explanation.known.read or row.reading:
            first_value = row.reading.get(name)
            second_value = second_rows[key].reading.get(name)
            if first_value != second_value:
                first[name] = first_value
                second[name] = second_value
        if first:
            count += 1
            example = dict(row.identity, text=row.text, first=first, second=second)
            kinds[repr((first, second))].setdefault(row.text, example)
    return {"read_otherwise": count, "of": common, "examples": in_turns(kinds)[:examples]}


def rows_of(explanation: Explanation, protocol: Protocol, file: str) -> dict[str, Scored]:
    """Return the rows that a protocol scores, by their identities."""
    matched = explanation.ready(protocol, file).matched
    items = explanation.result(protocol, file)[explanation.benchmark.items]
    rows = {}
    for row, text, item in zip(matched.rows, matched.texts, items, strict=True):
        identity = explanation.identity.identity(vars(row))
        rows[repr(identity)] = Scored(identity, text, item)
    return rows


def in_turns(kinds: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """Return the examples: first one of each kind, then the second of each."""
    examples = []
    remaining = [list(by_text.values()) for by_text in kinds.values()]
    while remaining:
        for of_kind in remaining:
            examples.append(of_kind.pop(0))
        remaining = [of_kind for of_kind in remaining if of_kind]
    return examples


# Where a number comes from


def places(
    explanation: Explanation, protocol: Protocol, names: Collection[str], number: str
) -> Iterator[dict[str, str]]:
    """Yield where one of these scores of a protocol prints as this number, in percent or not."""
    value = float(number)
    digits = max(0, -int(Decimal(number).as_tuple().exponent))
    half = 0.5 * 10**-digits + ROUNDING
    for file in explanation.files:
        for key, score in flat(explanation.result(protocol, file)):
            if not isinstance(score, float) or not is_named(key, names):
                continue
            if abs(score - value) <= half or abs(100 * score - value) <= half:
                yield {"responses": file, "protocol": protocol.name, "score": key}


def scores_of(explanation: Explanation, protocol: Protocol) -> tuple[set[str], set[str]]:
    """Return the keys of a protocol's scores: those that its own program prints with the same value, and others."""
    scores = [*explanation.benchmark.scores, *explanation.known.shown]
    moved: Collection[str] = ()
    if protocol.discrepancy is not None and explanation.discrepancy(protocol):
        moved = protocol.discrepancy.scores or scores
    equal = set()
    unequal = set()
    for score in scores:
        if not protocol.reports(score):
            continue
        key = protocol.called.get(score, score)
        if score in moved:
            unequal.add(key)
        else:
            equal.add(key)
    return equal, unequal


def is_named(key: str, names: Collection[str]) -> bool:
    """Whether a key of a result is one of these scores, or a part of one."""
    parts = key.split("/")
    last = parts[-1]
    if not NO_SCORES.isdisjoint(parts[:-1]):
        return False
    return key in names or parts[0] in names or last in names
