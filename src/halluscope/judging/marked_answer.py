"""Finds the part of a response that its writer marked as the answer, and removes the marks.

Models are told to put their answer into a tag, a box or JSON, write it in bold, or put "Answer:" before it. Three
things are looked for, and the first that is there counts; of several of its kind, the last:

- a container: `<answer>No</answer>`, `\\boxed{No}`, `{"answer": "no"}`. It may be left open where the text ends;
- a label that a readable answer follows: "Final answer: No", or the heading "## Answer" above it;
- emphasis on nothing but the answer: `**No**`, `` `No` ``, `<b>No.</b>`.

Two that an "or" joins ("**Yes** or **No**") repeat the question, and are no answer.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Containers may hold containers, as in <answer>\boxed{No}</answer>; nobody nests more of them than this
DEEPEST = 5
# How many labels are looked at, from the last back: a model that does not stop may write thousands
MOST_LABELS = 5

# What one of the marks has in it, in a pattern that Arrow reads too; most responses have none, and are not searched.
# A name of a label stands for the label.
NAMES = "answer|response|output|conclusion|verdict|prediction"
HINT = rf"[<{{\[*_`~\\#]|{NAMES}"

_TAGS = r"(?:answer|ans|final[ _-]?answer|final|output|response|result|conclusion|verdict|prediction)"
_OPENING_TAG = rf"<\s*{_TAGS}(?:\s[^<>]*)?>|\[{_TAGS}\]|<\|begin_of_box\|>"
_CLOSING_TAG = rf"<\s*/\s*{_TAGS}\s*>|\[/{_TAGS}\]|<\|end_of_box\|>"
_TAG = re.compile(f"(?P<opening>{_OPENING_TAG})|{_CLOSING_TAG}", re.IGNORECASE)
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{", re.IGNORECASE)
_BRACE = re.compile("[{}]")
_JSON_OBJECT = re.compile(r"\{[^{}]*\}")
# Keys of an answer, the surest first
_KEYS = (
    re.compile(r"(?:\w+[ _-])?answer", re.IGNORECASE),
    re.compile(rf"(?:\w+[ _-])?(?:{NAMES}|label|result)", re.IGNORECASE),
)
_FENCE = re.compile(r"```\w*")

_LABEL = re.compile(
    r"(?:^|[\n.!?;])\W{0,9}(?:(?:the|my|so|thus|therefore|hence),? )*(?:final |short |correct |direct )?"
    rf"(?:{NAMES})[^\S\n]*(?:\n|[:=\u2013\u2014-]|is\b)\W*"
    r"|\b(?:the|my|final|short|correct|direct) answer(?: to (?:the|this|your) question)?"
    r"(?: is\b| would be\b| should be\b|\s*:)\W*",
    re.IGNORECASE,
)
# A model that did not stop goes on with questions of its own
_NEXT_TURN = re.compile(r"\n\W{0,9}(?:question|q|user|human) ?\d{0,3} ?:", re.IGNORECASE)

_INLINE = "b|i|u|em|strong|mark|code|span|font|small|big|kbd|ins"
_EMPHASIS = re.compile(
    r"(?<![\w*_`])(?P<sign>[*_`]{1,3})(?P<marked>[^*_`\n]{1,200})(?P=sign)(?![\w*_`])"
    rf"|<(?P<tag>{_INLINE}|h\d)(?:\s[^<>]*)?>(?P<tagged>[^<]{{1,200}})(?:</(?P=tag)\s*>|\s*\Z)"
    r"|\\(?:text|math)\w*\s*\{(?P<latex>[^{}\n]{1,200})\}",
    re.IGNORECASE,
)
# After an answer comes an end, a mark, or a word that no noun phrase begins with: "no collar" is not an answer
_AFTER = re.compile(
    r"\s*(?:\Z|\n|[^\w\s])|\s+(?:there|it|its|this|that|these|those|the|they|i|we|you|he|she|a|an|in|on|at|for|from|as"
    r"|because|since|according|based|or|and)\b",
    re.IGNORECASE,
)
_OR = re.compile(r"[^\w/]*(?:or|and|/)[^\w/]*", re.IGNORECASE)

_PAIRED_BOLD = re.compile(r"<b>([^<]*)</b\s*>", re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE.removeprefix('b|')})(?:\s[^<>]*)?>", re.IGNORECASE)
# Any other tag or special token, such as <p>, </s> and <|im_end|>; but <no> and <B> are answers
_OTHER_TAG = re.compile(r"<(?![/!|]?(?:yes|no|[a-e])\W*>)[/!|]?[a-z][^<>\n]{0,100}>|</[a-e]>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:text|math)\w*\s*\{([^{}]*)\}|\\emph\s*\{([^{}]*)\}")
_SIGNS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")
_STRUCK = re.compile(r"~~[^~\n]*~~|<(del|strike)>[^<\n]*</\1>", re.IGNORECASE)
_LINE_SIGNS = re.compile(r"^[^\S\n]*(?:#{1,6}|>)+[^\S\n]*", re.MULTILINE)


@dataclass(frozen=True)
class _Part:
    """A part of a text, and where it and its marks stand."""

    text: str
    start: int
    end: int


def answer_in(text: str, is_readable: Callable[[str], bool], answer: re.Pattern[str]) -> str:
    """Return the part of a response that says what its answer is, without marks; the whole response if none is marked.

    Args:
        text: a response.
        is_readable: whether a rule reads a text without marks as one of its answers.
        answer: fits a text that begins with an answer and has no other word before the next mark.
    """
    text = in_containers(text, is_readable)
    plain = without_marks(text)
    if _NEXT_TURN.search(plain.lstrip()):
        return plain
    labelled = _labelled(plain, is_readable)
    if labelled is not None:
        return labelled
    emphasised = _emphasised(text, answer)
    if emphasised is not None:
        return without_marks(emphasised)
    return plain


def in_containers(text: str, is_readable: Callable[[str], bool]) -> str:
    """Return what the last container holds, or the containers in it; the whole text if there is none."""
    for _ in range(DEEPEST):
        inside = _contained(text, is_readable)
        if inside is None:
            break
        text = inside
    return text


def without_marks(text: str) -> str:
    """Return a text without tags, Markdown and LaTeX; a tag that is not inside a line ends a line."""
    text = _STRUCK.sub("", text)
    text = _PAIRED_BOLD.sub(r"\1", text)
    text = _INLINE_TAG.sub("", text)
    text = _OTHER_TAG.sub("\n", text)
    if "\\" in text:
        text = _LATEX.sub(r"\1\2", text)
    text = _SIGNS.sub("", text)
    return _LINE_SIGNS.sub("", text)


def _contained(text: str, is_readable: Callable[[str], bool]) -> str | None:
    """Return what the last container holds; None if there is none that holds something."""
    tagged = _last(text, _tagged(text))
    if tagged is not None:
        return tagged
    boxed = _last(text, _boxed(text))
    if boxed is not None:
        return boxed
    value = _json_value(text)
    if value is not None and is_readable(without_marks(value)):
        return value
    return None


def _tagged(text: str) -> list[_Part]:
    """Return what stands in each tag of an answer, up to the next such tag or the end."""
    parts = []
    tags = list(_TAG.finditer(text))
    for number, tag in enumerate(tags):
        if not tag["opening"]:
            continue
        end = len(text)  # where the tag that closes it begins, and where that ends
        after = len(text)
        if number + 1 < len(tags):
            next_tag = tags[number + 1]
            end = next_tag.start()
            after = next_tag.end()
        inside = text[tag.end() : end]
        if inside.strip():
            parts.append(_Part(inside, tag.start(), after))
    return parts


def _boxed(text: str) -> list[_Part]:
    """Return what stands in each box of LaTeX, up to the brace that closes it or the end."""
    parts = []
    end = 0
    for box in _BOX.finditer(text):
        if box.start() < end:
            continue
        end = _closing_brace(text, box.end())
        inside = text[box.end() : end]
        if inside.strip():
            parts.append(_Part(inside, box.start(), end + 1))
    return parts


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        if brace.group() == "{":
            depth += 1
        else:
            depth -= 1
        if depth == 0:
            return brace.start()
    return len(text)


def _json_value(text: str) -> str | None:
    """Return the answer in a text that is JSON, or in the last object in it; None if there is none."""
    bare = _FENCE.sub("", text).strip()
    if bare[:1] in ("{", "["):
        value = _only_value(_parsed(bare))
        if value is not None:
            return value
    objects = _JSON_OBJECT.findall(bare)
    if objects:
        return _only_value(_parsed(objects[-1]))
    return None


def _parsed(text: str) -> Any:
    if '"' not in text:  # as Python prints a dictionary
        text = text.replace("'", '"')
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _only_value(value: Any) -> str | None:
    """Return the one value of an object or a list, or an object's value whose key says that it is the answer."""
    for _ in range(DEEPEST):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif isinstance(value, dict):
            key = _key_of_answer(list(value))
            if key is None:
                return None
            value = value[key]
        else:
            break
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if isinstance(value, str):
        return value
    return None


