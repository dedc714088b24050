"""Certifies a grader: people mark a sample of the responses that it judged; then its errors, and its scores corrected.

People do not see the verdicts.
"""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Benchmark
from halluscope.errors import RunError
from halluscope.judging.cache import sha256
from halluscope.reporting.printed import Printed
from halluscope.reporting.report_items import Addends, Item
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, estimate, plain, scored
from halluscope.responses.lengths import words
from halluscope.runs import folder
from halluscope.runs.run import Run
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.samples import FEWEST_MARKED, Marked, allot, corrected_score
from halluscope.stats.strata import weighted_share
from halluscope.stats.tallies import Bools, Ints, numbers
from halluscope.studies.certificate import by_length, sealed
from halluscope.studies.judgement import name_of
from halluscope.studies.marked_sheet import read_sheet
from halluscope.studies.sheet import NO_MARK, VERDICT, YES_MARK, Entry, rows_about
from halluscope.validation import whole

FORM = "halluscope certificate of a grader 2"
LARGEST_SCALE = 10  # larger numbers are marked as this one
IN_GROUP = 10  # the fewest marked responses of a group that is shown
ALL = "all"
WORDS = "words"


@dataclass(frozen=True)
class Group:
    """Rows that a certificate is about."""

    division: str  # "all", "words", or a part of the dataset
    name: str
    rows: Bools  # [rows]

    @property
    def is_all(self) -> bool:
        """Whether it is all rows."""
        return self.division == ALL


def can_be_marked(benchmark: Benchmark) -> bool:
    """Whether a benchmark has verdicts on responses that people can mark."""
    return hasattr(benchmark.module("report"), "asks")


@dataclass(frozen=True)
class Response:
    """A response, and what its judge says of it."""

    item: Item
    name: str  # a digest of it
    known: str  # what is known of its row
    verdicts: Mapping[str, float]  # criterion -> the judge's verdict; NaN where there is none
    most: Mapping[str, int]  # criterion -> the greatest verdict

    @property
    def is_judged(self) -> bool:
        """Whether it has a verdict by each of its criteria, and any criterion."""
        return bool(self.verdicts) and not any(map(math.isnan, self.verdicts.values()))

    @property
    def image(self) -> str:
        """What it has in common with responses that depend on it."""
        return self.item.image or self.item.id


def responses_of(run: Run) -> list[Response]:
    """Return a run's responses; a criterion by which no response has a verdict is left out."""
    view: Any = run.benchmark.module("report")
    to_mark = [view.asks(row) for row in folder.items(run)]
    never_given = set.intersection(*(set(row.verdicts) for row in to_mark))
    for row in to_mark:
        never_given -= {name for name, verdict in row.verdicts.items() if not math.isnan(verdict)}
    responses = []
    for item, row in zip(folder.view(run), to_mark, strict=True):
        verdicts = {name: verdict for name, verdict in row.verdicts.items() if name not in never_given}
        most = {name: row.most[name] for name in verdicts}
        name = name_of_response(run.benchmark, item.id, item.text)
        responses.append(Response(item, name, row.known, verdicts, most))
    return responses


class Verdicts:
    """A run whose verdicts people can mark."""

    def __init__(self, run: Run) -> None:
        if not can_be_marked(run.benchmark):
            raise RunError(
                f"{run.benchmark.name} has no verdicts on responses that people could mark; expected a run of a "
                "benchmark whose responses a judge grades. For votes on classes: --marks implied."
            )
        self.benchmark = run.benchmark
        self.view: Any = run.benchmark.module("report")
        self.responses = responses_of(run)
        self.row_of = {response.name: row for row, response in enumerate(self.responses)}
        self.population = name_of(sorted(response.name for response in self.responses))
        self.addends: dict[str, Addends] = {}  # by score, of those that are defined
        for name, addends in self.view.counted([response.verdicts for response in self.responses]).items():
            if addends.whole.any():
                self.addends[name] = addends
        defined = [
            name for name in (self.benchmark.principal, *self.benchmark.scores) if name in self.addends
        ]
        if not defined:
            raise RunError(f"{run.name} has no verdicts that people could mark; score it with a judge.")
        self.first = self.addends[defined[0]]  # of the principal score, or of the first one that is defined
        is_judged = np.array([response.is_judged for response in self.responses])
        # the rows that have a verdict to be marked
        self.able: Bools = is_judged & self.first.whole.astype(bool)

    def groups(self) -> Iterator[Group]:
        """Yield all rows, each part of the dataset, and each range of lengths."""
        items = [response.item for response in self.responses]
        yield Group(ALL, ALL, np.ones(len(items), dtype=bool))
        parts: dict[str, None] = {}
        for item in items:
            parts.update(dict.fromkeys(item.parts))
        for part in parts:
            names = np.array([str(item.parts.get(part, "")) for item in items])
            for name in dict.fromkeys(names.tolist()):
                if name:
                    yield Group(part, name, names == name)
        lengths = np.array(words([item.text for item in items]))
        for name, rows in by_length(lengths):
            yield Group(WORDS, name, rows)


