"""Compares runs of several models on the rows that all runs have.

Differences are paired: both runs are scored without the same clusters of rows. A run that was just scored on these rows
is not scored again.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter

import numpy as np

from halluscope import registry
from halluscope.benchmark import HIGHER, Benchmark
from halluscope.errors import RunError
from halluscope.judged import Judged
from halluscope.reporting.tables import Values, principal
from halluscope.runs.run import Run, benchmark_of, rescore
from halluscope.sanitize import short_repr
from halluscope.scoring import Ready
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import LeftOut, why_none
from halluscope.stats.paired import Difference, difference, holm
from halluscope.stats.ratio_pairs import can_differ, ratio_differences
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Ints, Tally, numbers, scores_of

# Keys of a signature that do not say how a run was scored, or that are the same once runs are compared.
NOT_HOW = ("data", "responses", "interval", "prompts", "part")

OUTCOMES = ("found", "hallucinated", "missed")  # the lists of classes in a row about an image

# scores of a class, which the benchmark itself may not have; higher is better
OF_CLASSES = ("precision", "recall")


@dataclass(frozen=True)
class Compared:
    """A score of two runs."""

    score: str  # the name of the score; a group's score has a "/" in it
    names: tuple[str, str]  # the names of the two runs
    values: tuple[float, float]  # the score of each run
    by: Difference  # the difference
    holm: float = math.nan  # the p value by Holm's correction for all differences that were compared together
    # the better run, if the difference is significant and the score has a better direction
    better: str | None = None


@dataclass(frozen=True)
class Comparison:
    """What is said of runs beside each other."""

    rows: int  # how many rows all runs have in common
    of: Mapping[str, int]  # name of a run -> how many rows it has
    unlike: Mapping[str, Sequence[str]]  # key of the signature in which runs differ -> the value of each run
    scores: Sequence[Compared]  # the requested scores, for each pair of runs
    groups: Sequence[Compared]  # the scores of each group, for each pair of runs
    # the scores of each class in which two runs differ often enough for a test to tell; p and interval are
    # NaN where too few images count for one of them (`halluscope.stats.ratio_pairs.FEWEST`)
    classes: Sequence[Compared]
    level: float  # the level of the intervals
    untested: Mapping[str, str]  # score that has no interval in a run, and so no p value -> the reason
    # score that is not of the same rows in all runs, for lack of verdicts -> run -> how many rows count for it
    unlike_rows: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Rescored:
    """A run on the rows that all runs have, scored again."""

    run: Run
    left_out: Mapping[str, LeftOut]  # score -> the score, as it is and without each cluster

    @property
    def scores(self) -> dict[str, float]:
        scores = {}
        for name, left_out in self.left_out.items():
            scores[name] = left_out.value
        return scores

    def against(self, other: "Rescored", score: str, names: tuple[str, str], level: float) -> Compared:
        """Compare a score with that of another run."""
        ours = self.left_out[score]
        theirs = other.left_out[score]
        return Compared(score, names, (ours.value, theirs.value), difference(ours, theirs, level))


def compare(
    runs: Mapping[str, Run], scores: Sequence[str], resampling: Bootstrap, in_parts: bool = True
) -> Comparison:
    """Compare these scores of runs, by default the principal one; and, unless told otherwise, their parts."""
    if len(runs) < 2:
        raise ValueError(f"A comparison needs at least 2 runs; got {', '.join(runs) or 'none'}.")
    benchmark = benchmark_of(runs)
    level = resampling.level
    parts = rescored(runs, resampling)
    all_parts = list(parts.values())
    common = common_scores(all_parts)
    compared_scores = wanted_scores(benchmark, scores, all_parts)
    differences = compare_each_two(parts, compared_scores, level)
    groups: list[Compared] = []
    classes: list[Compared] = []
    if in_parts:
        groups = compare_each_two(parts, groups_of(compared_scores, common), level)
        classes = compare_classes(parts, level)
    rows_of_runs = {}
    for name, run in runs.items():
        rows_of_runs[name] = len(run.ready.matched.rows)
    return Comparison(
        rows=len(all_parts[0].run.ready.matched.rows),
        of=rows_of_runs,
        unlike=unlike(all_parts),
        scores=corrected(benchmark, differences, level),
        groups=corrected(benchmark, groups, level),
        classes=corrected(benchmark, classes, level),
        level=level,
        untested=untested(compared_scores, all_parts),
        unlike_rows=rows_by_run(benchmark, compared_scores, parts),
    )


# Runs on their common rows


def rescored(runs: Mapping[str, Run], resampling: Bootstrap) -> dict[str, Rescored]:
    """Score runs again on the rows that all have, also without each cluster of these rows."""
    if not resampling.resamples:
        raise ValueError("A comparison needs intervals; got bootstrap=0, which makes none.")
    parts = {}
    for name, rows in common_rows(runs).items():
        parts[name] = rescored_on(runs[name], rows, resampling)
    digests = set()
    texts = []
    for name, part in parts.items():
        digest = part.run.keys["data"]
        digests.add(digest)
        texts.append(f"{short_repr(name)} {short_repr(digest)}")
    if len(digests) > 1:
        raise RunError(
            f"Rows with the same ids differ between these runs ({', '.join(texts)}); expected runs on the same "
            "version of one dataset."
        )
    return parts


def common_rows(runs: Mapping[str, Run]) -> dict[str, list[int]]:
    """Return the indices of the rows that all runs have, in the same order: name of a run -> indices."""
    key_of = attrgetter(*registry.first_dataset(benchmark_of(runs)).key)
    index_of_row = {}  # name of a run -> the index of each of its rows, by the row's key
    for name, run in runs.items():
        index_of_row[name] = {key_of(row): index for index, row in enumerate(run.ready.matched.rows)}
    common = list(next(iter(index_of_row.values())))
    for indices in index_of_row.values():
        common = [key for key in common if key in indices]
    if not common:
        raise RunError(
            f"The runs {', '.join(map(short_repr, runs))} have no row in common, so they cannot be compared. "
            "If they are parts of one LVLM's responses, score them together: --responses NAME=FILE,FILE."
        )
    common_indices = {}
    for name, indices in index_of_row.items():
        common_indices[name] = [indices[key] for key in common]
    return common_indices


def rescored_on(run: Run, rows: Sequence[int], resampling: Bootstrap) -> Rescored:
    """Return some of a run's rows scored, without options that need all rows, such as given verdicts."""
    per_file = run.benchmark.each
    are_all_in_order = rows == list(range(len(run.ready.matched.rows)))
    is_without_per_file = per_file.isdisjoint(run.options) and per_file.isdisjoint(run.ready.inputs)
    if run.scores.left_out and are_all_in_order and is_without_per_file:
        return Rescored(run, run.scores.left_out)
    inputs = without(run.ready.inputs, per_file)
    for name, values in run.columns.items():
        inputs[name] = [values[row] for row in rows]
    part = replace(
        run,
        ready=Ready(run.ready.matched.only(rows), inputs),
        options=without(run.options, per_file),
        record=run.record.finished(rows),
    )
    again = rescore(part, bootstrap=1, level=resampling.level)
    return Rescored(again, again.scores.left_out)


