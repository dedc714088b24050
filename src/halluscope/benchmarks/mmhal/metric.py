"""What MMHal-Bench's data file cannot say: how a reply to the authors' prompt is read.

It is read strictly, or as their script reads it ("official"). The script looks anywhere, in any case, for "rating: 0"
to "rating: 6". If it finds exactly one of them, that is the rating; otherwise the rating is 0, which counts as
hallucination. So it reads "Rating: 60" as 6, misses "**Rating**: 6", and gives 0 to a reply with two ratings or none. A
reply that was cut off, or never came, has no rating.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from halluscope.graded.metric import Graded, Prompt, Verdict
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging import guard
from halluscope.judging.prompts import Refusal
from halluscope.reporting.tables import percent
from halluscope.sanitize import encodable, short_repr
from halluscope.signature import keys_of
from halluscope.stats.tallies import Bools

_MARKS = r"[*_`\"]+"
_RATING = re.compile(
    rf"\brating\b(?:{_MARKS})?\s*:\s*(?:{_MARKS}\s*)?(\d+(?:[.,]\d+)?)(?:\s*/\s*6\b)?", re.IGNORECASE
)
_BEGINS = re.compile(rf"^[^\w\n]*{_RATING.pattern}", re.IGNORECASE | re.MULTILINE)
_RANGE = re.compile(r"\s*(?:[-\u2013\u2014/]|to\b|or\b)\s*\d")


_HELD = re.compile(r"\brat(?:e|es|ed|ing)\b[^.\n]{0,30}?\d")
"""A rating in a response, in whatever words."""

NO_RATING = "a line of the reply must begin with its one and only rating, such as 'Rating: 3', from 0 to 6"


def refusal_of_words(reply: str, response: str) -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if _HELD.search(guard.plain(response)):
        return guard.HELD
    ratings = {match[1] for match in _RATING.finditer(reply)}
    if len(ratings) != 1:
        return Refusal(NO_RATING, f"it has {len(ratings)} different ratings")
    if not ratings <= {*"0123456"}:
        return Refusal(NO_RATING, f"it rates {short_repr(ratings.pop(), 20)}")
    begins = [*_BEGINS.finditer(reply)]
    if not begins:
        return Refusal(NO_RATING, "no line begins with it")
    for match in begins:
        if _RANGE.match(reply, match.end()):
            return Refusal(NO_RATING, "it is a range")
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
    (rating,) = {match[1] for match in _RATING.finditer(reply)}
    return Verdict({"rating": float(rating)}, {"analysis": encodable(reply)})


def read_officially(reply: str, response: str = "") -> Verdict:
    """Return the verdict of a reply as the authors' script reads it; an unreadable reply is rated 0.

    >>> read_officially("Rating: 60").numbers, read_officially("rating: 2? rating: 3?").numbers
    ({'rating': 6.0, 'readable': True}, {'rating': 0.0, 'readable': False})
    """
    text = reply.lower()
    ratings = [rating for rating in range(7) if f"rating: {rating}" in text]
    rating = float(ratings[0]) if len(ratings) == 1 else 0.0
    return Verdict({"rating": rating, "readable": len(ratings) == 1}, {"analysis": encodable(reply)})


# How a command says that a judge's replies are read as the authors' script reads them
HOW_READ = "--reading official"


def are_replies(texts: Sequence[str]) -> bool:
    """Whether most of some texts rate something as the authors' prompt asks."""
    return 2 * sum(_RATING.search(text) is not None for text in texts) > len(texts)


class MMHal(Graded):
    """MMHal-Bench's metric."""

    readers: ClassVar = {("authors", "strict"): read_words, ("authors", "official"): read_officially}

    def derive(self, values: Values, where: str) -> Values:
        url = values["image_url"]
        return {"file_name": url.rpartition("/")[2] if url else None}

    def refusal(self, prompt: Prompt, reply: str, response: str) -> Refusal | None:
        return prompt.refusal(reply) if prompt.reply else refusal_of_words(reply, response)

    def counts(self, rows: Sequence[Any]) -> Values:
        return {**super().counts(rows), "topics": len({row.topic for row in rows})}

    def unreadable(self, values: Values) -> Bools:
        """Return which responses have no readable rating, though the authors' script may give them one."""
        rating = values["rating"]
        return np.asarray(np.isnan(rating) | (values.get("readable", np.ones_like(rating)) == 0))


class MMHalView(View):
    """How MMHal-Bench's results are shown."""

    def gaps(self, result: Values) -> Iterator[str]:
        unread, counts = result["unreadable"], " (they count in no score)"
        if "authors-official" in result["signature"]:
            asked = result["questions"] * int(keys_of(result["signature"])["repeats"])
            missing = 1 - result["counts"]["all"]["rated"] / asked
            counts = ", which count as 0, as in the authors' script"
            if missing:
                counts = f"; {percent(unread - missing)} % have a reply and count as 0, as in the authors' script; "
                counts += f"{percent(missing)} % have none and count in no score"
        if unread:
            yield f"no readable rating: {percent(unread)} % of the responses{counts}"


GRADED = MMHal(__file__)
VIEW = MMHalView(GRADED)
compute = GRADED.compute
