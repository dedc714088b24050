"""A model behind an OpenAI-compatible endpoint that replies to prompts: OpenAI's, a gateway's, or one's own.

How a server is asked is `judging.client`'s affair. Here stands what is sent, what of it a server may refuse, and what a
reply is.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from halluscope import foreign
from halluscope.judging.client import Client, Failure
from halluscope.judging.graders.chat import MAX_TOKENS, Schema
from halluscope.judging.server import KEY_VARIABLE, Server

PATH = "chat/completions"

_PROBE = "Reply with one word: ready"
_RENAMED = {"max_tokens": "max_completion_tokens"}
_FORMAT, _SEED = "response_format", "seed"
_NAMED = {_FORMAT: rf"{_FORMAT}|json_schema"}
"""How servers name what they refuse, where that is not the setting's own name."""


class EndpointJudge:
    """A model that is asked over HTTP, each prompt as the only message of a chat.

    Args:
        model: as the server calls it; "MODEL@http://host/v1" gives the address with it.
        base_url: the address; by default the environment's OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the access key. OPENAI_API_KEY may be unset for a server that
            wants none. The key goes to https:// and to this machine; over plain http:// to another machine only if the
            environment variable HALLUSCOPE_KEY_TO names the host.
        temperature: how freely a reply is drawn; None leaves it to the server.
        max_tokens: how long a reply may be, thinking included.
        structured: hold replies to the JSON schema of what is asked, where there is one (OpenAI's structured output).
        at_once: how many requests may be under way, or have come back without being taken.
        attempts: how often a prompt is tried.
        timeout: seconds that the server may be silent in an attempt; all attempts of a prompt with their waits may
            take `attempts` times as long.

    A temperature, a seed or a schema that the server refuses is left out, with a warning, and `key` says so.

    Raises:
        MissingExtra: without httpx2.
        JudgeUnavailable: for no model, an address that is none, or an access key that is not there.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        temperature: float | None = 0.0,
        max_tokens: int = MAX_TOKENS,
        structured: bool = False,
        at_once: int = 16,
        attempts: int = 6,
        timeout: float = 60.0,
    ) -> None:
        self._server = Server.named(model, base_url, key_variable)
        self._client = Client(self._server, at_once, attempts, timeout)
        self._sent: dict[str, float | None] = {"temperature": temperature, "max_tokens": max_tokens}
        self._takes_seed = True
        self._settled = False
        self.structured = structured
        self.failures: Counter[str] = Counter()

    seeded = True

    @property
    def model(self) -> str:
        """As the server calls it."""
        return self._server.model

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and what is sent beside the prompt."""
        limit = self._sent.get("max_tokens", self._sent.get("max_completion_tokens"))
        temperature = self._sent.get("temperature")
        said = f"temperature={'default' if temperature is None else f'{temperature:g}'}"
        seedless = "" if self._takes_seed else ":seed=refused"
        form = ":json_schema" if self.structured else ""
        return f"{self._server.key}:{said}{seedless}:max_tokens={limit}{form}"

    def replies(
        self,
        prompts: Sequence[str],
        schemas: Sequence[Schema | None] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, str | None]]:
        """Ask about all prompts, many at once. The first call asks a word first, to learn what the server takes.

        Args:
            prompts: each the only message of a chat.
            schemas: of each prompt's reply, or None; they count where `structured` is true.
            seeds: of each prompt's reply, sent along; by default 0.

        Raises:
            JudgeUnavailable: if the server is down, refuses the access key, or knows no such model.
        """
        every = len(prompts)
        asked = list(zip(prompts, schemas or [None] * every, seeds or [0] * every, strict=True))
        if not self._settled:
            self._settle(next((schema for _, schema, _ in asked if schema), None))
        return self._replies(asked)

    def close(self) -> None:
        """Nothing is held between calls."""

    def _replies(self, asked: Sequence[tuple[str, Schema | None, int]]) -> Iterator[tuple[int, str | None]]:
        for place, said in self._client.each(PATH, (self._body(*one) for one in asked)):
            reply = _read(said)
            if isinstance(reply, Failure):
                self.failures[reply.reason] += 1
            yield place, reply if isinstance(reply, str) else None

    def _settle(self, schema: Schema | None) -> None:
        """Ask once, alone, until the server refuses no setting: an end now is better than one for each prompt."""
        said = self._client.post(PATH, self._body(_PROBE, schema))
        while isinstance(said, Failure) and (name := self._refused(said, schema)):
            self._leave_out(name, said)
            said = self._client.post(PATH, self._body(_PROBE, schema))
        if isinstance(said, Failure) and said.status != 200:
            raise self._client.unavailable(said)
        self._settled = True

    def _refused(self, failure: Failure, schema: Schema | None) -> str | None:
        """The setting that the server names as what it does not take."""
        if failure.status not in (400, 422):
            return None
        sent = self._body(_PROBE, schema).keys() - {"model", "messages", *_RENAMED.values()}
        names = (name for name in (_FORMAT, _SEED, *self._sent) if name in sent)
        return next(
            (name for name in names if re.search(rf"\b(?:{_NAMED.get(name, name)})\b", failure.words)), None
        )

    def _leave_out(self, name: str, failure: Failure) -> None:
        """Ask without a setting from now on, or with its newer name."""
        if name in _RENAMED:
            self._sent[_RENAMED[name]] = self._sent.pop(name)
            return
        if name == _FORMAT:
            self.structured, shown = False, "JSON schema of a reply"
        elif name == _SEED:
            self._takes_seed, shown = False, _SEED
        else:
            shown = f"{name}={self._sent.pop(name):g}"
        warnings.warn(f"{self.model} takes no {shown} and is asked without: {failure.said}", stacklevel=5)

    def _body(self, prompt: str, schema: Schema | None, seed: int = 0) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": foreign.encodable(prompt)}],
            **{name: value for name, value in self._sent.items() if value is not None},
            **({_SEED: seed} if self._takes_seed else {}),
            **(_held_to(schema) if schema and self.structured else {}),
        }


def _held_to(schema: Schema) -> dict[str, Any]:
    """The setting by which a server holds a reply to a schema."""
    return {
        _FORMAT: {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": schema},
        }
    }


def _read(completion: Any) -> str | Failure:
    """What a chat completion says; a reply that is cut off is none."""
    if isinstance(completion, Failure):
        return completion
    try:
        choice = completion["choices"][0]
        ended, reply = choice.get("finish_reason"), choice["message"].get("content")
    except (AttributeError, IndexError, KeyError, TypeError):
        return Failure("not the JSON of a chat completion", 200)
    if ended != "stop":
        return Failure(f"finish_reason {foreign.heard(foreign.brief(ended, 400), 40)}", 200)
    if not isinstance(reply, str) or not reply.strip():
        return Failure("an empty reply", 200)
    return foreign.keyless(reply)
