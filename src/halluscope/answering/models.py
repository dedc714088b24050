"""Vision-language models: of transformers, here or in Ray's workers, or behind an OpenAI-compatible server.

Each has `key`, the model's name and all about it that can change a response, never a path; `chat`, which tells chat
templates apart; `check_turns`, which checks that the model can be shown an earlier turn; `at_once`, how many batches it
answers at a time; and `replies`, which yields each question's index with its response, as they come.

A model of transformers decodes greedily, or draws tokens from its whole distribution at a temperature: greedy decoding
of the scores with added noise (Gumbel's). Each question has its own seed, so its response depends on no other question.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

from PIL.Image import Image

from halluscope.errors import JudgingFailed, needs
from halluscope.files.pictures import data_uri
from halluscope.judging.client import DOWN_AFTER, ENDPOINT, Failure
from halluscope.judging.endpoint import EMPTY, ENDS, Endpoint, chat_of, disarmed, part_of, reply_of
from halluscope.judging.judge import AT_ONCE, SEED
from halluscope.judging.models import weights
from halluscope.judging.models.language_model import placed
from halluscope.judging.models.ray_pool import Pool
from halluscope.network import hub_or_cache
from halluscope.paths import path_of
from halluscope.sanitize import one_line, redact

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


class Asked(NamedTuple):
    """A question to a model."""

    turns: tuple[str, ...]  # the prompt, after a first turn and its reply if there is one
    image: Callable[[], Image] | None  # opens the image; None for a question without one
    seed: int | None = None  # of the draw; None for the likeliest response


# A response, and further columns of its line
Response = tuple[str, dict[str, Any]]


def batches(asked: Sequence[Asked], size: int) -> Iterator[list[int]]:
    """Yield the indices of questions that run together: all have an image, or none has."""
    for _, alike in groupby(range(len(asked)), key=lambda i: asked[i].image is None):
        while batch := list(islice(alike, size)):
            yield batch


class Noise:
    """Adds noise to the scores of the next tokens, [prompts, tokens], when transformers' `generate` calls it."""

    def __init__(self, torch: Any, temperature: float, seeds: Sequence[int]) -> None:
        self._torch, self._temperature = torch, temperature
        self._draws = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores whose maximum is the drawn token."""
        # Gumbel noise, in double precision: in single precision, an exponential is 0 too often
        empty = self._torch.empty(scores.shape[1], dtype=self._torch.float64)
        even = self._torch.stack([empty.exponential_(generator=draws).clone() for draws in self._draws])
        return scores / self._temperature - even.clamp_(min=2.0**-60).log_().to(scores)


class Vlm:
    """An image-text-to-text model and its processor. Code that comes with a model is never run."""

    at_once = 1

    def __init__(self, model: str, device: str | None = None) -> None:
        is_folder = path_of(model).is_dir()
        name, _, revision = (str(path_of(model)), "", "") if is_folder else model.partition("@")
        if not is_folder and (name.startswith((".", "/", "~")) or name.count("/") != 1):
            raise ValueError(f"There is no model {model!r}; expected a folder, or a Hub id (org/name).")
        with needs("Answering", "judge"):
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor, LogitsProcessorList
        self._torch, self._steps = torch, LogitsProcessorList
        spread = {"device_map": device} if device == SEVERAL_GPUS else {}
        place, dtype = placed(None if spread else device)
        options: dict[str, Any] = {"trust_remote_code": False, "revision": revision or "main"}
        try:
            with hub_or_cache():
                self._processor = AutoProcessor.from_pretrained(name, **options)
                loaded = AutoModelForImageTextToText.from_pretrained(name, dtype=dtype, **options, **spread)
        except Exception as error:  # transformers, safetensors, torch and the Hub each raise their own errors
            raise ValueError(
                f"The model {model!r} cannot be loaded ({type(error).__name__}: {str(error)[:300]}). Expected a folder "
                "or a Hub id of a model of images and text, which AutoModelForImageTextToText loads; code that comes "
                "with a model is never run."
            ) from error
        self._model = (loaded if spread else loaded.to(place)).eval()
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self._tokenizer.padding_side = "left"  # a reply begins where its prompt ends
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._mark = getattr(self._processor, "image_token", None)
        owners = (self._processor, self._tokenizer)
        self._chat: Any = next((one for one in owners if getattr(one, "chat_template", None)), None)
        self._in_parts = (
            True  # whether the chat template takes images as parts of a turn; else it takes only text
        )
        self._in_parts = self._chat is self._processor or self._reads_parts()
        template = None if self._chat is None else json.dumps(self._chat.chat_template, sort_keys=True)
        # 8 hexadecimal digits of the chat template's sha256; "no" without a chat template
        self.chat = hashlib.sha256(template.encode()).hexdigest()[:8] if template else "no"
        # the model's name and revision, never a path, and the precision
        commit = str(getattr(self._model.config, "_commit_hash", None) or "unknown")[:12]
        known = weights.find(name).key if is_folder else f"{name}@{commit}"
        self.key = f"{known}:{str(self._model.dtype).removeprefix('torch.')}"

    def check_turns(self) -> None:
        turns = "What is there?", "There is a cup.", "Is it?"
        try:
            prompt = self._rendered(turns, with_image=False)
            wrong = "leaves out earlier turns" if self._chat else "is missing"
        except Exception as error:  # jinja's errors and Python's
            prompt, wrong = "", f"fails on a second turn ({type(error).__name__}: {one_line(error, 200)})"
        if not all(turn in prompt for turn in turns):
            raise ValueError(
                f"A first turn needs a chat template, and that of {self.key} {wrong}; leave out the first turn, or use "
                "a model whose chat template takes several turns."
            )

    def replies(
        self, asked: Sequence[Asked], max_new_tokens: int, temperature: float, batch_size: int
    ) -> Iterator[tuple[int, Response]]:
        """Generate responses, batch by batch."""
        for batch in batches(asked, batch_size):
            turns, opens, seeds = zip(*(asked[i] for i in batch), strict=True)
            images = [image() for image in opens if image] or None
            draws = None if seeds[0] is None else (temperature, seeds)
            for i, text in zip(batch, self.reply(turns, images, max_new_tokens, draws), strict=True):
                yield i, (text, {})

    def reply(
        self,
        prompts: Sequence[Sequence[str]],
        images: Sequence[Image] | None,
        max_new_tokens: int,
        draws: tuple[float, Sequence[int]] | None = None,
    ) -> list[str]:
        """Generate responses to prompts, in turns, each about its image, or all without images.

        `draws` are the temperature and a seed per prompt; without them decoding is greedy.
        """
        try:
            texts = [self._rendered(turns, images is not None) for turns in prompts]
        except Exception as error:  # jinja's errors and Python's
            raise ValueError(
                f"The model's chat template cannot be used ({type(error).__name__}: {one_line(error, 200)}). Correct "
                "the template, or use another model."
            ) from error
        begun = self._tokenizer.bos_token is not None and texts[0].startswith(self._tokenizer.bos_token)
        try:
            given = self._processor(
                text=texts,
                images=None if images is None else [[image] for image in images],
                padding=True,
                return_tensors="pt",
                **({"add_special_tokens": False} if begun else {}),
            )
        except Exception as error:  # each processor raises its own, such as for an image that is too narrow
            sizes = ", ".join(f"{image.width} x {image.height}" for image in images or ()) or "no"
            raise ValueError(
                f"The model's processor does not take these {len(texts)} prompts, with images of {sizes} pixels "
                f"({type(error).__name__}: {one_line(error, 300)})."
            ) from error
        try:
            given = given.to(self._model.device, self._model.dtype)
            with self._torch.inference_mode():
                ids = self._model.generate(
                    **given,
                    max_new_tokens=max_new_tokens,
                    do_sample=False,
                    num_beams=1,
                    pad_token_id=self._tokenizer.pad_token_id,
                    logits_processor=self._steps([Noise(self._torch, *draws)] if draws else []),
                )
        except self._torch.OutOfMemoryError as error:
            raise ValueError(
                f"{len(prompts)} prompts at a time do not fit into memory: {error}. Use a smaller batch size."
            ) from error
        asked = given["input_ids"]
        if ids.shape[1] >= asked.shape[1] and bool((ids[:, : asked.shape[1]] == asked).all()):
            ids = ids[:, asked.shape[1] :]  # some models return only the new tokens
        return [text.strip() for text in self._tokenizer.batch_decode(ids, skip_special_tokens=True)]

    def _rendered(self, turns: Sequence[str], with_image: bool) -> str:
        """Return the user's and the model's turns as the processor takes them, with the image in the first."""
        contents: list[Any] = [*turns]
        if self._in_parts:
            contents = [[{"type": "text", "text": text}] for text in turns]
            contents[0] = [{"type": "image"}] * with_image + contents[0]
        elif with_image and isinstance(self._mark, str):
            contents[0] = f"{self._mark}\n{contents[0]}"
        if self._chat is None:
            return str(contents[-1])
        return str(
            self._chat.apply_chat_template(chat_of(contents), add_generation_prompt=True, tokenize=False)
        )

    def _reads_parts(self) -> bool:
        try:
            text = self._rendered(["?"], with_image=True)
        except Exception:  # jinja's errors and Python's
            return False
        return "'type'" not in text and (not isinstance(self._mark, str) or self._mark in text)


class Workers:
    """One model in several processes, through Ray; a batch goes to a worker that is free."""

    def __init__(self, model: str, device: str | None, workers: int) -> None:
        self._pool = Pool(partial(Vlm, model, device), model, workers, on_gpus=device != "cpu")
        self.at_once = workers * BATCHES
        (self.key, self.chat), *_ = self._pool.each(attrgetter("key", "chat"))

    def check_turns(self) -> None:
        self._pool.each(Vlm.check_turns)

    def replies(self, asked: Sequence[Asked], *how: Any) -> Iterator[tuple[int, Response]]:
        """Yield each question's index with its response, batch by batch as workers return them."""
        *_, batch_size = how
        tasks = ((batch, [_opened(asked[i]) for i in batch], *how) for batch in batches(asked, batch_size))
        for responses in self._pool.map(_replies, tasks):
            yield from responses


