"""A model behind an OpenAI-compatible endpoint, such as OpenAI's, a gateway's, or your own vLLM or SGLang.

`EndpointVoter` reads a reply's first word as a vote; `EndpointJudge` gives the whole reply. This module says what is
sent, which settings a server may refuse, what counts as a reply, and what all replies cost.
"""

import json
import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from halluscope import sanitize
from halluscope.errors import HalluscopeError
from halluscope.judging.client import NOT_JSON, Client, Failure, Server
from halluscope.judging.judge import (
    FORMAT,
    LOGPROBS,
    MAX_TOKENS,
    SEED,
    SETTINGS,
    AnsweredBy,
    ChatJudge,
    Judge,
    Pairs,
    Schema,
    Voter,
)
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, OTHER, YES, first_word

PATH = "chat/completions"
TOPS = "top_logprobs"

# Reasons for a missing reply: the server's text is empty, or its JSON is something else
EMPTY = "an empty reply"
NO_COMPLETION = "not the JSON of a chat completion"

# How a reply ended: whole, or cut off; and what servers call it
STOP = "stop"
LENGTH = "length"
_ENDS = {
    "stop": STOP,
    "eos": STOP,
    "eos_token": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "length": LENGTH,
    "max_tokens": LENGTH,
}
# What another reason means, where it is not plain
_MEANS = {
    "None": "so whether the reply is whole is not known; another server may say so",
    "'content_filter'": "the server's filter withheld it",
    "'tool_calls'": "the model called a tool instead; start the server without tools",
}

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
            if isinstance(count, int) and 0 <= count < 2**53:
                self[name] += count

    def __str__(self) -> str:
        """Say what the replies cost; nothing before the first reply."""
        if not self:
            return ""
        replies = f"{self['replies']:,} replies"
        if not self["prompt_tokens"]:
            return f"{replies}, tokens not counted"
        cached = ""
        if self["cached_tokens"]:
            cached = f" ({self['cached_tokens']:,} of them cached)"
        return f"{replies}, {self['prompt_tokens']:,} tokens read{cached}, {self['completion_tokens']:,} generated"


def part_of(value: Any, name: str) -> dict[str, Any]:
    """Return the object of this name in a JSON object; {} if there is none."""
    if not isinstance(value, dict) or not isinstance(value.get(name), dict):
        return {}
    part: dict[str, Any] = value[name]
    return part


class Endpoint(Judge):
    """A model behind an endpoint, and the settings that it accepts.

    The settings, `temperature` and `max_tokens` among them, are sent with each prompt; None leaves one to the server. A
    setting that the server refuses is left out from then on, with a warning, or sent by its newer name.
    """

    def __init__(
        self,
        model: str,
        settings: Mapping[str, Any],
        **http: Any,
    ) -> None:
        self.client = Client(Server.named(model), **http)
        self.model = self.client.server.model  # the model's name on the server
        self.name = self.client.server.key  # the model, and a digest of the address if it is not OpenAI's
        self.refused: set[str] = set()  # the settings that the server does not accept
        self.usage = Usage()
        self.max_tokens: int = settings["max_tokens"]
        self._settings = dict(settings)
        self._probed = False

    @property
    def key(self) -> str:
        """The name, and the settings that are sent and can change a reply; `probe_settings` may change it."""
        temperature = "default"
        if "temperature" not in self.refused and self._settings["temperature"] is not None:
            temperature = f"{self._settings['temperature']:g}"
        parts = [self.name, f"temperature={temperature}"]
        if SEED in self.refused:
            parts.append(f"{SEED}=refused")
        parts.append(f"max_tokens={self.max_tokens}")
        return ":".join(parts)

    @property
    def spent(self) -> str:
        """What the replies have cost so far, in words; empty before the first reply."""
        return str(self.usage)

    def request(self, *turns: Any, **own: Any) -> dict[str, Any]:
        """Return the request for a chat's turns, with settings of its own; control tokens in texts are disarmed."""
        contents = [disarmed(turn) if isinstance(turn, str) else turn for turn in turns]
        request = {"model": self.model, "messages": chat_of(contents)}
        return request | self._accepted(self._settings | own)

    def probe_settings(self, **own: Any) -> None:
        """Send a test prompt until the server refuses no setting, so that errors come now and not for each prompt.

        What the model says to it does not matter.
        """
        while not self._probed:
            body = self.request(_PROBE, **own)
            reply = reply_of(self.client.post(PATH, body))
            if isinstance(reply, str) or _is_a_models(reply):
                self._probed = True
                return
            setting = _refused_setting(body, reply)
            if setting is None:
                raise self.client.unavailable(reply)
            self.refused.add(setting)
            if setting in _RENAMED:
                continue
            shown = "JSON schema of a reply" if setting == FORMAT else setting
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
        refused = set(self.refused)
        if LOGPROBS in refused:
            refused.add(TOPS)
        accepted = {}
        for name, value in settings.items():
            newer_name = _RENAMED.get(name) if name in refused else name
            if newer_name and value is not None:
                accepted[newer_name] = value
        return accepted


