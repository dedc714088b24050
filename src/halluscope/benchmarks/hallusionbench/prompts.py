"""What a language model is asked about an answer in HallusionBench, and how strictly its reply is read.

The question about correctness is printed in section 4.1 of the paper; the frame around it and the question whether two
answers agree are this project's, because the paper does not print them. `judging.graders.verdicts.fill`
puts texts into the templates.
"""

import re

KEY = "prompts-1"
"""Stands in a signature; the number goes up when a prompt or a reader changes."""

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

_VERDICTS = ("correct", "incorrect", "unclear")
_AGREEMENTS = ("same", "different")
_TAKES_BACK = re.compile(
    r"\b(?:no|not|cannot|never|neither|nor|none|wrong|false|mistaken|mistake|conflict|"
    r"conflicts|conflicting|however|but|wait|actually|although|though|instead|rather|unless|"
    r"except|correction|sorry)\b|n't\b"
)


def read_correctness(reply: str) -> str | None:
    """The verdict of a reply, or None.

    >>> read_correctness("**Incorrect**. The bar is red."), read_correctness("It is not correct")
    ('incorrect', None)
    """
    return _read(reply, _VERDICTS)


def read_same(reply: str) -> str | None:
    """Whether a reply says "same" or "different", or None.

    >>> read_same("Output: same"), read_same("Same or different?")
    ('same', None)
    """
    return _read(reply, _AGREEMENTS)


def _read(reply: str, words: tuple[str, ...]) -> str | None:
    """The word that a reply begins with, if it stands alone there and nothing follows that may take it back."""
    text = reply.lower().replace("\u2019", "'")
    found = re.match(rf"\W*(?:output\W+)?({'|'.join(words)})\b(?=\W*$|[\W_]*[.,:;!\n])", text)
    if not found:
        return None
    rest = text[found.end() :]
    others = set(re.findall(r"[a-z]+", rest)).intersection(words) - {found[1]}
    return None if others or _TAKES_BACK.search(rest) else found[1]
