"""The kinds of drawings: points in rows, points along a line, points in a plane, votes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halluscope.reporting.figures import look
from halluscope.reporting.figures.shares import Point

Drawing = Any
"""A figure of matplotlib."""

APART = 0.72
"""Of the height of a row, what its points share."""

ROW, POINT = 0.14, 0.08
"""Height of a row, and of each point in it, in inches."""

LABEL = 0.055
"""Between two labels at the end of lines, at least, as a share of the panel's height."""


def rows(
    labels: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[Point]]], shares: bool = True
) -> Drawing:
    """A row per label, and in it a point per model, with its interval.

    Args:
        labels: of the rows, from the top.
        panels: what is drawn side by side -> model -> a point per label.
        shares: whether the values are shares.
    """
    models = [*next(iter(panels.values()))]
    height = 0.8 + len(labels) * (ROW + POINT * len(models))
    figure, axes = look.blank(height, len(panels), sharey=True)
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        for place, points in enumerate(series.values()):
            shift = APART * ((place + 0.5) / len(models) - 0.5)
            _points(panel, points, np.arange(len(labels)) + shift, place)
        _stripes(panel, len(labels))
        _from_zero(panel.xaxis, panel.set_xlim, max(map(_ends, panels.values())), shares)
    axes[0].set_yticks(range(len(labels)), list(map(look.name, labels)))
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    _legend(figure, axes[0], models)
    return figure


def _points(panel: Any, points: Sequence[Point], heights: Any, place: int) -> None:
    """Points at heights, with intervals where they have one."""
    drawn = [(point, y) for point, y in zip(points, heights, strict=True) if not math.isnan(point.value)]
    for point, y in drawn:
        panel.plot([point.low, point.high], [y, y], **look.of_interval(place))
    values, places = [point.value for point, _ in drawn], [y for _, y in drawn]
    panel.plot(values, places, linestyle="none", clip_on=False, zorder=3, **look.of_model(place))


def _stripes(panel: Any, labels: int) -> None:
    """Let each other row stand on a faint ground, that the eye keeps to it."""
    for row in range(1, labels, 2):
        panel.axhspan(row - 0.5, row + 0.5, color=look.INK, alpha=0.05, linewidth=0)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


@dataclass(frozen=True)
class Line:
    """A model's line.

    Attributes:
        x: places, from left to right.
        points: a value for each.
    """

    x: Sequence[float]
    points: Sequence[Point]


def lines(
    panels: Mapping[str, Mapping[str, Line]], across: str, ticks: Mapping[float, str] | None = None
) -> Drawing:
    """Shares along an axis, a line per model, with its interval at each point.

    Args:
        panels: what is drawn side by side -> model -> its line.
        across: what the axis tells.
        ticks: its values that are named, from its beginning to its end; None for numbers that fit.
    """
    figure, axes = look.blank(3.2, len(panels), sharey=False)
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        panel.set_xlabel(across)
        panel.grid(axis="y")
        for place, line in enumerate(series.values()):
            _line(panel, line, place)
        panel.set_xlim(0, None)
        if ticks:
            panel.set_xticks([*ticks], [*ticks.values()])
            panel.set_xlim(min(ticks), max(ticks))
        _from_zero(panel.yaxis, panel.set_ylim, _ends({model: one.points for model, one in series.items()}))
    if len(models := [*next(iter(panels.values()))]) > 1:
        _at_ends(axes[-1], [*panels.values()][-1], models)
    return figure


def _line(panel: Any, line: Line, place: int) -> None:
    drawn = [(x, point) for x, point in zip(line.x, line.points, strict=True) if not math.isnan(point.value)]
    for x, point in drawn:
        panel.plot([x, x], [point.low, point.high], **look.of_interval(place))
    values = [point.value for _, point in drawn]
    panel.plot([x for x, _ in drawn], values, clip_on=False, zorder=3, **look.of_model(place))


