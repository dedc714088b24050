"""Draws each kind of chart, in colours for white and black pages, with names that are never markup, and saves it."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import MissingExtra
from halluscope.sanitize import one_line

FORMATS = ("svg", "pdf", "png")

INK = "#010203"  # texts and axes, also in look.mplstyle

# One colour per model, after Okabe and Ito, a little darker so that each is visible on white and on black; and one
# marker, so that a figure can be read without colours.
COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
MARKERS = ("o", "s", "^", "D", "v")
MODELS = len(COLOURS)

WIDTH = 6.4  # of a figure, in inches
LONGEST = 32  # characters of a name; a longer one is cut in the middle
KEPT = 12  # how many of these are kept at the name's end, where similar models and judges differ

# When and by which program a file was made; None leaves it out.
_METADATA = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": {"Software": None},
}

# Texts and axes in an SVG file, on a light and on a dark page.
_STYLE = "svg{color:#1b1b1b}@media (prefers-color-scheme:dark){svg{color:#e6e6e6}}"

APART = 0.72  # the share of a row's height in which its points are drawn

# Heights in inches: of everything around the rows, of a row, and of each point in a row.
AROUND, ROW, POINT = 0.85, 0.15, 0.08

NARROWEST = 0.05  # the least range of an axis

Drawing = Any  # a figure of matplotlib
Floats = NDArray[np.float64]


class Point(NamedTuple):
    """A number and its interval; NaN for what is not defined."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    part: int = 0  # if it is a share, the counts of the part and the whole
    total: int = 0


Series = Mapping[str, Sequence[Point]]  # a model's points, by its name


def saved(draw: Callable[[], Drawing], name: str, style: str, title: str) -> bytes:
    """Return a drawing as the content of a file in one of `FORMATS`, the same each time, whatever the user has set.

    An SVG file holds the title, no links to other files, and takes the colours and the font of the page that shows it.
    """
    try:
        import matplotlib.style
    except ImportError as error:
        raise MissingExtra(
            f"Figures need matplotlib ({error}): pip install 'halluscope[figures]'."
        ) from error
    content, look = BytesIO(), [Path(__file__).with_name("look.mplstyle"), {"svg.hashsalt": name}]
    with matplotlib.style.context(look, after_reset=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts may have it
        draw().savefig(content, format=style, metadata=_METADATA[style], dpi=200)
    if style != "svg":
        return content.getvalue()
    svg = content.getvalue().decode("utf-8")
    plain = re.sub(r"(?s)\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg ") :])
    plain = re.sub("<[^<>]*>", lambda tag: _themed(tag[0]), plain)  # texts hold no "<" or ">"
    head, _, rest = plain.partition(">")
    return f'{head} role="img"><title>{escape(title)}</title><style>{_STYLE}</style>{rest}'.encode()


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
    panels = [*figure.subplots(1, columns, squeeze=False, subplot_kw={"facecolor": "none"}, **more)[0]]
    return figure, panels


