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
    marks = item.marks if redact(item.text) == item.text else ()
    text = "".join(map(_bracketed, pieces(item.text, marks))) if item.text.strip() else "(empty)"
    facts = (f"{fact.name}: {', '.join(value for value, _ in fact.values)}" for fact in item.facts)
    filled = "\n".join(
        fill(line, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for part in (text, *map(printable, facts))
        for line in part.splitlines()
        if line.strip()
    )
    parts: list[Part] = []
    for found in filter(None, re.split(f"([\x01-\x04][^{_CLOSE}]*{_CLOSE})", filled)):
        kind = _KINDS.get(found[0], "plain")
        first, last = "~~" if kind == "back" else "[]"
        parts.append((found if kind == "plain" else f"{first}{found[1:-1]}{last}", COLOURS[kind]))
    return parts


def _bracketed(piece: Piece) -> str:
    r"""Return a piece between signs for its mark; the text's own brackets cannot be taken for marks: "\[" for "["."""
    text = re.sub(r"[\[\]~\\]", r"\\\g<0>", printable(piece.text))
    if piece.kind == "plain":
        return text
    if piece.kind in ("bad", "open"):  # what the mark says; if that begins with the words themselves, once
        says = printable(piece.says)
        text += says[len(text) :] if says.lower().startswith(f"{text.lower()}:") else f" ({says})"
    return f"{_OPEN[piece.kind]}{text}{_CLOSE}"
