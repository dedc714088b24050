"""The figures of runs: what data each one needs, which question it answers, and how its numbers were counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halluscope.errors import HalluscopeError
from halluscope.judging.votes import UNASKED
from halluscope.options import nearest
from halluscope.registry import HIGHER, LOWER, Benchmark
from halluscope.reporting.figures import charts, counts
from halluscope.reporting.figures.counts import Share
from halluscope.reporting.page import content
from halluscope.reporting.report_items import Shown
from halluscope.sanitize import one_line, short_repr

MOST_CLASSES, MOST_PAIRS = 20, 15  # rows of a figure
MOST_MODELS = 12  # models in a plane, where each point is named

MIDDLES = [(tenth + 0.5) / counts.TENTHS for tenth in range(counts.TENTHS)]
PLACES = {0.0: "start", 0.5: "middle", 1.0: "end"}

WILSON = "Thin lines are Wilson's intervals at 95 %, which assume that the counts are independent."
ENDS = "Thin lines are the intervals of the result, if it has any."

Runs = Sequence[Shown]


class NothingToDraw(HalluscopeError):
    """The runs lack what a figure shows; the message says what."""


class Answer(NamedTuple):
    """What a figure shows."""

    title: str  # the question that it answers
    caption: str
    runs: Runs  # those that are drawn
    draw: Callable[[], charts.Drawing]


@dataclass(frozen=True)
class Plot:
    """A figure that can be drawn."""

    name: str
    title: str
    caption: str
    draw: Callable[[], charts.Drawing]

    def saved(self, format: str) -> bytes:
        """Return the content of a file in one of `charts.FORMATS`, the same each time."""
        with charts.settings(self.name):
            return charts.saved(self.draw(), format, self.title)

    @property
    def on_page(self) -> content.Figure:
        """The figure as a page holds it."""
        return content.Figure(self.name, self.title, self.caption, self.saved("svg").decode("utf-8"))


def figures(runs: Runs, benchmark: Benchmark) -> list[content.Figure]:
    """Return the figures of runs (the best first) for a page; figures whose data are missing are left out."""
    return [plot.on_page for plot in able([*FIGURES], runs, benchmark)[0]]


def scores(name: str, result: counts.Result, benchmark: Benchmark) -> content.Figure | None:
    """Return a figure of the scores of the principal score's kind, shares or points; None if none is defined."""
    shares = not benchmark.is_points(benchmark.principal)
    alike = [one for one in benchmark.scores if benchmark.is_points(one) is not shares]
    shown = {one: counts.score(result, one) for one in alike if counts.having([result], [one])}
    if not shown:
        return None
    panels = {"": {name: [*shown.values()]}}
    return Plot("scores", "What are the scores?", ENDS, lambda: charts.rows([*shown], panels, shares)).on_page


def able(names: Sequence[str], runs: Runs, benchmark: Benchmark) -> tuple[list[Plot], dict[str, str]]:
    """Return the figures that can be drawn, and why the others cannot: name -> reason."""
    check(names)
    plots: list[Plot] = []
    lacking: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            title, caption, drawn, draw = FIGURES[name](runs, benchmark)
            plots.append(Plot(name, title, caption + _about(drawn, runs), draw))
        except NothingToDraw as error:
            lacking[name] = str(error)
    return plots, lacking


def check(names: Sequence[str]) -> None:
    """Check that figures of these names exist."""
    if unknown := [name for name in names if name not in FIGURES]:
        near = nearest(unknown[0], [*FIGURES])
        raise ValueError(
            f"There is no figure {short_repr(unknown[0])}.{near} Expected one of {', '.join(FIGURES)}."
        )


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


# The figures. Each raises `NothingToDraw` for runs without its data.


