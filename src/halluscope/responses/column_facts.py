"""What a column of texts holds, beside what the dataset says of each row: right answers, prompts, or one text."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# From how many rows on a column may be known by its content to hold right answers
FEWEST_ROWS = 30
# From how many rows on it is asked whether it does, if another column may hold responses
FEW_ROWS = 5
# The share of the rows with a right answer in which a column of right answers has it: of labels, such as yes and no,
# and of free texts, which an LVLM hardly ever gives word for word
LABELS_RIGHT = 0.99
TEXTS_RIGHT = 0.5
OFTEN = 0.8  # the least share of right answers that two versions of the questions have in common
LONGEST_LABEL = 3  # characters: "yes", "no", "A"

# In which share of the rows a column of prompts asks the question, or has one and the same text
NEARLY_ALL = 0.95
# A text of so many words, the same in each row, is a prompt from two rows on; a shorter one from `FEWEST_ROWS` on
SENTENCE = 3

# How many rows, spread over the file, are looked at before all of them are, and how much less than the share among all
# rows may be the share among these
GLANCE = 100
SLACK = 0.15

# A question among other words, such as "USER: <image>Is there a dog? ASSISTANT:"
_QUESTION = re.compile(r"[^.?!:>\n]+\?")
_NUMBER = re.compile(r"\s*-?[\d.]+(?:[eE][-+]?\d+)?\s*")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")

REMEMBERED = 2**12  # how many texts are remembered in their plain form: questions, labels and images recur

# The text of a column in each row; None where a row has none
Texts = Sequence[str | None]


@dataclass(frozen=True)
class Expected:
    """What the dataset says of each row of a file."""

    # the question or the prompt; "" where it is unknown
    questions: Sequence[str]
    # by each known version of the questions, the right answers: a text, or several, or None
    versions: Sequence[Sequence[Any]] = ()
    # the labels among the right answers to all rows of the dataset, of which a file may be about those of one; none
    # where the rows ask for texts
    labels: Collection[str] = ()
    # whether texts that are often right are the right answers of a version that only digests tell
    are_of_version: Callable[[Texts], bool] = lambda texts: False


@dataclass(frozen=True)
class Facts:
    """What a column holds."""

    name: str
    rows: int  # the number of rows
    filled: int  # in how many of them it holds a text that is not empty
    right: int  # the number of its right answers, if it holds right answers; else 0
    is_prompt: bool  # whether it asks the dataset's questions
    same: str | None  # the one text that nearly all rows have
    example: int  # the place of a row with a text, for messages

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


def facts_of(name: str, texts: Texts, expected: Expected) -> Facts:
    """Return what a column holds."""
    filled = len(texts) - texts.count(None) - texts.count("")
    example = next((place for place, text in enumerate(texts) if text), 0)
    return Facts(
        name=name,
        rows=len(texts),
        filled=filled,
        right=_right_by_any_version(texts, filled, expected),
        is_prompt=are_prompts(texts, expected.questions),
        same=same_text(texts),
        example=example,
    )


# Right answers


def _right_by_any_version(texts: Texts, filled: int, expected: Expected) -> int:
    for answers in expected.versions:
        right = right_answers(texts, answers)
        if right:
            return right
    if not expected.versions:
        return 0
    if _are_often_right(texts, expected.versions[0]) and expected.are_of_version(texts):
        return filled
    return 0


def right_answers(texts: Texts, answers: Sequence[Any]) -> int:
    """Return how many texts are the right answers, if so many are that the texts are no responses; else 0."""
    places = _with_both(texts, answers)
    if len(places) < FEWEST_ROWS:
        return 0
    share_of_some = _share_right(texts, answers, places[:: _step(len(places))])
    if share_of_some < TEXTS_RIGHT - SLACK:
        return 0
    share = LABELS_RIGHT
    for place in places:
        if not is_label(answers[place]):
            share = TEXTS_RIGHT
            break
    if share_of_some < share - SLACK:
        return 0
    right = _share_right(texts, answers, places)
    return round(right * len(places)) if right >= share else 0


def _are_often_right(texts: Texts, answers: Sequence[Any]) -> bool:
    places = _with_both(texts, answers)
    return _share_right(texts, answers, places[:: _step(len(places))]) >= OFTEN


def _with_both(texts: Texts, answers: Sequence[Any]) -> Sequence[int]:
    """Return the places of the rows that have a text and a right answer."""
    if all(texts) and all(answers):
        return range(len(texts))
    return [place for place, answer in enumerate(answers) if answer and texts[place]]


def _share_right(texts: Texts, answers: Sequence[Any], places: Sequence[int]) -> float:
    """Return the share of right answers among the texts at some places; 0 without places."""
    if not places:
        return 0.0
    right = 0
    for place in places:
        if is_right(texts[place] or "", answers[place]):
            right += 1
    return right / len(places)


def are_all_right(texts: Texts, expected: Expected) -> bool:
    """Whether so few texts that an LVLM may be right in all of them are all the right answers."""
    if len(texts) >= FEWEST_ROWS:
        return False
    for answers in expected.versions:
        places = _with_both(texts, answers)
        if len(places) >= FEW_ROWS and _share_right(texts, answers, places) == 1:
            return True
    return False


def are_of_other_rows(texts: Texts, expected: Expected) -> bool:
    """Whether texts are labels such as yes and no, of which too few are these rows' right answers by any version."""
    labels = expected.labels
    if not labels or any(text and plain_answer(text) not in labels for text in texts):
        return False
    for answers in expected.versions:
        places = _with_both(texts, answers)
        if len(places) < FEWEST_ROWS or _share_right(texts, answers, places) >= OFTEN:
            return False
    return True


