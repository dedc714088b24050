"""A model behind vLLM or SGLang that votes by the probabilities of two labels, one request per text.

This is a different judge from the same model as "openai:MODEL@URL", whose replies are read. Here nothing is generated,
and the vote is the more likely label, whatever else the model would rather say. A model that thinks before it replies
is read where its thoughts would begin, so ask such a model by "openai:". Neither server was run: the tests use a server
of their own, which follows the documentation (`halluscope.judging.scoring_endpoints`).
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable
from halluscope.inputs import finite
from halluscope.judging.client import AT_ONCE, Client, Failure
from halluscope.judging.endpoint import EndpointVoter, Usage
from halluscope.judging.judge import AnsweredBy, Margins, Pairs
from halluscope.judging.models.causal import ChatTokens, common_prefix
from halluscope.judging.models.engine import LARGEST_LEAD
from halluscope.judging.questions import Question
from halluscope.judging.scoring_endpoints import Asked, Endpoint, Labels, detected, read
from halluscope.judging.server import KEY_VARIABLE, SCORING, Server
from halluscope.judging.votes import FAILED, NO, YES
from halluscope.sanitize import short_repr

# The default labels: instruct models begin a reply with a capital, even if they are told to answer yes or no
LABELS = "Yes/No"

MOST_ITEMS = 1_000  # The most questions about a text in one request

# The default time-out is long, because a request holds hundreds of prompts, and may wait for other clients'
TIMEOUT_S = 300.0

# A prompt of several kinds of letters, by which two tokenizers are compared
TOKENIZED = "Is it there? \u00c4pfel, 3 x \u3042."

_WORDS = r" ?[^\W\d_]+(?:, ?[^\W\d_]+)*"
_LABELS = re.compile(f"{_WORDS}/{_WORDS}")

Rows = NDArray[np.int64]


class ScoringVoter:
    """A model whose server compares two labels, all questions about a text in one request.

    The vote is yes if P(yes) > P(no), and its margin is log P(yes) - log P(no) in nats, where P is the probability that
    the reply begins with the label. Prompts are sent as token ids, in the model's chat template: the tokens that all
    prompts about a text begin with are the query, and the rest of each prompt is an item. Text would have to be divided
    between two words, and a tokenizer may join the two parts.

    Args:
        model: its name on the server, with the address: "MODEL@http://host:8000/v1".
        key_variable: as for `halluscope.judging.endpoint.EndpointVoter`; so are at_once, attempts and timeout.
        tokenizer: the model's tokenizer with its chat template: a folder, a GGUF file or a Hub id; by default
            the model's name. If the server says how it tokenizes (/tokenize), both must make the same tokens.
        labels: the words for yes and for no, such as "Yes/No" or "Yes,yes/No,no"; each word is one token, and the
            probabilities of several words add up. A word may begin with a space, if replies do. vLLM gives the share
            of one token only, so yes has a single word there.
        recheck: where a vote's margin is smaller than this many nats, `EndpointVoter` is asked, and its votes and
            margins count; 0 for never.
        leave_out: settings that the server is known to refuse when `EndpointVoter` asks it.
    """

    stored = True

    def __init__(
        self,
        model: str,
        key_variable: str = KEY_VARIABLE,
        tokenizer: str | None = None,
        labels: str = LABELS,
        recheck: float = 0.0,
        at_once: int = AT_ONCE,
        leave_out: str | Sequence[str] = (),
        attempts: int = 6,
        timeout: float = TIMEOUT_S,
    ) -> None:
        self.labels, self._words = labels, _words(labels)
        self.recheck = finite("recheck", recheck, 0, LARGEST_LEAD, "a number of nats")
        server = Server.named(model, None, key_variable, SCORING)
        root = server.url.removesuffix("/v1")
        self.client = Client(replace(server, url=root), at_once, attempts, timeout)
        plain = f"{server.model}@{root}/v1"
        self._chat = (
            EndpointVoter(plain, None, key_variable, at_once=at_once, leave_out=leave_out)
            if recheck
            else None
        )
        self._tokens = _tokens(server.model, tokenizer)
        self.label_ids = self._ids_of_labels()
        self._endpoint: Endpoint | None = None
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
        return f"{self.name}:{self.labels}:tokenizer={self._tokens.digest}{again}"

    @property
    def failures(self) -> Counter[str]:
        """How many questions got no vote, by reason."""
        return self._failures + (self._chat.failures if self._chat else Counter())

    @property
    def spent(self) -> str:
        """What the votes have cost so far, in words; empty before the first vote."""
        again = self._chat.spent if self._chat else ""
        first = str(self._usage) if self._usage.replies else ""
        return f"{first}; asked again: {again}" if again else first

    def probe_settings(self) -> None:
        """Find out which endpoint the server has, and whether its tokenizer is this one, unless that is known."""
        if self._endpoint:
            return
        endpoint = detected(self.client, self.label_ids)
        if len(self.label_ids.yes) > 1 and not endpoint.adds_up:
            raise JudgeUnavailable(
                f"labels is {short_repr(self.labels)}, but {self.client.server.origin} has vLLM's endpoint, which "
                "gives the share of one token only; expected one word for yes, as in 'Yes/No,no'."
            )
        self._compare_tokenizers()
        if self._chat:
            self._chat.probe_settings()
        self._endpoint = endpoint

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[AnsweredBy]:
        """Vote on each pair, text by text, with margins; `FAILED` if no scores came."""
        near = [np.zeros(0, dtype=np.int64)]
        for rows, margins in self._margins(texts, questions, pairs):
            close = np.abs(margins) < self.recheck
            near.append(rows[close])
            yield rows[~close], _codes(margins[~close]), margins[~close]
        again = np.concatenate(near)
        if self._chat and len(again):
            for indices, codes, margins in self._chat.answer(texts, questions, pairs[again]):
                yield again[indices], codes, margins

    def asked(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Asked:
        """Return the request for these pairs: the beginning that their prompts share, and the rest of each."""
        prompts = self._tokens.tokens(texts, questions, pairs)
        query = common_prefix(prompts)
        return Asked(query, [prompt[len(query) :] for prompt in prompts])

    def close(self) -> None:
        """Do nothing: nothing is held between calls."""

    def _margins(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[tuple[Rows, Margins]]:
        """Yield rows of `pairs` and their margins, request by request; NaN if no scores came."""
        self.probe_settings()
        endpoint = self._endpoint
        assert endpoint, "settled"
        under_way: dict[int, tuple[Rows, Asked]] = {}

        def bodies() -> Iterator[Mapping[str, Any]]:
            for index, rows in enumerate(requests(pairs)):
                asked = self.asked(texts, questions, pairs[rows])
                under_way[index] = rows, asked
                yield endpoint.body(self.client.server.model, asked, self.label_ids)

        for index, said in self.client.each(endpoint.path, bodies()):
            rows, asked = under_way.pop(index)
            yield rows, self._read(endpoint, said, asked)

    def _read(self, endpoint: Endpoint, said: Any, asked: Asked) -> Margins:
        margins = read(endpoint, said, asked, self.label_ids)
        if isinstance(margins, Failure):
            self._failures[margins.reason] += len(asked.items)
            return np.full(len(asked.items), np.nan)
        self._usage.add(said)
        return margins

    def _ids_of_labels(self) -> Labels:
        chat = self._tokens.turn(TOKENIZED)
        yes, no = (tuple(self._tokens.after(chat, word) for word in words) for words in self._words)
        if len({*yes, *no}) < len(yes) + len(no):
            raise JudgeUnavailable(
                f"labels is {short_repr(self.labels)}, but two of these words are the same token of the tokenizer; "
                f"expected a different token for each, such as {LABELS!r}."
            )
        return Labels(yes, no)

    def _compare_tokenizers(self) -> None:
        """Compare the tokens of a prompt that ends in each label with those that the server makes."""
        server, chat = self.client.server, self._tokens.turn(TOKENIZED)
        for word in (*self._words[0], *self._words[1]):
            body = {"model": server.model, "prompt": chat + word, "add_special_tokens": False}
            said = self.client.post("tokenize", body)
            if isinstance(said, Failure):
                warnings.warn(
                    f"{server.origin} does not say how it tokenizes ({said.reason} at /tokenize), so nothing checks "
                    f"that the tokenizer {short_repr(self._tokens.weights.name)} is that of the server's model.",
                    stacklevel=2,
                )
                return
            if not isinstance(said, dict) or said.get("tokens") != self._tokens.ids(chat + word):
                raise JudgeUnavailable(
                    f"The tokenizer {short_repr(self._tokens.weights.name)} makes other tokens than {server.origin} "
                    "does; expected that of the server's model. Name its folder or Hub id: tokenizer='ORG/NAME'."
                )


def requests(pairs: Pairs) -> Iterator[Rows]:
    """Yield for each request its rows of `pairs`: those about one text, at most `MOST_ITEMS`."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    for rows in np.split(order, np.flatnonzero(np.diff(pairs[order, 0])) + 1):
        yield from np.split(rows, range(MOST_ITEMS, len(rows), MOST_ITEMS))


def _codes(margins: Margins) -> NDArray[np.int8]:
    """Return the votes that margins stand for; a margin of 0 is a no."""
    return np.where(np.isnan(margins), FAILED, np.where(margins > 0, YES, NO)).astype(np.int8)


def _words(labels: object) -> list[list[str]]:
    """Return the words for yes and the words for no.

    >>> _words("Yes,yes/No")
    [['Yes', 'yes'], ['No']]
    """
    if not isinstance(labels, str) or not _LABELS.fullmatch(labels):
        raise ValueError(
            f"labels is {short_repr(labels)}; expected words for yes and words for no, such as 'Yes/No' or "
            "'Yes,yes/No,no'."
        )
    return [words.split(",") for words in labels.split("/")]


def _tokens(model: str, tokenizer: str | None) -> ChatTokens:
    try:
        return ChatTokens(tokenizer or model)
    except JudgeUnavailable as error:
        raise JudgeUnavailable(
            f"The judge {short_repr(SCORING + model)} needs its model's tokenizer, for the chat template and the "
            "tokens of "
            f"the labels, but {short_repr(tokenizer or model)} has no tokenizer. Name its folder or Hub id: "
            f"tokenizer='ORG/NAME'. {error}"
        ) from error
