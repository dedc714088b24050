"""Asks a language model about responses to HallusionBench, and reads its replies.

Section 4.1 of the paper prints the prompt about correctness. It prints neither the frame around that prompt nor a
prompt that asks whether two responses agree, so both are this project's ("ours"). The authors' script ("authors") has
both prompts: its words about correctness differ slightly, and its comparison of two responses omits the question.
The authors' prompts are sent as their script sends them: texts as they are, no schema. Replies are read strictly, or as
the script reads them ("official"): a reply with "incorrect" in it is incorrect, another with "correct" is correct, and
any other unclear; a reply with "same" in it says that two responses agree, any other that they do not.

What follows holds for this project's prompts. A judge may merely repeat a word from a response, such as "correct". So
if a response contains one of the words for a verdict, the prompt marks all of these words with a suffix that the
response cannot contain, such as "correct-3f9a1c". A word that occurs in the response then counts only with its suffix,
and repeating the response never gives a verdict.

One weakness remains: a response that argues for itself may persuade the judge, and nothing here can detect that. A
judge that is held to the schema (structured output) says one of the words and nothing else; from any other judge, a
reply that begins with the word and does not take it back also counts.
"""

import re
from collections.abc import Mapping
from functools import partial

from halluscope.graded import record
from halluscope.judging.prompts import Asked, fill, json_object, json_of
from halluscope.sanitize import encodable

PROMPTS = record.data(__package__)["prompts"]

# What is asked -> the words of a verdict, and their codes
CODES = {"correctness": {"correct": 1, "incorrect": 0, "unclear": 2}, "same": {"same": 1, "different": 0}}
_OFFICIAL = {"correctness": ("incorrect", "correct", "unclear"), "same": ("same", "different")}
_TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)


def asked(what: str, fields: Mapping[str, str], by: str = "ours", reading: str = "strict") -> Asked[str]:
    """Return a prompt that asks for one of the words of `CODES[what]`.

    Args:
        what: "correctness" (fields: question, reference, answer) or "same" (question, control, answer).
        fields: the texts that are filled in.
        by: whose prompt.
        reading: how a reply is read, "strict" or "official".
    """
    from hashlib import sha256

    template: str = PROMPTS[by][what]
    words = {word: word for word in CODES[what]}
    fields = {name: text for name, text in fields.items() if f"{{{name}}}" in template}
    if by == "authors":
        reader = partial(_official, _OFFICIAL[what]) if reading == "official" else partial(read, known=words)
        return Asked(fill(template, encodable, **fields), reader)
    text = "\n".join(fields[name] for name in ("control", "answer") if name in fields).lower()
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    marks = ("", *(f"-{digest[:length]}" for length in range(6, len(digest))))
    mark = next(mark for mark in marks if not any(word + mark in text for word in words))
    for word in words:
        template = re.sub(rf"([“\"]){word}([”\"])", rf"\1{word}{mark}\2", template)
    marked = {word + mark: word for word in words}
    known = marked | {word: word for word in words if word not in text}
    schema = json_of(verdict={"type": "string", "enum": [*marked]})
    return Asked(fill(template, **fields), partial(read, known=known), schema)


def _official(words: tuple[str, ...], reply: str) -> str:
    return next((word for word in words[:-1] if word in reply.lower()), words[-1])


def read(reply: str, known: Mapping[str, str]) -> str | None:
    """Return the verdict of a reply, None if the reply says none of the known words.

    The word must be the "verdict" of a JSON object, or begin the reply, by itself, with nothing after it that may take
    it back.

    >>> known = {"same-3f9a1c": "same", "different-3f9a1c": "different"}
    >>> read("**Same-3f9a1c**.", known), read('{"verdict": "same-3f9a1c"}', known), read("same", known)
    ('same', 'same', None)
    """
    said = json_object(reply)
    if said is not None:
        return known.get(str(said["verdict"])) if said.keys() == {"verdict"} else None
    text = reply.lower().replace("\u2019", "'")
    found = re.match(rf"\W*(?:output\W+)?({'|'.join(known)})\b(?=\W*$|[\W_]*[.,:;!\n])", text)
    if not found:
        return None
    verdict, rest = known[found[1]], text[found.end() :]
    others = set(re.findall(r"[a-z]+", rest)).intersection(known.values()) - {verdict}
    return None if others or _TAKES_BACK.search(rest) else verdict
