"""The figures that can be drawn of runs, for a page and as files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halluscope.foreign import brief
from halluscope.options import nearest
from halluscope.registry import Benchmark
from halluscope.reporting.figures import charts, files, look, results
from halluscope.reporting.figures.answers import ENDS, FIGURES, NothingToDraw, Runs
from halluscope.reporting.page import content


@dataclass(frozen=True)
class Plot:
    """A figure that can be drawn.

    Attributes:
        name: of it.
        title: the question that it answers.
        caption: what is to be seen, and how it was counted.
        draw: makes a figure of matplotlib.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], charts.Drawing]

    def saved(self, style: str) -> bytes:
        """The content of a file, the same whenever it is made.

        Args:
            style: one of `files.FORMATS`.

        Raises:
            MissingExtra: without matplotlib.
        """
        with look.look(self.name):
            return files.saved(self.draw(), style, self.title)


def figures(runs: Runs, benchmark: Benchmark) -> list[content.Figure]:
    """The figures of runs, for a page; those whose data are not there are left out.

    Args:
        runs: of one benchmark, no two of one name, the best first. Of more than `look.MODELS` the first are drawn;
            captions say so.
        benchmark: theirs.

    Raises:
        MissingExtra: without matplotlib.
    """
    plots, _ = able([*FIGURES], runs, benchmark)
    return list(map(_drawn, plots))


def _drawn(plot: Plot) -> content.Figure:
    return content.Figure(plot.name, plot.title, plot.caption, plot.saved("svg").decode("utf-8"))


def scores(name: str, result: results.Result, benchmark: Benchmark) -> content.Figure | None:
    """The scores of one result with their intervals, those of the principal one's kind: all shares, or all points.

    There is no figure if none of them is defined.

    Args:
        name: of the responses.
        result: of the metric.
        benchmark: by which it was scored.

    Raises:
        MissingExtra: without matplotlib.
    """
    shares = not benchmark.is_points(benchmark.principal)
    alike = [one for one in benchmark.scores if benchmark.is_points(one) is not shares]
    shown = {one: results.score(result, one) for one in alike if results.having([result], [one])}
    if not shown:
        return None
    panels = {"": {name: [*shown.values()]}}
    plot = Plot("scores", "What are the scores?", ENDS, lambda: charts.rows([*shown], panels, shares))
    return _drawn(plot)


def able(names: Sequence[str], runs: Runs, benchmark: Benchmark) -> tuple[list[Plot], dict[str, str]]:
    """The figures that can be drawn, and of the others why not: name -> reason.

    Args:
        names: of `FIGURES`.
        runs: of one benchmark.
        benchmark: theirs.

    Raises:
        ValueError: as `check`.
    """
    check(names)
    plots: list[Plot] = []
    lacking: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            plots.append(Plot(name, *FIGURES[name](runs, benchmark)))
        except NothingToDraw as error:
            lacking[name] = str(error)
    return plots, lacking


def check(names: Sequence[str]) -> None:
    """Check names of figures.

    Raises:
        ValueError: for a name that no figure has; the message names its neighbour.
    """
    if unknown := [name for name in names if name not in FIGURES]:
        near = nearest(unknown[0], [*FIGURES])
        raise ValueError(f"There is no figure {brief(unknown[0])}.{near} Known are {', '.join(FIGURES)}.")
