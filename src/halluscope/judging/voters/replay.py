"""Answers given by the caller: asked elsewhere, by another program or another day."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from halluscope.judging.questions import Question
from halluscope.judging.voter import Answered, Pairs
from halluscope.judging.votes import whole


class ReplayJudge:
    """A judge that repeats given replies.

    Args:
        replies: (text, question) -> the reply as it was given, such as "yes"; read like FLAN-T5's replies.

    Raises:
        ValueError: when it is asked what nobody gave a reply to.
    """

    stored = False

    def __init__(self, replies: Mapping[tuple[str, str], str]) -> None:
        self._replies = dict(replies)
        content = json.dumps(sorted([*pair, reply] for pair, reply in self._replies.items()))
        self.key = f"replay-{hashlib.sha256(content.encode()).hexdigest()[:8]}"

    @classmethod
    def read(cls, path: str | Path) -> "ReplayJudge":
        """Read replies from JSON lines with the fields `text`, `question` and `answer`."""
        replies: dict[tuple[str, str], str] = {}
        with Path(path).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    pair, reply = (row["text"], row["question"]), row["answer"]
                    if not all(isinstance(part, str) for part in (*pair, reply)):
                        raise TypeError("text, question and answer are texts")
                    if replies.setdefault(pair, reply) != reply:
                        raise ValueError("another answer to the same question stands in an earlier line")
                except (ValueError, KeyError, TypeError) as error:
                    raise ValueError(
                        f"{path}, line {number}: expected a JSON object with text, question and answer; "
                        f"got {line.strip()[:80]!r} ({type(error).__name__}: {error})."
                    ) from error
        return cls(replies)

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Repeat the reply given to each pair."""
        codes = [self._reply(texts[text], questions[question].text) for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        """Nothing is held."""

    def _reply(self, text: str, question: str) -> int:
        if (text, question) not in self._replies:
            raise ValueError(f"No reply was given to the question {question!r} about the text {text[:80]!r}.")
        code = whole(self._replies[text, question], ended=True)
        assert code is not None, "an ended reply is always read"
        return code
