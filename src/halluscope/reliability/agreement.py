"""Compares the classes that two methods read out of the same responses, and reviews which of them are right.

Source: THRONE, supplement, section 4. Two methods agree on a response if both read the same classes out of it, found
and hallucinated classes taken together (in Table 3, on 38,350 of 55,000 responses, 69.7 %). What is in the image does
not count here, so each method may have its own ground truth.

A judgement is a class that a method reads out of a response; a person says whether the response says or implies it.
A class that a method overlooks is not a judgement.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, permutations
from typing import Any, NamedTuple

import numpy as np

from halluscope.reliability.sheet import (
    MARKS,
    NO,
    READING,
    YES,
    Entry,
    Sheet,
    class_names,
    left_out,
    with_ends,
)
from halluscope.reporting.tables import Json, Notes, Report, Table, share
from halluscope.responses.thoughts import without
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.samples import Clustered, clustered_error_rate
from halluscope.validation import whole

SHOWN = 15  # how many classes a report shows; its JSON has all

AND = " and "  # joins the names of methods that agree
AGREE, DISAGREE = "agree", "disagree"
PARTS = ("both", "first", "second")  # by which methods a class is read

# A reading that is marked as a false positive is also right.
RIGHT, WRONG, *FALSE_POSITIVES = MARKS[READING]
RESAMPLING = Bootstrap(RESAMPLES)

Key = tuple[str, str]  # the name of the file of responses, and the image's id as text


class Reading(NamedTuple):
    """What a method reads out of a response."""

    text: str  # the response
    classes: frozenset[str]
    hallucinated: frozenset[str]  # those of the classes that the method's ground truth lacks


class Compared(NamedTuple):
    """What two methods read out of a response."""

    key: Key
    text: str
    first: frozenset[str]  # the classes that each method reads
    second: frozenset[str]
    hallucinated: frozenset[str]  # the classes that a method's ground truth lacks

    @property
    def stratum(self) -> str:
        return AGREE if self.first == self.second else DISAGREE

    def parts(self) -> dict[str, list[str]]:
        """Return which classes both methods read, and which only one of them."""
        parts = self.first & self.second, self.first - self.second, self.second - self.first
        return dict(zip(PARTS, map(sorted, parts), strict=True))

    def as_json(self) -> Json:
        model, image = self.key
        image_id = int(image) if image.isdecimal() else image
        return {"responses": model, "image_id": image_id, "agree": self.stratum == AGREE, **self.parts()}


def readings(rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[Key, Reading]:
    """Collect a method's readings: per response the name of its file, its text, and the method's row about it."""
    read: dict[Key, Reading] = {}
    for model, text, row in rows:
        found, hallucinated = row.get("found"), row.get("hallucinated")
        if "image_id" not in row or not isinstance(found, list) or not isinstance(hallucinated, list):
            raise ValueError(
                f"A row of {short_repr(model)} is {short_repr(row, 120)}; expected a run that reads classes out of "
                "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
            )
        classes = frozenset(found + hallucinated)
        read[model, str(row["image_id"])] = Reading(text, classes, frozenset(hallucinated))
    return read


def pair(names: Sequence[str], first: Mapping[Key, Reading], second: Mapping[Key, Reading]) -> list[Compared]:
    """Pair the readings of two methods of different names, which must be of the same responses; sort them by key."""
    if names[0] == names[1] or any(AND in name for name in names):
        raise ValueError(
            f"The methods are called {names[0]!r:.80} and {names[1]!r:.80}; expected two different names without "
            f"{AND!r}. Name them: METHOD=FOLDER."
        )
    for (name, here), (other, there) in permutations(zip(map(one_line, names), (first, second), strict=True)):
        if lacking := sorted(here.keys() - there.keys()):
            files, others = ({file for file, _ in read} for read in (here, there))
            alike = "" if files & others else f" (files are matched by name: score both as {min(files)}=FILE)"
            raise ValueError(
                f"{other} lacks {len(lacking):,} of the {len(here):,} responses that {name} has read, such as "
                f"that of {_named(lacking[0])}. Expected the same files of responses and the same images; score both "
                f"methods on these{alike}."
            )
    if differ := sorted(key for key in first if first[key].text != second[key].text):
        raise ValueError(
            f"{one_line(AND.join(names))} have read different texts for {len(differ):,} of the responses, such as that "
            f"of {_named(differ[0])}. Expected the same responses; score both methods on these."
        )
    return [
        Compared(key, one.text, one.classes, other.classes, one.hallucinated | other.hallucinated)
        for key, one, other in ((key, first[key], second[key]) for key in sorted(first))
    ]


def _named(key: Key) -> str:
    model, image = (one_line(part, 80) for part in key)
    return f"{model} to the image {image}"


def compare(names: Sequence[str], compared: Sequence[Compared]) -> Json:
    """Measure how often two methods agree, in all and per model; and out of how many responses each class is read."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    for one in compared:
        for part, classes in one.parts().items():
            for name in classes:
                counts[name][part] += 1
    of_models = {model: [*of] for model, of in groupby(compared, key=lambda one: one.key[0])}
    data = ([*one.key, *sorted(one.first), "", *sorted(one.second)] for one in compared)
    return {
        "methods": list(names),
        **_shares(compared),
        "models": [{"responses": model, **_shares(of)} for model, of in of_models.items()],
        # the classes with most disagreement come first
        "classes": dict(
            sorted(counts.items(), key=lambda named: (-named[1]["first"] - named[1]["second"], named[0]))
        ),
        "signature": signature("agreement", data=data_of("responses", data), methods=names),
    }


