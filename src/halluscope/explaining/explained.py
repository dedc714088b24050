"""Scores one LVLM's responses under a benchmark's protocols, and under the steps between two protocols.

Each score is computed once, as `halluscope score` computes it with the same options. A setting may take the
rows of one protocol, the labels of another, and the parser and counting of a third.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halluscope import scoring
from halluscope.explaining.protocols import (
    CHOSEN,
    COUNTING,
    LABELS,
    PROMPT,
    ROWS,
    Discrepancy,
    Protocol,
    Protocols,
    Setting,
    means,
)
from halluscope.explaining.rows import Rows, question, same_rows
from halluscope.options import MatchingOptions
from halluscope.registry import QUESTION, Benchmark
from halluscope.responses.files import Given
from halluscope.scoring import Ready

Result = Mapping[str, Any]

# Errors for which a protocol is left out: missing rows, missing labels, or a missing package.
IMPOSSIBLE = (ValueError, OSError, ImportError)


class Explained:
    """Scores of the same responses by protocol."""

    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        chosen: Sequence[Protocol],
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Mapping[str, Any],
        matching: MatchingOptions | None = None,
    ) -> None:
        """Read the responses, and match them to the rows of each protocol."""
        self.benchmark, self.stated = benchmark, stated
        self.rows = Rows(benchmark, stated, responses, dataset, options, matching)
        self.not_computed: dict[str, str] = {}  # name of a protocol -> reason
        self._named = {one.name: one for one in chosen}
        self._results: dict[tuple[str, ...], Result] = {}
        self.protocols = self._possible(chosen, self.rows.match)

    def compute(self) -> None:
        """Compute the scores of each protocol."""
        self.protocols = self._possible(self.protocols, self._compute)

    @property
    def files(self) -> list[str]:
        """The names of the files of responses, one file per prompt."""
        return self.rows.files

    def setting(self, protocol: Protocol, file: str) -> Setting:
        """Return the setting in which a protocol decides every aspect, for the responses in a file."""
        return {PROMPT: file, **dict.fromkeys(CHOSEN, protocol.name)}

    def settings(self) -> list[Setting]:
        """Return the setting of each protocol for each file."""
        return [self.setting(one, file) for one in self.protocols for file in self.files]

    def whose(self, setting: Setting, aspect: str) -> Protocol:
        """Return the protocol that an aspect of a setting follows."""
        return self._named[setting[aspect]]

    def ready(self, setting: Setting) -> Ready:
        """Return the responses of a setting, with their rows."""
        return self.rows.ready(setting[PROMPT], self.whose(setting, ROWS), self.whose(setting, LABELS))

    def result(self, setting: Setting) -> Result:
        """Return the result at a setting; it is computed once."""
        options = self.rows.options(*(self.whose(setting, aspect).way(aspect) for aspect in CHOSEN))
        about = same_rows(setting[PROMPT], self.whose(setting, ROWS), self.whose(setting, LABELS))
        key = (*about, repr(sorted(options.items())))
        if key not in self._results:
            items = {self.benchmark.items: True} if self.benchmark.items else {}
            self._results[key] = scoring.compute(self.benchmark, self.ready(setting), options | items)
        return self._results[key]

    def discrepancy(self, one: Protocol) -> Discrepancy | None:
        """Return why a protocol's own program prints other numbers; None if it prints the same."""
        options = self.rows.options(*(one.way(aspect) for aspect in CHOSEN))
        return one.discrepancy if one.discrepancy.holds(options) else None

    def score(self, setting: Setting, name: str) -> float:
        """Return a score at a setting; NaN where it is undefined, or the result does not have it."""
        value = self.result(setting).get(self.whose(setting, COUNTING).called.get(name, name))
        return float(value) if isinstance(value, int | float) else math.nan

    def same(self, first: Setting, second: Setting, aspect: str) -> bool:
        """Whether two settings do the same in an aspect, even if they describe it differently."""
        if aspect == PROMPT:
            return first[PROMPT] == second[PROMPT]
        one, other = (self.whose(setting, aspect) for setting in (first, second))
        if aspect == COUNTING and one.called != other.called:
            return False
        beside = [LABELS] if aspect == ROWS else []  # labels can leave rows out
        return means(*map(one.way, (aspect, *beside))) == means(*map(other.way, (aspect, *beside)))

    def asked(self, file: str) -> list[tuple[str, int]]:
        """Return the prompts that a file's responses name, with counts; {question} is a row's own, "" is no prompt."""
        matched = self.ready(self.setting(self.protocols[0], file)).matched
        if len(matched.prompts) == 1 and not any(matched.asked):
            # Our harness tasks log only the name of a prompt.
            named = " ".join(self.benchmark.prompts.get(matched.prompts[0], "").split())
            return [(named, len(matched.rows))]
        return Counter(map(_template, matched.rows, matched.asked)).most_common()

    def _possible(self, among: Sequence[Protocol], do: Callable[[Protocol], None]) -> list[Protocol]:
        """Return the protocols for which `do` succeeds; keep the reasons why it fails for the others."""
        possible: list[Protocol] = []
        failed: dict[str, Exception] = {}
        for one in among:
            try:
                do(one)
            except IMPOSSIBLE as error:
                failed[one.name] = error
            else:
                possible.append(one)
        self.not_computed |= {name: str(error) for name, error in failed.items()}
        if not possible:
            raise _together(failed)
        return possible

    def _compute(self, one: Protocol) -> None:
        for file in self.files:
            self.result(self.setting(one, file))


def by_reason(failed: Mapping[str, str]) -> dict[str, str]:
    """Map the names of protocols that cannot be computed, joined where the reason is the same, to the reason."""
    names: dict[str, list[str]] = {}
    for name, why in failed.items():
        names.setdefault(why, []).append(name)
    return {", ".join(of): why for why, of in names.items()}


def _together(failed: Mapping[str, Exception]) -> Exception:
    """Return the error that says why no protocol can be computed."""
    reasons = by_reason({name: str(error) for name, error in failed.items()})
    if len(reasons) == 1:
        return next(iter(failed.values()))
    return ValueError("\n".join(["No protocol can be computed.", *map(": ".join, reasons.items())]))


def _template(row: Any, asked: str) -> str:
    own = question(row)
    return asked.replace(own, QUESTION) if own else asked
