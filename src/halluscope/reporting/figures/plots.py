"""The figures of runs: what data each one needs, which question it answers, and how its numbers were counted.

Scores with their intervals; errors by class, by place in the text and by its length; pairs of classes; votes that
agree.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmark import HIGHER, LOWER, Benchmark
from halluscope.judging.votes import FAILED, OTHER, UNASKED
from halluscope.reporting.figures import charts
from halluscope.reporting.figures.charts import Floats, Point
from halluscope.reporting.page import content
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Item, Shown
from halluscope.reporting.tables import Values, is_defined
from halluscope.sanitize import one_line
from halluscope.stats.paired import holm
from halluscope.stats.ratios import fisher, kappa, wilson

MOST_CLASSES, MOST_PAIRS = 20, 15  # rows of a figure
MOST_MODELS = 12  # models in a plane, where they need no rows

FEWEST = 5  # images in which one class is invented while another is present
BY_CHANCE = 0.05  # the greatest probability that any of the shown pairs stands out by chance alone

TENTHS = 10
MIDDLES = [(tenth + 0.5) / TENTHS for tenth in range(TENTHS)]
PLACES = {0.0: "start", 0.5: "middle", 1.0: "end"}
MENTIONS = ("bad", "good")  # the kinds of marks that say whether a mention is right

BINS, ROWS_OF_A_BIN = 8, 10  # the most bins of lengths, and the fewest rows per bin, on average
UNJUDGED = frozenset({"unreadable", "unjudged"})  # errors of a row that could not be judged

WILSON = "Thin lines are Wilson's intervals at 95 %, which assume that the counts are independent."
ENDS = "Thin lines are the intervals of the result, if it has any."

Runs = Sequence[Shown]
Votes = NDArray[np.int8]  # codes of votes, of shape [items, classes, voters]


class Plot(NamedTuple):
    """A figure that can be drawn."""

    title: str  # the question that it answers
    caption: str
    runs: Runs  # those that are drawn
    draw: Callable[[], charts.Drawing]
    name: str = ""

    def saved(self, style: str) -> bytes:
        """Return the content of a file in one of `charts.FORMATS`, the same each time."""
        return charts.saved(self.draw, self.name, style, self.title)

    @property
    def on_page(self) -> content.Figure:
        """The figure as a page holds it."""
        return content.Figure(self.name, self.title, self.caption, self.saved("svg").decode("utf-8"))


def figures(runs: Runs, benchmark: Benchmark) -> list[content.Figure]:
    """Return the figures of runs (the best first) for a page; figures whose data are missing are left out."""
    return [plot.on_page for plot in able([*FIGURES], runs, benchmark)[0]]


def scores(name: str, result: Values, benchmark: Benchmark) -> content.Figure | None:
    """Return a figure of the scores of the principal score's kind, shares or points; None if none is defined."""
    points = benchmark.is_points(benchmark.principal)
    alike = [
        one for one in benchmark.scores if benchmark.is_points(one) == points and has_scores(result, [one])
    ]
    panels = {"": {name: [score(result, one) for one in alike]}}
    plot = Plot("What are the scores?", ENDS, (), lambda: charts.rows(alike, panels, not points), "scores")
    return plot.on_page if alike else None


def able(names: Sequence[str], runs: Runs, benchmark: Benchmark) -> tuple[list[Plot], dict[str, str]]:
    """Return the figures that can be drawn, and why the others cannot: name -> reason."""
    plots: list[Plot] = []
    lacking: dict[str, str] = {}
    for name in dict.fromkeys(names):
        found = FIGURES[name](runs, benchmark)
        if isinstance(found, str):
            lacking[name] = found
        else:
            plots.append(found._replace(name=name, caption=found.caption + _about(found.runs, runs)))
    return plots, lacking


def _about(drawn: Runs, runs: Runs) -> str:
    more = ""
    if len(drawn) < len(runs):
        names = ", ".join(one_line(run.name, 80) for run in drawn)
        more = f" Of {len(runs)} models, these are drawn: {names}."
    if len({frozenset(item.id for item in run.items) for run in drawn}) > 1:
        sizes = ", ".join(f"{one_line(run.name, 80)} {len(run.items):,}" for run in drawn)
        more += f" The models have different rows: {sizes}."
    return more


