"""Says questions in other words by rules (HQM, section III.A); a question that no rule can change safely is refused.

Negation: "Isn't it red?" and "Is there no dog?" do not turn an English yes into a no, so a negated question asks about
a statement: "Is it true that there is no dog in the image?", "Is it false that the top line is longer than the bottom
line?". A question becomes a statement only if a rule can see where its subject ends.

Rephrasing, by the table `rephrasings.toml`: the shape of a question says which words that ask and which verb change;
all other words stay the same, including numbers and negations. The text in each group of a shape's pattern is checked,
so that no sentence is divided in the wrong place.
"""

import hashlib
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import ascii_lowercase, ascii_uppercase
from types import SimpleNamespace
from typing import Any

TRUE = ("true", "correct")
FALSE = ("false", "untrue")
OPPOSITE = {"yes": "no", "no": "yes", "1": "0", "0": "1"}

_BE = ("is", "are", "was", "were")
_DO = {"is": "does", "are": "do", "was": "did", "were": "did"}


class Refused(ValueError):
    """No rule can make a parallel form of a row; the message is the reason, without a row's own words."""


@dataclass(frozen=True)
class Shape:
    """Questions that may be asked in other ways."""

    asks: re.Pattern[str]
    says: Sequence[str]  # the other ways, with {groups} of `asks`


@dataclass(frozen=True)
class Rephrasings:
    """The table `rephrasings.toml`."""

    groups: Sequence[Sequence[str]]  # of equivalent prompts
    frames: Sequence[str]  # what stands around a question
    shapes: Sequence[Shape]


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def digest() -> str:
    """Return 8 hexadecimal digits of the sha256 of the table of rephrasings."""
    return hashlib.sha256(_text("rephrasings.toml").encode()).hexdigest()[:8]


@cache
def table() -> Rephrasings:
    """Return the table of rephrasings."""
    content = tomllib.loads(_text("rephrasings.toml"))
    shapes = []
    for shape in content["shape"]:
        asks = _compiled(f"(?i){shape['asks']}", content["parts"])
        shapes.append(Shape(asks, shape["says"]))
    groups = [group["prompts"] for group in content["same"]]
    return Rephrasings(groups, content["frames"]["question"], shapes)


@cache
def patterns() -> Any:
    """Return the patterns of rules.toml by name."""
    content = tomllib.loads(_text("rules.toml"))
    parts = content.pop("parts")
    return SimpleNamespace(**_compiled(content, parts))


def _compiled(rule: Any, parts: Mapping[str, str]) -> Any:
    """Return a pattern, or all patterns in tables and lists; {names} in them stand for parts."""
    if isinstance(rule, dict):
        return {name: _compiled(inner, parts) for name, inner in rule.items()}
    if isinstance(rule, list):
        return [_compiled(inner, parts) for inner in rule]
    while any(f"{{{name}}}" in rule for name in parts):
        for name, part in parts.items():
            rule = rule.replace(f"{{{name}}}", part)
    return re.compile(rule)


def choose(wordings: Sequence[str], seed: int, text: str) -> str:
    """Choose by seed and text: the same question in two rows gets the same wording."""
    generator = random.Random(f"{seed}|{text}")
    return wordings[int(generator.random() * len(wordings))]


# Negation


@dataclass(frozen=True)
class Statement:
    """What a negated question asks about."""

    leads: Sequence[str]  # the words that may lead: "true" or "false" and their like
    text: str


def negate(question: str, seed: int = 0, subject: str = "") -> str:
    """Negate a yes/no question, so that the opposite answer becomes right; a second negation restores the meaning.

    Text before a comma or a full stop ("According to the image, ...") and after the question mark ("Answer in one
    word.") is unchanged. A `subject`, such as "the sky", says what the question is about; without one, rules find it.

    >>> negate("Is there a dog in the image?").replace("correct", "true")
    'Is it true that there is no dog in the image?'
    >>> negate("Are the lines the same length? Yes or No").replace("untrue", "false")
    'Is it false that the lines are the same length? Yes or No'
    >>> negate("Is the sky blue in this image?", subject="the sky").replace("untrue", "false")
    'Is it false that the sky is blue in this image?'
    """
    before_mark, mark, after = question.strip().partition("?")
    parts = patterns().asked.fullmatch(before_mark)
    if not mark or "?" in after or not parts or _asks_before(parts["before"]):
        raise Refused("it is not a single question that opens with is, are, was, were, does, do or did")
    rest = parts["rest"].rstrip() or parts["rest"][0]
    statement = _statement(parts["verb"].lower(), rest, subject)
    opening = "is it"
    if parts["verb"][0].isupper():
        opening = "Is it"
    lead = choose(statement.leads, seed, question)
    return f"{parts['before']}{opening} {lead} that {statement.text}?{after}"


