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
        for typed in _mistyped(name):
            if meant.setdefault(typed, name) != name:
                ambiguous.add(typed)
    for typed in ambiguous & meant.keys():
        del meant[typed]
    return meant


def _mistyped(name: str) -> set[str]:
    """Return a name with one letter left out, added, replaced, or exchanged with the next one."""
    mistyped = set()
    for place in range(1, len(name)):  # the first letter is hardly ever wrong
        before = name[:place]
        letter = name[place]
        after = name[place + 1 :]
        mistyped.add(before + after)
        mistyped.add(before + after[:1] + letter + after[1:])
        for wrong in ascii_lowercase:
            mistyped.add(before + wrong + after)
            mistyped.add(before + wrong + letter + after)
    mistyped.update(name + letter for letter in ascii_lowercase)
    mistyped.discard(name)
    return mistyped


def common() -> dict[str, str]:
    """Return frequent misspellings that differ by more than a letter, or of shorter names."""
    return dict(tables()["spelling"]["common"])
