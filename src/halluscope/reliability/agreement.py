"""Compares the classes that two methods read out of the same responses, and reviews which of them are right.

Source: THRONE, supplement, section 4. Two methods agree on a response if both read the same classes out of it, found
and hallucinated classes taken together (in Table 3, on 38,350 of 55,000 responses, 69.7 %). What is in the image does
not count here, so each method may have its own ground truth.

A judgement is a class that a method reads out of a response; a person says whether the response says or implies it.
A class that a method overlooks is not a judgement.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.inputs import whole
from halluscope.reliability.review.sheet import MARKS, NO, READING, YES, Drawn, Entry, Sheet, class_names
from halluscope.reporting.tables import Notes, Report, Table, share
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.samples import Clustered, clustered_error_rate

SHOWN = 15  # how many classes a report shows; its JSON has all

AND = " and "  # joins the names of methods that agree
AGREE, DISAGREE = "agree", "disagree"

# A reading that is marked as a false positive is also right.
RIGHT, WRONG, *FALSE_POSITIVES = MARKS[READING]
RESAMPLING = Bootstrap(RESAMPLES)

Key = tuple[str, str]  # the name of the file of responses, and the image's id as text


@dataclass(frozen=True)
class Reading:
    """The classes that a method reads out of a response, by whether they are in the image; and the response."""

    found: frozenset[str]
    hallucinated: frozenset[str]
    text: str = ""

    @property
    def classes(self) -> frozenset[str]:
        """All classes that the method reads out of the response."""
        return self.found | self.hallucinated


@dataclass(frozen=True)
class Method:
    """A method, and what it reads out of each response."""

    name: str
    readings: Mapping[Key, Reading]


@dataclass(frozen=True)
class Pair:
    """Two methods that read the same responses."""

    first: Method
    second: Method

    @property
    def names(self) -> tuple[str, str]:
        """The methods' names."""
        return self.first.name, self.second.name

    def agree(self, key: Key) -> bool:
        """Whether both read the same classes out of a response."""
        return self.first.readings[key].classes == self.second.readings[key].classes

    def classes(self, key: Key) -> frozenset[str]:
        """Return the classes that either method reads out of a response."""
        return self.first.readings[key].classes | self.second.readings[key].classes


def pair(first: Method, second: Method) -> Pair:
    """Pair two methods of different names that read the same responses."""
    if first.name == second.name or AND in first.name or AND in second.name:
        raise ValueError(
            f"The methods are called {first.name!r:.80} and {second.name!r:.80}; expected two different names without "
            f"{AND!r}. Name them: METHOD=FOLDER."
        )
    names = one_line(first.name), one_line(second.name)
    for here, there, (this, other) in ((first, second, names), (second, first, names[::-1])):
        if lacking := sorted(here.readings.keys() - there.readings.keys()):
            raise ValueError(
                f"{other} lacks {len(lacking):,} of the {len(here.readings):,} responses that {this} has read, such as "
                f"that of {_shown(lacking[0])}. Expected the same files of responses and the same images; score both "
                "methods on these."
            )
    differ = [key for key, own in sorted(first.readings.items()) if own.text != second.readings[key].text]
    if differ:
        raise ValueError(
            f"{names[0]} and {names[1]} have read different texts for {len(differ):,} of the responses, such as that "
            f"of {_shown(differ[0])}. Expected the same responses; score both methods on these."
        )
    return Pair(first, second)


def compare(both: Pair) -> dict[str, Any]:
    """Measure how often two methods agree, in all and per model; and out of how many responses each class is read."""
    agree: dict[str, list[bool]] = {}
    for key in sorted(both.first.readings):
        agree.setdefault(key[0], []).append(both.agree(key))
    compared = (
        [*key, *sorted(own.classes), "", *sorted(both.second.readings[key].classes)]
        for key, own in both.first.readings.items()
    )
    return {
        "methods": list(both.names),
        **_share([same for model in agree.values() for same in model]),
        "models": [{"responses": model, **_share(same)} for model, same in agree.items()],
        "classes": _classes(both),
        "signature": signature("agreement", data=data_of("responses", compared), methods=both.names),
    }