def _at_ends(panel: Any, series: Mapping[str, Line], models: Sequence[str]) -> None:
    """Name lines beside their last points, no two names in one place."""
    low, high = panel.get_ylim()
    last = {model: _last(line) for model, line in series.items()}
    tops = spread([(last[model] - low) / (high - low) for model in models], LABEL)
    for place, (model, top) in enumerate(zip(models, tops, strict=True)):
        at = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        panel.annotate(look.name(model), (1.06, top), **at)
        panel.plot([1.03], [top], transform=panel.transAxes, clip_on=False, **look.of_model(place))


def _last(line: Line) -> float:
    defined = [point.value for point in line.points if not math.isnan(point.value)]
    return defined[-1] if defined else 0.0


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Places near those that are wanted, in the same order, and each at least so far from the next.

    >>> [round(place, 3) for place in spread([0.5, 0.5, 0.1], 0.1)]
    [0.45, 0.55, 0.1]
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    groups: list[tuple[float, int]] = []  # the middle of each, and how many it holds
    for place in order:
        middle, size = wanted[place], 1
        while groups and groups[-1][0] + apart * (groups[-1][1] + size) / 2 > middle:
            before, others = groups.pop()
            middle, size = (before * others + middle * size) / (others + size), others + size
        groups.append((middle, size))
    places = [middle + apart * (number - (size - 1) / 2) for middle, size in groups for number in range(size)]
    return [place for _, place in sorted(zip(order, places, strict=True))]


def plane(
    models: Mapping[str, tuple[Point, Point]], names: tuple[str, str], shares: tuple[bool, bool]
) -> Drawing:
    """A point per model, with a cross of its intervals, and its name beside it.

    Args:
        models: name -> what is drawn to the right, and upwards.
        names: of both.
        shares: whether they are shares.
    """
    figure, (panel,) = look.blank(4.6)
    panel.set_xlabel(names[0])
    panel.set_ylabel(names[1])
    panel.grid()
    for place, (x, y) in enumerate(models.values()):
        style = look.of_interval(place)
        panel.plot([x.low, x.high], [y.value, y.value], **style)
        panel.plot([x.value, x.value], [y.low, y.high], **style)
        panel.plot([x.value], [y.value], **look.of_model(place))
    right, up = ([both[axis] for both in models.values()] for axis in (0, 1))
    _from_zero(panel.xaxis, panel.set_xlim, _ends({"": right}), shares[0])
    _from_zero(panel.yaxis, panel.set_ylim, _ends({"": up}), shares[1])
    tops = spread([y.value / panel.get_ylim()[1] for y in up], LABEL / 1.3)
    for model, x, top in zip(models, right, tops, strict=True):
        _beside(panel, look.name(model), x, top)
    return figure


