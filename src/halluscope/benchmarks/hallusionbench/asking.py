"""How a judge is asked whether a response is correct, or agrees with another one, and how its reply is read.

Section 4.1 of the paper prints the prompt about correctness, up to the blank line of prompts/ours_correctness.txt, but
neither its frame nor a prompt that asks whether two responses agree; both are this project's. The authors' script
(tianyi-lab/HallusionBench, utils.py, BSD-3-Clause, (c) its authors) has both prompts: its words about correctness
differ slightly, and its comparison of two responses omits the question. They are sent as the script sends them: texts
as they are, and no schema.

A judge may merely repeat a word from a response, such as "correct". So if a response contains one of the words for a
verdict, this project's prompt marks all of these words with a suffix that the response cannot contain, such as
"correct-3f9a1c". Then each word counts only with its suffix, whichever of them the response contains: repeating the
response never gives a verdict, and no verdict is easier to give than another.

The authors' prompt cannot be marked. If a response holds one of the words as a reply to it would, no reply about that
response is read.

One weakness remains: a response that argues for itself may persuade the judge, and nothing here can detect that. A
judge that is held to the schema (structured output) says one of the words and nothing else; from any other judge, a
reply that begins with the word and does not take it back also counts.
"""

import re
from collections.abc import Collection, Mapping

from halluscope.judging import guard
from halluscope.judging.prompts import PromptSpec, Refusal, fill, json_object, json_of
from halluscope.judging.verdict_prompts import beside
from halluscope.sanitize import encodable

CORRECTNESS = "correctness"
SAME = "same"

# What is asked -> the words of a verdict, and their codes
CODES = {CORRECTNESS: {"correct": 1, "incorrect": 0, "unclear": 2}, SAME: {"same": 1, "different": 0}}

# Whose prompts: the values of the option `prompts`
OURS = "ours"
AUTHORS = "authors"

PROMPTS = {
    OURS: {
        CORRECTNESS: beside(__file__, "ours_correctness.txt"),
        SAME: beside(__file__, "ours_same.txt"),
    },
    AUTHORS: {
        CORRECTNESS: beside(__file__, "authors_correctness.txt"),
        SAME: beside(__file__, "authors_same.txt"),
    },
}
KEYS = {OURS: "prompts-3", AUTHORS: "authors-prompts-3"}  # in a signature

# How a reply is read: the values of the option `reading`
STRICT = "strict"
OFFICIAL = "official"  # as the authors' script does

TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)

# What divides a text into parts that a judge may repeat one of
BETWEEN = re.compile(r"[\n.!?;:,\"'`{}()*_–—|<>]+")

# Words before a verdict, with which a text says that it is one
ANNOUNCES = r"(?:verdict|output|generate|judge?ment|assessment|evaluation)\W+(?:(?:is|be|as|says)\W+)?"

NO_WORD = Refusal(
    "a reply must begin with one of the words for a verdict, as the prompt has them, and not take it back"
)


def ask(kind: str, fields: Mapping[str, str], prompts: str = OURS, reading: str = STRICT) -> PromptSpec[str]:
    """Return a prompt that asks for one of the words of `CODES[kind]`.

    Args:
        kind: "correctness" (fields: question, reference, answer) or "same" (question, control, answer).
        fields: the texts that are filled in; a field that the prompt lacks is left out.
        prompts: whose prompt, "ours" or "authors".
        reading: how a reply is read, "strict" or "official".
    """
    template = PROMPTS[prompts][kind]
    texts = {name: text for name, text in fields.items() if f"{{{name}}}" in template}
    responses = "\n".join(texts[name] for name in ("control", "answer") if name in texts)
    if prompts == OURS:
        return ask_with_marks(kind, template, texts, responses)
    prompt = fill(template, encodable, **texts)
    if reading == OFFICIAL:
        return PromptSpec(prompt, lambda reply: read_officially(reply, kind))
    if holds_verdict(responses, CODES[kind]):
        return PromptSpec(prompt, lambda reply: None, refusal=lambda reply: guard.HELD)
    as_they_are = {word: word for word in CODES[kind]}
    return PromptSpec(prompt, lambda reply: read(reply, as_they_are), refusal=lambda reply: NO_WORD)


def ask_with_marks(kind: str, template: str, texts: Mapping[str, str], responses: str) -> PromptSpec[str]:
    """Return this project's prompt, whose words have a mark if the responses contain one of them."""
    words = CODES[kind]
    seen = guard.plain(responses)
    mark = ""
    if any(word in seen for word in words):
        mark = f"-{guard.code_for(responses)}"
    # the prompt has the words in quotes
    marked = re.sub(rf"([“\"])({'|'.join(words)})([”\"])", rf"\1\2{mark}\3", template)
    word_of = {word + mark: word for word in words}
    return PromptSpec(
        fill(marked, **texts),
        lambda reply: read(reply, word_of),
        schema=json_of(verdict={"type": "string", "enum": list(word_of)}),
        refusal=lambda reply: NO_WORD,
    )


def holds_verdict(text: str, words: Collection[str]) -> bool:
    """Whether a part of a text would be read as a reply: one of the words by itself, or announced as a verdict.

    >>> words = ("same", "different")
    >>> holds_verdict("**Same.**", words), holds_verdict("They are the same.", words)
    (True, False)
    """
    seen = guard.plain(text)
    for part in BETWEEN.split(seen):
        if part.strip().removeprefix("output ") in words:
            return True
    return re.search(rf"\b{ANNOUNCES}(?:{'|'.join(words)})\b", seen) is not None


def read_officially(reply: str, kind: str) -> str:
    """Return the verdict of a reply as the authors' script reads it: the first word that it looks for and finds."""
    text = reply.lower()
    if kind == SAME:
        return "same" if "same" in text else "different"
    if "incorrect" in text:
        return "incorrect"
    if "correct" in text:
        return "correct"
    return "unclear"


def read(reply: str, word_of: Mapping[str, str]) -> str | None:
    """Return the verdict of a reply, None if the reply says none of the words.

    The word must be the "verdict" of a JSON object, or begin the reply, by itself, with nothing after it that may take
    it back.

    Args:
        reply: the judge's reply.
        word_of: the words as the prompt has them -> the words without marks.

    >>> word_of = {"same-3f9a1c": "same", "different-3f9a1c": "different"}
    >>> read("**Same-3f9a1c**.", word_of), read('{"verdict": "same-3f9a1c"}', word_of), read("same", word_of)
    ('same', 'same', None)
    """
    parts = json_object(reply)
    if parts is not None:
        if parts.keys() != {"verdict"}:
            return None
        return word_of.get(str(parts["verdict"]))
    text = reply.lower().replace("\u2019", "'")
    first = re.match(rf"\W*(?:output\W+)?({'|'.join(word_of)})\b(?=\W*$|[\W_]*[.,:;!\n])", text)
    if first is None:
        return None
    verdict = word_of[first[1]]
    rest = text[first.end() :]
    other_words = set(word_of.values()) - {verdict}
    if TAKES_BACK.search(rest) or other_words.intersection(re.findall(r"[a-z]+", rest)):
        return None
    return verdict
