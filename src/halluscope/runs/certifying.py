"""Certifies a grader: people mark a sample of the responses that it judged; then its errors, and its scores corrected.

People do not see the verdicts.
"""

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.inputs import whole
from halluscope.judging.cache import sha256
from halluscope.registry import Benchmark
from halluscope.reliability.certifying.judgement import LENGTHS
from halluscope.reliability.review.sheet import NO_MARK, VERDICT, YES_MARK, Drawn, Sheet, read_sheet
from halluscope.reporting.report_items import Item
from halluscope.reporting.tables import Cell, Notes, Table, finite, plain, scored, share
from halluscope.responses.lengths import words
from halluscope.runs import folder
from halluscope.runs.results import Result
from halluscope.runs.run import Run
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, wilson
from halluscope.stats.samples import FEWEST_MARKED, allot, corrected_score
from halluscope.stats.tallies import Bools, numbers
from halluscope.version import __version__

FORM = "halluscope certificate of a grader 1"
LARGEST_SCALE = 10  # larger numbers are marked as this one
IN_GROUP = 10  # the fewest marked responses of a group that is shown


class Marked:
    """A run whose verdicts people can mark."""

    def __init__(self, run: Run) -> None:
        self.benchmark: Benchmark = run.benchmark
        self.view: Any = run.benchmark.module("view")
        if not hasattr(self.view, "asks"):
            raise RunError(
                f"{run.benchmark.name} has no verdicts on responses that people could mark; expected a run of a "
                "benchmark whose responses a judge grades. For votes on classes: --marks implied."
            )
        rows = list(folder.items(run))
        self.items: list[Item] = list(self.view.items(rows, run.options, None))
        self.asks = [self.view.asks(row) for row in rows]
        # what the judge says of each row: criterion -> number, NaN where it says nothing
        self.said = [{name: _number(value) for name, (value, _) in one.items()} for _, one in self.asks]
        self.names = [
            hashlib.sha256(sha256(f"{run.benchmark.name} {item.id}") + sha256(item.text)).hexdigest()
            for item in self.items
        ]
        self.population = data_of("texts", [[name] for name in sorted(self.names)])
        self.counts: Mapping[str, tuple[Floats, Floats]] = self.view.counted(self.said)

    @property
    def principal(self) -> tuple[Floats, Floats]:
        """What each row adds to the principal score, and whether it counts."""
        return self.counts[self.benchmark.principal]

    def able(self) -> list[int]:
        """Return the rows that have a verdict to be marked."""
        _, counts = self.principal
        known = [bool(said) and not any(map(np.isnan, said.values())) for said in self.said]
        return [row for row in range(len(known)) if known[row] and counts[row]]


def sheet(
    run: Run, sample: int, seed: int = 0, image: Callable[[str], str | None] | None = None
) -> list[Drawn]:
    """Draw responses, and make the rows of a sheet for them: one per criterion, with the marks that it offers."""
    marked = Marked(run)
    able = marked.able()
    whole("sample", sample, 1, len(able), "a number of judged responses")
    verdicts = marked.principal[0][able]
    _, place, sizes = np.unique(verdicts, return_inverse=True, return_counts=True)
    generator = random.Random(seed)
    chosen = [
        (able[row], count / len(rows))
        for rows, count in zip(_rows_by(place.tolist()).values(), allot(sizes, sample).tolist(), strict=True)
        for row in generator.sample(rows, count)
    ]
    generator.shuffle(chosen)
    drawn: list[Drawn] = []
    for row, chance in chosen:
        item, (known, asks) = marked.items[row], marked.asks[row]
        shared = {
            "id": item.id,
            "drawn_from": marked.population,
            "text": marked.names[row],
            "chance": f"{chance:.9f}",
        }
        picture = image(item.image) if image and item.image is not None else None
        for number, (name, (_, most)) in enumerate(asks.items()):
            about = "\n".join(filter(None, (item.question, known)))
            first = {"answer": about, "response": item.text} if not number else {}
            scale = [YES_MARK, NO_MARK] if most == 1 else map(str, range(min(most, LARGEST_SCALE) + 1))
            drawn.append(
                (
                    shared
                    | first
                    | {"class": name, "question": name.replace("_", " "), "scale": " ".join(scale)},
                    picture,
                )
            )
    return drawn


