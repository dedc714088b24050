"""What a column of texts holds, beside what the dataset says of each row: right answers, prompts, or one text."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# From how many rows on a column may be known by its content to hold right answers
FEWEST_ROWS = 30
# The share of the rows with a right answer in which a column of right answers has it: of labels, such as yes and no,
# and of free texts, which an LVLM hardly ever gives word for word
LABELS_RIGHT, TEXTS_RIGHT = 0.99, 0.5
OFTEN = 0.8  # the least share of right answers that two versions of the questions share
LONGEST_LABEL = 3  # characters: "yes", "no", "A"

# In which share of the rows a column of prompts asks the question, or has one and the same text
NEARLY_ALL = 0.95
# A text of so many words, the same in each row, is a prompt from two rows on; a shorter one from `FEWEST_ROWS` on
SENTENCE = 3

# How many rows, spread over the file, are looked at before all of them are, and how much less than the share among all
# rows may be the share among these
GLANCE, SLACK = 100, 0.15

# A question among other words, such as "USER: <image>Is there a dog? ASSISTANT:"
_ASKED = re.compile(r"[^.?!:>\n]+\?")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")

REMEMBERED = 2**12  # how many texts are remembered in their plain form: questions and labels recur


@dataclass(frozen=True)
class Told:
    """What the dataset says of each row of a file."""

    # the question or the prompt; "" where it is unknown
    questions: Sequence[str]
    # by each known version of the questions, the right answers: a text, or several, or None
    answers: Sequence[Sequence[Any]] = ()
    # whether texts that are nearly always right are the right answers of a version whose answers only a digest tells
    are_of_version: Callable[[Sequence[str | None]], bool] = lambda texts: False


@dataclass(frozen=True)
class Facts:
    """What a column holds."""

    name: str
    rows: int  # the number of rows
    filled: int  # in how many of them it holds a text that is not empty
    right: int = 0  # the number of its right answers, if it holds right answers
    is_prompt: bool = False  # whether it asks the dataset's questions
    same: str | None = None  # the one text that nearly all rows have
    shown: int = 0  # the place of a row with a text, for messages

    @property
    def is_sentence(self) -> bool:
        """Whether it holds one and the same text in nearly all rows, which is no mere word such as "Yes"."""
        return self.same is not None and len(self.same.split()) >= SENTENCE

    @property
    def is_constant(self) -> bool:
        """Whether it holds one and the same sentence, or one and the same word in many rows."""
        return self.is_sentence or (self.same is not None and self.rows >= FEWEST_ROWS)

    @property
    def is_usable(self) -> bool:
        """Whether it may hold responses."""
        return not self.right and not self.is_prompt


def facts_of(name: str, texts: Sequence[str | None], told: Told) -> Facts:
    """Return what a column holds, by its text in each row (None for none)."""
    filled = sum(text is not None and text != "" for text in texts)
    right = max((right_answers(texts, answers) for answers in told.answers), default=0)
    if not right and told.answers and _are_often_right(texts, told.answers[0]) and told.are_of_version(texts):
        right = filled
    return Facts(
        name,
        len(texts),
        filled,
        right,
        are_prompts(texts, told.questions),
        same_text(texts),
        next((place for place, text in enumerate(texts) if text), 0),
    )


def right_answers(texts: Sequence[str | None], answers: Sequence[Any]) -> int:
    """Return how many texts are the right answers, if so many are that the texts are no responses; else 0."""
    # the rows that have both
    places = [place for place, answer in enumerate(answers) if answer and texts[place]]
    if len(places) < FEWEST_ROWS:
        return 0
    are_labels = all(is_label(answers[place]) for place in places)
    share = LABELS_RIGHT if are_labels else TEXTS_RIGHT
    glance = [places[number] for number in _spread(len(places))]
    if _right(texts, answers, glance) < (share - SLACK) * len(glance):
        return 0
    right = _right(texts, answers, places)
    return right if right >= share * len(places) else 0


def _are_often_right(texts: Sequence[str | None], answers: Sequence[Any]) -> bool:
    glance = [place for place in _spread(len(texts)) if answers[place]]
    return _right(texts, answers, glance) >= OFTEN * len(glance) > 0


def _right(texts: Sequence[str | None], answers: Sequence[Any], places: Sequence[int]) -> int:
    """Return how many of some texts are the right answers."""
    return sum(is_right(texts[place] or "", answers[place]) for place in places)


def is_label(answer: Any) -> bool:
    """Whether a right answer is yes, no, or a letter."""
    return isinstance(answer, str) and len(answer) <= LONGEST_LABEL


def is_right(text: str, answer: Any) -> bool:
    """Whether a text is the right answer, or one or all of several, but for case, spaces and marks at its ends."""
    if isinstance(answer, str):
        return plain_answer(text) == plain_answer(answer)
    if not isinstance(answer, list | tuple):
        return False
    known = {plain_answer(one) for one in answer if isinstance(one, str)}
    if plain_answer(text) in known:
        return True
    parts = {plain_answer(part) for part in text.split(";")} - {""}
    return bool(parts) and parts <= known


@lru_cache(REMEMBERED)
def plain_answer(text: str) -> str:
    """Return an answer in lower case, with single spaces and without marks at its ends."""
    return _EDGES.sub("", " ".join(text.casefold().split()))


def are_prompts(texts: Sequence[str | None], questions: Sequence[str]) -> bool:
    """Whether nearly all texts ask their row's question, and all end alike after it.

    After a question that a response repeats comes the LVLM's answer, which differs from row to row.
    """
    if not any(questions):
        return False
    if all(text is not None and text.rstrip().endswith("?") for text in texts):
        asked = zip(texts, questions, strict=True)
        if any(_end(text, question, False) == "" for text, question in asked):
            return True
    within = len(texts) >= FEWEST_ROWS
    glance = [_end(texts[place], questions[place], within) for place in _spread(len(texts))]
    if _share(glance) < NEARLY_ALL - SLACK:
        return False
    ends = [_end(text, question, within) for text, question in zip(texts, questions, strict=True)]
    return _share(ends) >= NEARLY_ALL


def mostly_ask(texts: Sequence[str | None]) -> bool:
    """Whether nearly all texts have a question mark."""
    places = _spread(len(texts))
    with_mark = sum("?" in (texts[place] or "") for place in places)
    return with_mark >= NEARLY_ALL * len(places)


def question_in(texts: Sequence[str], known: Collection[str]) -> str:
    """Return the first known question (`plain_question`) in texts, with or without other words; "" for none."""
    for text in texts:
        for part in (text, *text.splitlines(), *_ASKED.findall(text.replace("\\n", "\n"))):
            question = plain_question(part)
            if question in known:
                return question
    return ""


def own_question(text: str | None) -> str:
    """Return the first question in a text; "" for none."""
    found = _ASKED.search((text or "").replace("\\n", "\n"))
    return found[0].strip() if found else ""


def questions_among(texts: Sequence[str | None]) -> list[str]:
    """Return the question in each text, as far as the texts alone tell; "" for none.

    They have a question mark, or all end in one sentence, such as "Please answer only with yes or no.".
    """
    if mostly_ask(texts):
        return [own_question(text) for text in texts]
    glance = [(texts[place] or "").rstrip() for place in _spread(len(texts))]
    ending = _common_ending(glance)
    if len({*glance}) < FEWEST_ROWS or len(ending.split()) <= SENTENCE:
        return [""] * len(texts)
    return [(text or "").rstrip().removesuffix(ending).rstrip() for text in texts]


def _common_ending(texts: Sequence[str]) -> str:
    ending = texts[0] if texts else ""
    for text in texts:
        while not text.endswith(ending):
            ending = ending[1:]
    return ending


def _end(text: str | None, question: str, within: bool) -> str | None:
    """Return what follows the question in a text; None if the question is not in it, or an answer follows it.

    Args:
        text: a text, or None.
        question: the row's question.
        within: whether the question may stand within other words; if not, the text begins with it.
    """
    if not text or not question:
        return None
    plain = plain_question(text.replace("\\n", " ").replace("<image>", " ")).casefold()
    before, asked, after = plain.rpartition(plain_question(question).casefold())
    if not asked or (before and not within):
        return None
    words = {plain_answer(word) for word in after.split()}
    return None if len(words & {"yes", "no"}) == 1 else after.strip()


def _share(ends: Sequence[str | None]) -> float:
    """Return the share of the most frequent end."""
    counts = Counter(end for end in ends if end is not None)
    return counts.most_common(1)[0][1] / len(ends) if counts else 0.0


def _spread(rows: int) -> range:
    """Return the places of some rows, spread over all."""
    return range(0, rows, max(1, rows // GLANCE))


def same_text(texts: Sequence[str | None]) -> str | None:
    """Return the text that nearly all rows have; None if there is none."""
    if len(texts) < 2:
        return None
    glance = Counter(texts[place] for place in _spread(len(texts)))
    text, count = glance.most_common(1)[0]
    if not text or count < (NEARLY_ALL - SLACK) * glance.total():
        return None
    return text if sum(other == text for other in texts) >= NEARLY_ALL * len(texts) else None


@lru_cache(REMEMBERED)
def plain_question(text: str) -> str:
    """Return a question with single spaces, and with "image" for the "imange" of older versions of POPE."""
    return " ".join(text.replace("imange", "image").split())
