"""Vision-language models: of transformers, here or in Ray's workers, or behind an OpenAI-compatible server.

Each has `key`, the model's name and all about it that can change a response, never a path; `chat`, which tells chat
templates apart; `check_turns`, which checks that the model can be shown an earlier turn; `at_once`, how many batches it
answers at a time; and `replies`, which yields each question's index with its response, as they come.

A model of transformers decodes greedily, or draws tokens from its whole distribution at a temperature: greedy decoding
of the scores with added noise (Gumbel's). Each question has its own seed, so its response depends on no other question.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from PIL.Image import Image

from halluscope.errors import JudgingFailed, needs
from halluscope.files.pictures import data_uri
from halluscope.judging.client import DOWN_AFTER, ENDPOINT, Failure
from halluscope.judging.endpoint import (
    EMPTY,
    ENDS,
    LENGTH,
    Endpoint,
    chat_of,
    disarmed,
    end_of,
    part_of,
    reply_of,
)
from halluscope.judging.judge import AT_ONCE, MOST_WORKERS, check_workers
from halluscope.judging.models import weights
from halluscope.judging.models.language_model import placed
from halluscope.judging.models.ray_pool import Pool
from halluscope.network import hub_or_cache
from halluscope.paths import path_of
from halluscope.sanitize import one_line, redact
from halluscope.validation import whole

# The device that spreads a model over all GPUs (needs accelerate)
SEVERAL_GPUS = "auto"

# How many batches each worker gets before all responses to a first turn are awaited
BATCHES = 8

# The largest image that is sent, in megabytes; OpenAI takes no larger ones
LARGEST_IMAGE = 20

# How long a server may be silent, in seconds
TIMEOUT = 300.0

# The keys of a message for what a model thought before its response
REASONING = ("reasoning_content", "reasoning")

# Three turns by which `check_turns` finds out whether a chat template shows all of them
TURNS = ("What is there?", "There is a cup.", "Is it?")


@dataclass(frozen=True)
class Asked:
    """A question to a model."""

    turns: tuple[str, ...]  # the prompt, after a first turn and its reply if there is one
    image: Callable[[], Image] | None  # opens the image; None for a question without one
    seed: int | None = None  # of the draw; None for the likeliest response


@dataclass(frozen=True)
class Response:
    """A model's response."""

    text: str
    columns: dict[str, Any] = field(default_factory=dict)  # further columns of its line


@dataclass(frozen=True)
class Draws:
    """How the responses to a batch of prompts are drawn."""

    temperature: float
    seeds: Sequence[int]  # a seed per prompt


def batches(questions: Sequence[Asked], size: int) -> Iterator[list[int]]:
    """Yield the indices of questions that run together: all have an image, or none has."""
    batch: list[int] = []
    with_image = False
    for index, question in enumerate(questions):
        has_image = question.image is not None
        if batch and (len(batch) == size or has_image != with_image):
            yield batch
            batch = []
        with_image = has_image
        batch.append(index)
    if batch:
        yield batch


