"""Draws each kind of chart, in colours for white and black pages, with names that are never markup, and saves it."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.reporting.figures.counts import Point
from halluscope.sanitize import one_line

FORMATS = ("svg", "pdf", "png")

INK = "#010203"  # texts and axes; on a page, only this colour is replaced by the colour of the page's text

# One colour per model, after Okabe and Ito, a little darker so that each is visible on white and on black; and one
# marker, so that a figure can be read without colours.
COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
MARKERS = ("o", "s", "^", "D", "v")
MODELS = len(COLOURS)

FAINT = 0.25  # the opacity of lines that only guide the eye
WIDTH = 6.4  # of a figure, in inches
SIZE = 10  # of letters, in points: 11 pixels or more on a page
LONGEST = 32  # characters of a name; a longer one is cut in the middle
KEPT = 12  # how many of these are kept at the name's end, where similar models and judges differ

_SETTINGS = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": SIZE,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": SIZE,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": FAINT / 2,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.usetex": False,
}

# When and by which program a file was made; None leaves it out.
_METADATA = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": {"Software": None},
}

# Texts and axes in an SVG file, on a light and on a dark page.
_STYLE = "svg{color:#1b1b1b}@media (prefers-color-scheme:dark){svg{color:#e6e6e6}}"

Drawing = Any  # a figure of matplotlib

Floats = NDArray[np.float64]

APART = 0.72  # the share of a row's height in which its points are drawn

# Heights in inches: of everything around the rows, of a row, and of each point in a row.
AROUND, ROW, POINT = 0.85, 0.15, 0.08

# The least distance between two labels at the ends of lines, as a share of the panel's height.
LABEL = 0.06

FREE = 0.08  # what an axis has beyond the values on either side, as a share of their range
NARROWEST = 0.05  # the least range of an axis


# Files


@contextmanager
def settings(salt: str) -> Iterator[None]:
    """Make matplotlib draw with our settings, whatever the user has set; ids in an SVG file are made from `salt`."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra(
            f"Figures need matplotlib ({error}): pip install 'halluscope[figures]'."
        ) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS | {"svg.hashsalt": salt})
        yield


def saved(drawing: Drawing, style: str, title: str) -> bytes:
    """Return a drawing as the content of a file in one of `FORMATS`.

    An SVG file holds the title, no links to other files, and takes the colours and the font of the page that shows it.
    """
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts may have it
        drawing.savefig(content, format=style, metadata=_METADATA[style], dpi=200)
    if style != "svg":
        return content.getvalue()
    svg = content.getvalue().decode("utf-8")
    plain = re.sub(r"(?s)\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg ") :])
    plain = re.sub("<[^<>]*>", lambda tag: _themed(tag[0]), plain)  # texts hold no "<" or ">"
    head, _, rest = plain.partition(">")
    file = f'{head} role="img"><title>{escape(title)}</title><style>{_STYLE}</style>{rest}'
    return file.encode("utf-8")


def _themed(tag: str) -> str:
    return re.sub('font-family: [^;"]*', "font-family: sans-serif", tag).replace(INK, "currentColor")


# Parts of charts


def name(text: str) -> str:
    """Return a foreign name on one line, cut in the middle if it is too long."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - KEPT - 3]}...{line[-KEPT:]}"


def _blank(height: float, columns: int = 1, **more: Any) -> tuple[Drawing, list[Any]]:
    """Return an empty figure of a height in inches, and its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    panels = list(figure.subplots(1, columns, squeeze=False, **more)[0])
    for panel in panels:
        panel.set_facecolor("none")
    return figure, panels


def _of_model(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % MODELS], "marker": MARKERS[index % MODELS], "markeredgewidth": 0}


def _of_interval(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % MODELS], "linewidth": 1, "alpha": 0.5}


def _free(places: str | tuple[str, str]) -> dict[str, Any]:
    return {"xycoords": places, "va": "center", "annotation_clip": False}


def _numbers(points: Sequence[Point]) -> Floats:
    """Return the lower ends, values and upper ends of points, of shape [3, points]."""
    return np.array([(point.low, point.value, point.high) for point in points], dtype=float).reshape(-1, 3).T