def _better(benchmark: Benchmark, score: str) -> str:
    way = {HIGHER: "Higher", LOWER: "Lower", None: "Neither higher nor lower"}[benchmark.direction(score)]
    return f"{way} {score} is better."


# Scores. Each function of a figure returns the figure, or what the runs lack for it.


def score(result: Values, name: str) -> Point:
    """Return a score of a result."""
    return _point(result.get(name), result.get("interval", {}).get(name))


def _point(value: Any, ends: Any) -> Point:
    numbers = (value, *(ends or (None, None)))
    value, low, high = (float(one) if isinstance(one, int | float) else math.nan for one in numbers)
    return Point(value, low, high)


def has_scores(result: Values, names: Sequence[str]) -> bool:
    return all(is_defined(result.get(name)) for name in names)


def two_scores(benchmark: Benchmark, results: Sequence[Values]) -> Sequence[str]:
    """Return two scores that several results have; () if there are none.

    They are precision and recall, if possible of the principal score's kind ("f0.5_cls": "precision_cls"); else the
    principal score and recall, or the principal score and the next one.
    """
    first = benchmark.principal
    directed = [name for name, score in benchmark.scores.items() if score.better and "/" not in name]
    pairs = [(f"precision{end}", f"recall{end}") for end in ("_" + first.rpartition("_")[2], "")]
    pairs += [(first, name) for name in sorted(directed, key=lambda name: name != "recall") if name != first]
    return next((pair for pair in pairs if sum(has_scores(one, pair) for one in results) > 1), ())


def _scores(runs: Runs, benchmark: Benchmark) -> Plot | str:
    names = two_scores(benchmark, [run.scores for run in runs])
    if not names:
        return "no two models both have two scores"
    drawn = [run for run in runs if has_scores(run.scores, names)][:MOST_MODELS]
    up, across = names
    plane = {run.name: (score(run.scores, across), score(run.scores, up)) for run in drawn}
    shares = (not benchmark.is_points(across), not benchmark.is_points(up))
    return Plot(
        f"Which models are good at {up}, and which at {across}?",
        f"{_better(benchmark, up)} {_better(benchmark, across)} {ENDS}",
        drawn,
        lambda: charts.plane(plane, (across, up), shares),
    )


def groups(benchmark: Benchmark, results: Sequence[Values]) -> tuple[str, list[dict[str, Point]]]:
    """Return a score that results have by groups, if possible the principal one, and for each result: group -> score.

    Groups for which no result has a score are left out; the list is empty if no score has two groups.
    """
    for name in (benchmark.principal, *benchmark.scores):
        each = []
        for result in results:
            ends = _grouped(result.get("interval", {}), name)
            own = {group: _point(value, ends.get(group)) for group, value in _grouped(result, name).items()}
            each.append(defaultdict(Point, own))
        order = [*dict.fromkeys(chain.from_iterable(each))]
        known = [group for group in order if not all(math.isnan(one[group].value) for one in each)]
        if len(known) > 1:
            return name, [{group: one[group] for group in known} for one in each]
    return benchmark.principal, []


def _grouped(result: Values, name: str) -> dict[str, Any]:
    """Return a score by groups, from keys like "accuracy/chart", or from tables like {"chart": {"accuracy": ...}}."""
    grouped = {
        key.removeprefix(f"{name}/"): value for key, value in result.items() if key.startswith(f"{name}/")
    }
    for part in result.values():
        for group, scores in part.items() if isinstance(part, Mapping) else ():
            if isinstance(scores, Mapping) and name in scores:
                grouped[group] = scores[name]
    return grouped


def _groups(runs: Runs, benchmark: Benchmark) -> Plot | str:
    drawn = runs[: charts.MODELS]
    name, each = groups(benchmark, [run.scores for run in drawn])
    if not each:
        return "the scores have no groups"
    panels = {name: {run.name: [*scores.values()] for run, scores in zip(drawn, each, strict=True)}}
    return Plot(
        f"In which groups is {name} better or worse?",
        f"{_better(benchmark, name)} {ENDS}",
        drawn,
        lambda: charts.rows([*map(charts.name, each[0])], panels, not benchmark.is_points(name)),
    )


