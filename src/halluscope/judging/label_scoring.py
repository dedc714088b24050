"""A model behind vLLM or SGLang that votes by the probabilities of two labels, one request per text.

This is a different judge from the same model as "openai:MODEL@URL", whose replies are read. Here nothing is generated,
and the vote is the more likely label, whatever else the model would rather say. A model that thinks before it replies
is read where its thoughts would begin.

Both servers take a query and items as token ids, and read query + item for each item. This module follows stored copies
of the files below, read in November 2026; neither server was run:

- vLLM, `POST /generative_scoring`: vllm/entrypoints/generate/generative_scoring/serving.py at 0487d5c, the same at
  055e47c under vllm/frontend/, and docs.vllm.ai/en/v0.22.1/serving/online_serving/generative_scoring. A reply holds one
  number per item, the share of the first label among the labels. The end of an overlong prompt is cut off silently.
- SGLang, `POST /v1/score`: python/sglang/srt/managers/tokenizer_manager_score_mixin.py at 016f96e,
  srt/entrypoints/openai/protocol.py, docs.sglang.io/docs/basic_usage/native_api, and pull request 18381 for `usage`. A
  reply holds one probability per item and label. With --enable-mis (formerly --multi-item-scoring-delimiter) all
  items are read as one prompt with delimiters in it, which is another judge.

Therefore a reply counts only if the server says that it read as many tokens as were sent, which SGLang from before that
pull request (February 2026) does not say.

Both have `POST /tokenize`, which gives the `tokens` of a `prompt`: vllm/entrypoints/serve/tokenize/protocol.py at
030ea52, sglang/srt/entrypoints/openai/serving_tokenize.py at 0351c1f.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable
from halluscope.judging.client import ENDPOINT, Client, Failure, Server
from halluscope.judging.endpoint import EndpointVoter, Usage
from halluscope.judging.judge import AT_ONCE, SCORING, AnsweredBy, Margins, Pairs
from halluscope.judging.models.engine import ChatTokens, common_prefix
from halluscope.judging.models.language_model import Ids
from halluscope.judging.questions import Question
from halluscope.judging.votes import FAILED, NO, YES
from halluscope.sanitize import short_repr
from halluscope.validation import is_number

# The default labels: instruct models begin a reply with a capital, even if they are told to answer yes or no
LABELS = ("Yes", "No")

MOST_ITEMS = 1_000  # The most questions about a text in one request

# The default time-out is long, because a request holds hundreds of prompts, and may wait for other clients'
TIMEOUT_S = 300.0

# A prompt of several kinds of letters, by which two tokenizers are compared
TOKENIZED = "Is it there? \u00c4pfel, 3 x \u3042."

# The smallest difference from 1 that a share in double precision can have
LEAST_SHARE = 2.0**-53

# The statuses by which a server says that it has no such endpoint, or a different one at that path
ABSENT = (400, 404, 405, 422, 501)

# The endpoints' paths below the server's address, in the order in which they are tried. vLLM has a /v1/score too, for
# models of another kind.
ENDPOINTS = VLLM, SGLANG = "generative_scoring", "v1/score"

Rows = NDArray[np.int64]


class LabelRequest(NamedTuple):
    """One request: prompts with the same beginning."""

    query: Ids  # the tokens that all prompts begin with
    items: list[Ids]  # the remaining tokens of each prompt

    def body(self, path: str, model: str, labels: list[int]) -> dict[str, Any]:
        """Return the JSON to send. SGLang is asked for probabilities among all tokens; its shares are float32."""
        asked = {"model": model, **self._asdict(), "label_token_ids": labels, "item_first": False}
        own = (
            {"apply_softmax": True, "add_special_tokens": False} if path == VLLM else {"apply_softmax": False}
        )
        return asked | own

    def margins(self, path: str, reply: Any) -> Margins | Failure:
        """Return for each item by how many nats yes is more likely than no, or why that is unknown."""
        if isinstance(reply, Failure):
            return reply
        try:
            count, is_vllm = len(self.items), path == VLLM
            scores = _in_order(reply["data"], count) if is_vllm else reply["scores"]
            table = np.array(scores, dtype=object)
            if table.shape != ((count,) if is_vllm else (count, 2)):
                of = "" if is_vllm else " of 2 labels"
                raise ValueError(f"{len(scores):,} scores for {count:,} items{of}")
            if not all(is_number(one) and 0 <= one <= 1 + 1e-6 for one in table.flat):  # False for NaN
                raise ValueError("a score that is not a probability")
            shares = table.astype(np.float64).clip(max=1.0)  # servers round
            yes, no = (shares, np.maximum(1 - shares, LEAST_SHARE)) if is_vllm else shares.T
            with np.errstate(divide="ignore", invalid="ignore"):
                margins: Margins = np.log(yes) - np.log(no)
            read_tokens = reply["usage"]["prompt_tokens"]
            if not np.isfinite(margins).all():
                raise ValueError("a label with the probability 0")
        except (AttributeError, KeyError, TypeError):
            return Failure("not the JSON of scores", 200)
        except ValueError as error:
            return Failure(f"not the scores that were asked for: {error}", 200)
        if read_tokens != len(self.query) * len(self.items) + sum(map(len, self.items)):
            return Failure(
                "another number of tokens was read than was sent: prompts were cut, or joined by delimiters",
                200,
            )
        return margins


def _in_order(data: Any, items: int) -> list[Any]:
    """Return vLLM's shares of yes in the items' order."""
    shares = {one["index"]: one["score"] for one in data}
    if len(shares) < len(data) or any(type(i) is not int or not 0 <= i < items for i in shares):
        raise ValueError("an item that was not asked about, or the same item twice")
    return [shares[i] for i in sorted(shares)]


class ScoringVoter:
    """A model whose server compares two labels, all questions about a text in one request.

    The vote is yes if P(yes) > P(no), and its margin is log P(yes) - log P(no) in nats, where P is the probability that
    the reply begins with the label, "Yes" or "No". Prompts are sent as token ids: the tokens that all prompts about a
    text begin with are the query, and the rest of each prompt is an item. Where a margin is smaller than `recheck`
    nats, `EndpointVoter` is asked, and its votes count.
    """

    stored = True

    def __init__(
        self,
        model: str,
        tokenizer: str | None = None,
        recheck: float = 0.0,
        at_once: int = AT_ONCE,
        leave_out: str | Sequence[str] = (),
        **http: Any,
    ) -> None:
        self.recheck = recheck
        server = Server.named(model, SCORING)
        root = server.url.removesuffix("/v1")
        self.client = Client(replace(server, url=root), at_once, **{"timeout": TIMEOUT_S, **http})
        plain = f"{server.model}@{root}/v1"
        self._chat = EndpointVoter(plain, at_once=at_once, leave_out=leave_out) if recheck else None
        try:
            self._tokens = ChatTokens(tokenizer or server.model)
        except JudgeUnavailable as error:
            raise JudgeUnavailable(
                f"The judge {short_repr(SCORING + server.model)} needs its model's tokenizer, for the chat template "
                f"and the tokens of the labels, but {short_repr(tokenizer or server.model)} has no tokenizer. Name its "
                f"folder or Hub id: tokenizer='ORG/NAME'. {error}"
            ) from error
        turn = self._tokens.turn(TOKENIZED)
        self.label_ids = [self._tokens.after(turn, label) for label in LABELS]
        self._path = ""  # of the endpoint that the server has, once that is known
        self._failures: Counter[str] = Counter()
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The model, and a digest of the address."""
        return self.client.server.key

    @property
    def key(self) -> str:
        """The name, the labels, a digest of the tokenizer, and the judge that votes again."""
        # The kind of endpoint is not part of it, because both kinds give the same probabilities; so kept
        # votes are found without a server. `probe_settings` may change the part about the judge that votes again.
        again = f":below-{self.recheck:g}-by({self._chat.key})" if self._chat else ""
        return f"{self.name}:{'/'.join(LABELS)}:tokenizer={self._tokens.digest}{again}"

    @property
    def failures(self) -> Counter[str]:
        """How many questions got no vote, by reason."""
        return self._failures + (self._chat.failures if self._chat else Counter())

    @property
    def spent(self) -> str:
        """What the votes have cost so far, in words; empty before the first vote."""
        again = self._chat.spent if self._chat else ""
        return f"{self._usage}; asked again: {again}" if again else str(self._usage)

    def probe_settings(self) -> None:
        """Find out which endpoint the server has, and whether its tokenizer is this one, unless that is known."""
        if self._path:
            return
        path = self._detected()
        self._compare_tokenizers()
        if self._chat:
            self._chat.probe_settings()
        self._path = path

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair, text by text, with margins; `FAILED` if no scores came."""
        self.probe_settings()
        under_way: dict[int, tuple[Rows, LabelRequest]] = {}
        near = [np.zeros(0, dtype=np.int64)]

        def bodies() -> Iterator[Mapping[str, Any]]:
            for index, rows in enumerate(requests(pairs)):
                asked = self.asked(texts, questions, pairs[rows])
                under_way[index] = rows, asked
                yield asked.body(self._path, self.client.server.model, self.label_ids)

        for index, reply in self.client.each(self._path, bodies()):
            rows, asked = under_way.pop(index)
            margins = asked.margins(self._path, reply)
            if isinstance(margins, Failure):
                self._failures[margins.reason] += len(rows)
                yield rows, np.full(len(rows), FAILED, dtype=np.int8), np.full(len(rows), np.nan)
                continue
            self._usage.add(reply)
            close = np.abs(margins) < self.recheck
            near.append(rows[close])
            votes = np.where(margins > 0, YES, NO).astype(np.int8)  # a margin of 0 is a no
            yield rows[~close], votes[~close], margins[~close]
        again = np.concatenate(near)
        if self._chat and len(again):
            for indices, codes, margins in self._chat.answer(texts, questions, pairs[again]):
                yield again[indices], codes, margins

    def asked(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> LabelRequest:
        """Return the request for these pairs: the beginning that their prompts share, and the rest of each."""
        prompts = self._tokens.tokens(texts, questions, pairs)
        query = common_prefix(prompts)
        return LabelRequest(query, [prompt[len(query) :] for prompt in prompts])

    def close(self) -> None: ...

    def _detected(self) -> str:
        """Return the path of the endpoint that the server has, found by asking for the scores of one token."""
        server, absent = self.client.server, []
        plain = f"use the judge '{ENDPOINT}MODEL@URL'. That is a different judge, whose replies are read."
        probe = LabelRequest(self.label_ids[:1], [self.label_ids[1:]])
        for path in ENDPOINTS:
            reply = self.client.post(path, probe.body(path, server.model, self.label_ids))
            failure = probe.margins(path, reply)
            if not isinstance(failure, Failure):
                return path
            if failure.status == 200:
                raise JudgeUnavailable(
                    f"{server.origin}/{path} does not reply as documented: {failure.reason}. If it is SGLang, start "
                    f"it without --enable-mis; or {plain}"
                )
            if failure.status not in ABSENT:
                raise self.client.unavailable(failure)
            absent.append(f"/{path}: {failure.reason}{failure.message and f', {failure.message}'}")
        raise JudgeUnavailable(
            f"{server.origin} does not score labels for {short_repr(server.model)} ({'; '.join(absent)}). Check the "
            "model's name; if it is right, the server has neither vLLM's /generative_scoring nor SGLang's /v1/score, "
            f"so {plain}"
        )

    def _compare_tokenizers(self) -> None:
        """Compare the tokens of a prompt that ends in each label with those that the server makes."""
        server, chat = self.client.server, self._tokens.turn(TOKENIZED)
        for word in LABELS:
            body = {"model": server.model, "prompt": chat + word, "add_special_tokens": False}
            reply = self.client.post("tokenize", body)
            if isinstance(reply, Failure):
                warnings.warn(
                    f"{server.origin} does not say how it tokenizes ({reply.reason} at /tokenize), so nothing checks "
                    f"that the tokenizer {short_repr(self._tokens.weights.name)} is that of the server's model.",
                    stacklevel=2,
                )
                return
            if not isinstance(reply, dict) or reply.get("tokens") != self._tokens.ids(chat + word):
                raise JudgeUnavailable(
                    f"The tokenizer {short_repr(self._tokens.weights.name)} makes other tokens than {server.origin} "
                    "does; expected that of the server's model. Name its folder or Hub id: tokenizer='ORG/NAME'."
                )


def requests(pairs: Pairs) -> Iterator[Rows]:
    """Yield for each request its rows of `pairs`: those about one text, at most `MOST_ITEMS`."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    for rows in np.split(order, np.flatnonzero(np.diff(pairs[order, 0])) + 1):
        yield from np.split(rows, range(MOST_ITEMS, len(rows), MOST_ITEMS))
