"""Scores responses that a judge or a rule graded: prompts, verdicts, counts per image, ratios, intervals."""

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from halluscope import options as options_of
from halluscope.files.writing import json_text
from halluscope.graded.rows import Rows, Values
from halluscope.judging import guard
from halluscope.judging.given_verdicts import GivenVerdicts, read_given
from halluscope.judging.judge import MAX_TOKENS, Schema
from halluscope.judging.options import ASKING, VerdictOptions
from halluscope.judging.prompts import PromptSpec, Refusal, fill, json_object, json_of, key_of
from halluscope.judging.verdicts import NOBODY, Criterion, Judged, from_given
from halluscope.judging.verdicts import read_given as read_verdicts
from halluscope.options import check_effect, usual_values
from halluscope.responses import lengths
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import REMOVED, choice, spoken
from halluscope.sanitize import encodable, short_repr
from halluscope.signature import data_of, form_of, signature
from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.intervals import AMOUNT, Range
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, numbers, tally_groups
from halluscope.validation import flags, paired, warn_of_a_part, word
from halluscope.vocabularies import read_toml

AUTHORS = "authors"
"""Whose prompt other people's texts reply to, unless the user says otherwise."""

RESPONSE = "response"
"""The field of a prompt that holds the response; the others hold columns."""

KINDS = {"bool": bool, "int": int, "float": float}
TYPES: Mapping[str, type] = {"integer": int, "boolean": bool, "string": str, "array": list}
"""What a data file calls a criterion's kind, and a JSON schema a type -> Python's type."""

Parts = Mapping[str, tuple[Floats | Bools, Bools]]
"""Score -> what each row adds to it, and whether the row counts: [rows] each."""


# Prompts

NO_OBJECT = Refusal("a reply must be one JSON object and nothing else")
NOT_AS_ASKED = Refusal("a reply must state its verdict as the prompt asks, once")


class Verdict(NamedTuple):
    """What a reply says of a response: a number per criterion, and texts that explain them."""

    numbers: Mapping[str, float]
    notes: Mapping[str, Any] = {}


Reader = Callable[[str, str], Verdict | None]
"""Takes a reply and the response; returns None for a reply that cannot be read."""


class Prompt(NamedTuple):
    """A prompt of a data file, and what a reply to it is.

    Texts are put into it each as a JSON string, so that none can end its quotes; the authors' own prompts hold them as
    they are. A reply in JSON is read only if it is the requested object. That it is no part of the response is seen to
    by `halluscope.judging.guard`.
    """

    key: str  # its name in a signature, with a number that goes up when the reader changes
    text: str
    fields: Mapping[str, str]  # placeholder -> the column that fills it, or `RESPONSE`
    reply: Mapping[str, Any] = {}  # part -> its JSON schema; {} for a reply in words
    reads: Mapping[str, str] = {}  # criterion -> the part of the reply that states it
    notes: Mapping[str, str] = {}  # note -> the part of the reply that holds it
    blank: bool = True  # whether a text in the reply may be blank
    verbatim: bool = False  # sent as the authors' script sends it: texts as they are, and no schema
    reader: Reader | None = None  # reads replies in its own way

    def write(self, text: str) -> str:
        """Return a text as it stands in the prompt."""
        return encodable(text) if self.verbatim else json_text(text)

    @property
    def schema(self) -> Schema | None:
        """The JSON schema that a judge is asked for; None for a reply in words, and for the authors' own prompts."""
        return self.schema_with("")

    def schema_with(self, code: str) -> Schema | None:
        """Return the schema of a reply that carries a code, if there is one. It does not say which code it is."""
        if self.verbatim or not self.reply:
            return None
        parts = dict(self.reply)
        if code:
            parts = {guard.CODE: {"type": "string"}, **parts}
        schema: Schema = json.loads(json.dumps(json_of(**parts)))  # lists in place of tuples
        return schema

    @property
    def words(self) -> list[str]:
        """The words by which a reply in JSON states a verdict."""
        words: list[str] = []
        for part in self.reads.values():
            words.append(part)
            for value in self.reply[part].get("enum", ()):
                if isinstance(value, str):
                    words.append(value)
        return words

    def refusal(self, reply: str) -> Refusal | None:
        """Return why a reply in JSON is not the requested object; None if it is."""
        parts = json_object(reply)
        if parts is None:
            return NO_OBJECT
        if parts.keys() != self.reply.keys():
            wanted, said = ", ".join(self.reply), ", ".join(parts)
            return Refusal(
                f"a reply must have the parts {wanted} and no others", f"it has {short_repr(said, 80)}"
            )
        for name, kind in self.reply.items():
            if not self._fits(parts[name], kind):
                return Refusal(f"{name} must be as the prompt asks", f"it is {short_repr(parts[name], 80)}")
        return None

    def read(self, reply: str, response: str = "") -> Verdict | None:
        """Return the verdict of a reply in JSON; None unless it is the requested object."""
        if self.refusal(reply) is not None:
            return None
        parts = json_object(reply) or {}
        numbers = {}
        for name, part in self.reads.items():
            value = parts[part]
            if isinstance(value, str):  # of two words, the first is 1 and the second 0
                value = value == self.reply[part]["enum"][0]
            numbers[name] = float(value)
        return Verdict(numbers, {name: _encodable(parts[part]) for name, part in self.notes.items()})

    def _fits(self, value: Any, kind: Schema) -> bool:
        if type(value) is not TYPES[kind["type"]] or value not in kind.get("enum", (value,)):
            return False
        if isinstance(value, list):
            return all(self._fits(one, kind["items"]) for one in value)
        return self.blank or bool(str(value).strip())


