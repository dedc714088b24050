"""What a language model is asked about an answer in HallusionBench, and how strictly its reply is read.

The question about correctness is printed in section 4.1 of the paper; the frame around it and the question whether two
answers agree are this project's ("ours"), because the paper does not print them. The authors' script has both, in
slightly other words about correctness, and without the question where it compares two answers ("authors").
`judging.graders.verdicts.fill` puts texts into the templates. Replies are read in the same way, whoever's words asked
for them: the script itself takes any reply that holds "correct" or "same" somewhere.

A judge may merely repeat a word that it reads in an answer, such as "correct". So where an answer holds one of the
words that a verdict is asked by, all of them get a mark that the answer cannot hold, such as "correct-3f9a1c"; a word
that stands in the answer counts with its mark alone. Whatever stands in an answer, repeating it is no verdict.

What a judge can still be talked into: an answer that argues for itself may win it over, and nothing here can see that.
A judge that is held to the schema (structured output) says one of the words and nothing else; of one that is not, a
reply that begins with the word and does not take it back counts as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from halluscope.judging.graders.verdicts import Asked, fill, json_object, json_of

CORRECTNESS = """\
Imagine you are an intelligent teacher. Thoroughly read the question, reference answer, and the prediction answer to \
ensure a clear understanding of the information provided. Assess the correctness of the predictions. If the prediction \
answer does not conflict with the reference answer, please generate “correct”. If the prediction answer conflicts with \
the reference answer, please generate “incorrect”. If the prediction answer is unclear about the answer, please \
generate "unclear".

Question: {question}
Reference answer: {reference}
Prediction answer: {answer}
Output:"""
"""Section 4.1, as printed, up to the blank line."""

SAME = """\
Imagine you are an intelligent teacher. Thoroughly read the question and two answers that were given to it about two \
different images (or about none). Assess whether the two answers come to the same conclusion; do not assess whether \
they are right. If they come to the same conclusion, please generate “same”. If they come to different conclusions, or \
one of them comes to none, please generate “different”.

Question: {question}
Answer 1: {control}
Answer 2: {answer}
Output:"""

AUTHORS_CORRECTNESS = """\
Imagine you are an intelligent teacher. Thoroughly read the question, reference answer and the prediction answer to \
ensure a clear understanding of the information provided. Assess the correctness of the predictions. If the prediction \
answer does not conflict with the reference answer, please generate “correct”. If the prediction answer conflict with \
the reference answer, please generate “incorrect”. If the prediction answer is unclear about the answer, please \
generate "unclear". \n
 Question:{question}
Reference answer: {reference}
Prediction answer:{answer}
Output:"""
"""As the authors' script asks: tianyi-lab/HallusionBench, utils.py, BSD-3-Clause, © its authors."""

AUTHORS_SAME = """\
Imagine you are an intelligent teacher. Thoroughly read the two responses to two different questions. Assess the \
consistency of the information provided within those two responses. You do not know the specific questions, but you \
can asssess the consistency among the two responses by checking for logical conflicts if both responses are correct. \
If response1 does not conflict with response2, please generate “same”. Otherwise, generate "different". \n
 response1:{answer}
response2: {control}
Output:"""
"""As the authors' script asks, from where `AUTHORS_CORRECTNESS` is."""


@dataclass(frozen=True)
class Wording:
    """The words in which a judge is asked.

    Attributes:
        key: stands in a signature; the number goes up when a prompt or a reader changes.
        correctness: whether an answer is right; placeholders: question, reference, answer.
        same: whether it agrees with the control question's; placeholders: control, answer and, if told, question.
    """

    key: str
    correctness: str
    same: str


OURS = "ours"
WORDINGS = {
    OURS: Wording("prompts-2", CORRECTNESS, SAME),
    "authors": Wording("authors-prompts-1", AUTHORS_CORRECTNESS, AUTHORS_SAME),
}

VERDICTS = ("correct", "incorrect", "unclear")
AGREEMENTS = ("same", "different")
_TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)


def correctness(fields: Mapping[str, str], by: str = OURS) -> Asked[str]:
    """The question whether an answer is correct, as one of `VERDICTS`; fields: question, reference, answer."""
    return _asked(WORDINGS[by].correctness, VERDICTS, fields, said=[fields["answer"]])


def same(fields: Mapping[str, str], by: str = OURS) -> Asked[str]:
    """The question whether two answers agree, as one of `AGREEMENTS`; fields: question, control, answer."""
    return _asked(WORDINGS[by].same, AGREEMENTS, fields, said=[fields["control"], fields["answer"]])


def _asked(template: str, words: Sequence[str], fields: Mapping[str, str], said: Sequence[str]) -> Asked[str]:
    text = "\n".join(said).lower()
    mark = _mark(words, text)
    for word in words:
        template = re.sub(rf"([“\"]){word}([”\"])", rf"\1{word}{mark}\2", template)
    marked = {word + mark: word for word in words}
    known = marked | {word: word for word in words if word not in text}
    schema = json_of(verdict={"type": "string", "enum": [*marked]})
    told = {name: text for name, text in fields.items() if f"{{{name}}}" in template}
    return Asked(fill(template, **told), partial(read, known=known), schema)


def _mark(words: Sequence[str], text: str) -> str:
    """What words get at their end so that they do not stand in a text: nothing, where they do not anyway."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    marks = ("", *(f"-{digest[:length]}" for length in range(6, len(digest))))
    return next(mark for mark in marks if not any(word + mark in text for word in words))


def read(reply: str, known: Mapping[str, str]) -> str | None:
    """The verdict of a reply, None if it says none of the words that are known.

    The word is the "verdict" of a JSON object; or the reply begins with it, it stands alone there, and nothing follows
    that may take it back.

    Args:
        reply: a judge's.
        known: the words that may be said, each with the verdict that it means.

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
