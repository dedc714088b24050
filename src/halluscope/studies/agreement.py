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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging.thought_marks import without
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, share
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import METHOD
from halluscope.stats.strata import Clustered, clustered_error_rate
from halluscope.studies.marked_sheet import Sheet, left_out, with_ends
from halluscope.studies.sheet import KINDS, NO, READING, YES, Entry, class_names
from halluscope.validation import whole

SHOWN = 15  # how many classes a report shows; its JSON has all

AND = " and "  # joins the names of methods that agree

# The strata: whether the methods agree on a response
AGREE = "agree"
DISAGREE = "disagree"

# By which methods a class is read
BOTH = "both"
FIRST = "first"
SECOND = "second"
PARTS = (BOTH, FIRST, SECOND)

# A reading that is marked as a false positive is also right.
RIGHT, WRONG, *FALSE_POSITIVES = KINDS[READING].marks
LEVEL = 0.95  # of the intervals


@dataclass(frozen=True, order=True)
class Key:
    """Which response it is."""

    model: str  # the name of the file of responses
    image: str  # the image's id as text

    def __str__(self) -> str:
        return f"{one_line(self.model, 80)} to the image {one_line(self.image, 80)}"


@dataclass(frozen=True)
class Reading:
    """What a method reads out of a response."""

    text: str  # the response
    classes: frozenset[str]
    hallucinated: frozenset[str]  # those of the classes that the method's ground truth lacks


Readings = Mapping[Key, Reading]  # what a method reads out of each response


@dataclass(frozen=True)
class Compared:
    """What two methods read out of a response."""

    key: Key
    text: str
    first: frozenset[str]  # the classes that each method reads
    second: frozenset[str]
    hallucinated: frozenset[str]  # the classes that a method's ground truth lacks

    @property
    def stratum(self) -> str:
        """Whether the methods agree."""
        if self.first == self.second:
            return AGREE
        return DISAGREE

    def parts(self) -> dict[str, list[str]]:
        """Return which classes both methods read, and which only one of them."""
        return {
            BOTH: sorted(self.first & self.second),
            FIRST: sorted(self.first - self.second),
            SECOND: sorted(self.second - self.first),
        }

    def as_json(self) -> Json:
        """Return a row about the response."""
        image: str | int = self.key.image
        if self.key.image.isdecimal():
            image = int(self.key.image)
        row: Json = {"responses": self.key.model, "image_id": image, "agree": self.stratum == AGREE}
        row.update(self.parts())
        return row


