"""What a judge's reply says: yes, no, or neither. Every rule that reads a reply has a name.

A rule reads the reply while it is still being generated, so that generation can stop as soon as the rest
cannot change the reading.
"""

from collections.abc import Callable

NO, YES, OTHER = 0, 1, 2
"""Codes of an answer. `OTHER` is a reply that is neither; it counts as no yes vote and is reported as unparsed."""

UNASKED = -1
"""Code of a cell whose question was not put, because its answer could move no number."""

Rule = Callable[[str, bool], int | None]
"""`rule(reply so far, has it ended)` gives an answer code, or None while more of the reply is needed."""

_WORDS = {"yes": YES, "no": NO}


def whole(reply: str, ended: bool) -> int | None:
    """Yes or no only if the whole stripped, lowercased reply is that word: the rule of THRONE's released code.

    >>> whole(" Yes ", True), whole("yes, a dog", True), whole("ye", False)
    (1, 2, None)
    """
    word = reply.strip().lower()
    if ended:
        return _WORDS.get(word, OTHER)
    return None if any(known.startswith(word) for known in _WORDS) else OTHER


def first_word(reply: str, ended: bool) -> int | None:
    """Yes or no if that is the reply's first word, whatever follows: for judges that like to explain.

    >>> first_word("Yes, there is.", True), first_word("Nothing", True), first_word("**No", False)
    (1, 2, None)
    """
    text = reply.lower().lstrip(" \t\r\n\"'`*_#([-")
    word = text[: next((i for i, c in enumerate(text) if not c.isalpha()), len(text))]
    if ended or len(word) < len(text):
        return _WORDS.get(word, OTHER)
    return None if any(known.startswith(word) for known in _WORDS) else OTHER


RULES: dict[str, Rule] = {"whole": whole, "first-word": first_word}
