"""A judge of free text that replies by a function, and a voter that votes by one, for tests."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def obedient(prompt: str, reply: str) -> str:
    """Return a reply as a judge gives it that does what the prompt asks of its form: with the code, or marked words."""
    code = re.search(r'"code": "(\w+)"[^\n]*\Z', prompt)
    if code:
        return json.dumps({"code": code[1], **json.loads(reply)})
    marked = re.search(rf"[“\"]({re.escape(reply)}-\w+)[”\"]", prompt)
    return marked[1] if marked else reply


class FakeJudge:
    """A chat judge whose replies are `verdict(prompt, number of times it was asked)`."""

    def __init__(self, verdict: Callable[[str, int], str | None]) -> None:
        self.verdict, self.asked, self.key = verdict, [], "fake-1"
        self.failures: Counter[str] = Counter()

    def replies(self, asked: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        for place, prompt in enumerate(asked):
            self.asked.append(prompt)
            yield place, self.verdict(prompt, self.asked.count(prompt))

    def close(self) -> None:
        pass


class Voter:
    """A voter as users write them; `vote` takes a text and a question, and returns a code or a truth value."""

    stored = False

    def __init__(self, vote: Callable[[str, Any], int], key: str = "voter-1") -> None:
        self.vote, self.key = vote, key
        self.asked: list[tuple[str, str]] = []

    def answer(self, texts: Any, questions: Any, pairs: Any) -> Iterator[Any]:
        codes = []
        for text, question in pairs.tolist():
            self.asked.append((texts[text], questions[question].object))
            codes.append(int(self.vote(texts[text], questions[question])))
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self) -> None:
        pass
