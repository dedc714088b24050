"""Scores one LVLM's responses under a benchmark's protocols, and explains the differences.

Each score is computed once, as `halluscope score` computes it with the same options. A setting may take the rows of one
protocol, the labels of another, and the parser and counting of a third. Between two protocols one aspect after the
other is changed, and the score is computed after each change, so the parts sum to the difference.
"""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, combinations, pairwise, zip_longest
from typing import Any, TypeVar

import numpy as np

from halluscope import registry, scoring
from halluscope.benchmark import QUESTION, Benchmark
from halluscope.errors import WithoutEffect
from halluscope.explaining.protocols import (
    ASPECTS,
    CHOSEN,
    COUNTING,
    LABELS,
    PARSER,
    PROMPT,
    ROWS,
    Protocol,
    Protocols,
    Way,
)
from halluscope.options import MatchingOptions, taken
from halluscope.reporting.tables import (
    NO_SCORES,
    Cell,
    Notes,
    Number,
    Report,
    Table,
    Values,
    below,
    flat,
    gap,
    printed,
    scored,
)
from halluscope.responses.column_facts import plain_question
from halluscope.responses.given import Given
from halluscope.responses.identity import single_spaced
from halluscope.responses.read_otherwise import WARNING as READ_OTHERWISE
from halluscope.runs.results import signatures
from halluscope.sanitize import one_line, quoted, short_repr
from halluscope.scoring import Ready

T = TypeVar("T")

# Aspect -> the protocol that it follows; for the prompt, the name of a file of responses.
Setting = Values

# To see whether the order matters. Rows stay before labels: a row without a label has no score.
OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)

# How many characters are shown of a response, of a file's name, and of a prompt.
TEXT, NAME, PROMPTED = 40, 24, 80


