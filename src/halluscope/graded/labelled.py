"""Scores responses that name one of a few labels, such as yes or the letter of a choice: rules read them, no judge.

The option `parser` of the data file names methods that read a label, None where a response names none. A response that
a rule cannot read is wrong, and counted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from halluscope.graded.metric import Case, Graded, Parts
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging.marked_answer import answer_in
from halluscope.judging.verdicts import Judged
from halluscope.options import check, keywords
from halluscope.reporting.report_items import UNREADABLE, Fact, answer_kind
from halluscope.responses import parsers
from halluscope.responses.read_otherwise import Readings, warn_if_read_otherwise
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.ratios import Floats, defined_mean
from halluscope.stats.tallies import Bools, Ints, Tally, tally_groups

ACCURACY = "accuracy"


class Labelled(Graded):
    """A benchmark whose rows have a label each; its rules read yes and no.

    Its `recalls` names a score for each label, among the rows where that label is right; its `exact` scores for which
    the response must be the label and nothing else.
    """

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.target: str = self.data["benchmark"]["target"]
        self.recalls: Mapping[str, str] = self.dataset.get("recalls", {})

    def official(self, text: str) -> str | None:
        return parsers.word_of(parsers.contained(text))

    def strict(self, text: str) -> str | None:
        return parsers.word_of(parsers.strict(text))

    def stated_row(self, row: Values, where: str, number: int) -> Any:
        """Read the row that a response states itself, as the authors' answers do; None if it states none."""
        return self.read(row, where, number) if self.dataset["marker"] in row else None

    def judged(self, case: Case) -> Judged:
        check({*case.options} - {"judge_seed"}, keywords(self.compute), self.name)
        parser = case.chosen["parser"]
        label = {text: getattr(self, parser)(text) for text in dict.fromkeys(case.texts)}
        read = np.array([[label[text] for text in case.texts]], dtype=object)
        self._compare_with_strict(case, parser, read[0])
        kinds = self.columns[self.target].values
        if len(kinds) == 2:  # with more labels, every order has rows that fit
            warn_if_shuffled(kinds[0] == read.T, self._labels(case)[:, None] == kinds[0])
        return Judged((), {"read": read}, parser)

    def _compare_with_strict(self, case: Case, parser: str, read: Any) -> None:
        """Warn if a parser reads many responses otherwise than `strict` does."""
        if parser == parsers.STRICT:
            return
        label = {text: self.strict(text) for text in dict.fromkeys(case.texts)}
        strict = np.array([label[text] for text in case.texts], dtype=object)
        warn_if_read_otherwise(Readings(case.texts, parser, read, strict, self._labels(case), _as_it_is))

    def of_empty(self, chosen: Values) -> str:
        parser = chosen["parser"]
        return parsers.as_read(parser, getattr(self, parser)(""))

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        labels, read, texts = self._labels(case), values["read"], np.array(case.texts, dtype=object)
        right, every = read == labels, np.ones(len(labels), dtype=bool)
        exact: Mapping[str, str] = self.dataset.get("exact", {})
        further: Parts = {
            self.unread: (np.array([one is None for one in read]), every),
            **{name: (right & (labels == label), labels == label) for label, name in self.recalls.items()},
            **{
                name: ((texts == label) & (labels == label), labels == label) for name, label in exact.items()
            },
        }
        named = {name.lower(): rows for name, rows in groups.items()}
        return {
            **tally_groups({ACCURACY: (right, every)}, cluster, named),
            **tally_groups(further, cluster, {}),
        }

    def facts(self, case: Case, scores: Values) -> Values:
        return {}

    def signed(self, case: Case) -> Values:
        others = {name: value for name, value in case.chosen.items() if value != self.choices[name][0]}
        return {**others, "parser": case.verdicts.key}

    def each(self, case: Case) -> list[Values]:
        each = zip(self.added(case), self._labels(case), case.verdicts.values["read"][0], strict=True)
        return [{**adds, "label": label, "read": read} for adds, label, read in each]

    def _labels(self, case: Case) -> Any:
        return np.array([getattr(row, self.target) for row in case.rows], dtype=object)


def _as_it_is(label: str | None) -> str | None:
    return label


class Choice(Labelled):
    """A benchmark whose labels are letters, each of a choice that the question lists; the data file is all it needs."""

    no_interval: ClassVar = {"chance": "It depends on no response."}

    def official(self, text: str) -> str | None:
        """Return the only letter of a choice among a response's words, in upper or lower case: "A dog" is A."""
        found = {*re.findall(r"\b\w+\b", text.lower())} & {label.lower() for label in self.recalls}
        return found.pop().upper() if len(found) == 1 else None

    def strict(self, text: str) -> str | None:
        """Return the letter that a response gives as its answer; None if another letter follows, or a word after "a".

        It is the letter that the response marks (`halluscope.judging.marked_answer`), has on a line of its own at the
        beginning or the end, or begins with.
        """
        letters = "".join(self.recalls)
        marked = re.compile(rf"\W*[{letters}](?:\W*$|\s*[.:),])", re.IGNORECASE)
        answer = answer_in(text, self._begins_with_letter, marked)
        return self._line_of_its_own(answer) or self._first_letter(answer)

    def _begins_with_letter(self, text: str) -> bool:
        return self._first_letter(text) is not None

    def _line_of_its_own(self, text: str) -> str | None:
        lines = [line for line in text.split("\n") if re.search(r"\w", line)]
        alone = [re.fullmatch(rf"\W*([{''.join(self.recalls)}])\W*", line) for line in lines]
        found = {line[1] for line in alone if line}
        if len(found) == 1 and (alone[0] or alone[-1]):
            return found.pop()
        return None

    def _first_letter(self, text: str) -> str | None:
        letters = "".join(self.recalls)
        begins = re.match(
            r"(?:(?:the )?(?:final |correct )?(?:answer|option|choice)(?: is)?\s*:?\s*)?"
            rf"\W*([{letters}])\b(?!')",
            text.strip(),
            re.IGNORECASE,
        )
        rest = text.strip()[begins.end() :] if begins else ""
        # A is a word too
        if not begins or re.search(rf"\b[{letters.removeprefix('A')}]\b", rest):
            return None
        return None if begins[1] in "aA" and re.match(r"\s+\w", rest) else begins[1].upper()

    def derived(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the mean of the recalls of those letters that are right answers, and a guess's expectation of it."""
        recalls = np.array([scores[name] for name in self.recalls.values()])
        balanced = defined_mean(recalls.T)
        return {"balanced_accuracy": balanced, "chance": np.full_like(balanced, 1 / len(recalls))}


class LabelledView(View):
    """How the results and the rows of such a benchmark are shown."""

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        yield Fact("label", [(row["label"], "plain")])
        yield Fact("read as", [(row["read"] or UNREADABLE, answer_kind(row["read"], row["label"]))])

    def errors(self, row: Values) -> list[str]:
        return [] if row[ACCURACY] else [UNREADABLE if row["read"] is None else "wrong"]

    def badness(self, row: Values) -> float:
        """Return 1 for a wrong response, and a half for an unreadable one."""
        return 0.0 if row[ACCURACY] else 0.5 if row["read"] is None else 1.0
