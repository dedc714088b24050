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
from collections.abc import Callable, Mapping, Sequence
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


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def digest() -> str:
    """Return 8 hexadecimal digits of the sha256 of the table of rephrasings."""
    return hashlib.sha256(_text("rephrasings.toml").encode()).hexdigest()[:8]


@cache
def table() -> dict[str, Any]:
    """Return the table: groups of equivalent prompts, frames, and the shapes of questions as pairs (asks, says)."""
    found = tomllib.loads(_text("rephrasings.toml"))
    shapes = found.pop("shape")
    asks = _compiled([f"(?i){shape['asks']}" for shape in shapes], found["parts"])
    return {**found, "shapes": list(zip(asks, (shape["says"] for shape in shapes), strict=True))}


@cache
def patterns() -> Any:
    """Return the patterns of rules.toml by name."""
    found = tomllib.loads(_text("rules.toml"))
    return SimpleNamespace(**_compiled(found, found.pop("parts")))


def _compiled(rule: Any, parts: Mapping[str, str]) -> Any:
    if isinstance(rule, dict):
        return {name: _compiled(one, parts) for name, one in rule.items()}
    if isinstance(rule, list):
        return [_compiled(one, parts) for one in rule]
    while any(f"{{{name}}}" in rule for name in parts):
        for name, part in parts.items():
            rule = rule.replace(f"{{{name}}}", part)
    return re.compile(rule)


def chooser(seed: int, text: str) -> Callable[[Sequence[str]], str]:
    """Return a choice by seed and text: the same question in two rows gets the same wording."""
    generator = random.Random(f"{seed}|{text}")
    return lambda wordings: wordings[int(generator.random() * len(wordings))]


# Negation


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
    asked, mark, after = question.strip().partition("?")
    parts = patterns().asked.fullmatch(asked)
    sentences = re.split(r"\n|(?<=[.:;])\s", parts["before"]) if parts else []
    if not mark or "?" in after or not parts or any(patterns().asks.match(one.lstrip()) for one in sentences):
        raise Refused("it is not a single question that opens with is, are, was, were, does, do or did")
    rest = parts["rest"].rstrip() or parts["rest"][0]
    leads, statement = _statement(parts["verb"].lower(), rest, subject)
    is_ = "Is" if parts["verb"][0].isupper() else "is"
    return f"{parts['before']}{is_} it {chooser(seed, question)(leads)} that {statement}?{after}"


def _statement(verb: str, rest: str, known: str) -> tuple[tuple[str, ...], str]:
    """Return the words that may lead ("true" or "false" and their like), and the statement that follows."""
    rules = patterns()
    if verb == "is" and (led := rules.led.fullmatch(rest)):
        return (FALSE if led["lead"] in TRUE else TRUE), led["statement"]
    if rules.negative.match(rest):
        raise Refused("it is a negative question, where a yes is ambiguous")
    if rules.choice.search(rest):
        raise Refused("it asks which of two things is true")
    if verb in _BE and (none := rules.none.fullmatch(rest)):
        return TRUE, f"there {verb} no {none['what']}"
    if known and rest.startswith(f"{known} "):
        return FALSE, f"{known} {verb}{rest.removeprefix(known)}"
    for rule in rules.be if verb in _BE else rules.do:
        if parts := rule.fullmatch(rest):
            subject = parts["subject"]
            if rules.pronoun.fullmatch(subject) or not rules.unfinished.search(subject):
                return FALSE, f"{subject} {verb} {parts['predicate']}"
    raise Refused("no rule can tell where its subject ends")


def opposite(answer: object) -> object:
    """Return the other answer, in the same type and case.

    >>> [opposite(answer) for answer in ("yes", "No.", "1", 0, True)]
    ['no', 'Yes.', '0', 1, False]
    """
    if isinstance(answer, int) and answer in (0, 1):
        return type(answer)(1 - answer)
    parts = patterns().bare.fullmatch(answer) if isinstance(answer, str) else None
    if not parts or parts[2].lower() not in OPPOSITE:
        raise Refused("its answer is neither yes nor no")
    space, word, end = parts.groups()
    other = OPPOSITE[word.lower()]
    return space + (other.upper() if word.isupper() else other.title() if word.istitle() else other) + end