def _asks_before(text: str) -> bool:
    """Whether a sentence before a question asks too."""
    sentences = re.split(r"\n|(?<=[.:;])\s", text)
    return any(patterns().asks.match(sentence.lstrip()) for sentence in sentences)


def _statement(verb: str, rest: str, subject: str) -> Statement:
    """Turn a question into a statement: its verb and the rest of it, with its subject if that is known."""
    rules = patterns()
    led = rules.led.fullmatch(rest)
    if verb == "is" and led:
        if led["lead"] in TRUE:
            return Statement(FALSE, led["statement"])
        return Statement(TRUE, led["statement"])
    if rules.negative.match(rest):
        raise Refused("it is a negative question, where a yes is ambiguous")
    if rules.choice.search(rest):
        raise Refused("it asks which of two things is true")
    if verb in _BE:
        none = rules.none.fullmatch(rest)
        if none:
            return Statement(TRUE, f"there {verb} no {none['what']}")
    if subject and rest.startswith(f"{subject} "):
        return Statement(FALSE, f"{subject} {verb}{rest.removeprefix(subject)}")
    endings = rules.do
    if verb in _BE:
        endings = rules.be
    for rule in endings:
        parts = rule.fullmatch(rest)
        if parts and _is_finished(parts["subject"]):
            return Statement(FALSE, f"{parts['subject']} {verb} {parts['predicate']}")
    raise Refused("no rule can tell where its subject ends")


def _is_finished(subject: str) -> bool:
    """Whether a subject does not go on."""
    rules = patterns()
    return bool(rules.pronoun.fullmatch(subject)) or not rules.unfinished.search(subject)


def opposite(answer: object) -> object:
    """Return the other answer, in the same type and case.

    >>> [opposite(answer) for answer in ("yes", "No.", "1", 0, True)]
    ['no', 'Yes.', '0', 1, False]
    """
    if isinstance(answer, int) and answer in (0, 1):
        return type(answer)(1 - answer)
    parts = None
    if isinstance(answer, str):
        parts = patterns().bare.fullmatch(answer)
    if not parts or parts[2].lower() not in OPPOSITE:
        raise Refused("its answer is neither yes nor no")
    space, word, end = parts.groups()
    other_word = OPPOSITE[word.lower()]
    if word.isupper():
        other_word = other_word.upper()
    elif word.istitle():
        other_word = other_word.title()
    return f"{space}{other_word}{end}"