def _shares(compared: Sequence[Compared]) -> Json:
    agree = sum(one.stratum == AGREE for one in compared)
    return {"images": len(compared), "agree": agree, "agreement": agree / len(compared)}


def report(result: Json) -> Report:
    """Return tables: how often two methods read the same, by LVLM, and on which classes they differ."""
    rows = [
        [row["responses"], row["images"], row["agree"], share(row["agreement"])]
        for row in (*result["models"], {"responses": "all", **result})
    ]
    report: list[Table | Notes] = [Table("agreement", ["responses", "images", "agree", "agree %"], rows)]
    differ = [[name, *of.values()] for name, of in result["classes"].items() if of["first"] or of["second"]]
    if differ:
        header = ["read by", "both", *(f"only {name}" for name in result["methods"])]
        report.append(Table("classes", header, differ[:SHOWN]))
    if more := len(differ[SHOWN:]):
        report.append(Notes([f"and {more} more classes on which they differ; --json gives all"]))
    return [*report, Notes([f"signature: {result['signature']}"])]


# The sheet


def draw(
    names: Sequence[str],
    compared: Sequence[Compared],
    most: Mapping[str, int],
    seed: int,
    picture: Callable[[str], Entry],
) -> list[Entry]:
    """Draw at most so many responses of each stratum and model, and make a row for each class read out of one.

    The rows of a response are together, and the models in an order that the reviewer cannot guess.
    """
    sizes = Counter(one.stratum for one in compared)
    # stratum, model -> responses that mention classes
    groups: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    for one in compared:
        if one.first | one.second:
            groups[one.stratum, one.key[0]].append(one)
    if silent := sizes.keys() - {stratum for stratum, _ in groups}:
        stratum = min(silent)
        raise ValueError(
            f"No class is read out of any of the {sizes[stratum]:,} responses on which {AND.join(names)} {stratum}, so "
            "there is nothing to mark. Expected responses that mention classes."
        )
    sample: list[Compared] = []
    for (stratum, model), of in sorted(groups.items()):
        # the draw of one model does not depend on other models
        draws = random.Random(f"{seed} {stratum} {model}")
        sample += draws.sample(of, min(whole(f"{stratum}ing", most[stratum], 1), len(of)))
    order = random.Random(seed)
    sample.sort(key=lambda one: (one.key[1], order.random()))
    shown = class_names({name for one in sample for name in one.first | one.second})
    read_by = dict(zip(PARTS, (AND.join(names), *names), strict=True))
    return [
        {
            "id": one.key[1],
            "model": one.key[0],
            "stratum": one.stratum,
            "stratum_rows": str(sizes[one.stratum]),
            "response": without(one.text),
            **picture(one.key[1]),
            "read_by": read_by[part],
            "annotated": NO if name in one.hallucinated else YES,
            "question": f"{shown.get(name, name)}: does the response say or imply that this is in the image?",
        }
        for one in sample
        for name, part in sorted((name, part) for part, classes in one.parts().items() for name in classes)
    ]


