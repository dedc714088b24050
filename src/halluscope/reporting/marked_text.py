"""Shows an item as text on a terminal: its response with the marks in place, readable even without colours.

A [dog] chases a [cat: hallucinated], and there is no ~car~.
"""

import re
from collections.abc import Mapping
from textwrap import fill

from halluscope.reporting.formats import WIDEST
from halluscope.reporting.report_items import Item, Kind, Piece, pieces
from halluscope.sanitize import printable, redact

LEGEND = "[word] is right, [word: why] is not, ~word~ does not count"  # how to read a marked text

# A kind of mark -> how ANSI terminals show it.
COLOURS: Mapping[str, str] = {"good": "32", "bad": "1;31", "open": "33", "back": "2", "plain": ""}

Part = tuple[str, str]  # part of a text, and its colour; "" for no colour

_OPEN: Mapping[Kind, str] = {"good": "\x01", "bad": "\x02", "open": "\x03", "back": "\x04"}
_CLOSE = "\x05"
# While lines are broken, these characters enclose a mark: one each, and no printable text holds them.
_KINDS = {sign: kind for kind, sign in _OPEN.items()}


def marked(item: Item, width: int = WIDEST, indent: str = "  ") -> list[Part]:
    """Return an item's response and facts in lines; the parts, joined, are the text."""
    paragraphs = ["(empty)"]
    if item.text.strip():
        paragraphs = _marked_response(item).splitlines()
    for fact in item.facts:
        values = ", ".join(value for value, _ in fact.values)
        paragraphs += printable(f"{fact.name}: {values}").splitlines()
    lines = []
    for paragraph in paragraphs:
        if paragraph.strip():
            line = fill(
                paragraph, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
            lines.append(line)
    return _parts("\n".join(lines))


def _marked_response(item: Item) -> str:
    marks = item.marks
    if redact(item.text) != item.text:
        marks = ()  # blacking out an access key shifts the marks' places
    return "".join(_between_signs(piece) for piece in pieces(item.text, marks))


def _between_signs(piece: Piece) -> str:
    r"""Return a piece between signs for its mark; the text's own brackets cannot be taken for marks: "\[" for "["."""
    text = re.sub(r"[\[\]~\\]", r"\\\g<0>", printable(piece.text))
    if piece.kind == "plain":
        return text
    if piece.kind in ("bad", "open"):
        says = printable(piece.says)
        if says.lower().startswith(f"{text.lower()}:"):  # it begins with the words themselves
            text += says[len(text) :]
        else:
            text += f" ({says})"
    return f"{_OPEN[piece.kind]}{text}{_CLOSE}"


def _parts(text: str) -> list[Part]:
    """Cut a text at the signs of its marks, and put brackets or tildes in their place."""
    parts = []
    for part in re.split(f"([\x01-\x04][^{_CLOSE}]*{_CLOSE})", text):
        if not part:
            continue
        kind = _KINDS.get(part[0], "plain")
        words = part[1:-1]
        if kind == "plain":
            words = part
        elif kind == "back":
            words = f"~{words}~"
        else:
            words = f"[{words}]"
        parts.append((words, COLOURS[kind]))
    return parts
