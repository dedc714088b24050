"""What a benchmark declares: its names and texts, its scores, its datasets, its judges, and its options.

`halluscope.metric` adds how responses are scored. `halluscope.registry` finds benchmarks by their names.
"""

import copy
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from halluscope.benchmarks import listed
from halluscope.errors import RegistryError
from halluscope.options import Option, check, keywords
from halluscope.paths import PACKAGE
from halluscope.validation import by_id

PACKAGES = "halluscope.benchmarks"

HIGHER: Literal["higher"] = "higher"
LOWER: Literal["lower"] = "lower"
# Whether a higher or a lower score is better; None for a score that describes a model without rating it.
Direction = Literal["higher", "lower"] | None

QUESTION = "{question}"  # The placeholder for a row's own question in a prompt

SIGNATURE = "signature"

# What metrics take about each response, besides the options that are files for each file of responses (`each`)
VERDICTS = {"votes", "nouns", "correctness", "same"}

# What the help says of the option that every metric has
IDS = """If predictions and references are in different orders, ids=(ids of the predictions, ids of the references)
matches them."""


@dataclass(frozen=True)
class Score:
    """A number of a result. It is a share of 1 unless it is said to be points."""

    better: Literal["higher", "lower", ""] = ""  # "" for a number that rates no model
    # a mean over the rows: the table of rows has each row's value under the same name, None if it does not count
    is_mean: bool = False
    is_points: bool = False  # points on a scale, or a count


@dataclass(frozen=True)
class Part:
    """The part of a benchmark that some rows are, as far as their questions, ids or images tell."""

    dataset: str  # which has them; "" for an unknown one
    about: str = ""  # which part, or which version, in words
    lacks_rows: bool = False  # whether it has more rows than these


@dataclass(frozen=True)
class Column:
    """A column of a paper's table."""

    score: str
    head: str  # the score's name as papers print it
    form: str = ""  # how numbers are printed, as for `format`; "" for the usual form


@dataclass(frozen=True)
class Preset:
    """What a paper's table shows of a benchmark."""

    place: int  # where its columns stand among those of other benchmarks, from 1
    columns: tuple[Column, ...]


# The numbers that the results of all benchmarks hold.
EVERYWHERE = {
    "thoughts": Score(is_points=True),
    "unfinished_thoughts": Score(is_points=True),
    "other_prompts": Score(is_points=True),
    "mean_words": Score(is_points=True),
}


