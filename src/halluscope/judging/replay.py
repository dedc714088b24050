"""Votes given elsewhere: a voter that repeats the replies in a file."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from halluscope.files.opening import json_rows
from halluscope.judging.judge import Answered, Pairs, Voter
from halluscope.judging.questions import Question
from halluscope.judging.votes import whole_reply
from halluscope.sanitize import short_repr

REPLAY = "replay:"  # The prefix for a file of votes given elsewhere


class ReplayJudge(Voter):
    """A voter that repeats given replies, by text and question."""

    stored = False

    def __init__(self, replies: Mapping[tuple[str, str], str]) -> None:
        self._replies = replies
        rows = sorted([text, question, reply] for (text, question), reply in replies.items())
        self._digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8]

    @property
    def key(self) -> str:
        return f"replay-{self._digest}"

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Repeat the reply given to each pair."""
        codes = []
        for text_number, question_number in pairs.tolist():
            text = texts[text_number]
            question = questions[question_number].text
            if (text, question) not in self._replies:
                raise ValueError(
                    f"No reply was given to the question {short_repr(question)} about the text {short_repr(text)}; "
                    "expected a reply for each. Collect this one too."
                )
            codes.append(whole_reply(self._replies[text, question]))
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None: ...


def read_replies(path: Path) -> ReplayJudge:
    """Read replies from JSON lines, or a JSON list (.gz too), with the fields `text`, `question` and `answer`."""
    replies: dict[tuple[str, str], str] = {}
    for where, row in json_rows(path):
        fields = []
        if isinstance(row, dict):
            fields = [row.get(name) for name in ("text", "question", "answer")]
        if not fields or not all(isinstance(field, str) for field in fields):
            raise ValueError(
                f"{where}: expected a JSON object with text, question and answer, all of them texts; got "
                f"{short_repr(row)}."
            )
        text, question, reply = map(str, fields)
        if replies.setdefault((text, question), reply) != reply:
            raise ValueError(
                f"{where}: an earlier line has another answer to the same question, {short_repr(question)}; "
                "expected one answer. Remove one of them."
            )
    return ReplayJudge(replies)