# Classes


def share(count: int, total: int) -> Point:
    """Return a count out of a total, with Wilson's interval at 0.95; NaN if the total is 0.

    >>> [round(number, 3) for number in share(0, 10)]
    [0.0, 0.0, 0.278, 0, 10]
    """
    if not total:
        return Point()
    return Point(count / total, *wilson(count, total), count, total)


def of_classes(items: Iterable[Item]) -> dict[str, tuple[int, ...]]:
    """Return how often each class was found, hallucinated and missed, by name, without classes that never were."""
    seen = Counter(pair for item in items for pair in item.classes.items())
    outcomes = (FOUND, HALLUCINATED, MISSED)
    names = sorted({name for name, outcome in seen if outcome in outcomes})
    return {name: tuple(seen[name, outcome] for outcome in outcomes) for name in names}


def worst(models: Sequence[Mapping[str, Sequence[int]]], most: int) -> list[str]:
    """Return the classes with the most errors over all models, the worst first."""
    errors: Counter[str] = Counter()
    for counts in models:
        errors.update({name: sum(wrong) for name, (_, *wrong) in counts.items()})
    return sorted(errors, key=lambda name: (-errors[name], name))[:most]


def _classes(runs: Runs, _: Benchmark) -> Plot | str:
    drawn = runs[: charts.MODELS]
    models = {run.name: of_classes(run.items) for run in drawn}
    known = {*chain.from_iterable(models.values())}
    if not known:
        return "the rows do not say which classes were found, hallucinated or missed"
    names = worst([*models.values()], MOST_CLASSES)
    rows = {model: [counts.get(name, (0, 0, 0)) for name in names] for model, counts in models.items()}
    panels = {
        "precision: mentions that are right": {
            model: [share(found, found + wrong) for found, wrong, _ in each] for model, each in rows.items()
        },
        "recall: present classes mentioned": {
            model: [share(found, found + missed) for found, _, missed in each] for model, each in rows.items()
        },
    }
    if not any(missed for counts in models.values() for *_, missed in counts.values()):
        panels.popitem()
    which = (
        f"The {len(names)} of {len(known):,} classes with the most errors"
        if len(names) < len(known)
        else f"All {len(known)} classes"
    )
    return Plot(
        "Which classes are wrong most often?",
        f"{which}, the class with the most errors on top. An error is a class that was mentioned but is absent, or "
        f"present but not mentioned. A class counts once per row. {WILSON}",
        drawn,
        lambda: charts.rows([*map(charts.name, names)], panels),
    )


# Pairs of classes


class Together(NamedTuple):
    """A class that was invented, and a class that is in the image."""

    invented: str
    beside: str
    when: Point  # of the images in which the first class was invented, those with the second
    otherwise: Point  # of all images without the first class, those with the second

    @property
    def times(self) -> float:
        """How many times as often the second class is present when the first is invented."""
        return self.when.value / self.otherwise.value


def together(items: Iterable[Item], fewest: int = FEWEST) -> list[Together]:
    """Return what is in the image unusually often when a class is invented, the most significant pair first.

    Fisher's exact test, with Holm's correction for all pairs, in the images without the invented class. Only classes
    that were invented, or are present, in enough images are paired.
    """
    # all; by class, where it is, where it is said
    images, has, says = set(), defaultdict(set), defaultdict(set)
    for item in items:
        image = (item.image is None, item.image or item.id)
        images.add(image)
        for name, outcome in item.classes.items():
            if outcome in (FOUND, MISSED):
                has[name].add(image)
            elif outcome == HALLUCINATED:
                says[name].add(image)
    present = [name for name in sorted(has) if len(has[name]) >= fewest]
    pairs, chances = [], []
    for one in sorted(says):
        invented, without = says[one] - has[one], images - has[one]
        for other in present if len(invented) >= fewest else ():
            if one != other:
                counts = len(invented & has[other]), len(invented), len(without & has[other]), len(without)
                pairs.append(Together(one, other, share(*counts[:2]), share(*counts[2:])))
                chances.append(fisher(*counts) if counts[0] >= fewest else 1.0)
    significant = [(p, one) for p, one in zip(holm(chances), pairs, strict=True) if p < BY_CHANCE]
    return [one for _, one in sorted(significant, key=lambda pair: (pair[0], -pair[1].times))]