def _of_model(index: int) -> dict[str, Any]:
    marker = MARKERS[(index + index // MODELS) % MODELS]  # another for the next model of a colour
    return {"color": COLOURS[index % MODELS], "marker": marker, "markeredgewidth": 0}


def _points(
    panel: Any,
    index: int,
    places: Iterable[float],
    points: Sequence[Point],
    upright: bool = False,
    linestyle: str = "none",
) -> None:
    """Draw a model's points and their intervals, which are upright above places or lie beside them."""
    known = [
        (place, *point[:3]) for place, point in zip(places, points, strict=True) if not np.isnan(point.value)
    ]
    at, value, low, high = np.array(known, float).reshape(-1, 4).T
    ends = panel.vlines if upright else panel.hlines
    ends(at, low, high, color=COLOURS[index % MODELS], linewidth=1, alpha=0.5)
    x, y = (at, value) if upright else (value, at)
    panel.plot(x, y, linestyle=linestyle, clip_on=False, zorder=3, **_of_model(index))


def _rows(panel: Any, labels: Sequence[str], series: Series) -> None:
    """Draw the models' points in rows, a little apart; every second row gets a faint background to guide the eye."""
    for index, points in enumerate(series.values()):
        shift = APART * ((index + 0.5) / len(series) - 0.5)
        _points(panel, index, np.arange(len(points)) + shift, points)
    for row in range(1, len(labels), 2):
        panel.axhspan(row - 0.5, row + 0.5, color=INK, alpha=0.05, linewidth=0)
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


def _scale(panel: Any, axis: str, shares: bool = True) -> None:
    """Give an axis few ticks and a range that is not too narrow; shares are in percent, between 0 and 100 %."""
    low, high = getattr(panel, f"get_{axis}lim")()
    more = max(0.0, NARROWEST - (high - low)) / 2
    low, high = low - more, high + more
    panel.locator_params(axis=axis, nbins=4, steps=[1, 2, 2.5, 5, 10])
    if shares:
        low, high = max(0.0, low), min(1.0, high)
        getattr(panel, f"{axis}axis").set_major_formatter(lambda share, _: f"{100 * share:g} %")
    panel.set(**{f"{axis}lim": (low, high)})


def _legend(figure: Drawing, models: Iterable[str]) -> None:
    names = list(map(name, models))
    if len(names) > 1:
        points = [
            figure.axes[0].plot([], [], linestyle="none", **_of_model(index))[0]
            for index in range(len(names))
        ]
        figure.legend(points, names, loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)


# Charts


def rows(labels: Sequence[str], panels: Mapping[str, Series], shares: bool = True) -> Drawing:
    """Draw a row per label, with a point and its interval per model."""
    models = [*next(iter(panels.values()))]
    height = AROUND + len(labels) * (ROW + POINT * len(models))
    figure, axes = _blank(height, len(panels), sharex=True, sharey=True)
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        _rows(panel, labels, series)
    _scale(axes[0], "x", shares)
    _legend(figure, models)
    return figure


def lines(
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[Point]]]],
    across: str,
    ticks: Mapping[float, str] | None = None,
) -> Drawing:
    """Draw shares above places from left to right, with a line per model and an interval at each point."""
    figure, axes = _blank(3.2, len(panels))
    for panel, (title, series) in zip(axes, panels.items(), strict=True):
        panel.set(title=title, xlabel=across)
        panel.grid(axis="y")
        for index, line in enumerate(series.values()):
            _points(panel, index, *line, upright=True, linestyle="-")
        if ticks:
            panel.set_xticks([*ticks], [*ticks.values()])
            panel.set_xlim(0, max(ticks))
        _scale(panel, "y")
    _legend(figure, series)
    return figure


def plane(
    models: Mapping[str, tuple[Point, Point]], names: tuple[str, str], shares: tuple[bool, bool]
) -> Drawing:
    """Draw a point per model, with its two intervals as a cross."""
    figure, (panel,) = _blank(4.6)
    panel.set(xlabel=names[0], ylabel=names[1])
    panel.grid()
    for index, (x, y) in enumerate(models.values()):
        _points(panel, index, [y.value], [x])
        _points(panel, index, [x.value], [y], upright=True)
    _scale(panel, "x", shares[0])
    _scale(panel, "y", shares[1])
    _legend(figure, models)
    return figure


def agreement(voters: Sequence[str], alike: Floats) -> Drawing:
    """Draw how often each two voters agree (above the diagonal), and beyond chance (below it)."""
    from matplotlib.colors import LinearSegmentedColormap

    figure, (panel,) = _blank(max(2.6, AROUND + 0.3 * len(voters)))
    panel.set_title("above: share of equal votes; below: kappa")
    places, shades = np.arange(len(voters)), [(COLOURS[0], 0), (COLOURS[0], 0.5)]
    colours = LinearSegmentedColormap.from_list("", shades)
    panel.pcolormesh(places, places, np.ma.masked_invalid(alike), cmap=colours, vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(alike):
        text = "-" if np.isnan(value) else f"{value:.2f}"
        panel.text(column, row, "" if row == column else text, ha="center", va="center")
    panel.set_yticks(places, [f"{name(voter)}  {number}" for number, voter in enumerate(voters, 1)])
    panel.set_xticks(places, [str(number + 1) for number in places])
    panel.set_ylim(len(voters) - 0.5, -0.5)
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)
    return figure
