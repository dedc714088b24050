"""A vision-language model in several processes, on several GPUs or machines, through Ray (the extra `ray`)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PIL.Image import Image

from halluscope.answering.model import Asked, Said
from halluscope.answering.vlm import Vlm
from halluscope.judging.models import ray_pool

# How many batches each worker gets before all of their responses are awaited
BATCHES = 8


class Workers:
    """One model in several workers, each with a GPU if there are any; a batch goes to a worker that is free.

    Raises:
        MissingExtra: without ray.
        ValueError: for more workers than GPUs, or a model that cannot be loaded.
    """

    def __init__(self, model: str, device: str | None, workers: int, batch_size: int) -> None:
        self._ray, gpus, hire = ray_pool.start(_Worker, workers, on_gpus=device != "cpu")
        self._workers = [hire(model, device if gpus else "cpu") for _ in range(workers)]
        self._batch_size = batch_size
        self.key, self.chat = self._get(self._workers[0].about.remote())

    def check_turns(self) -> None:
        """Check that the model can be shown an earlier turn."""
        self._get(self._workers[0].check_turns.remote())

    def window(self, batch_size: int, first: bool) -> int:
        """Return how many questions to hand over at a time."""
        return batch_size * len(self._workers) * BATCHES

    def replies(
        self, asked: Sequence[Asked], max_new_tokens: int, temperature: float = 0.0
    ) -> Iterator[tuple[int, Said]]:
        """Yield each question's index with its response, batch by batch as workers return them."""
        size = self._batch_size
        waiting = [(start, list(asked[start : start + size])) for start in range(0, len(asked), size)]
        idle: list[Any] = list(self._workers)
        at_work: dict[Any, tuple[Any, int]] = {}
        while waiting or at_work:
            while waiting and idle:
                begin, some = waiting.pop(0)
                worker = idle.pop()
                opened = [
                    replace(one, image=partial(_same, one.image()) if one.image else None) for one in some
                ]
                at_work[worker.replies.remote(opened, max_new_tokens, temperature)] = worker, begin
            done = self._ray.wait(list(at_work), num_returns=1)[0][0]
            worker, begin = at_work.pop(done)
            for place, said in self._get(done):
                yield begin + place, said
            idle.append(worker)

    def _get(self, task: Any) -> Any:
        """Return what a worker returned, or raise the error that it raised."""
        try:
            return self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error


class _Worker:
    """Runs in a process of its own."""

    def __init__(self, threads: int, model: str, device: str | None) -> None:
        ray_pool.set_threads(threads)
        self._load = partial(Vlm, model, device)
        self._vlm: Vlm | None = None

    def about(self) -> tuple[str, str]:
        return self._model.key, self._model.chat

    def check_turns(self) -> None:
        self._model.check_turns()

    def replies(self, asked: list[Asked], max_new_tokens: int, temperature: float) -> list[tuple[int, Said]]:
        return list(self._model.replies(asked, max_new_tokens, temperature))

    @property
    def _model(self) -> Vlm:
        """The model, loaded when it is first needed, so that its errors reach the caller as they are."""
        self._vlm = self._vlm or self._load()
        return self._vlm


def _same(image: Image) -> Image:
    return image
