"""Makes each dataset into a task of Inspect, which imports this module by its entry point.

A sample is a row of the dataset; the metrics are the scores of the whole set, computed once when all samples are done,
with Inspect's standard errors by clusters, such as images. Each task takes `dataset` (by default the folder that
`halluscope build` makes), `images` (the folder of image files, if the dataset holds none), `prompt` (the name of
another prompt), and the options of the benchmark.
"""

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from halluscope import registry, scoring
from halluscope.answering.answer import identifying
from halluscope.benchmark import SIGNATURE
from halluscope.files.pictures import data_uri
from halluscope.harness import functions
from halluscope.harness.evaluation import Evaluation, Scored, Settings, marks
from halluscope.harness.functions import CLUSTER
from halluscope.reading.datasets import Row
from halluscope.sanitize import short_repr

# How many encoded images are cached: rows about the same image follow each other
KEPT = 64

# The placeholder for Inspect's log in a command, because a task does not know the log's name
LOG = Path("LOG.eval")

# The tasks' version. It covers the prompts, the image before them, greedy decoding and the length.
VERSION = "1.0"

# The name of the scorer in Inspect, and of its scores in Inspect's log
OURS = "scores"

# Scores by name; standard errors as NAME_stderr
Figures = dict[str, float]

# Name of a row -> the response to it
Responses = Mapping[str, str]


def interim(evaluation: Evaluation, responses: Responses) -> Scored:
    """Score a part of a set without raising errors; return an empty result if a language model judges."""
    if not responses or not _is_judged_by_rules(evaluation):
        return Scored.nothing(responses)
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning that this is not the whole benchmark
        return evaluation.scored(_rows(evaluation, responses), list(responses.values()))
    return Scored.nothing(responses)


def _is_judged_by_rules(evaluation: Evaluation) -> bool:
    """Whether no language model judges."""
    judges = evaluation.benchmark.judges
    if judges is None:
        return True
    named = evaluation.setting.options.get(judges.option)
    if not isinstance(named, list):
        named = [named]
    return set(named) <= set(judges.rules)


def final(evaluation: Evaluation, responses: Responses) -> Scored:
    """Score a whole set, or log how to score it."""
    return evaluation.judged(_rows(evaluation, responses), list(responses.values()), "in the log", LOG)


def figures_of(evaluation: Evaluation, responses: Responses, scored: Scored) -> Figures:
    """Return all scores, and Inspect's standard errors of the means by clusters; NaN where undefined."""
    figures = {}
    for name in evaluation.benchmark.scores:
        figures[name] = float(scored.result.get(name, math.nan))
    clusters = scoring.clusters(evaluation.benchmark, _rows(evaluation, responses))
    for name in evaluation.benchmark.means:
        counted = []
        clusters_of_counted = set()
        for values, cluster in zip(scored.values, clusters, strict=True):
            if name in values:
                metadata = {CLUSTER: str(cluster)}
                counted.append(SampleScore(score=Score(value=values[name]), sample_metadata=metadata))
                clusters_of_counted.add(str(cluster))
        figures[f"{name}_stderr"] = math.nan
        if len(clusters_of_counted) > 1:
            figures[f"{name}_stderr"] = float(stderr(cluster=CLUSTER)(counted))
    return figures


def _rows(evaluation: Evaluation, responses: Responses) -> list[Row]:
    return [evaluation.rows[name] for name in responses]


@dataclass
class _Run:
    # sample's id -> response, for samples that are done
    responses: dict[str, str] = field(default_factory=dict)
    figures: Figures | None = None  # the scores of the whole set; None before all samples are done


# The run of the current context: Inspect may run several tasks or models at the same time
_run: ContextVar[_Run | None] = ContextVar("run", default=None)


@solver
def image_first(evaluation: Evaluation) -> Solver:
    """Put the row's image, if it has one, before the prompt; the image is opened only then."""
    source = evaluation.source

    @lru_cache(KEPT)
    def content(key: Any) -> ContentImage:
        return ContentImage(image=data_uri(source.find(key)))

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        row = evaluation.rows[str(state.sample_id)]
        key = row[source.key]
        if key is not None:
            prompt = state.user_prompt
            prompt.content = [content(key), ContentText(text=prompt.text)]
        return state

    return solve


@scorer(metrics=[], name=OURS)
def scores(evaluation: Evaluation) -> Scorer:
    """Give a response's values of the mean scores; NaN if it does not count, or a language model judges."""
    means = evaluation.benchmark.means

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        values: Mapping[str, float] = {}
        if means:
            values = interim(evaluation, {str(state.sample_id): text}).values[0]
        return Score(value={name: values.get(name, math.nan) for name in means}, answer=text)

    return score


@metric
def whole_set(evaluation: Evaluation) -> Metric:
    """Give the scores and standard errors of all responses; NaN during a run if a language model judges."""

    def figures(scores: list[SampleScore]) -> Value:
        responses = {str(sample.sample_id): sample.score.answer or "" for sample in scores}
        run = _run.get()
        if run is None:
            return figures_of(evaluation, responses, final(evaluation, responses))
        if run.figures is not None and run.responses == responses:
            return run.figures
        return figures_of(evaluation, responses, interim(evaluation, responses))

    return figures


