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
from typing import Any, NamedTuple

import numpy as np

from halluscope.inputs import whole
from halluscope.reliability.sheet import MARKS, NO, READING, YES, Drawn, Entry, Sheet, class_names
from halluscope.reporting.tables import Notes, Report, Table, share
from halluscope.responses.thoughts import without
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
    first: Mapping[Key, Reading]
    second: Mapping[Key, Reading]

    def each(self) -> Iterator[tuple[Key, Reading, Reading]]:
        """Yield each response with what both methods read out of it, in the order of the keys."""
        for key in sorted(self.first):
            yield key, self.first[key], self.second[key]


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
    if differ := [key for key, own in sorted(first.items()) if own.text != second[key].text]:
        raise ValueError(
            f"{one} and {two} have read different texts for {len(differ):,} of the responses, such as that "
            f"of {_named(differ[0])}. Expected the same responses; score both methods on these."
        )
    return Pair(names, first, second)


def readings(name: str, rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[Key, Reading]:
    """Collect a method's readings: per response the name of its file, its text, and the method's row about it."""
    found: dict[Key, Reading] = {}
    for model, text, row in rows:
        if "image_id" not in row or not all(
            isinstance(row.get(of), list) for of in ("found", "hallucinated")
        ):
            raise ValueError(
                f"A row of {short_repr(model)} is {short_repr(row, 120)}; expected a run that reads classes out of "
                "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
            )
        key = model, str(row["image_id"])
        if key in found:
            raise ValueError(f"{one_line(name)}: the response of {_named(key)} occurs twice.")
        found[key] = Reading(frozenset(row["found"]), frozenset(row["hallucinated"]), text)
    if not found:
        raise ValueError(f"{one_line(name)} holds no rows; expected at least one response.")
    return found


def _named(key: Key) -> str:
    model, image = (one_line(part, 80) for part in key)
    return f"{model} to the image {image}"


def compare(both: Pair) -> dict[str, Any]:
    """Measure how often two methods agree, in all and per model; and out of how many responses each class is read."""
    agree: dict[str, list[bool]] = {}
    counts: dict[str, dict[str, int]] = {}
    for row in each(both):
        agree.setdefault(row["responses"], []).append(row["agree"])
        for part in ("both", "first", "second"):
            for name in row[part]:
                counts.setdefault(name, {"both": 0, "first": 0, "second": 0})[part] += 1
    compared = (
        [*key, *sorted(own.classes), "", *sorted(both.second[key].classes)] for key, own in both.first.items()
    )
    return {
        "methods": list(both.names),
        **_share([same for model in agree.values() for same in model]),
        "models": [{"responses": model, **_share(same)} for model, same in agree.items()],
        # the classes with most disagreement come first
        "classes": dict(sorted(counts.items(), key=lambda of: (-of[1]["first"] - of[1]["second"], of[0]))),
        "signature": signature("agreement", data=data_of("responses", compared), methods=both.names),
    }


def each(both: Pair) -> Iterator[dict[str, Any]]:
    """Yield, for each response, whether the methods agree, and the classes that both or only one of them read."""
    for key, one, two in both.each():
        first, second = one.classes, two.classes
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


def draw(
    both: Pair,
    agreeing: int = 5,
    disagreeing: int = 10,
    seed: int = 0,
    picture: Callable[[str], str | None] = lambda image: None,
) -> list[Drawn]:
    """Draw responses of each model by stratum, and make a row of a sheet for each class that is read out of one.

    The rows of a response are together, and the models in an order that the reviewer cannot guess.
    """
    strata: dict[str, list[Key]] = {AGREE: [], DISAGREE: []}
    for key, one, two in both.each():
        strata[AGREE if one.classes == two.classes else DISAGREE].append(key)
    sample = []
    for (stratum, keys), most in zip(strata.items(), (agreeing, disagreeing), strict=True):
        whole(f"{stratum}ing", most, 1, what="a number of responses")
        models: dict[str, list[Key]] = {}
        for key in keys:
            if both.first[key].classes | both.second[key].classes:
                models.setdefault(key[0], []).append(key)
        if keys and not models:
            raise ValueError(
                f"No class is read out of any of the {len(keys):,} responses on which {AND.join(both.names)} "
                f"{stratum}, so there is nothing to mark. Expected responses that mention classes."
            )
        # the draw of one model does not depend on other models
        for model, own in models.items():
            chosen = random.Random(f"{seed} {stratum} {model}").sample(own, min(most, len(own)))
            sample += [(key, stratum) for key in chosen]
    order = random.Random(seed)
    sample.sort(key=lambda drawn: (drawn[0][1], order.random()))
    of_both = {key: (both.first[key], both.second[key]) for key, _ in sample}
    names = class_names({name for of in of_both.values() for reading in of for name in reading.classes})
    rows: list[Drawn] = []
    for key, stratum in sample:
        first, second = of_both[key]
        image = picture(key[1])
        for name in sorted(first.classes | second.classes):
            methods = zip(both.names, (first, second), strict=True)
            entry = {
                "id": key[1],
                "model": key[0],
                "read_by": AND.join(method for method, reading in methods if name in reading.classes),
                "annotated": NO if name in first.hallucinated | second.hallucinated else YES,
                "question": f"{names.get(name, name)}: does the response say or imply that this is in the image?",
                "stratum": stratum,
                "stratum_rows": str(len(strata[stratum])),
                "response": without(first.text),
            }
            rows.append((entry, image))
    return rows


def summary(sheet: Sheet) -> dict[str, Any]:
    """Summarize people's marks of two methods' readings, as THRONE's Tables 3 and 4.

    As in the paper, the judgements of a stratum are counted together for all models. Error rates are weighted by the
    strata's shares of all responses; intervals resample responses. Fractions in [0, 1], NaN where undefined.
    """
    sizes = dict(sorted(sheet.sizes().items()))
    named = sorted((entry["read_by"] for entry in sheet.entries), key=len, reverse=True)
    methods = dict.fromkeys(method for names in named for method in names.split(AND))
    strata = {
        method: {name: _counts(sheet.entries, method, name, size) for name, size in sizes.items()}
        for method in methods
    }
    rows = []
    for name, size in sizes.items():
        own = {method: counts[name] for method, counts in strata.items()}
        # One entry for both methods where they agree.
        for who, counts in ({AND.join(own): next(iter(own.values()))} if name == AGREE else own).items():
            judgements, errors = int(counts.judgements.sum()), int(counts.errors.sum())
            rows.append(
                {
                    "stratum": name,
                    "methods": who,
                    "responses": size,
                    "share": size / sum(sizes.values()),
                    "evaluated": len(counts.judgements),
                    "judgements": judgements,
                    "errors": errors,
                    "error_rate": errors / judgements if judgements else float("nan"),
                }
            )
    marks = Counter(entry["mark"] for entry in sheet.entries if entry["annotated"] == NO)
    return {
        "sheet": sheet.name,
        "table": rows,
        "error_rates": {
            method: clustered_error_rate(list(of.values()), RESAMPLING) for method, of in strata.items()
        },
        "false_positives": {
            **{mark: marks[mark] for mark in FALSE_POSITIVES},
            "neither": marks[RIGHT],
            "responses": len({(entry["model"], entry["id"]) for entry in sheet.entries}),
        },
        "unmarked": len(sheet.left),
        "signature": signature(
            "review", data=sheet.name, marks=READING, strata=len(sizes), interval=RESAMPLING
        ),
    }


def _counts(entries: Sequence[Entry], method: str, stratum: str, size: int) -> Clustered:
    """Count a method's judgements and errors in each reviewed response of a stratum."""
    counts: dict[Key, list[int]] = {}
    for entry in entries:
        if entry["stratum"] == stratum:
            of = counts.setdefault((entry["model"], entry["id"]), [0, 0])
            if method in entry["read_by"].split(AND):
                of[0] += 1
                of[1] += entry["mark"] == WRONG
    return Clustered(size, *np.array(list(counts.values()), dtype=np.int64).T)


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