def _is_a_models(reply: Failure) -> bool:
    """Whether a model replied, although its reply does not count; otherwise the address may be that of a web page."""
    return reply.status == 200 and reply.reason not in (NOT_JSON, NO_COMPLETION)


def _refused_setting(request: Mapping[str, Any], reply: Failure) -> str | None:
    """Return the first setting of a request that the server's message names; None if it refuses something else."""
    if reply.status not in (400, 403, 422):
        return None
    for name in SETTINGS:
        names = _NAMED.get(name, name)
        if name in request and re.search(rf"\b(?:{names})\b", reply.raw_message, re.IGNORECASE):
            return name
    return None


def end_of(choice: Mapping[str, Any]) -> Any:
    """Return why a choice ended: `STOP` or `LENGTH`, or what else the server says."""
    reason = choice.get("finish_reason")
    return _ENDS.get(str(reason).lower(), reason)


def reply_of(completion: Any, ends: tuple[str, ...] = (STOP,), empty: bool = False) -> str | Failure:
    """Return what a chat completion says, or a `Failure` with the reason why it says nothing."""
    if isinstance(completion, Failure):
        return completion
    try:
        choice = completion["choices"][0]
        ended = end_of(choice)
        reply = choice["message"].get("content")
    except (AttributeError, IndexError, KeyError, TypeError):
        return _no_completion(completion)
    if not isinstance(ended, str) or ended not in ends:
        shown = sanitize.external_text(sanitize.short_repr(choice.get("finish_reason"), 400), 40)
        if shown in _MEANS:
            shown = f"{shown}, {_MEANS[shown]}"
        return Failure(f"finish_reason {shown}", 200)
    if isinstance(reply, list):
        reply = _text_of(reply)
    if not isinstance(reply, str) or not (empty or reply.strip()):
        return Failure(EMPTY, 200)
    return sanitize.redact(reply)


def _text_of(parts: Sequence[Any]) -> str | None:
    """Return the text of a reply that comes in parts, as some servers send it; None if they are all thoughts."""
    texts = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
    if not texts:
        return None
    return "".join(texts)


def _no_completion(value: Any) -> Failure:
    """Return the failure of a reply in JSON that is no chat completion; some servers report errors in this way."""
    try:
        message = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # thousands of nested brackets
        message = ""
    return Failure(NO_COMPLETION, 200, message)


def chat_of(contents: Sequence[Any]) -> list[dict[str, Any]]:
    """Return turns of the user and the model, in turn, as messages of a chat."""
    roles = ("user", "assistant")
    return [{"role": roles[turn % 2], "content": content} for turn, content in enumerate(contents)]


def disarmed(text: str) -> str:
    """Return a text without lone surrogates, with a space inside whatever looks like a control token.

    >>> disarmed("A dog.<|im_end|> <s> <b>[/INST]")
    'A dog.< |im_end|> < s> <b>[ /INST]'
    """
    return _CONTROL.sub(lambda match: f"{match[0]} ", sanitize.encodable(text))


# Room for a mark or white space before the word, and for a word of two tokens; more of a reply is not read
VOTE_TOKENS = 4

ENDS = (STOP, LENGTH)  # How replies that count may end

TOP_LOGPROBS = 5  # How many of the most likely tokens are requested; some servers allow no more

# The largest probability of a token; servers round
LARGEST_SHARE = 1.001

# The least probability that is taken to be left for all other tokens; servers round, so less may mean zero
LEAST_LEFT = 1e-4

# The most votes in a batch, and the most seconds until it is passed on; a killed run loses at most one batch
BATCH = 64
BATCH_S = 0.2

MANY = 0.1  # From this share of unreadable votes on, a warning says what to do


@dataclass(frozen=True)
class Vote:
    """A vote in a reply."""

    code: int  # a code of `halluscope.judging.votes`
    margin: float  # log P(yes) - log P(no) of the reply's first token, in nats; NaN if it is unknown
    unread: str = ""  # the reply, if it is neither yes nor no


NO_VOTE = Vote(FAILED, math.nan)


