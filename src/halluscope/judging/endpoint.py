"""A model behind an OpenAI-compatible endpoint, such as OpenAI's, a gateway's, or your own vLLM or SGLang.

`EndpointVoter` reads a reply's first word as a vote; `EndpointJudge` gives the whole reply. This module says what is
sent, which settings a server may refuse, what counts as a reply, and what all replies cost.
"""

import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from halluscope import sanitize
from halluscope.errors import HalluscopeError
from halluscope.judging.client import Client, Failure, Server
from halluscope.judging.judge import (
    FORMAT,
    LOGPROBS,
    MAX_TOKENS,
    SEED,
    SETTINGS,
    AnsweredBy,
    Pairs,
    Schema,
    check_leave_out,
)
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, YES, first_word

PATH = "chat/completions"
TOPS = "top_logprobs"

EMPTY = "an empty reply"  # The reason for a missing reply if the server's text is empty

_PROBE = "Reply with one word: ready"
_RENAMED = {"max_tokens": "max_completion_tokens"}
# Patterns of the names under which servers refuse a setting, if they may use another name than its own
_NAMED = {FORMAT: f"{FORMAT}|json_schema", LOGPROBS: f"{LOGPROBS}|{TOPS}"}

# Matches where a control token of a common chat template begins
_CONTROL = re.compile(
    r"<(?=[|\uff5c][^<>\s]{1,60}[|\uff5c]>|/?s>|(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)

T = TypeVar("T")


class Usage(Counter[str]):
    """What replies cost, as the server counts it: replies, and tokens by OpenAI's names."""

    def add(self, completion: Any) -> None:
        """Count a chat completion; a number that it does not give counts as 0."""
        self["replies"] += 1
        counts = part_of(completion, "usage")
        details = part_of(counts, "prompt_tokens_details")
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            count = details.get(name, counts.get(name))
            self[name] += count if isinstance(count, int) and 0 <= count < 2**53 else 0

    def __str__(self) -> str:
        """Say what the replies cost; nothing before the first reply."""
        read, cached = self["prompt_tokens"], self["cached_tokens"]
        of_read = f" ({cached:,} of them cached)" if cached else ""
        tokens = f"{read:,} tokens read{of_read}, {self['completion_tokens']:,} generated"
        return f"{self['replies']:,} replies, {tokens if read else 'tokens not counted'}" if self else ""


def part_of(value: Any, name: str) -> dict[str, Any]:
    """Return the object of this name in a JSON object; {} if there is none."""
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


class Endpoint:
    """A model behind an endpoint, and the settings that it accepts.

    The settings, `temperature` and `max_tokens` among them, are sent with each prompt; None leaves one to the server. A
    setting that the server refuses is left out from then on, with a warning, or sent by its newer name.
    """

    def __init__(
        self,
        model: str,
        settings: Mapping[str, Any],
        leave_out: str | Sequence[str] = (),
        **http: Any,
    ) -> None:
        self.client = Client(Server.named(model), **http)
        self.model = self.client.server.model  # the model's name on the server
        self.name = self.client.server.key  # the model, and a digest of the address if it is not OpenAI's
        self.refused = {*check_leave_out(leave_out)}  # the settings that the server does not accept
        self.failures: Counter[str] = Counter()  # how many prompts got no reply, by reason
        self.usage = Usage()
        self.max_tokens: int = settings["max_tokens"]
        self._settings = {**settings}
        self._probed = False

    @property
    def key(self) -> str:
        """The name, and the settings that are sent and can change a reply; `probe_settings` may change it."""
        temperature = None if "temperature" in self.refused else self._settings["temperature"]
        sent = f"temperature={'default' if temperature is None else f'{temperature:g}'}"
        seedless = f":{SEED}=refused" if SEED in self.refused else ""
        return f"{self.name}:{sent}{seedless}:max_tokens={self.max_tokens}"

    @property
    def spent(self) -> str:
        """What the replies have cost so far, in words; empty before the first reply."""
        return str(self.usage)

    def request(self, *turns: Any, **own: Any) -> dict[str, Any]:
        """Return the request for a chat's turns, with settings of its own; control tokens in texts are disarmed."""
        contents = [disarmed(turn) if isinstance(turn, str) else turn for turn in turns]
        return {"model": self.model, "messages": chat_of(contents), **self._accepted(self._settings | own)}

    def probe_settings(self, **own: Any) -> None:
        """Send a test prompt until the server refuses no setting, so that errors come now and not for each prompt."""
        while not self._probed:
            body = self.request(_PROBE, **own)
            reply = self.client.post(PATH, body)
            if not isinstance(reply, Failure) or reply.status == 200:
                self._probed = True
                continue
            refused = [
                name
                for name in SETTINGS
                if name in body and re.search(rf"\b(?:{_NAMED.get(name, name)})\b", reply.raw_message)
            ]
            if not refused or reply.status not in (400, 422):
                raise self.client.unavailable(reply)
            self.refused.add(refused[0])
            if refused[0] not in _RENAMED:
                shown = "JSON schema of a reply" if refused[0] == FORMAT else refused[0]
                warnings.warn(
                    f"{self.model} accepts no {shown} and is asked without it: {reply.message}", stacklevel=4
                )

    def each(
        self, bodies: Iterable[Mapping[str, Any]], read: Callable[[Any], T | Failure]
    ) -> Iterator[tuple[int, T | Failure]]:
        """Yield each request's index with its reading, in the order of arrival, and count failures and costs."""
        for index, completion in self.client.each(PATH, bodies):
            reading = read(completion)
            if isinstance(reading, Failure):
                self.failures[reading.reason] += 1
            if not isinstance(completion, Failure):
                self.usage.add(completion)
            yield index, reading

    def close(self) -> None: ...

    def _accepted(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings to send, by the names that the server accepts."""
        refused = self.refused | ({TOPS} if LOGPROBS in self.refused else set())
        named = ((_RENAMED.get(name) if name in refused else name, value) for name, value in settings.items())
        return {name: value for name, value in named if name and value is not None}


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
        return Failure(f"finish_reason {sanitize.external_text(sanitize.short_repr(ended, 400), 40)}", 200)
    if not isinstance(reply, str) or not (empty or reply.strip()):
        return Failure(EMPTY, 200)
    return sanitize.redact(reply)


def chat_of(contents: Sequence[Any]) -> list[dict[str, Any]]:
    """Return turns of the user and the model, in turn, as messages of a chat."""
    return [{"role": ("user", "assistant")[i % 2], "content": one} for i, one in enumerate(contents)]


def disarmed(text: str) -> str:
    """Return a text without lone surrogates, with a space inside whatever looks like a control token.

    >>> disarmed("A dog.<|im_end|> <s> <b>[/INST]")
    'A dog.< |im_end|> < s> <b>[ /INST]'
    """
    return _CONTROL.sub(lambda found: f"{found[0]} ", sanitize.encodable(text))


# Room for a mark or white space before the word, and for a word of two tokens; more of a reply is not read
VOTE_TOKENS = 4

ENDS = ("stop", "length")  # The finish reasons of replies that count

TOP_LOGPROBS = 5  # How many of the most likely tokens are requested; some servers allow no more

# The least probability that is taken to be left for all other tokens; servers round, so less may mean zero
LEAST_LEFT = 1e-4

# The most votes in a batch, and the most seconds until it is passed on; a killed run loses at most one batch
BATCH, BATCH_S = 64, 0.2

MANY = 0.1  # From this share of unreadable votes on, a warning says what to do

Vote = tuple[int, float]  # A code of `halluscope.judging.votes`, and its margin


class EndpointVoter(Endpoint):
    """A model that is asked over HTTP, with each question about a text as the only message of a chat.

    The questions about a text follow each other, so that the server has the beginning of the prompt in its cache. The
    vote is what the rule "first-word" reads, even in a reply that is cut off; the likeliest first tokens, if the server
    gives them, give the vote's margin, and never change the vote.
    """

    stored = True

    def __init__(self, model: str, *, max_tokens: int = VOTE_TOKENS, **http: Any) -> None:
        tops = {LOGPROBS: True, TOPS: TOP_LOGPROBS}
        settings = {"temperature": 0.0, "max_tokens": max_tokens, SEED: 0, **tops}
        super().__init__(model, settings, **http)

    @property
    def key(self) -> str:
        return f"{super().key}:first-word"

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair, text by text, with margins; `FAILED` if no reply came."""
        unread: list[str] = []

        def read(completion: Any) -> Vote | Failure:
            vote = vote_of(completion)
            if not isinstance(vote, Failure) and vote[0] == OTHER:
                unread.append(str(reply_of(completion, ENDS)))
            return vote

        self.probe_settings()
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        bodies = (self.body(texts[text], questions[question]) for text, question in pairs[order].tolist())
        for batch in _batches(self.each(bodies, read)):
            votes = [(FAILED, math.nan) if isinstance(vote, Failure) else vote for _, vote in batch]
            codes, margins = zip(*votes, strict=True)
            yield order[[index for index, _ in batch]], np.array(codes, dtype=np.int8), np.array(margins)
        if len(unread) > MANY * len(pairs):
            warnings.warn(
                f"{len(unread):,} of {len(pairs):,} replies of {self.model} begin with neither yes nor no, such as "
                f"{sanitize.quoted(unread[0], 80)}; they count as unreadable votes. If the model thinks before it "
                "replies, turn that off when you start the server; otherwise use a model that follows instructions.",
                stacklevel=1,
            )

    def body(self, text: str, question: Question) -> dict[str, Any]:
        """Return the request for one question about a text, as JSON."""
        return self.request(question.prompt(text))


def vote_of(completion: Any) -> Vote | Failure:
    """Return the vote in a chat completion with its margin, or a `Failure` that says why it has no vote."""
    # The margin is log P(yes) - log P(no) in nats, for the reply's first token; see `margin`
    reply = reply_of(completion, ENDS)
    if isinstance(reply, Failure):
        return reply
    code = first_word(reply)
    return (code, margin(completion, code)) if code in (YES, NO) else (OTHER, math.nan)


def margin(completion: Any, code: int) -> float:
    """Return the margin of a chat completion's first token: log P(yes) - log P(no), in nats.

    P is the sum over those of the most likely tokens that the reading rule reads as the word. If none of them is the
    opposite word, its P is taken to be all that these tokens leave, and at least `LEAST_LEFT`. The margin is then a
    bound: the true margin is at least as large in absolute value.
    """
    try:
        first = completion["choices"][0]["logprobs"]["content"][0]
        if first_word(first["token"]) != code:
            return math.nan
        tops = [(first_word(top["token"]), math.exp(top["logprob"])) for top in first["top_logprobs"]]
    except (IndexError, KeyError, OverflowError, TypeError):
        return math.nan
    opposite = NO if code == YES else YES
    share, other = (math.fsum(share for word, share in tops if word == one) for one in (code, opposite))
    left = max(1.0 - math.fsum(share for _, share in tops), LEAST_LEFT)
    if not share > 0:  # NaN fails this test too
        return math.nan
    lead = math.log(share) - math.log(other or left)
    if not other and lead <= 0:
        return math.nan
    return lead if code == YES else -lead


def _batches(arriving: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield what arrives in batches; on an error, yield what came before it first."""
    batch: list[Any] = []
    end = time.monotonic() + BATCH_S
    try:
        for one in arriving:
            batch.append(one)
            if len(batch) == BATCH or time.monotonic() >= end:
                yield batch
                batch, end = [], time.monotonic() + BATCH_S
    except HalluscopeError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class EndpointJudge(Endpoint):
    """A model that is asked over HTTP, with each prompt as the only message of a chat.

    `temperature` None leaves it to the server, `structured` holds replies to the JSON schema that goes with a prompt.
    `max_tokens` includes thinking.
    """

    seeded = True

    def __init__(
        self,
        model: str,
        *,
        temperature: float | None = 0.0,
        max_tokens: int = MAX_TOKENS,
        structured: bool = False,
        **http: Any,
    ) -> None:
        super().__init__(model, {"temperature": temperature, "max_tokens": max_tokens}, **http)
        self._structured = structured

    @property
    def key(self) -> str:
        return f"{super().key}{':json_schema' if self.structured else ''}"

    @property
    def structured(self) -> bool:
        """Whether replies are held to a schema; a server may refuse that."""
        return self._structured and FORMAT not in self.refused

    def replies(
        self,
        prompts: Sequence[str],
        schemas: Sequence[Schema | None] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, str | None]]:
        """Send all prompts, many at once. The first call sends a test prompt first, to see what the server accepts."""
        every = len(prompts)
        schemas = schemas or [None] * every
        self.probe_replies(schemas)
        asked = zip(prompts, schemas, seeds or [0] * every, strict=True)
        bodies = (self.body(*one) for one in asked)
        replies = self.each(bodies, lambda completion: reply_of(completion, empty=True))
        return ((index, reply if isinstance(reply, str) else None) for index, reply in replies)

    def probe_replies(self, schemas: Sequence[Schema | None]) -> None:
        """Send the test prompt, with one of these schemas if there is any, unless it has been sent."""
        first = next((schema for schema in schemas if schema), None)
        self.probe_settings(**self._own(first))

    def body(self, prompt: str, schema: Schema | None = None, seed: int = 0) -> dict[str, Any]:
        """Return the request for one prompt, as JSON."""
        return self.request(prompt, **self._own(schema, seed))

    def _own(self, schema: Schema | None, seed: int = 0) -> dict[str, Any]:
        if not (schema and self.structured):
            return {SEED: seed}
        held = {"name": "verdict", "strict": True, "schema": schema}
        return {FORMAT: {"type": "json_schema", "json_schema": held}, SEED: seed}