def _scores(runs: Runs, benchmark: Benchmark) -> Answer:
    scored = [run.scores for run in runs]
    names = counts.two_scores(benchmark, scored)
    if len(names) < 2:
        raise NothingToDraw("no two models both have two scores")
    drawn = [runs[index] for index in counts.having(scored, names)][:MOST_MODELS]
    up, across = names
    plane = {run.name: (counts.score(run.scores, across), counts.score(run.scores, up)) for run in drawn}
    shares = (not benchmark.is_points(across), not benchmark.is_points(up))
    return Answer(
        f"Which models are good at {up}, and which at {across}?",
        f"{_better(benchmark, up)} {_better(benchmark, across)} {ENDS}",
        drawn,
        lambda: charts.plane(plane, (across, up), shares),
    )


def _groups(runs: Runs, benchmark: Benchmark) -> Answer:
    drawn = runs[: charts.MODELS]
    name, each = counts.groups(benchmark, [run.scores for run in drawn])
    if not each:
        raise NothingToDraw("the scores have no groups")
    panels = {name: {run.name: [*scores.values()] for run, scores in zip(drawn, each, strict=True)}}
    return Answer(
        f"In which groups is {name} better or worse?",
        f"{_better(benchmark, name)} {ENDS}",
        drawn,
        lambda: charts.rows([*each[0]], panels, not benchmark.is_points(name)),
    )


def _classes(runs: Runs, _: Benchmark) -> Answer:
    drawn = runs[: charts.MODELS]
    models = {run.name: counts.of_classes(run.items) for run in drawn}
    known = {name for classes in models.values() for name in classes}
    if not known:
        raise NothingToDraw("the rows do not say which classes were found, hallucinated or missed")
    worst = counts.worst([*models.values()], MOST_CLASSES)

    def column(share: Callable[[counts.Counts], Share]) -> dict[str, list[Share]]:
        return {
            model: [share(classes.get(name, counts.Counts())) for name in worst]
            for model, classes in models.items()
        }

    panels = {"precision: mentions that are right": column(lambda one: one.precision)}
    if any(one.missed for classes in models.values() for one in classes.values()):
        panels["recall: present classes mentioned"] = column(lambda one: one.recall)
    which = (
        f"The {len(worst)} of {len(known):,} classes with the most errors"
        if len(worst) < len(known)
        else f"All {len(known)} classes"
    )
    return Answer(
        "Which classes are wrong most often?",
        f"{which}, the class with the most errors on top. An error is a class that was mentioned but is absent, or "
        f"present but not mentioned. A class counts once per row. {WILSON}",
        drawn,
        lambda: charts.rows(worst, panels),
    )


def _places(runs: Runs, _: Benchmark) -> Answer:
    drawn = runs[: charts.MODELS]
    models = {run.name: counts.by_tenth(run.items) for run in drawn}
    tenths = [tenth for shares in models.values() for tenth in shares]
    wrong, mentions = sum(tenth.count for tenth in tenths), sum(tenth.total for tenth in tenths)
    if not mentions:
        raise NothingToDraw("no mentions of classes are marked in the responses")
    if wrong == mentions:
        raise NothingToDraw("only errors are marked in the responses")
    lines = {model: charts.Line(MIDDLES, shares) for model, shares in models.items()}
    return Answer(
        "Where in the text are hallucinations?",
        "Each text is cut into tenths of equal length in characters. A point is the share of the mentions beginning in "
        f"a tenth that are wrong ({wrong:,} of {mentions:,} mentions in all). {WILSON}",
        drawn,
        lambda: charts.lines({"mentions that are wrong": lines}, "place in the text", PLACES),
    )


def _lengths(runs: Runs, _: Benchmark) -> Answer:
    binned = {run.name: counts.by_length(run.items) for run in runs[: charts.MODELS]}
    models = {model: bins for model, bins in binned.items() if len(bins) > 1}
    if not models:
        raise NothingToDraw("there are too few responses, or all have the same length")

    def by_words(share: Callable[[counts.Length], Share]) -> dict[str, charts.Line]:
        return {
            model: charts.Line([one.words for one in bins], list(map(share, bins)))
            for model, bins in models.items()
        }

    rows, said = by_words(lambda one: one.rows), by_words(lambda one: one.said)
    if any(one.said.total for bins in models.values() for one in bins):
        title = "Do longer responses hallucinate more?"
        panels = {"responses with a hallucination": rows, "mentioned classes that are absent": said}
        more = (
            "A longer response has more chances to be wrong, so the right part shows the share of mentioned classes "
            "that are wrong."
        )
    else:
        title = "Are longer responses wrong more often?"
        panels = {"responses with an error": rows}
        more = "Responses that could not be judged are left out."
    return Answer(
        title,
        f"Responses in up to {counts.BINS} bins of similar size, each drawn at its median number of words. {more} "
        f"{WILSON}",
        [run for run in runs if run.name in models],
        lambda: charts.lines(panels, "words"),
    )


