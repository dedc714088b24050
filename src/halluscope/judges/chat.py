"""Judges that get whole prompts and give whole replies. What a reply says is the caller's to read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from halluscope.errors import JudgeUnavailable

ENDPOINT = "openai:"
"""What a name starts with that means a model behind an OpenAI-compatible endpoint."""

MAX_TOKENS = 256
"""A longer reply is cut off, and a reply that is cut off is none."""


class ChatJudge(Protocol):
    """Anyone who replies to prompts.

    Attributes:
        failures: how many prompts got no reply, by reason.
    """

    failures: Counter[str]

    @property
    def key(self) -> str:
        """What stands in a signature and in the store: everything about the judge that can move a reply.

        Model, temperature, seed, and the longest reply; never an access key, and never a path of this machine. A call
        of `replies` may change it, for a server that refuses a setting, but not while replies come.
        """
        ...

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Each prompt's place with the reply, in any order, as they come; None where there was none.

        A reply depends on its prompt alone.

        Raises:
            JudgeUnavailable: if there is nobody to reply.
        """
        ...

    def close(self) -> None:
        """Free what the judge holds (a model's memory). It may be asked again afterwards."""
        ...


def resolve_chat(
    judge: str | ChatJudge, *, device: str | None = None, max_tokens: int = MAX_TOKENS, **endpoint: Any
) -> ChatJudge:
    """The judge that is meant, not loaded and not asked yet.

    Args:
        judge: "openai:MODEL" or "openai:MODEL@http://host/v1" for an OpenAI-compatible endpoint; a local model (Hub
            id, folder or GGUF file); or a judge.
        device: where a local model runs; None takes a GPU if there is one.
        max_tokens: how long a reply may be.
        endpoint: what else `endpoint.EndpointJudge` takes: base_url, key_variable, temperature, seed, at_once,
            attempts, timeout. A local model decodes greedily, whatever stands here.

    Raises:
        JudgeUnavailable: for a judge that is unknown, without weights, or not to be had.
        MissingExtra: without the packages that the judge needs.
    """
    if not isinstance(judge, str):
        if not hasattr(judge, "replies") or not hasattr(judge, "key"):
            raise JudgeUnavailable(
                f"{judge!r:.80} is no judge of free text; expected 'openai:MODEL[@URL]', a local model, or a chat "
                "judge."
            )
        return judge
    if judge.startswith(ENDPOINT):
        from halluscope.judges.endpoint import EndpointJudge

        return EndpointJudge(judge.removeprefix(ENDPOINT), max_tokens=max_tokens, **endpoint)
    _check_local(judge)
    from halluscope.judges.local_chat import LocalChat

    return LocalChat(judge, max_tokens, device)


def _check_local(judge: str) -> None:
    """A plain word is no model, unless a folder or file of that name is there."""
    if "/" in judge or "\\" in judge or (judge and Path(judge).exists()):
        return
    raise JudgeUnavailable(
        f"There is no judge {judge!r:.80} that reads free text; expected 'openai:MODEL[@URL]', or a local model: a "
        "folder, a .gguf file, or a Hub id (org/name). The metric hallusionbench also knows 'rules' and 'vlmevalkit', "
        "the metric hqh 'reference-only'."
    )
