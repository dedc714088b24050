"""The endpoints at which a server says how probable the next tokens are: what is sent, and which replies count.

Both take a query and items as token ids, and read query + item for each item; no reply is generated. This module
follows stored copies of the files below, read in November 2026; neither server was run:

- vLLM, `POST /generative_scoring`: vllm/entrypoints/generate/generative_scoring/serving.py at 0487d5c, the same at
  055e47c under vllm/frontend/, and docs.vllm.ai/en/v0.22.1/serving/online_serving/generative_scoring. A reply holds one
  number per item, the share of the first label among the labels. The end of an overlong prompt is cut off silently.
- SGLang, `POST /v1/score`: python/sglang/srt/managers/tokenizer_manager_score_mixin.py at 016f96e,
  srt/entrypoints/openai/protocol.py, docs.sglang.io/docs/basic_usage/native_api, and pull request 18381 for `usage`. A
  reply holds one probability per item and label. With --enable-mis (formerly --multi-item-scoring-delimiter) all
  items are read as one prompt with delimiters in it. These are other prompts, and so another judge.

Therefore a reply counts only if the server says that it read as many tokens as were sent. An SGLang from before that
pull request (February 2026) does not say so, and is refused.

Both have `POST /tokenize`, which gives the `tokens` of a `prompt`: vllm/entrypoints/serve/tokenize/protocol.py at
030ea52, sglang/srt/entrypoints/openai/serving_tokenize.py at 0351c1f.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halluscope import sanitize
from halluscope.errors import JudgeUnavailable
from halluscope.inputs import is_number
from halluscope.judging.client import Client, Failure
from halluscope.judging.models.language_model import Ids
from halluscope.judging.server import ENDPOINT

# The largest margin, in nats, that a share in double precision can express; beyond it the share is 1
SUREST = math.log(2.0**53)


@dataclass(frozen=True)
class Labels:
    """The tokens that are compared."""

    yes: tuple[int, ...]  # token ids whose probabilities add up to that of yes
    no: tuple[int, ...]  # token ids whose probabilities add up to that of no


@dataclass(frozen=True)
class Asked:
    """One request: prompts with the same beginning."""

    query: Ids  # the tokens that all prompts begin with
    items: list[Ids]  # the remaining tokens of each prompt

    @property
    def tokens(self) -> int:
        """How many tokens the server reads, counting the query's tokens once per item."""
        return len(self.query) * len(self.items) + sum(map(len, self.items))


class Endpoint(Protocol):
    """An endpoint that gives the probabilities of labels."""

    path: str  # its path below the server's address
    adds_up: bool  # whether several tokens may stand for yes

    def body(self, model: str, asked: Asked, labels: Labels) -> dict[str, Any]:
        """Return the JSON to send."""
        ...

    def margins(self, said: Any, labels: Labels, items: int) -> NDArray[np.float64]:
        """Return for each item by how many nats yes is more likely than no."""
        ...


class VLLM:
    """vLLM's generative scoring."""

    path, adds_up = "generative_scoring", False

    def body(self, model: str, asked: Asked, labels: Labels) -> dict[str, Any]:
        """Return the JSON to send: the label for yes comes first, because the reply gives only that label's share."""
        return _body(model, asked, labels) | {"apply_softmax": True, "add_special_tokens": False}

    def margins(self, said: Any, labels: Labels, items: int) -> NDArray[np.float64]:
        """Return the log-odds of the share of yes."""
        shares = np.full(items, np.nan)
        for one in said["data"]:
            index, share = one["index"], one["score"]
            if type(index) is not int or not 0 <= index < items or not np.isnan(shares[index]):
                raise ValueError("an item that was not asked about, or the same item twice")
            shares[index] = _probability(share)
        if np.isnan(shares).any():
            raise ValueError(f"{items - np.isnan(shares).sum():,} scores for {items:,} items")
        with np.errstate(divide="ignore"):
            margins: NDArray[np.float64] = np.minimum(np.log(shares) - np.log1p(-shares), SUREST)
        return _known(margins)


