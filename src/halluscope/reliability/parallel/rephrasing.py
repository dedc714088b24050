"""Prompts and free-form questions in other words, from the table `rephrasings.toml` (HQM, section III.A)."""

from halluscope.reliability.parallel.choice import chooser
from halluscope.reliability.parallel.negation import Refused
from halluscope.reliability.parallel.shapes import reshape
from halluscope.reliability.parallel.table import table


def rephrase(prompt: str, seed: int = 0) -> str:
    """Say a prompt in other words.

    A prompt of the table becomes another of its group; a question is asked in the other words that its shape allows.

    Args:
        prompt: an instruction or a question.
        seed: chooses among the wordings; the same prompt and seed give the same text.

    Raises:
        Refused: for an instruction that the table does not have, or a question whose shape no rule knows.

    >>> rephrase("What is behind the dog?") in ("What can be seen behind the dog?", "What is there behind the dog?")
    True
    """
    choose = chooser(seed, prompt)
    for group in table()["same"]:
        others = [other for other in group["prompts"] if _plain(other) != _plain(prompt)]
        if len(others) < len(group["prompts"]):
            return choose(others)
    if "?" not in prompt:
        raise Refused("it is no question, and no instruction of the table of rephrasings")
    return reshape(prompt, seed)


def frame(question: str, seed: int = 0) -> str:
    """Put a question into a frame of other words; it keeps its own, so that options beside it fit as before.

    >>> "Which animal is it?" in frame("Which animal is it?")
    True

    Raises:
        Refused: for what is no question, unless the table has it as a prompt.
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
