"""Rules for objects that a list, a table or data says are absent."""

from bisect import bisect_left
from functools import cache

from halluscope.judging.voters.lexical.sentences import Sentence
from halluscope.judging.voters.lexical.tables import Words, phrases_of, words_of


def is_list(words: list[str]) -> bool:
    """Whether a sentence has any mark or value that lists use."""
    return not _signs_of_lists().isdisjoint(words)


@cache
def _signs_of_lists() -> Words:
    return Words({"~~"}).union(*(words_of("lists", name) for name in ("marks", "checks", "crosses", "bare")))


def absent_in_list(sentence: Sentence, place: int, end: int) -> str:
    """Whether a list says that an object is absent: "Bus: none", "- Dog: 0", "| scissors | 0 |", "❌ cat", "0 dogs"."""
    words = sentence.words
    marks, absent = words_of("lists", "marks"), phrases_of("lists", "absent")
    counted = (
        place > 0
        and words[place - 1] in {"0", "zero", "0x", "x0"}
        and (place < 2 or words[place - 2] not in marks)
    )
    struck = words[end : end + 1] == ["~~"] or bisect_left(sentence.strikes, place) % 2
    crossed = (
        words[end : end + 1] and words[end] in words_of("lists", "crosses") and not _checked_before(words)
    )
    if counted or struck or crossed or _crossed_out(words, place):
        return "listed as absent"
    after = end + (words[end : end + 1] != [] and words[end] in words_of("lists", "counts"))
    begun = after
    while after < len(words) and words[after] in marks:
        after += 1
    if after in {begun, len(words)}:
        return "listed as absent" if _bare_value(words, end) else ""
    if value := absent.at(words, after):
        past = value[0]
        if value[1] == "no" and words[end] in {"-", "–", "—"} and words[past : past + 1] == [","]:
            return ""  # "a bus - no, a tram" corrects
        ends = past == len(words) or not words[past][0].isalnum() or words[past] == "and"
        alone = words[end] == ":" and _opens_item(words, place) and value[1] in {"no", "none", "not"}
        return "listed as absent" if ends or alone else ""
    denied = phrases_of("lists", "denied").at(words, after)
    return "listed as absent" if denied and words[end] == ":" and _opens_item(words, place) else ""


def _bare_value(words: list[str], end: int) -> bool:
    """Whether nothing but a value follows: "Dogs 0", "dog,0" or a dash in a table."""
    rest = words[end : end + 12]
    if rest in ([":", "[", "]"], ["[", "]"], ["(", ")"]):
        return True
    if rest[:1] == [","] and rest[1:2] in (["no"], ["none"]) and rest[2:3] in ([], [";"]):
        return True  # "spoons, yes; forks, no"
    if rest[:1] == [","] or rest[:1] == ["|"]:
        return rest[1:] == ["0"] or (
            rest[0] == "|" and {"-", "–", "—"}.issuperset(set(rest) - {"|"}) and len(rest) > 2
        )
    ends = rest[1:2] == [] or rest[1] in {",", ";", "|", ")"}
    return rest[:1] != [] and rest[0] in words_of("lists", "bare") and ends


def _opens_item(words: list[str], place: int) -> bool:
    return all(word in words_of("lists", "marks") or len(word) == 1 for word in words[:place])


def _crossed_out(words: list[str], place: int) -> bool:
    """Whether the list has its marks before its items, and the mark before this item denies it."""
    checks, crosses = words_of("lists", "checks"), words_of("lists", "crosses")
    if _checked_before(words):
        mark = next((word for word in reversed(words[:place]) if word in checks | crosses), "")
        return mark in crosses
    return words[:2] == ["[", "]"] or words[:3] == ["-", "[", "]"]


def _checked_before(words: list[str]) -> bool:
    return words[0] in words_of("lists", "checks") or words[0] in words_of("lists", "crosses")