def _scale(
    axis: Any, limit: Callable[[float, float], Any], series: Iterable[Sequence[Point]], shares: bool = True
) -> None:
    """Make an axis reach a little beyond all values; shares are in percent, and stay between 0 and 100 %."""
    from matplotlib.ticker import MaxNLocator

    each = np.concatenate([np.zeros(0), *(_numbers(points).ravel() for points in series)])
    known = each[~np.isnan(each)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    free = max(FREE * (high - low), (NARROWEST - (high - low)) / 2)
    if shares:
        limit(max(0.0, low - free), min(1.0, high + free))
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    else:
        limit(low - free, high + free)
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _in_rows(panel: Any, series: Sequence[Sequence[Point]]) -> None:
    """Draw the points of each model, a little apart from those of other models."""
    for index, points in enumerate(series):
        shift = APART * ((index + 0.5) / len(series) - 0.5)
        _points(panel, points, np.arange(len(points)) + shift, index)


def _points(panel: Any, points: Sequence[Point], heights: NDArray[Any], index: int) -> None:
    low, value, high = _numbers(points)
    panel.hlines(heights, low, high, **_of_interval(index))
    panel.plot(value, heights, linestyle="none", clip_on=False, zorder=3, **_of_model(index))


def _lay_rows(panel: Any, labels: Sequence[str]) -> None:
    """Name the rows from the top; every second row gets a faint background to guide the eye."""
    for row in range(1, len(labels), 2):
        panel.axhspan(row - 0.5, row + 0.5, color=INK, alpha=0.05, linewidth=0)
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


def _legend(figure: Drawing, panel: Any, models: Sequence[str]) -> None:
    if len(models) > 1:
        points = [panel.plot([], [], linestyle="none", **_of_model(index))[0] for index in range(len(models))]
        names = list(map(name, models))
        figure.legend(points, names, loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)


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


# Charts


def rows(
    labels: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[Point]]], shares: bool = True
) -> Drawing:
    """Draw a row per label, with a point and its interval per model."""
    models = [*next(iter(panels.values()))]
    height = AROUND + len(labels) * (ROW + POINT * len(models))
    figure, axes = _blank(height, len(panels), sharey=True)
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        _in_rows(panel, [*series.values()])
        _lay_rows(panel, list(map(name, labels)))
        _scale(
            panel.xaxis, panel.set_xlim, [one for each in panels.values() for one in each.values()], shares
        )
    _legend(figure, axes[0], models)
    return figure


class Line(NamedTuple):
    """A model's line."""

    x: Sequence[float]  # places, from left to right
    points: Sequence[Point]  # a point for each place


def lines(
    panels: Mapping[str, Mapping[str, Line]], across: str, ticks: Mapping[float, str] | None = None
) -> Drawing:
    """Draw shares along an axis, with a line per model and an interval at each point."""
    figure, axes = _blank(3.2, len(panels))
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        panel.set_xlabel(across)
        panel.grid(axis="y")
        for index, line in enumerate(series.values()):
            low, value, high = _numbers(line.points)
            panel.vlines(line.x, low, high, **_of_interval(index))
            defined = ~np.isnan(value)
            places = np.array(line.x)[defined]
            panel.plot(places, value[defined], clip_on=False, zorder=3, **_of_model(index))
        if ticks:
            panel.set_xticks([*ticks], [*ticks.values()])
            panel.set_xlim(0, max(ticks))
        _scale(panel.yaxis, panel.set_ylim, [line.points for line in series.values()])
    if len(series) > 1:  # names stand next to the lines' last points, without overlapping
        low, high = panel.get_ylim()
        last = [[p.value for p in line.points if not math.isnan(p.value)] for line in series.values()]
        tops = spread([((one or [low])[-1] - low) / (high - low) for one in last], LABEL)
        for index, (model, top) in enumerate(zip(series, tops, strict=True)):
            panel.plot([1.04], [top], transform=panel.transAxes, clip_on=False, **_of_model(index))
            panel.annotate(name(model), (1.07, top), **_free("axes fraction"))
    return figure


