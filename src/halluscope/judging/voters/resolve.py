"""From what a user writes for `judges` to the judges, checked before any of them is loaded."""

from collections.abc import Sequence
from typing import cast

from halluscope.errors import JudgeUnavailable
from halluscope.foreign import brief
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
from halluscope.vocabularies import Vocabulary

LEXICAL = "lexical"
REPLAY = "replay:"
"""What a name starts with that means a file of votes given elsewhere."""


ENSEMBLES = {"flan-t5": FLAN_T5}
"""Names that stand for several judges."""


def resolve(
    judges: str | Judge | Sequence[str | Judge],
    vocabulary: Vocabulary,
    engine: Engine,
    served: Served = AS_USUAL,
) -> list[Judge]:
    """The judges that are meant, in the order given.

    Args:
        judges: "flan-t5", "lexical", "replay:FILE", a model (Hub id, folder or GGUF file), "checker:MODEL",
            "openai:MODEL[@URL]", "scoring:MODEL@URL", a judge, or a list of these.
        vocabulary: the classes that will be asked about.
        engine: how language models of this machine are run.
        served: how judges behind servers are asked.

    Raises:
        JudgeUnavailable: for a judge that is unknown, without weights, or not to be had.
        ValueError: for no judge, or the same judge twice.
    """
    meant = named(judges)
    if engine != Engine(device=engine.device) and all(_is_given(judge) for judge in meant):
        raise ValueError(
            "engine, recheck and workers are for language models of this machine named in judges, and there is none: "
            f"{', '.join(map(repr, meant)):.200}."
        )
    if served.at_once != AT_ONCE and not any(map(is_served, meant)):
        raise ValueError(
            f"at_once is for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), and there is none: "
            f"{', '.join(map(repr, meant)):.200}."
        )
    if served.tokenizer and not any(map(compares_labels, meant)):
        raise ValueError(
            f"tokenizer is for judges that compare labels ('{SCORING}MODEL@URL'), and there is none: "
            f"{', '.join(map(repr, meant)):.200}."
        )
    found = [_judge(judge, vocabulary, engine, served) for judge in meant]
    keys = [judge.key for judge in found]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"judges names {', '.join(twice)} more than once; each judge votes once.")
    return found


def named(judges: str | Judge | Sequence[str | Judge]) -> list[str | Judge]:
    """The judges that are meant, each by its own name; nothing is fetched yet.

    Raises:
        JudgeUnavailable: for a name that cannot be a judge's.
        ValueError: for no judge.
    """
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
    """The lexical judge among those that are meant.

    Raises:
        ValueError: if it is not among them.
    """
    for judge in named(judges):
        if judge == LEXICAL or isinstance(judge, LexicalJudge):
            return judge if isinstance(judge, LexicalJudge) else LexicalJudge(vocabulary)
    raise ValueError(
        f"explain tells which rule of the lexical judge took a mention back, and judges names {brief(judges)}; "
        "expected judges='lexical', alone or among others."
    )


def find(judges: str | Judge | Sequence[str | Judge]) -> None:
    """Find the weights of the language models that are meant, without loading one.

    Raises:
        JudgeUnavailable: for a model that is not to be had.
    """
    for judge in named(judges):
        if not is_served(judge) and isinstance(judge, str) and judge != LEXICAL:
            weights.find(model_of(judge))


def check_asked(meant: Sequence[str | Judge], questions: QuestionSet) -> None:
    """Check that checkers are asked about claims, and other language models questions; before one is looked for.

    The lexical judge and given votes are read by class and by text: they go with both. So does a judge of the user's,
    unless it says by its attribute `claims` which it takes.

    Raises:
        ValueError: for a judge that is asked what it does not take.
    """
    for judge in meant:
        takes = getattr(judge, "claims", None) if not isinstance(judge, str) else is_checker(judge)
        if judge == LEXICAL or takes is None or takes == questions.claims:
            continue
        name = judge if isinstance(judge, str) else judge.key
        raise ValueError(
            f"judges names the checker {brief(name)}, which reads claims, and questions is {questions.name!r}; "
            "expected questions='claims'. A judge that answers questions cannot vote in the same poll."
            if takes
            else f"judges names {brief(name)}, which answers questions, and questions is {questions.name!r}, which are "
            f"claims for a checker; expected '{CHECKER}MODEL', or other questions."
        )


def _check_given(judge: object) -> None:
    """Check that an object offers what a judge does.

    Raises:
        JudgeUnavailable: if it does not.
    """
    key, stored = getattr(judge, "key", None), getattr(judge, "stored", None)
    called = all(callable(getattr(judge, name, None)) for name in ("answer", "close"))
    if not isinstance(key, str) or not isinstance(stored, bool) or not called:
        raise JudgeUnavailable(
            f"judges: {brief(judge)} is no judge; expected a name, a model, or an object with a key, stored, answer "
            "and close, as `halluscope.judging.voter.Judge` has them."
        )


def _is_given(judge: str | Judge) -> bool:
    """Whether a judge is there already, or needs no language model of this machine."""
    return judge == LEXICAL or not isinstance(judge, str) or is_served(judge)


def _judge(judge: str | Judge, vocabulary: Vocabulary, engine: Engine, served: Served) -> Judge:
    if not isinstance(judge, str):
        return judge
    if is_served(judge):
        return served.judge(judge)
    return LexicalJudge(vocabulary) if judge == LEXICAL else engine.judge(judge)
