"""Scores responses that a judge graded: rows, verdicts, counts per image, ratios, intervals."""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from halluscope import options as options_of
from halluscope.graded import record
from halluscope.graded.prompts import RESPONSE, Prompt, Verdict
from halluscope.graded.rows import Column, Row, Schema
from halluscope.inputs import flags, paired, warn_of_a_part, word
from halluscope.judging import verdicts as judged
from halluscope.judging.options import VerdictOptions
from halluscope.judging.prompts import Asked
from halluscope.judging.verdicts import NOBODY, Criterion, Judged
from halluscope.reading.fields import Fields
from halluscope.responses import lengths
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats import tallies
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools, Ints, Tally, grouped, numbers

REFERENCES = "the dataset's rows without images, in the same order; rows of {} also work."

SHARED = {
    "bootstrap": "how many times to resample the images for an interval; 0 for no interval. Questions about an image "
    "depend on each other.",
    "seed": "the seed of the bootstrap, and of a language model's replies unless `judge_seed` says otherwise.",
    "level": "the confidence level of the interval, in (0, 1).",
    "per_question": "also return, for each question, the verdict (first repeat; `repeats` has all) with the judge's "
    "reasons, and its part in each score.",
    "thoughts": '"removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" judges it too.',
}
"""The help of the options that all graded benchmarks share."""

JUDGING = (
    "repeats (the scores are means), judge_seed, temperature, leave_out, fresh, at_once, max_failed, max_tokens, "
    "device, store, progress; see `halluscope.judging.options.VerdictOptions`."
)

RETURNED = (
    "A mean or share of nothing is NaN. Also `questions`, `images`; `mean_words`, the mean length of the responses; "
    "`thoughts`, how many responses held thoughts that were removed; `signature`; `verdicts`, a digest of a language "
    "model's verdicts; `interval` with a bootstrap; `spread` with repeats, the least and greatest value of each score; "
    "and `per_question` if requested."
)

KINDS = {"bool": bool, "int": int, "float": float}

Parts = Mapping[str, tuple[Floats | Bools, Bools]]
"""Score -> what each row adds to it, and whether the row counts: [rows] each."""


