"""Compares the classes that two methods read out of the same responses, and reviews which of them are right.

Source: THRONE, supplement, section 4. Two methods agree on a response if both read the same classes out of it, found
and hallucinated classes taken together (in Table 3, on 38,350 of 55,000 responses, 69.7 %). What is in the image does
not count here, so each method may have its own ground truth.

A judgement is a class that a method reads out of a response; a person says whether the response says or implies it.
A class that a method overlooks is not a judgement.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from halluscope.inputs import whole
from halluscope.reliability.sheet import MARKS, NO, READING, YES, Entry, Sheet, class_names
from halluscope.reporting.formats import aligned
from halluscope.reporting.tables import Json, Notes, Report, Table, percent, share
from halluscope.responses.thoughts import without
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.samples import Clustered, clustered_error_rate

SHOWN = 15  # how many classes a report shows; its JSON has all

AND = " and "  # joins the names of methods that agree
AGREE, DISAGREE = "agree", "disagree"
PARTS = ("both", "first", "second")  # by which methods a class is read

# A reading that is marked as a false positive is also right.
RIGHT, WRONG, *FALSE_POSITIVES = MARKS[READING]
RESAMPLING = Bootstrap(RESAMPLES)

Key = tuple[str, str]  # the name of the file of responses, and the image's id as text


class Reading(NamedTuple):
    """The classes that a method reads out of a response, by whether they are in the image; and the response."""

    found: frozenset[str]
    hallucinated: frozenset[str]
    text: str = ""

    @property
    def classes(self) -> frozenset[str]:
        return self.found | self.hallucinated


class Pair(NamedTuple):
    """What two methods read out of the same responses."""

    names: tuple[str, str]
    readings: Mapping[Key, tuple[Reading, Reading]]  # in the order of the keys


def pair(names: tuple[str, str], first: Mapping[Key, Reading], second: Mapping[Key, Reading]) -> Pair:
    """Pair two methods of different names that read the same responses."""
    if names[0] == names[1] or any(AND in name for name in names):
        raise ValueError(
            f"The methods are called {names[0]!r:.80} and {names[1]!r:.80}; expected two different names without "
            f"{AND!r}. Name them: METHOD=FOLDER."
        )
    one, two = map(one_line, names)
    for here, there, this, other in ((first, second, one, two), (second, first, two, one)):
        if lacking := sorted(here.keys() - there.keys()):
            raise ValueError(
                f"{other} lacks {len(lacking):,} of the {len(here):,} responses that {this} has read, such as "
                f"that of {_named(lacking[0])}. Expected the same files of responses and the same images; score both "
                "methods on these."
            )
    both = {key: (first[key], second[key]) for key in sorted(first)}
    if differ := [key for key, (own, other) in both.items() if own.text != other.text]:
        raise ValueError(
            f"{one} and {two} have read different texts for {len(differ):,} of the responses, such as that "
            f"of {_named(differ[0])}. Expected the same responses; score both methods on these."
        )
    return Pair(names, both)


def readings(rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[Key, Reading]:
    """Collect a method's readings: per response the name of its file, its text, and the method's row about it."""
    read: dict[Key, Reading] = {}
    for model, text, row in rows:
        found, invented = row.get("found"), row.get("hallucinated")
        if "image_id" not in row or not isinstance(found, list) or not isinstance(invented, list):
            raise ValueError(
                f"A row of {short_repr(model)} is {short_repr(row, 120)}; expected a run that reads classes out of "
                "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
            )
        read[model, str(row["image_id"])] = Reading(frozenset(found), frozenset(invented), text)
    return read


def _named(key: Key) -> str:
    model, image = (one_line(part, 80) for part in key)
    return f"{model} to the image {image}"


def compare(both: Pair) -> Json:
    """Measure how often two methods agree, in all and per model; and out of how many responses each class is read."""
    agree: dict[str, list[bool]] = defaultdict(list)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in each(both):
        agree[row["responses"]].append(row["agree"])
        for part in PARTS:
            for name in row[part]:
                counts[name][part] += 1
    compared = (
        [*key, *sorted(one.classes), "", *sorted(two.classes)] for key, (one, two) in both.readings.items()
    )
    classes = sorted(counts, key=lambda name: (-counts[name]["first"] - counts[name]["second"], name))
    return {
        "methods": list(both.names),
        **_share([same for model in agree.values() for same in model]),
        "models": [{"responses": model, **_share(same)} for model, same in agree.items()],
        # the classes with most disagreement come first
        "classes": {name: {part: counts[name][part] for part in PARTS} for name in classes},
        "signature": signature("agreement", data=data_of("responses", compared), methods=both.names),
    }


def each(both: Pair) -> Iterator[Json]:
    """Yield, for each response, whether the methods agree, and the classes that both or only one of them read."""
    for (model, image), (one, two) in both.readings.items():
        first, second = one.classes, two.classes
        yield {
            "responses": model,
            "image_id": int(image) if image.isdecimal() else image,
            "agree": first == second,
            "both": sorted(first & second),
            "first": sorted(first - second),
            "second": sorted(second - first),
        }


def _share(agree: list[bool]) -> Json:
    return {"images": len(agree), "agree": sum(agree), "agreement": sum(agree) / len(agree)}


def draw(
    both: Pair,
    agreeing: int = 5,
    disagreeing: int = 10,
    seed: int = 0,
    picture: Callable[[str], dict[str, str]] = lambda image: {},
) -> list[Entry]:
    """Draw responses of each model by stratum, and make a row of a sheet for each class that is read out of one.

    The rows of a response are together, and the models in an order that the reviewer cannot guess.
    """
    most = {
        stratum: whole(f"{stratum}ing", number, 1, what="a number of responses")
        for stratum, number in ((AGREE, agreeing), (DISAGREE, disagreeing))
    }
    sizes: Counter[str] = Counter()
    # stratum, model -> responses that mention classes
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key, (first, second) in both.readings.items():
        stratum = AGREE if first.classes == second.classes else DISAGREE
        sizes[stratum] += 1
        if first.classes or second.classes:
            groups[stratum, key[0]].append(key)
    if silent := sizes.keys() - {stratum for stratum, _ in groups}:
        stratum = min(silent)
        raise ValueError(
            f"No class is read out of any of the {sizes[stratum]:,} responses on which {AND.join(both.names)} "
            f"{stratum}, so there is nothing to mark. Expected responses that mention classes."
        )
    sample = []
    for (stratum, model), own in sorted(groups.items()):
        # the draw of one model does not depend on other models
        draws = random.Random(f"{seed} {stratum} {model}")
        sample += [(key, stratum) for key in draws.sample(own, min(most[stratum], len(own)))]
    order = random.Random(seed)
    sample.sort(key=lambda drawn: (drawn[0][1], order.random()))
    names = class_names({name for key, _ in sample for of in both.readings[key] for name in of.classes})
    rows: list[Entry] = []
    for key, stratum in sample:
        first, second = both.readings[key]
        shared = {
            "id": key[1],
            "model": key[0],
            "stratum": stratum,
            "stratum_rows": str(sizes[stratum]),
            "response": without(first.text),
            **picture(key[1]),
        }
        for name in sorted(first.classes | second.classes):
            read_by = [
                method for method, of in zip(both.names, (first, second), strict=True) if name in of.classes
            ]
            rows.append(
                {
                    **shared,
                    "read_by": AND.join(read_by),
                    "annotated": NO if name in first.hallucinated | second.hallucinated else YES,
                    "question": f"{names.get(name, name)}: does the response say or imply that this is in the image?",
                }
            )
    return rows


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
        of = counts[entry["stratum"]].setdefault(
            (entry["model"], entry["id"]), np.zeros((len(methods), 2), dtype=np.int64)
        )
        of[[methods.index(name) for name in entry["read_by"].split(AND)]] += [1, entry["mark"] == WRONG]
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
                [Clustered(size, *strata[name][:, place].T) for name, size in sizes.items()], RESAMPLING
            )
            for place, method in enumerate(methods)
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


def lines(result: Json) -> list[str]:
    """Return a summary as text: THRONE's Tables 3 and 4 (supplement), and the error rates that follow from Table 3."""
    columns = ("methods", "stratum", "responses", "share", "evaluated", "judgements", "errors", "error_rate")
    rates = ("share", "error_rate")
    cells = [
        [percent(row[name]) if name in rates else row[name] for name in columns] for row in result["table"]
    ]
    header = [f"{name.replace('_', ' ')} %" if name in rates else name for name in columns]
    lines = [aligned(cells, header, left=2), ""]
    if result["unmarked"]:
        lines += [f"{result['unmarked']:,} rows without a mark are left out", ""]
    lines += [
        f"error rate of {one_line(name)}: {with_ends(rate)}" for name, rate in result["error_rates"].items()
    ]
    marks = result["false_positives"]
    counted = ", ".join(f"{mark} {marks[mark]:,}" for mark in (*FALSE_POSITIVES, "neither"))
    lines += ["", f"false positives in the {marks['responses']:,} responses: {counted}"]
    if none := [f"{row['methods']}, {row['stratum']}" for row in result["table"] if not row["errors"]]:
        lines.append(f"No error is marked for {one_line('; '.join(none))}: the interval is too narrow there.")
    return [*lines, f"signature: {result['signature']}"]


def with_ends(rate: Mapping[str, float]) -> str:
    """Return an estimate and its interval as text, in percent."""
    return f"{percent(rate['value'])} % ({percent(rate['low'])} to {percent(rate['high'])})"


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
