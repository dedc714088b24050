"""What the rest must know of each benchmark: one record per room, and the one place that finds them.

A room is a folder in `halluscope.benchmarks`; its `__init__` holds the record `BENCHMARK`, and its modules hold the
work: `rows`, `build`, `metric`, `scoring`, `report`. A record is checked before it counts: what is missing is said.
Most rooms hold a metric and the datasets that it is scored on. A room may also hold a metric alone, or datasets alone,
which are there to train on.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal

from halluscope.errors import RegistryError
from halluscope.inputs import kind
from halluscope.options import Option, check, keywords, nearest
from halluscope.paths import PACKAGE, share

ROOMS = "halluscope.benchmarks"

HIGHER: Literal["higher"] = "higher"
LOWER: Literal["lower"] = "lower"
Direction = Literal["higher", "lower"] | None
"""Which way a score is better; None for one that says what a model is like, not how good it is."""

EVERYWHERE: Mapping[str, Direction] = {"thoughts": None, "other_prompts": None, "mean_words": None}
"""What the results of all benchmarks hold as a number."""

QUESTION = "{question}"
"""What stands for a row's own question in a prompt."""

SIGNATURE = "signature"


@dataclass(frozen=True)
class Dataset:
    """What an LVLM is asked, and what its responses are scored against.

    Attributes:
        name: of the dataset, of its folder, its builder and its harness task.
        id: the columns that find a row.
        also: column -> its values: what finds a row together with `id`, where all responses have it.
        columns: what else its rows must have.
        own: the columns that tell its rows from responses; () for all of the above.
        config: the config that is asked when none is named; "" for a dataset with one.
        images: the config that holds the images; "" where they stand in the rows.
        image_key: the column that tells images apart; null where a question has none.
        file: the column with the image's file name, for a folder of images.
        builder: where its builder stands in the room: a module, and a name in it.
        options: options of the metric that follow from it, such as its vocabulary.
        harness: options that the harnesses set unless the user says otherwise.
        harness_task: its name where a harness has a task of that name: harness -> name.
    """

    name: str
    id: tuple[str, ...]
    columns: tuple[str, ...]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    config: str = ""
    images: str = ""
    image_key: str = "image_id"
    file: str = "file_name"
    builder: str = "build:BUILDER"
    options: Mapping[str, Any] = field(default_factory=dict)
    harness: Mapping[str, Any] = field(default_factory=dict)
    harness_task: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that find a row among all."""
        return (*self.id, *self.also)

    def identity(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What finds a row."""
        return {name: row[name] for name in self.key if name in row}


@dataclass(frozen=True)
class Judges:
    """Who may judge.

    Attributes:
        kind: "votes", yes or no about a text (option `judges`); "verdicts" on a response (option `judge`).
        default: who judges unless the user says otherwise; "" if the user has to say.
        rules: the names that need no language model.
    """

    kind: Literal["votes", "verdicts"]
    default: str
    rules: tuple[str, ...]

    @property
    def option(self) -> str:
        """The option that names them."""
        return {"votes": "judges", "verdicts": "judge"}[self.kind]

    @property
    def rule(self) -> str | None:
        """Who judges if no language model is wanted; None if nobody can."""
        from halluscope.judging.graders.judged import NOBODY

        able = [rule for rule in self.rules if rule != NOBODY]
        return self.default if self.default in able else next(iter(able), None)

    @property
    def options(self) -> type:
        """The dataclass that holds how they are asked."""
        if self.kind == "votes":
            from halluscope.judging.voters.poll import Voting

            return Voting
        from halluscope.judging.graders.grading import Grading

        return Grading

    def find(self, options: Mapping[str, Any]) -> None:
        """Find who judges with these options, without loading a model.

        Raises:
            JudgeUnavailable: if one is not to be had.
        """
        judge = options.get(self.option, self.default)
        if self.kind == "votes":
            from halluscope.judging.voters.resolve import find

            find(judge)
        elif judge not in self.rules:
            from halluscope.judging.graders.resolve import check_name, resolve_chat

            check_name(judge, self.rules)
            resolve_chat(judge, device=options.get("device"))