def certify(
    path: Path, run: Run, by: str, allow_unmarked: bool = False, resampling: Bootstrap | None = None
) -> Result:
    """Compare a grader's verdicts with people's marks on a sheet, and correct its scores.

    Args:
        path: the marked sheet of `halluscope review make RUN --marks verdict`.
        run: a run on the same responses, by this judge or another.
        by: who marked.
        allow_unmarked: leave out responses without a mark.
        resampling: how intervals are resampled.

    Returns:
        `confusion`: criterion -> the counts of pairs of verdicts; `errors`: for each criterion, overall and by group,
        the share of equal verdicts, the bias (judge minus people), the correlation, and Cohen's kappa with squared
        weights; `scores`: score -> the judge's value, and the corrected `value` with `low` and `high`, for all
        responses and for the groups with enough marks; `signature`, of the run; `digest`, a checksum of all this.

    Raises:
        ValueError: if the sheet is about other responses.
    """
    resampling = resampling or Bootstrap()
    sheet, marked = read_sheet(path, allow_unmarked), Marked(run)
    chances, said = _marks(sheet, marked)
    values = _values(marked, said)
    content = {
        "form": FORM,
        "labelled_by": by,
        "sheet": sheet.name,
        "responses": run.name,
        "signature": run.scores["signature"],
        "rows": len(marked.items),
        "unjudged": len(marked.items) - len(marked.able()),
        "marked": len(said),
        "confusion": {
            name: [
                [*pair, count]
                for pair, count in sorted(Counter((one, other) for _, one, other in of).items())
            ]
            for name, of in values.items()
        },
        "errors": list(_errors(marked, values)),
        "scores": list(_scores(marked, said, chances, resampling)),
        "version": __version__,
    }
    content = finite(content)
    content["digest"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return Result(content, [*_report(content, run.benchmark)], content["scores"])


# What people say

Values = Mapping[
    str, list[tuple[int, float, float]]
]  # criterion -> row, what the judge says, what people say


def _marks(sheet: Sheet, marked: Marked) -> tuple[dict[int, float], dict[int, dict[str, float]]]:
    """Return the chance to be drawn, and what people say, of each row whose criteria are all marked."""
    if sheet.kind != VERDICT:
        raise ValueError(
            f"The sheet {sheet.name} has other marks; expected one of `halluscope review make RUN --marks verdict`."
        )
    if (drawn_from := sheet.entries[0]["drawn_from"]) != marked.population:
        raise ValueError(
            f"The sheet {sheet.name} was drawn from {short_repr(drawn_from)}, but the run's responses are "
            f"{marked.population}. Name a run on the responses that people marked; its judge may be another."
        )
    rows = {name: row for row, name in enumerate(marked.names)}
    left, able = {entry["text"] for entry in sheet.left}, set(marked.able())
    chances: dict[int, float] = {}
    said: dict[int, dict[str, float]] = defaultdict(dict)
    for entry in sheet.entries:
        if entry["text"] not in left and (row := rows[entry["text"]]) in able:
            chances[row] = float(entry["chance"])
            mark = entry["mark"]
            said[row][entry["class"]] = float(mark == YES_MARK if mark in (YES_MARK, NO_MARK) else mark)
    if not said:
        raise ValueError(
            f"No response of the sheet {sheet.name} is both marked and judged; mark at least one."
        )
    return chances, said


def _values(marked: Marked, said: Mapping[int, Mapping[str, float]]) -> Values:
    """Return both verdicts by criterion; where each row has criteria of its own, such as nouns, they are one."""
    values: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    alike = len({frozenset(of) for of in said.values()}) == 1
    for row, of in said.items():
        for name, number in of.items():
            judge = min(marked.said[row][name], LARGEST_SCALE)
            values[name if alike else "all"].append((row, judge, number))
    return values


def _groups(marked: Marked) -> dict[tuple[str, str], Bools]:
    """Return which rows belong to each group: all, each part of the dataset, and each range of lengths."""
    groups = {("all", "all"): np.ones(len(marked.items), dtype=bool)}
    for by in dict.fromkeys(name for item in marked.items for name in item.parts):
        of = np.array([str(item.parts.get(by, "")) for item in marked.items])
        groups |= {(by, name): of == name for name in dict.fromkeys(of.tolist()) if name}
    lengths = np.array(words([item.text for item in marked.items]))
    return groups | {
        ("words", f"{low} to {high}" if high else f"{low} or more"): (low <= lengths)
        & (lengths < (high or np.inf))
        for low, high in LENGTHS
    }


def _errors(marked: Marked, values: Values) -> Iterator[dict[str, Any]]:
    for (by, name), of in _groups(marked).items():
        for criterion, every in values.items():
            pairs = np.array([(judge, people) for row, judge, people in every if of[row]])
            if len(pairs) >= (1 if by == "all" else IN_GROUP):
                yield {"by": by, "group": name, "criterion": criterion, **_compared(*pairs.T)}


def _compared(judge: Floats, people: Floats) -> dict[str, float]:
    same = int((judge == people).sum())
    low, high = wilson(same, len(judge))
    vary = np.ptp(judge) and np.ptp(people)
    apart = np.mean((judge - people) ** 2)
    by_chance = np.var(judge) + np.var(people) + (judge.mean() - people.mean()) ** 2
    return {
        "of": len(judge),
        "same": same / len(judge),
        "low": low,
        "high": high,
        "bias": float(np.mean(judge - people)),
        "correlation": float(np.corrcoef(judge, people)[0, 1]) if vary else np.nan,
        "kappa": float(1 - apart / by_chance) if by_chance else np.nan,
    }


def _scores(
    marked: Marked,
    said: Mapping[int, Mapping[str, float]],
    chances: Mapping[int, float],
    resampling: Bootstrap,
) -> Iterator[dict[str, Any]]:
    """Yield each score by the judge and as people would give it, overall and for the parts of the dataset."""
    by_people = marked.view.counted([said.get(row, {}) for row in range(len(marked.items))])
    clusters = numbers([item.image or item.id for item in marked.items])
    able = np.isin(np.arange(len(marked.items)), marked.able())
    there = np.isin(np.arange(len(marked.items)), list(said))
    chance = np.array([chances.get(row, 1.0) for row in range(len(marked.items))])
    for (by, group), of in _groups(marked).items():
        rows = np.flatnonzero(of & able)
        own = np.flatnonzero(there[rows])
        if by == "words" or (by != "all" and len(own) < FEWEST_MARKED):
            continue
        for name, (part, counts) in marked.counts.items():
            people, wholes = (np.asarray(one[rows][own], dtype=float) for one in by_people[name])
            judge = np.asarray(part[rows], dtype=float)
            most = max(judge.max(), *people, 1.0) if marked.benchmark.is_points(name) else 1.0
            found = corrected_score(
                judge,
                own,
                people,
                wholes,
                chance[rows][own],
                numbers(clusters[rows].tolist()),
                most,
                resampling,
            )
            yield {
                "score": name,
                "by": by,
                "group": group,
                "judge": float(judge.sum() / counts[rows].sum()),
                **found,
                "marked": len(own),
            }


def _rows_by(places: Sequence[int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(places):
        rows.setdefault(place, []).append(row)
    return dict(sorted(rows.items()))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


# What is printed


def _group(one: Mapping[str, Any]) -> str:
    return "all" if one["by"] == "all" else f"{one['by']}: {one['group']}"


def _report(found: Mapping[str, Any], benchmark: Benchmark) -> Iterator[Table | Notes]:
    whose = f"{found['marked']:,} of {found['rows']:,} responses, marked by {found['labelled_by']}"
    yield Notes([f"{found['responses']}: {whose}"])
    for name, pairs in found["confusion"].items():
        values = sorted({value for one, other, _ in pairs for value in (one, other)})
        counts = {(one, other): count for one, other, count in pairs}
        rows: list[list[Cell]] = [
            [f"judge: {one:g}", *(counts.get((one, other), 0) for other in values)] for one in values
        ]
        yield Table("verdicts", [name, *(f"people: {value:g}" for value in values)], rows)
    rows = [
        [
            _group(one),
            one["criterion"],
            one["of"],
            share(one["same"], (one["low"], one["high"])),
            *(plain(one[name]) for name in ("bias", "correlation", "kappa")),
        ]
        for one in found["errors"]
    ]
    header = ["responses", "criterion", "verdicts", "same", "bias", "correlation", "kappa"]
    yield Table("errors", header, rows, left=2, intervals=("same",))
    rows = []
    for one in found["scores"]:
        is_points = benchmark.is_points(one["score"])
        rows.append(
            [
                _group(one),
                one["score"],
                scored(one["judge"], is_points),
                scored(one["value"], is_points, (one["low"], one["high"])),
                one["marked"],
            ]
        )
    yield Table(
        "scores",
        ["responses", "score", "judge", "corrected", "marked"],
        rows,
        left=2,
        intervals=("corrected",),
    )
    few = (
        [f"Scores are corrected from {FEWEST_MARKED} marked responses on; mark more."]
        if found["marked"] < FEWEST_MARKED
        else []
    )
    without = found["unjudged"]
    left_out = [f"{without:,} responses have no verdict; no score here counts them."] if without else []
    yield Notes(
        [
            "bias: the judge's verdict minus people's; kappa: Cohen's, with squared weights.",
            *few,
            *left_out,
            f"signature: {found['signature']}",
            f"certificate: {found['digest']}",
        ]
    )
