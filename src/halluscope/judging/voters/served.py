"""How judges behind servers are asked: models that reply, and models that compare labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from halluscope.judging.chat_completions import check_leave_out
from halluscope.judging.client import AT_ONCE, check_at_once
from halluscope.judging.server import ENDPOINT, SCORING, Server
from halluscope.judging.voters.endpoint import EndpointVoter
from halluscope.judging.voters.scoring import ScoringVoter


@dataclass(frozen=True)
class Served:
    """How judges behind servers are asked. All that can change a vote is in the judge's key."""

    at_once: int = AT_ONCE  # the most requests under way
    # settings that a server is known to refuse, from `halluscope.judging.chat_completions.SETTINGS`
    leave_out: str | Sequence[str] = ()
    # the tokenizer of "scoring:" judges, if it is not found by the model's name
    tokenizer: str | None = None
    # a "scoring:" judge's vote with a smaller margin than this, in nats, is asked again as "openai:" asks
    recheck: float = 0.0

    def __post_init__(self) -> None:
        """Check the options; a judge that compares labels checks `recheck`."""
        check_at_once(self.at_once)
        check_leave_out(self.leave_out)

    def judge(self, name: str) -> EndpointVoter | ScoringVoter:
        """Return the judge with this name, without asking it yet."""
        if compares_labels(name):
            return ScoringVoter(
                name.removeprefix(SCORING),
                tokenizer=self.tokenizer,
                recheck=self.recheck,
                at_once=self.at_once,
                leave_out=self.leave_out,
            )
        return EndpointVoter(name.removeprefix(ENDPOINT), at_once=self.at_once, leave_out=self.leave_out)


AS_USUAL = Served()


def is_served(judge: object) -> bool:
    """Whether `judge` is the name of a model behind a server."""
    return isinstance(judge, str) and judge.startswith((ENDPOINT, SCORING))


def compares_labels(judge: object) -> bool:
    """Whether `judge` is the name of a model behind a server that compares labels."""
    return isinstance(judge, str) and judge.startswith(SCORING)


def check_name(judge: str) -> None:
    """Check the name of a judge behind a server; nothing is sent."""
    kind = SCORING if compares_labels(judge) else ENDPOINT
    Server.named(judge.removeprefix(kind), kind=kind)
