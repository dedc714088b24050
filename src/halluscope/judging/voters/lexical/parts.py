"""Rules for words that name only a part of another thing: "the toilet has a white bowl", "the train's cars"."""

from dataclasses import dataclass
from functools import cache

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import phrase_start
from halluscope.judging.voters.lexical.tables import Words, forms, grammar, tables, words_of

NEAR = 40
"""How many words and mentions before a part are searched for its whole."""


@dataclass(frozen=True)
class Part:
    """A group of the section `parts` of lexical.toml, with the plurals of `of` and `the`."""

    of: Words
    the: Words
    beside: Words


@cache
def parts() -> dict[str, Part]:
    """Return the group of each word, singular and plural, that may name a part."""
    return {
        form: Part(
            *(
                frozenset(one for name in group.get(key, ()) for one in forms(name))
                for key in ("of", "the", "beside")
            )
        )
        for group in tables()["parts"]["kinds"]
        for word in group["words"]
        for form in forms(word)
    }


def take_back_parts(found: list[Found]) -> None:
    """Mark the mentions that name a part."""
    known = parts()
    named = set()  # the classes named so far
    for i, mention in enumerate(found):
        if mention.rule:
            continue
        if (part := known.get(mention.sentence.words[mention.place])) and len(mention.words) == 1:
            near = found[max(0, i - NEAR) : i + NEAR]
            if _is_part(mention, part, near, mention.classes not in named):
                mention.rule = "part of another thing"
                continue
        named.add(mention.classes)


def _is_part(mention: Found, part: Part, near: list[Found], is_first: bool) -> bool:
    words, place, end = mention.sentence.words, mention.place, mention.place_after
    start = phrase_start(words, 0, place)
    wholes = [i for i in range(max(0, place - NEAR), place) if words[i] in part.of]
    if any(start <= i and i in mention.sentence.possessive for i in wholes):
        return True
    if words[end : end + 1] == ["of"]:
        return _names_whole(words[end + 1 : end + 5], part)
    if "its" in words[max(0, start - 1) : start + 1] and wholes:
        return _animals().isdisjoint(words[max(0, place - NEAR) : start])
    following = words[end : end + 1]
    known = words[start] == "the" and is_first and not words_of("parts", "places").intersection(following)
    if part.the and (known or _beside(words, start, end, part)):
        # "The toilet is white. The bowl is clean."
        named = [one for one in near if one.start < mention.start or not known]
        return any(not part.the.isdisjoint(one.words) for one in named)
    inside = [one for one in near if one.sentence is mention.sentence and one is not mention]
    return not _elsewhere(words, end) and any(_has(words, i, start, end, inside) for i in wholes[-2:])


def _names_whole(after: list[str], part: Part) -> bool:
    """Whether these are words such as "the white toilet"."""
    determined = after[:1] != [] and after[0] in grammar().definite | {"a", "an"}
    return determined and not part.of.isdisjoint(after[1:])


def _beside(words: list[str], start: int, end: int, part: Part) -> bool:
    """Whether another part is named beside this one: "a tank and a bowl"."""
    before = words[max(0, start - 2) : start]
    after = words[end : end + 4]
    return (before[1:] == ["and"] and before[0] in part.beside) or (
        after[:1] == ["and"] and not part.beside.isdisjoint(after)
    )


def _elsewhere(words: list[str], end: int) -> bool:
    """Whether the words after a noun say that the thing is separate: "a bowl on it", "cars parked nearby"."""
    after = words[end : end + 5]
    if after[:1] and after[0] in words_of("parts", "separate"):
        return True
    on = after[:1] != [] and after[0] in words_of("parts", "places")
    return on and not {"it", "them", "its", "top", "front"}.isdisjoint(after)


def _has(words: list[str], whole: int, start: int, end: int, inside: list[Found]) -> bool:
    """Whether the whole is said to have the part: "a toilet with a bowl", "the sink has a tap and a bowl"."""
    between = words[whole + 1 : start]
    for at in range(len(between)):
        link = next((one for one in _links() if between[at : at + len(one)] == list(one)), ())
        gap, rest = between[:at], between[at + len(link) :]
        if not link or (gap and (link[0] in {"with", "is", "are"} or gap[0] not in words_of("parts", "gap"))):
            continue
        if len(gap) > 4:
            return False
        joined = rest[-1:] in (["and"], [","]) and grammar().after_noun.isdisjoint(set(rest) - {"and"})
        of_whole = {cls for one in inside if one.place <= whole < one.place_after for cls in one.classes}
        others = [one for one in inside if of_whole.isdisjoint(one.classes)]
        beside = any(
            whole < one.place < start
            or (words[end : end + 1] in (["and"], [","]) and phrase_start(words, end, one.place) == end + 1)
            for one in others
        )
        return (not rest or joined) and not beside
    return False


@cache
def _links() -> list[tuple[str, ...]]:
    """Return what may stand between a whole and its part, the longest first."""
    links = [tuple(phrase.split()) for phrase in tables()["parts"]["links"]]
    return sorted(links, key=len, reverse=True)


@cache
def _animals() -> Words:
    return frozenset(tables()["compounds"]["groups"]["animals"])
