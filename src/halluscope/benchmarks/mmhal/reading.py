"""How a judge is asked to rate a response, and how its reply is read.

A reply to the authors' prompt is read strictly, or as their script reads it ("official"). The script looks anywhere, in
any case, for "rating: 0" to "rating: 6". If it finds exactly one of them, that is the rating; otherwise the rating is
0, which counts as hallucination. So it reads "Rating: 60" as 6, misses "**Rating**: 6", and gives 0 to a reply with two
ratings or none. Where this package asked, a reply that was cut off or never came has no rating.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from halluscope.judging import guard
from halluscope.judging.prompts import ANOTHER_NUMBER, Refusal
from halluscope.judging.verdict_prompts import JsonPrompt, Verdict, WordPrompt, beside
from halluscope.sanitize import encodable, short_repr

LOWEST = 0
HIGHEST = 6
RATINGS = tuple(range(LOWEST, HIGHEST + 1))

MARKS = r"[*_`\"]+"
RATING = re.compile(
    rf"\brating\b(?:{MARKS})?\s*:\s*(?:{MARKS}\s*)?(\d+(?:[.,]\d+)?)(?:\s*/\s*6\b)?", re.IGNORECASE
)
BEGINS_LINE = re.compile(rf"^[^\w\n]*{RATING.pattern}", re.IGNORECASE | re.MULTILINE)
# What follows a rating that is not the only one, or on another scale: "4-5", "5 -> 2", "4 out of 5", and at the end of
# a line "4, 5"
REST_OF_RANGE = re.compile(
    rf"\s*(?:{ANOTHER_NUMBER}|(?:out )?of (?!6\b)\d|(?:,|&|and\b)\s*\d\W*$)",
    re.MULTILINE,
)

# A rating in a response, in whatever words
HOLDS_RATING = re.compile(r"\brat(?:e|es|ed|ing)\b[^.\n]{0,30}?\d")

NO_RATING = "a line of the reply must begin with its one and only rating, such as 'Rating: 3', from 0 to 6"


def refusal_of_words(reply: str, response: str) -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if HOLDS_RATING.search(guard.plain(response)):
        return guard.HELD
    ratings = {match[1] for match in RATING.finditer(reply)}
    if len(ratings) != 1:
        return Refusal(NO_RATING, f"it has {len(ratings)} different ratings")
    if not ratings <= set("0123456"):
        return Refusal(NO_RATING, f"it rates {short_repr(ratings.pop(), 20)}")
    begins = list(BEGINS_LINE.finditer(reply))
    if not begins:
        return Refusal(NO_RATING, "no line begins with it")
    for match in begins:
        if REST_OF_RANGE.match(reply, match.end()):
            return Refusal(NO_RATING, "it is not the only one, or on another scale")
    return None


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply to the authors' prompt, None unless a line begins with its one and only rating.

    If the response itself holds a rating, no reply is read: the judge may have copied it.

    >>> read_words("It claims a dog; there is none.\\n\\n**Rating: 1**, with hallucination", "A dog.").numbers
    {'rating': 1.0}
    >>> read_words("Rating: 4 or 5") is read_words("It is fine.") is read_words("Rating: 1", "Rating: 6") is None
    True
    """
    if refusal_of_words(reply, response) is not None:
        return None
    (rating,) = {match[1] for match in RATING.finditer(reply)}
    return Verdict({"rating": float(rating)}, {"analysis": encodable(reply)})


def read_officially(reply: str, response: str = "") -> Verdict:
    """Return the verdict of a reply as the authors' script reads it; an unreadable reply is rated 0.

    >>> read_officially("Rating: 60").numbers, read_officially("rating: 2? rating: 3?").numbers
    ({'rating': 6.0, 'readable': True}, {'rating': 0.0, 'readable': False})
    """
    text = reply.lower()
    ratings = [rating for rating in RATINGS if f"rating: {rating}" in text]
    is_readable = len(ratings) == 1
    rating = float(ratings[0]) if is_readable else 0.0
    return Verdict({"rating": rating, "readable": is_readable}, {"analysis": encodable(reply)})


def read_object(parts: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a reply to our prompt."""
    return Verdict({"rating": float(parts["rating"])}, {"analysis": encodable(parts["analysis"])})


def are_replies(texts: Sequence[str]) -> bool:
    """Whether most of some texts rate something as the authors' prompt asks."""
    rating = [text for text in texts if RATING.search(text)]
    return 2 * len(rating) > len(texts)


# In this project's words
OURS = JsonPrompt(
    "mmhal-prompt-2",
    beside(__file__, "ours.txt"),
    reply={
        "analysis": {"type": "string"},
        "rating": {"type": "integer", "enum": list(RATINGS)},
    },
    stated_in=("rating",),
    verdict=read_object,
)

# eval_gpt4.py, which comes with their dataset and is in llava-rlhf/LLaVA-RLHF, with five examples, (c) its authors
STRICT = WordPrompt("authors-strict-5", beside(__file__, "authors.txt"), read_words, refusal_of_words)
OFFICIAL = WordPrompt(
    "authors-official-3", beside(__file__, "authors.txt"), read_officially, refusal_of_words
)

PROMPTS = {"ours": OURS, "authors": STRICT}  # by the values of the option `prompts`