def readings(rows: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[Key, Reading]:
    """Collect a method's readings: per response the name of its file, its text, and the method's row about it."""
    read = {}
    for model, text, row in rows:
        present = row.get("found")
        hallucinated = row.get("hallucinated")
        if "image_id" not in row or not isinstance(present, list) or not isinstance(hallucinated, list):
            raise ValueError(
                f"A row of {short_repr(model)} is {short_repr(row, 120)}; expected a run that reads classes out of "
                "descriptions: rows with image_id, and with lists of class names in found and hallucinated."
            )
        key = Key(model, str(row["image_id"]))
        read[key] = Reading(text, frozenset(present + hallucinated), frozenset(hallucinated))
    return read


def pair(names: Sequence[str], first: Readings, second: Readings) -> list[Compared]:
    """Pair the readings of two methods of different names, which must be of the same responses; sort them by key."""
    if names[0] == names[1] or any(AND in name for name in names):
        raise ValueError(
            f"The methods are called {names[0]!r:.80} and {names[1]!r:.80}; expected two different names without "
            f"{AND!r}. Name them: METHOD=FOLDER."
        )
    _check_has_all(names[0], first, names[1], second)
    _check_has_all(names[1], second, names[0], first)
    differing = sorted(key for key in first if first[key].text != second[key].text)
    if differing:
        raise ValueError(
            f"{one_line(AND.join(names))} have read different texts for {len(differing):,} of the responses, such as "
            f"that of {differing[0]}. Expected the same responses; score both methods on these."
        )
    compared = []
    for key in sorted(first):
        by_first = first[key]
        by_second = second[key]
        hallucinated = by_first.hallucinated | by_second.hallucinated
        compared.append(Compared(key, by_first.text, by_first.classes, by_second.classes, hallucinated))
    return compared


def _check_has_all(name: str, readings: Readings, other_name: str, other_readings: Readings) -> None:
    """Check that another method has read every response that a method has read."""
    lacking = sorted(readings.keys() - other_readings.keys())
    if not lacking:
        return
    models = {key.model for key in readings}
    hint = ""
    if models.isdisjoint(key.model for key in other_readings):
        hint = f" (files are matched by name: score both as {min(models)}=FILE)"
    raise ValueError(
        f"{one_line(other_name)} lacks {len(lacking):,} of the {len(readings):,} responses that {one_line(name)} has "
        f"read, such as that of {lacking[0]}. Expected the same files of responses and the same images; score both "
        f"methods on these{hint}."
    )


def compare(names: Sequence[str], compared: Sequence[Compared]) -> Json:
    """Measure how often two methods agree, in all and per model; and out of how many responses each class is read."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    by_model: dict[str, list[Compared]] = defaultdict(list)
    data: list[list[str]] = []
    for row in compared:
        for part, classes in row.parts().items():
            for name in classes:
                counts[name][part] += 1
        by_model[row.key.model].append(row)
        line = [row.key.model, row.key.image]
        line += sorted(row.first)
        line.append("")
        line += sorted(row.second)
        data.append(line)

    def most_disputed_first(name: str) -> tuple[int, str]:
        return -counts[name][FIRST] - counts[name][SECOND], name

    result: Json = {"methods": list(names)}
    result.update(_shares(compared))
    result["models"] = []
    for model, rows in by_model.items():
        result["models"].append({"responses": model, **_shares(rows)})
    result["classes"] = {name: counts[name] for name in sorted(counts, key=most_disputed_first)}
    result["signature"] = signature("agreement", data=data_of("responses", data), methods=names)
    return result


def _shares(compared: Sequence[Compared]) -> Json:
    agree = sum(row.stratum == AGREE for row in compared)
    return {"images": len(compared), "agree": agree, "agreement": agree / len(compared)}


def report(result: Json) -> Report:
    """Return tables: how often two methods read the same, by LVLM, and on which classes they differ."""
    rows: list[list[Cell]] = []
    for row in result["models"]:
        rows.append(_agreement_line(row["responses"], row))
    rows.append(_agreement_line("all", result))
    blocks: list[Table | Notes] = [Table("agreement", ["responses", "images", "agree", "agree %"], rows)]

    disputed: list[list[Cell]] = []
    for name, counts in result["classes"].items():
        if counts[FIRST] or counts[SECOND]:
            disputed.append([name, counts[BOTH], counts[FIRST], counts[SECOND]])
    if disputed:
        header = ["read by", "both"]
        header += [f"only {name}" for name in result["methods"]]
        blocks.append(Table("classes", header, disputed[:SHOWN]))
    more = len(disputed) - SHOWN
    if more > 0:
        blocks.append(Notes([f"and {more} more classes on which they differ; --json gives all"]))
    blocks.append(Notes([f"signature: {result['signature']}"]))
    return blocks


def _agreement_line(name: str, row: Json) -> list[Cell]:
    return [name, row["images"], row["agree"], share(row["agreement"])]


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
    sizes = Counter(row.stratum for row in compared)
    sample = _drawn(names, compared, most, seed)
    order = random.Random(seed)
    sample.sort(key=lambda row: (row.key.image, order.random()))
    classes: set[str] = set()
    for row in sample:
        classes |= row.first | row.second
    names_shown = class_names(classes)
    read_by = {BOTH: AND.join(names), FIRST: names[0], SECOND: names[1]}
    entries: list[Entry] = []
    for row in sample:
        part_of = {}
        for part, classes_of_part in row.parts().items():
            part_of.update(dict.fromkeys(classes_of_part, part))
        for name in sorted(part_of):
            class_name = names_shown.get(name, name)
            annotated = YES
            if name in row.hallucinated:
                annotated = NO
            entries.append(
                {
                    "id": row.key.image,
                    "model": row.key.model,
                    "stratum": row.stratum,
                    "stratum_rows": str(sizes[row.stratum]),
                    "response": without(row.text),
                    **picture(row.key.image),
                    "read_by": read_by[part_of[name]],
                    "annotated": annotated,
                    "question": f"{class_name}: does the response say or imply that this is in the image?",
                }
            )
    return entries


def _drawn(
    names: Sequence[str], compared: Sequence[Compared], most: Mapping[str, int], seed: int
) -> list[Compared]:
    """Draw responses that mention classes."""
    groups: dict[tuple[str, str], list[Compared]] = defaultdict(list)  # by stratum and model
    for row in compared:
        if row.first or row.second:
            groups[row.stratum, row.key.model].append(row)
    sizes = Counter(row.stratum for row in compared)
    silent = sizes.keys() - {stratum for stratum, _ in groups}
    if silent:
        stratum = min(silent)
        raise ValueError(
            f"No class is read out of any of the {sizes[stratum]:,} responses on which {AND.join(names)} {stratum}, so "
            "there is nothing to mark. Expected responses that mention classes."
        )
    sample: list[Compared] = []
    for (stratum, model), rows in sorted(groups.items()):
        # the draw of one model does not depend on other models
        draws = random.Random(f"{seed} {stratum} {model}")
        count = whole(f"{stratum}ing", most[stratum], 1)
        sample += draws.sample(rows, min(count, len(rows)))
    return sample


# What a marked sheet says


@dataclass(frozen=True)
class Reviewed:
    """The marks of a sheet as counts."""

    methods: list[str]
    sizes: Mapping[str, int]  # stratum -> how many responses it was drawn from
    # stratum -> the judgements and the errors among them: [responses, methods, 2]
    counts: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, sheet: Sheet) -> "Reviewed":
        """Count a sheet's marks."""
        # the longest is of both methods, in their order
        names = sorted((entry["read_by"] for entry in sheet.entries), key=len, reverse=True)
        methods: dict[str, None] = {}
        for name in names:
            methods.update(dict.fromkeys(name.split(AND)))
        columns = {method: column for column, method in enumerate(methods)}
        sizes = dict(sorted(sheet.sizes().items()))
        counts: dict[str, dict[Key, NDArray[np.int64]]] = {stratum: {} for stratum in sizes}
        for entry in sheet.entries:
            key = Key(entry["model"], entry["id"])
            of_response = counts[entry["stratum"]].setdefault(key, np.zeros((len(methods), 2), np.int64))
            for method in entry["read_by"].split(AND):
                of_response[columns[method]] += [1, entry["mark"] == WRONG]
        tables = {}
        for stratum, responses in counts.items():
            tables[stratum] = np.stack(list(responses.values()))
        return cls(list(methods), sizes, tables)

    def table(self) -> list[Json]:
        """Return THRONE's Table 3; where methods agree, one row is about both."""
        rows = []
        for stratum, size in self.sizes.items():
            counts = self.counts[stratum]
            names = self.methods
            if stratum == AGREE:
                names = [AND.join(self.methods)]  # the counts of the first are those of both
            for column, name in enumerate(names):
                judgements, errors = counts[:, column].sum(axis=0).tolist()
                error_rate = float("nan")
                if judgements:
                    error_rate = errors / judgements
                rows.append(
                    {
                        "stratum": stratum,
                        "methods": name,
                        "responses": size,
                        "share": size / sum(self.sizes.values()),
                        "evaluated": len(counts),
                        "judgements": judgements,
                        "errors": errors,
                        "error_rate": error_rate,
                    }
                )
        return rows

    def error_rates(self) -> dict[str, dict[str, float]]:
        """Return each method's share of wrong judgements over all responses, with an interval."""
        rates = {}
        for column, method in enumerate(self.methods):
            strata = []
            for stratum, size in self.sizes.items():
                counts = self.counts[stratum][:, column]
                strata.append(Clustered(size, counts[:, 0], counts[:, 1]))
            rates[method] = clustered_error_rate(strata, LEVEL)
        return rates


def summary(sheet: Sheet) -> Json:
    """Summarize people's marks of two methods' readings, as THRONE's Tables 3 and 4.

    As in the paper, the judgements of a stratum are counted together for all models. Error rates are weighted by the
    strata's shares of all responses; intervals leave out one response at a time. They are fractions in [0, 1], NaN
    where undefined.
    """
    reviewed = Reviewed.of(sheet)
    marks = Counter(entry["mark"] for entry in sheet.entries if entry["annotated"] == NO)
    false_positives = {mark: marks[mark] for mark in FALSE_POSITIVES}
    false_positives["neither"] = marks[RIGHT]
    false_positives["responses"] = sum(map(len, reviewed.counts.values()))
    return {
        "sheet": sheet.name,
        "table": reviewed.table(),
        "error_rates": reviewed.error_rates(),
        "false_positives": false_positives,
        "unmarked": len(sheet.unmarked),
        "signature": signature(
            "review",
            data=sheet.name,
            marks=READING,
            strata=len(reviewed.sizes),
            interval=f"{LEVEL:g},{METHOD},responses",
        ),
    }


def summary_report(result: Json) -> Report:
    """Return THRONE's Tables 3 and 4 (supplement), and the error rates that follow from Table 3."""
    columns = ("methods", "stratum", "responses", "share", "evaluated", "judgements", "errors", "error_rate")
    in_percent = ("share", "error_rate")
    header = []
    for name in columns:
        if name in in_percent:
            header.append(f"{name.replace('_', ' ')} %")
        else:
            header.append(name)
    rows: list[list[Cell]] = []
    for row in result["table"]:
        cells: list[Cell] = []
        for name in columns:
            if name in in_percent:
                cells.append(share(row[name]))
            else:
                cells.append(row[name])
        rows.append(cells)
    lines = left_out(result["unmarked"])
    for name, rate in result["error_rates"].items():
        lines.append(f"error rate of {name}: {with_ends(rate)}")
    lines.append(_false_positives_line(result["false_positives"]))
    lines.append(f"signature: {result['signature']}")
    return [Table("errors", header, rows, left=2), Notes(lines)]


def _false_positives_line(marks: Mapping[str, int]) -> str:
    counted = ", ".join(f"{mark} {marks[mark]:,}" for mark in (*FALSE_POSITIVES, "neither"))
    return f"false positives in the {marks['responses']:,} responses: {counted}"
