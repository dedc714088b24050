"""What views of yes/no questions share: how a response was read, and what is wrong with it."""

from halluscope.reporting.shown import UNREADABLE, Fact, Kind

WRONG_YES, WRONG_NO = "wrong yes", "wrong no"
"""Names of the two errors: a hallucination and a miss."""


def kind(reply: str | None, right: str) -> Kind:
    """Return the kind of a response, given how it was read; None was read as neither yes nor no.

    >>> kind("yes", "yes"), kind("yes", "no"), kind(None, "no")
    ('good', 'bad', 'open')
    """
    return "open" if reply is None else "good" if reply == right else "bad"


def error(reply: str | None, right: str) -> str:
    """Return what is wrong with a response, given how it was read; "" if nothing is.

    >>> error("yes", "yes"), error("yes", "no"), error("no", "yes"), error(None, "no")
    ('', 'wrong yes', 'wrong no', 'unreadable')
    """
    if reply == right:
        return ""
    return {"yes": WRONG_YES, "no": WRONG_NO, None: UNREADABLE}[reply]


def facts(reply: str | None, right: str) -> list[Fact]:
    """Return two facts: how the response was read, and the right answer."""
    return [
        Fact("read as", [(reply or UNREADABLE, kind(reply, right))]),
        Fact("right answer", [(right, "plain")]),
    ]