def plane(
    models: Mapping[str, tuple[Point, Point]], names: tuple[str, str], shares: tuple[bool, bool]
) -> Drawing:
    """Draw a point per model, with its two intervals as a cross, and its name next to it."""
    figure, (panel,) = _blank(4.6)
    panel.set(xlabel=names[0], ylabel=names[1])
    panel.grid()
    right, up = ([both[axis] for both in models.values()] for axis in (0, 1))
    _scale(panel.xaxis, panel.set_xlim, [right], shares[0])
    _scale(panel.yaxis, panel.set_ylim, [up], shares[1])
    (left_end, right_end), (low, high) = panel.get_xlim(), panel.get_ylim()
    tops = spread([(y.value - low) / (high - low) for y in up], LABEL / 1.3)
    for index, (model, x, y, top) in enumerate(zip(models, right, up, tops, strict=True)):
        panel.hlines([y.value], [x.low], [x.high], **_of_interval(index))
        panel.vlines([x.value], [y.low], [y.high], **_of_interval(index))
        panel.plot([x.value], [y.value], clip_on=False, zorder=3, **_of_model(index))
        # the name is to the right of the point, or to its left if there is more room
        left = x.value > left_end + 0.55 * (right_end - left_end)
        ends = [end for end in (x.low, x.value, x.high) if not math.isnan(end)]
        panel.annotate(
            name(model),
            (min(ends) if left else max(ends), top),
            xytext=(-7 if left else 7, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            **_free(("data", "axes fraction")),
        )
    return figure


def votes(
    said: Mapping[str, Sequence[Point]], voters: Sequence[str], agree: Floats, kappa: Floats
) -> Drawing:
    """Draw how many voters said yes; and how often each two agree (above the diagonal), beyond chance (below it)."""
    from matplotlib.patches import Rectangle

    many = len(voters)
    figure, (left, right) = _blank(max(2.6, AROUND + 0.3 * many), 2, gridspec_kw={"width_ratios": [2, 3]})
    left.set_title("voters that say yes, if any does")
    _in_rows(left, [*said.values()])
    _lay_rows(left, [f"{number} of {many}" for number in range(1, many + 1)])
    _scale(left.xaxis, left.set_xlim, [*said.values()])
    right.set_title("above: share of equal votes; below: kappa")
    for row, column in zip(*np.where(~np.eye(many, dtype=bool)), strict=True):
        value = float((agree if row < column else kappa)[row, column])
        depth = 0.0 if math.isnan(value) else 0.5 * min(max(value, 0.0), 1.0)
        corner = (column - 0.48, row - 0.47)
        right.add_patch(Rectangle(corner, 0.96, 0.94, color=COLOURS[0], alpha=depth, linewidth=0))
        right.text(column, row, "-" if math.isnan(value) else f"{value:.2f}", ha="center", va="center")
    right.set_yticks(range(many), [f"{name(voter)}  {number}" for number, voter in enumerate(voters, 1)])
    right.set_xticks(range(many), [str(number) for number in range(1, many + 1)])
    right.set(xlim=(-0.5, many - 0.5), ylim=(many - 0.5, -0.5))
    right.tick_params(length=0)
    right.spines[["left", "bottom"]].set_visible(False)
    _legend(figure, left, [*said])
    return figure


def pairs(
    labels: Sequence[str], ends: Sequence[str], when: Sequence[Point], usual: Sequence[Point]
) -> Drawing:
    """Draw two shares in each row, with a text at its end."""
    figure, (panel,) = _blank(AROUND + 0.26 * len(labels))
    panel.set_title("filled: images with the first invented; hollow: without the first")
    heights, (_, value, _), (_, other, _) = np.arange(len(labels)), _numbers(when), _numbers(usual)
    panel.hlines(heights, other, value, color=INK, alpha=FAINT, linewidth=1)
    panel.plot(other, heights, "o", markerfacecolor="none", markeredgecolor=INK, clip_on=False)
    _points(panel, when, heights, 0)
    for y, words in zip(heights, ends, strict=True):
        panel.annotate(words, (1.03, y), **_free(("axes fraction", "data")))
    _lay_rows(panel, labels)
    _scale(panel.xaxis, panel.set_xlim, [when, usual])
    return figure