def _encodable(part: Any) -> Any:
    return [*map(encodable, part)] if isinstance(part, list) else encodable(part)


# The engine


@dataclass
class Case:
    """What is scored."""

    rows: list[Any]
    texts: Sequence[str]  # the responses, without thoughts
    chosen: Values  # the options that the data file declares
    options: Values  # those of the judge, and given verdicts
    verdicts: Any = None  # `Judged`, once it is
    written: Values = field(default_factory=dict)  # the options that the user wrote


class Graded(Rows):
    """A metric by verdicts: what a data file declares, and the methods in which a subclass differs from it."""

    rules: ClassVar[Sequence[str]] = (NOBODY,)
    over: ClassVar[str] = "images"  # what intervals leave out
    # the options that say what a language model is asked, or how its replies are read
    reply_options: ClassVar[Sequence[str]] = ("prompts", "reading", "claims")
    # whose prompt, and how replies are read -> a reader of replies in words
    readers: ClassVar[Mapping[tuple[str, str], Reader]] = {}

    def __init__(self, module: str) -> None:
        super().__init__(module)
        verdict = self.data.get("verdict", {})
        self.choices = {name: one["choices"] for name, one in self.data.get("options", {}).items()}
        self.option: str = verdict.get("option", "")  # that names a file of given verdicts
        self.given: Mapping[str, str] = verdict.get("given", {})  # given verdicts -> what they are
        self.unread: str = verdict.get("unread", "unreadable")
        self.criteria = [
            Criterion(name, KINDS[one["kind"]], one.get("most", 1))
            for name, one in verdict.get("criteria", {}).items()
        ]
        types: dict[str, Any] = dict.fromkeys(self.given, Sequence[Any] | None)
        self.compute = self._named(self._compute, types | dict.fromkeys(self.choices, str | None))
        self.compute.__doc__ = self._doc()
        self.inputs = self._named(self._inputs, types if self.option else {})

    # In what benchmarks differ

    def defaults(self, chosen: Values) -> Values:
        """Return the choices, with the first one of an option that the user left open."""
        for name, value in chosen.items():
            if value is not None:
                word(name, value, self.choices[name])
        if chosen.get("reading") == "official":
            if chosen["prompts"] == "ours":
                raise ValueError(
                    "reading is 'official', which reads only replies to the authors' prompts, but prompts is 'ours'; "
                    "expected prompts='authors', or reading='strict'."
                )
            chosen = {**chosen, "prompts": "authors"}
        return {name: self.choices[name][0] if value is None else value for name, value in chosen.items()}

    def select(self, case: Case) -> Case:
        """Return the rows that count, with the responses and given verdicts on them."""
        return case

    def prompt(self, *, prompts: str = "ours", reading: str = "strict", **options: Any) -> Prompt:
        """Return the prompt that the options name, with the reader of its replies."""
        table = self.data["prompts"][prompts]
        key = table["key"] if isinstance(table["key"], str) else table["key"][reading]
        reader = self.readers.get((prompts, reading))
        return Prompt(**{**table, "key": key_of(key, table["text"]), "reader": reader})

    def asked(self, prompt: Prompt, row: Any, response: str) -> PromptSpec[Any]:
        """Return the prompt about a response to a row."""
        fields = {
            name: prompt.write(response) if column == RESPONSE else self.written(prompt, row, column)
            for name, column in prompt.fields.items()
        }
        template = prompt.text
        code = ""
        if prompt.reply and guard.may_be_a_reply(response, prompt.words):
            code = guard.code_for(response)
            template = guard.with_code(template, code)

        def read(reply: str) -> Verdict | None:
            bare = guard.without_code(reply, code) if code else reply
            reader = prompt.reader or prompt.read
            return None if bare is None else reader(bare, response)

        def refusal(reply: str) -> Refusal | None:
            bare = guard.without_code(reply, code) if code else reply
            return guard.NO_CODE if bare is None else self.refusal(prompt, bare, response)

        text = fill(template, str, **fields)
        return PromptSpec(text, read, prompt.schema_with(code), refusal)

    def refusal(self, prompt: Prompt, reply: str, response: str) -> Refusal | None:
        """Return by which rule a reply without its code cannot be read; None if it can."""
        return prompt.refusal(reply) if prompt.reply else NOT_AS_ASKED

    def written(self, prompt: Prompt, row: Any, column: str) -> str:
        """Return a column as it stands in a prompt."""
        return prompt.write(self.columns[column].shown(getattr(row, column)))

    def read_text(self, prompt: Prompt, reply: str, response: str) -> Verdict | None:
        """Return the verdict of a judge's text that the user gives; nothing guards against copies there."""
        reader = prompt.reader or prompt.read
        return reader(reply, "")

    def check(self, rows: Sequence[Any]) -> None:
        """Check that a judge can be asked about the rows, before any is asked."""

    def warn(self, verdicts: Sequence[Sequence[Verdict | None]]) -> None:
        """Warn of what a judge's verdicts show."""

    def by_rule(self, rule: str, rows: Sequence[Any], texts: Sequence[str]) -> Judged:
        """Return the verdicts of a rule that asks no model; by default none."""
        return from_given("", [None] * len(rows), self.criteria, len(rows))._replace(key=rule)

    def parts(self, values: Mapping[str, Floats]) -> Parts:
        """Return what each row adds to each score; by default the mean, or the share below a number, of a criterion."""
        return {
            name: (
                values[one["of"]] < one["below"] if "below" in one else np.nan_to_num(values[one["of"]]),
                ~np.isnan(values[one["of"]]),
            )
            for name, one in self.data["counting"].items()
        }

    def tally(self, case: Case, values: Values, cluster: Ints, groups: Mapping[str, Bools]) -> Tally:
        return tally_groups(self.parts(values), cluster, groups)

    def ranges(self) -> dict[str, Range]:
        """Return the ranges of the scores that are not shares."""
        ranges = {MEAN_WORDS: AMOUNT}
        criteria = {criterion.name: criterion for criterion in self.criteria}
        for score, counting in self.data.get("counting", {}).items():
            criterion = criteria.get(counting["of"])
            if criterion is not None and "below" not in counting:
                ranges[score] = Range(0.0, float(criterion.most))
        return ranges

    def unreadable(self, values: Values) -> Bools:
        """Return which responses have no readable verdict: [repeats, rows]."""
        every = np.array([values[one.name] for one in self.criteria])
        return np.asarray(np.isnan(every).any(axis=0))

    def about(self, row: Any) -> Values:
        return {name: getattr(row, name) for name in ("id", *self.dataset.get("shown", ()))}

    def digest(self, case: Case) -> Values:
        """Return `verdicts`, a digest that tells a language model's verdicts from others; {} if no model judged."""
        digest: Values = case.verdicts.digest([row.id for row in case.rows])
        return digest

    def facts(self, case: Case, scores: Values) -> Values:
        """Return further keys of the result."""
        return {self.unread: float(self.unreadable(case.verdicts.values).mean())}

    def signed(self, case: Case) -> Values:
        return {"judge": case.verdicts.key, "repeats": case.verdicts.repeats, **case.verdicts.drawn}

    def each(self, case: Case) -> list[Values]:
        """Return what the table of questions says of each response: its part in the means, and its first verdict."""
        unread = self.unreadable(case.verdicts.values)[0].tolist()
        each = enumerate(zip(self.added(case), unread, strict=True))
        return [{**adds, self.unread: is_unread, **case.verdicts.of(row)} for row, (adds, is_unread) in each]

    def added(self, case: Case) -> list[dict[str, float | None]]:
        """Return what each response adds to the scores that are means; None if it does not count."""
        alone = self.tally(case, next(case.verdicts.each()), np.arange(len(case.rows)), {})
        return tallies.cluster_values(
            {name: of for name, of in alone.items() if name in self.data["benchmark"]["means"]}
        )

    def grading(self, case: Case, given: bool) -> VerdictOptions:
        """Return who judges, once it is known that they can; nobody does if verdicts are given."""
        options = {name: value for name, value in case.options.items() if name not in self.given}
        judge = self.data["judge"]
        usual = {"judge": judge["default"], "max_tokens": judge.get("max_tokens", MAX_TOKENS)}
        grading = options_of.build(VerdictOptions, options, self.name, **usual)
        if given:
            why = f"the {self.option or 'verdicts'} are given, so nothing is judged"
            check_effect(case.written, ASKING, why, usual_values(VerdictOptions) | usual)
            if not grading.named([NOBODY, *self.rules]):
                check_effect(case.written, ["judge"], why, usual)
        elif grading.named(self.rules):
            why = f"{grading.judge!r} gives the same verdicts each time and asks no model"
            check_effect(case.written, ASKING, why, usual_values(VerdictOptions) | usual)
        elif grading.named(("",)):
            raise ValueError(
                f"No judge is named; expected 'openai:MODEL[@URL]' or a local model, or {self.option} of your own. "
                f"With {' or '.join(map(repr, self.rules))} no model is asked."
            )
        else:
            grading.prepare(self.rules)
            self.check(case.rows)
        return grading

    def judged(self, case: Case) -> Judged:
        """Return the verdicts: given ones, a rule's, or a language model's."""
        rows, texts, given = case.rows, case.texts, case.options[self.option]
        grading = self.grading(case, given is not None)
        if given is not None:
            if grading.judge != NOBODY:
                why = f"the {self.option} are given, so nothing is judged"
                check_effect(case.written, ["judge"], why, {"judge": self.data["judge"]["default"]})
            return self.by_user(case, given)
        if grading.named(self.rules):
            check_effect(
                case.written, self.reply_options, f"{grading.judge!r} asks no model, so no reply is read"
            )
            return self.by_rule(grading.judge, rows, texts)
        prompt, verdict = self.prompt(**case.chosen), self.data["verdict"]
        asks = [self.asked(prompt, row, text) for row, text in zip(rows, texts, strict=True)]
        verdicts = grading.verdicts(asks)
        self.warn(verdicts)
        named = [*self.criteria, *(Criterion(name, bool) for name in verdict.get("flags", ()))]
        values = {
            name: np.array(
                [[one.numbers.get(name, 1.0) if one else np.nan for one in repeat] for repeat in verdicts]
            )
            for name, *_ in named
        }
        notes = [
            {name: one.notes[name] if one else of.get("empty") for name, of in verdict["notes"].items()}
            for one in verdicts[0]
        ]
        return Judged(named, values, [grading.chat.key, prompt.key], grading.drawn, notes)

    def by_user(self, case: Case, given: Any) -> Judged:
        """Return the verdicts that the user gives: numbers, or texts, which are read as replies to a prompt."""
        verdicts = GivenVerdicts(
            self.option,
            given,
            self.criteria,
            case.texts,
            reader=lambda: self._text_reader(case),
            reply_options={name: case.written.get(name) for name in self.reply_options},
            prompts=self.choices.get("prompts", ()),
            flags=self.data["verdict"].get("flags", ()),
            warn=lambda verdicts: self.warn([verdicts]),
        )
        return read_given(verdicts)

    def _text_reader(self, case: Case) -> "GivenTexts":
        """Return how given texts are read: as replies to the authors' prompt, if there is one and no other is named."""
        written = {name: case.written.get(name) for name in self.choices}
        prompts = self.choices.get("prompts", ())
        if AUTHORS in prompts and written["prompts"] is None:
            written["prompts"] = AUTHORS
        return GivenTexts(self, self.prompt(**self.defaults(written)))

    # The metric

    def _inputs(self, rows: Sequence[Any], *, responses: str = "", **options: Any) -> dict[str, Any]:
        """Return the metric's inputs from rows, and from a file or run with verdicts on the responses of this name."""
        given = options.get(self.option)
        if isinstance(given, str | Path):
            given = read_verdicts(given, responses, [row.id for row in rows], self.criteria)
        return {"references": rows} | ({} if given is None else {self.option: given})

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Any],
        *,
        bootstrap: int = 0,
        seed: int = 0,
        level: float = 0.95,
        per_question: bool = False,
        thoughts: str = REMOVED,
        **judging: Any,
    ) -> dict[str, Any]:
        flags(per_question=per_question)
        predictions, references = paired(predictions, references)
        resampling = Bootstrap(bootstrap, seed, level)
        written = {name: value for name, value in judging.items() if value is not None}
        chosen = self.defaults({name: judging.pop(name, None) for name in self.choices})
        heard = spoken(predictions, thoughts)
        options = {"judge_seed": seed, **dict.fromkeys(self.given), **judging}
        case = self.select(Case(self.read_all(references), heard.texts, chosen, options, written=written))
        rows, sizes = case.rows, self.dataset.get("sizes", {})
        known = (of[chosen[name]] for name, of in sizes.items() if chosen[name] in of)
        warn_of_a_part(len(rows), next(known, self.dataset["rows"]) or len(rows))
        case.verdicts = self.judged(case)
        cluster, groups = numbers([self.cluster_of(row) for row in rows]), self.groups(rows)
        words = {MEAN_WORDS: lengths.tally(case.texts, cluster)}
        counts = [{**self.tally(case, one, cluster, groups), **words} for one in case.verdicts.each()]
        result: dict[str, Any] = dict(tallies.scores(counts))
        result |= self.facts(case, result)
        result |= {"questions": len(rows), self.over: int(cluster.max()) + 1}
        if named := self.dataset.get("counts"):
            result["counts"] = tallies.sums(counts, named, groups)
        result |= heard.counts()
        result["signature"] = signature(
            self.name,
            data=data_of(self.name, map(self.identity, rows)),
            **self.signed(case),
            **form_of(row.form for row in rows),
            **choice(thoughts),
            interval=resampling.over(self.over),
        )
        result |= self.digest(case)
        result |= tallies.uncertainty(counts, resampling, ranges=self.ranges())
        if len(counts) > 1:
            result["spread"] = tallies.spread(counts)
        if per_question:
            each = zip(rows, self.each(case), strict=True)
            result["per_question"] = [{**self.about(row), **says} for row, says in each]
        return result

    def _named(self, method: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
        """Return a method as a function whose signature names the options of this benchmark."""

        def function(*rows: Any, **options: Any) -> Any:
            return method(*rows, **options)

        own, kind = inspect.signature(method), inspect.Parameter.KEYWORD_ONLY
        more = [inspect.Parameter(name, kind, default=None, annotation=of) for name, of in options.items()]
        every = sorted([*more, *own.parameters.values()], key=lambda one: one.kind)
        function.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in every}
        function.__name__, function.__module__ = method.__name__.strip("_"), type(self).__module__
        return function

    def _doc(self) -> str:
        texts, declared = read_toml(__file__, "doc.toml"), self.data.get("options", {})
        text = texts["text"]
        for name, part in texts["judged"].items():
            text = text.replace(f"{{{name}}}", part)
        own = {**self.given, **{name: one.get("doc", one["help"]) for name, one in declared.items()}}
        names = {"over": self.over, "references": texts["references"], **self.dataset, **self.data["doc"]}
        names["references"] = names["references"].replace("{file}", self.dataset["file"])
        names["own"] = "\n".join(f"    {name}: {about}" for name, about in own.items())
        lines = text.format(title=self.data["benchmark"]["title"], **names).splitlines()
        return "\n".join(map(_filled, lines))


@dataclass(frozen=True)
class GivenTexts:
    """Reads texts that a user gives as replies to a prompt."""

    graded: Graded
    prompt: Prompt

    @property
    def key(self) -> str:
        return self.prompt.key

    def read_given(self, reply: str, response: str) -> Verdict | None:
        return self.graded.read_text(self.prompt, reply, response)

    def refusal(self, reply: str) -> Refusal | None:
        return self.graded.refusal(self.prompt, reply, "")


def _filled(line: str) -> str:
    """Return a line of a docstring in lines of 110 characters; what follows the first line of an argument hangs."""
    hanging = "        " if re.match(r"    \w+: ", line) else "    "
    return textwrap.fill(
        line.strip(), 110, initial_indent=line[: len(line) - len(line.lstrip())], subsequent_indent=hanging
    )
