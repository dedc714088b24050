"""Certifies a grader: people mark a sample of the responses that it judged; then its errors, and its scores corrected.

People do not see the verdicts.
"""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import RunError
from halluscope.inputs import whole
from halluscope.judging.cache import sha256
from halluscope.registry import Benchmark
from halluscope.reliability.certificate import DIGEST, LENGTHS, digest_of, name_of
from halluscope.reliability.sheet import NO_MARK, VERDICT, YES_MARK, Entry, Sheet, chance_of, read_sheet
from halluscope.reporting.report_items import Item
from halluscope.reporting.tables import Cell, Notes, Table, finite, plain, scored, share
from halluscope.responses.lengths import words
from halluscope.runs import folder
from halluscope.runs.results import Result
from halluscope.runs.run import Run
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, wilson
from halluscope.stats.samples import FEWEST_MARKED, allot, corrected_score
from halluscope.stats.tallies import Bools, numbers
from halluscope.version import __version__

FORM = "halluscope certificate of a grader 1"
LARGEST_SCALE = 10  # larger numbers are marked as this one
IN_GROUP = 10  # the fewest marked responses of a group that is shown


class Verdicts:
    """A run whose verdicts people can mark."""

    def __init__(self, run: Run) -> None:
        self.benchmark: Benchmark = run.benchmark
        self.view: Any = run.benchmark.module("report")
        if not hasattr(self.view, "asks"):
            raise RunError(
                f"{run.benchmark.name} has no verdicts on responses that people could mark; expected a run of a "
                "benchmark whose responses a judge grades. For votes on classes: --marks implied."
            )
        rows = list(folder.items(run))
        self.items: list[Item] = list(self.view.items(rows, run.options, None))
        self.asks = [self.view.asks(row) for row in rows]
        # what the judge says of each row: criterion -> number, NaN where it says nothing
        self.said: list[dict[str, float]] = [
            {name: np.nan if value is None else float(value) for name, (value, _) in of.items()}
            for _, of in self.asks
        ]
        # score -> what each row adds to it, and whether it counts
        self.counts: Mapping[str, tuple[Floats, Floats]] = self.view.counted(self.said)
        self.names = [
            hashlib.sha256(sha256(f"{run.benchmark.name} {item.id}") + sha256(item.text)).hexdigest()
            for item in self.items
        ]
        self.population = name_of(sorted(self.names))
        _, counts = self.counts[self.benchmark.principal]
        known = [bool(said) and not any(map(np.isnan, said.values())) for said in self.said]
        # the rows that have a verdict to be marked
        self.able = [row for row in range(len(known)) if known[row] and counts[row]]


def sheet(
    run: Run, sample: int, seed: int = 0, image: Callable[[str], dict[str, str]] = lambda image: {}
) -> list[Entry]:
    """Draw responses, and make the rows of a sheet for them: one per criterion, with the marks that it offers."""
    verdicts = Verdicts(run)
    able = verdicts.able
    whole("sample", sample, 1, len(able), "a number of judged responses")
    values, value, sizes = np.unique(
        verdicts.counts[verdicts.benchmark.principal][0][able], return_inverse=True, return_counts=True
    )
    generator = random.Random(seed)
    chosen = [
        (able[row], count / size)
        for index, count, size in zip(range(len(values)), allot(sizes, sample).tolist(), sizes, strict=True)
        for row in generator.sample(np.flatnonzero(value == index).tolist(), count)
    ]
    generator.shuffle(chosen)
    drawn: list[Entry] = []
    for row, chance in chosen:
        item, (known, asks) = verdicts.items[row], verdicts.asks[row]
        picture = {} if item.image is None else image(item.image)
        about = {"answer": "\n".join(filter(None, (item.question, known))), "response": item.text}
        for name, (_, most) in asks.items():
            scale = [YES_MARK, NO_MARK] if most == 1 else map(str, range(min(most, LARGEST_SCALE) + 1))
            entry = {
                "id": item.id,
                "drawn_from": verdicts.population,
                "text": verdicts.names[row],
                "chance": f"{chance:.9f}",
                "class": name,
                "question": name.replace("_", " "),
                "scale": " ".join(scale),
            }
            drawn.append(entry | about | picture)
            about = {}  # only the first row of a response shows it
    return drawn


