"""Finds the figures that can be drawn of runs, and draws them for a page or as files."""

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
        name: the name of the figure.
        title: the question that the figure answers.
        caption: what the figure shows, and how that was counted.
        draw: makes a figure of matplotlib.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], charts.Drawing]

    def saved(self, style: str) -> bytes:
        """Return the content of a file, which is the same each time.

        Args:
            style: one of `files.FORMATS`.

        Raises:
            MissingExtra: without matplotlib.
        """
        with look.look(self.name):
            return files.saved(self.draw(), style, self.title)


def figures(runs: Runs, benchmark: Benchmark) -> list[content.Figure]:
    """Return the figures of runs, for a page; figures whose data are missing are left out.

    Args:
        runs: runs of one benchmark with different names, the best first. If there are more than `look.MODELS`, the
            first ones are drawn, and captions say so.
        benchmark: the benchmark of the runs.

    Raises:
        MissingExtra: without matplotlib.
    """
    plots, _ = able([*FIGURES], runs, benchmark)
    return list(map(_drawn, plots))


def _drawn(plot: Plot) -> content.Figure:
    return content.Figure(plot.name, plot.title, plot.caption, plot.saved("svg").decode("utf-8"))


def scores(name: str, result: results.Result, benchmark: Benchmark) -> content.Figure | None:
    """Return a figure of a result's scores with their intervals: all shares, or all points, as the principal score is.

    Args:
        name: the name of the responses.
        result: the metric's result.
        benchmark: the benchmark of the result.

    Returns:
        The figure; None if no such score is defined.

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
    """Return the figures that can be drawn, and why the others cannot: name -> reason.

    Args:
        names: names in `FIGURES`.
        runs: runs of one benchmark.
        benchmark: the benchmark of the runs.

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
        ValueError: for an unknown name; the message suggests the nearest one.
    """
    if unknown := [name for name in names if name not in FIGURES]:
        near = nearest(unknown[0], [*FIGURES])
        raise ValueError(
            f"There is no figure {brief(unknown[0])}.{near} Expected one of {', '.join(FIGURES)}."
        )
