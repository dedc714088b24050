"""The figures: what data each one needs, which question it answers, and how its numbers were counted."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import HalluscopeError
from halluscope.foreign import one_line
from halluscope.judging.votes import UNASKED
from halluscope.registry import HIGHER, LOWER, Benchmark
from halluscope.reporting.figures import agreement, charts, classes, look, results, texts
from halluscope.reporting.figures.shares import Share
from halluscope.reporting.shown import Shown

MOST_CLASSES, MOST_PAIRS = 20, 15
"""The most rows of a figure."""

MIDDLES = [(tenth + 0.5) / texts.TENTHS for tenth in range(texts.TENTHS)]
PLACES = {0.0: "start", 0.5: "middle", 1.0: "end"}

MOST_MODELS = 12
"""The most models in a plane, where each point is named."""

WILSON = "Thin lines are Wilson's intervals at 95 %, which assume that the counts are independent."

ENDS = "Thin lines are the intervals of the result, if it has any."


class NothingToDraw(HalluscopeError):
    """The runs lack what a figure shows; the message says what."""


Runs = Sequence[Shown]

Answer = tuple[str, str, Callable[[], charts.Drawing]]
"""A title, a caption, and a function that draws."""


def _classes(runs: Runs, _: Benchmark) -> Answer:
    drawn = _first(runs)
    of = {run.name: classes.of_classes(run.items) for run in drawn}
    known = {name for counts in of.values() for name in counts}
    if not known:
        raise NothingToDraw("the rows do not say which classes were found, hallucinated or missed")
    worst = classes.worst([*of.values()], MOST_CLASSES)
    panels = {
        "precision: mentions that are right": _column(of, worst, lambda counts: counts.precision),
    }
    if any(one.missed for counts in of.values() for one in counts.values()):
        panels["recall: present classes mentioned"] = _column(of, worst, lambda counts: counts.recall)
    which = (
        f"The {len(worst)} of {len(known):,} classes with the most errors"
        if len(worst) < len(known)
        else f"All {len(known)} classes"
    )
    caption = (
        f"{which}, the class with the most errors on top. An error is a class that was mentioned but is absent, or "
        f"present but not mentioned. A class counts once per row. {WILSON}"
    )
    return (
        "Which classes are wrong most often?",
        _said(caption, drawn, runs),
        lambda: charts.rows(worst, panels),
    )


def _column(
    of: Mapping[str, Mapping[str, classes.Counts]],
    names: Sequence[str],
    share: Callable[[classes.Counts], Share],
) -> dict[str, list[Share]]:
    return {model: [share(counts.get(name, classes.NONE)) for name in names] for model, counts in of.items()}


def _places(runs: Runs, _: Benchmark) -> Answer:
    drawn = _first(runs)
    of = {run.name: texts.by_tenth(run.items) for run in drawn}
    tenths = [tenth for shares in of.values() for tenth in shares]
    wrong, mentions = sum(tenth.count for tenth in tenths), sum(tenth.total for tenth in tenths)
    if not mentions:
        raise NothingToDraw("no mentions of classes are marked in the responses")
    if wrong == mentions:
        raise NothingToDraw("only errors are marked in the responses")
    panels = {
        "mentions that are wrong": {model: charts.Line(MIDDLES, shares) for model, shares in of.items()}
    }
    caption = (
        "Each text is cut into tenths of equal length in characters. A point is the share of the mentions beginning in "
        f"a tenth that are wrong ({wrong:,} of {mentions:,} mentions in all). {WILSON}"
    )
    title = "Where in the text are hallucinations?"
    return title, _said(caption, drawn, runs), lambda: charts.lines(panels, "place in the text", PLACES)


def _lengths(runs: Runs, _: Benchmark) -> Answer:
    binned = {run.name: texts.by_length(run.items) for run in _first(runs)}
    of = {model: bins for model, bins in binned.items() if len(bins) > 1}
    drawn = [run for run in runs if run.name in of]
    if not of:
        raise NothingToDraw("there are too few responses, or all have the same length")
    rows, said = (_by_words(of, share) for share in (lambda one: one.rows, lambda one: one.said))
    about = f"Responses in up to {texts.BINS} bins of similar size, each drawn at its median number of words."
    if any(one.said.total for bins in of.values() for one in bins):
        title = "Do longer responses hallucinate more?"
        panels = {"responses with a hallucination": rows, "mentioned classes that are absent": said}
        more = (
            "A longer response has more chances to be wrong, so the right part shows the share of mentioned classes "
            "that are wrong."
        )
    else:
        title, more = (
            "Are longer responses wrong more often?",
            "Responses that could not be judged are left out.",
        )
        panels = {"responses with an error": rows}
    caption = f"{about} {more} {WILSON}"
    return title, _said(caption, drawn, runs), lambda: charts.lines(panels, "words")


def _by_words(
    of: Mapping[str, Sequence[texts.Length]], share: Callable[[texts.Length], Share]
) -> dict[str, charts.Line]:
    return {
        model: charts.Line([one.words for one in bins], list(map(share, bins))) for model, bins in of.items()
    }


def _judges(runs: Runs, _: Benchmark) -> Answer:
    voted = [(run, run.votes) for run in runs if run.votes is not None and len(run.voters) > 1]
    if not voted:
        raise NothingToDraw("no two judges voted")
    voters = voted[0][0].voters
    alike = [(run, votes) for run, votes in voted if [*run.voters] == [*voters]][: look.MODELS]
    counts = {run.name: agreement.yeses(votes)[1:] for run, votes in alike}
    said = {model: [Share(many, sum(yes)) for many in yes] for model, yes in counts.items()}
    two = agreement.pairs(np.concatenate([votes.reshape(-1, 1, len(voters)) for _, votes in alike]))
    if all(one.agree.count == one.agree.total for one in two):
        raise NothingToDraw("the judges never disagree where both were asked")
    stopped = any(bool(np.any(votes == UNASKED)) for _, votes in alike)
    caption = (
        "Left: of the questions that all voters were asked and that got a yes, how many voters said yes. Right: each "
        "two voters, by their numbers, over all models: above the diagonal how often they vote alike, below it Cohen's "
        f"kappa, which corrects for chance. A vote that is neither yes nor no counts as a third kind. {WILSON}"
    )
    if stopped:
        caption += (
            " Votes that could change no score were not asked for, so both sides show only the other questions, and "
            "there is no kappa; `--ask all` asks for all votes."
        )
    drawn = [run for run, _ in alike]
    return (
        "Do the judges agree?",
        _said(caption, drawn, runs),
        lambda: charts.votes(
            said,
            voters,
            _matrix(two, voters, lambda one: one.agree.value),
            _matrix(two, voters, lambda one: one.kappa),
        ),
    )


def _matrix(
    two: Sequence[agreement.Two], voters: Sequence[str], value: Callable[[agreement.Two], float]
) -> NDArray[np.float64]:
    table = np.full((len(voters), len(voters)), np.nan)
    for one in two:
        table[one.first, one.second] = table[one.second, one.first] = value(one)
    return table


def _together(runs: Runs, _: Benchmark) -> Answer:
    found = classes.together(item for run in runs for item in run.items)
    if not found:
        raise NothingToDraw(
            f"no two classes occur together often enough (at least {classes.FEWEST} times) to tell"
        )
    pairs = sorted(found[:MOST_PAIRS], key=lambda one: -one.times)
    labels = [f"{look.name(one.invented)}, with {look.name(one.beside)}" for one in pairs]
    told = [f"{one.times:.3g} × ({one.when.count:,} of {one.when.total:,})" for one in pairs]
    which = (
        f"the {len(pairs)} most significant of {len(found):,} pairs"
        if len(pairs) < len(found)
        else "all pairs"
    )
    of = "An image counts if any of the models invented the class. " if len(runs) > 1 else ""
    caption = (
        "Each row has a class that was invented and a class that is in the image. The filled point is the share of "
        "images with the second class where the first was invented; the hollow point is that share among all images "
        "without the first class. At the end of a row are the ratio of the two shares and the counts. "
        f"The rows are {which} that occur at least {classes.FEWEST} times, and more often than by chance "
        f"(Fisher's exact test, at {100 * classes.BY_CHANCE:g} % for all pairs together by Holm). {of}{WILSON}"
    )
    when, usual = [one.when for one in pairs], [one.otherwise for one in pairs]
    title = "What is in the image when a class is invented?"
    return title, _said(caption, runs, runs), lambda: charts.pairs(labels, told, when, usual)


def _scores(runs: Runs, benchmark: Benchmark) -> Answer:
    scored = [run.scores for run in runs]
    names = results.two_scores(benchmark, scored)
    if len(names) < 2:
        raise NothingToDraw("no two models both have two scores")
    drawn = [runs[place] for place in results.having(scored, names)][:MOST_MODELS]
    one, other = names
    points = {run.name: (results.score(run.scores, other), results.score(run.scores, one)) for run in drawn}
    caption = f"{_better(benchmark, one)} {_better(benchmark, other)} {ENDS}"
    labels = (other, one)
    shares = (not benchmark.is_points(other), not benchmark.is_points(one))
    return (
        f"Which models are good at {one}, and which at {other}?",
        _said(caption, drawn, runs),
        lambda: charts.plane(points, labels, shares),
    )


def _groups(runs: Runs, benchmark: Benchmark) -> Answer:
    drawn = _first(runs)
    name, of = results.groups(benchmark, [run.scores for run in drawn])
    if not of:
        raise NothingToDraw("the scores have no groups")
    panels = {name: {run.name: [*scores.values()] for run, scores in zip(drawn, of, strict=True)}}
    caption = f"{_better(benchmark, name)} {ENDS}"
    shares = not benchmark.is_points(name)
    title = f"In which groups is {name} better or worse?"
    return title, _said(caption, drawn, runs), lambda: charts.rows([*of[0]], panels, shares)


FIGURES: Mapping[str, Callable[[Runs, Benchmark], Answer]] = {
    "scores": _scores,
    "groups": _groups,
    "classes": _classes,
    "places": _places,
    "lengths": _lengths,
    "together": _together,
    "judges": _judges,
}
"""Name -> figure, in the order of a page. Each figure raises `NothingToDraw` for runs without its data."""


def _first(runs: Runs) -> Runs:
    return runs[: look.MODELS]


def _said(caption: str, drawn: Runs, runs: Runs) -> str:
    """Return a caption that also says which runs are drawn, if not all are, and whether their rows differ."""
    more = []
    if len(drawn) < len(runs):
        names = ", ".join(one_line(run.name, 80) for run in drawn)
        more.append(f" Of {len(runs)} models, these are drawn: {names}.")
    if len({frozenset(item.id for item in run.items) for run in drawn}) > 1:
        sizes = ", ".join(f"{one_line(run.name, 80)} {len(run.items):,}" for run in drawn)
        more.append(f" The models have different rows: {sizes}.")
    return "".join([caption, *more])


def _better(benchmark: Benchmark, score: str) -> str:
    way = {HIGHER: "Higher", LOWER: "Lower", None: "Neither higher nor lower"}[benchmark.direction(score)]
    return f"{way} {score} is better."
