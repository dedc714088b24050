"""Adapters that make full judges of those that users write in Python."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import Answered, AnsweredBy, ChatJudge, Judge, Pairs, Schema, Voter
from halluscope.judging.questions import Question
from halluscope.sanitize import short_repr


def as_voter(judge: Any) -> Voter:
    """Return a voter as it is, and an object with key, stored, answer and close as a voter.

    Raises:
        JudgeUnavailable: if it is neither.
    """
    if isinstance(judge, Voter):
        return judge
    has_key = isinstance(getattr(judge, "key", None), str)
    has_stored = isinstance(getattr(judge, "stored", None), bool)
    has_methods = callable(getattr(judge, "answer", None)) and callable(getattr(judge, "close", None))
    if not has_key or not has_stored or not has_methods:
        raise JudgeUnavailable(
            f"judges: {short_repr(judge)} is not a judge; expected a name, a model, or an object with key, stored, "
            "answer and close, as in `halluscope.judging.judge.Voter`."
        )
    return UsersVoter(judge)


def as_chat_judge(judge: Any) -> ChatJudge:
    """Return a chat judge as it is, and an object with key, replies and close as a chat judge.

    Raises:
        JudgeUnavailable: if it is neither.
    """
    if isinstance(judge, ChatJudge):
        return judge
    has_methods = callable(getattr(judge, "replies", None)) and callable(getattr(judge, "close", None))
    if not has_methods or not hasattr(judge, "key"):
        raise JudgeUnavailable(
            f"judge: {short_repr(judge)} is not a judge of free text; expected 'openai:MODEL[@URL]', a local "
            "model, or an object with key, replies and close, as in `halluscope.judging.judge.ChatJudge`."
        )
    return UsersChatJudge(judge)


class _UsersJudge(Judge):
    """What a user's judge may leave out: `failures` and `spent`."""

    def __init__(self, judge: Any) -> None:
        self._judge = judge
        failures: Counter[str] | None = getattr(judge, "failures", None)
        if failures is not None:
            self.failures = failures

    def __repr__(self) -> str:
        return repr(self._judge)

    @property
    def key(self) -> str:
        return str(self._judge.key)

    @property
    def spent(self) -> str:
        return str(getattr(self._judge, "spent", ""))

    def close(self) -> None:
        self._judge.close()


class UsersVoter(_UsersJudge, Voter):
    """A user's voter. It may say by `claims` whether it takes only claims, or only questions."""

    def __init__(self, judge: Any) -> None:
        super().__init__(judge)
        self.stored = judge.stored
        self.claims = getattr(judge, "claims", None)

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        votes: Iterator[Answered | AnsweredBy] = self._judge.answer(texts, questions, pairs)
        return votes


class UsersChatJudge(_UsersJudge, ChatJudge):
    """A user's chat judge. It may be `greedy`; if it is `structured` it gets `schemas`, and if `seeded` `seeds`."""

    def __init__(self, judge: Any) -> None:
        super().__init__(judge)
        self.greedy = bool(getattr(judge, "greedy", False))

    def replies(
        self, prompts: Sequence[str], schemas: Sequence[Schema | None], seeds: Sequence[int]
    ) -> Iterator[tuple[int, str | None]]:
        more: dict[str, Any] = {}
        if getattr(self._judge, "structured", False):
            more["schemas"] = schemas
        if getattr(self._judge, "seeded", False):
            more["seeds"] = seeds
        replies: Iterator[tuple[int, str | None]] = self._judge.replies(prompts, **more)
        return replies
