"""What a judge is asked about each class, and the frame that holds the question and the LVLM's text.

A template writes `{a/an}` for the article and `{x}` for the class name, as the THRONE paper does.
Sources: THRONE, section 4.3 (set `paper`); what THRONE's released code asks with M = 3 (set `released`).
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from halluscope.vocabularies import Vocabulary


@dataclass(frozen=True)
class Question:
    """One question about one class, in the frame that its set uses.

    Attributes:
        text: the question as put, such as "Is there a dog in this image?".
        object: the class it asks about, by its name in the vocabulary.
        frame: the whole prompt, with `{response}` and `{question}` once each.
    """

    text: str
    object: str
    frame: str

    def prompt(self, response: str) -> str:
        """The whole prompt. Nothing that stands in `response` is taken for a placeholder."""
        before, between, after = self.parts
        return before + response + between + after

    @property
    def parts(self) -> tuple[str, str, str]:
        """What stands before the response, and after it up to the question, and the question with what follows."""
        before, rest = self.frame.split("{response}")
        between, after = rest.split("{question}")
        return before, between, self.text + after


@dataclass(frozen=True)
class QuestionSet:
    """M question templates that mean the same, with their frame.

    Attributes:
        name: "paper", "released", or "custom-<8 hexadecimal digits of the templates' sha256>".
        templates: each holds `{x}`, and mostly `{a/an} {x}`.
        frame: the whole prompt, with `{response}` before `{question}`.
        max_characters: the response is cut there; None keeps it whole.
        ask_as: a class's word (`Vocabulary.word`) -> the one used for it in a question.
    """

    name: str
    templates: tuple[str, ...]
    frame: str
    max_characters: int | None = None
    ask_as: Mapping[str, str] = field(default_factory=dict)

    def about(self, vocabulary: Vocabulary) -> list[list[Question]]:
        """The questions, as [templates][classes]."""
        return [
            [self._ask(template, cls, vocabulary) for cls in vocabulary.classes]
            for template in self.templates
        ]

    def cut(self, response: str) -> str:
        """The part of a response that this set shows to a judge."""
        return response[: self.max_characters]

    def _ask(self, template: str, cls: str, vocabulary: Vocabulary) -> Question:
        word = vocabulary.word(cls)
        name = self.ask_as.get(word, word)
        pieces = {"{a/an} ": "" if cls in vocabulary.plurals else f"{article(name)} ", "{x}": name}
        text = re.sub(r"\{a/an\} |\{x\}", lambda found: pieces[found.group()], template)
        return Question(text, cls, self.frame)


PAPER = QuestionSet(
    name="paper",
    templates=(
        "Is there {a/an} {x} in this image?",
        "Does the text imply {a/an} {x} is in the image?",
        "Does the text explicitly mention {a/an} {x} is in the image?",
    ),
    frame="Text: {response}\n\nRead the text about an image and answer the question.\n\n"
    "Question: Please answer yes or no. {question}",
)
RELEASED = QuestionSet(
    name="released",
    templates=(
        "Please answer yes or no. Is there {a/an} {x} in this image?",
        "Is there {a/an} {x} in this image?",
        "Please answer yes or no. Does the text imply {a/an} {x} is in the image?",
    ),
    frame="Text: {response}\n\nRead the text and answer the question.\n\n{question}",
    max_characters=1024,
    ask_as={"tie": "necktie"},
)
QUESTION_SETS = {questions.name: questions for questions in (PAPER, RELEASED)}


def load(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one of the user's templates in the paper's frame.

    Raises:
        ValueError: for an unknown name, no template, or a template without `{x}`.
    """
    if isinstance(questions, QuestionSet):
        return questions
    if isinstance(questions, str):
        if questions not in QUESTION_SETS:
            raise ValueError(
                f"There is no question set {questions!r:.80}; known are {', '.join(QUESTION_SETS)}. "
                "A list of templates serves as well: questions=['Is there {a/an} {x} in this image?']."
            )
        return QUESTION_SETS[questions]
    if not isinstance(questions, Iterable):
        raise ValueError(
            f"questions is {questions!r:.80}; expected templates, or one of {', '.join(QUESTION_SETS)}."
        )
    templates = tuple(questions)
    if not templates:
        raise ValueError(f"questions is empty; expected templates, or one of {', '.join(QUESTION_SETS)}.")
    for i, template in enumerate(templates):
        if not isinstance(template, str) or "{x}" not in template:
            raise ValueError(
                f"questions[{i}] is {template!r:.120}; expected a template with {{x}} for the class name, "
                "such as 'Is there {a/an} {x} in this image?'."
            )
    digest = hashlib.sha256(json.dumps(templates).encode()).hexdigest()[:8]
    return QuestionSet(f"custom-{digest}", templates, PAPER.frame)


POPE = "Is there {a/an} {x} in the image?"
"""What POPE (Li et al., EMNLP 2023) asks an LVLM about an image: a template as those above, without a text."""


_AN = re.compile(r"(?!uni(?!n)|use|ute|uri|euro|one\b|once|u-)[aeiou]|hour|honest|heir|suv\b", re.IGNORECASE)


def article(noun: str) -> str:
    """The indefinite article that a noun's sound asks for.

    >>> [article(noun) for noun in ("dog", "umbrella", "oven", "unicycle", "hourglass", "suv")]
    ['a', 'an', 'an', 'a', 'an', 'an']
    """
    return "an" if _AN.match(noun) else "a"
