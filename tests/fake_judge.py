"""A judge of free text that says what a function says, for tests."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence


class FakeJudge:
    """A chat judge that does as `verdict(prompt, how often this was asked)` says."""

    def __init__(self, verdict: Callable[[str, int], str | None]) -> None:
        self.verdict, self.asked, self.key = verdict, [], "fake-1"
        self.failures: Counter[str] = Counter()

    def replies(self, asked: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        for place, prompt in enumerate(asked):
            self.asked.append(prompt)
            yield place, self.verdict(prompt, self.asked.count(prompt))

    def close(self) -> None:
        pass