@dataclass(frozen=True)
class Benchmark:
    """What a room holds.

    Attributes:
        name: of the room, of the metric, and of its folder in metrics/.
        title: for people.
        about: what it measures, in a few words.
        description: what it measures, in a few sentences.
        citation: BibTeX.
        links: where to read more.
        licence: what the licences of its upstream files allow.
        compared: with what of its authors its figures were compared, and where; "" if with nothing.
        principal: the score by which models are compared; "" in a room without a metric.
        scores: the scores that it reports, in this order, and which way each is better. "main_hal" speaks for
            "main_hal/count" too. A room without a metric has none.
        others: what else its result holds as a number; an asterisk stands for any letters.
        datasets: what it is scored on; a metric without one of its own names others in `reads`.
        reads: the names of the datasets that it is scored on.
        prompt: what an LVLM is asked; `QUESTION` stands for the row's own. Rows without a question may have a `prompt`
            of their own, which is asked instead.
        prompts: other prompts that people ask it with, by name.
        max_new_tokens: how long a response may be.
        target: the column with what is right.
        chooses: whether the responses choose the images that are scored; otherwise each question needs one.
        judges: who may judge; None where nobody does.
        options: what a user may set.
        given: options of `compute` that come from the rows, or stand for a judge's work.
        items: the option, and the key of a result, for a table of each image or question: what was found in it, a
            mapping per row that is scored. A benchmark that is scored on a dataset has one.
        means: the scores that are means over the rows. In the table of `items` each row has its value under the score's
            name, and None where it has no part in the score. Any other score is of the whole set alone.
        points: the scores that are no shares of 1, but points of a scale, or a number of something.
        extras: the extras of this package that it cannot do without.
    """

    name: str
    title: str
    about: str
    description: str
    citation: str
    links: tuple[str, ...]
    licence: str
    principal: str = ""
    scores: Mapping[str, Direction] = field(default_factory=dict)
    others: Mapping[str, Direction] = field(default_factory=dict)
    datasets: tuple[Dataset, ...] = ()
    reads: tuple[str, ...] = ()
    prompt: str = QUESTION
    prompts: Mapping[str, str] = field(default_factory=dict)
    max_new_tokens: int = 256
    target: str = "answer"
    chooses: bool = False
    judges: Judges | None = None
    options: tuple[Option, ...] = ()
    given: tuple[str, ...] = ()
    compared: str = ""
    items: str = ""
    means: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    def module(self, name: str) -> ModuleType:
        """A module of its room, such as "metric"."""
        return importlib.import_module(f"{ROOMS}.{self.name}.{name}")

    @property
    def folder(self) -> Path:
        """Its room."""
        return PACKAGE / "benchmarks" / self.name

    @property
    def compute(self) -> Callable[..., dict[str, Any]]:
        """The metric: predictions, references and options to a result.

        Raises:
            RegistryError: in a room without a metric.
        """
        if not self.has_metric:
            raise RegistryError(
                f"{self.name} has no metric: its datasets are there to train on. Expected another name."
            )
        function: Callable[..., dict[str, Any]] = self.module("metric").compute
        return function

    @property
    def keywords(self) -> set[str]:
        """The options that `compute` has."""
        judging = {one.name for one in fields(self.judges.options)} if self.judges else set()
        return keywords(self.compute) | judging

    @property
    def help(self) -> str:
        """What `compute` takes and gives, and how judges are asked."""
        about = [self.compute.__doc__, self.judges.options.__doc__ if self.judges else None]
        return "\n\n".join(inspect.cleandoc(text) for text in about if text)

    @property
    def has_metric(self) -> bool:
        """Whether there is anything to score; otherwise its datasets are there to train on."""
        return bool(self.scores)

    @property
    def is_scored(self) -> bool:
        """Whether it is scored on a dataset."""
        return self.has_metric and bool(self.datasets or self.reads)

    @property
    def is_graded(self) -> bool:
        """Whether verdicts on responses are given, rather than votes."""
        return self.judges is not None and self.judges.kind == "verdicts"

    @property
    def each(self) -> set[str]:
        """The options that take one value for each file of responses."""
        return {option.name for option in self.options if option.each}

    def options_of(self, name: str) -> Mapping[str, Any]:
        """The options that follow from a dataset's name; none from the benchmark's own."""
        return next((one.options for one in self.datasets if one.name == name), {})

    def dataset(self, columns: Sequence[str]) -> Dataset | None:
        """That of its datasets whose rows have these columns; None if there is none.

        Of several the one that has most of them, then the one that lacks fewest of its own.
        """

        def fit(one: Dataset) -> tuple[int, int]:
            own = {*one.key, *one.columns}
            return len(own & {*columns}), -len(own - {*columns})

        fitting = (one for one in self.datasets if {*one.id, *one.columns} <= {*columns})
        return max(fitting, key=fit, default=None)

    def is_points(self, score: str) -> bool:
        """Whether a score is no share of 1; one of a group is what the whole is."""
        return score in EVERYWHERE or not {score, score.partition("/")[0]}.isdisjoint(self.points)

    def direction(self, score: str) -> Direction:
        """Which way a score is better; one of a group or a part is better as the whole is.

        Raises:
            KeyError: for a score that it does not have.
        """
        known = {**self.scores, **self.others, **EVERYWHERE}
        for name in (score, score.partition("/")[0], score.rpartition("/")[2]):
            for pattern, direction in known.items():
                if fnmatchcase(name, pattern):
                    return direction
        raise KeyError(score)

    def better(self, column: str) -> Direction:
        """Which way what stands in a column of a table is better; None for what is no score."""
        try:
            return self.direction(column)
        except KeyError:
            return None

    def builder(self, dataset: Dataset) -> Any:
        """What builds one of its datasets: a `halluscope.building.command.Builder`."""
        module, _, name = dataset.builder.partition(":")
        return getattr(self.module(module), name)

    def asked(self, row: Mapping[str, Any], prompt: str | None = None) -> str:
        """What the LVLM is asked about a row: `prompt` if it is given, else the row's own, else the benchmark's."""
        template = prompt or self.prompt_of(row.get("prompt"))
        question = row.get("question")
        return template.replace(QUESTION, question) if isinstance(question, str) else template

    def prompt_of(self, own: Any) -> str:
        """The prompt for a row whose column `prompt` says `own`: that, in a benchmark whose rows have no question."""
        return own if QUESTION not in self.prompt and isinstance(own, str) and own.strip() else self.prompt

    def named_prompt(self, prompt: str | None) -> str | None:
        """A prompt, which may be called by its name in `prompts`; None stands for the benchmark's own."""
        return self.prompts.get(prompt, prompt) if prompt else None

    def check_prompt(self, prompt: str) -> None:
        """Check that a prompt puts each row's question, if rows have one.

        Raises:
            ValueError: if it does not, or puts one where there is none.
        """
        if (QUESTION in prompt) != (QUESTION in self.prompt):
            put = "with {question} for each row's own" if QUESTION in self.prompt else "without {question}"
            raise ValueError(f"The prompt for {self.name} is {prompt[:80]!r}; expected one {put}.")

    def check_options(self, given: Mapping[str, Any]) -> None:
        """Check the names of options of `compute`.

        Raises:
            ValueError: for one that it does not have; the message names its neighbour.
        """
        check(given, self.keywords, self.name)


