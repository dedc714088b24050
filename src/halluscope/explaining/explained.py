"""Scores one LVLM's responses under a benchmark's protocols, and explains the differences.

Each score is computed once, as `halluscope score` computes it with the same options. A setting may take the rows of one
protocol, the labels of another, and the parser and counting of a third. Between two protocols one aspect after the
other is changed, and the score is computed after each change, so the parts sum to the difference.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, pairwise
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from halluscope import registry, scoring
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
from halluscope.registry import QUESTION, Benchmark
from halluscope.reporting.tables import Cell, Notes, Number, Report, Table, below, printed, scored
from halluscope.responses.files import Given
from halluscope.responses.match import plain_question
from halluscope.sanitize import one_line, quoted, short_repr
from halluscope.scoring import Ready

# Aspect -> the protocol that it follows; for the prompt, the name of a file of responses.
Setting = Mapping[str, Any]
T = TypeVar("T")

# Errors for which a protocol is left out: missing rows, missing labels, or a missing package.
IMPOSSIBLE = (ValueError, OSError, ImportError)

# To see whether the order matters. Rows stay before labels: a row without a label has no score.
OTHER_ORDER = (PROMPT, COUNTING, PARSER, ROWS, LABELS)

# Keys of a result that hold numbers other than scores, under the names of scores.
INTERVALS = ("interval", "spread", "difference")

SAME = "="  # printed where two protocols do the same

# How many characters are shown of a response, of a file's name, and of a prompt.
TEXT, NAME, PROMPTED = 40, 24, 80


class Explained:
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
        """Match the responses to the rows of each protocol."""
        self.benchmark, self.stated, self.protocols = benchmark, stated, chosen
        self.files: list[str] = []  # the names of the files of responses, one file per prompt
        self.not_computed: dict[str, str] = {}  # name of a protocol -> reason
        self._responses, self._dataset, self._options = responses, dataset, options
        self._matching, self._identity = matching, registry.identity(benchmark)
        self._made: dict[tuple[str, ...], Any] = {}
        self._keep_possible(self._match)

    def compute(self) -> None:
        self._keep_possible(lambda one: [self.result(self.setting(one, file)) for file in self.files])

    def setting(self, protocol: Protocol, file: str) -> Setting:
        return {PROMPT: file, **dict.fromkeys(CHOSEN, protocol)}

    def ready(self, setting: Setting) -> Ready:
        """Return the responses of a setting, matched to its rows and labels."""
        rows_of, labels_of = setting[ROWS].ways, setting[LABELS].ways

        def make() -> Ready:
            prepared, index = self._prepare(rows_of[ROWS]), self.files.index(setting[PROMPT])
            mine = prepared[index].matched.rows
            own, other = (self._labelled(mine, ways[LABELS]) for ways in (rows_of, labels_of))
            rows = [left_out and row for left_out, row in zip(own, other, strict=True)]
            if rows == mine:
                return prepared[index]
            options = self.options(labels_of[LABELS], rows_of[ROWS])
            return scoring.among(self.benchmark, prepared[index], rows, options, (index, len(prepared)))

        return self._once(("ready", *self._rows(setting)), make)

    def result(self, setting: Setting) -> Mapping[str, Any]:
        options = self.options(*(setting[aspect].ways[aspect] for aspect in CHOSEN))
        items = {self.benchmark.items: True} if self.benchmark.items else {}
        return self._once(
            ("result", *self._rows(setting), repr(sorted(options.items()))),
            lambda: scoring.compute(self.benchmark, self.ready(setting), options | items),
        )

    def discrepancy(self, one: Protocol) -> str | None:
        """Return why a protocol's own program prints other numbers, if it does with these options."""
        return one.discrepancy.why if one.discrepancy.holds(self.options(*one.ways.values())) else None

    def score(self, setting: Setting, name: str) -> float:
        value = self.result(setting).get(setting[COUNTING].called.get(name, name))
        return float(value) if isinstance(value, int | float) else math.nan

    def options(self, *ways: Way) -> dict[str, Any]:
        """Return what these ways set, and the user's options that apply in all of them."""
        others = {one.ways[LABELS].dataset for one in self.stated.each}
        gone = others.union(*(way.without for way in ways))
        options = {name: value for name, value in self._options.items() if name not in gone}
        for way in ways:
            options |= way.options
        return options

    def differences(self, score: str) -> Iterator[tuple[Setting, Setting, dict[str, Any]]]:
        """Yield why a score differs, for each pair of protocols that report it.

        If there are several files, each protocol of the first file is paired with each of the other files. `values` are
        the score at the first setting and after each change, `parts` what each change adds to it.
        """
        first_file, *others = self.files
        able = [one for one in self.protocols if one.reports(score)]
        for index, one in enumerate(able):
            for other in able[index + (not others) :]:
                for file in others or [first_file]:
                    two = self.setting(one, first_file), self.setting(other, file)
                    values, otherwise = (
                        [self.score(setting, score) for setting in path(*two, order)]
                        for order in (ASPECTS, OTHER_ORDER)
                    )
                    yield (
                        *two,
                        {
                            "score": score,
                            **dict(zip(("first", "second"), map(_named, two), strict=True)),
                            "values": values,
                            "difference": values[-1] - values[0],
                            "parts": parts(values),
                            "parts_in_other_order": parts(otherwise, OTHER_ORDER),
                            "same": [aspect for aspect in ASPECTS if _same(*two, aspect)],
                        },
                    )

    def found(self, compared: Sequence[str], examples: int, number: str | None = None) -> dict[str, Any]:
        """Return all of it as JSON has it; differences are exact, not rounded for display."""
        names = dict.fromkeys((*self.benchmark.scores, *self.stated.shown))
        protocols = []
        for one in self.protocols:
            settings = [self.setting(one, file) for file in self.files]
            results = [
                {
                    "responses": setting[PROMPT],
                    "scores": {name: self.score(setting, name) for name in names if one.reports(name)},
                    "signature": self.result(setting)["signature"],
                }
                for setting in settings
            ]
            ways = {aspect: way.said for aspect, way in one.ways.items()}
            about = {"name": one.name, "by": one.by, "prompt": one.prompt or None, **ways}
            protocols.append({**about, "discrepancy": self.discrepancy(one), "results": results})
        of_each = (one for score in compared for one in self.differences(score))
        whole = {
            "benchmark": self.benchmark.name,
            "responses": self.files,
            "protocols": protocols,
            "not_computed": self.not_computed,
            "prompts": {file: [*self._asked(file)] for file in self.files},
            "differences": [one | self.readings(first, second, examples) for first, second, one in of_each],
        }
        return whole if number is None else whole | {"number": [*self._places(number)]}

    def readings(self, first: Setting, second: Setting, most: int) -> dict[str, Any]:
        """Return what the parser of the second setting reads differently: how many responses of how many, and examples,
        each text once, of each kind of difference first; None if the parser is the same, or no table of rows exists.
        """
        items, ranks = self.benchmark.items, dict[str, tuple[int, Any]]()
        count, kinds = 0, Counter[str]()
        if not items or _same(first, second, PARSER):
            return {"read_otherwise": None, "of": None, "examples": []}
        before, after = path(first, second)[ASPECTS.index(PARSER) :][:2]
        matched, results = self.ready(before).matched, (self.result(before)[items], self.result(after)[items])
        for row, text, *both in zip(matched.rows, matched.texts, *results, strict=True):
            read = self.stated.read or both[0]
            if unlike := [name for name in read if both[0].get(name) != both[1].get(name)]:
                count += 1
                one, other = ({name: of.get(name) for name in unlike} for of in both)
                kind = repr((one, other))
                if (once := repr((text, kind))) not in ranks:
                    example = {
                        **self._identity.identity(vars(row)),
                        "text": text,
                        "first": one,
                        "second": other,
                    }
                    ranks[once] = kinds[kind], example
                    kinds[kind] += 1
        shown = [one for _, one in sorted(ranks.values(), key=itemgetter(0))[:most]]
        return {"read_otherwise": count, "of": len(matched.rows), "examples": shown}

    def _asked(self, file: str) -> Iterator[dict[str, Any]]:
        """Yield the prompts that a file's responses name, with counts; {question} is a row's own."""
        matched = self.ready(self.setting(self.protocols[0], file)).matched
        if len(matched.prompts) == 1 and not any(matched.asked):
            # Our harness tasks log only the name of a prompt.
            named = " ".join(self.benchmark.prompts.get(matched.prompts[0], "").split())
            yield {"prompt": named or None, "responses": len(matched.rows)}
            return
        prompts: Counter[str] = Counter()
        for row, asked in zip(matched.rows, matched.asked, strict=False):
            own, said = map(plain_question, (_question(row), asked))
            prompts[said.replace(own, QUESTION) if own else said] += 1
        for prompt, count in prompts.most_common():
            yield {"prompt": prompt or None, "responses": count}

    def _places(self, number: str) -> Iterator[dict[str, str]]:
        """Yield where a score is that prints as this number, in percent or not, and in its own program too."""
        value, digits = float(number), max(0, -int(Decimal(number).as_tuple().exponent))
        for one in self.protocols:
            unequal = self.discrepancy(one) and (one.discrepancy.scores or self.benchmark.scores)
            names = [
                score
                for score in self.benchmark.scores
                if one.reports(score) and score not in (unequal or ())
            ]
            for setting in (self.setting(one, file) for file in self.files):
                for name, score in _floats(
                    self.result(setting), {one.called.get(name, name) for name in names}
                ):
                    if any(abs(score * times - value) <= 0.5 * 10**-digits + 1e-9 for times in (1, 100)):
                        yield {**_named(setting), "score": name}

    def _once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def _rows(self, setting: Setting) -> tuple[str, ...]:
        """Return texts that are the same for settings with the same responses, rows and labels."""
        rows, labels = setting[ROWS].ways, setting[LABELS].ways
        return setting[PROMPT], repr((rows[ROWS], rows[LABELS])), repr(labels[LABELS])

    def _keep_possible(self, do: Callable[[Protocol], object]) -> None:
        possible: list[Protocol] = []
        failed: dict[str, Exception] = {}
        for one in self.protocols:
            try:
                do(one)
                possible.append(one)
            except IMPOSSIBLE as error:
                failed[one.name] = error
        self.protocols = possible
        self.not_computed |= {name: str(error) for name, error in failed.items()}
        if not possible:
            each = by_reason({name: str(error) for name, error in failed.items()})
            if len(each) == 1:
                raise next(iter(failed.values()))
            raise ValueError("\n".join(["No protocol can be computed.", *map(": ".join, each)]))

    def _match(self, one: Protocol) -> None:
        if lacking := [name for name in one.needs if not self._options.get(name)]:
            option = f"--{lacking[0].replace('_', '-')}"
            raise ValueError(f"{option} is not given, and {one.name} needs it.")
        first, *others = (ready.matched for ready in self._prepare(one.ways[ROWS]))
        self.files = [first.name, *(other.name for other in others)]
        for other in others:
            if sorted(map(self._key, other.rows)) != sorted(map(self._key, first.rows)):
                raise ValueError(
                    f"{other.name} and {first.name} answer different rows ({len(other.rows):,} and "
                    f"{len(first.rows):,}); expected one LVLM's responses to the same rows, a file per prompt."
                )
        for file in self.files:
            self.ready(self.setting(one, file))

    def _prepare(self, rows: Way) -> list[Ready]:
        given = self._responses, self._dataset, self.options(rows), self._matching
        return self._once(("prepared", repr(rows)), lambda: scoring.prepare(self.benchmark, *given))

    def _labelled(self, rows: Sequence[Any], labels: Way) -> Sequence[Any]:
        """Return the rows with other labels; None for a row that is not scored with them."""
        if not (labels.dataset or labels.without):
            return rows
        module, found = self.benchmark.module("rows"), []
        wanted = getattr(module, "wanted", lambda row: True)

        def make() -> Mapping[tuple[str, ...], Any]:
            source = self._options.get(labels.dataset, self._dataset)
            return {
                self._key(row): row for row in module.load(source, **taken(module.load, self.options(labels)))
            }

        table = self._once(("labels", repr(labels)), make)
        for row in rows:
            other = table.get(self._key(row))
            if other is None or (wanted(other) and _question(other) != _question(row)):
                known = ", ".join(
                    f"{name} {value}" for name, value in self._identity.identity(vars(row)).items()
                )
                raise ValueError(
                    f"{labels.dataset} has no row for {known}: {short_repr(_question(row))}; expected other labels of "
                    "the same rows."
                )
            found.append(other if wanted(other) else None)
        return found

    def _key(self, row: Any) -> tuple[str, ...]:
        return tuple(str(getattr(row, column, "")) for column in self._identity.key)