@dataclass(frozen=True)
class Dataset:
    """A dataset: the rows that an LVLM is asked about, and that its responses are scored against."""

    name: str  # the name of the dataset, its folder, its builder and its harness task
    id: tuple[str, ...]  # the columns that identify a row
    columns: tuple[str, ...]  # the columns that its rows must have; those of `id` may be among them
    # column -> its values; such a column identifies a row together with `id`, if all responses have it
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    upstream: tuple[str, ...] = ()  # other names that the authors' file gives to its columns
    # the columns of other people's responses that together identify a row too -> our names
    also_by: Mapping[str, str] = field(default_factory=dict)
    # whether other people's responses state their row by its image (`file_name`) and by its question, not by an id
    by_question: bool = False
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
        return self.id + tuple(self.also)

    def identity(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns and values that identify a row."""
        return {name: row[name] for name in self.key if name in row}


@dataclass(frozen=True)
class Judges:
    """The judges of a benchmark."""

    # "votes" for yes or no about a text (option `judges`), "verdicts" for verdicts on a response (`judge`)
    kind: Literal["votes", "verdicts"]
    default: str  # the judge unless the user names another; "" if the user has to name one
    rules: tuple[str, ...]  # the names of the judges that need no language model
    published: str = ""  # who judged the published scores, and whether it can still be asked

    @property
    def of_published(self) -> str:
        """Say who judged the published scores, and how to learn what another judge changes; "" if it is not known."""
        if not self.published:
            return ""
        return (
            f"Published scores were judged by {self.published}. Another judge gives other scores: `halluscope study "
            "swap` says how two judges differ on your responses, `halluscope study certify --run` how often one errs."
        )

    @property
    def option(self) -> str:
        """The option that names the judges."""
        if self.kind == "votes":
            return "judges"
        return "judge"

    @property
    def rule(self) -> str | None:
        """The judge that is used without a language model; None if every judge needs one."""
        from halluscope.judging.verdicts import NOBODY

        rules = [rule for rule in self.rules if rule != NOBODY]
        if self.default in rules:
            return self.default
        if rules:
            return rules[0]
        return None

    @property
    def options(self) -> type:
        """The dataclass of the options by which judges are asked."""
        from halluscope.judging.options import VerdictOptions, VoteOptions

        if self.kind == "votes":
            return VoteOptions
        return VerdictOptions

    def find(self, options: Mapping[str, Any]) -> None:
        """Check that the judges named in the options can be used, without loading a model."""
        from halluscope.judging.resolve import check_chat_name, find, resolve_chat

        judge = options.get(self.option, self.default)
        if self.kind == "votes":
            find(judge)
        elif judge not in self.rules:
            check_chat_name(judge, self.rules)
            resolve_chat(judge, device=options.get("device"))


class Benchmark:
    """What a benchmark declares. Some have a metric and the datasets that it is scored on; a few have only one of them.

    A benchmark is the only object of its class; the class attributes are its declarations.
    """

    name: str  # the name of the package, of the metric, and of its folder in metrics/
    title: str  # the name that is shown to readers
    description: str  # what it measures, in a few sentences
    citation: str  # BibTeX
    links: tuple[str, ...]  # where to read more
    licence: str = ""  # of what it reads besides its datasets, each of which has its own in spec.toml
    principal: str = ""  # the score by which models are compared; "" without a metric
    # The scores that it reports, in this order; "main_hal" also stands for "main_hal/count". Empty without a metric.
    scores: Mapping[str, Score] = {}
    # the other numbers in its result; an asterisk stands for any characters, or none
    extra_numbers: Mapping[str, Score] = {}
    # name of a preset of `halluscope table` -> what it shows of this benchmark
    presets: Mapping[str, Preset] = {}
    # its own datasets; a metric without datasets of its own names others in `reads`
    datasets: tuple[Dataset, ...] = ()
    reads: tuple[str, ...] = ()  # the names of datasets of other packages that it is scored on
    # which files --dataset takes beside built datasets, for the command's help; "" for none
    other_datasets: str = ""
    # What an LVLM is asked; `QUESTION` stands for the row's own question. Rows without a question may have a
    # column `prompt`, which is asked instead.
    prompt: str = QUESTION
    prompts: Mapping[str, str] = {}  # other prompts in use, by name
    max_new_tokens: int = 256  # the most tokens of a response
    target: str = "answer"  # the column with the right answer
    # whether the responses determine which images are scored; otherwise each question needs a response
    partial_ok: bool = False
    judges: Judges | None = None  # its judges; None if no judge is needed
    options: tuple[Option, ...] = ()  # the options that a user may set on the command line
    # options of `compute` that come from the rows, or replace a judge's work
    input_options: tuple[str, ...] = ()
    # the work of its authors with which its scores were compared, the result, and the tests that show it; ""
    # if there was no comparison
    compared: str = ""
    # the name of an option, and of the result's key, for a table with a mapping per image or question that is
    # scored. A benchmark that is scored on a dataset has one.
    items: str = ""
    extras: tuple[str, ...] = ()  # the extras of this package that it needs

    @property
    def about(self) -> str:
        """What it measures, in a few words."""
        found = listed(self.name)
        if found is None:
            raise RegistryError(f"halluscope.benchmarks does not list {self.name}; add a line to `LISTED`.")
        return found.about

    def module(self, name: str) -> Any:
        """Return a module of its package."""
        return importlib.import_module(f"{PACKAGES}.{self.name}.{name}")

    @property
    def folder(self) -> Path:
        """The folder of its package."""
        return PACKAGE / "benchmarks" / self.name

    @property
    def compute(self) -> Callable[..., Any]:
        """The metric, a function of predictions, references and options that returns a result.

        Besides the options in `keywords` it takes `ids`, a pair of lists that match predictions to references.
        """
        if not self.has_metric:
            raise RegistryError(
                f"{self.name} has no metric: its datasets are for training. Name another benchmark."
            )
        function: Callable[..., Any] = self.module("metric").compute
        return by_id(function, self.verdicts)

    @property
    def keywords(self) -> set[str]:
        """The options that `compute` takes."""
        return keywords(self.compute)

    @property
    def help(self) -> str:
        """The help: the arguments and the result of `compute`."""
        about = inspect.cleandoc(self.compute.__doc__ or "")
        return f"{about}\n\n{IDS}"

    @property
    def means(self) -> tuple[str, ...]:
        """The scores that are means over the rows; every other score is defined only for the whole set."""
        return tuple(name for name, score in self.scores.items() if score.is_mean)

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

    @property
    def verdicts(self) -> set[str]:
        """The options that say something of each response."""
        return VERDICTS | self.each

    def without(self, names: Collection[str]) -> "Benchmark":
        """Return the benchmark without the options of these names."""
        benchmark = copy.copy(self)
        benchmark.options = tuple(option for option in self.options if option.name not in names)
        return benchmark

    def options_of(self, name: str) -> Mapping[str, Any]:
        """Return the options that a dataset's name determines; {} for the benchmark's own name."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset.options
        return {}

    def dataset(self, columns: Sequence[str]) -> Dataset | None:
        """Return its dataset whose rows have these columns; None if no dataset fits.

        If several fit, the dataset that has the most of these columns is chosen, and among equals the one with the
        fewest columns missing.
        """
        names = set(columns)

        def fit(dataset: Dataset) -> tuple[int, int]:
            expected = set(dataset.key + dataset.columns)
            return len(expected & names), -len(expected - names)

        fitting = []
        for dataset in self.datasets:
            needed = set(dataset.id + dataset.columns)
            if needed <= names:
                fitting.append(dataset)
        return max(fitting, key=fit, default=None)

    def is_points(self, score: str) -> bool:
        """Whether a score is not a share of 1."""
        whole = score.partition("/")[0]
        of_scores = self.scores.get(score) or self.scores.get(whole)
        declared = EVERYWHERE.get(score) or of_scores or self.extra_numbers.get(score)
        return declared is not None and declared.is_points

    def direction(self, score: str) -> Direction:
        """Return which direction is better; for a part, that of the whole score. No score is a KeyError."""
        known = dict(self.scores)
        known.update(self.extra_numbers)
        known.update(EVERYWHERE)
        for name in (score, score.partition("/")[0], score.rpartition("/")[2]):
            for pattern, declared in known.items():
                if fnmatchcase(name, pattern):
                    return declared.better or None
        raise KeyError(
            f"{self.name} declares no score {score!r}: add it to the `scores` of its class, or to `extra_numbers`"
        )

    def better(self, column: str) -> Direction:
        """Return the direction of a table's column; None if it is no score."""
        try:
            return self.direction(column)
        except KeyError:
            return None

    def builder(self, dataset: Dataset) -> Any:
        """Return the builder of one of its datasets, a `halluscope.building.command.Builder`."""
        module, _, name = dataset.builder.partition(":")
        return attrgetter(name)(self.module(module))

    def asked(self, row: Mapping[str, Any], prompt: str | None = None) -> str:
        """Return what the LVLM is asked about a row."""
        template = prompt or self.prompt_of(row.get("prompt"))
        question = row.get("question")
        if not isinstance(question, str):
            return template
        return template.replace(QUESTION, question)

    def prompt_of(self, in_row: Any) -> str:
        """Return a row's prompt: its own if rows have no question, or the usual one."""
        if QUESTION not in self.prompt and isinstance(in_row, str) and in_row.strip():
            return in_row
        return self.prompt

    def named_prompt(self, prompt: str | None) -> str | None:
        """Return the prompt of this name, or the text itself."""
        if not prompt:
            return None
        return self.prompts.get(prompt, prompt)

    def check_prompt(self, prompt: str) -> None:
        """Check that a prompt has `QUESTION` if the benchmark's own has it."""
        if (QUESTION in prompt) == (QUESTION in self.prompt):
            return
        expected = "without {question}"
        if QUESTION in self.prompt:
            expected = "with {question} in the place of each row's question"
        raise ValueError(f"The prompt for {self.name} is {prompt[:80]!r}; expected one {expected}.")

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check the names of options of `compute`."""
        check(options, self.keywords, self.name)
