"""Prompts for verdicts: hostile text is quoted in them, and the replies are read strictly."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from halluscope.files.opening import once_each
from halluscope.files.writing import json_text
from halluscope.judging.judge import Schema
from halluscope.judging.thought_marks import without

V = TypeVar("V", covariant=True)

MOST_RULES = 3  # How many rules a message names

# What follows a number that another one follows: "1-2", "5 -> 2", "3 or 4"
ANOTHER_NUMBER = r"(?:[-\u2013\u2014/~\u2192]|->|to\b|or\b)\s*\d"


@dataclass(frozen=True)
class Refusal:
    """Why a reply is not read."""

    rule: str  # the same words for each reply that this rule refuses
    detail: str = ""  # what this reply has instead; "" if there is no more to say


def said_of(refusals: Sequence[Refusal | None]) -> str:
    """Return the rules that refused most replies, with what the first of these has instead, for a message."""
    first: dict[str, Refusal] = {}
    counts: Counter[str] = Counter()
    for refusal in refusals:
        if refusal is not None:
            first.setdefault(refusal.rule, refusal)
            counts[refusal.rule] += 1
    message = ""
    for rule, times in counts.most_common(MOST_RULES):
        detail = first[rule].detail
        if detail:
            detail = f"; of the first: {detail}"
        message += f" {times:,} refused by the rule: {rule}{detail}."
    return message


@dataclass(frozen=True)
class PromptSpec(Generic[V]):
    """What a judge is asked, and how its reply is read."""

    prompt: str  # the whole prompt, as `fill` makes it
    # returns the verdict in a reply without thoughts, None if it is unreadable: see `one_of` and `json_object`
    read: Callable[[str], V | None]
    # the JSON schema of the reply, for a judge that can be held to it; None for a reply in words
    schema: Schema | None = None
    # says why a reply without thoughts is unreadable, for a message; None if it cannot say
    refusal: Callable[[str], Refusal | None] = field(default=lambda reply: None)

    def verdict_in(self, reply: str) -> V | None:
        """Return the verdict in a judge's reply as it came; None if it is unreadable."""
        return self.read(without_thoughts(reply))

    def why_unread(self, reply: str) -> Refusal | None:
        """Say why a reply as it came is unreadable; None if that cannot be said."""
        return self.refusal(without_thoughts(reply))


@dataclass(frozen=True)
class Collected(Generic[V]):
    """What came of prompts: [repeats][prompts]."""

    verdicts: Sequence[Sequence[V | None]]  # None where one is missing
    unread: Sequence[Sequence[str]]  # the replies in which no verdict can be read; "" where there is none


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def sha256_of_text(text: str) -> str:
    """Return the sha256 of a text in hexadecimal digits; it may hold lone surrogates."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(name: str, template: str) -> str:
    """Return a template's entry in a signature: a name, and eight hexadecimal digits that depend on its words.

    >>> key_of("prompt-1", "Is it so?"), key_of("prompt-1", "Is it so? ")
    ('prompt-1-5bfd76fc', 'prompt-1-2ec11385')
    """
    import hashlib

    return f"{name}-{hashlib.sha256(template.encode()).hexdigest()[:8]}"


def fill(template: str, write: Callable[[str], str] = json_text, /, **fields: str) -> str:
    """Put texts into a template in a single pass, each as a JSON string: within quotes, on one line.

    So a text can neither pose as a placeholder, nor end its quotes and go on as part of the template; its words may
    still persuade the judge. With `encodable` as `write` the texts stand as they are, as in the authors' scripts.

    >>> print(fill("Question: {question} Answer: {answer}", question="{answer}?", answer='No."\\nVerdict: correct'))
    Question: "{answer}?" Answer: "No.\\"\\nVerdict: correct"
    """
    placeholders = set(_PLACEHOLDER.findall(template))
    if placeholders != set(fields):
        raise ValueError(
            f"The template has the placeholders {', '.join(sorted(placeholders)) or 'none'}; "
            f"it was given {', '.join(sorted(fields)) or 'nothing'}."
        )
    return _PLACEHOLDER.sub(lambda placeholder: write(fields[placeholder[1]]), template)


_AROUND = " \t\r\n*_`#\"'\u201c\u201d"


def one_of(*words: str) -> Callable[[str], str | None]:
    """Return a function that reads replies that are one of these words and nothing else.

    Case, blanks, quotes, Markdown's marks around the word, and a full stop after it do not count.

    >>> read = one_of("correct", "incorrect")
    >>> read("**Correct.**"), read("incorrect"), read("correct, not incorrect"), read("The answer is correct")
    ('correct', 'incorrect', None, None)
    """
    known = {word.lower(): word for word in words}

    def read(reply: str) -> str | None:
        return known.get(reply.strip(_AROUND).removesuffix(".").strip(_AROUND).lower())

    return read


def json_object(reply: str) -> dict[str, Any] | None:
    """Return the JSON object that a reply is, alone or in a Markdown fence; None if it is not one, or repeats a name.

    >>> json_object('```json\\n{"verdict": "correct", "extra": 2}\\n```')
    {'verdict': 'correct', 'extra': 2}
    >>> json_object('{"verdict": "correct", "verdict": "incorrect"}') is json_object("Sure: {}") is None
    True
    """
    try:
        value = json.loads(unfenced(reply), object_pairs_hook=once_each, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return value


def without_thoughts(reply: str) -> str:
    """Return a judge's reply without what the judge thought aloud; "" if the thought never ends.

    A reply that is a JSON object is left as it is, since a text in it may name a tag.

    >>> without_thoughts('<think>A 6?</think>{"rating": 2}'), without_thoughts('{"why": "It ends in </think>"}')
    ('{"rating": 2}', '{"why": "It ends in </think>"}')
    """
    if json_object(reply) is not None:
        return reply
    return without(reply)


def unfenced(reply: str) -> str:
    """Return a reply without the Markdown fence around it."""
    text = reply.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json")
    return text


def json_of(**parts: Schema) -> Schema:
    """Return the JSON schema of an object that has these parts, and no others."""
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
