"""Where a clause or a list ends: what a word such as "no", or a picture, still reaches."""

from halluscope.judging.lexical.tables import CLAUSE, GRAMMAR, Cue, at, has_plural_ending, is_determiner

# How far after "and" a verb is searched, and how far after a comma a list's last item
VERB_WITHIN = 12
LIST_WITHIN = 24

# How many words back a verb is searched; no clause that people write is longer
FARTHEST = 80


def is_finite_verb(words: list[str], index: int) -> bool:
    """Whether the word at a place is a verb of its own clause: "a cat sleeps", "the cats sleep", "a door is"."""
    word = words[index]
    before = at(words, index - 1)
    if word in CLAUSE.auxiliaries:
        return True
    if is_determiner(before) or before in CLAUSE.before_noun:
        return False  # "the stands", "to stand", "a market stand"
    if word in CLAUSE.singular_verbs:
        return True
    return word in CLAUSE.plural_verbs and _is_plural(before)


def _is_plural(word: str) -> bool:
    return word in CLAUSE.plural_subjects or has_plural_ending(word)


def _has_plural_subject(words: list[str], joint: int, index: int) -> bool:
    """Whether a plural verb follows a longer subject after "and": "and people on the platform wait"."""
    if words[index] not in CLAUSE.plural_verbs or is_determiner(words[index - 1]):
        return False
    if words[index - 1] in CLAUSE.before_noun:
        return False
    subject = words[joint + 1 : index]
    return "and" in subject or any(_is_plural(word) for word in subject)


def _has_singular_subject(words: list[str], joint: int, index: int) -> bool:
    """Whether a form in "s" follows a single thing after "and", as in "and a bus splashes her"."""
    verb = words[index]
    if words[joint + 1] not in CLAUSE.singular:
        return False
    if not verb.endswith("s") or verb.endswith("ss"):
        return False
    subject = words[joint + 2 : index]
    if not subject or len(subject) > 3 or not CLAUSE.quantities.isdisjoint(subject):
        return False
    if not GRAMMAR.after_noun.isdisjoint(subject) or subject[-1] in CLAUSE.before_noun:
        return False
    following = at(words, index + 1)
    return is_determiner(following) or following in GRAMMAR.after_noun or following in CLAUSE.objects


def has_verb(words: list[str], start: int, end: int) -> bool:
    """Whether a finite verb stands between two places, at most `FARTHEST` words before the second."""
    end = min(end, len(words))
    return any(is_finite_verb(words, index) for index in range(max(start, end - FARTHEST), end))


def new_clause_after(words: list[str], joint: int, begun: int) -> bool:
    """Whether a clause with a verb of its own follows "and", and another verb stands between `begun` and "and".

    So it is in "There are no cars and a bus waits" and in "He has no cap and wears a tie", but not in "No cars and
    buses wait".
    """
    if not has_verb(words, begun, joint):
        return False
    joints = 0
    for index in range(joint + 1, min(len(words), joint + VERB_WITHIN)):
        word = words[index]
        if word in CLAUSE.before_own_subject or not word[0].isalnum():
            return False
        if word == "and":
            joints += 1
        if joints > 1:
            return False
        is_verb = (
            is_finite_verb(words, index)
            or _has_plural_subject(words, joint, index)
            or _has_singular_subject(words, joint, index)
        )
        if is_verb and index == joint + 1:
            return word in CLAUSE.auxiliaries or word in CLAUSE.second_verbs
        if is_verb:
            return words[index - 1] != "and"  # "no knives and forks and is bare"
    return False


def reaches_past_comma(words: list[str], comma: int, cue: Cue, begun: int) -> bool:
    """Whether a cue in force, whose words begin at `begun`, reaches past a comma."""
    if cue.reach == "picture" and _pictured_list_goes_on(words, comma, begun):
        return True
    return _list_goes_on(words, comma, is_denied=cue.rule in {"negated", "quoted"})


def _list_goes_on(words: list[str], comma: int, is_denied: bool) -> bool:
    """Whether a list goes on: "no dogs, cats, or people"; or examples follow: "no animals, such as dogs".

    `is_denied` says whether a negation is in force: "no dogs, cats and people" needs no comma before "and".
    """
    if at(words, comma + 1) in CLAUSE.examples:
        return True
    for index in range(comma + 1, min(len(words), comma + 1 + LIST_WITHIN)):
        word = words[index]
        if word in {"or", "nor"}:
            return True
        if word == "and":
            if is_denied and _is_denied_subject(words, comma, index):
                return True
            return _ends_bare_list(words[comma + 1 : index], words[index + 1 :], is_denied)
        if word in CLAUSE.not_in_list:
            return False
    return False


def _is_denied_subject(words: list[str], comma: int, joint: int) -> bool:
    """Whether a list is the subject of a denial: "No dogs, cats and birds are allowed"."""
    items = joint - comma - 1
    if words[0] != "no" or items > 3 or has_verb(words, 0, comma):
        return False
    return has_verb(words, joint + 1, joint + 4)


def _ends_bare_list(items: list[str], rest: list[str], is_denied: bool) -> bool:
    """Whether bare nouns end a sentence: "no people, cars, and dogs", but not "no people, but a car, and a dog"."""
    if any(is_determiner(word) for word in items + rest[:2]):
        return False
    if not CLAUSE.instead.isdisjoint(items):
        return False
    if has_verb(rest, 0, 2):
        return False
    is_list = not items or items[-1] == "," or (is_denied and len(items) <= 3)
    if not is_list:
        return False
    if is_denied and at(rest, 1) in GRAMMAR.after_noun:
        return True  # "no forks, knives, and spoons on the table"
    return 0 < len(rest) <= 2


def _pictured_list_goes_on(words: list[str], comma: int, begun: int) -> bool:
    """Whether what a picture shows goes on after a comma: "a drawing of a car, a bicycle and a person".

    `begun` is the place of the picture. If the picture itself is a later item of a list, as in "a bed, a painting of a
    cat, and a vase", the list goes on without it.
    """
    if _is_later_item(words, begun):
        return False
    end = _last_joint(words, comma, begun)
    if end == 0:
        return False
    items = words[comma + 1 : end]
    is_item = not items or is_determiner(items[0]) or len(items) <= 3
    return is_item and not any(is_finite_verb(words, index) for index in range(comma + 1, end))


def _last_joint(words: list[str], comma: int, begun: int) -> int:
    """Return the place of the "and" or "or" before a list's last item; 0 if no list goes on after the comma."""
    for index in range(comma + 1, min(len(words), comma + LIST_WITHIN)):
        word = words[index]
        if word in {"and", "or"}:
            begins_clause = at(words, index + 1) in CLAUSE.opens_own_clause
            is_last = index == comma + 1 and "," not in words[begun:comma]  # "a picture of a cat, and a dog"
            return 0 if begins_clause or is_last else index
        if word in CLAUSE.not_in_list - {"with", "and"} or word in GRAMMAR.ends_picture:
            return 0
        if not word[0].isalnum() and word != ",":
            return 0
    return 0


def _is_later_item(words: list[str], begun: int) -> bool:
    """Whether a comma or "and" before a picture joins it to an earlier item, other than to where it is."""
    start = begun
    while start and begun - start < 5 and not is_determiner(words[start]) and words[start - 1].isalnum():
        start -= 1
    is_joined = at(words, start - 1) in {",", "and"}
    names_things = words[0] == "there" and words[1] in {"is", "are"}
    return is_joined and (names_things or words[0] not in CLAUSE.opens_place)