class SGLang:
    """SGLang's scores."""

    path, adds_up = "v1/score", True

    def body(self, model: str, asked: Asked, labels: Labels) -> dict[str, Any]:
        """Return the JSON to send, for probabilities among all tokens, because shares would be rounded to float32."""
        return _body(model, asked, labels) | {"apply_softmax": False}

    def margins(self, said: Any, labels: Labels, items: int) -> NDArray[np.float64]:
        """Return the log-odds of the sums over the tokens of yes and of no."""
        scores = said["scores"]
        tokens = len(labels.yes) + len(labels.no)
        if len(scores) != items or any(len(row) != tokens for row in scores):
            raise ValueError(f"{len(scores):,} scores for {items:,} items of {tokens} labels")
        table = np.array([[_probability(one) for one in row] for row in scores]).reshape(items, tokens)
        yes, no = table[:, : len(labels.yes)].sum(axis=1), table[:, len(labels.yes) :].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            margins: NDArray[np.float64] = np.log(yes) - np.log(no)
        return _known(margins)


# The endpoints, in the order in which they are tried. vLLM has a /v1/score too, for models of another kind.
ENDPOINTS: tuple[Endpoint, ...] = (VLLM(), SGLang())

# The statuses by which a server says that it has no such endpoint, or a different one at that path
ABSENT = (400, 404, 405, 422, 501)


def detected(client: Client, labels: Labels) -> Endpoint:
    """Return the endpoint that the server has, found by asking for the scores of one token."""
    server = client.server
    plain = f"use the judge '{ENDPOINT}MODEL@URL'. That is a different judge, whose replies are read."
    probe = Asked([labels.yes[0]], [[labels.no[0]]])
    absent = []
    for endpoint in ENDPOINTS:
        said = client.post(endpoint.path, endpoint.body(server.model, probe, labels))
        margins = read(endpoint, said, probe, labels)
        if not isinstance(margins, Failure):
            return endpoint
        if margins.status == 200:
            raise JudgeUnavailable(
                f"{server.origin}/{endpoint.path} does not reply as documented: {margins.reason}. If it is SGLang, "
                f"start it without --enable-mis; or {plain}"
            )
        if margins.status not in ABSENT:
            raise client.unavailable(margins)
        absent.append(f"/{endpoint.path}: {margins.reason}{f', {margins.said}' if margins.words else ''}")
    raise JudgeUnavailable(
        f"{server.origin} does not score labels for {sanitize.short_repr(server.model)} ({'; '.join(absent)}). "
        "Check the "
        f"model's name; if it is right, the server has neither vLLM's /generative_scoring nor SGLang's /v1/score, so "
        f"{plain}"
    )


def read(endpoint: Endpoint, said: Any, asked: Asked, labels: Labels) -> NDArray[np.float64] | Failure:
    """Return for each item by how many nats yes is more likely than no, or a `Failure` that says why it is unknown."""
    if isinstance(said, Failure):
        return said
    try:
        margins = endpoint.margins(said, labels, len(asked.items))
        read_tokens = said["usage"]["prompt_tokens"]
    except (AttributeError, KeyError, TypeError):
        return Failure("not the JSON of scores", 200)
    except ValueError as error:
        return Failure(f"not the scores that were asked for: {error}", 200)
    if read_tokens != asked.tokens:
        return Failure(
            "another number of tokens was read than was sent: prompts were cut, or joined by delimiters", 200
        )
    return margins


def _body(model: str, asked: Asked, labels: Labels) -> dict[str, Any]:
    return {
        "model": model,
        "query": asked.query,
        "items": asked.items,
        "label_token_ids": [*labels.yes, *labels.no],
        "item_first": False,
    }


def _probability(value: Any) -> float:
    """Return a probability, which a server may have rounded to slightly above 1."""
    if not is_number(value) or not 0 <= value <= 1 + 1e-6:  # False for NaN
        raise ValueError("a score that is not a probability")
    return min(float(value), 1.0)


def _known(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(margins).all():
        raise ValueError("a label with the probability 0")
    return margins
