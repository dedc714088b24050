"""A voter: a model behind an OpenAI-compatible endpoint, such as OpenAI's, a gateway's, or your own vLLM or SGLang."""

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from halluscope import sanitize
from halluscope.errors import HalluscopeError
from halluscope.judging.chat_completions import ChatCompletions, OverChat, reply_of
from halluscope.judging.client import AT_ONCE, Client, Failure
from halluscope.judging.questions import Question
from halluscope.judging.server import KEY_VARIABLE, Server
from halluscope.judging.voter import AnsweredBy, Pairs
from halluscope.judging.votes import FAILED, NO, OTHER, RULES, YES, first_word

# Room for white space or a mark before the word, and for a word of two tokens; the rest of a reply is not
# needed
MAX_TOKENS = 4

ENDS = ("stop", "length")  # The finish reasons of replies that count

TOP_LOGPROBS = 5  # How many of the most likely tokens are requested; some servers allow no more

# The least probability that is taken to be left for all other tokens; servers round, so less may mean zero
LEAST_LEFT = 1e-4

# The most votes in a batch, and the most seconds until it is passed on; a killed run loses no more than one
# batch
BATCH, BATCH_S = 64, 0.2

MANY = 0.1  # From this share of unreadable votes on, a warning says what to do

Vote = tuple[int, float]  # A code of `halluscope.judging.votes`, and its margin


class EndpointVoter(OverChat):
    """A model that is asked over HTTP, with each question about a text as the only message of a chat.

    The prompt is the frame of the question's set, in which the text comes first. The questions about a text are asked
    one after the other, so that the server has the beginning of the prompt in its cache. The vote is what the rule
    "first-word" reads in the reply, even in one that is cut off. If the server gives the most likely first tokens, they
    give the vote's margin, but never change the vote.

    Args:
        model: its name on the server; "MODEL@http://host/v1" includes the address.
        base_url: the address; by default the environment's OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the access key, as for
            `halluscope.judging.graders.endpoint.EndpointJudge`.
        max_tokens: how many tokens a reply may have.
        at_once: the most requests that may be under way; fewer while the server is overloaded.
        attempts: how often a question is tried.
        timeout: seconds that the server may be silent in an attempt; all attempts of a question with their waits may
            take `attempts` times as long.
        leave_out: settings that the server is known to refuse, from `halluscope.judging.chat_completions.SETTINGS`.

    A temperature, a seed or logprobs that the server refuses are left out, with a warning; `key` records it for the
    first two, because they can change a vote.

    Raises:
        MissingExtra: without httpx2.
        JudgeUnavailable: if the model is missing, the address cannot be used, or the access key is not set.
        ValueError: for a number out of range.
    """

    stored = True
    rule = "first-word"

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        max_tokens: int = MAX_TOKENS,
        at_once: int = AT_ONCE,
        attempts: int = 6,
        timeout: float = 60.0,
        leave_out: str | Sequence[str] = (),
    ) -> None:
        client = Client(Server.named(model, base_url, key_variable), at_once, attempts, timeout)
        self._chat = ChatCompletions(
            client,
            leave_out,
            temperature=0.0,
            max_tokens=max_tokens,
            seed=0,
            logprobs=True,
            top_logprobs=TOP_LOGPROBS,
        )
        self.max_tokens = max_tokens
        self._unread = ""

    @property
    def name(self) -> str:
        """The model, and a digest of the address if it is not OpenAI's."""
        return self._chat.client.server.key

    @property
    def key(self) -> str:
        """The name, the settings that are sent, and the reading rule."""
        # `settle` may change the key if the server refuses a setting
        return f"{self._chat.key}:{self.rule}"

    def settle(self) -> None:
        """Find out which settings the server accepts, unless that is known; this may change the key."""
        self._chat.settle()

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair, text by text, with margins; `FAILED` if no reply came."""
        self.settle()
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        asked = (pairs[row].tolist() for row in order)
        bodies = (self.body(texts[text], questions[question]) for text, question in asked)
        unread = 0
        for batch in _batches(self._chat.each(bodies, self.read)):
            votes = [(FAILED, math.nan) if isinstance(said, Failure) else said for _, said in batch]
            codes, margins = zip(*votes, strict=True)
            unread += codes.count(OTHER)
            yield order[[place for place, _ in batch]], np.array(codes, dtype=np.int8), np.array(margins)
        if unread > MANY * len(pairs):
            self._warn_of(unread, len(pairs))

    def body(self, text: str, question: Question) -> dict[str, Any]:
        """Return the request for one question about a text, as JSON."""
        return self._chat.body(question.prompt(text))

    def read(self, completion: Any) -> Vote | Failure:
        """Return the vote in a chat completion, as `vote_of` does, and remember an unreadable reply."""
        said = vote_of(completion)
        if not isinstance(said, Failure) and said[0] == OTHER:
            self._unread = str(reply_of(completion, ENDS))
        return said

    def _warn_of(self, unread: int, asked: int) -> None:
        warnings.warn(
            f"{unread:,} of {asked:,} replies of {self._chat.model} begin with neither yes nor no, such as "
            f"{sanitize.quoted(self._unread, 80)}; they count as unreadable votes. If the model thinks before it "
            "replies, turn that off when you start the server; otherwise use a model that follows instructions.",
            stacklevel=2,
        )


def vote_of(completion: Any) -> Vote | Failure:
    """Return the vote in a chat completion with its margin, or a `Failure` that says why it has no vote."""
    # The margin is log P(yes) - log P(no) in nats, for the reply's first token; see `margin`
    reply = reply_of(completion, ENDS)
    if isinstance(reply, Failure):
        return reply
    code = RULES[EndpointVoter.rule](reply, True)
    return (code, margin(completion, code)) if code in (YES, NO) else (OTHER, math.nan)


def margin(completion: Any, code: int) -> float:
    """Return the margin of a chat completion's first token: log P(yes) - log P(no), in nats.

    P is the sum over those of the most likely tokens that the reading rule reads as the word. If none of them is the
    opposite word, its P is taken to be all that these tokens leave, and at least `LEAST_LEFT`. The margin is then a
    bound: the true margin is at least as large in absolute value.
    """
    try:
        first = completion["choices"][0]["logprobs"]["content"][0]
        if _word(first["token"]) != code:
            return math.nan
        tops = [(_word(top["token"]), math.exp(top["logprob"])) for top in first["top_logprobs"]]
    except (IndexError, KeyError, OverflowError, TypeError):
        return math.nan
    shares = {of: math.fsum(share for word, share in tops if word == of) for of in (YES, NO)}
    said, other = shares[code], shares[NO if code == YES else YES]
    left = max(1.0 - math.fsum(share for _, share in tops), LEAST_LEFT)
    if not said > 0:  # NaN fails this test too
        return math.nan
    lead = math.log(said) - math.log(other or left)
    if not other and lead <= 0:
        return math.nan
    return lead if code == YES else -lead


def _word(token: str) -> int | None:
    """Return what the reading rule reads in a single token."""
    return first_word(token, True)


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
