"""Rephrases prompts and free-form questions, by the table `rephrasings.toml` (HQM, section III.A)."""

from halluscope.reliability.parallel.choice import chooser
from halluscope.reliability.parallel.negation import Refused
from halluscope.reliability.parallel.shapes import reshape
from halluscope.reliability.parallel.table import table


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt in other words.

    A prompt in the table becomes another prompt of its group; a question is rephrased as its shape allows.

    Args:
        prompt: an instruction or a question.
        seed: chooses among the wordings; the same prompt and seed give the same text.

    Raises:
        Refused: for an instruction that is not in the table, or a question whose shape no rule knows.

    >>> rephrase("What is behind the dog?") in ("What can be seen behind the dog?", "What is there behind the dog?")
    True
    """
    choose = chooser(seed, prompt)
    for group in table()["same"]:
        others = [other for other in group["prompts"] if _plain(other) != _plain(prompt)]
        if len(others) < len(group["prompts"]):
            return choose(others)
    if "?" not in prompt:
        raise Refused("it is neither a question nor an instruction in the table of rephrasings")
    return reshape(prompt, seed)


def frame(question: str, seed: int = 0) -> str:
    """Put other words around a question, which keeps its own words so that its options still fit.

    >>> "Which animal is it?" in frame("Which animal is it?")
    True

    Raises:
        Refused: for a text that is not a question, unless it is a prompt in the table.
    """
    try:
        return rephrase(question, seed)
    except Refused:
        if not question.strip().endswith("?"):
            raise
    frames = table()["frames"]["question"]
    return chooser(seed, question)(frames).replace("{question}", question.strip())


def _plain(prompt: str) -> str:
    return " ".join(prompt.lower().split()).rstrip(".")