def is_label(answer: Any) -> bool:
    """Whether a right answer is yes, no, or a letter."""
    return isinstance(answer, str) and len(answer) <= LONGEST_LABEL


def are_labels(answers: Sequence[Any]) -> bool:
    """Whether most right answers are labels, as where rows ask for yes or no; a few are where they ask for a text."""
    labels = 0
    for text, count in Counter(_texts_in(answers)).items():  # a few, of many rows
        if is_label(text):
            labels += count
    return 2 * labels > len(answers)


def are_all_labels(answers: Sequence[Any]) -> bool:
    """Whether all right answers are labels."""
    texts = _texts_in(answers)
    return len(texts) == len(answers) and all(map(is_label, set(texts)))


def labels_in(answers: Iterable[Any]) -> set[str]:
    """Return the labels among right answers, in their plain form."""
    labels = filter(is_label, set(_texts_in(answers)))
    return set(map(plain_answer, labels))


def _texts_in(answers: Iterable[Any]) -> list[str]:
    return [answer for answer in answers if isinstance(answer, str)]


def is_right(text: str, answer: Any) -> bool:
    """Whether a text is the right answer, or one or all of several, but for case, spaces and marks at its ends."""
    if isinstance(answer, str):
        return plain_answer(text) == plain_answer(answer)
    known = {plain_answer(accepted) for accepted in answer if isinstance(accepted, str)}
    if plain_answer(text) in known:
        return True
    parts = set(map(plain_answer, text.split(";"))) - {""}
    return bool(parts) and parts <= known


@lru_cache(REMEMBERED)
def plain_answer(text: str) -> str:
    """Return an answer in lower case, with single spaces and without marks at its ends."""
    return _EDGES.sub("", " ".join(text.casefold().split()))


# Prompts


def are_prompts(texts: Texts, questions: Sequence[str]) -> bool:
    """Whether nearly all texts ask their row's question, and all end alike after it.

    After a question that a response repeats comes the LVLM's answer, which differs from row to row.
    """
    if not any(questions):
        return False
    if _all_end_in_question_marks(texts):
        for text, question in zip(texts, questions, strict=True):
            if _ending(text, question, within=False) == "":
                return True
    within = len(texts) >= FEWEST_ROWS
    # some texts, spread over the file, refuse most columns quickly
    endings = [_ending(texts[place], questions[place], within) for place in _spread(len(texts))]
    if _share_of_most_frequent(endings) < NEARLY_ALL - SLACK:
        return False
    endings = [_ending(text, question, within) for text, question in zip(texts, questions, strict=True)]
    return _share_of_most_frequent(endings) >= NEARLY_ALL


