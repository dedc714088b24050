"""The benchmarks as tasks of Inspect, one per dataset: `inspect eval halluscope/pope --model openai/gpt-4o`.

Inspect imports this module by its entry point. A sample is a row of the dataset; its image is put before the prompt
when its turn comes. A sample's score holds what the row adds to the scores that are means. The metrics are those of the
whole set, scored once when all samples are there, with Inspect's standard errors by clusters, such as images.
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
"""How many images are kept as they were sent: rows about one image follow each other."""

LOG = Path("LOG.eval")
"""Stands for Inspect's log in a command: nobody tells a task where it is."""

VERSION = "1.0"
"""Of the tasks: the prompts, the image before them, greedy decoding and the length are part of it."""

OURS = "scores"
"""What Inspect calls the scorer, and in its log what came of it."""

Figures = dict[str, float]
"""Scores by name; standard errors as NAME_stderr."""


@dataclass
class _Run:
    """A run of a task.

    Attributes:
        said: by the samples that are done.
        figures: of the whole set; None before all samples are done.
    """

    said: dict[str, str] = field(default_factory=dict)
    figures: Figures | None = None


_run: ContextVar[_Run | None] = ContextVar("run", default=None)
"""The run that is under way where somebody looks: Inspect runs several tasks, or models, at the same time."""


@solver
def image_first(asked: Asked) -> Solver:
    """Put the row's image, if it has one, before the prompt; it is opened only now."""
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
    """An image as a data URI: a JPEG as it is stored, any other as PNG, which loses nothing."""
    content, kind = BytesIO(), "png"
    if isinstance(image, JpegImageFile) and image.fp is not None:
        image.fp.seek(0)
        content, kind = BytesIO(image.fp.read()), "jpeg"
    else:
        image.save(content, "PNG")
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


@scorer(metrics=[], name=OURS)
def scores(asked: Asked) -> Scorer:
    """What a response adds to the scores that are means."""

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        return Score(value=asked.added(str(state.sample_id), text), answer=text)

    return score


@metric
def whole_set(asked: Asked) -> Metric:
    """The scores of all responses together, as `halluscope score` has them, and the standard errors of means.

    Inspect asks for them while a run goes on as well, to show them. If a language model judges they are NaN until all
    samples are done.
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
    """Inspect's standard error of a mean by clusters; NaN for fewer than two of them."""
    known = [
        SampleScore(score=Score(value=added[name]), sample_metadata={CLUSTER: cluster})
        for added, cluster in zip(each, clusters, strict=True)
        if name in added
    ]
    several = len({str(one.sample_metadata) for one in known}) > 1
    return float(stderr(cluster=CLUSTER)(known)) if several else math.nan


class AtTheEnd:
    """Scores a set when all its samples are done, and puts the signature into the log.

    Inspect tells nobody of a run's beginning and end but who may stop it early, and keeps what that one says in the
    log, as `results.early_stopping.metadata`. This one stops nothing.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        """A run begins.

        Raises:
            ValueError: for several epochs.
        """
        if epochs != 1:
            raise ValueError(
                f"epochs is {epochs}; expected 1: scores of a whole set are of one response per row. Run the task "
                "several times instead, each with a seed of its own."
            )
        _run.set(_Run())
        return "halluscope"

    async def schedule_sample(self, id: str | int, epoch: int) -> None:
        """A sample is about to begin; none is stopped."""

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, SampleScore]) -> None:
        """A sample is done."""
        run = _run.get()
        if run and OURS in scores:
            run.said[str(id)] = scores[OURS].score.answer or ""

    async def complete_task(self) -> dict[str, Any]:
        """All samples are done: the set is scored beside the event loop, on which other tasks may still ask."""
        run = _run.get()
        if not run or not run.said:
            return {}
        result, each = await anyio.to_thread.run_sync(self._asked.score, run.said, LOG)
        run.figures = _figures(self._asked, run.said, result, each)
        return {SIGNATURE: result.get(SIGNATURE, "not scored")}


def _register(name: str) -> Any:
    """The task of a dataset."""
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
        dataset: a folder or a Hub id; by default where `halluscope build` puts it.
        images: the folder of image files, if the dataset has none.
        prompt: the name of what is asked instead of the benchmark's own prompt.
        options: of the benchmark, such as those of its judges.
    """
    return task(name=name)(of_dataset)


def _check_prompt(benchmark: Benchmark, prompt: str) -> None:
    """Check the name of a prompt; "" stands for the benchmark's own.

    Raises:
        ValueError: for a name that it does not have.
    """
    if prompt and prompt not in benchmark.prompts:
        known = ", ".join(benchmark.prompts) or "none, for it has no other"
        raise ValueError(f"{benchmark.name} has no prompt {brief(prompt)}; expected {known}.")


def _samples(asked: Asked) -> list[Sample]:
    """The rows, without their images."""
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