class Explanation:
    def __init__(
        self,
        benchmark: Benchmark,
        stated: Protocols,
        chosen: Sequence[Protocol],
        responses: Sequence[Given],
        dataset: Sequence[str],
        options: Values,
        matching: MatchingOptions = MatchingOptions(),
    ) -> None:
        """Match the responses to the rows of each protocol."""
        self.benchmark, self.stated, self.protocols = benchmark, stated, chosen
        self.files: list[str] = []  # the names of the files of responses, one file per prompt
        self.not_computed: dict[str, str] = {}  # name of a protocol -> reason
        self._without_effect: dict[str, list[str]] = {}  # key of a result -> why options were left out
        self._responses, self._dataset, self._options = responses, dataset, options
        self._matching, self._identity = matching, registry.first_dataset(benchmark)
        self._made: dict[str, Any] = {}
        self._keep_possible(self._match)

    def compute(self) -> None:
        self._keep_possible(lambda one: [self.result(setting) for setting in self.settings(one)])

    def settings(self, protocol: Protocol) -> list[Setting]:
        """Return how a protocol scores each file."""
        return [{PROMPT: file, **dict.fromkeys(CHOSEN, protocol)} for file in self.files]

    def ready(self, setting: Setting) -> Ready:
        """Return the responses of a setting, matched to its rows and labels."""
        rows, labels = setting[ROWS].ways, setting[LABELS].ways
        return self._once(self._relabelled, setting[PROMPT], rows[ROWS], rows[LABELS], labels[LABELS])

    def result(self, setting: Setting) -> Values:
        key = self._key_of(setting)
        if key not in self._made:
            self._made[key] = self._computed(setting, key)
        result: Values = self._made[key]
        return result

    def without_effect(self, protocol: Protocol) -> list[str]:
        """Return why options of a protocol cannot matter here: it is computed without these."""
        reasons: list[str] = []
        for setting in self.settings(protocol):
            reasons += self._without_effect.get(self._key_of(setting), ())
        return list(dict.fromkeys(reasons))

    def _key_of(self, setting: Setting) -> str:
        return f"{id(self.ready(setting))} {sorted(self._options_of(setting).items())}"

    def _options_of(self, setting: Setting) -> dict[str, Any]:
        options = self.options(*(setting[aspect].ways[aspect] for aspect in CHOSEN))
        if self.benchmark.items:
            options[self.benchmark.items] = True
        return options

    def _computed(self, setting: Setting, key: str) -> Values:
        """Score without the options of protocols that cannot matter beside the user's or each other's."""
        ready = self.ready(setting)
        options = self._options_of(setting)
        protocols = {setting[aspect].name for aspect in CHOSEN}
        of_protocols: set[str] = set()
        for aspect in CHOSEN:
            of_protocols.update(setting[aspect].ways[aspect].options)
        while True:
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", READ_OTHERWISE)  # what rules read differently is shown
                    return scoring.compute(self.benchmark, ready, options)
            except WithoutEffect as error:
                is_users = len(protocols) == 1 and error.name not in of_protocols
                if is_users or error.name not in options:
                    raise
                del options[error.name]
                self._without_effect.setdefault(key, []).append(error.reason)

    def score(self, setting: Setting, name: str) -> float:
        value = self.result(setting).get(setting[COUNTING].called.get(name, name))
        return float(value) if isinstance(value, int | float) else math.nan

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return what these ways set, and the user's options that apply in all of them."""
        gone = {one.ways[LABELS].dataset for one in self.stated.each}.union(*(way.without for way in ways))
        options = {name: value for name, value in self._options.items() if name not in gone}
        for way in ways:
            options |= way.options
        return options

    def differences(self, score: str, examples: int) -> Iterator[dict[str, Any]]:
        """Yield why a score differs, for each pair of protocols that report it.

        If there are several files, each protocol of the first file is paired with each of the other files. `values` are
        the score at the first setting and after each change, `parts` what each change adds to it.
        """
        able = [self.settings(one) for one in self.protocols if one.reports(score)]
        several = len(self.files) > 1
        for index, (first, *_) in enumerate(able):
            for second in chain.from_iterable(each[several:] for each in able[index + (not several) :]):
                values, otherwise = (
                    [self.score(setting, score) for setting in path(first, second, order)]
                    for order in (ASPECTS, OTHER_ORDER)
                )
                yield {
                    "score": score,
                    "first": {"responses": first[PROMPT], "protocol": first[COUNTING].name},
                    "second": {"responses": second[PROMPT], "protocol": second[COUNTING].name},
                    "values": values,
                    "difference": values[-1] - values[0],
                    "parts": parts(values),
                    "parts_in_other_order": parts(otherwise, OTHER_ORDER),
                    "same": [aspect for aspect in ASPECTS if _same(first, second, aspect)],
                    **self.readings(first, second, examples),
                }

    def as_json(self, by: Sequence[str], examples: int, number: str | None = None) -> dict[str, Any]:
        """Return all of it as JSON has it; differences are exact, not rounded for display."""
        protocols = [self._scored(one) for one in self.protocols]
        prompts = {setting[PROMPT]: self._prompts(setting) for setting in self.settings(self.protocols[0])}
        return {
            "benchmark": self.benchmark.name,
            "responses": self.files,
            "protocols": protocols,
            "not_computed": self.not_computed,
            "prompts": prompts,
            "differences": [one for score in by for one in self.differences(score, examples)],
            **({} if number is None else {"number": [*self._places(number, protocols)]}),
        }

    def _scored(self, protocol: Protocol) -> dict[str, Any]:
        names = dict.fromkeys((*self.benchmark.scores, *self.stated.shown))
        return {
            "name": protocol.name,
            "by": protocol.by,
            "prompt": protocol.prompt or None,
            **{aspect: way.said for aspect, way in protocol.ways.items()},
            "discrepancy": protocol.unequal(self.options(*protocol.ways.values())),
            "without_effect": self.without_effect(protocol),
            "results": [
                {
                    "responses": setting[PROMPT],
                    "scores": {name: self.score(setting, name) for name in names if protocol.reports(name)},
                    "signature": self.result(setting)["signature"],
                }
                for setting in self.settings(protocol)
            ],
        }

    def readings(self, first: Setting, second: Setting, most: int) -> dict[str, Any]:
        """Return what the parser of the second setting reads differently: how many responses of how many, and examples,
        each text once, of each kind of difference first; None if the parser is the same, or no table of rows exists.
        """
        items = self.benchmark.items
        if not items or _same(first, second, PARSER):
            return {"read_otherwise": None, "of": None, "examples": []}
        before, after = path(first, second)[ASPECTS.index(PARSER) :][:2]
        matched, results = self.ready(before).matched, (self.result(before)[items], self.result(after)[items])
        count, kinds = 0, defaultdict[str, dict[str, Any]](dict)
        for row, text, *both in zip(matched.rows, matched.texts, *results, strict=True):
            columns = self.stated.read or both[0]
            unlike = [name for name in columns if both[0].get(name) != both[1].get(name)]
            if unlike:
                count += 1
                one, other = ({name: of.get(name) for name in unlike} for of in both)
                example = {**self._identity.identity(vars(row)), "text": text, "first": one, "second": other}
                kinds[repr((one, other))].setdefault(text, example)
        turns = zip_longest(*(of.values() for of in kinds.values()))
        examples = [one for turn in turns for one in turn if one is not None]
        return {"read_otherwise": count, "of": len(matched.rows), "examples": examples[:most]}

    def _prompts(self, setting: Setting) -> list[dict[str, Any]]:
        """Return the prompts that a file's responses name, with counts; {question} is a row's own."""
        matched = self.ready(setting).matched
        if len(matched.prompts) == 1 and not any(matched.asked):
            # Our harness tasks log only the name of a prompt.
            named = single_spaced(self.benchmark.prompts.get(matched.prompts[0], ""))
            return [{"prompt": named or None, "responses": len(matched.rows)}]
        prompts: Counter[str] = Counter()
        for row, asked in zip(matched.rows, matched.asked, strict=False):
            own, said = map(plain_question, (_question(row), asked))
            prompts[said.replace(own, QUESTION) if own else said] += 1
        return [{"prompt": prompt or None, "responses": count} for prompt, count in prompts.most_common()]

    def _places(self, number: str, protocols: Sequence[Values]) -> Iterator[dict[str, str]]:
        """Yield where a score is that prints as this number, in percent or not, and in its own program too."""
        value, digits = float(number), max(0, -int(Decimal(number).as_tuple().exponent))
        for one, about in zip(self.protocols, protocols, strict=True):
            other: Collection[str] = ()
            if one.discrepancy is not None and about["discrepancy"]:
                other = one.discrepancy.scores or self.benchmark.scores
            names = {
                one.called.get(score, score)
                for score in self.benchmark.scores
                if one.reports(score) and score not in other
            }
            for setting in self.settings(one):
                for key, score in flat(self.result(setting)):
                    *above, last = key.split("/")
                    whole = key.partition("/")[0]
                    is_named = not names.isdisjoint((key, whole, last))
                    is_score = isinstance(score, float) and is_named and NO_SCORES.isdisjoint(above)
                    if is_score and any(
                        abs(score * times - value) <= 0.5 * 10**-digits + 1e-9 for times in (1, 100)
                    ):
                        yield {"responses": setting[PROMPT], "protocol": one.name, "score": key}

    def _once(self, make: Callable[..., T], *arguments: Any) -> T:
        """Return what a function makes of this, made once."""
        key = repr((make.__name__, arguments))
        if key not in self._made:
            self._made[key] = make(*arguments)
        made: T = self._made[key]
        return made

    def _keep_possible(self, do: Callable[[Protocol], object]) -> None:
        failed: dict[str, Exception] = {}
        for one in self.protocols:
            try:
                do(one)
            except (ValueError, OSError, ImportError) as error:  # no rows, no labels, or no package
                failed[one.name] = error
        self.protocols = [one for one in self.protocols if one.name not in failed]
        reasons = {name: str(error) for name, error in failed.items()}
        self.not_computed |= reasons
        if not self.protocols:
            each = by_reason(reasons)
            if len(each) == 1:
                raise next(iter(failed.values()))
            raise ValueError("\n".join(["No protocol can be computed.", *map(": ".join, each)]))

    def _match(self, one: Protocol) -> None:
        for name in one.needs:
            if not self._options.get(name):
                raise ValueError(f"--{name.replace('_', '-')} is not given, and {one.name} needs it.")
        first, *others = (ready.matched for ready in self._once(self._prepare, one.ways[ROWS]))
        self.files = [first.name, *(other.name for other in others)]
        for other in others:
            if sorted(map(self._key, other.rows)) != sorted(map(self._key, first.rows)):
                raise ValueError(
                    f"{other.name} and {first.name} answer different rows ({len(other.rows):,} and "
                    f"{len(first.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )
        for setting in self.settings(one):
            self.ready(setting)

    def _prepare(self, rows: Way) -> list[Ready]:
        options = self.options(rows)
        return scoring.prepare(self.benchmark, self._responses, self._dataset, options, self._matching)

    def _relabelled(self, file: str, rows: Way, own: Way, labels: Way) -> Ready:
        """Return a file's responses to the rows that are scored with both labels, their own and others."""
        prepared, index = self._once(self._prepare, rows), self.files.index(file)
        ready = prepared[index]
        first, second = (self._labelled(ready.matched.rows, way) for way in (own, labels))
        relabelled = [one and other for one, other in zip(first, second, strict=True)]
        if relabelled == ready.matched.rows:
            return ready
        options = self.options(labels, rows)
        return scoring.among(self.benchmark, ready, relabelled, options, (index, len(prepared)))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """Return the rows with other labels; None for a row that is not scored with them."""
        if not (labels.dataset or labels.without):
            return rows
        table, found = self._once(self._table, labels), []
        wanted = getattr(self.benchmark.module("rows"), "wanted", lambda row: True)
        for row in rows:
            other = table.get(self._key(row))
            if other is None or (wanted(other) and _question(other) != _question(row)):
                identity = self._identity.identity(vars(row)).items()
                raise ValueError(
                    f"{labels.dataset} has no row for {', '.join(f'{name} {value}' for name, value in identity)}: "
                    f"{short_repr(_question(row))}; expected other labels of the same rows."
                )
            found.append(other if wanted(other) else None)
        return found

    def _table(self, labels: Way) -> dict[tuple[str, ...], Any]:
        load = self.benchmark.module("rows").load
        source = self._options.get(labels.dataset, self._dataset)
        return {self._key(row): row for row in load(source, **taken(load, self.options(labels)))}

    def _key(self, row: Any) -> tuple[str, ...]:
        return tuple(str(getattr(row, column, "")) for column in self._identity.key)


def by_reason(failed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return reasons, each once, after the names that it holds for."""
    return [(one.of, one.lines[0]) for one in below({name: [why] for name, why in failed.items()})]


def _question(row: Any) -> str:
    return single_spaced(getattr(row, "question", ""))


def _same(first: Setting, second: Setting, aspect: str) -> bool:
    one, other = first[aspect], second[aspect]
    if aspect == PROMPT:
        return bool(one == other)
    aspects = (ROWS, LABELS) if aspect == ROWS else (aspect,)  # labels can leave rows out
    same_names = aspect != COUNTING or one.called == other.called
    return same_names and all(one.ways[of] == other.ways[of] for of in aspects)


def path(first: Setting, second: Setting, order: Sequence[str] = ASPECTS) -> list[Setting]:
    """Return the settings from one to another, each with one more aspect of the second.

    >>> path({"rows": "a", "parser": "a"}, {"rows": "b", "parser": "b"}, ("rows", "parser"))[1:]
    [{'rows': 'b', 'parser': 'a'}, {'rows': 'b', 'parser': 'b'}]
    """
    settings = [first]
    for aspect in order:
        settings.append({**settings[-1], aspect: second[aspect]})
    return settings


def parts(values: Sequence[float], order: Sequence[str] = ASPECTS) -> dict[str, float]:
    """Return what each change adds to the score along a `path`; NaN before and after an undefined score.

    >>> parts([0.25, 1.0, 0.5], ("rows", "parser"))
    {'rows': 0.75, 'parser': -0.5}
    """
    return dict(zip(order, np.diff(values).tolist(), strict=True))


# What is printed

LEGEND = """\
diff is the score less the one that it is against, and the sum of the columns to its right:
one thing after the other is changed, and the score is computed each time. = means that
both do the same."""


def report(
    found: Explanation, whole: Values, compared: Sequence[str], examples: int, number: str | None
) -> Report:
    """Return tables of scores and differences, and notes, from what `Explanation.as_json` returns."""
    benchmark, stated, protocols, files = found.benchmark, found.stated, whole["protocols"], found.files
    several, names = len(files) > 1, [one["name"] for one in protocols]

    def label(protocol: str, file: str) -> str:
        return f"{protocol}, {one_line(file, NAME)}" if several else protocol

    blocks: list[Table | Notes] = []
    if number is not None:
        places = [f"  {label(one['protocol'], one['responses'])}: {one['score']}" for one in whole["number"]]
        none = " not a score of these responses under these protocols."
        blocks.append(Notes([f"{number} is{'' if places else none}", *places]))
    for index, file in enumerate(files):
        scores = [one["results"][index]["scores"] for one in protocols]
        rows: list[list[Cell]] = [
            [name, *(scored(of.get(name), benchmark.is_points(name)) for of in scores)]
            for name in stated.shown
        ]
        blocks.append(Table("scores", ["score", *names], rows, of=one_line(file, NAME) if several else ""))
    lines, unlike = [], whole["differences"]
    if len(protocols) > 1 or several:
        for score in compared:
            own = [one for one in unlike if one["score"] == score]
            blocks += _differences(files, score, own, benchmark.is_points(score))
        moving = [one for one in unlike if _moves(one, benchmark.is_points(one["score"]))]
        lines = LEGEND.splitlines() if moving else []
        if any(map(_order_matters, moving)):
            order = ", ".join(OTHER_ORDER[1:])
            lines.append(f"* The order matters: --json also has the parts in the order {order}.")
    else:
        which = "has one protocol" if len(stated.each) == 1 else f"is scored by one protocol here, {names[0]}"
        lines.append(f"{benchmark.title} {which}, so there is nothing to compare.")
    unequal = {one["name"]: one["discrepancy"] for one in protocols if one["discrepancy"]}
    idle = {one["name"]: "; ".join(one["without_effect"]) for one in protocols if one["without_effect"]}
    unlike_others = (("without effect", idle), ("not equal", unequal), ("not computed", found.not_computed))
    for what, reasons in unlike_others:
        lines += (f"{what}: {of}, because {one_line(why, 300)}" for of, why in by_reason(reasons))
    ways, first = [], protocols[0]
    for one in protocols:
        own = [aspect for aspect in CHOSEN if one is first or one[aspect] != first[aspect]]
        ways += [
            f"{one['name']}: {one['by']}",
            *(f"  {aspect + ':':9} {one[aspect]}" for aspect in own),
        ]
    signed = [(label(one["name"], of["responses"]), of) for one in protocols for of in one["results"]]
    notes = [lines, [*_asked(whole)], ways, [*_examples(found, examples)]]
    return [*blocks, *(Notes(lines) for lines in notes if lines), *signatures(signed)]


def _differences(
    files: Sequence[str], score: str, differences: Sequence[Values], is_points: bool
) -> Iterator[Table | Notes]:
    if not differences:
        yield Notes([f"{score} is reported by fewer than two of the protocols."])
    elif np.isnan([one["values"] for one in differences]).all():
        yield Notes([f"{score} is undefined for these responses."])
        return

    def signed(before: str, after: str, text: str = "", mark: str = "") -> Number:
        """Return a difference of printed scores, so that printed parts sum to the printed whole."""
        one, other = (math.nan if score == "-" else float(score) for score in (before, after))
        return gap((other - one) / (1 if is_points else 100), is_points)._replace(mark=mark, text=text)

    first_file, *others = files
    aspects = ASPECTS if others else CHOSEN  # with one file, the prompt cannot differ
    for other in sorted(others) or [first_file]:
        rows: list[list[Cell]] = []
        own = [one for one in differences if one["second"]["responses"] == other]
        for one in own:
            if _moves(one, is_points):
                values = [printed(value, is_points) for value in one["values"]]
                steps = dict(zip(ASPECTS, pairwise(values), strict=True))
                rows.append(
                    [
                        one["second"]["protocol"],
                        one["first"]["protocol"],
                        signed(values[0], values[-1], mark="*" * _order_matters(one)),
                        *(signed(*steps[of], "=" * (of in one["same"])) for of in aspects),
                    ]
                )
        of = f"{one_line(other, NAME)} against {one_line(first_file, NAME)}" if others else ""
        if rows:
            header = [score, "against", "diff", *aspects]
            yield Table(f"differences of {score}", header, rows, left=2, of=of)
        if alike := len(own) - len(rows):
            yield Notes(
                [f"{score} is the same, as printed, in {alike:,} of {len(own):,} pairs of protocols."], of
            )


def _moves(one: Values, is_points: bool) -> bool:
    return len({printed(value, is_points) for value in one["values"]}) > 1


def _order_matters(one: Values) -> bool:
    other = one["parts_in_other_order"]
    return any(abs(part - other[aspect]) >= 0.0005 for aspect, part in one["parts"].items())


def _asked(whole: Values) -> Iterator[str]:
    asks = {one["name"]: one["prompt"] for one in whole["protocols"] if one["prompt"]}
    for file, prompts in whole["prompts"].items():
        said = {one["prompt"]: one["responses"] for one in prompts if one["prompt"]}
        if not said:
            yield f"prompts: {one_line(file, NAME)} does not say what was asked"
            continue
        each = [f"{quoted(prompt, PROMPTED)} ({count:,})" for prompt, count in said.items()]
        more = f", and other prompts ({sum([*said.values()][3:]):,})" * (len(said) > 3)
        same = [name for name, prompt in asks.items() if [single_spaced(prompt)] == [*said]]
        yield f"prompts: {one_line(file, NAME)} answers {', '.join(each[:3])}{more}"
        asks_it = "asks" if len(same) == 1 else "ask" if same else "is known to ask"
        yield f"  which is what {', '.join(same) or 'no protocol here'} {asks_it}"
    for name, prompt in asks.items():
        yield f"  {name} asks {quoted(prompt, PROMPTED)}"
    if len(whole["responses"]) == 1:
        yield "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."


def _examples(found: Explanation, most: int) -> Iterator[str]:
    """Say, for each two parsers once, what they read differently in the first file."""
    words, done = {"None": "unreadable", **found.stated.words}, list[set[str]]()
    for first, second in combinations([found.settings(one)[0] for one in found.protocols], 2):
        two = {repr(setting[PARSER].ways[PARSER]) for setting in (first, second)}
        read = found.readings(first, second, most)
        if read["of"] is None or two in done:
            continue
        done.append(two)
        such = ", such as" if read["examples"] else ""
        names = f"{first[PARSER].name} and {second[PARSER].name}"
        yield f"{names} read {read['read_otherwise']:,} of {read['of']:,} responses differently{such}"
        for one in read["examples"]:
            id = [str(value) for name, value in one.items() if name not in ("text", "first", "second")]
            one_read, other_read = (
                ", ".join(words.get(str(value)) or short_repr(value, 40) for value in one[which].values())
                for which in ("first", "second")
            )
            yield f"  {one_line(' '.join(id), NAME)}: {quoted(one['text'], TEXT)} is {one_read}, or {other_read}"