def each(both: Pair) -> Iterator[dict[str, Any]]:
    """Yield, for each response, whether the methods agree, and the classes that both or only one of them read."""
    for key in sorted(both.first.readings):
        first, second = both.first.readings[key].classes, both.second.readings[key].classes
        yield {
            "responses": key[0],
            "image_id": int(key[1]) if key[1].isdecimal() else key[1],
            "agree": first == second,
            "both": sorted(first & second),
            "first": sorted(first - second),
            "second": sorted(second - first),
        }


def _share(agree: list[bool]) -> dict[str, Any]:
    return {"images": len(agree), "agree": sum(agree), "agreement": sum(agree) / len(agree)}


def _classes(both: Pair) -> dict[str, dict[str, int]]:
    """Count the responses that each class is read out of; the classes with most disagreement come first."""
    counts: dict[str, dict[str, int]] = {}
    for row in each(both):
        for part in ("both", "first", "second"):
            for name in row[part]:
                counts.setdefault(name, {"both": 0, "first": 0, "second": 0})[part] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1]["first"] - item[1]["second"], item[0])))


def method(name: str, rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Method:
    """Collect a method's readings: per response the name of its file, its text, and the method's row about it."""
    readings: dict[Key, Reading] = {}
    for model, text, row in rows:
        image, lists = row.get("image_id"), [row.get(column) for column in ("found", "hallucinated")]
        if not isinstance(image, int | str) or not all(
            isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists
        ):
            raise ValueError(
                f"A row of {short_repr(model)} is {short_repr(row, 120)}; expected a run that reads classes out of "
                "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
            )
        key = model, str(image)
        if key in readings:
            raise ValueError(f"{one_line(name)}: the response of {_shown(key)} occurs twice.")
        readings[key] = Reading(frozenset(row["found"]), frozenset(row["hallucinated"]), text)
    if not readings:
        raise ValueError(f"{one_line(name)} holds no rows; expected at least one response.")
    return Method(name, readings)


def _shown(key: Key) -> str:
    model, image = (one_line(part, 80) for part in key)
    return f"{model} to the image {image}"


def draw(
    both: Pair,
    texts: Mapping[Key, str],
    agreeing: int = 5,
    disagreeing: int = 10,
    seed: int = 0,
    picture: Callable[[str], str | None] = lambda image: None,
) -> list[Drawn]:
    """Draw responses of each model by stratum, and make a row of a sheet for each class that is read out of one.

    The rows of a response are together, and the models in an order that the reviewer cannot guess.
    """
    strata: dict[str, list[Key]] = {AGREE: [], DISAGREE: []}
    for key in sorted(both.first.readings):
        strata[AGREE if both.agree(key) else DISAGREE].append(key)
    sample = []
    for (name, keys), most in zip(strata.items(), (agreeing, disagreeing), strict=True):
        whole(f"{name}ing", most, 1, what="a number of responses")
        sample += [(key, name) for key in _sample(keys, both, name, most, seed)]
    order = random.Random(seed)
    sample.sort(key=lambda drawn: (drawn[0][1], order.random()))
    names = class_names({name for key, _ in sample for name in both.classes(key)})
    rows: list[Drawn] = []
    for key, stratum in sample:
        readings = {method.name: method.readings[key] for method in (both.first, both.second)}
        wrong = frozenset().union(*(reading.hallucinated for reading in readings.values()))
        image = picture(key[1])
        rows += [
            (
                {
                    "id": key[1],
                    "model": key[0],
                    "read_by": AND.join(who for who, reading in readings.items() if name in reading.classes),
                    "annotated": NO if name in wrong else YES,
                    "question": f"{names.get(name, name)}: does the response say or imply that this is in the image?",
                    "stratum": stratum,
                    "stratum_rows": str(len(strata[stratum])),
                    "response": texts[key],
                },
                image,
            )
            for name in sorted(both.classes(key))
        ]
    return rows


def _sample(keys: Sequence[Key], both: Pair, stratum: str, most: int, seed: int) -> list[Key]:
    """Draw some of a stratum's responses per model; the draw of one model does not depend on other models."""
    models: dict[str, list[Key]] = {}
    for key in keys:
        if both.classes(key):
            models.setdefault(key[0], []).append(key)
    if keys and not models:
        raise ValueError(
            f"No class is read out of any of the {len(keys):,} responses on which {AND.join(both.names)} {stratum}, "
            "so there is nothing to mark. Expected responses that mention classes."
        )
    return [
        key
        for model, own in models.items()
        for key in random.Random(f"{seed} {stratum} {model}").sample(own, min(most, len(own)))
    ]


def summary(sheet: Sheet) -> dict[str, Any]:
    """Summarize people's marks of two methods' readings, as THRONE's Tables 3 and 4.

    As in the paper, the judgements of a stratum are counted together for all models. Error rates are weighted by the
    strata's shares of all responses; intervals resample responses. Fractions in [0, 1], NaN where undefined.
    """
    sizes = dict(sorted(sheet.sizes().items()))
    named = sorted((entry["read_by"] for entry in sheet.entries), key=len, reverse=True)
    methods = dict.fromkeys(method for names in named for method in names.split(AND))
    strata = {method: _strata(sheet.entries, method, sizes) for method in methods}
    rows = []
    for name in sizes:
        own = {method: counts[name] for method, counts in strata.items()}
        # One entry for both methods where they agree.
        entries = {AND.join(own): next(iter(own.values()))} if name == AGREE else own
        rows += [_row(name, who, counts, sum(sizes.values())) for who, counts in entries.items()]
    marks = Counter(entry["mark"] for entry in sheet.entries if entry["annotated"] == NO)
    return {
        "sheet": sheet.name,
        "table": rows,
        "error_rates": {
            method: clustered_error_rate(list(counts.values()), RESAMPLING)
            for method, counts in strata.items()
        },
        "false_positives": {
            **{mark: marks[mark] for mark in FALSE_POSITIVES},
            "neither": marks[RIGHT],
            "responses": len({(entry["model"], entry["id"]) for entry in sheet.entries}),
        },
        "unmarked": len(sheet.unmarked),
        "signature": signature(
            "review", data=sheet.name, marks=READING, strata=len(sizes), interval=RESAMPLING
        ),
    }


def _strata(entries: Sequence[Entry], method: str, sizes: Mapping[str, float]) -> dict[str, Clustered]:
    """Count a method's judgements and errors in each reviewed response, by stratum."""
    strata: dict[str, dict[Key, list[int]]] = {name: {} for name in sizes}
    for entry in entries:
        counts = strata[entry["stratum"]].setdefault((entry["model"], entry["id"]), [0, 0])
        if method in entry["read_by"].split(AND):
            counts[0] += 1
            counts[1] += entry["mark"] == WRONG
    return {
        name: Clustered(sizes[name], *np.array(list(counts.values()), dtype=np.int64).T)
        for name, counts in strata.items()
    }


def _row(stratum: str, methods: str, counts: Clustered, total: float) -> dict[str, Any]:
    judgements, errors = int(counts.judgements.sum()), int(counts.errors.sum())
    return {
        "stratum": stratum,
        "methods": methods,
        "responses": int(counts.rows),
        "share": counts.rows / total,
        "evaluated": len(counts.judgements),
        "judgements": judgements,
        "errors": errors,
        "error_rate": errors / judgements if judgements else float("nan"),
    }


def report(result: Mapping[str, Any]) -> Report:
    """Return tables: how often two methods read the same, by LVLM, and on which classes they differ."""
    rows = [
        [row["responses"], row["images"], row["agree"], share(row["agreement"])]
        for row in (*result["models"], {"responses": "all", **result})
    ]
    report: list[Table | Notes] = [Table("agreement", ["responses", "images", "agree", "agree %"], rows)]
    differ = [(name, *counts.values()) for name, counts in result["classes"].items()]
    differ = [row for row in differ if row[2] + row[3]]
    if differ:
        first, second = result["methods"]
        report.append(
            Table("classes", ["read by", "both", f"only {first}", f"only {second}"], differ[:SHOWN])
        )
    if differ[SHOWN:]:
        report.append(
            Notes([f"and {len(differ[SHOWN:])} more classes on which they differ; --json gives all"])
        )
    return [*report, Notes([f"signature: {result['signature']}"])]
