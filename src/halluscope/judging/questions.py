"""What a voter is asked about each class, and the frame that holds the question and the LVLM's text.

A template writes `{a/an}` for the article and `{x}` for the class name.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halluscope.foreign import brief
from halluscope.inputs import listed
from halluscope.vocabularies import Plain, Vocabulary

OBJECT_QUESTION = "Is there {a/an} {x} in the image?"
"""Whether an object is in an image, as POPE (Li et al., EMNLP 2023, section 5.1) asks an LVLM: a template."""

OBJECT_ASKED = re.compile(r"Is there (?:an? )?(?P<object>.+) in the image\?")
"""Reads the object of that question."""


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
        name: what stands in a signature.
        templates: each holds `{x}`, and mostly `{a/an} {x}`.
        frame: the whole prompt, with `{response}` before `{question}`.
        max_characters: the response is cut there; None keeps it whole.
        ask_as: a class's word -> the one used for it in a question.
        own: a class's name -> templates of its own, as many.
        by_letter: classes are called by their names as they stand, with "an" before a, e, i, o and u, and "a" before
            all else; otherwise by `Vocabulary.word`, with the article that their sound asks for, and none for plurals.
        of_many: the templates for what takes a verb in the plural, as many; where there are some, classes are called
            by `Vocabulary.plain`.
        claims: whether the templates are claims, which a checker is asked about, rather than questions. What the
            dataset means by a class is then not said: it would be another claim.
    """

    name: str
    templates: tuple[str, ...]
    frame: str
    max_characters: int | None = None
    ask_as: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_letter: bool = False
    of_many: tuple[str, ...] = ()
    claims: bool = False

    def about(self, vocabulary: Vocabulary) -> list[list[Question]]:
        """The questions, as [templates][classes]."""
        ask = self._ask_plainly if self.of_many else self._ask
        return [[ask(i, cls, vocabulary) for cls in vocabulary.classes] for i in range(len(self.templates))]

    def cut(self, response: str) -> str:
        """The part of a response that this set shows to a judge."""
        return response[: self.max_characters]

    def _ask(self, i: int, cls: str, vocabulary: Vocabulary) -> Question:
        template = self.own.get(cls, self.templates)[i]
        word = cls if self.by_letter else vocabulary.word(cls)
        name = self.ask_as.get(word, word)
        if self.by_letter:
            before = "an " if name[0] in "aeiou" else "a "
        else:
            before = "" if cls in vocabulary.plurals else f"{article(name)} "
        return Question(_filled(template, before, name), cls, self.frame)

    def _ask_plainly(self, i: int, cls: str, vocabulary: Vocabulary) -> Question:
        plain = vocabulary.plain.get(cls, Plain())
        name = plain.word or vocabulary.word(cls)
        before = f"{article(name)} " if plain.kind == "one" else ""
        stated = f'Here, "{name}" means {plain.means}. ' if plain.means and not self.claims else ""
        template = (self.of_many if plain.kind == "many" else self.templates)[i]
        return Question(stated + _filled(template, before, name), cls, self.frame)


def question_set(
    questions: str | Sequence[str] | QuestionSet, sets: Mapping[str, QuestionSet], frame: str
) -> QuestionSet:
    """Find a question set by name, or make one of the user's templates.

    Args:
        questions: a set, the name of one, or templates.
        sets: those that have a name.
        frame: of the user's templates.

    Raises:
        ValueError: for an unknown name, no template, or a template without `{x}`.
    """
    if isinstance(questions, QuestionSet):
        return questions
    if isinstance(questions, str):
        if questions not in sets:
            raise ValueError(
                f"There is no question set {brief(questions)}; known are {', '.join(sets)}. "
                "A list of templates serves as well: questions=['Is there {a/an} {x} in this image?']."
            )
        return sets[questions]
    templates = tuple(listed("questions", questions, f"a list of templates, or one of {', '.join(sets)}"))
    if len(templates) == 1 and isinstance(templates[0], str) and re.fullmatch(r"[\w-]+", templates[0]):
        return question_set(templates[0], sets, frame)
    if not templates:
        raise ValueError(f"questions is empty; expected templates, or one of {', '.join(sets)}.")
    for i, template in enumerate(templates):
        if not isinstance(template, str) or "{x}" not in template:
            raise ValueError(
                f"questions[{i}] is {brief(template, 120)}; expected a template with {{x}} for the class name, "
                "such as 'Is there {a/an} {x} in this image?'."
            )
    digest = hashlib.sha256(json.dumps(templates).encode()).hexdigest()[:8]
    return QuestionSet(f"custom-{digest}", templates, frame)


def _filled(template: str, before: str, name: str) -> str:
    """A template with a class's name, and its article or nothing."""
    pieces = {"{a/an} ": before, "{x}": name}
    return re.sub(r"\{a/an\} |\{x\}", lambda found: pieces[found.group()], template)


_AN = re.compile(
    r"(?!uni(?!n)|us[aeu]|ut[ei]|uri|uk|ufo\b|eu|ewe|one\b|once|u-)[aeiou]|hour|honest|honou?r|heir|x-|suv\b",
    re.IGNORECASE,
)
_SPELT = re.compile(r"[A-Z][A-Z0-9]+\b")
_AN_LETTER = frozenset("AEFHILMNORSX")


def article(noun: str) -> str:
    """The indefinite article that a noun's sound asks for; capitals are spelt ("an MP3 player").

    >>> [article(noun) for noun in ("dog", "umbrella", "ukulele", "hourglass", "UFO", "LED", "x-ray")]
    ['a', 'an', 'a', 'an', 'a', 'an', 'an']
    """
    if _SPELT.match(noun):
        return "an" if noun[0] in _AN_LETTER else "a"
    return "an" if _AN.match(noun) else "a"
