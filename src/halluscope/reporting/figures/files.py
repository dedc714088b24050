"""Saves a drawing as a file: the same bytes for the same numbers, without scripts and links to other files."""

import re
import warnings
from html import escape
from io import BytesIO
from typing import Any

from halluscope.reporting.figures.look import INK

FORMATS = ("svg", "pdf", "png")

_METADATA = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
"""Metadata that say when and by which program a file was made; None leaves them out."""

_LIGHT, _DARK = "#1b1b1b", "#e6e6e6"
"""Colours of texts and axes in an SVG file, on a light and on a dark page."""

_STYLE = f"svg{{color:{_LIGHT}}}@media (prefers-color-scheme:dark){{svg{{color:{_DARK}}}}}"

_FAMILY = re.compile(r"font-family: [^;\"]*")
_TAG = re.compile(r"<[^<>]*>")
_METADATA_ELEMENT = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


def saved(drawing: Any, style: str, title: str) -> bytes:
    """Return a drawing as the content of a file.

    Args:
        drawing: a figure of matplotlib.
        style: one of `FORMATS`.
        title: the title for screen readers; only SVG files hold it.
    """
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts may have it
        drawing.savefig(content, format=style, metadata=_METADATA[style], dpi=200)
    return (
        _plain(content.getvalue().decode("utf-8"), title).encode("utf-8")
        if style == "svg"
        else content.getvalue()
    )


def _plain(svg: str, title: str) -> str:
    """Return an SVG file without links to other files, in the colours and the font of the page that shows it.

    Only tags are changed; texts hold no "<" or ">".
    """
    drawing = _METADATA_ELEMENT.sub("", svg[svg.index("<svg ") :])
    drawing = _TAG.sub(lambda tag: _themed(tag[0]), drawing)
    head, _, rest = drawing.partition(">")
    return f'{head} role="img"><title>{escape(title)}</title><style>{_STYLE}</style>{rest}'


def _themed(tag: str) -> str:
    return _FAMILY.sub("font-family: sans-serif", tag).replace(INK, "currentColor")
