"""Scores responses that name one of a few labels, such as yes or the letter of a choice: rules read them, no judge.

A benchmark is a data file, and a parser per named rule; for letters, the rules are here. A response that a rule cannot
read is wrong, and counted.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from halluscope.graded.metric import Case, Graded, Parts
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging.verdicts import Judged
from halluscope.options import check
from halluscope.reporting.report_items import UNREADABLE, Fact
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped

# Reads a response as a label; None if it names none
Parser = Callable[[str], str | None]

ACCURACY = "accuracy"


class Labelled(Graded):
    """A benchmark whose rows have a label each; a subclass holds the parsers, and scores beside the accuracy."""

    parsers: ClassVar[Mapping[str, Parser]] = {}
    shared: ClassVar = {
        **Graded.shared,
        "seed": "the seed of the bootstrap.",
        "per_question": "also return, for each question, how its response was read.",
        "thoughts": '"removed" takes out what the LVLM thought, "kept" reads it too.',
    }
    returned: ClassVar = (
        "`unreadable` is the share of responses that the parser cannot read, which are wrong. Scores are fractions in "
        "[0, 1], NaN where undefined. Also `questions`, `images`; `mean_words`, the mean length of the responses; "
        "`thoughts`, how many responses held thoughts that were removed; `signature`; `interval` with a bootstrap; and "
        "`per_question` if requested."
    )

    def parser(self, name: str) -> Parser:
        return self.parsers[name]

    def further(self, labels: Sequence[str], texts: Sequence[str], right: Bools) -> Parts:
        """Return what each row adds to further scores, and whether it counts for them."""
        return {}

    def stated(self, row: Values, where: str, number: int) -> Any:
        """Read the row that a response states itself, as the authors' answers do; None if it states none."""
        return self.read(row, where, number) if self.dataset["marker"] in row else None

    def judged(self, case: Case) -> Judged:
        check({*case.options} - {"judge_seed"}, (*self.choices, *self.shared), self.name)
        rule = self.parser(case.chosen["parser"])
        read = {text: rule(text) for text in dict.fromkeys(case.texts)}
        values: Any = {"read": np.array([[read[text] for text in case.texts]], dtype=object)}
        kinds = self.columns[self.data["benchmark"]["target"]].values
        if len(kinds) == 2:  # with more labels, every order has rows that fit
            said, labels = values["read"][0] == kinds[0], np.array(self._labels(case)) == kinds[0]
            warn_if_shuffled(said[:, None], labels[:, None])
        return Judged((), values, case.chosen["parser"])

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        labels, read = self._labels(case), values["read"]
        right = np.array(read == np.array(labels, dtype=object), dtype=bool)
        every, unread = np.ones(len(labels), dtype=bool), np.array([one is None for one in read])
        further = {self.unread: (unread, every), **self.further(labels, case.texts, right)}
        named = {name.lower(): of for name, of in groups.items()}
        return {**grouped({ACCURACY: (right, every)}, cluster, named), **grouped(further, cluster, {})}

    def facts(self, case: Case, scores: Values) -> Values:
        return {}

    def signed(self, case: Case) -> Values:
        others = {name: value for name, value in case.chosen.items() if value != self.choices[name][0]}
        return {**others, "parser": case.verdicts.key}

    def each(self, case: Case) -> list[Values]:
        each = zip(self.added(case), self._labels(case), case.verdicts.values["read"][0], strict=True)
        return [{**adds, "label": label, "read": read} for adds, label, read in each]

    def _labels(self, case: Case) -> list[str]:
        return [getattr(row, self.data["benchmark"]["target"]) for row in case.rows]


class Choice(Labelled):
    """A benchmark whose labels are letters, each of a choice that the question lists; the data file is all it needs.

    Its `exact` names scores for which the response must be the letter of a choice and nothing else, among the rows
    where that choice is right.
    """

    @property
    def letters(self) -> str:
        return "".join(self.columns[self.data["benchmark"]["target"]].values)

    def parser(self, name: str) -> Parser:
        return {"official": self.official, "strict": self.strict}[name]

    def official(self, text: str) -> str | None:
        """Return the only letter of a choice among a response's words, in upper or lower case: "A dog" is A."""
        found = {*re.findall(r"\b\w+\b", text.lower())} & {*self.letters.lower()}
        return found.pop().upper() if len(found) == 1 else None

    def strict(self, text: str) -> str | None:
        """Return the letter that a response begins with; None if another letter follows, or a word after "a"."""
        first, last = self.letters[0], self.letters[-1]
        begins = re.match(
            r"(?:(?:the )?(?:final |correct )?(?:answer|option|choice)(?: is)?\s*:?\s*)?"
            rf"\W*([{first}-{last}])\b(?!')",
            text.strip(),
            re.IGNORECASE,
        )
        rest = text.strip()[begins.end() :] if begins else ""
        # A is a word too
        others = self.letters.removeprefix("A")
        if not begins or re.search(rf"\b[{others}]\b", rest):
            return None
        return None if begins[1] in "aA" and re.match(r"\s+\w", rest) else begins[1].upper()

    def further(self, labels: Sequence[str], texts: Sequence[str], right: Bools) -> Parts:
        """Return what each row adds to the recall of each letter, and to the exact scores."""
        is_label = {letter: np.array([label == letter for label in labels]) for letter in self.letters}
        recalls = {f"recall/{letter}": (right & of, of) for letter, of in is_label.items()}
        exact = {
            name: (np.array([text == letter for text in texts]) & is_label[letter], is_label[letter])
            for name, letter in self.dataset["exact"].items()
        }
        return {**recalls, **exact}

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the mean of the recalls of those letters that are right answers, and a guess's expectation of it."""
        recalls = np.array([scores[f"recall/{letter}"] for letter in self.letters])
        known = ~np.isnan(recalls)
        mean = np.where(known, recalls, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        balanced = np.where(known.any(axis=0), mean, np.nan)
        return {"balanced_accuracy": balanced, "chance": np.full_like(balanced, 1 / len(self.letters))}


class LabelledView(View):
    """How the results and the rows of such a benchmark are shown."""

    def counts_as(self, result: Values) -> str:
        return " (they are wrong)"

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        yield Fact("label", [(str(row["label"]), "plain")])
        kind: Any = "open" if row["read"] is None else "good" if row[ACCURACY] else "bad"
        yield Fact("read as", [(UNREADABLE if row["read"] is None else str(row["read"]), kind)])

    def errors(self, row: Values) -> list[str]:
        return [] if row[ACCURACY] else [UNREADABLE if row["read"] is None else "wrong"]

    def badness(self, row: Values) -> float:
        """Return 1 for a wrong response, and a half for an unreadable one."""
        return 0.0 if row[ACCURACY] else 0.5 if row["read"] is None else 1.0