class Noise:
    """Adds noise to the scores of the next tokens, [prompts, tokens], when transformers' `generate` calls it."""

    def __init__(self, torch: Any, temperature: float, seeds: Sequence[int]) -> None:
        self._torch = torch
        self._temperature = temperature
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores whose maximum is the drawn token."""
        # Gumbel noise, in double precision: in single precision, an exponential is 0 too often
        row = self._torch.empty(scores.shape[1], dtype=self._torch.float64)
        rows = [row.exponential_(generator=generator).clone() for generator in self._generators]
        exponentials = self._torch.stack(rows).clamp_(min=2.0**-60)
        return scores / self._temperature - exponentials.log_().to(scores)


class Vlm:
    """An image-text-to-text model and its processor. Code that comes with a model is never run.

    Args:
        model: its folder, or its Hub id, which may end in @ and a revision.
        device: torch's name of the device, or `SEVERAL_GPUS`; None for a GPU if there is one.

    Raises:
        ValueError: if there is no such model or device, or the model cannot be loaded.
    """

    at_once = 1

    def __init__(self, model: str, device: str | None = None) -> None:
        is_folder = path_of(model).is_dir()
        if is_folder:
            name = str(path_of(model))
            revision = ""
        else:
            name, _, revision = model.partition("@")
            if name.startswith((".", "/", "~")) or name.count("/") != 1:
                raise ValueError(f"There is no model {model!r}; expected a folder, or a Hub id (org/name).")
        with needs("Answering", "judge"):
            import torch
            from transformers import LogitsProcessorList
        self._torch = torch
        self._steps = LogitsProcessorList
        self._load(model, name, revision or "main", device)
        self._set_up_prompts()
        # the model's name and revision, never a path, and the precision
        if is_folder:
            known = weights.find(name).key
        else:
            commit = getattr(self._model.config, "_commit_hash", None) or "unknown"
            known = f"{name}@{str(commit)[:12]}"
        precision = str(self._model.dtype).removeprefix("torch.")
        self.key = f"{known}:{precision}"

    def _load(self, model: str, name: str, revision: str, device: str | None) -> None:
        """Load the model and its processor; `model` is how the user names it, for errors."""
        from transformers import AutoModelForImageTextToText, AutoProcessor

        options: dict[str, Any] = {"trust_remote_code": False, "revision": revision}
        is_spread = device == SEVERAL_GPUS
        place, dtype = placed(None if is_spread else device)
        model_options = options | {"dtype": dtype}
        if is_spread:
            model_options["device_map"] = device
        try:
            with hub_or_cache():
                self._processor = AutoProcessor.from_pretrained(name, **options)
                loaded = AutoModelForImageTextToText.from_pretrained(name, **model_options)
        except Exception as error:  # transformers, safetensors, torch and the Hub each raise their own errors
            raise ValueError(
                f"The model {model!r} cannot be loaded ({type(error).__name__}: {str(error)[:300]}). Expected a folder "
                "or a Hub id of a model of images and text, which AutoModelForImageTextToText loads; code that comes "
                "with a model is never run."
            ) from error
        if not is_spread:
            loaded = loaded.to(place)
        self._model = loaded.eval()

    def _set_up_prompts(self) -> None:
        """Find out how this model's prompts are made."""
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self._tokenizer.padding_side = "left"  # a reply begins where its prompt ends
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._mark = getattr(self._processor, "image_token", None)
        self._chat: Any = None  # what has the chat template
        if getattr(self._processor, "chat_template", None):
            self._chat = self._processor
        elif getattr(self._tokenizer, "chat_template", None):
            self._chat = self._tokenizer
        # whether the chat template takes images as parts of a turn; else it takes only text
        self._in_parts = self._reads_parts()
        # 8 hexadecimal digits of the chat template's sha256; "no" without a chat template
        self.chat = "no"
        if self._chat is not None:
            template = json.dumps(self._chat.chat_template, sort_keys=True)
            self.chat = hashlib.sha256(template.encode()).hexdigest()[:8]

    def _reads_parts(self) -> bool:
        if self._chat is None:
            return False
        if self._chat is self._processor:
            return True
        try:
            text = self._in_template(_parts(["?"], with_image=True))
        except Exception:  # jinja's errors and Python's
            return False
        shows_image = not isinstance(self._mark, str) or self._mark in text
        return shows_image and "'type'" not in text

    def check_turns(self) -> None:
        """Check that the model can be shown an earlier turn.

        Raises:
            ValueError: if its chat template cannot show one, or is missing.
        """
        prompt = ""
        try:
            prompt = self._rendered(TURNS, with_image=False)
            wrong = "is missing" if self._chat is None else "leaves out earlier turns"
        except Exception as error:  # jinja's errors and Python's
            wrong = f"fails on a second turn ({type(error).__name__}: {one_line(error, 200)})"
        if not all(turn in prompt for turn in TURNS):
            raise ValueError(
                f"A first turn needs a chat template, and that of {self.key} {wrong}; leave out the first turn, or use "
                "a model whose chat template takes several turns."
            )

    def replies(
        self, questions: Sequence[Asked], max_new_tokens: int, temperature: float, batch_size: int
    ) -> Iterator[tuple[int, Response]]:
        """Yield each question's index with its response, batch by batch."""
        for batch in batches(questions, batch_size):
            together = [questions[index] for index in batch]
            turns = [question.turns for question in together]
            images = [question.image() for question in together if question.image is not None]
            seeds = [question.seed for question in together if question.seed is not None]
            draws = Draws(temperature, seeds) if seeds else None
            texts = self.reply(turns, images or None, max_new_tokens, draws)
            for index, text in zip(batch, texts, strict=True):
                yield index, Response(text)

    def reply(
        self,
        prompts: Sequence[Sequence[str]],
        images: Sequence[Image] | None,
        max_new_tokens: int,
        draws: Draws | None = None,
    ) -> list[str]:
        """Generate responses to prompts.

        Args:
            prompts: each prompt as turns.
            images: an image per prompt; None for prompts without images.
            max_new_tokens: the most tokens of a response.
            draws: how responses are drawn; None for the likeliest ones.

        Raises:
            ValueError: if the model does not take these prompts, or memory runs out.
        """
        inputs = self._inputs(prompts, images)
        noise = []
        if draws is not None:
            noise.append(Noise(self._torch, draws.temperature, draws.seeds))
        try:
            inputs = inputs.to(self._model.device, self._model.dtype)
            with self._torch.inference_mode():
                ids = self._model.generate(
                    **inputs,
                    max_new_tokens=max_new_tokens,
                    do_sample=False,
                    num_beams=1,
                    pad_token_id=self._tokenizer.pad_token_id,
                    logits_processor=self._steps(noise),
                )
        except self._torch.OutOfMemoryError as error:
            raise ValueError(
                f"{len(prompts)} prompts at a time do not fit into memory: {error}. Use a smaller batch size."
            ) from error
        prompt_ids = inputs["input_ids"]
        length = prompt_ids.shape[1]
        # some models return only the new tokens
        if ids.shape[1] >= length and bool((ids[:, :length] == prompt_ids).all()):
            ids = ids[:, length:]
        return [text.strip() for text in self._tokenizer.batch_decode(ids, skip_special_tokens=True)]

    def _inputs(self, prompts: Sequence[Sequence[str]], images: Sequence[Image] | None) -> Any:
        """Return prompts and images as the model takes them."""
        try:
            texts = [self._rendered(turns, images is not None) for turns in prompts]
        except Exception as error:  # jinja's errors and Python's
            raise ValueError(
                f"The model's chat template cannot be used ({type(error).__name__}: {one_line(error, 200)}). Correct "
                "the template, or use another model."
            ) from error
        options = {}
        begin = self._tokenizer.bos_token
        if begin is not None and texts[0].startswith(begin):  # the template wrote it
            options["add_special_tokens"] = False
        image_lists = None
        if images is not None:
            image_lists = [[image] for image in images]
        try:
            return self._processor(
                text=texts, images=image_lists, padding=True, return_tensors="pt", **options
            )
        except Exception as error:  # each processor raises its own, such as for an image that is too narrow
            sizes = ", ".join(f"{image.width} x {image.height}" for image in images or ()) or "no"
            raise ValueError(
                f"The model's processor does not take these {len(texts)} prompts, with images of {sizes} pixels "
                f"({type(error).__name__}: {one_line(error, 300)})."
            ) from error

    def _rendered(self, turns: Sequence[str], with_image: bool) -> str:
        """Return the user's and the model's turns as the processor takes them, with the image in the first."""
        if self._in_parts:
            return self._in_template(_parts(turns, with_image))
        contents = list(turns)
        if with_image and isinstance(self._mark, str):
            contents[0] = f"{self._mark}\n{contents[0]}"
        return self._in_template(contents)

    def _in_template(self, contents: Sequence[Any]) -> str:
        """Return turns in the chat template; without one, the last turn alone."""
        if self._chat is None:
            return str(contents[-1])
        chat = chat_of(contents)
        return str(self._chat.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))


