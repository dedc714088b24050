"""A judge that repeats replies that another program, or an earlier run, has collected."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from halluscope.files.opening import json_rows
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.questions import Question
from halluscope.judging.votes import whole
from halluscope.sanitize import short_repr

FIELDS = ("text", "question", "answer")


class ReplayJudge:
    """A judge that repeats given replies."""

    stored = False

    def __init__(self, replies: Mapping[tuple[str, str], str]) -> None:
        self._replies = dict(replies)
        content = json.dumps(sorted([*pair, reply] for pair, reply in self._replies.items()))
        self.key = f"replay-{hashlib.sha256(content.encode()).hexdigest()[:8]}"

    @classmethod
    def read(cls, path: str | Path) -> "ReplayJudge":
        """Read replies from JSON lines, or a JSON list (.gz too), with the fields `text`, `question` and `answer`."""
        replies: dict[tuple[str, str], str] = {}
        for where, row in json_rows(Path(path)):
            if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in FIELDS):
                raise ValueError(
                    f"{where}: expected a JSON object with text, question and answer, all of them texts; got "
                    f"{short_repr(row)}."
                )
            text, question, reply = (row[name] for name in FIELDS)
            if replies.setdefault((text, question), reply) != reply:
                raise ValueError(
                    f"{where}: an earlier line has another answer to the same question, {short_repr(question)}; "
                    "expected one answer. Remove one of them."
                )
        return cls(replies)

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Repeat the reply given to each pair."""
        codes = [self._reply(texts[text], questions[question].text) for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _reply(self, text: str, question: str) -> int:
        if (text, question) not in self._replies:
            raise ValueError(
                f"No reply was given to the question {short_repr(question)} about the text {short_repr(text)}; "
                "expected a reply for each. Collect this one too."
            )
        code = whole(self._replies[text, question], ended=True)
        assert code is not None, "an ended reply is always read"
        return code