def _together(runs: Runs, _: Benchmark) -> Plot | str:
    found = together(item for run in runs for item in run.items)
    if not found:
        return f"no two classes occur together often enough (at least {FEWEST} times) to tell"
    pairs = sorted(found[:MOST_PAIRS], key=lambda one: -one.times)
    labels = [
        f"{charts.name(one.invented)}, with {charts.name(one.beside)}:\n"
        f"{one.times:.3g} × ({one.when.part:,} of {one.when.total:,})"
        for one in pairs
    ]
    which = (
        f"the {len(pairs)} most significant of {len(found):,} pairs"
        if len(pairs) < len(found)
        else "all pairs"
    )
    several = "An image counts if any of the models invented the class. " if len(runs) > 1 else ""
    series = {
        "where the first is invented": [one.when for one in pairs],
        "without the first": [one.otherwise for one in pairs],
    }
    return Plot(
        "What is in the image when a class is invented?",
        "Each row has a class that was invented and a class that is in the image. One point is the share of images "
        "with the second class where the first was invented; the other is that share among all images without the "
        "first class. Below the names are the ratio of the two shares and the counts. "
        f"The rows are {which} that occur at least {FEWEST} times, and more often than by chance "
        f"(Fisher's exact test, at {100 * BY_CHANCE:g} % for all pairs together by Holm). {several}{WILSON}",
        runs,
        lambda: charts.rows(labels, {"with the second class": series}),
    )


# Texts


