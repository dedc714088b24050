"""Metrics of verdicts: a judge reads each response and gives a verdict, or a user gives verdicts from elsewhere.

A benchmark states its criteria, its prompts, what a prompt says of a row, and what a verdict adds to each score. A
missing verdict is NaN and counts in no score.
"""

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from halluscope.judging import question_ids
from halluscope.judging.given_verdicts import GivenVerdicts, read_given
from halluscope.judging.guard import speaking
from halluscope.judging.judge import MAX_TOKENS
from halluscope.judging.options import ASKING, VerdictOptions, judge_option, max_tokens_option
from halluscope.judging.prompts import Collected
from halluscope.judging.verdict_prompts import Fields, Verdict, VerdictPrompt
from halluscope.judging.verdicts import (
    NOBODY,
    UNREAD_REPLY,
    Criterion,
    Verdicts,
    from_given,
    read_verdicts,
)
from halluscope.metric import Options, Scores
from halluscope.options import check_effect, option, usual_values
from halluscope.responses import lengths
from halluscope.responses.identity import names_of_images
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.rated import check_row, warn_of_other_responses
from halluscope.responses.rating_files import rows_in
from halluscope.rows_metric import RowsMetric
from halluscope.sanitize import encodable, short_repr
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.slopes import slope
from halluscope.stats.tallies import Bools, Ints
from halluscope.validation import warn_of_a_part

# the two counts of a score: counts [clusters, repeats, 2]
PART = 0
WHOLE = 1

ALL = "all"  # the name of all rows in `counts`

# The values of the option `prompts`: whose words a judge is asked in
OURS = "ours"
AUTHORS = "authors"

BY_LENGTH = "by_length"  # in a result: by how much mean ratings rise per 100 words
SPEAKS = "speaks_to_judge"  # in a result: the ids of the rows whose responses seem to speak to a judge
QUOTED = 3  # how many of them a warning quotes

# The option by which a user gives verdicts
RATINGS = "ratings"

# The options that say what a model is asked, and how its replies are read
REPLY_OPTIONS = ("prompts", "reading", "claims")


@dataclass(frozen=True)
class Adds:
    """What each row adds to a score that is a mean: [rows] each."""

    values: Floats | Bools
    counts: Bools  # whether the row counts for the score

    def value_of(self, row: int) -> float | None:
        """Return what a row adds; None if it does not count."""
        if not self.counts[row]:
            return None
        return float(self.values[row])


@dataclass(frozen=True)
class JudgedOptions(VerdictOptions, Options):
    """The options of metrics of verdicts."""

    judge: Any = judge_option("", "you must name one")
    max_tokens: int = max_tokens_option(MAX_TOKENS)
    per_question: bool = option(
        False,
        about="also return, for each question, the verdict (first repeat; `repeats` has all) with the judge's reasons, "
        "or with the reply in which no verdict can be read (`unread_reply`), and its part in each score",
    )

    @property
    def given(self) -> Sequence[Any] | None:
        """The verdicts that the user gives, one per row; None if a judge is asked."""
        return None


@dataclass(frozen=True)
class Readings:
    """The responses, without thoughts, and the verdicts on them."""

    texts: Sequence[str]
    verdicts: Verdicts


