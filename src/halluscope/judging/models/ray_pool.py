"""Models in several processes, on several GPUs or machines, through Ray (the extra `ray`).

A worker that dies is started again, and gets its task again. Only this process writes the cache.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import Answered, Judge, Pairs
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

    Each has a GPU of its own if there are any and `on_gpus` is true, or else a share of this machine's CPUs.
    """

    def __init__(self, make: Callable[[], Any], name: str, workers: int, on_gpus: bool = True) -> None:
        with needs(f"workers={workers}", "ray"):
            import ray
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        gpus = int(ray.cluster_resources().get("GPU", 0)) if on_gpus else 0
        if 0 < gpus < workers:
            raise ValueError(
                f"workers is {workers}, but there are {gpus} GPUs; expected at most one worker per GPU."
            )
        self.size, self.has_gpus, self.actors = workers, bool(gpus), list[Any]()
        self._ray, self._name = ray, name
        threads = 0 if gpus else max(1, (os.cpu_count() or 1) // workers)
        options = {"num_cpus": 0, "num_gpus": int(self.has_gpus), "scheduling_strategy": "SPREAD"}
        worker = ray.remote(**options, max_restarts=LIVES - 1, max_task_retries=LIVES - 1)(_Worker)
        self._hire: Callable[[], Any] = lambda: worker.remote(threads, make)

    def each(self, function: Callable[[Any], Any], number: int | None = None) -> list[Any]:
        """Start workers up to a number, all by default, and return what a function returns for what each holds."""
        while len(self.actors) < (number or self.size):
            self.actors.append(self._hire())
        started = [actor.call.remote(function) for actor in self.actors]
        return [self._result(task, PATIENCE_S) for task in started]

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield what a function returns for what a worker holds and each task's values, as results come."""
        waiting, idle, at_work = iter(tasks), [*self.actors], dict[Any, Any]()
        while True:
            while idle and (task := next(waiting, None)) is not None:
                actor = idle.pop()
                at_work[actor.call.remote(function, *task)] = actor
            if not at_work:
                return
            (done,), _ = self._ray.wait([*at_work], num_returns=1)
            idle.append(at_work.pop(done))
            yield self._result(done)

    def close(self) -> None:
        while self.actors:
            self._ray.kill(self.actors.pop())

    def _result(self, task: Any, timeout: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            result, remarks = self._ray.get(task, timeout=timeout)
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
        for remark in remarks:
            warnings.warn(remark, stacklevel=3)
        return result


class _Worker:
    def __init__(self, threads: int, make: Callable[[], Any]) -> None:
        self._threads, self._make = threads, make

    @cached_property
    def _held(self) -> Any:
        """What the worker holds, made when it is first needed, so that its errors reach the caller as they are."""
        held = self._make()
        if self._threads:
            import torch

            torch.set_num_threads(self._threads)
        return held

    def call(self, function: Callable[..., Any], *values: Any) -> tuple[Any, list[str]]:
        """Return what a function returns, and the warnings meanwhile."""
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always", UserWarning)
            result = function(self._held, *values)
        return result, [str(one.message) for one in remarks if issubclass(one.category, UserWarning)]


class RayPool:
    """One judge in several workers. Questions are handed out a share at a time, about the shortest texts first."""

    stored = True

    def __init__(self, make: Callable[[], Judge], name: str, workers: int, on_gpus: bool = True) -> None:
        self.pool = Pool(make, name, workers, on_gpus)
        (self.key,) = self.pool.each(attrgetter("key"), 1)
        if self.pool.has_gpus:  # until this judge is asked, another judge's workers may need the GPUs
            self.close()

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair once; yield shares as the workers return them."""
        if others := {*self.pool.each(attrgetter("key"))} - {self.key}:
            raise JudgeUnavailable(
                f"A worker holds the judge {others.pop()}, but another holds {self.key}; every machine needs the same "
                "model and devices."
            )
        size = max(SHARE, len(pairs) // (SHARES_PER_GPU * self.pool.size))
        size = min(size, LARGEST_SHARE if self.pool.has_gpus else SHARE)
        lengths = np.array([len(text) for text in texts])
        order = np.lexsort((pairs[:, 0], lengths[pairs[:, 0]]))

        def tasks() -> Iterator[tuple[Any, ...]]:
            for rows in np.split(order, range(size, len(order), size)):
                used, places = np.unique(pairs[rows, 0], return_inverse=True)
                about = np.column_stack([places, pairs[rows, 1]])
                yield rows, [texts[i] for i in used], list(questions), about

        return self.pool.map(_votes, tasks())

    def close(self) -> None:
        self.pool.close()


def _votes(judge: Judge, rows: NDArray[np.int64], *asked: Any) -> Answered:
    codes = np.empty(len(rows), dtype=np.int8)
    for places, some, *_ in judge.answer(*asked):
        codes[places] = some
    return rows, codes
