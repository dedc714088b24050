"""A dataset that a harness asks row by row, and how its responses are scored: one at a time, and as a whole."""

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from halluscope import scoring
from halluscope.answering.answer import about
from halluscope.answering.sources import Source
from halluscope.harness import functions, kept
from halluscope.harness.functions import CLUSTER, Scored, nothing
from halluscope.harness.settings import Settings
from halluscope.reading.rows import Row
from halluscope.registry import Benchmark

Said = Mapping[str, str]
"""What an LVLM said, by the names of the rows."""


@dataclass(frozen=True)
class Asked:
    """A dataset that is asked.

    Attributes:
        name: of the dataset, and of its task.
        prompt: the name of what is asked instead of the benchmark's own prompt; "" for that.
        setting: what holds for it.
        source: its rows, and their images.
        rows: by their names, which their ids make.
    """

    name: str
    prompt: str
    setting: Settings
    source: Source
    rows: Mapping[str, Row]

    @classmethod
    def open(cls, name: str, prompt: str, setting: Settings) -> "Asked":
        """Open a dataset.

        Args:
            name: of the dataset.
            prompt: the name of what is asked instead of the benchmark's own prompt; "" for that.
            setting: what holds for it.

        Raises:
            ValueError: if it cannot be opened, its ids do not tell rows apart, or a judge that is named is not to be
                had.
        """
        source = functions.opened(name, setting, keep=1)
        rows = {" ".join(map(str, source.dataset.identity(row).values())): row for row in source.rows}
        if len(rows) < len(source.rows):
            raise ValueError(
                f"{source.name} has {len(source.rows):,} rows and {len(rows):,} different ids "
                f"({', '.join(source.dataset.key)}); expected one per row. Build it anew, or name one config."
            )
        return cls(name, prompt, setting, source, rows)

    @property
    def benchmark(self) -> Benchmark:
        """Whose rows these are."""
        return self.source.benchmark

    @property
    def by_rules(self) -> bool:
        """Whether no language model judges, so that a response can be scored as soon as it is there."""
        judges = self.benchmark.judges
        named = self.setting.options.get(judges.option) if judges else []
        return not judges or {*(named if isinstance(named, list) else [named])} <= {*judges.rules}

    def documents(self) -> list[dict[str, Any]]:
        """The rows, each with the marks that a harness' functions want."""
        marks = functions.marks(self.name, self.prompt)
        return [{**row, **marks} for row in self.rows.values()]

    def told(self, document: Mapping[str, Any], cluster: object) -> dict[str, Any]:
        """What a log says of a row, by which its response is found again."""
        known = about(document, self.source.dataset.key)
        return {**functions.marks_of(document), **known, CLUSTER: str(cluster)}

    def added(self, row: str, text: str) -> dict[str, float]:
        """What a response adds to the scores that are means; NaN where it has no part, or a language model judges."""
        _, (found,) = self.so_far({row: text}) if self.benchmark.means else nothing([row])
        return {score: found.get(score, math.nan) for score in self.benchmark.means}

    def so_far(self, said: Said) -> Scored:
        """Score a part of a set while the rest is asked; nothing comes of it if a language model judges.

        What is wrong is said when the whole set is scored.
        """
        if self.by_rules and said:
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a part is not the whole benchmark
                return self._scored(said)
        return nothing(said)

    def score(self, said: Said, log_file: Path) -> Scored:
        """Score a set. What cannot be judged is logged, with the command that does it later; the result is then empty.

        Args:
            said: the responses.
            log_file: where the harness keeps them.
        """
        where = self._where(len(said), log_file)
        return functions.judged(partial(self._scored, said), self.setting, self.name, where) or nothing(said)

    def clusters(self, said: Said) -> list[str]:
        """What each row shares with those that it depends on."""
        return list(map(str, scoring.clusters(self.benchmark, [self.rows[name] for name in said])))

    def _scored(self, said: Said) -> Scored:
        rows = [self.rows[name] for name in said]
        return scoring.of_each(self.benchmark, rows, list(said.values()), self.setting.options, self.prompt)

    def _where(self, count: int, log_file: Path) -> str:
        """Where the responses are, and what scores them."""
        partial = count < len(self.rows)
        command = kept.command(self.name, self.setting, log_file, partial)
        limit = f" --limit {count}" if partial and self.benchmark.chooses else ""
        return f"The responses are in the log; to score them: {command}{limit}"
