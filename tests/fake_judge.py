"""A judge of free text that replies by a function, for tests."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence


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
