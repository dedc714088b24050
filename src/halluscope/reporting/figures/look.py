"""The look of figures: colours for white and black pages and for the colour-blind; names that are never markup."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from halluscope.errors import MissingExtra
from halluscope.foreign import one_line

INK = "#010203"
"""The colour of texts and axes. On a page, only this colour is replaced by the colour of the page's text."""

COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
"""One colour per model, after Okabe and Ito, a little darker so that each is visible on white and on black."""

MARKERS = ("o", "s", "^", "D", "v")
"""One marker per model, so that a figure can be read without colours."""

MODELS = len(COLOURS)
"""How many models have a colour of their own."""

FAINT = 0.25
"""The opacity of lines that only guide the eye."""

WIDTH = 7.2
"""The width of a figure, in inches."""

LONGEST = 32
"""The most characters of a name; a longer one is cut in the middle."""

KEPT = 12
"""How many of these are kept at the name's end, where similar models and judges differ."""

_LOOK = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 9,
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


@contextmanager
def look(salt: str) -> Iterator[None]:
    """Make matplotlib draw with these settings within a `with` block, whatever the user has set.

    Args:
        salt: a text from which the ids in an SVG file are made.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra(
            f"Figures need matplotlib ({error}): pip install 'halluscope[figures]'."
        ) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK | {"svg.hashsalt": salt})
        yield


def blank(height: float, columns: int = 1, **more: Any) -> tuple[Any, list[Any]]:
    """Return an empty figure with panels side by side, and these panels.

    Args:
        height: in inches.
        columns: how many panels.
        more: what `Figure.subplots` takes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    panels = list(figure.subplots(1, columns, squeeze=False, **more)[0])
    for panel in panels:
        panel.set_facecolor("none")
    return figure, panels


def name(text: str) -> str:
    """Return a foreign name as a figure shows it: on one line, and cut in the middle if it is too long."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - KEPT - 3]}...{line[-KEPT:]}"


def of_model(place: int) -> dict[str, Any]:
    """Return the colour and the marker of a model, by the model's place."""
    return {"color": COLOURS[place % MODELS], "marker": MARKERS[place % MODELS], "markeredgewidth": 0}


def of_interval(place: int) -> dict[str, Any]:
    """Return the line style of a model's intervals, by the model's place."""
    return {"color": COLOURS[place % MODELS], "linewidth": 1, "alpha": 0.5}
