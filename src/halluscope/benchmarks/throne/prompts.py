"""THRONE's prompts to its judges, from benchmark.toml."""

from collections.abc import Sequence

from halluscope.judging.questions import QuestionSet, question_set
from halluscope.vocabularies import read_toml

SETS = {name: QuestionSet(**one) for name, one in read_toml(__file__, "benchmark.toml")["questions"].items()}
PAPER, RELEASED, CLAIMS = (SETS[name] for name in ("paper", "released", "claims"))


def load(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the paper's frame."""
    return question_set(questions, SETS, PAPER.frame)
