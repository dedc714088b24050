"""A vision-language model behind an OpenAI-compatible server, such as vLLM, SGLang or llama.cpp.

Requests are sent, retried and paced by `judging.client`, as for judges. Each row's request is made when it is sent, so
memory holds few images.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.answering.answer import Asked, Said
from halluscope.errors import JudgingFailed
from halluscope.files.pictures import data_uri
from halluscope.judging.client import DOWN_AFTER, ENDPOINT, Failure
from halluscope.judging.endpoint import ENDS, Endpoint, disarmed, reply_of
from halluscope.judging.judge import AT_ONCE, SEED
from halluscope.sanitize import one_line, redact

# The largest image that is sent, in megabytes; OpenAI takes no larger ones
LARGEST_IMAGE = 20

# How long a server may be silent, in seconds
TIMEOUT = 300.0

# The keys of a message for what a model thought before its response
REASONING = ("reasoning_content", "reasoning")


class ServedVlm(Endpoint):
    """A model behind a server: "openai:NAME@URL"."""

    chat = "server"

    def __init__(self, model: str, at_once: int = AT_ONCE, timeout: float = TIMEOUT) -> None:
        settings = {"temperature": 0.0, "max_tokens": 16}
        super().__init__(model.removeprefix(ENDPOINT), settings, at_once=at_once, timeout=timeout)
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

    def window(self, batch_size: int, first: bool) -> int:
        """Return how many questions to hand over at a time: all, or few enough to lose little of a first turn."""
        return 8 * self.client.at_once if first else 2**31

    def replies(
        self, asked: Sequence[Asked], max_new_tokens: int, temperature: float = 0.0
    ) -> Iterator[tuple[int, Said]]:
        """Ask many questions at once; one that gets no response is counted in `failures`."""
        sent: list[int] = []
        bodies = self._bodies(asked, sent, max_new_tokens, temperature)
        for index, said in self.each(bodies, _read):
            if not isinstance(said, Failure):
                self._opened = True
                yield sent[index], said
            elif not self._opened and said.status >= 400 and self.failures.total() >= DOWN_AFTER:
                raise self.client.unavailable(said)

    def check_complete(self) -> None:
        if self.failures:
            reasons = ", ".join(f"{count:,} x {one_line(why)}" for why, count in self.failures.most_common(3))
            raise JudgingFailed(
                f"{self.failures.total():,} questions got no response ({reasons}). Repeat the command to ask these "
                "again."
            )

    def body(self, one: Asked, image: str | None, **own: Any) -> dict[str, Any]:
        """Return the request for one question, as JSON; `image` is a data URI."""
        shown = [{"type": "image_url", "image_url": {"url": image}}] if image else []
        messages = [
            {
                "role": ("user", "assistant")[turn % 2],
                "content": [*shown, {"type": "text", "text": disarmed(text)}] if not turn else disarmed(text),
            }
            for turn, text in enumerate(one.turns)
        ]
        return {"model": self.model, "messages": messages, **self._accepted({**self._settings, **own})}

    def _bodies(
        self, asked: Sequence[Asked], sent: list[int], max_new_tokens: int, temperature: float
    ) -> Iterator[dict[str, Any]]:
        """Yield the requests, and note in `sent` which question each is for."""
        for place, one in enumerate(asked):
            image = data_uri(one.image()) if one.image else None
            if image and len(image) * 3 // 4 > LARGEST_IMAGE * 1_000_000:
                self.failures[f"an image of more than {LARGEST_IMAGE} MB"] += 1
                continue
            sent.append(place)
            own = {"max_tokens": max_new_tokens, "temperature": temperature, SEED: one.seed}
            yield self.body(one, image, **own)


def _read(completion: Any) -> Said | Failure:
    """Return the response in a chat completion, with what the server says about tokens and what the model thought."""
    text = reply_of(completion, ENDS, empty=True)
    try:
        choice = completion["choices"][0]
        message, ended = choice["message"], choice["finish_reason"]
        thought = next((message[name] for name in REASONING if isinstance(message.get(name), str)), "")
        refusal = message.get("refusal")
    except (AttributeError, IndexError, KeyError, TypeError):
        assert isinstance(text, Failure), "what has no choices has no reply"
        return text
    if message.get("content") is None and ended in ENDS and (refusal or thought):
        text = redact(refusal) if isinstance(refusal, str) else ""
    if isinstance(text, Failure):
        return text
    usage = completion.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    names = ("prompt_tokens", "completion_tokens")
    beside = {
        "usage": {name: counts[name] for name in names if isinstance(counts.get(name), int)},
        "finish_reason": ended if ended == "length" else None,
        "reasoning": redact(thought),
    }
    return text.strip(), {name: value for name, value in beside.items() if value}
