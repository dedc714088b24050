"""Holds a dataset that a harness asks row by row, and scores its responses one by one and as a whole."""

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
"""Name of a row -> the response to it."""


@dataclass(frozen=True)
class Asked:
    """A dataset that a harness asks.

    Attributes:
        name: the name of the dataset, and of its task.
        prompt: the name of another prompt that is used; "" for the benchmark's own prompt.
        setting: the task's settings.
        source: its rows, and their images.
        rows: row's name -> row; a name is made from the row's ids.
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
            name: the name of the dataset.
            prompt: the name of another prompt to use; "" for the benchmark's own prompt.
            setting: the task's settings.

        Raises:
            ValueError: if the dataset cannot be opened, its ids are not unique, or a judge cannot be used.
        """
        source = functions.opened(name, setting, keep=1)
        rows = {" ".join(map(str, source.dataset.identity(row).values())): row for row in source.rows}
        if len(rows) < len(source.rows):
            raise ValueError(
                f"{source.name} has {len(source.rows):,} rows and {len(rows):,} different ids "
                f"({', '.join(source.dataset.key)}); expected one id per row. Build it again, or name one config."
            )
        return cls(name, prompt, setting, source, rows)

    @property
    def benchmark(self) -> Benchmark:
        """The dataset's benchmark."""
        return self.source.benchmark

    @property
    def by_rules(self) -> bool:
        """Whether no language model judges, so that a response can be scored as soon as it is there."""
        judges = self.benchmark.judges
        named = self.setting.options.get(judges.option) if judges else []
        return not judges or {*(named if isinstance(named, list) else [named])} <= {*judges.rules}

    def documents(self) -> list[dict[str, Any]]:
        """Return the rows, each with the marks that the harness' functions need."""
        marks = functions.marks(self.name, self.prompt)
        return [{**row, **marks} for row in self.rows.values()]

    def told(self, document: Mapping[str, Any], cluster: object) -> dict[str, Any]:
        """Return the metadata that a log holds for a row, by which its response is matched to the row later."""
        known = about(document, self.source.dataset.key)
        return {**functions.marks_of(document), **known, CLUSTER: str(cluster)}

    def added(self, row: str, text: str) -> dict[str, float]:
        """Return a response's values of the mean scores; NaN if it does not count, or a language model judges."""
        _, (found,) = self.so_far({row: text}) if self.benchmark.means else nothing([row])
        return {score: found.get(score, math.nan) for score in self.benchmark.means}

    def so_far(self, said: Said) -> Scored:
        """Score a part of a set while the rest is asked; return an empty result if a language model judges.

        Errors are not raised here, but when the whole set is scored.
        """
        if self.by_rules and said:
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the warning that this is not the whole benchmark
                return self._scored(said)
        return nothing(said)

    def score(self, said: Said, log_file: Path) -> Scored:
        """Score a set. If it cannot be judged, the log gets the command that scores it later, and the result is empty.

        Args:
            said: the responses.
            log_file: the harness' log of them.
        """
        where = self._where(len(said), log_file)
        return functions.judged(partial(self._scored, said), self.setting, self.name, where) or nothing(said)

    def clusters(self, said: Said) -> list[str]:
        """Return each row's cluster; rows of the same cluster depend on each other."""
        return list(map(str, scoring.clusters(self.benchmark, [self.rows[name] for name in said])))

    def _scored(self, said: Said) -> Scored:
        rows = [self.rows[name] for name in said]
        return scoring.of_each(self.benchmark, rows, list(said.values()), self.setting.options, self.prompt)

    def _where(self, count: int, log_file: Path) -> str:
        """Say where the responses are, and which command scores them."""
        partial = count < len(self.rows)
        command = kept.command(self.name, self.setting, log_file, partial)
        limit = f" --limit {count}" if partial and self.benchmark.chooses else ""
        return f"The responses are in the log; to score them: {command}{limit}"
