"""What a grader would be asked, noted instead of being asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halluscope.judging.graders.chat import ChatJudge
from halluscope.judging.graders.verdicts import Place, places_of


@dataclass
class Ledger:
    """Stands in a store's place, and notes each prompt that is put to a grader; nobody is asked.

    Attributes:
        path: where replies are kept; None for the user's cache. It is not opened here.
        places: each prompt, repeat and seed, once, in the order in which they came.
        judge: the grader; None if none was to be asked.
        max_tokens: how long its reply may be.
        repeats: how often it is to be asked each prompt.
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
