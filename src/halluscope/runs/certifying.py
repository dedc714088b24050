"""Certifies a grader: people mark a sample of the responses that it judged; then its errors, and its scores corrected.

People do not see the verdicts.
"""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Benchmark
from halluscope.errors import RunError
from halluscope.judging.cache import sha256
from halluscope.reliability.certificate import by_length, name_of, sealed
from halluscope.reliability.sheet import NO_MARK, VERDICT, YES_MARK, Entry, read_sheet, rows_about
from halluscope.reporting.printed import Printed
from halluscope.reporting.tables import Json, Notes, Table, estimate, plain, scored
from halluscope.responses.lengths import words
from halluscope.runs import folder
from halluscope.runs.run import Run
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats, wilson
from halluscope.stats.samples import FEWEST_MARKED, Marked, allot, corrected_score
from halluscope.stats.tallies import Bools, numbers
from halluscope.validation import whole

FORM = "halluscope certificate of a grader 1"
LARGEST_SCALE = 10  # larger numbers are marked as this one
IN_GROUP = 10  # the fewest marked responses of a group that is shown
ALL, WORDS = "all", "words"


class Verdicts:
    """A run whose verdicts people can mark."""

    def __init__(self, run: Run) -> None:
        benchmark = run.benchmark
        self.view: Any = benchmark.module("report")
        if not hasattr(self.view, "asks"):
            raise RunError(
                f"{benchmark.name} has no verdicts on responses that people could mark; expected a run of a benchmark "
                "whose responses a judge grades. For votes on classes: --marks implied."
            )
        rows = list(folder.items(run))
        self.items = folder.view(run)
        self.asks = [self.view.asks(row) for row in rows]
        # the judge's verdicts on each row: criterion -> number, NaN where there is none
        self.values: list[dict[str, float]] = [
            {name: np.nan if value is None else float(value) for name, (value, _) in of.items()}
            for _, of in self.asks
        ]
        for name in set.intersection(*map(set, self.values)):  # a criterion that this judge never gives
            if np.isnan([of[name] for of in self.values]).all():
                for of, (_, asks) in zip(self.values, self.asks, strict=True):
                    del of[name], asks[name]
        # score -> what each row adds to it, and whether it counts
        counts: Mapping[str, tuple[Floats, Floats]] = self.view.counted(self.values)
        self.counts = {name: of for name, of in counts.items() if of[1].any()}
        defined = [one for one in (benchmark.principal, *benchmark.scores) if one in self.counts]
        if not defined:
            raise RunError(f"{run.name} has no verdicts that people could mark; score it with a judge.")
        self.names = [
            hashlib.sha256(sha256(f"{benchmark.name} {item.id}") + sha256(item.text)).hexdigest()
            for item in self.items
        ]
        self.population = name_of(sorted(self.names))
        known = [bool(of) and not np.isnan([*of.values()]).any() for of in self.values]
        self.first, counted = self.counts[defined[0]]
        # the rows that have a verdict to be marked
        self.able = np.array(known) & np.asarray(counted, dtype=bool)

    def groups(self) -> dict[tuple[str, str], Bools]:
        """Return which rows belong to each group: all, each part of the dataset, and each range of lengths."""
        groups = {(ALL, ALL): np.ones(len(self.items), dtype=bool)}
        for by in dict.fromkeys(chain.from_iterable(item.parts for item in self.items)):
            of = np.array([str(item.parts.get(by, "")) for item in self.items])
            groups |= {(by, name): of == name for name in dict.fromkeys(of.tolist()) if name}
        lengths = np.array(words([item.text for item in self.items]))
        return groups | {(WORDS, name): rows for name, rows in by_length(lengths)}


def sheet(run: Run, sample: int, seed: int, image: Callable[[str], Entry]) -> list[Entry]:
    """Draw responses, and make the rows of a sheet for them: one per criterion, with the marks that it offers."""
    verdicts = Verdicts(run)
    able = np.flatnonzero(verdicts.able)
    whole("sample", sample, 1, len(able), "a number of judged responses")
    _, value, sizes = np.unique(verdicts.first[able], return_inverse=True, return_counts=True)
    generator = random.Random(seed)
    chosen = [
        (row, count / size)
        for index, (count, size) in enumerate(zip(allot(sizes, sample).tolist(), sizes.tolist(), strict=True))
        for row in generator.sample(able[value == index].tolist(), count)
    ]
    generator.shuffle(chosen)
    drawn: list[Entry] = []
    for row, chance in chosen:
        item, (known, asks) = verdicts.items[row], verdicts.asks[row]
        criteria = [
            {"class": name, "question": name.replace("_", " "), "scale": " ".join(_scale(most))}
            for name, (_, most) in asks.items()
        ]
        answer = "\n".join(filter(None, (item.question, known)))
        shown = {"answer": answer, "response": item.text, **(image(item.image) if item.image else {})}
        text = {"id": item.id, "drawn_from": verdicts.population, "text": verdicts.names[row]}
        drawn += rows_about(text, chance, criteria, shown)
    return drawn


def _scale(most: int) -> Iterable[str]:
    return [YES_MARK, NO_MARK] if most == 1 else map(str, range(min(most, LARGEST_SCALE) + 1))