def rooms() -> list[Benchmark]:
    """The records of all rooms, in the order of their names.

    Raises:
        RegistryError: for a room whose record is missing or incomplete, or a name that comes twice.
    """
    return list(_all().values())


def benchmarks() -> list[Benchmark]:
    """All benchmarks: the rooms with a metric, in the order of their names.

    Raises:
        RegistryError: as `rooms`.
    """
    return [room for room in rooms() if room.has_metric]


def benchmark(name: str) -> Benchmark:
    """The record of the room of this name, which may be that of one of its datasets.

    Raises:
        ValueError: if there is none; the message names the nearest.
    """
    kind("the benchmark's name", name, str, "a text such as 'throne'")
    found = _all().get(name) or next((one for one, dataset in _datasets() if dataset.name == name), None)
    if found is None:
        known = names()
        raise ValueError(
            f"There is no benchmark {name!r:.80}.{nearest(str(name), known)} Known are {', '.join(known)}."
        )
    return found


def dataset(name: str) -> Dataset:
    """The dataset of this name.

    Raises:
        ValueError: if there is none; the message names the nearest.
    """
    kind("the dataset's name", name, str, "a text such as 'throne_coco'")
    known = {dataset.name: dataset for _, dataset in _datasets()}
    if name not in known:
        raise ValueError(
            f"There is no dataset {name!r:.80}.{nearest(str(name), list(known))} Known are {', '.join(known)}."
        )
    return known[name]


def identity(of: Benchmark) -> Dataset:
    """The dataset by whose ids a benchmark's rows are found: its first, or the first that it reads."""
    return of.datasets[0] if of.datasets else dataset(of.reads[0])


def datasets() -> list[Dataset]:
    """All datasets, in the order of their rooms."""
    return [dataset for _, dataset in _datasets()]


def names() -> list[str]:
    """The names of all rooms and datasets."""
    return list(dict.fromkeys([*_all(), *(dataset.name for dataset in datasets())]))