def _parts(turns: Sequence[str], with_image: bool) -> list[list[dict[str, str]]]:
    """Return turns as lists of parts, with the image in the first turn."""
    contents = [[{"type": "text", "text": turn}] for turn in turns]
    if with_image:
        contents[0].insert(0, {"type": "image"})
    return contents


class Workers:
    """One model in several processes, through Ray; a batch goes to a worker that is free."""

    def __init__(self, model: str, device: str | None, workers: int) -> None:
        whole("workers", workers, 1, MOST_WORKERS, "a number of processes")
        check_workers(workers, device)
        self._pool = Pool(partial(Vlm, model, device), model, workers, device)
        self.at_once = workers * BATCHES
        keys_and_chats = self._pool.each(_key_and_chat)  # of each worker; all are alike
        self.key, self.chat = keys_and_chats[0]

    def check_turns(self) -> None:
        """Check that the model can be shown an earlier turn."""
        self._pool.each(Vlm.check_turns)

    def replies(
        self, questions: Sequence[Asked], max_new_tokens: int, temperature: float, batch_size: int
    ) -> Iterator[tuple[int, Response]]:
        """Yield each question's index with its response, batch by batch as workers return them."""
        tasks = (
            (batch, [_opened(questions[index]) for index in batch], max_new_tokens, temperature)
            for batch in batches(questions, batch_size)
        )
        for responses in self._pool.map(_replies_to_batch, tasks):
            yield from responses


def _key_and_chat(model: Vlm) -> tuple[str, str]:
    return model.key, model.chat


def _replies_to_batch(
    model: Vlm, batch: Sequence[int], questions: Sequence[Asked], max_new_tokens: int, temperature: float
) -> list[tuple[int, Response]]:
    """Return each question's index, as `batch` names it, with its response."""
    replies = model.replies(questions, max_new_tokens, temperature, batch_size=len(questions))
    return [(batch[place], response) for place, response in replies]