# Rephrasing


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt of the table as another prompt of its group, and a question as its shape allows.

    >>> rephrase("What is behind the dog?") in ("What can be seen behind the dog?", "What is there behind the dog?")
    True
    """

    def plain(prompt: str) -> str:
        return " ".join(prompt.lower().split()).rstrip(".")

    for group in table()["same"]:
        others = [other for other in group["prompts"] if plain(other) != plain(prompt)]
        if len(others) < len(group["prompts"]):
            return chooser(seed, prompt)(others)
    if "?" not in prompt:
        raise Refused("it is neither a question nor an instruction in the table of rephrasings")
    return reshape(prompt, seed)


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
    frames = table()["frames"]["question"]
    return chooser(seed, question)(frames).replace("{question}", question.strip())


def reshape(question: str, seed: int = 0) -> str:
    """Ask a question in other words; text after the question mark ("Answer in one word.") is unchanged.

    >>> reshape("How many dogs are there on the sofa?") in {
    ...     "What is the number of dogs on the sofa?", "What number of dogs are there on the sofa?"}
    True
    """
    asked, mark, after = question.strip().partition("?")
    if not mark or "?" in after or patterns().says_more.search(asked):
        raise Refused("it is not a single question")
    wordings: list[str] = []
    full = patterns().contracted.sub(r"\1 is", " ".join(asked.split()), count=1)
    for pattern, says in table()["shapes"]:
        match = pattern.fullmatch(full)
        groups = {name: text or "" for name, text in match.groupdict().items()} if match else {}
        if match and all(map(_fits, groups, groups.values())):
            wordings = [wording.format_map(_agreeing(groups)) for wording in says]
            break
    others = [wording for wording in wordings if wording.lower() != asked.strip().lower()]
    if not others:
        raise Refused("no rule knows how to ask a question of its shape in other words")
    wording = chooser(seed, question)(others)
    first = wording[0].upper() if asked[0].isupper() else wording[0]
    return f"{first}{wording[1:]}?{after}"


def _fits(group: str, text: str) -> bool:
    """Whether a text may stand in a group of a shape's pattern."""
    check = patterns().checks.get(group, {}) if text else {}
    return all(rule.fullmatch(text) for rule in check.get("fits", ())) and not any(
        rule.search(text) for rule in check.get("lacks", ())
    )


def _agreeing(groups: dict[str, str]) -> dict[str, str]:
    """Return the groups of a pattern, with do and be in the right number and tense."""
    be = groups.get("be", "").lower()
    do = groups.get("do", "").lower() or _DO.get(be, "")
    several = groups.get("named", "").lower().endswith("s")
    past = be in ("was", "were") or do == "did"
    its = ("were" if several else "was") if past else ("are" if several else "is")
    return {**groups, "be": be, "do": do, "its": its}


def shuffle(options: Sequence[str], answer: str | int, seed: int = 0) -> tuple[list[str], str | int]:
    """Put the options of a multiple-choice question into another order, which options and seed choose.

    The answer (a letter, an option's text, or its index) comes back in the same form; one that equals an option is
    that option, even if it is a letter.
    """
    if len(options) < 2 or not all(isinstance(option, str) for option in options):
        raise Refused("it has fewer than two options, or an option that is not a text")
    if len({option.strip().lower() for option in options}) < len(options):
        raise Refused("two of its options are equal")
    if any(map(patterns().refers.search, options)):
        raise Refused("an option refers to other options")
    if any(map(patterns().lettered.match, options)):
        raise Refused("an option opens with its letter, which would move with it")
    letters = ascii_uppercase if str(answer).isupper() else ascii_lowercase
    known: Sequence[Any] = next((of for of in (options, [*letters], range(len(options))) if answer in of), ())
    right = [*known].index(answer) if known and not isinstance(answer, bool) else len(options)
    if right >= len(options):
        raise Refused("its answer is not one of its options")
    if len(known) < len(options):
        raise Refused("it has more options than there are letters")
    generator = random.Random(f"{seed}|{'|'.join(options)}")
    order = before = list(range(len(options)))
    while order == before:
        order = sorted(before, key=lambda _: generator.random())
    shuffled = [options[index] for index in order]
    return shuffled, answer if answer in options else known[order.index(right)]
