"""Shows an item as text on a terminal: its response with the marks in place, readable even without colours.

A [dog] chases a [cat: hallucinated], and there is no ~car~.
"""

import re
from collections.abc import Iterator, Mapping
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
    lines = [line for part in (text, *_facts(item)) for line in part.splitlines() if line.strip()]
    filled = "\n".join(
        fill(line, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        for line in lines
    )
    return [_part(found) for found in re.split(f"([\x01-\x04][^{_CLOSE}]*{_CLOSE})", filled) if found]


def _bracketed(piece: Piece) -> str:
    text = _literal(piece.text)
    if piece.kind == "plain":
        return text
    told = piece.kind in ("bad", "open")
    return f"{_OPEN[piece.kind]}{_told(text, piece.says) if told else text}{_CLOSE}"


def _literal(text: str) -> str:
    r"""Return a text whose own brackets cannot be taken for marks: "\[" for "["."""
    return re.sub(r"[\[\]~\\]", r"\\\g<0>", printable(text))


def _told(text: str, says: str) -> str:
    """Return a mark's words and what it says; if that begins with the words themselves, they are not repeated."""
    says = printable(says)
    return f"{text}{says[len(text) :]}" if says.lower().startswith(f"{text.lower()}:") else f"{text} ({says})"


def _facts(item: Item) -> Iterator[str]:
    for fact in item.facts:
        yield printable(f"{fact.name}: {', '.join(value for value, _ in fact.values)}")


def _part(text: str) -> Part:
    kind = _KINDS.get(text[0], "plain")
    if kind == "plain":
        return text, ""
    first, last = "~~" if kind == "back" else "[]"
    return f"{first}{text[1:-1]}{last}", COLOURS[kind]
