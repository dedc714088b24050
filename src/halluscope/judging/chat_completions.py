"""Asks a model behind an OpenAI-compatible endpoint, for voters and graders: each prompt is a chat of its own.

`judging.client` does the asking over HTTP. This module says what is sent, which settings a server may refuse, what
counts as a reply, and what all replies cost.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from halluscope import sanitize
from halluscope.inputs import listed, word
from halluscope.judging.client import AT_ONCE, Client, Failure
from halluscope.options import Option

PATH = "chat/completions"
FORMAT, SEED, LOGPROBS, TOPS = "response_format", "seed", "logprobs", "top_logprobs"

# The settings that a server may refuse: temperature, limit (by its old name), seed, JSON schema,
# probabilities
SETTINGS = ("temperature", "max_tokens", SEED, FORMAT, LOGPROBS)

# The command-line option for `SETTINGS`, the same for voters and graders
LEAVE_OUT = Option(
    "leave_out",
    "settings not to send, because the endpoint refuses them (default: find out by trying): temperature, max_tokens, "
    "...",
    choices=SETTINGS,
    many=True,
)

# The command-line option for how many requests may be under way, the same for voters and graders
AT_ONCE_OPTION = Option(
    "at_once",
    f"the greatest number of concurrent requests to an endpoint (default: {AT_ONCE})",
    int,
    metavar="N",
)

EMPTY = "an empty reply"  # The reason for a missing reply if the server's text is empty

_PROBE = "Reply with one word: ready"
_RENAMED = {"max_tokens": "max_completion_tokens"}
# Patterns of the names under which servers refuse a setting, if they may use another name than its own
_NAMED = {FORMAT: f"{FORMAT}|json_schema", LOGPROBS: f"{LOGPROBS}|{TOPS}"}
_ALONG = {LOGPROBS: TOPS}  # The setting that is left out along with another
_SHOWN = {FORMAT: "JSON schema of a reply"}

# Matches where a control token of a common chat template begins
_CONTROL = re.compile(
    r"<(?=[|\uff5c][^<>\s]{1,60}[|\uff5c]>|/?s>|(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)

T = TypeVar("T")


@dataclass
class Usage:
    """What replies cost, as the server counts it."""

    replies: int = 0  # how many replies came
    read: int = 0  # the tokens of their prompts
    cached: int = 0  # the prompt tokens that the server had in its cache
    said: int = 0  # the tokens of the replies

    def add(self, completion: Any) -> None:
        """Count a chat completion; a number that it does not give counts as 0."""
        usage = _mapping(completion).get("usage")
        details = _mapping(_mapping(usage).get("prompt_tokens_details"))
        self.replies += 1
        self.read += _count(_mapping(usage).get("prompt_tokens"))
        self.said += _count(_mapping(usage).get("completion_tokens"))
        self.cached += _count(details.get("cached_tokens"))

    def __str__(self) -> str:
        cached = f" ({self.cached:,} of them cached)" if self.cached else ""
        tokens = (
            f"{self.read:,} tokens read{cached}, {self.said:,} generated"
            if self.read
            else "tokens not counted"
        )
        return f"{self.replies:,} replies, {tokens}"


class ChatCompletions:
    """A model behind an endpoint, and the settings that it accepts."""

    # A setting that the server refuses is left out from then on, with a warning, or sent by its newer name

    def __init__(self, client: Client, leave_out: Iterable[str] = (), **settings: Any) -> None:
        self.client = client
        self.refused: set[str] = set()
        for name in check_leave_out(leave_out):
            self._refuses(name)
        self.failures: Counter[str] = Counter()
        self.usage = Usage()
        self._settings = settings
        self._settled = False

    @property
    def model(self) -> str:
        """The model's name on the server."""
        return self.client.server.model

    @property
    def key(self) -> str:
        """The model, a digest of the address if it is not OpenAI's, and the sent settings that can change a reply."""
        temperature = None if "temperature" in self.refused else self._settings["temperature"]
        said = f"temperature={'default' if temperature is None else f'{temperature:g}'}"
        seedless = f":{SEED}=refused" if SEED in self.refused else ""
        return f"{self.client.server.key}:{said}{seedless}:max_tokens={self._settings['max_tokens']}"

    @property
    def spent(self) -> str:
        """What the replies have cost so far, in words; empty before the first reply."""
        return str(self.usage) if self.usage.replies else ""

    def body(self, prompt: str, **own: Any) -> dict[str, Any]:
        """Return the request for one prompt."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": disarmed(prompt)}],
            **self._taken({**own, **self._settings}),
        }

    def settle(self, **own: Any) -> None:
        """Send a test prompt until the server refuses no setting, so that errors come now and not for each prompt."""
        if self._settled:
            return
        said = self._probe(own)
        while isinstance(said, Failure) and (name := self._refused(said, own)):
            self._leave_out(name, said)
            said = self._probe(own)
        if isinstance(said, Failure) and said.status != 200:
            raise self.client.unavailable(said)
        self._settled = True

    def each(
        self, bodies: Iterable[Mapping[str, Any]], read: Callable[[Any], T | Failure]
    ) -> Iterator[tuple[int, T | Failure]]:
        """Yield each request's place with its reading, in the order of arrival, and count failures and costs."""
        for place, completion in self.client.each(PATH, bodies):
            reading = read(completion)
            if isinstance(reading, Failure):
                self.failures[reading.reason] += 1
            if not isinstance(completion, Failure):
                self.usage.add(completion)
            yield place, reading

    def _probe(self, own: Mapping[str, Any]) -> Any:
        return self.client.post(PATH, self.body(_PROBE, **own))

    def _taken(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings to send, by the names that the server accepts."""
        named = (
            (_RENAMED.get(name) if name in self.refused else name, value) for name, value in settings.items()
        )
        return {name: value for name, value in named if name and value is not None}

    def _refused(self, failure: Failure, own: Mapping[str, Any]) -> str | None:
        """Return the setting that the server says it does not accept."""
        if failure.status not in (400, 422):
            return None
        sent = self._taken({**own, **self._settings}).keys() - _RENAMED.values()
        named = (name for name in (*own, *self._settings) if name in sent)
        return next(
            (name for name in named if re.search(rf"\b(?:{_NAMED.get(name, name)})\b", failure.words)), None
        )

    def _leave_out(self, name: str, failure: Failure) -> None:
        """Ask without a setting from now on, or with its newer name, and say so."""
        self._refuses(name)
        if name not in _RENAMED:
            shown = _SHOWN.get(name, name)
            warnings.warn(
                f"{self.model} accepts no {shown} and is asked without it: {failure.said}", stacklevel=5
            )

    def _refuses(self, name: str) -> None:
        self.refused |= {name, _ALONG.get(name, name)}


def check_leave_out(names: Any) -> list[str]:
    """Return the settings that a server is known to refuse, from one name or a list of names."""
    known = [names] if isinstance(names, str) else listed("leave_out", names, "a list of settings' names")
    return [word("leave_out", name, SETTINGS) for name in known]


class OverChat:
    """Base of voters and graders behind an endpoint: passes on the failures and the cost that their model counts."""

    _chat: ChatCompletions

    @property
    def failures(self) -> Counter[str]:
        """How many prompts got no reply, by reason."""
        return self._chat.failures

    @property
    def spent(self) -> str:
        """What the replies have cost so far, in words; empty before the first reply."""
        return self._chat.spent

    def close(self) -> None:
        """Do nothing: nothing is held between calls."""


def reply_of(completion: Any, ends: tuple[str, ...] = ("stop",), empty: bool = False) -> str | Failure:
    """Return what a chat completion says, or a `Failure` with the reason why it says nothing."""
    if isinstance(completion, Failure):
        return completion
    try:
        choice = completion["choices"][0]
        ended, reply = choice.get("finish_reason"), choice["message"].get("content")
    except (AttributeError, IndexError, KeyError, TypeError):
        return Failure("not the JSON of a chat completion", 200)
    if not isinstance(ended, str) or ended not in ends:
        return Failure(f"finish_reason {sanitize.heard(sanitize.short_repr(ended, 400), 40)}", 200)
    if not isinstance(reply, str) or not (empty or reply.strip()):
        return Failure(EMPTY, 200)
    return sanitize.redact(reply)


def disarmed(text: str) -> str:
    """Return a text without lone surrogates, with a space inside whatever looks like a control token.

    >>> disarmed("A dog.<|im_end|> <s> <b>[/INST]")
    'A dog.< |im_end|> < s> <b>[ /INST]'
    """
    return _CONTROL.sub(lambda found: f"{found[0]} ", sanitize.encodable(text))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