def certify(
    path: Path, run: Run, by: str, allow_unmarked: bool = False, resampling: Bootstrap | None = None
) -> Result:
    """Compare a grader's verdicts with people's marks on a sheet, and correct its scores.

    The sheet is of `halluscope review make RUN --marks verdict`, `run` a run on the same responses, by this judge or
    another, and `by` who marked.

    Returns:
        `confusion`: criterion -> the counts of pairs of verdicts; `errors`: for each criterion, overall and by group,
        the share of equal verdicts, the bias (judge minus people), the correlation, and Cohen's kappa with squared
        weights; `scores`: score -> the judge's value, and the corrected `value` with `low` and `high`, for all
        responses and for the groups with enough marks; `signature`, of the run; `digest`, a checksum of all this.
    """
    resampling = resampling or Bootstrap()
    sheet, verdicts = read_sheet(path, allow_unmarked), Verdicts(run)
    chances, said = _marks(sheet, verdicts)
    # criterion -> row, what the judge says, and what people say; criteria that each row has for itself, such as its
    # nouns, are one
    values: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    alike = len({frozenset(of) for of in said.values()}) == 1
    for row, of in said.items():
        for name, number in of.items():
            judge = min(verdicts.said[row][name], LARGEST_SCALE)
            values[name if alike else "all"].append((row, judge, number))
    content = finite(
        {
            "form": FORM,
            "labelled_by": by,
            "sheet": sheet.name,
            "responses": run.name,
            "signature": run.scores["signature"],
            "rows": len(verdicts.items),
            "unjudged": len(verdicts.items) - len(verdicts.able),
            "marked": len(said),
            "confusion": {
                name: [[*pair, count] for pair, count in sorted(Counter(one[1:] for one in of).items())]
                for name, of in values.items()
            },
            "errors": [
                {"by": by, "group": group, "criterion": name, **_error(np.array(pairs))}
                for (by, group), rows in _groups(verdicts).items()
                for name, every in values.items()
                if len(pairs := [pair for row, *pair in every if rows[row]])
                >= (1 if by == "all" else IN_GROUP)
            ],
            "scores": list(_scores(verdicts, said, chances, resampling)),
            "version": __version__,
        }
    )
    content[DIGEST] = digest_of(content)
    return Result(content, [*_report(content, run.benchmark)], content["scores"])


def _marks(sheet: Sheet, verdicts: Verdicts) -> tuple[dict[int, float], dict[int, dict[str, float]]]:
    """Return the chance to be drawn, and what people say, of each row whose criteria are all marked."""
    sheet.check(VERDICT, verdicts.population)
    rows, able = {name: row for row, name in enumerate(verdicts.names)}, set(verdicts.able)
    chances: dict[int, float] = {}
    said: dict[int, dict[str, float]] = {}
    for text, entries in sheet.texts().items():
        if (row := rows[text]) in able:
            chances[row] = chance_of(entries[0])
            said[row] = {
                entry["class"]: float({YES_MARK: 1, NO_MARK: 0}.get(entry["mark"], entry["mark"]))
                for entry in entries
            }
    if not said:
        raise ValueError(
            f"No response of the sheet {sheet.name} is both marked and judged; mark at least one."
        )
    return chances, said


def _groups(verdicts: Verdicts) -> dict[tuple[str, str], Bools]:
    """Return which rows belong to each group: all, each part of the dataset, and each range of lengths."""
    groups = {("all", "all"): np.ones(len(verdicts.items), dtype=bool)}
    for by in dict.fromkeys(name for item in verdicts.items for name in item.parts):
        of = np.array([str(item.parts.get(by, "")) for item in verdicts.items])
        groups |= {(by, name): of == name for name in dict.fromkeys(of.tolist()) if name}
    lengths = np.array(words([item.text for item in verdicts.items]))
    for low, high in LENGTHS:
        name = f"{low} to {high}" if high else f"{low} or more"
        groups["words", name] = (low <= lengths) & (lengths < (high or np.inf))
    return groups


