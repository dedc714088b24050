"""Question sets: what a voter is asked about each class, and the frame that holds question and response.

A template writes `{a/an}` for the article and `{x}` for the class name.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halluscope.sanitize import short_repr
from halluscope.validation import listed
from halluscope.vocabularies import Plain, Vocabulary

# How POPE (Li et al., EMNLP 2023, section 5.1) asks an LVLM whether an object is in an image
OBJECT_QUESTION = "Is there {a/an} {x} in the image?"

# Finds the object in a question made from `OBJECT_QUESTION`
OBJECT_ASKED = re.compile(r"Is there (?:an? )?(?P<object>.+) in the image\?")


@dataclass(frozen=True)
class Question:
    """One question about one class, with the frame of its question set."""

    text: str  # the question as asked, such as "Is there a dog in this image?"
    object: str  # the class it asks about, by its name in the vocabulary
    frame: str  # the whole prompt, with `{response}` and `{question}` once each

    def prompt(self, response: str) -> str:
        """Return the whole prompt. Nothing in `response` is taken for a placeholder."""
        before, rest = self.frame.split("{response}")
        between, _ = rest.split("{question}")
        return before + response + between + self.end

    @property
    def end(self) -> str:
        """The prompt's end, which begins with the question."""
        _, after = self.frame.split("{question}")
        return self.text + after


@dataclass(frozen=True)
class QuestionSet:
    """M question templates that mean the same, with their frame."""

    name: str  # the set's name in a signature
    templates: tuple[str, ...]  # the templates; each holds `{x}`, usually as `{a/an} {x}`
    frame: str  # the whole prompt, with `{response}` before `{question}`
    # how many characters of the response a judge sees; None for all
    max_characters: int | None = None
    # maps a class's word to the word that a question uses for it
    ask_as: Mapping[str, str] = field(default_factory=dict)
    # maps a class's name to templates of its own, as many as `templates`
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # whether questions use the classes' own names, with "an" before a, e, i, o and u, and "a" before all
    # else; otherwise they use `Vocabulary.word` with the article that its sound needs, or none for plurals
    by_letter: bool = False
    # the templates for nouns that take a plural verb, as many as `templates`; if there are any, questions use
    # the words of `Vocabulary.plain`
    of_many: tuple[str, ...] = ()
    # whether the templates are claims for a checker rather than questions. What the dataset means by a class
    # is then left out, because it would be another claim.
    claims: bool = False

    def about(self, vocabulary: Vocabulary) -> list[list[Question]]:
        """Return the questions, as [templates][classes]."""
        questions = []
        for number in range(len(self.templates)):
            questions.append([self._ask(number, cls, vocabulary) for cls in vocabulary.classes])
        return questions

    def cut(self, response: str) -> str:
        """Return the part of a response that this set shows to a judge."""
        return response[: self.max_characters]

    def _ask(self, number: int, cls: str, vocabulary: Vocabulary) -> Question:
        """Return the question about a class by the template of this number."""
        if self.of_many:
            return self._ask_plainly(number, cls, vocabulary.plain.get(cls, Plain()), vocabulary.word(cls))
        template = self.own.get(cls, self.templates)[number]
        if self.by_letter:
            name = self.ask_as.get(cls, cls)
            before = "an " if name[0] in "aeiou" else "a "
            return Question(_filled(template, name, before), cls, self.frame)
        word = vocabulary.word(cls)
        name = self.ask_as.get(word, word)
        before = f"{article(name)} "
        if cls in vocabulary.plurals:
            before = ""
        return Question(_filled(template, name, before), cls, self.frame)

    def _ask_plainly(self, number: int, cls: str, plain: Plain, word: str) -> Question:
        """Return the question in plain English, with what the dataset means by the class."""
        name = plain.word or word
        template = self.templates[number]
        before = ""
        if plain.kind == "many":
            template = self.of_many[number]
        if plain.kind == "one":
            before = f"{article(name)} "
        text = _filled(template, name, before)
        if plain.means and not self.claims:
            text = f'Here, "{name}" means {plain.means}. {text}'
        return Question(text, cls, self.frame)


def _filled(template: str, name: str, before: str) -> str:
    """Return a template with a name, and with what stands before the name: an article and a blank, or nothing."""
    return template.replace("{a/an} ", before).replace("{x}", name)


def question_set(
    questions: str | Sequence[str] | QuestionSet, sets: Mapping[str, QuestionSet], frame: str
) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates."""
    import hashlib

    if isinstance(questions, QuestionSet):
        return questions
    if isinstance(questions, str):
        if questions not in sets:
            raise ValueError(
                f"There is no question set {short_repr(questions)}; the known sets are {', '.join(sets)}. "
                "A list of templates works too: questions=['Is there {a/an} {x} in this image?']."
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
                f"questions[{i}] is {short_repr(template, 120)}; expected a template with {{x}} for the class name, "
                "such as 'Is there {a/an} {x} in this image?'."
            )
    digest = hashlib.sha256(json.dumps(templates).encode()).hexdigest()[:8]
    return QuestionSet(f"custom-{digest}", templates, frame)


_AN = re.compile(
    r"(?!uni(?!n)|us[aeu]|ut[ei]|uri|uk|ufo\b|eu|ewe|one\b|once|u-)[aeiou]|hour|honest|honou?r|heir|x-|suv\b",
    re.IGNORECASE,
)
_SPELT = re.compile(r"[A-Z][A-Z0-9]+\b")
_AN_LETTER = frozenset("AEFHILMNORSX")


def article(noun: str) -> str:
    """Return the indefinite article that a noun's sound needs; capitals are spelt out ("an MP3 player").

    >>> [article(noun) for noun in ("dog", "umbrella", "ukulele", "hourglass", "UFO", "LED", "x-ray")]
    ['a', 'an', 'a', 'an', 'a', 'an', 'an']
    """
    takes_an = _AN.match(noun) is not None
    if _SPELT.match(noun):
        takes_an = noun[0] in _AN_LETTER
    return "an" if takes_an else "a"