class AtTheEnd:
    """Scores a set when all its samples are done, and writes the signature to the log.

    An early-stopping hook that stops nothing: Inspect calls only such hooks at a run's beginning and end.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        if epochs != 1:
            raise ValueError(
                f"epochs is {epochs}; expected 1: the scores of a whole set need one response per row. Run the task "
                "several times instead, each time with another seed."
            )
        _run.set(_Run())
        return "halluscope"

    async def schedule_sample(self, id: str | int, epoch: int) -> None:
        """Let a sample begin; None stops nothing."""

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, SampleScore]) -> None:
        run = _run.get()
        if run is not None and OURS in scores:
            run.responses[str(id)] = scores[OURS].score.answer or ""

    async def complete_task(self) -> dict[str, Any]:
        """Score the set in a thread of its own: the event loop may still run other tasks."""
        run = _run.get()
        if run is None or not run.responses:
            return {}
        scored = await anyio.to_thread.run_sync(final, self._evaluation, run.responses)
        run.figures = figures_of(self._evaluation, run.responses, scored)
        return {SIGNATURE: scored.result.get(SIGNATURE, "not scored")}


def of_dataset(name: str, prompt: str = "", **settings: Any) -> Task:
    """Return the task of a dataset.

    Args:
        name: the dataset's name.
        prompt: the name of another prompt than the benchmark's own.
        settings: `dataset`, `images`, and the options of the metric; None is as good as not given.

    Raises:
        ValueError: if there is no such prompt or option, or the dataset cannot be read.
    """
    benchmark = registry.benchmark(name)
    if prompt and prompt not in benchmark.prompts:
        known = ", ".join(benchmark.prompts) or "no name, because it has no other prompts"
        raise ValueError(f"{benchmark.name} has no prompt {short_repr(prompt)}; expected {known}.")
    named = {option: value for option, value in settings.items() if value is not None}
    evaluation = Evaluation.open(name, prompt, Settings.of(name, named), keep=1)
    return Task(
        dataset=MemoryDataset(_samples(evaluation), evaluation.source.name),
        setup=image_first(evaluation),
        solver=generate(),
        scorer=scores(evaluation),
        metrics=[whole_set(evaluation)],
        config=GenerateConfig(temperature=0.0, max_tokens=benchmark.max_new_tokens),
        early_stopping=AtTheEnd(evaluation),
        headline_metric=HeadlineMetric(metric=benchmark.principal),
        version=VERSION,
    )


def _samples(evaluation: Evaluation) -> list[Sample]:
    """Return the rows as Inspect's samples."""
    marks_of_task = marks(evaluation.name, evaluation.prompt)
    clusters = scoring.clusters(evaluation.benchmark, list(evaluation.rows.values()))
    samples = []
    for (id, row), cluster in zip(evaluation.rows.items(), clusters, strict=True):
        doc = dict(row) | marks_of_task
        # by these a response is matched to its row later
        metadata = marks_of_task | identifying(row, evaluation.source.dataset.key)
        metadata[CLUSTER] = str(cluster)
        sample = Sample(input=functions.prompt(doc), target=functions.target(doc), id=id, metadata=metadata)
        samples.append(sample)
    return samples


# The tasks: Inspect finds functions at the level of a module, each by its name, which is its dataset's


@task
def throne_coco(**settings: Any) -> Task:
    return of_dataset("throne_coco", **settings)


@task
def throne_objects365(**settings: Any) -> Task:
    return of_dataset("throne_objects365", **settings)


@task
def pope(**settings: Any) -> Task:
    return of_dataset("pope", **settings)


@task
def pope_c(**settings: Any) -> Task:
    return of_dataset("pope_c", **settings)


@task
def pope_c_objects365(**settings: Any) -> Task:
    return of_dataset("pope_c_objects365", **settings)


@task
def repope(**settings: Any) -> Task:
    return of_dataset("repope", **settings)


@task
def amber(**settings: Any) -> Task:
    return of_dataset("amber", **settings)


@task
def openchair(**settings: Any) -> Task:
    return of_dataset("openchair", **settings)


@task
def hallusionbench(**settings: Any) -> Task:
    return of_dataset("hallusionbench", **settings)


@task
def hqh(**settings: Any) -> Task:
    return of_dataset("hqh", **settings)


@task
def mmhal(**settings: Any) -> Task:
    return of_dataset("mmhal", **settings)


@task
def gavie(**settings: Any) -> Task:
    return of_dataset("gavie", **settings)


@task
def haloquest(**settings: Any) -> Task:
    return of_dataset("haloquest", **settings)


@task
def dash_b(**settings: Any) -> Task:
    return of_dataset("dash_b", **settings)


@task
def llava_bench(**settings: Any) -> Task:
    return of_dataset("llava_bench", **settings)


@task
def object_halbench(**settings: Any) -> Task:
    return of_dataset("object_halbench", **settings)


@task
def mme(**settings: Any) -> Task:
    return of_dataset("mme", **settings)


@task
def humblebench(**settings: Any) -> Task:
    return of_dataset("humblebench", **settings)
