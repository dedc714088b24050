"""OpenCHAIR's prompts to its judges, from benchmark.toml."""

from collections.abc import Sequence

from halluscope.judging.questions import QuestionSet, question_set
from halluscope.vocabularies import read_toml

SETS = {name: QuestionSet(**one) for name, one in read_toml(__file__, "benchmark.toml")["questions"].items()}


def load(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the frame of `plain`."""
    return question_set(questions, SETS, SETS["plain"].frame)