def summary(sheet: Sheet) -> Json:
    """Summarize people's marks of two methods' readings, as THRONE's Tables 3 and 4.

    As in the paper, the judgements of a stratum are counted together for all models. Error rates are weighted by the
    strata's shares of all responses; intervals resample responses. Fractions in [0, 1], NaN where undefined.
    """
    sizes = dict(sorted(sheet.sizes().items()))
    named = sorted((entry["read_by"] for entry in sheet.entries), key=len, reverse=True)
    methods = list(dict.fromkeys(method for names in named for method in names.split(AND)))
    # stratum -> response -> [methods, (judgements, errors)]
    counts: dict[str, dict[Key, Any]] = {name: {} for name in sizes}
    for entry in sheet.entries:
        response = entry["model"], entry["id"]
        of_response = counts[entry["stratum"]].setdefault(response, np.zeros((len(methods), 2), np.int64))
        read_by = [methods.index(name) for name in entry["read_by"].split(AND)]
        of_response[read_by] += [1, entry["mark"] == WRONG]
    strata = {name: np.stack([*of.values()]) for name, of in counts.items()}
    table = []
    for name, size in sizes.items():
        sums = strata[name].sum(axis=0).tolist()
        # One entry for both methods where they agree.
        own = {AND.join(methods): sums[0]} if name == AGREE else dict(zip(methods, sums, strict=True))
        table += [
            {
                "stratum": name,
                "methods": who,
                "responses": size,
                "share": size / sum(sizes.values()),
                "evaluated": len(strata[name]),
                "judgements": judgements,
                "errors": errors,
                "error_rate": errors / judgements if judgements else float("nan"),
            }
            for who, (judgements, errors) in own.items()
        ]
    marks = Counter(entry["mark"] for entry in sheet.entries if entry["annotated"] == NO)
    return {
        "sheet": sheet.name,
        "table": table,
        "error_rates": {
            method: clustered_error_rate(
                [Clustered(size, *strata[name][:, index].T) for name, size in sizes.items()], RESAMPLING
            )
            for index, method in enumerate(methods)
        },
        "false_positives": {
            **{mark: marks[mark] for mark in FALSE_POSITIVES},
            "neither": marks[RIGHT],
            "responses": sum(map(len, counts.values())),
        },
        "unmarked": len(sheet.left),
        "signature": signature(
            "review", data=sheet.name, marks=READING, strata=len(sizes), interval=RESAMPLING
        ),
    }


def summary_report(result: Json) -> Report:
    """Return THRONE's Tables 3 and 4 (supplement), and the error rates that follow from Table 3."""
    columns = ("methods", "stratum", "responses", "share", "evaluated", "judgements", "errors", "error_rate")
    rates = ("share", "error_rate")
    cells = [
        [share(row[name]) if name in rates else row[name] for name in columns] for row in result["table"]
    ]
    header = [f"{name.replace('_', ' ')} %" if name in rates else name for name in columns]
    marks = result["false_positives"]
    counted = ", ".join(f"{mark} {marks[mark]:,}" for mark in (*FALSE_POSITIVES, "neither"))
    without_error = [f"{row['methods']}, {row['stratum']}" for row in result["table"] if not row["errors"]]
    lines = [
        *left_out(result["unmarked"]),
        *(f"error rate of {name}: {with_ends(rate)}" for name, rate in result["error_rates"].items()),
        f"false positives in the {marks['responses']:,} responses: {counted}",
    ]
    if without_error:
        lines.append(f"No error is marked for {'; '.join(without_error)}: the interval is too narrow there.")
    return [Table("errors", header, cells, left=2), Notes([*lines, f"signature: {result['signature']}"])]