class EndpointVoter(Endpoint, Voter):
    """A model that is asked over HTTP, with each question about a text as the only message of a chat.

    The questions about a text follow each other, so that the server has the beginning of the prompt in its cache. The
    vote is what the rule "first-word" reads, even in a reply that is cut off; the likeliest first tokens, if the server
    gives them, give the vote's margin, and never change the vote.
    """

    def __init__(self, model: str, **http: Any) -> None:
        settings = {
            "temperature": 0.0,
            "max_tokens": VOTE_TOKENS,
            SEED: 0,
            LOGPROBS: True,
            TOPS: TOP_LOGPROBS,
        }
        super().__init__(model, settings, **http)

    @property
    def key(self) -> str:
        return f"{super().key}:first-word"

    def settle(self, schemas: Sequence[Schema | None] = ()) -> None:
        self.probe_settings()

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair, text by text, with margins; `FAILED` if no reply came."""
        self.settle()
        unread: list[str] = []
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        bodies = (self.body(texts[text], questions[question]) for text, question in pairs[order].tolist())
        for batch in _batches(self.each(bodies, vote_of)):
            votes = [vote if isinstance(vote, Vote) else NO_VOTE for _, vote in batch]
            unread += [vote.unread for vote in votes if vote.code == OTHER]
            rows = order[[index for index, _ in batch]]
            codes = np.array([vote.code for vote in votes], dtype=np.int8)
            yield rows, codes, np.array([vote.margin for vote in votes])
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
    """Return the vote in a chat completion, or a `Failure` that says why it has none."""
    reply = reply_of(completion, ENDS)
    if isinstance(reply, Failure):
        return reply
    code = first_word(reply)
    if code not in (YES, NO):
        return Vote(OTHER, math.nan, unread=reply)
    return Vote(code, margin(completion, code))


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
        shares = [(first_word(top["token"]), math.exp(top["logprob"])) for top in first["top_logprobs"]]
    except (IndexError, KeyError, OverflowError, TypeError):
        return math.nan
    if any(share > LARGEST_SHARE for _, share in shares):  # it is no probability
        return math.nan
    opposite = NO if code == YES else YES
    share = math.fsum(share for word, share in shares if word == code)
    opposite_share = math.fsum(share for word, share in shares if word == opposite)
    if not share > 0:  # NaN fails this test too
        return math.nan
    if opposite_share:
        lead = math.log(share) - math.log(opposite_share)
    else:
        left = max(1.0 - math.fsum(share for _, share in shares), LEAST_LEFT)
        lead = math.log(share) - math.log(left)
        if lead <= 0:
            return math.nan
    return lead if code == YES else -lead


def _batches(arriving: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield what arrives in batches; on an error, yield what came before it first."""
    batch: list[Any] = []
    end = time.monotonic() + BATCH_S
    try:
        for item in arriving:
            batch.append(item)
            if len(batch) == BATCH or time.monotonic() >= end:
                yield batch
                batch = []
                end = time.monotonic() + BATCH_S
    except HalluscopeError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class EndpointJudge(Endpoint, ChatJudge):
    """A model that is asked over HTTP, with each prompt as the only message of a chat.

    `temperature` None leaves it to the server, `structured` holds replies to the JSON schema that goes with a prompt.
    `max_tokens` includes thinking.
    """

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
        if self.structured:
            return f"{super().key}:json_schema"
        return super().key

    @property
    def structured(self) -> bool:
        """Whether replies are held to a schema; a server may refuse that."""
        return self._structured and FORMAT not in self.refused

    def settle(self, schemas: Sequence[Schema | None] = ()) -> None:
        """Send the test prompt, with one of these schemas if there is any, unless it has been sent."""
        first = next((schema for schema in schemas if schema), None)
        self.probe_settings(**self._own(first))

    def replies(
        self,
        prompts: Sequence[str],
        schemas: Sequence[Schema | None] = (),
        seeds: Sequence[int] = (),
    ) -> Iterator[tuple[int, str | None]]:
        """Send all prompts, many at once; without schemas and seeds, each with none and with the seed 0."""
        self.settle(schemas)
        schemas = schemas or [None] * len(prompts)
        seeds = seeds or [0] * len(prompts)
        return self._send(map(self.body, prompts, schemas, seeds))

    def _send(self, bodies: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, str | None]]:
        for index, reply in self.each(bodies, partial(reply_of, empty=True)):
            if isinstance(reply, Failure):
                yield index, None
            else:
                yield index, reply

    def body(self, prompt: str, schema: Schema | None = None, seed: int = 0) -> dict[str, Any]:
        """Return the request for one prompt, as JSON."""
        return self.request(prompt, **self._own(schema, seed))

    def _own(self, schema: Schema | None, seed: int = 0) -> dict[str, Any]:
        if not schema or not self.structured:
            return {SEED: seed}
        json_schema = {"name": "verdict", "strict": True, "schema": schema}
        return {FORMAT: {"type": "json_schema", "json_schema": json_schema}, SEED: seed}
