"""Draws each kind of chart: points in rows, lines, points in a plane, votes, and two shares per row."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.reporting.figures import style
from halluscope.reporting.figures.points import Point

Drawing = Any  # a figure of matplotlib

Floats = NDArray[np.float64]

APART = 0.72  # the share of a row's height in which its points are drawn

# Heights in inches: of everything around the rows, of a row, and of each point in a row.
AROUND, ROW, POINT = 0.85, 0.14, 0.08

# The least distance between two labels at the ends of lines, as a share of the panel's height.
LABEL = 0.055

FREE = 1.08  # the end of an axis, as a multiple of the greatest value that is drawn


def rows(
    labels: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[Point]]], shares: bool = True
) -> Drawing:
    """Draw a row per label, with a point and its interval per model."""
    models = [*next(iter(panels.values()))]
    height = AROUND + len(labels) * (ROW + POINT * len(models))
    figure, axes = style.blank(height, len(panels), sharey=True)
    highest = _highest(points for series in panels.values() for points in series.values())
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        _in_rows(panel, [*series.values()])
        _lay_rows(panel, list(map(style.name, labels)))
        _from_zero(panel.xaxis, panel.set_xlim, highest, shares)
    _legend(figure, axes[0], models)
    return figure


def _in_rows(panel: Any, series: Sequence[Sequence[Point]]) -> None:
    """Draw the points of each model, a little apart from those of other models."""
    for index, points in enumerate(series):
        shift = APART * ((index + 0.5) / len(series) - 0.5)
        _points(panel, points, np.arange(len(points)) + shift, index)


def _points(panel: Any, points: Sequence[Point], heights: NDArray[Any], index: int) -> None:
    low, value, high = _numbers(points)
    panel.hlines(heights, low, high, **style.of_interval(index))
    panel.plot(value, heights, linestyle="none", clip_on=False, zorder=3, **style.of_model(index))


def _lay_rows(panel: Any, labels: Sequence[str]) -> None:
    """Name the rows from the top; every second row gets a faint background to guide the eye."""
    for row in range(1, len(labels), 2):
        panel.axhspan(row - 0.5, row + 0.5, color=style.INK, alpha=0.05, linewidth=0)
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


@dataclass(frozen=True)
class Line:
    """A model's line."""

    x: Sequence[float]  # places, from left to right
    points: Sequence[Point]  # a point for each place


def lines(
    panels: Mapping[str, Mapping[str, Line]], across: str, ticks: Mapping[float, str] | None = None
) -> Drawing:
    """Draw shares along an axis, with a line per model and an interval at each point."""
    figure, axes = style.blank(3.2, len(panels))
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        panel.set_xlabel(across)
        panel.grid(axis="y")
        for index, line in enumerate(series.values()):
            _line(panel, line, index)
        _lay_across(panel, ticks)
        _from_zero(panel.yaxis, panel.set_ylim, _highest(line.points for line in series.values()))
    if len(series) > 1:
        _at_ends(panel, series)
    return figure


def _line(panel: Any, line: Line, index: int) -> None:
    low, value, high = _numbers(line.points)
    panel.vlines(line.x, low, high, **style.of_interval(index))
    defined = ~np.isnan(value)
    panel.plot(np.array(line.x)[defined], value[defined], clip_on=False, zorder=3, **style.of_model(index))


def _lay_across(panel: Any, ticks: Mapping[float, str] | None) -> None:
    panel.set_xlim(0, None)
    if ticks:
        panel.set_xticks([*ticks], [*ticks.values()])
        panel.set_xlim(0, max(ticks))


def _at_ends(panel: Any, series: Mapping[str, Line]) -> None:
    """Name lines next to their last points, without overlapping names."""
    tops = spread([_last(line) / panel.get_ylim()[1] for line in series.values()], LABEL)
    for index, (model, top) in enumerate(zip(series, tops, strict=True)):
        panel.plot([1.04], [top], transform=panel.transAxes, clip_on=False, **style.of_model(index))
        panel.annotate(style.name(model), (1.07, top), **_free("axes fraction"))


def _last(line: Line) -> float:
    defined = [point.value for point in line.points if not math.isnan(point.value)]
    return defined[-1] if defined else 0.0


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Return places near the wanted ones, in the same order, each at least `apart` from the next.

    >>> [round(place, 3) for place in spread([0.5, 0.5, 0.1], 0.1)]
    [0.45, 0.55, 0.1]
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    groups: list[tuple[float, int]] = []  # the middle of each group, and how many places it holds
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
    """Draw a point per model, with its two intervals as a cross, and its name next to it."""
    figure, (panel,) = style.blank(4.6)
    panel.set(xlabel=names[0], ylabel=names[1])
    panel.grid()
    right, up = ([both[axis] for both in models.values()] for axis in (0, 1))
    _from_zero(panel.xaxis, panel.set_xlim, _highest([right]), shares[0])
    _from_zero(panel.yaxis, panel.set_ylim, _highest([up]), shares[1])
    tops = spread([y.value / panel.get_ylim()[1] for y in up], LABEL / 1.3)
    for index, (model, x, y, top) in enumerate(zip(models, right, up, tops, strict=True)):
        panel.hlines([y.value], [x.low], [x.high], **style.of_interval(index))
        panel.vlines([x.value], [y.low], [y.high], **style.of_interval(index))
        panel.plot([x.value], [y.value], clip_on=False, zorder=3, **style.of_model(index))
        _beside(panel, style.name(model), x, top)
    return figure