def by_tenth(items: Iterable[Item]) -> list[Point]:
    """Return, for each tenth of the text, the share of the mentions beginning there that are errors."""
    mentions = np.zeros((2, TENTHS), np.int64)
    for item in items:
        for start, _, of, kind in {(m.start, m.end, m.of, m.kind) for m in item.marks if m.kind in MENTIONS}:
            mentions[MENTIONS.index(kind), min(TENTHS - 1, TENTHS * start // len(item.text))] += bool(of)
    return [share(int(bad), int(bad + good)) for bad, good in mentions.T]


def _places(runs: Runs, _: Benchmark) -> Plot | str:
    drawn = runs[: charts.MODELS]
    lines = {run.name: (MIDDLES, by_tenth(run.items)) for run in drawn}
    tenths = [tenth for _, shares in lines.values() for tenth in shares]
    wrong, mentions = sum(tenth.part for tenth in tenths), sum(tenth.total for tenth in tenths)
    if not mentions:
        return "no mentions of classes are marked in the responses"
    if wrong == mentions:
        return "only errors are marked in the responses"
    return Plot(
        "Where in the text are hallucinations?",
        "Each text is cut into tenths of equal length in characters. A point is the share of the mentions beginning in "
        f"a tenth that are wrong ({wrong:,} of {mentions:,} mentions in all). {WILSON}",
        drawn,
        lambda: charts.lines({"mentions that are wrong": lines}, "place in the text", PLACES),
    )


class Length(NamedTuple):
    """Rows whose responses have similar lengths."""

    words: float  # the median number of words of these responses
    rows: Point  # of these rows, those in which a class is hallucinated; or of rows without classes, those with errors
    said: Point  # of the classes that these responses mention, those that are absent


def by_length(items: Iterable[Item]) -> list[Length]:
    """Put rows into bins of similar size by their number of words, the shortest first; equal lengths share a bin.

    Only rows with classes count; if no row has classes, all rows that could be judged.
    """
    known = [item for item in items if item.classes or UNJUDGED.isdisjoint(item.errors)]
    known = [item for item in known if item.classes] or known
    words = np.array([len(item.text.split()) for item in known])
    bins = min(BINS, len(known) // ROWS_OF_A_BIN)
    if bins < 2:
        return []
    edges = np.unique(np.quantile(words, np.arange(1, bins) / bins, method="lower"))
    of, found = np.searchsorted(edges, words, side="right"), []
    for number in np.unique(of):
        here = [known[row] for row in np.flatnonzero(of == number)]
        outcomes = Counter(outcome for item in here for outcome in item.classes.values())
        bad = sum(HALLUCINATED in one.classes.values() if one.classes else bool(one.errors) for one in here)
        said = share(outcomes[HALLUCINATED], outcomes[HALLUCINATED] + outcomes[FOUND])
        found.append(Length(float(np.median(words[of == number])), share(bad, len(here)), said))
    return found


def _lengths(runs: Runs, _: Benchmark) -> Plot | str:
    binned = {run.name: by_length(run.items) for run in runs[: charts.MODELS]}
    models = {model: [*zip(*bins, strict=True)] for model, bins in binned.items() if len(bins) > 1}
    if not models:
        return "there are too few responses, or all have the same length"
    if any(one.total for *_, said in models.values() for one in said):
        title = "Do longer responses hallucinate more?"
        shown = {"responses with a hallucination": 1, "mentioned classes that are absent": 2}
        more = (
            "A longer response has more chances to be wrong, so the right part shows the share of mentioned classes "
            "that are wrong."
        )
    else:
        title = "Are longer responses wrong more often?"
        shown = {"responses with an error": 1}
        more = "Responses that could not be judged are left out."
    panels = {
        name: {model: (bins[0], bins[place]) for model, bins in models.items()}
        for name, place in shown.items()
    }
    return Plot(
        title,
        f"Responses in up to {BINS} bins of similar size, each drawn at its median number of words. {more} {WILSON}",
        [run for run in runs if run.name in models],
        lambda: charts.lines(panels, "words"),
    )


# Votes


def agreement(votes: Votes) -> Floats:
    """Return, for each two voters, the share of equal votes (above the diagonal) and Cohen's kappa (below it).

    A vote that is neither yes nor no counts as a third kind, on which two may agree. Only questions that both were
    asked count. Kappa is NaN if it is undefined, or if votes that could change nothing were not asked for, so that one
    voter's votes decided what the other was asked.
    """
    each = np.where(votes == FAILED, OTHER, votes).reshape(-1, votes.shape[2]).T
    alike = np.full((len(each), len(each)), math.nan)
    for one, other in combinations(range(len(each)), 2):
        both = (each[[one, other]] != UNASKED).all(0)
        first, second = each[one, both], each[other, both]
        alike[one, other] = share(int((first == second).sum()), len(first)).value
        alike[other, one] = kappa(first, second) if both.all() else math.nan
    return alike


def _judges(runs: Runs, _: Benchmark) -> Plot | str:
    voted = [(run, run.votes) for run in runs if run.votes is not None and len(run.voters) > 1]
    if not voted:
        return "no two judges voted"
    voters = voted[0][0].voters
    same = [(run, votes) for run, votes in voted if [*run.voters] == [*voters]]
    votes = np.concatenate([votes.reshape(-1, 1, len(voters)) for _, votes in same])
    alike = agreement(votes)
    if not np.any(alike[np.triu_indices(len(voters), 1)] < 1):
        return "no two votes on the same text and class differ"
    caption = (
        "Each two voters, by their numbers, over all models: above the diagonal how often they vote alike, below it "
        "Cohen's kappa, which corrects for chance. A vote that is neither yes nor no counts as a third kind."
    )
    if np.any(votes == UNASKED):
        caption += (
            " Votes that could change no score were not asked for, so only the other questions are counted, and there "
            "is no kappa; `--ask all` asks for all votes."
        )
    return Plot(
        "Do the judges agree?", caption, [run for run, _ in same], lambda: charts.agreement(voters, alike)
    )


# Name -> figure, in the order of a page.
FIGURES: Mapping[str, Callable[[Runs, Benchmark], Plot | str]] = {
    "scores": _scores,
    "groups": _groups,
    "classes": _classes,
    "places": _places,
    "lengths": _lengths,
    "together": _together,
    "judges": _judges,
}
