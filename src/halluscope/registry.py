"""Defines a benchmark's record, and finds the records of all benchmarks.

Each benchmark has a package in `halluscope.benchmarks`. Its `__init__` holds the record `BENCHMARK`; its modules do the
work: `rows`, `build`, `metric`, `report`. Most packages hold a metric and the datasets that it is scored on; a few hold
only a metric, or only datasets for training. tests/test_contract.py checks that each record is complete.
"""

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from operator import attrgetter
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple, TypeVar

from halluscope.errors import RegistryError
from halluscope.options import Option, check, check_names, described, keywords
from halluscope.paths import PACKAGE
from halluscope.validation import by_id, kind, word
from halluscope.vocabularies import read_toml

T = TypeVar("T")

PACKAGES = "halluscope.benchmarks"

HIGHER: Literal["higher"] = "higher"
LOWER: Literal["lower"] = "lower"
# Whether a higher or a lower score is better; None for a score that describes a model without rating it.
Direction = Literal["higher", "lower"] | None

# The numbers that the results of all benchmarks hold.
EVERYWHERE = dict.fromkeys(("thoughts", "unfinished_thoughts", "other_prompts", "mean_words"), "")

QUESTION = "{question}"  # The placeholder for a row's own question in a prompt

SIGNATURE = "signature"

# What the help says of the option that every metric has
IDS = """If predictions and references are in different orders, ids=(ids of the predictions, ids of the references)
matches them."""


