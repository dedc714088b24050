"""Finds the claims that a judge quotes in the response that it judges."""

import re
import unicodedata

from halluscope.sanitize import encodable

LEFT_OUT = r"\.{3}|\u2026"  # stands in a quote for what it leaves out

# A letter or a digit, except in scripts that put no space between words
LETTER = r"[^\W_\u2e80-\u9fff\uac00-\ud7af]"

ARTICLES = {"a", "an", "the"}

Span = tuple[int, int]  # where a part of a text starts and ends


def quoted(claims: list[str], answer: str) -> tuple[str, ...]:
    """Return the claims that are in a response, each once; case, punctuation and white space do not matter.

    If a claim leaves out a part with "...", the parts around it must occur in this order. A claim inside another claim
    does not count again, nor does an article alone.
    """
    text = bare(answer)
    place_of: dict[str, Span] = {}
    for claim in claims:
        parts = [bare(part) for part in re.split(LEFT_OUT, claim)]
        spans = spans_of(parts, text)
        words = set(" ".join(parts).split())
        if spans and not words <= ARTICLES:
            place_of[claim] = (spans[0][0], spans[-1][1])

    counted: dict[Span, str] = {}
    for claim in sorted(place_of, key=lambda claim: length(place_of[claim]), reverse=True):
        place = place_of[claim]
        if not any(is_inside(place, other) for other in counted):
            counted[place] = claim
    return tuple(encodable(claim) for claim in place_of if claim in counted.values())


def length(span: Span) -> int:
    return span[1] - span[0]


def is_inside(span: Span, other: Span) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]


def places(claim: str, answer: str) -> list[Span]:
    """Return where a claim occurs in a response word for word: the start and end of each part, or [] if it does not.

    >>> places("A red car ... fast", "A dog; a red  car drives fast."), places("two cats", "A cat.")
    ([(7, 17), (25, 29)], [])
    """
    return spans_of(re.split(LEFT_OUT, claim), answer)


def spans_of(parts: list[str], text: str) -> list[Span]:
    """Return where parts of a claim occur in a text, as whole words and in order; [] if they do not."""
    spans: list[Span] = []
    end = 0
    for part in parts:
        words = [re.escape(word) for word in re.findall(r"[^\W_]+", part)]
        if not words:
            continue
        phrase = r"[\W_]+".join(words)
        # the case of the words alone does not matter: ignoring that of all letters takes long to compile
        pattern = re.compile(rf"(?<!{LETTER})(?i:{phrase})(?!{LETTER})")
        match = pattern.search(text, end)
        if match is None:
            return []
        spans.append(match.span())
        end = match.end()
    return spans


def bare(text: str) -> str:
    """Return a text in lower case, with each run of signs that are no letters or digits replaced by one space."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
