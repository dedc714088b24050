"""Notes what a grader would be asked, without asking."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halluscope.judging.graders.chat import ChatJudge
from halluscope.judging.graders.verdicts import Place, places_of


@dataclass
class Ledger:
    """Takes the place of a store, and notes each prompt for a grader; no grader is asked.

    Attributes:
        path: the store's path; None for the user's cache. The store is not opened here.
        places: each prompt, repeat and seed, once, in the order in which they came.
        judge: the grader; None if no grader was to be asked.
        max_tokens: how many tokens the grader's reply may have.
        repeats: how often the grader is to be asked each prompt.
    """

    path: str | Path | None = None
    places: dict[Place, None] = field(default_factory=dict)
    judge: ChatJudge | None = None
    max_tokens: int = 0
    repeats: int = 1

    def note(
        self, prompts: Sequence[str], judge: ChatJudge, repeats: int, seed: int, max_tokens: int
    ) -> None:
        """Note what `halluscope.judging.graders.verdicts.collect` would ask."""
        self.judge, self.repeats, self.max_tokens = judge, repeats, max_tokens
        self.places |= dict.fromkeys(places_of(prompts, judge, repeats, seed))