def name_of_response(benchmark: Benchmark, row: str, text: str) -> str:
    """Return a digest of a response to a row."""
    return hashlib.sha256(sha256(f"{benchmark.name} {row}") + sha256(text)).hexdigest()


# The sheet


def draw_sheet(run: Run, sample: int, seed: int, image: Callable[[str], Entry]) -> list[Entry]:
    """Draw responses, and make the rows of a sheet for them: one per criterion, with the marks that it offers."""
    verdicts = Verdicts(run)
    able = np.flatnonzero(verdicts.able)
    whole("sample", sample, 1, len(able), "a number of judged responses")
    _, value_of, sizes = np.unique(verdicts.first.part[able], return_inverse=True, return_counts=True)
    generator = random.Random(seed)
    sample_rows = []  # rows, each with the chance that it was drawn
    for value, count in enumerate(allot(sizes, sample).tolist()):
        for row in generator.sample(able[value_of == value].tolist(), count):
            sample_rows.append((row, count / int(sizes[value])))
    generator.shuffle(sample_rows)
    entries: list[Entry] = []
    for row, chance in sample_rows:
        response = verdicts.responses[row]
        item = response.item
        criteria = []
        for name, most in response.most.items():
            criteria.append({"class": name, "question": name.replace("_", " "), "scale": scale(most)})
        answer = "\n".join(filter(None, (item.question, response.known)))
        card = {"answer": answer, "response": item.text}
        if item.image:
            card.update(image(item.image))
        about = {"id": item.id, "drawn_from": verdicts.population, "text": response.name}
        entries += rows_about(about, chance, criteria, card)
    return entries


def scale(most: int) -> str:
    """Return the marks of a criterion, whose greatest value is `most`."""
    if most == 1:
        return f"{YES_MARK} {NO_MARK}"
    return " ".join(str(value) for value in range(min(most, LARGEST_SCALE) + 1))


# The certificate


def certify(path: Path, run: Run, labelled_by: str, allow_unmarked: bool, resampling: Bootstrap) -> Printed:
    """Compare a grader's verdicts with people's marks on a sheet, and correct its scores.

    The sheet is of `halluscope study sheet make RUN --marks verdict`, `run` a run on the same responses, by this judge
    or another, and `labelled_by` who marked.

    Returns:
        `confusion`: criterion -> the counts of pairs of verdicts on the sheet; `errors`: for each criterion, overall
        and by group, what the sheet says of all responses: the share of equal verdicts, the bias (judge minus people),
        the correlation, and Cohen's kappa with squared weights; `scores`: score -> the judge's value, and the corrected
        `value` with `low` and `high`, for all responses and for the groups with enough marks; `signature`, of the run;
        `digest`, a checksum of all this.
    """
    sheet = read_sheet(path, allow_unmarked)
    verdicts = Verdicts(run)
    people = People.of(sheet.sample(VERDICT, verdicts.population), verdicts)
    if not people.marked:
        raise ValueError(
            f"No response of the sheet {sheet.name} is both marked and judged; mark at least one."
        )
    pairs = pairs_of(verdicts, people)
    confusions = {}
    for name, of_criterion in pairs.items():
        confusions[name] = confusion(of_criterion)
    errors: list[Json] = []
    scores: list[Json] = []
    for group in verdicts.groups():
        errors += errors_of(group, pairs, resampling.level)
        marked = np.count_nonzero(people.chances[group.rows])
        if group.is_all or (group.division != WORDS and marked >= FEWEST_MARKED):
            scores += scores_of(group, verdicts, people, resampling)
    content = sealed(
        {
            "form": FORM,
            "labelled_by": labelled_by,
            "sheet": sheet.name,
            "responses": run.name,
            "signature": run.scores["signature"],
            "benchmark": run.benchmark.name,
            "judge": judge_of(run),
            "drawn_from": verdicts.population,
            "rows": len(verdicts.responses),
            "unjudged": int((~verdicts.able).sum()),
            "marked": len(people.marked),
            "confusion": confusions,
            "errors": errors,
            "scores": scores,
            "marks": list(marks_of(verdicts, people)),
        }
    )
    return Printed(content, report(content, run.benchmark), content["scores"])


