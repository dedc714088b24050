"""Tells whether a column beside the responses has other free texts of an LVLM, such as those of a second method.

Prompts, thoughts, paths, reference captions and chats that hold the response are no such texts.
"""

import re

from halluscope.judging.thought_marks import without
from halluscope.reading.columns import plain
from halluscope.responses.column_facts import SENTENCE, Texts, same_text
from halluscope.responses.names import BY_ANYBODY, CAPTION

# How columns are named that hold what was asked, what the LVLM thought, or what others wrote
_OTHER_USES = re.compile(
    r".*(?:prompt|input|instruct|quer|question|conversation|chat|message|history"
    r"|think|thought|reason|rationale|explan|analysis|critique|feedback|review"
    r"|context|reference|human|coco|title|comment|object|noun|keyword|fact|claim|summar|narrative).*"
    r"|(?:.*_)?(?:cot|ref|words|tags?)(?:_.*)?"
)
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"<[^<>\n]{1,30}>")  # "</s>", "<|im_end|>"


def count(texts: Texts, others: Texts, name: str) -> int:
    """Return in how many rows a column has another text than the response.

    Args:
        texts: the responses.
        others: the column's texts.
        name: its name. What may be people's by its name is another text only where it is a part of the response.
    """
    if _OTHER_USES.fullmatch(plain(name)) or not _are_sentences(others):
        return 0
    may_be_of_people = name == CAPTION or name in BY_ANYBODY
    different = 0
    for text, other in zip(texts, others, strict=True):
        response = _bare(text)
        other_text = _bare(other)
        if not other_text:
            continue
        if response and response in other_text:  # a chat, or the response before it was cut
            continue
        if not may_be_of_people or other_text in response:
            different += 1
    return different


def _are_sentences(texts: Texts) -> bool:
    """Whether texts are mostly different sentences that do not all end alike, as prompts about an image do."""
    sentences = set()
    endings = []
    for text in texts:
        words = (text or "").split()
        if not words:
            continue
        endings.append(" ".join(words[-SENTENCE:]))
        if len(words) >= SENTENCE and not words[0].startswith(("[", "{")):
            sentences.add(text)
    return 2 * len(sentences) > len(endings) and same_text(endings) is None


def _bare(text: str | None) -> str:
    """Return the words of a text, by which two are compared, in lower case; without those of thoughts and tags."""
    spoken = without(text or "")
    return " ".join(_WORD.findall(_TAG.sub(" ", spoken).casefold()))