def _beside(panel: Any, label: str, x: Point, top: float) -> None:
    """A label to the right of a point, or to its left where the right half of the panel ends."""
    left = x.value > 0.6 * panel.get_xlim()[1]
    end = min(x.value, x.low) if left else max(x.value, x.high)
    panel.annotate(
        label,
        (x.value if math.isnan(end) else end, top),
        xycoords=("data", "axes fraction"),
        xytext=(-7 if left else 7, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
    )


def votes(said: Mapping[str, Sequence[Point]], voters: Sequence[str], agree: Any, kappa: Any) -> Drawing:
    """How many voters said yes, and each two of them.

    Args:
        said: model -> a share for each number of voters, from 1 on.
        voters: their names.
        agree: the share of answers that two have in common [voters, voters].
        kappa: the same beyond chance.
    """
    height = max(2.6, 0.9 + 0.3 * len(voters))
    figure, (left, right) = look.blank(height, 2, gridspec_kw={"width_ratios": [2, 3]})
    left.set_title("voters that say yes, where one does")
    models = [*said]
    for place, points in enumerate(said.values()):
        shift = APART * ((place + 0.5) / len(models) - 0.5)
        _points(left, points, np.arange(len(points)) + shift, place)
    steps = len(next(iter(said.values())))
    _stripes(left, steps)
    left.set_yticks(range(steps), [f"{many} of {steps}" for many in range(1, steps + 1)])
    left.set_ylim(steps - 0.5, -0.5)
    _from_zero(left.xaxis, left.set_xlim, 1.0)
    _legend(figure, left, models)
    _matrix(right, voters, agree, kappa)
    return figure


def _matrix(panel: Any, voters: Sequence[str], agree: Any, kappa: Any) -> None:
    """Above the diagonal how often two agree, below it how far beyond chance."""
    panel.set_title("above: answers alike, below: kappa")
    many = len(voters)
    panel.set_xlim(-0.5, many - 0.5)
    panel.set_ylim(many - 0.5, -0.5)
    for row in range(many):
        for column in range(many):
            if row != column:
                value = (agree if row < column else kappa)[row, column]
                _cell(panel, row, column, value, ".0%" if row < column else ".2f")
    panel.set_yticks(range(many), [f"{look.name(voter)}  {number}" for number, voter in enumerate(voters, 1)])
    panel.set_xticks(range(many), [str(number) for number in range(1, many + 1)])
    panel.tick_params(length=0)
    for side in ("left", "bottom"):
        panel.spines[side].set_visible(False)


def _cell(panel: Any, row: int, column: int, value: float, form: str) -> None:
    """A number on a ground that is the stronger the greater it is."""
    from matplotlib.patches import Rectangle

    undefined = math.isnan(value)
    depth = 0.0 if undefined else 0.5 * min(max(value, 0.0), 1.0)
    ground = Rectangle(
        (column - 0.48, row - 0.47), 0.96, 0.94, color=look.COLOURS[0], alpha=depth, linewidth=0
    )
    panel.add_patch(ground)
    panel.text(column, row, "-" if undefined else format(value, form), ha="center", va="center")


def pairs(
    labels: Sequence[str], told: Sequence[str], when: Sequence[Point], usual: Sequence[Point]
) -> Drawing:
    """Two shares in each row, and what they come to in words.

    Args:
        labels: of the rows, from the top.
        told: what stands at the end of each.
        when: the shares that stand out.
        usual: the shares otherwise.
    """
    figure, (panel,) = look.blank(0.8 + 0.24 * len(labels))
    heights = np.arange(len(labels))
    for y, one, other in zip(heights, when, usual, strict=True):
        panel.plot([other.value, one.value], [y, y], color=look.INK, alpha=look.FAINT, linewidth=1)
    hollow = {"markerfacecolor": "none", "markeredgecolor": look.INK, "clip_on": False}
    panel.plot([one.value for one in usual], heights, "o", **hollow)
    _points(panel, when, heights, 0)
    for y, words in zip(heights, told, strict=True):
        panel.annotate(
            words, (1.03, y), xycoords=("axes fraction", "data"), va="center", annotation_clip=False
        )
    _stripes(panel, len(labels))
    panel.set_yticks(heights, list(labels))
    panel.set_ylim(len(labels) - 0.5, -0.5)
    _from_zero(panel.xaxis, panel.set_xlim, 1.0)
    return figure


def _ends(series: Mapping[str, Sequence[Point]]) -> float:
    """The highest that is drawn."""
    highest = [high for points in series.values() for one in points for high in (one.value, one.high)]
    return max((high for high in highest if not math.isnan(high)), default=1.0)


def _from_zero(axis: Any, limit: Any, high: float, shares: bool = True) -> None:
    """An axis that begins at 0, and ends above all that is drawn; shares in percent, and no further than 100 %."""
    from matplotlib.ticker import MaxNLocator

    limit(0, min(1.0, high * 1.08) if shares else high * 1.08)
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if shares:
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")


def _legend(figure: Any, panel: Any, models: Sequence[str]) -> None:
    """Name several models above all, in their order."""
    if len(models) > 1:
        handles = [
            panel.plot([], [], linestyle="none", **look.of_model(place))[0] for place in range(len(models))
        ]
        names = [look.name(model) for model in models]
        figure.legend(handles, names, loc="outside upper left", ncols=3, handletextpad=0.2, columnspacing=1.2)