def _replies(model: Vlm, batch: list[int], *asked: Any) -> list[tuple[int, Response]]:
    return [(batch[i], response) for i, response in model.replies(*asked)]


def _opened(asked: Asked) -> Asked:
    """Return a question with its image, for another process, which may not have the image's file."""
    return asked._replace(image=asked.image and partial(_same, asked.image()))


def _same(image: Image) -> Image:
    return image


class ServedVlm(Endpoint):
    """A model behind a server: "openai:NAME@URL"."""

    chat = "server"

    def __init__(self, model: str, at_once: int = AT_ONCE, timeout: float = TIMEOUT) -> None:
        settings = {"temperature": 0.0, "max_tokens": 16}
        super().__init__(model.removeprefix(ENDPOINT), settings, at_once=at_once, timeout=timeout)
        self.at_once = at_once
        self._opened = False  # whether any reply has come

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and the settings that the server refuses."""
        refused = sorted(self.refused & {"temperature", SEED})
        return ":".join([self.name, *(f"{name}=refused" for name in refused)])

    def probe(self, draws: bool) -> "ServedVlm":
        """Find out which settings the server refuses, before `key` is read."""
        self.probe_settings(**({SEED: 0} if draws else {}))
        return self

    def check_turns(self) -> None:
        """Pass: a chat has any number of turns."""

    def replies(
        self, asked: Sequence[Asked], max_new_tokens: int, temperature: float, batch_size: int
    ) -> Iterator[tuple[int, Response]]:
        """Ask many questions at once; one that gets no response is counted in `failures`."""
        sent: list[int] = []
        bodies = self._bodies(asked, sent, max_new_tokens, temperature)
        for index, response in self.each(bodies, _read):
            if not isinstance(response, Failure):
                self._opened = True
                yield sent[index], response
            elif not self._opened and response.status >= 400 and self.failures.total() >= DOWN_AFTER:
                raise self.client.unavailable(response)

    def check_complete(self) -> None:
        if self.failures:
            reasons = ", ".join(f"{count:,} x {one_line(why)}" for why, count in self.failures.most_common(3))
            raise JudgingFailed(
                f"{self.failures.total():,} questions got no response ({reasons}). Repeat the command to ask these "
                "again."
            )

    def _bodies(
        self, asked: Sequence[Asked], sent: list[int], max_new_tokens: int, temperature: float
    ) -> Iterator[dict[str, Any]]:
        """Yield the requests, and note in `sent` which question each is for."""
        for i, one in enumerate(asked):
            image = data_uri(one.image()) if one.image else ""
            if len(image) * 3 // 4 > LARGEST_IMAGE * 1_000_000:
                self.failures[f"an image of more than {LARGEST_IMAGE} MB"] += 1
                continue
            sent.append(i)
            shown = [{"type": "image_url", "image_url": {"url": image}}] if image else []
            first, *others = one.turns
            first_turn = [*shown, {"type": "text", "text": disarmed(first)}]
            own = {"max_tokens": max_new_tokens, "temperature": temperature, SEED: one.seed}
            yield self.request(first_turn, *others, **own)


def _read(completion: Any) -> Response | Failure:
    """Return the response in a chat completion, with what the server says about tokens and what the model thought."""
    text = reply_of(completion, ENDS, empty=True)
    if isinstance(text, Failure) and text.reason != EMPTY:
        return text
    choice = completion["choices"][0]
    message = choice["message"]
    thought = next((message[name] for name in REASONING if isinstance(message.get(name), str)), "")
    if isinstance(text, Failure):
        refusal = message.get("refusal")
        if message.get("content") is not None or not (refusal or thought):
            return text
        text = redact(refusal) if isinstance(refusal, str) else ""
    counts = part_of(completion, "usage")
    names = ("prompt_tokens", "completion_tokens")
    more = {
        "usage": {name: counts[name] for name in names if isinstance(counts.get(name), int)},
        "finish_reason": "length" if choice["finish_reason"] == "length" else "",
        "reasoning": redact(thought),
    }
    return text.strip(), {name: value for name, value in more.items() if value}


Model = Vlm | Workers | ServedVlm
