"""Models in several processes, on several GPUs or machines, through Ray (the extra `ray`).

A worker that dies is started again, and gets its task again. Only this process writes the cache.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import AnsweredBy, Pairs, Voter
from halluscope.judging.questions import Question

# The least number of questions, approximately, that a worker gets at a time
SHARE = 512

# The largest number of questions that a worker gets at a time, on a GPU: large batches of one length need many
LARGEST_SHARE = 32_768

# The number of shares per GPU into which many questions are divided, so that no GPU waits long for the last one
SHARES_PER_GPU = 4

# How long a worker may take to start, in seconds
PATIENCE_S = 600

# How often a worker may die before it is an error
LIVES = 3


class Pool:
    """Workers that each hold what `make` makes; all that it needs must be on every worker's machine.

    Each has a GPU of its own if there are any and the device is not "cpu", or else a share of this machine's CPUs.
    """

    def __init__(self, make: Callable[[], Any], name: str, workers: int, device: str | None) -> None:
        with needs(f"workers={workers}", "ray"):
            import ray
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        gpus = 0
        if device != "cpu":
            gpus = int(ray.cluster_resources().get("GPU", 0))
        if 0 < gpus < workers:
            raise ValueError(
                f"workers is {workers}, but there are {gpus} GPUs; expected at most one worker per GPU."
            )
        self.size = workers
        self.has_gpus = gpus > 0
        self.actors: list[Any] = []  # the workers that are running
        self._ray = ray
        self._name = name
        self._make = make
        self._threads = 0  # for computing on a CPU; 0 leaves their number to torch
        if not self.has_gpus:
            self._threads = max(1, (os.cpu_count() or 1) // workers)
        self._worker = ray.remote(
            num_cpus=0,
            num_gpus=int(self.has_gpus),
            scheduling_strategy="SPREAD",
            max_restarts=LIVES - 1,
            max_task_retries=LIVES - 1,
        )(_Worker)

    def each(self, function: Callable[[Any], Any], number: int | None = None) -> list[Any]:
        """Start workers up to a number, all by default, and return what a function returns for what each holds."""
        while len(self.actors) < (number or self.size):
            self.actors.append(self._worker.remote(self._threads, self._make))
        tasks = [actor.call.remote(function) for actor in self.actors]
        return [self._result(task, PATIENCE_S) for task in tasks]

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield what a function returns for what a worker holds and each task's values, as results come."""
        waiting = iter(tasks)
        idle = list(self.actors)
        working: dict[Any, Any] = {}  # the worker at each task
        while True:
            while idle:
                values = next(waiting, None)
                if values is None:
                    break
                actor = idle.pop()
                working[actor.call.remote(function, *values)] = actor
            if not working:
                return
            (done,), _ = self._ray.wait(list(working), num_returns=1)
            idle.append(working.pop(done))
            yield self._result(done)

    def close(self) -> None:
        """End all workers; they are started again when they are needed."""
        while self.actors:
            self._ray.kill(self.actors.pop())

    def _result(self, task: Any, timeout: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            outcome = self._ray.get(task, timeout=timeout)
        except errors.GetTimeoutError as error:
            raise JudgeUnavailable(
                f"No worker of the model {self._name!r} has started in {timeout} s; are the cluster's GPUs in use? "
                "`ray status` shows it."
            ) from error
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:  # out of memory, for example, or it cannot be reached
            raise JudgeUnavailable(
                f"A worker of the model {self._name!r} died {LIVES} times; the last: {error}"
            ) from error
        for warning in outcome.warnings:
            warnings.warn(warning, stacklevel=3)
        return outcome.result


@dataclass(frozen=True)
class _Outcome:
    """What a call in a worker came to."""

    result: Any
    warnings: list[str]


class _Worker:
    """What runs in a worker's process."""

    def __init__(self, threads: int, make: Callable[[], Any]) -> None:
        self._threads = threads
        self._make = make

    @cached_property
    def _content(self) -> Any:
        """What the worker holds, made when it is first needed, so that its errors reach the caller as they are."""
        content = self._make()
        if self._threads:
            import torch

            torch.set_num_threads(self._threads)
        return content

    def call(self, function: Callable[..., Any], *values: Any) -> _Outcome:
        """Return what a function returns for what the worker holds, and the warnings meanwhile."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result = function(self._content, *values)
        texts = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
        return _Outcome(result, texts)


class RayPool(Voter):
    """One judge in several workers. Questions are handed out a share at a time, about the shortest texts first."""

    def __init__(self, make: Callable[[], Voter], name: str, workers: int, device: str | None) -> None:
        self.pool = Pool(make, name, workers, device)
        (self._key,) = self.pool.each(attrgetter("key"), 1)
        if self.pool.has_gpus:  # until this judge is asked, another judge's workers may need the GPUs
            self.close()

    @property
    def key(self) -> str:
        return str(self._key)

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair once; yield shares as the workers return them."""
        for key in self.pool.each(attrgetter("key")):
            if key != self.key:
                raise JudgeUnavailable(
                    f"A worker holds the judge {key}, but another holds {self.key}; every machine needs the same "
                    "model and devices."
                )
        return self.pool.map(_votes, self._shares(texts, questions, pairs))

    def _shares(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of `_votes`, share by share, each with only the texts that it asks about."""
        size = max(SHARE, len(pairs) // (SHARES_PER_GPU * self.pool.size))
        size = min(size, LARGEST_SHARE if self.pool.has_gpus else SHARE)
        lengths = np.array([len(text) for text in texts])
        order = np.lexsort((pairs[:, 0], lengths[pairs[:, 0]]))
        for rows in np.split(order, range(size, len(order), size)):
            numbers, places = np.unique(pairs[rows, 0], return_inverse=True)
            own_texts = [texts[number] for number in numbers]
            own_pairs = np.column_stack([places, pairs[rows, 1]])
            yield rows, own_texts, list(questions), own_pairs

    def close(self) -> None:
        self.pool.close()


def _votes(
    judge: Voter, rows: NDArray[np.int64], texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> AnsweredBy:
    """Return a judge's votes on a share, of which the pairs have these numbers among all pairs."""
    codes = np.empty(len(rows), dtype=np.int8)
    margins = np.full(len(rows), np.nan)
    for batch in judge.answer(texts, questions, pairs):
        codes[batch[0]] = batch[1]
        if len(batch) == 3:
            margins[batch[0]] = batch[2]
    return rows, codes, margins