def _all_end_in_question_marks(texts: Texts) -> bool:
    return all((text or "").rstrip().endswith("?") for text in texts)


def _ending(text: str | None, question: str, within: bool) -> str | None:
    """Return what follows the question in a text; None if the question is not in it, or an answer follows it.

    Args:
        text: a text, or None.
        question: the row's question.
        within: whether the question may stand within other words; if not, the text begins with it.
    """
    asked = plain_question(question).casefold()
    if not text or not asked:
        return None
    plain = plain_question(text.replace("\\n", " ").replace("<image>", " ")).casefold()
    before, found, ending = plain.rpartition(asked)
    if not found or (before and not within):
        return None
    words = set(map(plain_answer, ending.split()))
    if ("yes" in words) != ("no" in words):
        return None
    return ending.strip()


def _share_of_most_frequent(endings: Texts) -> float:
    counts = Counter(ending for ending in endings if ending is not None)
    if not counts:
        return 0.0
    return counts.most_common(1)[0][1] / len(endings)


def mostly_ask(texts: Texts) -> bool:
    """Whether nearly all texts have a question mark."""
    places = _spread(len(texts))
    with_mark = 0
    for place in places:
        if "?" in (texts[place] or ""):
            with_mark += 1
    return with_mark >= NEARLY_ALL * len(places)


def question_in(texts: Sequence[str], known: Collection[str]) -> str:
    """Return the first known question (`plain_question`) in texts, with or without other words; "" for none."""
    for text in texts:
        sentences = _QUESTION.findall(text.replace("\\n", "\n"))
        for part in [text] + text.splitlines() + sentences:
            question = plain_question(part)
            if question in known:
                return question
    return ""


def questions_among(texts: Texts) -> list[str]:
    """Return the question in each text, as far as the texts alone tell; "" for none.

    They have a question mark, or all end in one sentence, such as "Please answer only with yes or no.".
    """
    if mostly_ask(texts):
        return [first_question(text or "") for text in texts]
    glance = [(texts[place] or "").rstrip() for place in _spread(len(texts))]
    ending = common_ending(glance)
    if len(set(glance)) < FEWEST_ROWS or len(ending.split()) <= SENTENCE:
        return [""] * len(texts)
    return [(text or "").rstrip().removesuffix(ending).rstrip() for text in texts]


def first_question(text: str) -> str:
    """Return the first question in a text; "" for none."""
    match = _QUESTION.search(text.replace("\\n", "\n"))
    return match[0].strip() if match else ""


def common_ending(texts: Sequence[str]) -> str:
    """Return the longest text that all texts end with."""
    ending = texts[0] if texts else ""
    for text in texts:
        while not text.endswith(ending):
            ending = ending[1:]
    return ending


def common_beginning(texts: Sequence[str]) -> str:
    """Return the longest text that all texts begin with."""
    beginning = texts[0] if texts else ""
    for text in texts:
        while not text.startswith(beginning):
            beginning = beginning[:-1]
    return beginning


@lru_cache(REMEMBERED)
def plain_question(text: str) -> str:
    """Return a question with single spaces, and with "image" for the "imange" of older versions of POPE."""
    return " ".join(text.replace("imange", "image").split())


# Numbers


def are_numbers(texts: Texts) -> bool:
    """Whether all of many texts are numbers, such as the probability of a yes."""
    filled = 0
    for text in texts:
        if not text:
            continue
        if _NUMBER.fullmatch(text) is None:
            return False
        filled += 1
    return filled >= FEWEST_ROWS


# One and the same text


def same_text(texts: Texts) -> str | None:
    """Return the text that nearly all rows have; None if there is none."""
    if len(texts) < 2:
        return None
    glance = Counter(texts[place] for place in _spread(len(texts)))
    text, count = glance.most_common(1)[0]
    if not text or count < (NEARLY_ALL - SLACK) * glance.total():
        return None
    if Counter(texts)[text] < NEARLY_ALL * len(texts):
        return None
    return text


def _spread(rows: int) -> range:
    """Return the places of some rows, spread over all."""
    return range(0, rows, _step(rows))


def _step(rows: int) -> int:
    return max(1, rows // GLANCE)
