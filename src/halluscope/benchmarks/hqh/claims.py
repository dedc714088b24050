"""Which of the claims that a judge quotes stand in a response."""

import re
import unicodedata

from halluscope.sanitize import encodable


def quoted(claims: list[str], answer: str) -> tuple[str, ...]:
    """Return the claims that are in a response, each once; case, punctuation and white space do not matter.

    If a claim leaves out a part with "...", the parts around it must occur in this order. A claim inside another claim
    does not count again, and an article alone is not a claim.
    """
    text = _plain(answer)
    places = {claim: place for claim in claims if (place := _place(claim, text)) is not None}
    kept: dict[tuple[int, int], str] = {}
    for claim, (start, end) in sorted(places.items(), key=lambda one: one[1][0] - one[1][1]):
        if not any(first <= start and end <= last for first, last in kept):
            kept[start, end] = claim
    return tuple(encodable(claim) for claim in places if claim in kept.values())


def places(claim: str, answer: str) -> list[tuple[int, int]]:
    """Return where a claim occurs in a response word for word: the start and end of each part, or [] if it does not.

    >>> places("A red car ... fast", "A dog; a red  car drives fast."), places("two cats", "A cat.")
    ([(7, 17), (25, 29)], [])
    """
    found: list[tuple[int, int]] = []
    for part in _parts(claim):
        words = r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", part)))
        pattern = re.compile(_as_words(words), re.IGNORECASE)
        place = pattern.search(answer, found[-1][1] if found else 0) if words else None
        if place:
            found.append(place.span())
        elif words:
            return []
    return found


def _parts(claim: str) -> list[str]:
    """Return the parts of a claim that "..." separates."""
    return re.split(r"\.{3}|\u2026", claim)


def _as_words(pattern: str) -> str:
    """Return a pattern that matches whole words only."""
    return rf"(?<!{_LETTER}){pattern}(?!{_LETTER})"


def _place(claim: str, text: str) -> tuple[int, int] | None:
    """Return the span of a claim's parts in a plain text, as whole words in order; None if they do not occur."""
    parts = [part for part in map(_plain, _parts(claim)) if part]
    if not parts or {*" ".join(parts).split()} <= _ARTICLES:
        return None
    start, place = len(text), 0
    for part in parts:
        found = part in text and re.search(_as_words(re.escape(part)), text[place:])
        if not found:
            return None
        start = min(start, place + found.start())
        place += found.end()
    return start, place


_ARTICLES = {"a", "an", "the"}
_LETTER = r"[^\W_\u2e80-\u9fff\uac00-\ud7af]"
"""A letter or digit, except in scripts that put no space between words."""


def _plain(text: str) -> str:
    """Return a text in lower case, with each run of signs that are no letters or digits replaced by one space."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
