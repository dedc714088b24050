"""Defines the benchmarks as Inspect's tasks, one per dataset: `inspect eval halluscope/pope --model openai/gpt-4o`.

Inspect imports this module by its entry point. A sample is a row of the dataset; its image is put before the prompt
only when the sample is run. A sample's score holds the row's values of the scores that are means. The metrics are the
scores of the whole set, computed once when all samples are done, with Inspect's standard errors by clusters, such as
images.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from PIL.Image import Image
from PIL.JpegImagePlugin import JpegImageFile

from halluscope import registry
from halluscope.foreign import brief
from halluscope.harness import functions, settings
from halluscope.harness.asked import Asked, Said
from halluscope.harness.functions import CLUSTER
from halluscope.registry import SIGNATURE, Benchmark

KEPT = 64
"""How many encoded images are cached: rows about the same image follow each other."""

LOG = Path("LOG.eval")
"""The placeholder for Inspect's log in a command, because a task does not know the log's name."""

VERSION = "1.0"
"""The tasks' version. It covers the prompts, the image before them, greedy decoding and the length."""

OURS = "scores"
"""The name of the scorer in Inspect, and of its scores in Inspect's log."""

Figures = dict[str, float]
"""Scores by name; standard errors as NAME_stderr."""


@dataclass
class _Run:
    """A run of a task.

    Attributes:
        said: sample's id -> response, for samples that are done.
        figures: the scores of the whole set; None before all samples are done.
    """

    said: dict[str, str] = field(default_factory=dict)
    figures: Figures | None = None


_run: ContextVar[_Run | None] = ContextVar("run", default=None)
"""The run of the current context: Inspect may run several tasks or models at the same time."""


@solver
def image_first(asked: Asked) -> Solver:
    """Put the row's image, if it has one, before the prompt; the image is opened only then."""
    source = asked.source
    shown = lru_cache(KEPT)(lambda key: ContentImage(image=data_uri(source.find(key))))

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        key = asked.rows[str(state.sample_id)][source.key]
        if key is not None:
            prompt = state.user_prompt
            prompt.content = [shown(key), ContentText(text=prompt.text)]
        return state

    return solve


def data_uri(image: Image) -> str:
    """Return an image as a data URI: a JPEG as it is stored, any other image as a PNG, which is lossless."""
    content, kind = BytesIO(), "png"
    if isinstance(image, JpegImageFile) and image.fp is not None:
        image.fp.seek(0)
        content, kind = BytesIO(image.fp.read()), "jpeg"
    else:
        image.save(content, "PNG")
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


@scorer(metrics=[], name=OURS)
def scores(asked: Asked) -> Scorer:
    """Make the scorer, which gives a response's values of the scores that are means."""

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        return Score(value=asked.added(str(state.sample_id), text), answer=text)

    return score


@metric
def whole_set(asked: Asked) -> Metric:
    """Make the metric: the scores of all responses, as `halluscope score` computes them, and standard errors of means.

    Inspect also shows them while a run is going on. If a language model judges, they are NaN until all samples are
    done.
    """

    def figures(scores: list[SampleScore]) -> Value:
        said = {str(one.sample_id): one.score.answer or "" for one in scores}
        run = _run.get()
        if run and run.figures and run.said == said:
            return run.figures
        found = asked.so_far(said) if run else asked.score(said, LOG)
        return _figures(asked, said, *found)

    return figures


def _figures(
    asked: Asked, said: Said, result: Mapping[str, Any], each: Sequence[Mapping[str, float]]
) -> Figures:
    benchmark, clusters = asked.benchmark, asked.clusters(said)
    scores = {name: float(result.get(name, math.nan)) for name in benchmark.scores}
    errors = {f"{name}_stderr": _error(name, each, clusters) for name in benchmark.means}
    return scores | errors


def _error(name: str, each: Sequence[Mapping[str, float]], clusters: Sequence[str]) -> float:
    """Return Inspect's standard error of a mean by clusters; NaN for fewer than two clusters."""
    known = [
        SampleScore(score=Score(value=added[name]), sample_metadata={CLUSTER: cluster})
        for added, cluster in zip(each, clusters, strict=True)
        if name in added
    ]
    several = len({str(one.sample_metadata) for one in known}) > 1
    return float(stderr(cluster=CLUSTER)(known)) if several else math.nan


class AtTheEnd:
    """Scores a set when all its samples are done, and writes the signature to the log.

    It is an early-stopping hook that stops nothing: only such hooks are called at a run's beginning and end, and
    Inspect logs what they return as `results.early_stopping.metadata`.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """Prepare for a run, which Inspect is about to begin.

        Raises:
            ValueError: for several epochs.
        """
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
        """Keep the response of a sample that is done."""
        run = _run.get()
        if run and OURS in scores:
            run.said[str(id)] = scores[OURS].score.answer or ""

    async def complete_task(self) -> dict[str, Any]:
        """Score the set after all samples are done, in its own thread: the event loop may still run other tasks."""
        run = _run.get()
        if not run or not run.said:
            return {}
        result, each = await anyio.to_thread.run_sync(self._asked.score, run.said, LOG)
        run.figures = _figures(self._asked, run.said, result, each)
        return {SIGNATURE: result.get(SIGNATURE, "not scored")}


def _register(name: str) -> Any:
    """Define the task of a dataset."""
    benchmark = registry.benchmark(name)

    def of_dataset(
        dataset: str | None = None, images: str | None = None, prompt: str = "", **options: Any
    ) -> Task:
        _check_prompt(benchmark, prompt)
        given = {"dataset": dataset, "images": images, **options}
        setting = settings.read(name, {key: value for key, value in given.items() if value is not None})
        asked = Asked.open(name, prompt, setting)
        return Task(
            dataset=MemoryDataset(_samples(asked), asked.source.name),
            setup=image_first(asked),
            solver=generate(),
            scorer=scores(asked),
            metrics=[whole_set(asked)],
            config=GenerateConfig(temperature=0.0, max_tokens=benchmark.max_new_tokens),
            early_stopping=AtTheEnd(asked),
            headline_metric=HeadlineMetric(metric=benchmark.principal),
            version=VERSION,
        )

    of_dataset.__doc__ = f"""{benchmark.title}: {benchmark.about}.

    Args:
        dataset: a folder or a Hub id; by default the folder that `halluscope build` makes.
        images: the folder of image files, if the dataset holds no images.
        prompt: the name of a prompt to use instead of the benchmark's own.
        options: the options of the benchmark, such as those of its judges.
    """
    return task(name=name)(of_dataset)


def _check_prompt(benchmark: Benchmark, prompt: str) -> None:
    """Check the name of a prompt; "" stands for the benchmark's own.

    Raises:
        ValueError: for a name that the benchmark does not have.
    """
    if prompt and prompt not in benchmark.prompts:
        known = ", ".join(benchmark.prompts) or "no name, because it has no other prompts"
        raise ValueError(f"{benchmark.name} has no prompt {brief(prompt)}; expected {known}.")


def _samples(asked: Asked) -> list[Sample]:
    """Return the rows as samples, without their images."""
    documents, clusters = asked.documents(), asked.clusters(dict.fromkeys(asked.rows, ""))
    return [
        Sample(
            input=functions.prompt(document),
            target=functions.target(document),
            id=id,
            metadata=asked.told(document, cluster),
        )
        for id, document, cluster in zip(asked.rows, documents, clusters, strict=True)
    ]


TASKS = {
    dataset.name: _register(dataset.name)
    for benchmark in registry.benchmarks()
    for dataset in benchmark.datasets
}
"""The tasks by the names of their datasets."""