def _error(pairs: Floats) -> dict[str, float]:
    judge, people = pairs.T
    same = int((judge == people).sum())
    low, high = wilson(same, len(judge))
    vary = np.ptp(judge) and np.ptp(people)
    by_chance = np.var(judge) + np.var(people) + (judge.mean() - people.mean()) ** 2
    return {
        "of": len(judge),
        "same": same / len(judge),
        "low": low,
        "high": high,
        "bias": float(np.mean(judge - people)),
        "correlation": float(np.corrcoef(judge, people)[0, 1]) if vary else np.nan,
        "kappa": float(1 - np.mean((judge - people) ** 2) / by_chance) if by_chance else np.nan,
    }


def _scores(
    verdicts: Verdicts,
    said: Mapping[int, Mapping[str, float]],
    chances: Mapping[int, float],
    resampling: Bootstrap,
) -> Iterator[dict[str, Any]]:
    """Yield each score by the judge and as people would give it, overall and for the parts of the dataset."""
    by_people = verdicts.view.counted([said.get(row, {}) for row in range(len(verdicts.items))])
    clusters = numbers([item.image or item.id for item in verdicts.items])
    for (by, group), of in _groups(verdicts).items():
        rows = np.array([row for row in verdicts.able if of[row]], dtype=np.int64)
        own = np.flatnonzero([row in said for row in rows.tolist()])
        if by == "words" or (by != "all" and len(own) < FEWEST_MARKED):
            continue
        chance = np.array([chances[row] for row in rows[own].tolist()])
        for name, (part, counts) in verdicts.counts.items():
            people, wholes = (np.asarray(one[rows][own], dtype=float) for one in by_people[name])
            judge = np.asarray(part[rows], dtype=float)
            most = max(judge.max(), *people, 1.0) if verdicts.benchmark.is_points(name) else 1.0
            alike = numbers(clusters[rows].tolist())
            yield {
                "score": name,
                "by": by,
                "group": group,
                "judge": float(judge.sum() / counts[rows].sum()),
                **corrected_score(judge, own, people, wholes, chance, alike, most, resampling),
                "marked": len(own),
            }


def _report(found: Mapping[str, Any], benchmark: Benchmark) -> Iterator[Table | Notes]:
    def group(one: Mapping[str, Any]) -> str:
        return "all" if one["by"] == "all" else f"{one['by']}: {one['group']}"

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
            group(one),
            one["criterion"],
            one["of"],
            share(one["same"], (one["low"], one["high"])),
            *(plain(one[name]) for name in ("bias", "correlation", "kappa")),
        ]
        for one in found["errors"]
    ]
    header = ["responses", "criterion", "verdicts", "same", "bias", "correlation", "kappa"]
    yield Table("errors", header, rows, left=2, intervals=("same",))
    rows = [
        [
            group(one),
            one["score"],
            scored(one["judge"], benchmark.is_points(one["score"])),
            scored(one["value"], benchmark.is_points(one["score"]), (one["low"], one["high"])),
            one["marked"],
        ]
        for one in found["scores"]
    ]
    header = ["responses", "score", "judge", "corrected", "marked"]
    yield Table("scores", header, rows, left=2, intervals=("corrected",))
    lines = ["bias: the judge's verdict minus people's; kappa: Cohen's, with squared weights."]
    if found["marked"] < FEWEST_MARKED:
        lines.append(f"Scores are corrected from {FEWEST_MARKED} marked responses on; mark more.")
    if without := found["unjudged"]:
        lines.append(f"{without:,} responses have no verdict; no score here counts them.")
    yield Notes([*lines, f"signature: {found['signature']}", f"certificate: {found['digest']}"])