def _opened(question: Asked) -> Asked:
    """Return a question with its image, for another process, which may not have the image's file."""
    if question.image is None:
        return question
    return replace(question, image=partial(_same, question.image()))


def _same(image: Image) -> Image:
    return image


class ServedVlm(Endpoint):
    """A model behind a server: "openai:NAME@URL"."""

    chat = "server"

    def __init__(self, model: str, at_once: int = AT_ONCE, timeout: float = TIMEOUT) -> None:
        settings = {"temperature": 0.0, "max_tokens": 16}
        super().__init__(model.removeprefix(ENDPOINT), settings, at_once=at_once, timeout=timeout)
        self.at_once = at_once
        self._has_replied = False

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and the settings that the server refuses."""
        parts = [self.name]
        for name in ("seed", "temperature"):
            if name in self.refused:
                parts.append(f"{name}=refused")
        return ":".join(parts)

    def probe(self, draws: bool) -> "ServedVlm":
        """Find out which settings the server refuses, before `key` is read."""
        if draws:
            self.probe_settings(seed=0)
        else:
            self.probe_settings()
        return self

    def check_turns(self) -> None:
        """Pass: a chat has any number of turns."""

    def replies(
        self, questions: Sequence[Asked], max_new_tokens: int, temperature: float, batch_size: int
    ) -> Iterator[tuple[int, Response]]:
        """Yield each question's index with its response, as they come; one that gets none is counted in `failures`.

        Raises:
            JudgeUnavailable: if the server does not serve the model.
        """
        sent: list[int] = []
        requests = self._requests(questions, sent, max_new_tokens, temperature)
        for request, response in self.each(requests, _read):
            if isinstance(response, Response):
                self._has_replied = True
                yield sent[request], response
                continue
            is_refused = response.status >= 400 and self.failures.total() >= DOWN_AFTER
            if is_refused and not self._has_replied:
                raise self.client.unavailable(response)

    def _requests(
        self, questions: Sequence[Asked], sent: list[int], max_new_tokens: int, temperature: float
    ) -> Iterator[dict[str, Any]]:
        """Yield the requests, and note in `sent` which question each is for."""
        for index, question in enumerate(questions):
            first_turn: list[dict[str, Any]] = [{"type": "text", "text": disarmed(question.turns[0])}]
            if question.image is not None:
                image = data_uri(question.image())
                if len(image) * 3 // 4 > LARGEST_IMAGE * 1_000_000:
                    self.failures[f"an image of more than {LARGEST_IMAGE} MB"] += 1
                    continue
                first_turn.insert(0, {"type": "image_url", "image_url": {"url": image}})
            sent.append(index)
            yield self.request(
                first_turn,
                *question.turns[1:],
                max_tokens=max_new_tokens,
                temperature=temperature,
                seed=question.seed,
            )

    def check_complete(self) -> None:
        """Check that every question got a response.

        Raises:
            JudgingFailed: if some did not.
        """
        if not self.failures:
            return
        reasons = []
        for reason, count in self.failures.most_common(3):
            reasons.append(f"{count:,} x {one_line(reason)}")
        raise JudgingFailed(
            f"{self.failures.total():,} questions got no response ({', '.join(reasons)}). Repeat the command to ask "
            "these again."
        )


def _read(completion: Any) -> Response | Failure:
    """Return the response in a chat completion, with what the server says about tokens and what the model thought."""
    text = reply_of(completion, ENDS, empty=True)
    if isinstance(text, Failure) and text.reason != EMPTY:
        return text
    choice = completion["choices"][0]
    message = choice["message"]
    reasoning = _reasoning_in(message)
    if isinstance(text, Failure):  # the content is no text
        refusal = message.get("refusal")
        if message.get("content") is not None or not (refusal or reasoning):
            return text
        text = redact(refusal) if isinstance(refusal, str) else ""
    columns: dict[str, Any] = {}
    usage = _usage_in(completion)
    if usage:
        columns["usage"] = usage
    if end_of(choice) == LENGTH:
        columns["finish_reason"] = LENGTH
    if reasoning:
        columns["reasoning"] = redact(reasoning)
    return Response(text.strip(), columns)


def _reasoning_in(message: Mapping[str, Any]) -> str:
    """Return what the model thought before its response; "" if the message does not say it."""
    for name in REASONING:
        if isinstance(message.get(name), str):
            return str(message[name])
    return ""


def _usage_in(completion: Any) -> dict[str, int]:
    """Return the tokens that the server counts for a question and its response."""
    counts = part_of(completion, "usage")
    usage = {}
    for name in ("prompt_tokens", "completion_tokens"):
        if isinstance(counts.get(name), int):
            usage[name] = counts[name]
    return usage


Model = Vlm | Workers | ServedVlm
