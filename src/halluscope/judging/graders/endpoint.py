"""A model behind an OpenAI-compatible endpoint: OpenAI's, a gateway's, or a server of one's own.

The official client asks: it tries again after time-outs, dropped connections and the statuses 408, 409, 429 and 5xx,
waiting longer each time, or as long as Retry-After says. Here stands what it leaves open: many requests at once, when
to give up, and that no access key gets out.
"""

import asyncio
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging.graders.chat import ENDPOINT, MAX_TOKENS

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

DOWN_AFTER = 8
"""So many prompts in a row without service, each after all attempts, and the server counts as down."""

SECRET = 8
"""Characters from which on an access key is blacked out; a shorter one could be part of any word."""

PLACEHOLDERS = ("none", "empty", "x")
"""What local servers are given for an access key, in lower case."""

_PROBE = "Reply with one word: ready"
_NAMED_URL = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.IGNORECASE)
_NO_SCHEME = re.compile(
    r"@(?:\S*://.*|(?:localhost|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)*\.[a-z]+|\d+(?:\.\d+){3}|\[[\da-f:]+\])"
    r"(?::\d{1,5})?(?:/\S*)?)",
    re.IGNORECASE,
)
"""At a name's end: "@" and an address that does not begin with http:// or https://, not a revision such as "@v1.0"."""
_RENAMED = {"max_tokens": "max_completion_tokens"}


@dataclass(frozen=True)
class _Failure:
    """Why there was no reply.

    Attributes:
        reason: what is counted.
        status: the HTTP status; 0 where nothing came.
        said: the server's words.
    """

    reason: str
    status: int = 0
    said: str = ""

    @property
    def served(self) -> bool:
        """Whether the server looked at this prompt."""
        return 0 < self.status < 500 and self.status not in (408, 409, 429)

    @property
    def final(self) -> bool:
        """Whether every other prompt would fare the same."""
        return self.status in (401, 403, 404)


