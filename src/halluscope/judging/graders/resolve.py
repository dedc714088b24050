"""Finds the judge of free text that a user names, and checks it before it is loaded or asked."""

from collections.abc import Collection
from typing import Any

from halluscope.errors import JudgeUnavailable
from halluscope.judging.graders.chat import MAX_TOKENS, ChatJudge
from halluscope.judging.graders.endpoint import EndpointJudge
from halluscope.judging.graders.local_chat import LocalChat
from halluscope.judging.server import ENDPOINT
from halluscope.paths import is_there
from halluscope.sanitize import short_repr


def resolve_chat(
    judge: str | ChatJudge, *, device: str | None = None, max_tokens: int = MAX_TOKENS, **endpoint: Any
) -> ChatJudge:
    """Return the judge that the user means, without loading or asking it yet."""
    if not isinstance(judge, str):
        if not hasattr(judge, "replies") or not hasattr(judge, "key"):
            raise JudgeUnavailable(
                f"judge: {short_repr(judge)} is not a judge of free text; expected 'openai:MODEL[@URL]', a local "
                "model, or a chat judge."
            )
        return judge
    if judge.startswith(ENDPOINT):
        named = judge.removeprefix(ENDPOINT)
        return EndpointJudge(named, max_tokens=max_tokens, **{"structured": True, **endpoint})
    check_name(judge)
    return LocalChat(judge, max_tokens, device)


def check_name(judge: str | ChatJudge, rules: Collection[str] = ()) -> None:
    """Check a name: a plain word is not a model, unless a folder or file has that name."""
    if not isinstance(judge, str) or judge.startswith(ENDPOINT):
        return
    if "/" in judge or "\\" in judge or is_there(judge):
        return
    known = (
        f"These judges need no model: {', '.join(map(repr, rules))}."
        if rules
        else "`halluscope info NAME` says which rules the benchmark NAME knows."
    )
    raise JudgeUnavailable(
        f"There is no judge {short_repr(judge)} that reads free text; expected 'openai:MODEL[@URL]', or a local "
        f"model: a folder, a .gguf file, or a Hub id (org/name). {known}"
    )
