"""Finds the judges that a user names, and checks them before any of them is loaded or asked."""

from collections.abc import Collection, Sequence
from typing import Any

from halluscope.errors import JudgeUnavailable
from halluscope.judging.adapters import as_chat_judge, as_voter
from halluscope.judging.client import ENDPOINT, Server
from halluscope.judging.endpoint import EndpointJudge, EndpointVoter
from halluscope.judging.judge import AT_ONCE, MAX_TOKENS, ChatJudge, Voter
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CHECKER, FLAN_T5, LocalChat, local_judge, local_name
from halluscope.judging.questions import QuestionSet
from halluscope.judging.replay import REPLAY, read_replies
from halluscope.paths import is_there, path_of
from halluscope.sanitize import short_repr
from halluscope.vocabularies import Vocabulary

LEXICAL = "lexical"

ENSEMBLES = {"flan-t5": FLAN_T5}  # Names that stand for several judges


def named(judges: Any) -> list[str | Voter]:
    """Return the voters that the user means, each by its own name; nothing is fetched yet.

    Args:
        judges: a name or a voter, or a list of these. A voter of the user's own gets its adapter here.

    Raises:
        JudgeUnavailable: if one is no judge.
        ValueError: if there is none, or a file of votes cannot be read.
    """
    if not isinstance(judges, list | tuple):
        judges = [judges]
    voters: list[str | Voter] = []
    for judge in judges:
        if not isinstance(judge, str):
            voters.append(as_voter(judge))
        elif judge.startswith(REPLAY):
            voters.append(read_replies(path_of(judge.removeprefix(REPLAY))))
        elif judge in ENSEMBLES:
            voters += ENSEMBLES[judge]
        else:
            _check_voters_name(judge)
            voters.append(judge)
    if not voters:
        raise ValueError("judges is empty; expected 'flan-t5', 'lexical', or a list of models.")
    return voters


def _check_voters_name(judge: str) -> None:
    if is_served(judge):
        Server.named(judge.removeprefix(ENDPOINT))
    elif judge != LEXICAL:
        weights.check_name(local_name(judge).model)


def is_served(judge: object) -> bool:
    """Whether `judge` is the name of a model behind a server."""
    return isinstance(judge, str) and judge.startswith(ENDPOINT)


def _is_local(judge: str | Voter) -> bool:
    """Whether a judge is the name of a language model on this machine."""
    return isinstance(judge, str) and judge != LEXICAL and not is_served(judge)


def find(judges: Any) -> None:
    """Find the weights of the language models that the user means, without loading any."""
    for judge in named(judges):
        if isinstance(judge, str) and _is_local(judge):
            weights.find(local_name(judge).model)


def check_asked(judges: Sequence[str | Voter], questions: QuestionSet) -> None:
    """Check that checkers get claims, and other language models questions, before any judge is looked for.

    The lexical judge and given votes are read by class and by text, so they work with both.
    """
    for judge in judges:
        if judge == LEXICAL:
            continue
        if isinstance(judge, str):
            name = judge
            claims: bool | None = judge.startswith(CHECKER)
        else:
            name = judge.key
            claims = judge.claims
        if claims is None or claims == questions.claims:
            continue
        if claims:
            raise ValueError(
                f"judges names the checker {short_repr(name)}, which reads claims, but questions is "
                f"{questions.name!r}; expected questions='claims'. A judge that answers questions cannot vote in the "
                "same poll."
            )
        raise ValueError(
            f"judges names {short_repr(name)}, which answers questions, but questions is {questions.name!r}, a set of "
            f"claims for a checker; expected '{CHECKER}MODEL', or other questions."
        )


def resolve(
    judges: Sequence[str | Voter],
    vocabulary: Vocabulary,
    *,
    device: str | None,
    workers: int,
    at_once: int,
) -> list[Voter]:
    """Return the voters of these names, in their order; see `VoteOptions` for how they are run or asked."""
    names = ", ".join(repr(judge) for judge in judges)
    if workers and not any(_is_local(judge) for judge in judges):
        raise ValueError(
            f"workers is for language models on this machine, but judges names only {names:.200}."
        )
    if at_once != AT_ONCE and not any(is_served(judge) for judge in judges):
        raise ValueError(
            f"at_once is for judges behind an endpoint ('{ENDPOINT}MODEL[@URL]'), but judges names only {names:.200}."
        )
    voters: list[Voter] = []
    for judge in judges:
        if not isinstance(judge, str):
            voters.append(judge)
        elif judge == LEXICAL:
            voters.append(LexicalJudge(vocabulary))
        elif is_served(judge):
            voters.append(EndpointVoter(judge.removeprefix(ENDPOINT), at_once=at_once))
        else:
            voters.append(local_judge(judge, device, workers))
    check_once([voter.key for voter in voters])
    return voters


def check_once(keys: Sequence[str]) -> None:
    """Check that no judge votes twice."""
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ValueError(f"judges names {', '.join(repeated)} more than once; each judge votes once.")


def lexical(judges: Sequence[str | Voter], vocabulary: Vocabulary) -> LexicalJudge:
    """Return the lexical judge among the judges that the user means."""
    for judge in judges:
        if isinstance(judge, LexicalJudge):
            return judge
        if judge == LEXICAL:
            return LexicalJudge(vocabulary)
    raise ValueError(
        f"explain says which rule of the lexical judge took a mention back, but judges names {short_repr(judges)}; "
        "expected judges='lexical', alone or among others."
    )


def resolve_chat(
    judge: Any, *, device: str | None = None, max_tokens: int = MAX_TOKENS, **endpoint: Any
) -> ChatJudge:
    """Return the judge of free text that the user means, without loading or asking it yet.

    Args:
        judge: its name; or a chat judge, which gets its adapter here if it is the user's own.
        device: where a local model runs. It decodes greedily.
        max_tokens: how many tokens a reply may have.
        endpoint: more arguments of `EndpointJudge`, of which `structured` is here true by default.
    """
    if not isinstance(judge, str):
        return as_chat_judge(judge)
    if is_served(judge):
        endpoint.setdefault("structured", True)
        return EndpointJudge(judge.removeprefix(ENDPOINT), max_tokens=max_tokens, **endpoint)
    check_chat_name(judge)
    return LocalChat(judge, max_tokens, device)


def check_chat_name(judge: Any, rules: Collection[str] = ()) -> None:
    """Check the name of a judge of free text: a plain word is no model, unless a folder or file has that name."""
    if not isinstance(judge, str) or is_served(judge):
        return
    meant = local_name(judge)
    if meant.prefix:
        raise JudgeUnavailable(
            f"The judge {short_repr(judge)} votes yes or no; expected a judge of free text: name the model without "
            f"{meant.prefix!r}."
        )
    if "/" in judge or "\\" in judge or is_there(judge):
        return
    known = "`halluscope list NAME` says which rules the benchmark NAME knows."
    if rules:
        known = f"These judges need no model: {', '.join(map(repr, rules))}."
    raise JudgeUnavailable(
        f"There is no judge {short_repr(judge)} that reads free text; expected 'openai:MODEL[@URL]', or a local "
        f"model: a folder, a .gguf file, or a Hub id (org/name). {known}"
    )
