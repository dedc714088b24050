"""A judge in several processes, on several GPUs or machines, through Ray (the extra `ray`).

Each worker holds the judge. Texts are handed out a few at a time, the shortest first. Votes come back batch by batch to
this process, the only one that writes the cache. A worker that dies is replaced, and only the questions that it had not
voted on are asked again.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import Answered, Judge, Pairs
from halluscope.judging.questions import Question

# The least number of questions, approximately, that a worker gets at a time
SHARE = 2_048

# The largest number of questions that a worker gets at a time, on a GPU: large batches of one length need many
LARGEST_SHARE = 32_768

# The number of shares per GPU into which many questions are divided, so that no GPU waits long for the last one
SHARES_PER_GPU = 4

# How long a worker may take to start, in seconds
PATIENCE_S = 600

# How many workers may die over the same texts before it is an error
LIVES = 3


class RayPool:
    """One judge in several workers, at most one per GPU, if the cluster has GPUs and `on_gpus` is true.

    `make` makes the judge in each worker; all that it needs must be on every worker's machine. `name` is the judge's
    name, for messages.
    """

    stored = True

    def __init__(self, make: Callable[[], Judge], name: str, workers: int, on_gpus: bool = True) -> None:
        self._ray, gpus, self._start = start(_Worker, workers, on_gpus)
        self._make, self._name, self._number = make, name, workers
        self._hired: list[Any] = []
        self._largest = LARGEST_SHARE if gpus else SHARE
        self.key = ""
        self._hire()
        if gpus:  # until this judge is asked, another judge's workers may need the GPUs
            self.close()

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair once; yield batches as the workers return them."""
        ray = self._ray
        size = min(self._largest, max(SHARE, len(pairs) // (SHARES_PER_GPU * self._number)))
        waiting = deque((rows, LIVES) for rows in _shares(texts, pairs, size))
        idle = list(self._hired)
        # for each stream of votes: the worker, its rows of `pairs`, which of them have votes, and how many workers may
        # still die over them
        at_work: dict[Any, tuple[Any, NDArray[np.int64], NDArray[np.bool_], int]] = {}
        while waiting or at_work:
            while waiting and (idle or len(at_work) < self._number):
                rows, lives = waiting.popleft()
                worker = idle.pop() if idle else self._hire()
                used, places = np.unique(pairs[rows, 0], return_inverse=True)
                about, asked = np.column_stack([places, pairs[rows, 1]]), [texts[i] for i in used]
                stream = worker.answer.options(num_returns="streaming").remote(asked, list(questions), about)
                at_work[stream] = worker, rows, np.zeros(len(rows), dtype=bool), lives
            stream = ray.wait(list(at_work), num_returns=1)[0][0]
            worker, rows, answered, lives = at_work[stream]
            try:
                given, codes, remarks = ray.get(next(stream))
            except StopIteration:
                del at_work[stream]
                idle.append(worker)
            except ray.exceptions.RayTaskError as error:
                raise JudgeUnavailable(f"A worker of the judge {self.key} failed: {error.cause}") from error
            except ray.exceptions.RayError as error:
                # The worker died, was killed because of its memory, or cannot be reached.
                del at_work[stream]
                self._dismiss(worker)
                if lives == 1:
                    raise JudgeUnavailable(
                        f"{LIVES} workers of the judge {self.key} died over the same texts; the last: {error}"
                    ) from error
                waiting.appendleft((rows[~answered], lives - 1))
            else:
                for remark in remarks:
                    warnings.warn(remark, stacklevel=2)
                answered[given] = True
                yield rows[given], codes

    def close(self) -> None:
        for worker in list(self._hired):
            self._dismiss(worker)

    def _dismiss(self, worker: Any) -> None:
        self._hired.remove(worker)
        self._ray.kill(worker)

    def _hire(self) -> Any:
        """Start a worker, and check that its judge has this pool's key; the first worker's is this key."""
        worker = self._start(self._make)
        self._hired.append(worker)
        try:
            key = str(self._ray.get(worker.key.remote(), timeout=PATIENCE_S))
        except self._ray.exceptions.GetTimeoutError as error:
            raise JudgeUnavailable(
                f"No worker of the judge {self._name!r} has started in {PATIENCE_S} s; are the cluster's GPUs in use? "
                "`ray status` shows it."
            ) from error
        except self._ray.exceptions.RayError as error:
            raise JudgeUnavailable(f"A worker cannot load the judge {self._name!r}: {error}") from error
        self.key = self.key or key
        if key != self.key:
            raise JudgeUnavailable(
                f"A worker holds the judge {key}, but another holds {self.key}; every machine needs the same model and "
                "devices."
            )
        return worker


def start(worker: type, workers: int, on_gpus: bool = True) -> tuple[Any, int, Callable[..., Any]]:
    """Start Ray, and return it, how many GPUs it has (0 if workers do not use any), and what starts one worker.

    Each worker has a GPU of its own if there are any. Otherwise it divides this machine's CPUs with the others.
    """
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
    threads = 0 if gpus else max(1, (os.cpu_count() or 1) // workers)
    remote = ray.remote(num_cpus=0, num_gpus=1 if gpus else 0, scheduling_strategy="SPREAD")(worker)
    return ray, gpus, lambda *arguments: remote.remote(threads, *arguments)


def set_threads(threads: int) -> None:
    """Let torch use this many threads; 0 leaves it as it is."""
    if threads:
        import torch

        torch.set_num_threads(threads)


class _Worker:
    def __init__(self, threads: int, make: Callable[[], Judge]) -> None:
        self._judge = make()
        set_threads(threads)

    def key(self) -> str:
        return self._judge.key

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[tuple[Any, Any, list[str]]]:
        """Yield rows, votes, and the judge's warnings meanwhile."""
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always", UserWarning)
            for rows, codes, *_ in self._judge.answer(texts, questions, pairs):
                said = [str(one.message) for one in remarks if issubclass(one.category, UserWarning)]
                remarks.clear()
                yield rows, codes, said


def _shares(texts: Sequence[str], pairs: Pairs, size: int) -> list[NDArray[np.int64]]:
    """Return the rows of `pairs` in shares of whole texts, the shortest first, each of about `size` questions."""
    lengths = np.array([len(text) for text in texts])
    order = np.lexsort((pairs[:, 0], lengths[pairs[:, 0]]))
    begins_text = np.flatnonzero(np.diff(pairs[order, 0], prepend=-1))
    cuts = [begins_text[begins_text >= least][:1] for least in range(size, len(order), size)]
    return np.split(order, np.unique(np.concatenate(cuts)) if cuts else [])