def _beside(panel: Any, label: str, x: Point, top: float) -> None:
    """Put a label to the right of a point, or to its left if there is more room."""
    left = x.value > 0.6 * panel.get_xlim()[1]
    ends = [end for end in (x.low, x.value, x.high) if not math.isnan(end)]
    panel.annotate(
        label,
        (min(ends) if left else max(ends), top),
        xytext=(-7 if left else 7, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        **_free(("data", "axes fraction")),
    )


def votes(
    said: Mapping[str, Sequence[Point]], voters: Sequence[str], agree: Floats, kappa: Floats
) -> Drawing:
    """Draw how many voters said yes, and how each pair of voters agrees."""
    many = len(voters)
    height = max(2.6, AROUND + 0.3 * many)
    figure, (left, right) = style.blank(height, 2, gridspec_kw={"width_ratios": [2, 3]})
    left.set_title("voters that say yes, if any does")
    _in_rows(left, [*said.values()])
    _lay_rows(left, [f"{number} of {many}" for number in range(1, many + 1)])
    _from_zero(left.xaxis, left.set_xlim, 1.0)
    _matrix(right, voters, agree, kappa)
    _legend(figure, left, [*said])
    return figure


def _matrix(panel: Any, voters: Sequence[str], agree: Floats, kappa: Floats) -> None:
    """Draw how often two voters agree above the diagonal, and how far beyond chance below it."""
    many = len(voters)
    panel.set_title("above: share of equal votes; below: kappa")
    for row, column in zip(*np.where(~np.eye(many, dtype=bool)), strict=True):
        value = float((agree if row < column else kappa)[row, column])
        _cell(panel, int(row), int(column), value)
    panel.set_yticks(
        range(many), [f"{style.name(voter)}  {number}" for number, voter in enumerate(voters, 1)]
    )
    panel.set_xticks(range(many), [str(number) for number in range(1, many + 1)])
    panel.set(xlim=(-0.5, many - 0.5), ylim=(many - 0.5, -0.5))
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)


def _cell(panel: Any, row: int, column: int, value: float) -> None:
    from matplotlib.patches import Rectangle

    defined = not math.isnan(value)
    depth = 0.5 * min(max(value, 0.0), 1.0) if defined else 0.0
    corner = (column - 0.48, row - 0.47)
    panel.add_patch(Rectangle(corner, 0.96, 0.94, color=style.COLOURS[0], alpha=depth, linewidth=0))
    panel.text(column, row, f"{value:.2f}" if defined else "-", ha="center", va="center")


def pairs(
    labels: Sequence[str], told: Sequence[str], when: Sequence[Point], usual: Sequence[Point]
) -> Drawing:
    """Draw two shares in each row, with a text at its end."""
    figure, (panel,) = style.blank(AROUND + 0.24 * len(labels))
    panel.set_title("images with the second: first invented (filled), all images without the first (hollow)")
    heights, (_, value, _), (_, other, _) = np.arange(len(labels)), _numbers(when), _numbers(usual)
    panel.hlines(heights, other, value, color=style.INK, alpha=style.FAINT, linewidth=1)
    panel.plot(other, heights, "o", markerfacecolor="none", markeredgecolor=style.INK, clip_on=False)
    _points(panel, when, heights, 0)
    for y, words in zip(heights, told, strict=True):
        panel.annotate(words, (1.03, y), **_free(("axes fraction", "data")))
    _lay_rows(panel, labels)
    _from_zero(panel.xaxis, panel.set_xlim, 1.0)
    return figure


def _free(places: str | tuple[str, str]) -> dict[str, Any]:
    return {"xycoords": places, "va": "center", "annotation_clip": False}


def _numbers(points: Sequence[Point]) -> Floats:
    """Return the lower ends, values and upper ends of points, of shape [3, points]."""
    return np.array([(point.low, point.value, point.high) for point in points], dtype=float).reshape(-1, 3).T


def _highest(series: Iterable[Sequence[Point]]) -> float:
    """Return the highest value that is drawn; 1 if no value is drawn, or none above 0."""
    highest = [np.nan_to_num(_numbers(points)).max(initial=0.0) for points in series]
    return float(max(highest, default=0.0)) or 1.0


def _from_zero(axis: Any, limit: Callable[[float, float], Any], high: float, shares: bool = True) -> None:
    """Make an axis begin at 0 and end above all values; shares are in percent, and end at 100 % at most."""
    from matplotlib.ticker import MaxNLocator

    limit(0, min(1.0, high * FREE) if shares else high * FREE)
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if shares:
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")


def _legend(figure: Any, panel: Any, models: Sequence[str]) -> None:
    if len(models) < 2:
        return
    points = [
        panel.plot([], [], linestyle="none", **style.of_model(index))[0] for index in range(len(models))
    ]
    names = list(map(style.name, models))
    figure.legend(points, names, loc="outside upper left", ncols=3, handletextpad=0.2, columnspacing=1.2)