# Rephrasing


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt of the table as another prompt of its group, and a question as its shape allows.

    >>> rephrase("What is behind the dog?") in ("What can be seen behind the dog?", "What is there behind the dog?")
    True
    """
    for group in table().groups:
        wordings = []
        for wording in group:
            if _plain(wording) != _plain(prompt):
                wordings.append(wording)
        if len(wordings) < len(group):
            return choose(wordings, seed, prompt)
    if "?" not in prompt:
        raise Refused("it is neither a question nor an instruction in the table of rephrasings")
    return reshape(prompt, seed)


def _plain(prompt: str) -> str:
    """Return a prompt without its case and its last full stop."""
    return " ".join(prompt.lower().split()).rstrip(".")


def frame(question: str, seed: int = 0) -> str:
    """Put other words around a question, if it has none, so that its options still fit.

    >>> "Which animal is it?" in frame("Which animal is it?")
    True
    """
    try:
        return rephrase(question, seed)
    except Refused:
        if not question.strip().endswith("?"):
            raise
    return choose(table().frames, seed, question).replace("{question}", question.strip())


def reshape(question: str, seed: int = 0) -> str:
    """Ask a question in other words; text after the question mark ("Answer in one word.") is unchanged.

    >>> reshape("How many dogs are there on the sofa?") in {
    ...     "What is the number of dogs on the sofa?", "What number of dogs are there on the sofa?"}
    True
    """
    before_mark, mark, after = question.strip().partition("?")
    if not mark or "?" in after or patterns().says_more.search(before_mark):
        raise Refused("it is not a single question")
    wordings = []
    for wording in _wordings(before_mark):
        if wording.lower() != before_mark.strip().lower():
            wordings.append(wording)
    if not wordings:
        raise Refused("no rule knows how to ask a question of its shape in other words")
    chosen = choose(wordings, seed, question)
    first = chosen[0]
    if before_mark[0].isupper():
        first = first.upper()
    return f"{first}{chosen[1:]}?{after}"


def _wordings(question: str) -> list[str]:
    """Return the ways to ask a question, by the first shape that fits it."""
    full = patterns().contracted.sub(r"\1 is", " ".join(question.split()), count=1)
    for shape in table().shapes:
        match = shape.asks.fullmatch(full)
        if not match:
            continue
        groups = {name: text or "" for name, text in match.groupdict().items()}
        if all(_fits(name, text) for name, text in groups.items()):
            words = _agreeing(groups)
            return [wording.format_map(words) for wording in shape.says]
    return []


def _fits(group: str, text: str) -> bool:
    """Whether a text may stand in a group of a shape's pattern."""
    check = patterns().checks.get(group)
    if not text or not check:
        return True
    if not all(rule.fullmatch(text) for rule in check.get("fits", ())):
        return False
    return not any(rule.search(text) for rule in check.get("lacks", ()))


def _agreeing(groups: Mapping[str, str]) -> dict[str, str]:
    """Return the groups of a pattern, with do and be in the right number and tense."""
    words = dict(groups)
    words["be"] = groups.get("be", "").lower()
    words["do"] = groups.get("do", "").lower() or _DO.get(words["be"], "")
    is_plural = groups.get("named", "").lower().endswith("s")
    is_past = words["be"] in ("was", "were") or words["do"] == "did"
    if is_past:
        words["its"] = "were" if is_plural else "was"
    else:
        words["its"] = "are" if is_plural else "is"
    return words


# Options


@dataclass(frozen=True)
class Shuffled:
    """The options of a multiple-choice question in another order."""

    options: list[str]
    answer: str | int


def shuffle(options: Sequence[str], answer: str | int, seed: int = 0) -> Shuffled:
    """Put the options of a multiple-choice question into another order, which options and seed choose.

    The answer (a letter, an option's text, or its index) comes back in the same form; one that equals an option is
    that option, even if it is a letter.
    """
    _check_options(options)
    letters = ascii_lowercase
    if str(answer).isupper():
        letters = ascii_uppercase
    names: Sequence[Any] = ()  # the options, or their letters or indices: what the answer is one of
    for candidates in (options, list(letters), range(len(options))):
        if answer in candidates and not isinstance(answer, bool):
            names = candidates
            break
    if not names or list(names).index(answer) >= len(options):
        raise Refused("its answer is not one of its options")
    if len(names) < len(options):
        raise Refused("it has more options than there are letters")
    right = list(names).index(answer)
    generator = random.Random(f"{seed}|{'|'.join(options)}")
    before = list(range(len(options)))
    order = before
    while order == before:
        order = sorted(before, key=lambda _: generator.random())
    if answer not in options:
        answer = names[order.index(right)]
    return Shuffled([options[index] for index in order], answer)


def _check_options(options: Sequence[str]) -> None:
    """Refuse options that another order would change."""
    if len(options) < 2 or not all(isinstance(option, str) for option in options):
        raise Refused("it has fewer than two options, or an option that is not a text")
    if len({option.strip().lower() for option in options}) < len(options):
        raise Refused("two of its options are equal")
    if any(patterns().refers.search(option) for option in options):
        raise Refused("an option refers to other options")
    if any(patterns().lettered.match(option) for option in options):
        raise Refused("an option opens with its letter, which would move with it")
