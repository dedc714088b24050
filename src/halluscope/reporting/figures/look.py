"""How figures look: colours that hold on white and on black, also for the colour-blind; texts that are only texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from halluscope.errors import MissingExtra
from halluscope.foreign import one_line

INK = "#010203"
"""The colour of texts and axes. On the page it becomes the colour of the page's text, which no other colour does."""

COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
"""One per model, after Okabe and Ito, a little darker so that each stands out from white as from black."""

MARKERS = ("o", "s", "^", "D", "v")
"""One per model, so that colours are not needed."""

MODELS = len(COLOURS)
"""So many models have a colour of their own."""

FAINT = 0.25
"""How much of the ink lines have that only guide the eye."""

WIDTH = 7.2
"""Of a figure, in inches."""

LONGEST = 32
"""Characters of a name; what is longer is cut."""

KEPT = 12
"""Of these at its end, where models and judges of a kind differ."""

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
    """Have matplotlib draw in this way for a while, whatever its user set.

    Args:
        salt: what ids in an SVG file are made from, beside what they name.

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
    """An empty figure with panels side by side, and these panels.

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
    """A name from elsewhere as a figure shows it: on one line, and not too long; both its ends stay."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - KEPT - 3]}...{line[-KEPT:]}"


def of_model(place: int) -> dict[str, Any]:
    """The colour and the marker of a model, by its place."""
    return {"color": COLOURS[place % MODELS], "marker": MARKERS[place % MODELS], "markeredgewidth": 0}


def of_interval(place: int) -> dict[str, Any]:
    """The line of an interval of a model."""
    return {"color": COLOURS[place % MODELS], "linewidth": 1, "alpha": 0.5}