@dataclass(frozen=True)
class Dataset:
    """A dataset: the rows that an LVLM is asked about, and that its responses are scored against."""

    name: str  # the name of the dataset, its folder, its builder and its harness task
    id: tuple[str, ...]  # the columns that identify a row
    columns: tuple[str, ...]  # the other columns that its rows must have
    # column -> its values; such a column identifies a row together with `id`, if all responses have it
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    upstream: tuple[str, ...] = ()  # other names that the authors' file gives to its columns
    # the columns of other people's responses that together identify a row too -> our names
    also_by: Mapping[str, str] = field(default_factory=dict)
    # the columns whose values VLMEvalKit joins by "_" into an `index`; () if it does not
    index: tuple[str, ...] = ()
    # the columns that distinguish its rows from responses; () for `id` and `columns`
    own: tuple[str, ...] = ()
    config: str = ""  # the config that is asked by default; "" if the dataset has only one
    images: str = ""  # the config that holds the images; "" if the rows hold them
    image_key: str = "image_id"  # the column that identifies an image; null in a row without an image
    file: str = "file_name"  # the column with the image's file name, for a folder of images
    builder: str = "build:BUILDER"  # its builder in the package, as "module:name" or "module:name.attribute"
    # options of the metric that the dataset determines, such as its vocabulary
    options: Mapping[str, Any] = field(default_factory=dict)
    harness: Mapping[str, Any] = field(default_factory=dict)  # options that the harnesses set by default
    # harness -> the task's name there, if that harness already has a task called `name`
    harness_task: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return (*self.id, *self.also)

    def identity(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns and values that identify a row."""
        return {name: row[name] for name in self.key if name in row}


class Judges(NamedTuple):
    """The judges of a benchmark."""

    # "votes" for yes or no about a text (option `judges`), "verdicts" for verdicts on a response (`judge`)
    kind: Literal["votes", "verdicts"]
    default: str  # the judge unless the user names another; "" if the user has to name one
    rules: tuple[str, ...]  # the names of the judges that need no language model
    published: str = ""  # who judged the published scores, and whether it can still be asked

    @property
    def of_published(self) -> str:
        """Say who judged the published scores, and how to learn what another judge changes; "" if it is not known."""
        return self.published and (
            f"Published scores were judged by {self.published}. Another judge gives other scores: `halluscope swap` "
            "says how two judges differ on your responses, `halluscope certify --run` how often one errs."
        )

    @property
    def option(self) -> str:
        """The option that names the judges."""
        return "judges" if self.kind == "votes" else "judge"

    @property
    def rule(self) -> str | None:
        """The judge that is used without a language model; None if every judge needs one."""
        from halluscope.judging.verdicts import NOBODY

        able = [rule for rule in self.rules if rule != NOBODY]
        return self.default if self.default in able else next(iter(able), None)

    @property
    def options(self) -> type:
        """The dataclass of the options by which judges are asked."""
        from halluscope.judging.options import VerdictOptions, VoteOptions

        return VoteOptions if self.kind == "votes" else VerdictOptions

    def find(self, options: Mapping[str, Any]) -> None:
        """Check that the judges named in the options can be used, without loading a model."""
        from halluscope.judging.resolve import check_chat_name, find, resolve_chat

        judge = options.get(self.option, self.default)
        if self.kind == "votes":
            find(judge)
        elif judge not in self.rules:
            check_chat_name(judge, self.rules)
            resolve_chat(judge, device=options.get("device"))


class Benchmark(NamedTuple):
    """The record of a benchmark."""

    name: str  # the name of the package, of the metric, and of its folder in metrics/
    title: str  # the name that is shown to readers
    about: str  # what it measures, in a few words
    description: str  # what it measures, in a few sentences
    citation: str  # BibTeX
    links: tuple[str, ...]  # where to read more
    licence: str  # what the licences of its upstream files allow
    principal: str = ""  # the score by which models are compared; "" in a package without a metric
    # the scores that it reports, in this order, each with its direction, "" for none. "main_hal" also stands for
    # "main_hal/count". Empty in a package without a metric.
    scores: Mapping[str, Any] = {}
    # the other numbers in its result, with their directions; an asterisk stands for any characters, or none
    extra_numbers: Mapping[str, Any] = {}
    # its own datasets; a metric without datasets of its own names others in `reads`
    datasets: tuple[Dataset, ...] = ()
    reads: tuple[str, ...] = ()  # the names of datasets of other packages that it is scored on
    # what an LVLM is asked; `QUESTION` stands for the row's own question. Rows without a question may have a
    # column `prompt`, which is asked instead.
    prompt: str = QUESTION
    prompts: Mapping[str, str] = {}  # other prompts in use, by name
    max_new_tokens: int = 256  # the most tokens of a response
    target: str = "answer"  # the column with the right answer
    # whether the responses determine which images are scored; otherwise each question needs a response
    partial_ok: bool = False
    judges: Judges | None = None  # its judges; None if no judge is needed
    options: tuple[Option, ...] = ()  # the options that a user may set
    # options of `compute` that come from the rows, or replace a judge's work
    input_options: tuple[str, ...] = ()
    # the work of its authors with which its scores were compared, the result, and the tests that show it; ""
    # if there was no comparison
    compared: str = ""
    # the name of an option, and of the result's key, for a table with a mapping per image or question that is
    # scored. A benchmark that is scored on a dataset has one.
    items: str = ""
    # the scores that are means over the rows. In the table of `items` each row has its value under the
    # score's name, and None if it does not count for the score. Every other score is defined only for the whole set.
    means: tuple[str, ...] = ()
    points: tuple[str, ...] = ()  # the scores that are not shares of 1, but points on a scale, or counts
    extras: tuple[str, ...] = ()  # the extras of this package that it needs
    # a module that the package does not have ("rows", "report") -> the object in `metric` that has that
    # module's functions
    engine: Mapping[str, str] = {}

    def module(self, name: str) -> Any:
        """Return a module of its package, or the engine's object in its place."""
        if name in self.engine:
            return getattr(self.module("metric"), self.engine[name])
        return importlib.import_module(f"{PACKAGES}.{self.name}.{name}")

    @property
    def folder(self) -> Path:
        """The folder of its package."""
        return PACKAGE / "benchmarks" / self.name

    @property
    def compute(self) -> Callable[..., dict[str, Any]]:
        """The metric, a function of predictions, references and options that returns a result.

        Besides the options in `keywords` it takes `ids`, a pair of lists that match predictions to references.
        """
        if not self.has_metric:
            raise RegistryError(
                f"{self.name} has no metric: its datasets are for training. Name another benchmark."
            )
        function: Callable[..., dict[str, Any]] = self.module("metric").compute
        return by_id(function)

    @property
    def keywords(self) -> set[str]:
        """The options that `compute` takes."""
        judging = {one.name for one in fields(self.judges.options)} if self.judges else set()
        return keywords(self.compute) | judging

    @property
    def help(self) -> str:
        """The help: the arguments and the result of `compute`, and how judges are asked."""
        about = [inspect.cleandoc(self.compute.__doc__ or ""), IDS]
        return "\n\n".join([*about, *([described(self.judges.options)] if self.judges else [])])

    @property
    def has_metric(self) -> bool:
        """Whether it has a metric; otherwise its datasets are for training."""
        return bool(self.scores)

    @property
    def is_scored(self) -> bool:
        """Whether it is scored on a dataset."""
        return self.has_metric and bool(self.datasets or self.reads)

    @property
    def is_graded(self) -> bool:
        """Whether its judges give verdicts on responses, rather than votes."""
        return self.judges is not None and self.judges.kind == "verdicts"

    @property
    def each(self) -> set[str]:
        """The options that take one value per file of responses."""
        return {option.name for option in self.options if option.each}

    def without(self, names: Collection[str]) -> "Benchmark":
        """Return the benchmark without the options of these names."""
        return self._replace(options=tuple(one for one in self.options if one.name not in names))

    def options_of(self, name: str) -> Mapping[str, Any]:
        """Return the options that a dataset's name determines; {} for the benchmark's own name."""
        return next((one.options for one in self.datasets if one.name == name), {})

    def dataset(self, columns: Sequence[str]) -> Dataset | None:
        """Return its dataset whose rows have these columns; None if no dataset fits.

        If several fit, the dataset that has the most of these columns is chosen, and among equals the one with the
        fewest columns missing.
        """

        def fit(one: Dataset) -> tuple[int, int]:
            own = {*one.key, *one.columns}
            return len(own & {*columns}), -len(own - {*columns})

        fitting = (one for one in self.datasets if {*one.id, *one.columns} <= {*columns})
        return max(fitting, key=fit, default=None)

    def is_points(self, score: str) -> bool:
        """Whether a score is not a share of 1."""
        return score in EVERYWHERE or not {score, score.partition("/")[0]}.isdisjoint(self.points)

    def direction(self, score: str) -> Direction:
        """Return which direction is better; for a part, that of the whole score. No score is a KeyError."""
        known: Mapping[str, Any] = {**self.scores, **self.extra_numbers, **EVERYWHERE}
        for name in (score, score.partition("/")[0], score.rpartition("/")[2]):
            for pattern, direction in known.items():
                if fnmatchcase(name, pattern):
                    return direction or None
        raise KeyError(score)

    def better(self, column: str) -> Direction:
        """Return the direction of a table's column; None if it is no score."""
        with suppress(KeyError):
            return self.direction(column)
        return None

    def builder(self, dataset: Dataset) -> Any:
        """Return the builder of one of its datasets, a `halluscope.building.command.Builder`."""
        module, _, name = dataset.builder.partition(":")
        return attrgetter(name)(self.module(module))

    def asked(self, row: Mapping[str, Any], prompt: str | None = None) -> str:
        """Return what the LVLM is asked about a row."""
        template = prompt or self.prompt_of(row.get("prompt"))
        question = row.get("question")
        return template.replace(QUESTION, question) if isinstance(question, str) else template

    def prompt_of(self, own: Any) -> str:
        """Return a row's prompt: its own if rows have no question, or the usual one."""
        return own if QUESTION not in self.prompt and isinstance(own, str) and own.strip() else self.prompt

    def named_prompt(self, prompt: str | None) -> str | None:
        """Return the prompt of this name, or the text itself."""
        return self.prompts.get(prompt, prompt) if prompt else None

    def check_prompt(self, prompt: str) -> None:
        """Check that a prompt has `QUESTION` if the benchmark's own has it."""
        if (QUESTION in prompt) != (QUESTION in self.prompt):
            put = (
                "with {question} in the place of each row's question"
                if QUESTION in self.prompt
                else "without {question}"
            )
            raise ValueError(f"The prompt for {self.name} is {prompt[:80]!r}; expected one {put}.")

    def check_options(self, given: Mapping[str, Any]) -> None:
        """Check the names of options of `compute`."""
        check(given, self.keywords, self.name)

    def check_choices(self, **given: Any) -> None:
        """Check that values are among the choices that the options declare."""
        declared = {option.name: option.choices for option in self.options}
        for name, value in given.items():
            word(name, value, declared[name])


def declared(module: str) -> Benchmark:
    """Return the record in the benchmark.toml beside a module, given by its `__file__`; judges' options come first."""
    table = read_toml(module, "benchmark.toml")
    about = dict(table["benchmark"])
    options = [
        Option(**{**one, "type": {"float": float}.get(one.get("type"), str)})
        for one in table.get("options", ())
    ]
    if "judges" in table:
        from halluscope.judging.options import VOTES

        others = table.get("judges_help", {})
        options[:0] = [one._replace(help=others.get(one.name, one.help)) for one in VOTES]
        about["judges"] = Judges(**table["judges"])
    datasets = tuple(Dataset(**one) for one in table.get("datasets", ()))
    return Benchmark(datasets=datasets, options=tuple(options), **about)


def records() -> list[Benchmark]:
    """Return all records, in the order of their names."""
    return list(_all().values())


def benchmarks() -> list[Benchmark]:
    """Return all benchmarks, which are the records with a metric, in the order of their names."""
    return [one for one in records() if one.has_metric]


def benchmark(name: str) -> Benchmark:
    """Return the record of this name, or of the dataset of this name."""
    return _named("benchmark", name, _known(), "throne")


def dataset(name: str) -> Dataset:
    """Return the dataset of this name."""
    return _named("dataset", name, {one.name: one for one in datasets()}, "throne_coco")


def _named(what: str, name: str, known: Mapping[str, T], example: str) -> T:
    kind(f"the {what}'s name", name, str, f"a name such as {example!r}")
    check_names(f"There is no {what}", [name], known)
    return known[name]


def first_dataset(of: Benchmark) -> Dataset:
    """Return the dataset whose ids identify a benchmark's rows."""
    return of.datasets[0] if of.datasets else dataset(of.reads[0])


def datasets() -> list[Dataset]:
    """Return all datasets, in the order of their packages."""
    return [dataset for one in records() for dataset in one.datasets]


def names() -> list[str]:
    """Return the names of all packages and datasets."""
    return list(_known())


def _known() -> dict[str, Benchmark]:
    return _all() | {dataset.name: one for one in records() for dataset in one.datasets}


def with_columns(columns: Sequence[str]) -> tuple[Benchmark, Dataset]:
    """Return the benchmark and the dataset whose rows have these columns."""
    known = ", ".join(dataset.name for one in benchmarks() for dataset in one.datasets)
    for one in sorted(records(), key=lambda record: record.has_metric):
        if not (found := one.dataset(columns)):
            continue
        if not one.has_metric:
            raise ValueError(
                f"A dataset with the columns {', '.join(columns)} is {found.name}, which is for training: no model is "
                f"asked about its rows. Expected one of {known}."
            )
        return one, found
    raise ValueError(f"No known dataset has the columns {', '.join(columns)}; expected one of {known}.")


@cache
def _all() -> dict[str, Benchmark]:
    packages = importlib.import_module(PACKAGES)
    names = [one.name for one in iter_modules(packages.__path__) if one.ispkg]
    return {name: importlib.import_module(f"{PACKAGES}.{name}").BENCHMARK for name in names}