def by_reason(failed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return reasons, each once, after the names that it holds for."""
    return [(one.of, one.lines[0]) for one in below({name: [why] for name, why in failed.items()})]


def _question(row: Any) -> str:
    return " ".join(str(getattr(row, "question", "")).split())


def _named(setting: Setting) -> dict[str, str]:
    return {"responses": setting[PROMPT], "protocol": setting[COUNTING].name}


def _same(first: Setting, second: Setting, aspect: str) -> bool:
    one, other = first[aspect], second[aspect]
    if aspect == PROMPT or (aspect == COUNTING and one.called != other.called):
        return bool(one == other)
    aspects = (ROWS, LABELS) if aspect == ROWS else (aspect,)  # labels can leave rows out
    return all(one.ways[of] == other.ways[of] for of in aspects)


def _floats(
    result: Mapping[str, Any], names: Collection[str], within: str = ""
) -> Iterator[tuple[str, float]]:
    """Yield the scores of these names in a result and in its parts, such as samplings."""
    for name, value in result.items():
        if isinstance(value, float) and name in names:
            yield within + name, value
        elif isinstance(value, Mapping) and name not in INTERVALS:
            yield from _floats(value, names, f"{within}{name}/")


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


def report(
    found: Explained, whole: Mapping[str, Any], compared: Sequence[str], examples: int, number: str | None
) -> Report:
    """Return tables of scores and differences, and notes, from what `Explained.found` returns."""
    benchmark, stated, protocols, files = (
        found.benchmark,
        found.stated,
        whole["protocols"],
        whole["responses"],
    )
    several, first = len(files) > 1, protocols[0]

    blocks: list[Table | Notes] = []
    if number is not None:
        places = [
            f"  {_label(one['protocol'], one['responses'], several)}: {one['score']}"
            for one in whole["number"]
        ]
        none = f"{one_line(number, 20)} is not a score of these responses under these protocols."
        blocks.append(Notes([f"{one_line(number, 20)} is", *places] if places else [none]))
    for index, file in enumerate(files):
        rows: list[list[Cell]] = []
        for score in stated.shown:
            values = [one["results"][index]["scores"].get(score) for one in protocols]
            rows.append([score, *(scored(value, benchmark.is_points(score)) for value in values)])
        names = [one["name"] for one in protocols]
        blocks.append(Table("scores", ["score", *names], rows, of=one_line(file, NAME) if several else ""))
    lines, unlike = [], whole["differences"]
    if len(protocols) > 1 or several:
        for score in compared:
            own = [one for one in unlike if one["score"] == score]
            blocks += _differences(files, score, own, benchmark.is_points(score))
        lines = [
            "diff is the score less the one that it is against, and the sum of the columns to its right:",
            f"one thing after the other is changed, and the score is computed each time. {SAME} means that",
            "both do the same.",
        ]
        if any(map(_order_matters, unlike)):
            order = ", ".join(OTHER_ORDER[1:])
            lines.append(f"* The order matters: --json also has the parts in the order {order}.")
    elif len(stated.each) == 1:
        lines.append(f"{benchmark.title} has one protocol, so there is nothing to compare.")
    else:
        of = f"Only {first['name']} of {benchmark.title}'s protocols is computed"
        lines.append(f"{of}, so there is nothing to compare.")
    unequal = {one["name"]: why for one in protocols if (why := one["discrepancy"])}
    if len(protocols) > 1 or several or len(stated.each) > 1:
        for what, reasons in (("not equal", unequal), ("not computed", whole["not_computed"])):
            lines += (f"{what}: {of}, because {one_line(why, 300)}" for of, why in by_reason(reasons))
    ways = []
    for one in protocols:
        ways.append(f"{one['name']}: {one['by']}")
        own_ways = (aspect for aspect in CHOSEN if one is first or one[aspect] != first[aspect])
        ways += (f"  {aspect + ':':9} {one[aspect]}" for aspect in own_ways)
    signatures = {
        _label(one["name"], result["responses"], several): [f"signature: {result['signature']}"]
        for one in protocols
        for result in one["results"]
    }
    notes = [lines, [*_prompts(whole)], ways, [*_examples(found, examples)]]
    return [*blocks, *(Notes(lines) for lines in notes if lines), *below(signatures)]


def _label(protocol: str, file: str, several: bool) -> str:
    return f"{protocol}, {one_line(file, NAME)}" if several else protocol


def _differences(
    files: Sequence[str], score: str, differences: Sequence[Mapping[str, Any]], is_points: bool
) -> Iterator[Table | Notes]:
    if not differences:
        yield Notes([f"{score} is reported by fewer than two of the protocols."])
    elif all(math.isnan(value) for one in differences for value in one["values"]):
        yield Notes([f"{score} is undefined for these responses."])
        return

    def signed(first: float, second: float, said: str = "", mark: str = "") -> Number:
        """Return a difference of printed scores, so that printed parts sum to the printed whole."""
        if math.isnan(first) or math.isnan(second):
            return Number(None, mark=mark, said=said)
        less = float(printed(second, is_points)) - float(printed(first, is_points))
        form, value, times = ("+.3f", less, 1) if is_points else ("+.1f", less / 100, 100)
        return Number(value, form, times, mark=mark, said=said)

    first_file, *others = files
    aspects = ASPECTS if others else CHOSEN  # with one file, the prompt cannot differ
    for other in sorted(others) or [first_file]:
        rows: list[list[Cell]] = []
        for one in differences:
            if one["second"]["responses"] == other:
                steps = dict(zip(ASPECTS, pairwise(one["values"]), strict=True))
                mark = "*" if _order_matters(one) else ""
                parts = (signed(*steps[of], SAME if of in one["same"] else "") for of in aspects)
                names = (one[which]["protocol"] for which in ("second", "first"))
                rows.append([*names, signed(one["values"][0], one["values"][-1], mark=mark), *parts])
        of = f"{one_line(other, NAME)} against {one_line(first_file, NAME)}" if others else ""
        if rows:
            header = [score, "against", "diff", *aspects]
            yield Table(f"differences of {score}", header, rows, left=2, of=of)


def _order_matters(one: Mapping[str, Any]) -> bool:
    other = one["parts_in_other_order"]
    return any(abs(part - other[aspect]) >= 0.0005 for aspect, part in one["parts"].items())


def _prompts(whole: Mapping[str, Any]) -> Iterator[str]:
    asks = {one["name"]: one["prompt"] for one in whole["protocols"] if one["prompt"]}
    for file, prompts in whole["prompts"].items():
        said = {one["prompt"]: one["responses"] for one in prompts if one["prompt"]}
        if not said:
            yield f"prompts: {one_line(file, NAME)} does not say what was asked"
            continue
        each = [f"{quoted(prompt, PROMPTED)} ({count:,})" for prompt, count in said.items()]
        more = f", and other prompts ({sum([*said.values()][3:]):,})" * (len(said) > 3)
        same = [name for name, prompt in asks.items() if [prompt] == [*said]]
        yield f"prompts: {one_line(file, NAME)} answers {', '.join(each[:3])}{more}"
        yield f"  which is what {', '.join(same) or 'no protocol here'} {'asks' if same else 'is known to ask'}"
    for name, prompt in asks.items():
        yield f"  {name} asks {quoted(prompt, PROMPTED)}"
    if len(whole["responses"]) == 1:
        yield "  The effect of another prompt cannot be computed from one file: give --responses a file per prompt."


def _examples(found: Explained, most: int) -> Iterator[str]:
    """Say, for each two parsers once, what they read differently in the first file."""
    words, done = {"None": "unreadable", **found.stated.words}, list[set[str]]()
    for first, second in combinations([found.setting(one, found.files[0]) for one in found.protocols], 2):
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
