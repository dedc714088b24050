"""How figures look and are saved: colours for white and black pages, names that are never markup, the same bytes."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import BytesIO
from typing import Any

from halluscope.errors import MissingExtra
from halluscope.sanitize import one_line

FORMATS = ("svg", "pdf", "png")

INK = "#010203"  # texts and axes; on a page, only this colour is replaced by the colour of the page's text

# One colour per model, after Okabe and Ito, a little darker so that each is visible on white and on black; and one
# marker, so that a figure can be read without colours.
COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
MARKERS = ("o", "s", "^", "D", "v")
MODELS = len(COLOURS)

FAINT = 0.25  # the opacity of lines that only guide the eye
WIDTH = 7.2  # of a figure, in inches
LONGEST = 32  # characters of a name; a longer one is cut in the middle
KEPT = 12  # how many of these are kept at the name's end, where similar models and judges differ

_SETTINGS = {
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

# When and by which program a file was made; None leaves it out.
_METADATA = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": {"Software": None},
}

# Texts and axes in an SVG file, on a light and on a dark page.
_STYLE = "svg{color:#1b1b1b}@media (prefers-color-scheme:dark){svg{color:#e6e6e6}}"


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


def blank(height: float, columns: int = 1, **more: Any) -> tuple[Any, list[Any]]:
    """Return an empty figure of a height in inches, and its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    panels = list(figure.subplots(1, columns, squeeze=False, **more)[0])
    for panel in panels:
        panel.set_facecolor("none")
    return figure, panels


def name(text: str) -> str:
    """Return a foreign name on one line, cut in the middle if it is too long."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - KEPT - 3]}...{line[-KEPT:]}"


def of_model(index: int) -> dict[str, Any]:
    """Return the colour and the marker of a model."""
    return {"color": COLOURS[index % MODELS], "marker": MARKERS[index % MODELS], "markeredgewidth": 0}


def of_interval(index: int) -> dict[str, Any]:
    """Return the line style of a model's intervals."""
    return {"color": COLOURS[index % MODELS], "linewidth": 1, "alpha": 0.5}


def saved(drawing: Any, style: str, title: str) -> bytes:
    """Return a drawing as the content of a file in one of `FORMATS`; an SVG file holds the title."""
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts may have it
        drawing.savefig(content, format=style, metadata=_METADATA[style], dpi=200)
    file = content.getvalue()
    return _plain(file.decode("utf-8"), title).encode("utf-8") if style == "svg" else file


def _plain(svg: str, title: str) -> str:
    """Return an SVG file without links to other files, in the colours and the font of the page that shows it."""
    drawing = re.sub(r"(?s)\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg ") :])
    drawing = re.sub("<[^<>]*>", lambda tag: _themed(tag[0]), drawing)  # texts hold no "<" or ">"
    head, _, rest = drawing.partition(">")
    return f'{head} role="img"><title>{escape(title)}</title><style>{_STYLE}</style>{rest}'


def _themed(tag: str) -> str:
    return re.sub('font-family: [^;"]*', "font-family: sans-serif", tag).replace(INK, "currentColor")