def certify(path: Path, run: Run, by: str, allow_unmarked: bool, resampling: Bootstrap) -> Printed:
    """Compare a grader's verdicts with people's marks on a sheet, and correct its scores.

    The sheet is of `halluscope study sheet make RUN --marks verdict`, `run` a run on the same responses, by this judge
    or another, and `by` who marked.

    Returns:
        `confusion`: criterion -> the counts of pairs of verdicts; `errors`: for each criterion, overall and by group,
        the share of equal verdicts, the bias (judge minus people), the correlation, and Cohen's kappa with squared
        weights; `scores`: score -> the judge's value, and the corrected `value` with `low` and `high`, for all
        responses and for the groups with enough marks; `signature`, of the run; `digest`, a checksum of all this.
    """
    sheet, verdicts = read_sheet(path, allow_unmarked), Verdicts(run)
    row_of = {name: row for row, name in enumerate(verdicts.names)}
    by_people: list[dict[str, float]] = [{} for _ in verdicts.items]  # as `Verdicts.values`
    chances = np.zeros(len(by_people))  # the chance to be drawn of each row whose criteria are all marked
    for text, (chance, entries) in sheet.sample(VERDICT, verdicts.population).items():
        if verdicts.able[row := row_of[text]]:
            chances[row] = chance
            by_people[row] = {
                entry["class"]: float({YES_MARK: 1, NO_MARK: 0}.get(entry["mark"], entry["mark"]))
                for entry in entries
                if entry["class"] in verdicts.values[row]  # another judge may have given more criteria
            }
    marked = np.flatnonzero(chances).tolist()
    if not marked:
        raise ValueError(
            f"No response of the sheet {sheet.name} is both marked and judged; mark at least one."
        )
    # criterion -> row, what the judge says, and what people say; criteria that each row has for itself, such as its
    # nouns, are one
    pairs: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    alike = len({frozenset(by_people[row]) for row in marked}) == 1
    for row in marked:
        for name, value in by_people[row].items():
            judge = min(verdicts.values[row][name], LARGEST_SCALE)
            pairs[name if alike else ALL].append((row, judge, value))
    counts_of_people = verdicts.view.counted(by_people)

    def scores(group: Bools) -> Iterator[Json]:
        """Yield each score of a group by the judge and as people would give it."""
        rows = np.flatnonzero(verdicts.able & group)
        own = np.flatnonzero(chances[rows])
        clusters = numbers([verdicts.items[row].image or verdicts.items[row].id for row in rows])
        for name, (part, counts) in verdicts.counts.items():
            if not counts_of_people[name][1].any():  # it needs a criterion that nobody marked
                continue
            people, wholes = (np.asarray(of[rows][own], dtype=float) for of in counts_of_people[name])
            judge, drawn = np.asarray(part[rows], dtype=float), chances[rows[own]]
            most = max(judge.max(), *people, 1.0) if run.benchmark.is_points(name) else 1.0
            yield {
                "score": name,
                "judge": float(judge.sum() / counts[rows].sum()),
                **corrected_score(judge, Marked(own, people, wholes, drawn), clusters, most, resampling),
                "marked": len(own),
            }

    groups = verdicts.groups()
    content = sealed(
        {
            "form": FORM,
            "labelled_by": by,
            "sheet": sheet.name,
            "responses": run.name,
            "signature": run.scores["signature"],
            "rows": len(by_people),
            "unjudged": int((~verdicts.able).sum()),
            "marked": len(marked),
            "confusion": {
                name: [[*pair, count] for pair, count in sorted(Counter(one[1:] for one in of).items())]
                for name, of in pairs.items()
            },
            "errors": [
                {"by": of, "group": group, "criterion": name, **_error(np.array(own))}
                for (of, group), rows in groups.items()
                for name, every in pairs.items()
                if len(own := [pair for row, *pair in every if rows[row]]) >= (1 if of == ALL else IN_GROUP)
            ],
            "scores": [
                {"by": of, "group": group, **score}
                for (of, group), rows in groups.items()
                if of == ALL or (of != WORDS and np.count_nonzero(chances[rows]) >= FEWEST_MARKED)
                for score in scores(rows)
            ],
        }
    )
    return Printed(content, [*_report(content, run.benchmark)], content["scores"])


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


def _report(found: Json, benchmark: Benchmark) -> Iterator[Table | Notes]:
    whose = f"{found['marked']:,} of {found['rows']:,} responses, marked by {found['labelled_by']}"
    yield Notes([f"{found['responses']}: {whose}"])
    for name, pairs in found["confusion"].items():
        counts = {(one, other): count for one, other, count in pairs}
        values = sorted({*chain(*counts)})
        yield Table(
            "verdicts",
            [name, *(f"people: {value:g}" for value in values)],
            [[f"judge: {one:g}", *(counts.get((one, other), 0) for other in values)] for one in values],
        )
    yield Table(
        "errors",
        ["responses", "criterion", "verdicts", "same", "bias", "correlation", "kappa"],
        [
            [_group(of), of["criterion"], of["of"], estimate(of, "same")]
            + [plain(of[name]) for name in ("bias", "correlation", "kappa")]
            for of in found["errors"]
        ],
        left=2,
        intervals=("same",),
    )
    rows = []
    for of in found["scores"]:
        points = benchmark.is_points(of["score"])
        judge, corrected = scored(of["judge"], points), estimate(of, is_points=points)
        rows.append([_group(of), of["score"], judge, corrected, of["marked"]])
    header = ["responses", "score", "judge", "corrected", "marked"]
    yield Table("scores", header, rows, left=2, intervals=("corrected",))
    lines = ["bias: the judge's verdict minus people's; kappa: Cohen's, with squared weights."]
    if found["marked"] < FEWEST_MARKED:
        lines.append(f"Scores are corrected from {FEWEST_MARKED} marked responses on; mark more.")
    if without := found["unjudged"]:
        lines.append(f"{without:,} responses have no verdict; no score here counts them.")
    yield Notes([*lines, f"signature: {found['signature']}", f"certificate: {found['digest']}"])


def _group(of: Json) -> str:
    return ALL if of["by"] == ALL else f"{of['by']}: {of['group']}"