def without(values: Values, names: Iterable[str]) -> dict[str, object]:
    """Return values without those of some names."""
    kept = dict(values)
    for name in names:
        kept.pop(name, None)
    return kept


def unlike(parts: Sequence[Rescored]) -> dict[str, list[str]]:
    """Return the keys of the signature in which runs were scored differently, each with the value of each run."""
    signatures = [part.run.keys for part in parts]
    differing = {}
    for signature in signatures:
        for key in signature:
            values = [keys.get(key, "") for keys in signatures]
            if key not in NOT_HOW and len(set(values)) > 1:
                differing[key] = values
    return differing


# Scores


def common_scores(parts: Sequence[Rescored]) -> list[str]:
    """Return the scores that all runs have."""
    common = list(parts[0].scores)
    for part in parts[1:]:
        scores = part.scores
        common = [name for name in common if name in scores]
    return common


def wanted_scores(benchmark: Benchmark, scores: Sequence[str], parts: Sequence[Rescored]) -> list[str]:
    """Return these scores, by default the one to show first; all runs must have them."""
    common = common_scores(parts)
    names = list(scores)
    if not names:
        names = [principal(benchmark, [part.scores for part in parts])]
    for name in names:
        if name not in common:
            raise RunError(
                f"The runs have no score {short_repr(name)} in common; expected one of {', '.join(common)}."
            )
    return names