class Declared:
    """A benchmark that a data file declares: its rows, their groups and counts.

    Args:
        package: the package that holds the data file.
    """

    kinds: ClassVar[Mapping[str, tuple[Callable[[Fields, str], Any], Callable[[], Any]]]] = {}

    def __init__(self, package: str) -> None:
        self.data = record.data(package)
        self.folder = Path(inspect.getfile(type(self))).parent
        self.name: str = self.data["benchmark"]["name"]
        self.choices = {name: one["choices"] for name, one in self.data.get("options", {}).items()}
        columns = {name: Column(name, **one) for name, one in self.data["columns"].items()}
        upstream = self.data["dataset"]
        self.schema = Schema(
            self.name,
            columns,
            upstream["file"],
            upstream["marker"],
            self.derive,
            self.rename,
            self.kinds,
            upstream.get("id", "id"),
        )
        self.read, self.read_all = self.schema.read, self.schema.read_all

    def load(self, sources: Sequence[str]) -> list[Any]:
        """Read the dataset: built folders, Hub ids, or the authors' file."""
        return self.schema.load(sources)

    def derive(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the derived columns of a row."""
        return {}

    def rename(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of the authors' file under our names, with the columns that it has."""
        return self.schema.renamed(row)

    def groups(self, rows: Sequence[Any]) -> dict[str, Bools]:
        """Return which rows belong to each group; by default, to each value of the columns that the data file names."""
        groups: dict[str, Bools] = {}
        for column in self.data["dataset"].get("groups", ()):
            values = np.array([getattr(row, column) for row in rows])
            known = self.schema.columns[column].values or dict.fromkeys(values.tolist())
            groups |= {name: values == name for name in known if name in values}
        return groups

    @property
    def option_docs(self) -> dict[str, str]:
        """What each option of the data file does, for a docstring."""
        return {name: one.get("doc", one["help"]) for name, one in self.data.get("options", {}).items()}

    def document(self, options: Mapping[str, str], returned: str, *raises: str) -> str:
        """Return the docstring of `compute`, given what its options do, what it returns, and what it raises."""
        doc = self.data["doc"]
        wrapped = partial(textwrap.fill, width=110, initial_indent="    ", subsequent_indent="        ")
        arguments = {
            "predictions": "the LVLM's raw responses, one per row.",
            "references": doc.get("references", REFERENCES.format(self.schema.file)),
            **options,
        }
        return "\n".join(
            [
                f"Score an LVLM's responses to {self.data['benchmark']['title']}'s questions.\n",
                "Args:",
                *(wrapped(f"{name}: {text}") for name, text in arguments.items()),
                "\nReturns:",
                *(
                    textwrap.fill(text, 110, initial_indent="    ", subsequent_indent="    ")
                    for text in (doc["returns"], returned)
                ),
                "\nRaises:",
                *map(wrapped, raises),
            ]
        )

    def counts(self, rows: Sequence[Any]) -> dict[str, Any]:
        """Return the counts of a dataset's rows, which its spec states."""
        columns = [self.schema.columns[name] for name in self.data["dataset"].get("groups", ())]
        return {
            "questions": len(rows),
            **dict.fromkeys((value for column in columns for value in column.values), 0),
            **{name: int(of.sum()) for name, of in self.groups(rows).items() if "/" not in name},
            "images": len({getattr(row, self.data["dataset"]["image_key"]) for row in rows}),
        }


class Graded(Declared):
    """A graded benchmark: what a data file declares, and the methods in which a subclass differs from it."""

    rules: ClassVar[tuple[str, ...]] = (NOBODY,)

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.given: str = self.data["verdict"]["option"]
        self.unread: str = self.data["verdict"]["unread"]
        self.criteria = tuple(
            Criterion(name, KINDS[one["kind"]], one.get("most", 1))
            for name, one in self.data["verdict"]["criteria"].items()
        )
        self.compute = self._with_keywords(self._compute, [*self.choices])
        self.compute.__doc__ = self._doc()
        self.inputs = self._with_keywords(self._inputs)

    # In what benchmarks differ

    def prompt(self, prompts: str = "ours", **options: Any) -> Prompt:
        """Return the prompt that the options name."""
        return Prompt.of(self.data["prompts"][prompts], self.folder)

    def words(self, reply: str) -> Mapping[str, Any]:
        """Return the verdict of a reply that stands in a file of given verdicts; {} if no reader is known."""
        return {}

    def asked(self, prompt: Prompt, row: Any, response: str) -> Asked[Verdict]:
        """Return the filled prompt about a response, and the reader of the reply."""
        columns = {column for column in prompt.fields.values() if column != RESPONSE}
        texts = {name: self.schema.columns[name].shown(getattr(row, name)) for name in columns}
        return prompt.asked(texts, response)

    def check(self, rows: Sequence[Any]) -> None:
        """Check that a judge can be asked about the rows, before any is asked."""

    def by_rule(self, rule: str, rows: Sequence[Any], texts: Sequence[str]) -> Judged:
        """Return the verdicts of a rule that asks no model."""
        return judged.nobody(self.criteria, len(rows))

    def parts(self, values: Mapping[str, Floats]) -> Parts:
        """Return what each row adds to each score; by default the mean, or the share below a number, of a criterion."""
        found: dict[str, tuple[Floats | Bools, Bools]] = {}
        for name, one in self.data["counting"].items():
            value = values[one["of"]]
            known = ~np.isnan(value)
            found[name] = (
                known & (value < one["below"]) if "below" in one else np.where(known, value, 0),
                known,
            )
        return found

    def unreadable(self, verdicts: Judged) -> Bools:
        """Return which responses have no readable verdict: [repeats, rows]."""
        first = [verdicts.values[one.name] for one in self.criteria]
        return np.asarray(np.isnan(np.array(first)).any(axis=0))

    def facts(self, rows: Sequence[Any], verdicts: Judged) -> dict[str, Any]:
        """Return further keys of the result."""
        return {}

    def signed(self, rows: Sequence[Any], verdicts: Judged) -> dict[str, Any]:
        """Return further keys of the signature."""
        return {}

    # The metric

    def _inputs(self, rows: Sequence[Row], *, responses: str = "", **options: Any) -> dict[str, Any]:
        """Return the metric's inputs from rows, and from a file or run with verdicts on the responses of this name."""
        ids = [row.id for row in rows]
        given = options.get(self.given)
        verdicts = judged.as_option(self.given, given, responses, ids, self.criteria, self.words)
        return {"references": rows, **verdicts}

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
        **more: Any,
    ) -> dict[str, Any]:
        given = more.pop(self.given, None)
        chosen = {name: more.pop(name, None) for name in self.choices}
        flags(per_question=per_question)
        for name, value in chosen.items():
            if value is not None:
                word(name, value, tuple(self.choices[name]))
        predictions, references = paired(predictions, references)
        texts, thought = take_out(predictions, thoughts)
        rows = self.read_all(references)
        resampling = Bootstrap(bootstrap, seed, level)
        prompt = self.prompt(**self.defaults(chosen))
        judge = self.data["judge"]
        limit = {"max_tokens": judge["max_tokens"]} if "max_tokens" in judge else {}
        grading = options_of.build(
            VerdictOptions, more, self.name, judge=judge["default"], judge_seed=seed, **limit
        )
        warn_of_a_part(len(rows), self.data["dataset"]["rows"])
        verdicts = judged.judge(
            grading,
            self.criteria,
            len(rows),
            (self.given, given),
            {rule: partial(self.by_rule, rule, rows, texts) for rule in self.rules},
            partial(self._ask, grading, prompt, rows, texts),
        )
        image = numbers([getattr(row, self.data["dataset"]["image_key"]) for row in rows])
        groups = self.groups(rows)
        unread = self.unreadable(verdicts)

        def tally(values: Mapping[str, Floats], cluster: Ints) -> Tally:
            return grouped(self.parts(values), cluster, groups)

        words = {MEAN_WORDS: lengths.tally(texts, image)}
        counts = [{**tally(one, image), **words} for one in verdicts.each()]
        result: dict[str, Any] = tallies.scores(counts) | {
            self.unread: float(unread.mean()),
            **self.facts(rows, verdicts),
            "questions": len(rows),
            "images": int(image.max()) + 1,
        }
        if named := self.data["dataset"].get("counts"):
            result["counts"] = tallies.counted(
                counts, {name: tuple(of) for name, of in named.items()}, groups
            )
        result |= {
            "thoughts": thought,
            "signature": signature(
                self.name,
                data=data_of(self.name, map(self.schema.identity, rows)),
                judge=verdicts.key,
                **self.signed(rows, verdicts),
                repeats=verdicts.repeats,
                **verdicts.drawn,
                **form_of(row.form for row in rows),
                **choice(thoughts),
                interval=resampling,
            ),
        }
        result |= verdicts.digest([row.id for row in rows])
        result |= tallies.uncertainty(counts, resampling)
        if per_question:
            alone = tally(next(verdicts.each()), np.arange(len(rows)))
            result["per_question"] = self._each(rows, verdicts, alone, unread[0])
        return result

    def defaults(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the choices, with the first one of an option that the user left open."""
        return {name: self.choices[name][0] if value is None else value for name, value in chosen.items()}

    def _ask(
        self, grading: VerdictOptions, prompt: Prompt, rows: Sequence[Any], texts: Sequence[str]
    ) -> Judged:
        self.check(rows)
        asked = [self.asked(prompt, row, text) for row, text in zip(rows, texts, strict=True)]
        verdicts = grading.verdicts(asked)
        self.warn(verdicts)
        notes = self.data["verdict"].get("notes", {})
        named = [*self.criteria, *(Criterion(name, bool) for name in self.data["verdict"].get("flags", ()))]
        return judged.from_model(
            grading,
            prompt.key,
            named,
            verdicts,
            lambda one: [one.numbers.get(criterion.name, 1.0) for criterion in named],
            lambda one: {
                name: one.notes[name] if one else empty.get("empty") for name, empty in notes.items()
            },
        )

    def warn(self, verdicts: Sequence[Sequence[Verdict | None]]) -> None:
        """Warn of what a judge's verdicts show."""

    def _each(
        self, rows: Sequence[Any], verdicts: Judged, alone: Tally, unread: Bools
    ) -> list[dict[str, Any]]:
        """Return the table of questions, with each one's values of the scores in the first repeat."""
        shown = self.data["dataset"].get("shown", ())
        added = tallies.added({name: of for name, of in alone.items() if "/" not in name})
        return [
            {
                "id": row.id,
                **{column: getattr(row, column) for column in shown},
                **added[place],
                self.unread: bool(unread[place]),
                **verdicts.of(place),
            }
            for place, row in enumerate(rows)
        ]

    def _with_keywords(self, method: Callable[..., Any], choices: Iterable[str] = ()) -> Callable[..., Any]:
        """Return a method as a function whose signature names the options of this benchmark."""

        def function(*rows: Any, **options: Any) -> Any:
            return method(*rows, **options)

        own = inspect.signature(method)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = list(own.parameters.values())
        hints = {self.given: Sequence[Any] | None, **dict.fromkeys(choices, str | None)}
        more = [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in hints.items()]
        fixed = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        rest = [one for one in parameters if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
        function.__signature__ = own.replace(parameters=[*fixed, *more, *rest])  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in (*fixed, *more, *rest)}
        function.__name__ = method.__name__.strip("_")
        function.__module__ = type(self).__module__
        return function

    def _doc(self) -> str:
        doc, verdict = self.data["doc"], self.data["verdict"]
        given = {self.given: f"{verdict['doc']} If given, no judge is asked."}
        judging = {"judging": f"which judge is asked, and how: judge ({doc['judge']}), {JUDGING}"}
        return self.document(
            {**given, **self.option_docs, **SHARED, **judging},
            RETURNED,
            "ValueError: for any bad input, or without a judge, before a model is asked.",
            "JudgingFailed: if more than `max_failed` of the replies cannot be read.",
        )