def of(columns: Sequence[str]) -> tuple[Benchmark, Dataset]:
    """The benchmark and the dataset whose rows have these columns.

    Raises:
        ValueError: if there is none, or the rows are there to train on.
    """
    known = ", ".join(dataset.name for one in benchmarks() for dataset in one.datasets)
    for one in sorted(rooms(), key=lambda room: room.has_metric):
        if not (found := one.dataset(columns)):
            continue
        if not one.has_metric:
            raise ValueError(
                f"A dataset with the columns {', '.join(columns)} is {found.name}, which is there to train on: nobody "
                f"is asked about its rows. Expected one of {known}."
            )
        return one, found
    raise ValueError(
        f"A dataset with the columns {', '.join(columns)} is none of ours; expected one of {known}."
    )


def _datasets() -> Iterator[tuple[Benchmark, Dataset]]:
    return ((one, dataset) for one in rooms() for dataset in one.datasets)


@cache
def _all() -> dict[str, Benchmark]:
    house = importlib.import_module(ROOMS)
    found = [_load(room.name) for room in iter_modules(house.__path__) if room.ispkg]
    return collect(found)


def _load(room: str) -> Benchmark:
    record = getattr(importlib.import_module(f"{ROOMS}.{room}"), "BENCHMARK", None)
    if not isinstance(record, Benchmark):
        raise RegistryError(f"The room {ROOMS}.{room} has no record; expected a `Benchmark` named BENCHMARK.")
    if record.name != room:
        raise RegistryError(
            f"The room {ROOMS}.{room} holds the record of {record.name!r}; expected {room!r}."
        )
    return record


def collect(records: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Records by name, each of them complete.

    Raises:
        RegistryError: for a record that lacks something, or a name that comes twice.
    """
    first: dict[str, str] = {}
    for record in records:
        if problems := list(_problems(record)):
            raise RegistryError(f"The record of {record.name} is not complete: {'; '.join(problems)}.")
        for name in {record.name, *(dataset.name for dataset in record.datasets)}:
            if name in first:
                raise RegistryError(
                    f"{record.name} and {first[name]} both hold the name {name!r}; names are unique."
                )
            first[name] = record.name
    return {record.name: record for record in records}


def _problems(record: Benchmark) -> Iterator[str]:
    """What a record lacks."""
    for name in ("title", "about", "description", "citation", "licence"):
        if not getattr(record, name).strip():
            yield f"it has no {name}"
    yield from _problems_of_scores(record)
    for dataset in record.datasets:
        if not _is_there("datasets", dataset.name, "spec.toml"):
            yield f"its dataset {dataset.name} has no spec (datasets/{dataset.name}/spec.toml)"
        if not _is_there("dataset_cards", f"{dataset.name}.md"):
            yield f"its dataset {dataset.name} has no card (dataset_cards/{dataset.name}.md)"


def _problems_of_scores(record: Benchmark) -> Iterator[str]:
    """What a record lacks to be scored; a room with datasets alone is not."""
    if not record.has_metric:
        if not record.datasets or record.principal or _is_there("metrics", record.name, "README.md"):
            yield "it has no scores"
        return
    if not record.principal:
        yield "it has no principal score"
    elif record.scores.get(record.principal) not in (HIGHER, LOWER):
        yield f"its principal score {record.principal!r} has no direction; expected {HIGHER!r} or {LOWER!r} in `scores`"
    if record.is_scored and not record.items:
        yield "it has no table of its rows (items), from which its scores could be made once more"
    for score, direction in {**record.scores, **record.others}.items():
        if direction not in (HIGHER, LOWER, None):
            yield f"the direction of {score!r} is {direction!r}; expected {HIGHER!r}, {LOWER!r} or None"
    for name, prompt in record.prompts.items():
        if (QUESTION in prompt) != (QUESTION in record.prompt):
            yield f"its prompt {name!r} puts the question of a row where its own does not, or the reverse"
    if unknown := [score for score in record.means if score not in record.scores]:
        yield f"its means name {', '.join(unknown)}, which `scores` does not have"
    if unknown := [score for score in record.points if score not in record.scores]:
        yield f"its points name {', '.join(unknown)}, which `scores` does not have"
    if record.means and not record.items:
        yield "it has means, and no table of `items` where each row's values stand"
    if not _is_there("metrics", record.name, "README.md"):
        yield f"its metric has no card (metrics/{record.name}/README.md)"


def _is_there(*parts: str) -> bool:
    try:
        return share(*parts).is_file()
    except FileNotFoundError:
        return False