class Judged(RowsMetric):
    """A metric of verdicts. Its rows are a list of `Row`."""

    options_type: ClassVar[type[JudgedOptions]] = JudgedOptions
    criteria: ClassVar[tuple[Criterion, ...]]  # what a verdict says
    # what a verdict also says, which is true unless a reader says otherwise
    flags: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[Mapping[str, Any]]  # the texts that explain a verdict -> their value where there is none
    judge_prompts: ClassVar[Mapping[str, VerdictPrompt]]  # by the values of the option `prompts`
    asking: ClassVar[Sequence[str]] = ASKING  # the options that only move a language model's replies
    unread: ClassVar[str] = "unreadable"  # the name of the share of responses without a readable verdict
    # score -> the names in `counts` of its whole and its part
    counted: ClassVar[Mapping[str, tuple[str, str]]] = {}

    # In what benchmarks differ

    def judge_prompt(self, options: Any, of_given_texts: bool = False) -> VerdictPrompt:
        """Return the prompt that the options name, with the reader of its replies.

        Texts that a user gives reply to the authors' prompt unless the options say otherwise.
        """
        usual = OURS
        if of_given_texts:
            usual = AUTHORS
        return self.judge_prompts[options.prompts or usual]

    def check_rows(self, rows: Sequence[Any]) -> None:
        """Check that a language model can be asked about the rows, before it is asked about any."""

    def also_measured(self, options: Any) -> list[Criterion]:
        """Return what a language model's verdicts also hold, beside the criteria; by default nothing."""
        return []

    def warn_of_verdicts(self, verdicts: Sequence[Verdict | None]) -> None:
        """Warn of what a language model's verdicts show, one per reply."""

    @abstractmethod
    def fields(self, row: Any) -> Fields:
        """Return what a prompt says of a row."""

    @abstractmethod
    def adds(self, values: Mapping[str, Floats]) -> dict[str, Adds]:
        """Return what each row adds to each score, by one repeat's verdicts: criterion -> [rows]."""

    def cluster_of(self, row: Any) -> Any:
        """Return what a row shares with those that it depends on."""
        return row.image_id

    def shown(self, row: Any) -> dict[str, Any]:
        """Return what the table of questions says of a row."""
        return {"id": row.id}

    def unreadable(self, values: Mapping[str, Floats]) -> Bools:
        """Return which responses have no readable verdict: [repeats, rows]."""
        missing = [np.isnan(values[criterion.name]) for criterion in self.criteria]
        return np.asarray(np.any(missing, axis=0))

    def given_row(self, row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        """Return a row of a file of verdicts by our names; `where` it stands, for errors."""
        return row

    def by_rule(self, rule: str, rows: Sequence[Any], texts: Sequence[str]) -> Verdicts:
        """Return the verdicts of a rule that asks no model; by default none."""
        return from_given("", [None] * len(rows), self.criteria, len(rows), key=rule)

    # The dataset's rows

    def inputs(
        self,
        rows: Sequence[Any],
        *,
        ratings: Any = None,
        responses: str = "",
        response_texts: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the arguments of `compute` for rows; a file or run with verdicts is read for them.

        Args:
            responses: the name of the responses, for errors.
            response_texts: the responses; () if they are not known.
        """
        if ratings is None:
            return {"references": rows}
        if isinstance(ratings, str | Path):
            ratings = self._read_file(ratings, rows, responses, response_texts)
        return {"references": rows, RATINGS: ratings}

    def _read_file(
        self, file: str | Path, rows: Sequence[Any], responses: str, response_texts: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        """Read the verdicts of a file or run, and check that they are on these rows and responses."""
        row_of = {row.id: row for row in rows}
        images = names_of_images(rows)
        stated: dict[Any, Mapping[str, Any]] = {}  # what stands beside each verdict, by the id of its row

        def check(where: str, verdict: Mapping[str, Any]) -> None:
            check_row(where, verdict, row_of[verdict["id"]], images, self.datasets[0].upstream)
            stated[verdict["id"]] = verdict

        texts = {}
        if response_texts:
            texts = dict(zip(row_of, response_texts, strict=True))
        only = ""
        if len(self.criteria) == 1:
            only = self.criteria[0].name
        verdicts = read_verdicts(
            file,
            responses,
            list(row_of),
            self.criteria,
            self.given_row,
            check=check,
            texts=texts,
            rows_in=partial(rows_in, only=only),
        )
        warn_of_other_responses([stated[id] for id in texts], list(texts.values()), str(file))
        return verdicts

    # Reading: who gives the verdicts

    @property
    def reply_options(self) -> list[str]:
        """The options that say what a model is asked, and how its replies are read."""
        names = {field.name for field in fields(self.options_type)}
        return [name for name in REPLY_OPTIONS if name in names]

    def chosen(self, options: Mapping[str, Any]) -> Any:
        """Return the options; the judge's seed is that of the metric unless it is given."""
        options = dict(options)
        options.setdefault("judge_seed", options.get("seed", 0))
        return super().chosen(options)

    def read(self, texts: Sequence[str], rows: Any, options: Any) -> Any:
        warn_of_a_part(len(rows), self.rows_published)
        return Readings(texts, self._verdicts(texts, rows, options))

    def _verdicts(self, texts: Sequence[str], rows: Sequence[Any], options: Any) -> Verdicts:
        rules: tuple[str, ...] = ()
        if self.judges:
            rules = self.judges.rules
        if options.given is not None:
            return self._read_given(texts, rows, options)
        if options.named(rules):
            why = f"{options.judge!r} gives the same verdicts each time and asks no model"
            self._check_asking(options, why)
            why = f"{options.judge!r} asks no model, so no reply is read"
            check_effect(vars(options), self.reply_options, why)
            return self.by_rule(options.judge, rows, texts)
        if options.named(("",)):
            raise ValueError(
                f"No judge is named (--judge, in Python judge); expected 'openai:MODEL[@URL]' or a local model, or "
                f"{RATINGS} of your own (--{RATINGS} FILE). With {' or '.join(map(repr, rules))} no model is asked."
            )
        options.prepare(rules)
        self.check_rows(rows)
        return self._ask(texts, rows, options)

    def _read_given(self, texts: Sequence[str], rows: Sequence[Any], options: Any) -> Verdicts:
        """Read the verdicts that the user gives; options of a judge, who is not asked, are refused."""
        why = f"the {RATINGS} are given, so nothing is judged"
        self._check_asking(options, why)
        if options.judge != NOBODY:
            check_effect(vars(options), ["judge"], why, usual_values(self.options_type))
        verdicts = GivenVerdicts(
            RATINGS,
            options.given,
            self.criteria,
            texts,
            reader=lambda: self.judge_prompt(options, of_given_texts=True),
            reply_options={name: getattr(options, name) for name in self.reply_options},
            prompts=list(self.judge_prompts),
            flags=self.flags,
            warn=self.warn_of_verdicts,
        )
        judged = read_given(verdicts)
        self._check_stated(vars(options)[RATINGS], rows)
        warn_of_other_responses(vars(options)[RATINGS], texts, RATINGS)
        return judged

    def _check_stated(self, verdicts: Sequence[Any], rows: Sequence[Any]) -> None:
        """Check that no verdict says that it is on another row: they are in the order of the rows."""
        known = {row.id for row in rows}
        images = names_of_images(rows)
        for place, (verdict, row) in enumerate(zip(verdicts, rows, strict=True)):
            if not isinstance(verdict, Mapping):
                continue
            where = f"{RATINGS}[{place}]"
            stated = self.given_row(verdict, where)
            id = question_ids.number_in(stated.get(question_ids.QUESTION_ID))
            if id is None:
                id = question_ids.number_in(stated.get("id"))
            if question_ids.is_among(id, known) and id != row.id:
                raise ValueError(
                    f"{where} has the id {short_repr(id)}, but the row there has {short_repr(row.id)}; expected the "
                    f"{RATINGS} in the order of the rows. Put them into that order, or name their file."
                )
            check_row(where, verdict, row, images, self.datasets[0].upstream)

    def _check_asking(self, options: Any, why: str) -> None:
        """Refuse options that only move a language model's replies."""
        usual = usual_values(self.options_type)
        usual["judge_seed"] = options.seed
        check_effect(vars(options), self.asking, why, usual)

    def _ask(self, texts: Sequence[str], rows: Sequence[Any], options: Any) -> Verdicts:
        """Ask a language model."""
        prompt = self.judge_prompt(options)
        collected = self._replies(prompt, texts, rows, options)
        verdicts = collected.verdicts
        of_all_repeats: list[Verdict | None] = []
        for of_repeat in verdicts:
            of_all_repeats += of_repeat
        self.warn_of_verdicts(of_all_repeats)
        criteria = list(self.criteria)
        for name in self.flags:
            criteria.append(Criterion(name, bool))
        criteria += self.also_measured(options)
        values = {criterion.name: numbers_of(verdicts, criterion.name) for criterion in criteria}
        notes = []
        for verdict, unread in zip(verdicts[0], collected.unread[0], strict=True):
            notes.append(self._notes_of(verdict, unread))
        return Verdicts(criteria, values, [options.chat.key, prompt.key], options.drawn, notes)

    def _replies(
        self,
        prompt: VerdictPrompt,
        texts: Sequence[str],
        rows: Sequence[Any],
        options: Any,
    ) -> Collected[Verdict]:
        """Ask about each row."""
        specs = []
        for row, text in zip(rows, texts, strict=True):
            specs.append(prompt.ask(self.fields(row), text))
        collected: Collected[Verdict] = options.collect(specs)
        return collected

    def _notes_of(self, verdict: Verdict | None, unread: str) -> dict[str, Any]:
        """Return the texts that explain a verdict; without one, the reply in which none can be read."""
        if verdict is not None:
            return {name: verdict.notes[name] for name in self.notes}
        notes = dict(self.notes)
        if unread:
            notes[UNREAD_REPLY] = encodable(unread)
        return notes

    # Counting and scoring

    def count(self, rows: Any, readings: Any, options: Any) -> Tables:
        """Count, for each score, the sum of what rows add to it, and how many count: [clusters, repeats, 2]."""
        cluster = self.clusters(rows)
        every = np.ones(len(rows), dtype=bool)
        groups = {"": every}
        groups.update(self.groups(rows))
        words, texts = lengths.tally(readings.texts, cluster)
        unreadable = self.unreadable(readings.verdicts.values)
        by_repeat: dict[str, list[Floats]] = {}  # score -> counts of each repeat [clusters, 2]
        for values, is_unread in zip(readings.verdicts.each(), unreadable, strict=True):
            for score, adds in self.adds(values).items():
                for group, is_in in groups.items():
                    counts = by_cluster(adds, is_in, cluster)
                    by_repeat.setdefault(name_of(score, group), []).append(counts)
            unread = by_cluster(Adds(is_unread, every), every, cluster)
            by_repeat.setdefault(self.unread, []).append(unread)
            by_repeat.setdefault(MEAN_WORDS, []).append(np.stack([words, texts], axis=-1))
        return Tables({name: np.stack(repeats, axis=1) for name, repeats in by_repeat.items()})

    def score(self, rows: Any, sums: Counts, options: Any) -> Scores:
        """Return the means over the repeats."""
        return {name: values.mean(axis=-1) for name, values in self.by_repeat(sums).items()}

    def by_repeat(self, sums: Counts) -> Scores:
        """Return the scores of each repeat, by their names: [sums, repeats]."""
        return {name: ratio(counts[..., PART], counts[..., WHOLE]) for name, counts in sums.items()}

    # What else a result holds

    def facts(
        self,
        rows: Any,
        readings: Any,
        total: Counts,
        options: Any,
    ) -> dict[str, Any]:
        verdicts = readings.verdicts
        facts: dict[str, Any] = {
            **self.sizes(rows),
            SPEAKS: speakers(rows, readings.texts),
        }
        by_length = self._by_length(rows, readings, options)
        if by_length:
            facts[BY_LENGTH] = by_length
        if self.counted:
            facts["counts"] = self._counts(rows, total)
        facts.update(verdicts.digest([row.id for row in rows]))
        if verdicts.repeats > 1:
            facts["spread"] = self.spread(total)
        if options.per_question:
            facts["per_question"] = self._questions(rows, verdicts)
        return facts

    def warn(
        self,
        texts: Sequence[str],
        rows: Any,
        readings: Any,
        result: dict[str, Any],
        options: Any,
    ) -> None:
        if result[SPEAKS]:
            warn_of_speakers(speaking([row.id for row in rows], texts))

    def _by_length(self, rows: Any, readings: Readings, options: Any) -> dict[str, dict[str, float]]:
        """Return by how much mean ratings rise per 100 words of a response."""
        words = np.array(lengths.words(readings.texts), dtype=float)
        cluster = self.clusters(rows)
        level = options.level if options.bootstrap else None
        by_repeat = [self.adds(values) for values in readings.verdicts.each()]
        slopes = {}
        for name in self.means:
            rates_models = bool(self.scores[name].better)
            if not rates_models or not self.is_points(name) or name not in by_repeat[0]:
                continue
            counts = np.stack([adds[name].counts for adds in by_repeat])
            values = np.stack([adds[name].values for adds in by_repeat])
            rating = ratio(np.where(counts, values, 0).sum(axis=0), counts.sum(axis=0))
            is_rated = counts.any(axis=0)
            by_word = slope(words[is_rated], rating[is_rated], cluster[is_rated], level)
            slopes[name] = {end: 100 * value for end, value in by_word.items()}
        return slopes

    def _counts(self, rows: Sequence[Any], total: Counts) -> dict[str, dict[str, float | None]]:
        """Return the sums that scores are made of, over the repeats, for all rows and each group."""
        counts: dict[str, dict[str, float | None]] = {}
        groups = [""]
        groups += self.groups(rows)
        for group in groups:
            of_group: dict[str, float | None] = {}
            for score, (whole, part) in self.counted.items():
                sums = total[name_of(score, group)][0].sum(axis=0)
                of_group[whole] = int(sums[WHOLE])
                of_group[part] = None
                if sums[WHOLE]:
                    of_group[part] = plain_number(float(sums[PART]))
            counts[group or ALL] = of_group
        return counts

    def spread(self, total: Counts) -> dict[str, tuple[float, float]]:
        """Return the least and the greatest value of each score over the repeats."""
        spread = {}
        for name, values in self.by_repeat(total).items():
            spread[name] = (float(values[0].min()), float(values[0].max()))
        return spread

    def _questions(self, rows: Sequence[Any], verdicts: Verdicts) -> list[dict[str, Any]]:
        """Return each row's part in the scores that are means, and the first repeat's verdict on it."""
        adds = self.adds(next(verdicts.each()))
        is_unread = self.unreadable(verdicts.values)[0].tolist()
        questions = []
        for number, row in enumerate(rows):
            question = self.shown(row)
            for name in self.means:
                if name in adds:
                    question[name] = adds[name].value_of(number)
            question[self.unread] = is_unread[number]
            question.update(verdicts.of(number))
            questions.append(question)
        return questions

    def signed(self, rows: Any, readings: Any, options: Any) -> dict[str, Any]:
        verdicts = readings.verdicts
        return {"judge": verdicts.key, "repeats": verdicts.repeats, **verdicts.drawn}


def speakers(rows: Iterable[Any], texts: Sequence[str]) -> list[Any]:
    """Return the ids of the rows whose responses seem to speak to a judge."""
    return list(speaking([row.id for row in rows], texts))


def warn_of_speakers(spoken: Mapping[Any, str]) -> None:
    """Warn of responses that seem to speak to a judge, and quote some."""
    quoted = []
    for name, words in list(spoken.items())[:QUOTED]:
        quoted.append(f"{short_repr(name, 40)} ({short_repr(words, 60)})")
    more = len(spoken) - len(quoted)
    if more:
        quoted.append(f"and {more:,} more")
    warnings.warn(
        f"{len(spoken):,} responses seem to speak to the judge, which may move its verdicts: read those to "
        f"{', '.join(quoted)}.",
        stacklevel=4,
    )


def name_of(score: str, group: str) -> str:
    """Return the name of a score of a group; "" is the group of all rows."""
    if not group:
        return score
    return f"{score}/{group}"


def numbers_of(verdicts: Sequence[Sequence[Verdict | None]], criterion: str) -> Floats:
    """Return what verdicts say of a criterion: [repeats, rows]."""
    repeats = []
    for of_repeat in verdicts:
        repeats.append([number_of(verdict, criterion) for verdict in of_repeat])
    return np.array(repeats)


def number_of(verdict: Verdict | None, criterion: str) -> float:
    """Return what a verdict says; a flag is true unless it is stated. NaN without a verdict."""
    if verdict is None:
        return float("nan")
    return float(verdict.numbers.get(criterion, 1.0))


def plain_number(value: float) -> float:
    """Return a whole number as an int."""
    if value.is_integer():
        return int(value)
    return value


def by_cluster(adds: Adds, is_in: Bools, cluster: Ints) -> Floats:
    """Return the sums of what rows of a group add, and of how many count, by cluster: [clusters, 2]."""
    clusters = int(cluster.max()) + 1
    counts = adds.counts & is_in
    values = np.where(counts, adds.values, 0)
    part = np.bincount(cluster, weights=values, minlength=clusters)
    whole = np.bincount(cluster, weights=counts, minlength=clusters)
    return np.stack([part, whole], axis=-1)


def mean_of(values: Floats) -> Adds:
    """Return what verdicts add to their own mean."""
    is_there = ~np.isnan(values)
    return Adds(np.nan_to_num(values), is_there)


def share_below(values: Floats, limit: float) -> Adds:
    """Return what verdicts add to the share of those below a limit."""
    return Adds(values < limit, ~np.isnan(values))