@dataclass(frozen=True)
class People:
    """What people say of a run's rows."""

    verdicts: list[dict[str, float]]  # criterion -> what people say, of each row; {} if it is not marked
    chances: Floats  # the chance to be drawn of each row whose criteria are all marked, 0 for others: [rows]

    @property
    def marked(self) -> list[int]:
        """The rows that are both marked and judged."""
        rows: list[int] = np.flatnonzero(self.chances).tolist()
        return rows

    @classmethod
    def of(cls, sample: Mapping[str, Any], verdicts: Verdicts) -> "People":
        """Return the verdicts on a sheet (a response's name -> its `MarkedText`)."""
        by_people: list[dict[str, float]] = [{} for _ in verdicts.responses]
        chances = np.zeros(len(by_people))
        for name, text in sample.items():
            row = verdicts.row_of[name]
            if not verdicts.able[row]:
                continue
            chances[row] = text.chance
            criteria = verdicts.responses[row].verdicts
            for entry in text.entries:
                if entry["class"] in criteria:  # another judge may have given more
                    by_people[row][entry["class"]] = mark_as_number(entry["mark"])
        return cls(by_people, chances)


def mark_as_number(mark: str) -> float:
    """Return a mark on a sheet of verdicts as a number."""
    if mark == YES_MARK:
        return 1.0
    if mark == NO_MARK:
        return 0.0
    return float(mark)


def judge_of(run: Run) -> str:
    """Return who judged a run, as in its signature."""
    keys = run.keys
    return keys.get("judge", keys.get("judges", ""))


def marks_of(verdicts: Verdicts, people: People) -> Iterator[Json]:
    """Yield the verdicts of the judge and of people on each marked response, by the response's digest."""
    for row in people.marked:
        response = verdicts.responses[row]
        by_people = people.verdicts[row]
        yield {
            "text": response.name,
            "chance": float(people.chances[row]),
            "judge": {name: response.verdicts[name] for name in by_people},
            "people": by_people,
        }


@dataclass(frozen=True)
class Pairs:
    """The judge's and people's verdicts by a criterion on the marked rows: [pairs] each."""

    rows: Ints
    judge: Floats
    people: Floats
    weights: Floats  # how many rows each stands for: 1 / the chance that its row was drawn

    def among(self, rows: Bools) -> "Pairs":
        """Return the pairs of some rows."""
        is_among = rows[self.rows]
        return Pairs(self.rows[is_among], self.judge[is_among], self.people[is_among], self.weights[is_among])

    def mean(self, values: Floats) -> float:
        """Return the mean of values [pairs] over all rows, of which the marked ones are a sample."""
        return float(np.average(values, weights=self.weights))


def pairs_of(verdicts: Verdicts, people: People) -> dict[str, Pairs]:
    """Return both verdicts by criterion; criteria that each row has for itself, such as its nouns, are one."""
    is_shared = len({frozenset(people.verdicts[row]) for row in people.marked}) == 1
    lines: dict[str, list[tuple[int, float, float]]] = {}
    for row in people.marked:
        by_judge = verdicts.responses[row].verdicts
        for name, value in people.verdicts[row].items():
            criterion = name if is_shared else ALL
            lines.setdefault(criterion, []).append((row, min(by_judge[name], LARGEST_SCALE), value))
    pairs = {}
    for name, of_criterion in lines.items():
        row_numbers, judged, marked = np.array(of_criterion).T
        rows = row_numbers.astype(np.int64)
        pairs[name] = Pairs(rows, judged, marked, weights=1 / people.chances[rows])
    return pairs


def confusion(pairs: Pairs) -> list[list[float]]:
    """Return how often the judge and people gave which verdicts: rows of judge, people, count."""
    counts = Counter(zip(pairs.judge.tolist(), pairs.people.tolist(), strict=True))
    return [[judge, people, count] for (judge, people), count in sorted(counts.items())]


def errors_of(group: Group, pairs: Mapping[str, Pairs], level: float) -> Iterator[Json]:
    """Yield how far the judge is from people by each criterion, if enough of a group is marked."""
    fewest = IN_GROUP
    if group.is_all:
        fewest = 1
    for name, of_criterion in pairs.items():
        here = of_criterion.among(group.rows)
        if len(here.rows) >= fewest:
            errors = error_of(here, level)
            yield {"by": group.division, "group": group.name, "criterion": name, **errors}