def groups_of(scores: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that are a part of one of these scores."""
    starts = tuple(f"{score}/" for score in scores)
    ends = tuple(f"/{score}" for score in scores)
    groups = []
    for name in names:
        if name.startswith(starts) or name.endswith(ends):
            groups.append(name)
    return groups


def compare_each_two(parts: Mapping[str, Rescored], scores: Sequence[str], level: float) -> list[Compared]:
    """Compare scores of each two runs."""
    compared = []
    for first, second in combinations(parts, 2):
        for score in scores:
            compared.append(parts[first].against(parts[second], score, (first, second), level))
    return compared


def corrected(benchmark: Benchmark, compared: Sequence[Compared], level: float) -> list[Compared]:
    """Correct p values for the number of differences, and say which run is better."""
    p_values = holm([pair.by.p for pair in compared])
    with_verdicts = []
    for pair, p in zip(compared, p_values, strict=True):
        better_run = better(benchmark, pair, p, level)
        with_verdicts.append(replace(pair, holm=p, better=better_run))
    return with_verdicts


def better(benchmark: Benchmark, pair: Compared, p: float, level: float) -> str | None:
    """Return the better run; None if the difference is not significant, or the score has no better direction."""
    score, _, _ = pair.score.partition(" of ")  # a class's score is "precision of dog"
    direction: str | None = HIGHER
    if score not in OF_CLASSES:
        direction = benchmark.direction(score)
    is_significant = p < 1 - level  # not if p is NaN
    if direction is None or not is_significant:
        return None
    first_is_higher = pair.by.value > 0
    first_is_better = first_is_higher == (direction == HIGHER)
    if first_is_better:
        return pair.names[0]
    return pair.names[1]


def untested(scores: Sequence[str], parts: Iterable[Rescored]) -> dict[str, str]:
    """Return why scores have no interval in a run: score -> the reason in the first run that has one."""
    reasons: dict[str, str] = {}
    for part in parts:
        for score in scores:
            reason = why_none(part.left_out[score])
            if reason:
                reasons.setdefault(score, reason)
    return reasons


def rows_by_run(
    benchmark: Benchmark, scores: Sequence[str], parts: Mapping[str, Rescored]
) -> dict[str, dict[str, int]]:
    """Return which scores of verdicts are not of the same rows: score -> run -> how many rows count for it."""
    if not isinstance(benchmark, Judged):
        return {}
    means = [name for name in benchmark.means if name != benchmark.unread]
    counts: dict[str, dict[str, int]] = {}
    for score in scores:
        columns = means  # of a score that is no mean, a row counts that counts for any
        if score in means:
            columns = [score]
        places: dict[str, list[int]] = {}  # of the rows that count
        for name, part in parts.items():
            places[name] = places_with(part.run.found, columns)
        first, *others = places.values()
        if any(other != first for other in others):
            counts[score] = {name: len(counting) for name, counting in places.items()}
    return counts


def places_with(rows: Sequence[Values], columns: Sequence[str]) -> list[int]:
    """Return the places of the rows that have a value in one of some columns."""
    places = []
    for place, row in enumerate(rows):
        if any(row.get(column) is not None for column in columns):
            places.append(place)
    return places


def of_unlike_rows(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a line for each score that is not of the same rows in all runs."""
    lines = []
    for score, rows_of in counts.items():
        rows = ", ".join(f"{count:,} rows of {name}" for name, count in rows_of.items())
        lines.append(f"{score} is not of the same rows: {rows} count for it, those without a verdict do not.")
    return lines


# Classes


def counts_by_class(run: Run) -> Tally:
    """Return counts per image for each class: of precision and recall, or of the score of questions about it."""
    outcomes = set(OUTCOMES)
    if all(outcomes <= row.keys() for row in run.found):
        return counts_of_mentions(run.found)
    score = run.benchmark.principal
    if run.ready.inputs.get("objects") is not None and score in run.benchmark.means:
        return counts_of_questions(run, score)
    return {}


def counts_of_mentions(rows: Sequence[Values]) -> Tally:
    """Return counts of precision and recall, by what rows say of classes."""
    images: list[int] = []
    classes: list[str] = []
    outcomes: list[str] = []
    for image, row in enumerate(rows):
        for outcome in OUTCOMES:
            for name in set(row[outcome]):
                images.append(image)
                classes.append(name)
                outcomes.append(outcome)
    if not images:
        return {}
    outcome_of = np.array(outcomes)
    right = (outcome_of == "found").astype(float)
    mentioned = (outcome_of != "missed").astype(float)
    present = (outcome_of != "hallucinated").astype(float)
    mentions = Mentions(np.array(images), len(rows), classes)
    precision, recall = OF_CLASSES
    tally = dict(mentions.counts(precision, right, mentioned))
    tally.update(mentions.counts(recall, right, present))
    return tally


def counts_of_questions(run: Run, score: str) -> Tally:
    """Return counts of a score that each question has."""
    image = numbers(run.ready.inputs["image_ids"])
    values = np.array([row[score] for row in run.found], dtype=float)  # NaN for None
    is_counted = ~np.isnan(values)
    mentions = Mentions(image, int(image.max()) + 1, list(run.ready.inputs["objects"]))
    return mentions.counts(score, np.nan_to_num(values), is_counted.astype(float))


@dataclass(frozen=True)
class Mentions:
    """Classes that occur in images."""

    image: Ints  # the image of each mention: [mentions]
    images: int
    classes: Sequence[str]  # the class of each mention

    def counts(self, score: str, part: Floats, whole: Floats) -> Tally:
        """Return a score's part and whole in each class: "score of class" -> [images] each.

        Args:
            score: the name of the score.
            part: what each mention adds to the part: [mentions].
            whole: what it adds to the whole: [mentions].
        """
        names, number = np.unique(np.array(self.classes), return_inverse=True)
        place = number * self.images + self.image
        cells = len(names) * self.images
        parts = np.bincount(place, part, cells).reshape(-1, self.images)
        wholes = np.bincount(place, whole, cells).reshape(-1, self.images)
        tally = {}
        for index, name in enumerate(names):
            tally[f"{score} of {name}"] = (parts[index], wholes[index])
        return tally


def compare_classes(parts: Mapping[str, Rescored], level: float) -> list[Compared]:
    """Compare each class of each two runs, by its counts, since some classes are rare."""
    counts_of_runs = {}
    for name, part in parts.items():
        counts = counts_by_class(part.run)
        if counts:
            counts_of_runs[name] = counts
    compared = []
    for first, second in combinations(counts_of_runs, 2):
        first_counts = counts_of_runs[first]
        second_counts = counts_of_runs[second]
        first_scores = scores_of(first_counts)
        second_scores = scores_of(second_counts)
        first_able = {}
        second_able = {}
        for score in can_differ(first_counts, second_counts, 1 - level):
            first_able[score] = first_counts[score]
            second_able[score] = second_counts[score]
        for score, gap in ratio_differences(first_able, second_able, level).items():
            if not math.isnan(gap.value):
                values = (first_scores[score], second_scores[score])
                compared.append(Compared(score, (first, second), values, gap))
    return compared
