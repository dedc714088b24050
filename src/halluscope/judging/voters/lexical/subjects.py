"""Rules for cues that take back mentions before them: the subject of their clause, or the words right before."""

from halluscope.judging.voters.lexical.found import Found
from halluscope.judging.voters.lexical.scopes import phrase_start
from halluscope.judging.voters.lexical.tables import Cue, grammar, words_of


def take_back_subject(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the subject of the clause that the cue ends: "Dogs and cats are not visible", "a dog, which is gone"."""
    if place and words[place - 1] in {"which", "that", "who"}:
        take_back_before(words, found, place - 1 - (words[place - 2 : place - 1] == [","]), cue)
        return
    if head := _head(words, found, place):
        _take_back([head], cue)
    else:
        _take_back_adjacent(words, found, place, cue)


def _head(words: list[str], found: list[Found], place: int) -> Found | None:
    """Return the first noun of a subject with several nouns: "the people on the bus are not visible"."""
    barriers = words_of("clause", "not_in_list") - {"with"} | {","}
    after = next((i for i in range(place - 1, -1, -1) if words[i] in barriers), -1)
    if found and after == found[0].place_after and words[after] in words_of("clause", "heads"):
        after = -1  # "The vase that stands on the piano is missing"
    for mention in found:
        if mention.place_after <= after:
            continue
        start, end = phrase_start(words, 0, mention.place), mention.place_after
        opens = start == 0 or words[start - 1] in grammar().ends_clause or words[start - 1] == ","
        joined = end < place and (words[end] in words_of("clause", "heads") or words[end].endswith("ing"))
        of_another = "of" in words[start : mention.place] or end - 1 in mention.sentence.possessive
        if opens and joined and not of_another:
            return mention
    return None


def _take_back_adjacent(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the mentions that end right before the cue, if they open the cue's clause."""
    end = place
    while end and words[end - 1] in words_of("clause", "behind_subject"):
        end -= 1
    subject = []
    for mention in reversed(found):
        if mention.place_after != end:
            break
        start = phrase_start(words, 0, mention.place)
        if "of" in words[start : mention.place] and not words_of("clause", "quantities").intersection(
            words[start : mention.place]
        ):
            return
        subject.append(mention)
        if (
            start == 0
            or words[start - 1] in grammar().ends_clause
            or words[start - 1] in grammar().before_subject
        ):
            break
        if words[start - 1] not in {"and", "or", ","}:
            return
        end = start - 1
    _take_back(subject, cue)


def take_back_before(words: list[str], found: list[Found], place: int, cue: Cue) -> None:
    """Mark the mentions that end right before the cue, anywhere in a sentence: "a sign with a horse painted on it"."""
    end = place
    nearest = []
    if found and cue.rule == "corrected" and words[place] in {",", "("} and found[-1].place_after != place:
        # "A cup stands there, or rather a jar"
        _take_back([one for one in found[-1:] if not one.definite and place - one.place_after <= 5], cue)
        return
    for mention in reversed(found):
        if mention.place_after != end:
            break
        nearest.append(mention)
        start = phrase_start(words, 0, mention.place)
        if cue.rule == "corrected" or start == 0 or words[start - 1] not in {"and", "or"}:
            break
        end = start - 1
    _take_back(nearest, cue)


def _take_back(mentions: list[Found], cue: Cue) -> None:
    for mention in mentions:
        if not (mention.definite and cue.keeps_definite):
            mention.rule = mention.rule or cue.rule
