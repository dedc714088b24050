"""What views share of questions with a right answer of yes or no: what the reply was read as, and what is wrong."""

from halluscope.reporting.shown import UNREADABLE, Fact, Kind

WRONG_YES, WRONG_NO = "wrong yes", "wrong no"
"""A hallucination and a miss."""


def kind(reply: str | None, right: str) -> Kind:
    """What a reply is; None is one that the parser reads as neither yes nor no.

    >>> kind("yes", "yes"), kind("yes", "no"), kind(None, "no")
    ('good', 'bad', 'open')
    """
    return "open" if reply is None else "good" if reply == right else "bad"


def error(reply: str | None, right: str) -> str:
    """What is wrong with a reply; "" if nothing is.

    >>> error("yes", "yes"), error("yes", "no"), error("no", "yes"), error(None, "no")
    ('', 'wrong yes', 'wrong no', 'unreadable')
    """
    if reply == right:
        return ""
    return {"yes": WRONG_YES, "no": WRONG_NO, None: UNREADABLE}[reply]


def facts(reply: str | None, right: str) -> list[Fact]:
    """What the reply was read as, and what is right."""
    return [
        Fact("read as", [(reply or UNREADABLE, kind(reply, right))]),
        Fact("right answer", [(right, "plain")]),
    ]