def error_of(pairs: Pairs, level: float) -> dict[str, float]:
    """Return how far the judge is from people; the interval leaves out one marked row at a time."""
    same = weighted_share(pairs.judge == pairs.people, pairs.weights, pairs.rows, level)
    judge_mean = pairs.mean(pairs.judge)
    people_mean = pairs.mean(pairs.people)
    judge_away = pairs.judge - judge_mean
    people_away = pairs.people - people_mean
    judge_variance = pairs.mean(judge_away**2)
    people_variance = pairs.mean(people_away**2)
    correlation = np.nan
    if np.ptp(pairs.judge) and np.ptp(pairs.people):
        correlation = pairs.mean(judge_away * people_away) / np.sqrt(judge_variance * people_variance)
    kappa = np.nan
    by_chance = judge_variance + people_variance + (judge_mean - people_mean) ** 2
    if by_chance:
        kappa = 1 - pairs.mean((pairs.judge - pairs.people) ** 2) / by_chance
    return {
        "of": len(pairs.rows),
        "same": same["value"],
        "low": same["low"],
        "high": same["high"],
        "bias": judge_mean - people_mean,
        "correlation": float(correlation),
        "kappa": float(kappa),
    }


def scores_of(group: Group, verdicts: Verdicts, people: People, resampling: Bootstrap) -> Iterator[Json]:
    """Yield each score of a group by the judge and as people would give it."""
    by_people = verdicts.view.counted(people.verdicts)
    rows = np.flatnonzero(verdicts.able & group.rows)
    marked = np.flatnonzero(people.chances[rows])  # places in `rows`
    clusters = numbers([verdicts.responses[row].image for row in rows])
    for name, by_judge in verdicts.addends.items():
        if not by_people[name].whole.any():  # it needs a criterion that nobody marked
            continue
        judge = by_judge.part[rows]
        marks = Marked(
            rows=marked,
            part=by_people[name].part[rows[marked]],
            whole=by_people[name].whole[rows[marked]],
            chances=people.chances[rows[marked]],
        )
        most = 1.0
        if verdicts.benchmark.is_points(name):
            most = max(judge.max(), *marks.part, 1.0)
        yield {
            "by": group.division,
            "group": group.name,
            "score": name,
            "judge": float(judge.sum() / by_judge.whole[rows].sum()),
            **corrected_score(judge, marks, clusters, most, resampling),
            "marked": len(marked),
        }


# What is printed


def report(content: Json, benchmark: Benchmark) -> Report:
    """Return tables of verdicts, errors and scores, and notes."""
    whose = f"{content['marked']:,} of {content['rows']:,} responses, marked by {content['labelled_by']}"
    blocks: list[Table | Notes] = [Notes([f"{content['responses']}: {whose}"])]
    for name, counts in content["confusion"].items():
        blocks.append(_confusion_table(name, counts))
    blocks.append(_errors_table(content["errors"]))
    blocks.append(_scores_table(content["scores"], benchmark))
    lines = [
        "same, bias, correlation and kappa are of all responses: a marked one stands for 1 / its chance to be drawn.",
        "bias: the judge's verdict minus people's; kappa: Cohen's, with squared weights.",
    ]
    if content["marked"] < FEWEST_MARKED:
        lines.append(f"Scores are corrected from {FEWEST_MARKED} marked responses on; mark more.")
    if content["unjudged"]:
        lines.append(f"{content['unjudged']:,} responses have no verdict; no score here counts them.")
    lines.append(f"signature: {content['signature']}")
    lines.append(f"certificate: {content['digest']}")
    blocks.append(Notes(lines))
    return blocks


def _confusion_table(criterion: str, counts: Sequence[Sequence[Any]]) -> Table:
    count_of = {}
    values = set()
    for judge, people, count in counts:
        count_of[judge, people] = count
        values |= {judge, people}
    header = [criterion]
    header += [f"people: {value:g}" for value in sorted(values)]
    rows: list[list[Cell]] = []
    for judge in sorted(values):
        cells: list[Cell] = [f"judge: {judge:g}"]
        for people in sorted(values):
            cells.append(count_of.get((judge, people), 0))
        rows.append(cells)
    return Table("verdicts", header, rows)


def _errors_table(errors: Sequence[Json]) -> Table:
    rows: list[list[Cell]] = []
    for error in errors:
        cells: list[Cell] = [_group(error), error["criterion"], error["of"], estimate(error, "same")]
        cells += [plain(error[name]) for name in ("bias", "correlation", "kappa")]
        rows.append(cells)
    header = ["responses", "criterion", "verdicts", "same", "bias", "correlation", "kappa"]
    return Table("errors", header, rows, left=2, intervals=("same",))


def _scores_table(scores: Sequence[Json], benchmark: Benchmark) -> Table:
    rows: list[list[Cell]] = []
    for score in scores:
        is_points = benchmark.is_points(score["score"])
        judge = scored(score["judge"], is_points)
        corrected = estimate(score, is_points=is_points)
        rows.append([_group(score), score["score"], judge, corrected, score["marked"]])
    header = ["responses", "score", "judge", "corrected", "marked"]
    return Table("scores", header, rows, left=2, intervals=("corrected",))


def _group(row: Json) -> str:
    if row["by"] == ALL:
        return ALL
    return f"{row['by']}: {row['group']}"
