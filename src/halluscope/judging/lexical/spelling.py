"""Class names with one letter mistyped: "refridgerator", "umbrela", "skatebord"."""

from string import ascii_lowercase

from halluscope.judging.lexical.tables import SPELLING, tables

# In a shorter word, one other letter too often makes another word
LONG = 8


def misspellings(names: list[str]) -> dict[str, str]:
    """Return words that one mistyped letter makes of long names, each with the name.

    A word that is a name itself, that is near two names, or that is listed as another word of English, is left out.
    """
    meant: dict[str, str] = {}
    ambiguous = set(names) | SPELLING.other_words
    for name in names:
        if len(name) < LONG or not name.isalpha() or not name.isascii():
            continue
        for typed in _typed(name):
            if meant.setdefault(typed, name) != name:
                ambiguous.add(typed)
    for typed in ambiguous & meant.keys():
        del meant[typed]
    return meant


def _typed(name: str) -> set[str]:
    """Return a name with one letter left out, added, replaced, or exchanged with the next one."""
    typed = set()
    for place in range(len(name) + 1):
        before, after = name[:place], name[place:]
        if place:  # the first letter is hardly ever wrong
            typed.add(before + after[1:])
            typed.add(before + after[1:2] + after[:1] + after[2:])
            typed.update(before + letter + after[1:] for letter in ascii_lowercase if after)
            typed.update(before + letter + after for letter in ascii_lowercase)
    typed.discard(name)
    return typed


def common() -> dict[str, str]:
    """Return frequent misspellings that differ by more than a letter, or of shorter names."""
    return dict(tables()["spelling"]["common"])