class EndpointJudge:
    """A model that is asked over HTTP, each prompt as the only message of a chat.

    Args:
        model: as the server calls it; "MODEL@http://host/v1" gives the address with it.
        base_url: the address; by default the environment's OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the access key. OPENAI_API_KEY may be unset for a server that
            wants none.
        temperature: None leaves it to the server.
        seed: None sends none.
        max_tokens: how long a reply may be, thinking included.
        at_once: how many requests may be under way, or have come back without being taken.
        attempts: how often a prompt is tried.
        timeout: seconds that the server may be silent in an attempt; all attempts of a prompt with their waits may
            take `attempts` times as long.

    A temperature or seed that the server refuses is left out, with a warning, and `key` then says "default" for it.

    Raises:
        MissingExtra: without the `openai` client.
        JudgeUnavailable: for no model, an address that is none, or an access key that is not there.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        temperature: float | None = 0.0,
        seed: int | None = 0,
        max_tokens: int = MAX_TOKENS,
        at_once: int = 16,
        attempts: int = 6,
        timeout: float = 60.0,
    ) -> None:
        try:
            import anyio.from_thread
            import openai
        except ImportError as error:
            raise MissingExtra(
                f"The judge {ENDPOINT + model!r:.80} needs the openai client ({error}): pip install 'halluscope[api]'."
            ) from error
        self._openai, self._portal = openai, anyio.from_thread.start_blocking_portal
        if named := _NAMED_URL.fullmatch(model):
            model, base_url = named["model"], named["url"]
        elif any(_NO_SCHEME.fullmatch(model, at.start()) for at in re.finditer("@", model)):
            raise JudgeUnavailable(
                f"The judge {ENDPOINT}{model.partition('@')[0]!r:.80} has an address that begins with neither http:// "
                f"nor https://; write '{ENDPOINT}MODEL@http://localhost:8000/v1'. Nothing is sent."
            )
        if not model.strip():
            raise JudgeUnavailable(f"{ENDPOINT!r} names no model; expected 'openai:MODEL[@URL]'.")
        self.model, self._key_variable = model, key_variable
        self._url = _checked(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        self._at_once, self._attempts, self._timeout = at_once, attempts, timeout
        self._sent = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        self._settled = False
        self.failures: Counter[str] = Counter()
        self._access_key()

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and what is sent beside the prompt."""
        limit = self._sent.get("max_tokens", self._sent.get("max_completion_tokens"))
        settings = {name: self._sent.get(name) for name in ("temperature", "seed")}
        said = ":".join(
            f"{name}={'default' if value is None else f'{value:g}'}" for name, value in settings.items()
        )
        server = "" if self._url == OPENAI else f"@{_digest(self._url)}"
        return f"{ENDPOINT}{_without_path(self.model)}{server}:{said}:max_tokens={limit}"

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Ask about all prompts, many at once. The first call asks a word first, to learn what the server takes.

        Raises:
            JudgeUnavailable: if the server is down, refuses the access key, or knows no such model.
        """
        if not self._settled:
            self._settle()
        return self._replies(prompts)

    def close(self) -> None:
        """Nothing is held between calls."""

    def _replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        turn = asyncio.Semaphore(self._at_once)
        unserved = 0
        with self._portal() as portal, portal.wrap_async_context_manager(self._client()) as client:
            asked = {
                portal.start_task_soon(self._ask_in_turn, client, prompt, turn): i
                for i, prompt in enumerate(prompts)
            }
            for future in as_completed(asked):
                reply = future.result()
                if isinstance(reply, str):
                    unserved = 0
                    yield asked[future], reply
                else:
                    self.failures[reply.reason] += 1
                    unserved = 0 if reply.served else unserved + 1
                    if reply.final or unserved >= DOWN_AFTER:
                        raise self._unavailable(reply)
                    yield asked[future], None
                portal.start_task_soon(turn.release)  # not before the reply is kept: a kill loses few

    def _settle(self) -> None:
        """Ask once, alone, until the server refuses no setting: an end now is better than one for each prompt."""
        with self._portal() as portal, portal.wrap_async_context_manager(self._client()) as client:
            reply = portal.call(self._ask, client, _PROBE)
            while isinstance(reply, _Failure) and (name := self._refused(reply)):
                value = self._sent.pop(name)
                if name in _RENAMED:
                    self._sent[_RENAMED[name]] = value
                else:
                    warnings.warn(
                        f"{self.model} takes no {name}={value:g} and is asked without: {self._shown(reply)}",
                        stacklevel=4,
                    )
                reply = portal.call(self._ask, client, _PROBE)
        if isinstance(reply, _Failure) and reply.status != 200:
            raise self._unavailable(reply)
        self._settled = True

    def _refused(self, failure: _Failure) -> str | None:
        """The setting that the server names as what it does not take."""
        if failure.status not in (400, 422):
            return None
        names = (name for name in self._settings() if name not in _RENAMED.values())
        return next((name for name in names if re.search(rf"\b{name}\b", failure.said)), None)

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self._sent.items() if value is not None}

    def _client(self) -> Any:
        return self._openai.AsyncOpenAI(
            api_key=self._access_key(),
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._attempts - 1,
        )

    async def _ask_in_turn(self, client: Any, prompt: str, turn: asyncio.Semaphore) -> str | _Failure:
        await turn.acquire()
        return await self._ask(client, prompt)

    async def _ask(self, client: Any, prompt: str) -> str | _Failure:
        """One prompt's reply. No error leaves this function: the client's hold the request, and so the access key."""
        message = {"role": "user", "content": prompt.encode("utf-8", "replace").decode("utf-8")}
        try:
            async with asyncio.timeout(self._attempts * self._timeout):
                completion = await client.chat.completions.create(
                    model=self.model, messages=[message], **self._settings()
                )
        except (TimeoutError, self._openai.APITimeoutError):
            return _Failure(f"no reply within {self._timeout:g} s")
        except self._openai.APIStatusError as error:
            return _Failure(f"HTTP {error.status_code}", error.status_code, self._quoted(error.message))
        except self._openai.APIConnectionError:
            return _Failure("no connection")
        except (self._openai.OpenAIError, ValueError):
            return _Failure("not the JSON of a chat completion", 200)
        return self._read(completion)

    def _read(self, completion: Any) -> str | _Failure:
        try:
            choice = completion.choices[0]
            ended, reply = choice.finish_reason, choice.message.content
        except (AttributeError, IndexError, KeyError, TypeError):
            return _Failure("not the JSON of a chat completion", 200)
        if ended != "stop":
            return _Failure(f"finish_reason {ended!r:.40}", 200)
        if not isinstance(reply, str) or not reply.strip():
            return _Failure("an empty reply", 200)
        return self._without_key(reply)

    def _access_key(self) -> str:
        """The access key, read anew from the environment each time so that no object holds it."""
        key = os.environ.get(self._key_variable, "").strip()
        if not key and (self._key_variable != KEY_VARIABLE or self._url == OPENAI):
            raise JudgeUnavailable(
                f"The judge {ENDPOINT}{self.model} needs an access key, and the environment variable "
                f"{self._key_variable} is not set. Set it, or give the address of a server that wants none: "
                f"'{ENDPOINT}{self.model}@http://localhost:8000/v1'."
            )
        if not (key.isascii() and key.isprintable()):
            raise JudgeUnavailable(
                f"The environment variable {self._key_variable} holds signs that no access key has; set it anew."
            )
        return key or "none"

    def _without_key(self, text: str) -> str:
        key = self._access_key()
        return text.replace(key, "[access key]") if len(key) >= SECRET else text

    def _quoted(self, text: str) -> str:
        return f"{self._without_key(text)!r:.300}"

    def _shown(self, failure: _Failure) -> str:
        """The server's words, unless they may hold an access key that is too short to be blacked out."""
        key = self._access_key()
        if len(key) >= SECRET or key.lower() in PLACEHOLDERS:
            return failure.said
        return "what it says is withheld, since it may repeat the access key, which is short"

    def _unavailable(self, failure: _Failure) -> JudgeUnavailable:
        parts = urlsplit(self._url)
        server = f"{parts.scheme}://{parts.netloc}"
        if failure.status in (401, 403):
            return JudgeUnavailable(
                f"{server} refuses the access key in the environment variable {self._key_variable} "
                f"(HTTP {failure.status}). Set it to a key of that server that may use {self.model!r:.80}."
            )
        if failure.served:
            return JudgeUnavailable(
                f"{server} does not let {self.model!r:.80} reply: {failure.reason}, {self._shown(failure)}. Check the "
                "model's name, and the address: it mostly ends in /v1."
            )
        return JudgeUnavailable(
            f"{server} is not to be reached: {failure.reason} after {self._attempts} attempts"
            f"{', ' + self._shown(failure) if failure.said else ''}. Check that the server runs, the "
            "address, and the quota of the access key; then run again. Replies that came "
            "before are kept where there is a store."
        )


def _checked(url: str) -> str:
    """An address without anything secret in it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if not good or parts.query or "@" in parts.netloc:
        raise JudgeUnavailable(
            "The judge's address cannot be used; expected http(s)://host/v1 without a user or a query. An access key "
            "belongs into the environment."
        )
    return url.rstrip("/")


def _digest(url: str) -> str:
    """Of scheme, host, port and path: two servers differ, and no address stands anywhere."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return sha256(f"{parts.scheme}://{parts.hostname}:{port}{parts.path}".encode()).hexdigest()[:8]


def _without_path(model: str) -> str:
    """A model's name; of a path, as some servers name their models, the last part and a digest of the whole."""
    if not model.startswith(("/", "\\", ".", "~")) and ":\\" not in model:
        return model
    last = re.split(r"[\\/]", model)[-1]
    return f"{last}-{sha256(model.encode()).hexdigest()[:8]}"