def _key_of_answer(keys: list[str]) -> str | None:
    """Return an object's only key, or the last that names an answer."""
    if len(keys) == 1:
        return keys[0]
    for pattern in _KEYS:
        for key in reversed(keys):
            if pattern.fullmatch(key):
                return key
    return None


def _labelled(plain: str, is_readable: Callable[[str], bool]) -> str | None:
    """Return the line after the last label that a readable answer follows."""
    labels = list(_LABEL.finditer(plain))[-MOST_LABELS:]
    for label in reversed(labels):
        line, _, _ = plain[label.end() :].partition("\n")
        if is_readable(line):
            return line
    return None


def _emphasised(text: str, answer: re.Pattern[str]) -> str | None:
    """Return the last part in bold, italics or the like that is an answer."""
    parts = []
    for emphasis in _EMPHASIS.finditer(text):
        inside = emphasis["marked"] or emphasis["tagged"] or emphasis["latex"]
        is_closed = not inside[-1:].isalnum() or _AFTER.match(text, emphasis.end())
        if is_closed and answer.match(inside):
            parts.append(_Part(inside, emphasis.start(), emphasis.end()))
    return _last(text, parts)


def _last(text: str, parts: list[_Part]) -> str | None:
    """Return the last part that is no alternative of the one before it."""
    while len(parts) > 1:
        between = text[parts[-2].end : parts[-1].start]
        if not _OR.fullmatch(between):
            break
        parts = parts[:-2]
    if not parts:
        return None
    return parts[-1].text
