"""Says which benchmark rows may belong to, by their questions, images, columns, or length."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope import registry
from halluscope.benchmark import Benchmark, Part
from halluscope.building import spec
from halluscope.judged import Judged
from halluscope.responses.image_urls import file_in
from halluscope.responses.names import is_image_file

FEWEST_WORDS = 8  # texts of this many words, in the median, describe
YES_OR_NO = re.compile(r"\W*(?:yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Recognised:
    """Which benchmarks rows may belong to."""

    benchmarks: Sequence[str] = ()  # the likeliest first
    part: Part | None = None  # which part of the first of these; None if that cannot be told
    questions: Sequence[str] = ()  # of the rows, without what is written around them


def by_task(tasks: Collection[str]) -> Recognised:
    """Return the benchmark of a harness's samples, by the names of our tasks in them."""
    if len(tasks) != 1:
        return Recognised()
    task = next(iter(tasks))
    if task not in registry.names():
        return Recognised()
    benchmark = registry.benchmark(task)
    if not benchmark.is_scored:
        return Recognised()
    return Recognised([benchmark.name], Part(task))


def judged_by(row: Mapping[str, Any]) -> str:
    """Return the benchmark whose judge gives verdicts with the columns of a row; "" for none.

    If there are several, it is the one with most columns.
    """
    likeliest = ""
    most = 0
    for benchmark in registry.benchmarks():
        if not isinstance(benchmark, Judged):
            continue
        try:
            columns = benchmark.given_row(row, "").keys()
        except ValueError:
            continue
        criteria = {criterion.name for criterion in benchmark.criteria}
        if len(criteria) > most and criteria <= columns:
            likeliest = benchmark.name
            most = len(criteria)
    return likeliest


def by_questions(questions: Sequence[str]) -> Recognised:
    """Return the benchmark that asks these questions, as far as it is known which it asks."""
    for benchmark in registry.benchmarks():
        known = _of_rows(benchmark, "known")
        if known is None:
            continue
        part = known(questions)
        if part is not None:
            return Recognised([benchmark.name], part)
    return Recognised()


def recognise(
    questions: Sequence[str],
    names: Collection[str],
    texts: Sequence[str],
    images: Sequence[str],
    ids: Sequence[str] = (),
) -> Recognised:
    """Return which benchmarks rows may belong to.

    Args:
        questions: their questions.
        names: their columns.
        texts: their responses.
        images: their images.
        ids: their ids.
    """
    of_questions = by_questions(questions)
    if of_questions.benchmarks:
        return of_questions
    benchmarks = registry.benchmarks()
    files = [file_in(image) for image in images]
    for benchmark in benchmarks:
        is_image = _of_rows(benchmark, "is_image")
        if is_image and files and all(is_image(file) for file in files):
            return Recognised([benchmark.name])
        known_ids = _of_rows(benchmark, "known_ids")
        if known_ids is None:
            continue
        for stated in (ids, images):
            part = known_ids(stated)
            if part is not None:
                return Recognised([benchmark.name], part)
    prompted = []
    for benchmark in benchmarks:
        if set(questions) == {benchmark.prompt} and not _are_of_others(benchmark, files):
            prompted.append(benchmark.name)
    if prompted:
        return Recognised(prompted)
    likeliest = _by_columns(benchmarks, names)
    if likeliest:
        return Recognised(likeliest)
    if _describe(texts) and not _ask_each(questions):
        described = [
            benchmark.name for benchmark in benchmarks if benchmark.is_scored and benchmark.partial_ok
        ]
        return Recognised(described, Part("", "descriptions"))
    return Recognised()


def _describe(texts: Sequence[str]) -> bool:
    """Whether texts are as long as descriptions are, and do not answer yes or no."""
    words = sorted(len(text.split()) for text in texts)
    if not words or words[len(words) // 2] < FEWEST_WORDS:
        return False
    answers = sum(YES_OR_NO.match(text) is not None for text in texts)
    return answers < len(texts) / 2


def _are_of_others(benchmark: Benchmark, files: Sequence[str]) -> bool:
    """Whether images are other files than a benchmark's, which knows its own by their names."""
    is_image = _of_rows(benchmark, "is_image")
    if not is_image or not files:
        return False
    return all(is_image_file(file) and not is_image(file) for file in files)


def _ask_each(questions: Sequence[str]) -> bool:
    """Whether most rows ask a question of their own, which no description answers."""
    asked = {question for question in questions if "?" in question}
    return 2 * len(asked) > len(questions)


def _of_rows(benchmark: Benchmark, name: str) -> Any:
    """Return a function of the module that reads a benchmark's rows; None if it has none of this name."""
    if not benchmark.is_scored:
        return None
    return getattr(benchmark.module("rows"), name, None)


def _by_columns(benchmarks: Sequence[Benchmark], names: Collection[str]) -> list[str]:
    """Return the benchmarks of which rows have most columns, at least two, that no other benchmark has."""
    known = {}
    for benchmark in benchmarks:
        if benchmark.datasets:
            first = benchmark.datasets[0]
            known[benchmark.name] = set(first.id).union(first.columns, first.upstream)
    shared: Counter[str] = Counter()
    for columns in known.values():
        shared.update(columns)
    likeliest: list[str] = []
    most = 2
    for name, columns in known.items():
        count = 0
        for column in columns.intersection(names):
            count += shared[column] == 1
        if count > most:
            likeliest = []
            most = count
        if count == most:
            likeliest.append(name)
    return likeliest


def is_part(benchmark: Benchmark, rows: int) -> bool:
    """Whether the dataset has more rows than these, all of which need a response."""
    in_sets = registry.first_dataset(benchmark).also or hasattr(benchmark.module("rows"), "set_of")
    if benchmark.partial_ok or in_sets or not benchmark.datasets or options_of_part(benchmark, rows):
        return False
    expected = spec.load(benchmark.datasets[0].name).expected.get("questions", 0)
    return bool(rows < expected)


def options_of_part(benchmark: Benchmark, rows: int) -> list[str]:
    """Return the options by which a benchmark's published protocol counts just so many rows; [] if none does."""
    options = _of_rows(benchmark, "options_of_part")
    return options(rows) if options else []