def _together(runs: Runs, _: Benchmark) -> Answer:
    found = counts.together(item for run in runs for item in run.items)
    if not found:
        raise NothingToDraw(
            f"no two classes occur together often enough (at least {counts.FEWEST} times) to tell"
        )
    pairs = sorted(found[:MOST_PAIRS], key=lambda one: -one.times)
    labels = [f"{charts.name(one.invented)}, with {charts.name(one.beside)}" for one in pairs]
    ends = [f"{one.times:.3g} × ({one.when.count:,} of {one.when.total:,})" for one in pairs]
    which = (
        f"the {len(pairs)} most significant of {len(found):,} pairs"
        if len(pairs) < len(found)
        else "all pairs"
    )
    several = "An image counts if any of the models invented the class. " if len(runs) > 1 else ""
    return Answer(
        "What is in the image when a class is invented?",
        "Each row has a class that was invented and a class that is in the image. The filled point is the share of "
        "images with the second class where the first was invented; the hollow point is that share among all images "
        "without the first class. At the end of a row are the ratio of the two shares and the counts. "
        f"The rows are {which} that occur at least {counts.FEWEST} times, and more often than by chance "
        f"(Fisher's exact test, at {100 * counts.BY_CHANCE:g} % for all pairs together by Holm). {several}{WILSON}",
        runs,
        lambda: charts.pairs(labels, ends, [one.when for one in pairs], [one.otherwise for one in pairs]),
    )


def _judges(runs: Runs, _: Benchmark) -> Answer:
    voted = [(run, run.votes) for run in runs if run.votes is not None and len(run.voters) > 1]
    if not voted:
        raise NothingToDraw("no two judges voted")
    voters = voted[0][0].voters
    alike = [(run, votes) for run, votes in voted if [*run.voters] == [*voters]][: charts.MODELS]
    yeses = {run.name: counts.yeses(votes)[1:] for run, votes in alike}
    said = {model: [Share(many, sum(each)) for many in each] for model, each in yeses.items()}
    pairs = counts.pairs(np.concatenate([votes.reshape(-1, 1, len(voters)) for _, votes in alike]))
    if all(one.agree.count == one.agree.total for one in pairs):
        raise NothingToDraw("no two votes on the same text and class differ")
    agree, kappa = np.full((2, len(voters), len(voters)), np.nan)
    for one in pairs:
        for at in ((one.first, one.second), (one.second, one.first)):
            agree[at], kappa[at] = one.agree.value, one.kappa
    caption = (
        "Left: of the questions that all voters were asked and that got a yes, how many voters said yes. Right: each "
        "two voters, by their numbers, over all models: above the diagonal how often they vote alike, below it Cohen's "
        f"kappa, which corrects for chance. A vote that is neither yes nor no counts as a third kind. {WILSON}"
    )
    if any(bool(np.any(votes == UNASKED)) for _, votes in alike):
        caption += (
            " Votes that could change no score were not asked for, so both sides show only the other questions, and "
            "there is no kappa; `--ask all` asks for all votes."
        )
    return Answer(
        "Do the judges agree?",
        caption,
        [run for run, _ in alike],
        lambda: charts.votes(said, voters, agree, kappa),
    )


# Name -> figure, in the order of a page.
FIGURES: Mapping[str, Callable[[Runs, Benchmark], Answer]] = {
    "scores": _scores,
    "groups": _groups,
    "classes": _classes,
    "places": _places,
    "lengths": _lengths,
    "together": _together,
    "judges": _judges,
}
