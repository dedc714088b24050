"""Finds the judges that a user names, and checks them before any of them is loaded."""

from collections.abc import Sequence
from typing import cast

from halluscope.errors import JudgeUnavailable
from halluscope.judging.client import AT_ONCE
from halluscope.judging.models import weights
from halluscope.judging.models.engine import Engine
from halluscope.judging.models.seq2seq import CHECKER, FLAN_T5, is_checker, model_of
from halluscope.judging.questions import QuestionSet
from halluscope.judging.server import ENDPOINT, SCORING
from halluscope.judging.voter import Judge
from halluscope.judging.voters.lexical import LexicalJudge
from halluscope.judging.voters.replay import ReplayJudge
from halluscope.judging.voters.served import AS_USUAL, Served, check_name, compares_labels, is_served
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

LEXICAL = "lexical"
REPLAY = "replay:"  # The prefix for a file of votes given elsewhere


ENSEMBLES = {"flan-t5": FLAN_T5}  # Names that stand for several judges


def resolve(
    judges: str | Judge | Sequence[str | Judge],
    vocabulary: Vocabulary,
    engine: Engine,
    served: Served = AS_USUAL,
) -> list[Judge]:
    """Return the judges that the user means, in the order given."""
    meant = named(judges)
    if engine != Engine(device=engine.device) and all(_is_given(judge) for judge in meant):
        raise ValueError(
            "engine, recheck and workers are for language models on this machine, but judges names only "
            f"{', '.join(map(repr, meant)):.200}."
        )
    if served.at_once != AT_ONCE and not any(map(is_served, meant)):
        raise ValueError(
            f"at_once is for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), but judges names only "
            f"{', '.join(map(repr, meant)):.200}."
        )
    if served.tokenizer and not any(map(compares_labels, meant)):
        raise ValueError(
            f"tokenizer is for judges that compare labels ('{SCORING}MODEL@URL'), but judges names only "
            f"{', '.join(map(repr, meant)):.200}."
        )
    found = [_judge(judge, vocabulary, engine, served) for judge in meant]
    keys = [judge.key for judge in found]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"judges names {', '.join(twice)} more than once; each judge votes once.")
    return found


def named(judges: str | Judge | Sequence[str | Judge]) -> list[str | Judge]:
    """Return the judges that the user means, each by its own name; nothing is fetched yet."""
    listed = judges if isinstance(judges, list | tuple) else [cast("str | Judge", judges)]
    meant: list[str | Judge] = []
    for judge in listed:
        if isinstance(judge, str) and judge.startswith(REPLAY):
            meant.append(ReplayJudge.read(judge.removeprefix(REPLAY)))
        else:
            meant += ENSEMBLES.get(judge, [judge]) if isinstance(judge, str) else [judge]
    if not meant:
        raise ValueError("judges is empty; expected 'flan-t5', 'lexical', or a list of models.")
    for judge in meant:
        if isinstance(judge, str) and is_served(judge):
            check_name(judge)
        elif isinstance(judge, str) and judge != LEXICAL:
            weights.check_name(model_of(judge))
        elif not isinstance(judge, str):
            _check_given(judge)
    return meant


def lexical(judges: str | Judge | Sequence[str | Judge], vocabulary: Vocabulary) -> LexicalJudge:
    """Return the lexical judge among the judges that the user means."""
    for judge in named(judges):
        if judge == LEXICAL or isinstance(judge, LexicalJudge):
            return judge if isinstance(judge, LexicalJudge) else LexicalJudge(vocabulary)
    raise ValueError(
        f"explain says which rule of the lexical judge took a mention back, but judges names {short_repr(judges)}; "
        "expected judges='lexical', alone or among others."
    )


def find(judges: str | Judge | Sequence[str | Judge]) -> None:
    """Find the weights of the language models that the user means, without loading any."""
    for judge in named(judges):
        if not is_served(judge) and isinstance(judge, str) and judge != LEXICAL:
            weights.find(model_of(judge))


def check_asked(meant: Sequence[str | Judge], questions: QuestionSet) -> None:
    """Check that checkers get claims, and other language models questions, before any judge is looked for."""
    # The lexical judge and given votes are read by class and by text, so they work with both. So does a judge
    # of the user's own, unless its attribute `claims` says which of the two it accepts.
    for judge in meant:
        takes = getattr(judge, "claims", None) if not isinstance(judge, str) else is_checker(judge)
        if judge == LEXICAL or takes is None or takes == questions.claims:
            continue
        name = judge if isinstance(judge, str) else judge.key
        raise ValueError(
            f"judges names the checker {short_repr(name)}, which reads claims, but questions is {questions.name!r}; "
            "expected questions='claims'. A judge that answers questions cannot vote in the same poll."
            if takes
            else f"judges names {short_repr(name)}, which answers questions, but questions is {questions.name!r}, a "
            f"set of claims for a checker; expected '{CHECKER}MODEL', or other questions."
        )


def _check_given(judge: object) -> None:
    """Check that an object offers what a judge does."""
    key, stored = getattr(judge, "key", None), getattr(judge, "stored", None)
    called = all(callable(getattr(judge, name, None)) for name in ("answer", "close"))
    if not isinstance(key, str) or not isinstance(stored, bool) or not called:
        raise JudgeUnavailable(
            f"judges: {short_repr(judge)} is not a judge; expected a name, a model, or an object with key, stored, "
            "answer and close, as in `halluscope.judging.voter.Judge`."
        )


def _is_given(judge: str | Judge) -> bool:
    """Whether a judge is an object already, or needs no language model on this machine."""
    return judge == LEXICAL or not isinstance(judge, str) or is_served(judge)


def _judge(judge: str | Judge, vocabulary: Vocabulary, engine: Engine, served: Served) -> Judge:
    if not isinstance(judge, str):
        return judge
    if is_served(judge):
        return served.judge(judge)
    return LexicalJudge(vocabulary) if judge == LEXICAL else engine.judge(judge)
