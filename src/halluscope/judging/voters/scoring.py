"""A model behind vLLM or SGLang that votes by the probabilities of two labels, all questions about a text in one request.

It is another judge than the same model as "openai:MODEL@URL", which generates and is read: here nothing is generated, and
yes is what is likelier than no, whatever else the model would rather say. A model that thinks before it replies is judged
where its thoughts would begin; ask such a model by "openai:". The servers themselves were not run, see
`halluscope.judging.voters.scoring_endpoints`.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.foreign import brief
from halluscope.judging.chat_completions import Usage
from halluscope.judging.client import Client, Failure
from halluscope.judging.models.causal import common_prefix
from halluscope.judging.models.chat_tokens import ChatTokens
from halluscope.judging.models.engine import LARGEST_LEAD
from halluscope.judging.questions import Question
from halluscope.judging.server import ENDPOINT, KEY_VARIABLE, SCORING, Server
from halluscope.judging.voter import Answered, Margins, Pairs
from halluscope.judging.voters.endpoint import EndpointVoter
from halluscope.judging.voters.scoring_endpoints import ENDPOINTS, Asked, Endpoint, Labels, read
from halluscope.judging.votes import FAILED, NO, YES
from halluscope.numbers import finite

LABELS = "Yes/No"
"""Instruct models begin their reply with a capital, also where they are asked to answer yes or no."""

MOST_ITEMS = 1_000
"""Of more questions about a text, a request is made for each so many."""

AT_ONCE, TIMEOUT_S = 4, 300.0
"""Few requests, each of them hundreds of prompts, and each with time for them."""

_ABSENT = (400, 404, 405, 422, 501)
"""The statuses by which a server says that it has no such endpoint, or another one there."""

_LABELS = re.compile(r"[^\W\d_]+(?:,[^\W\d_]+)*/[^\W\d_]+(?:,[^\W\d_]+)*")


class ScoringVoter:
    """A model whose server compares two labels, one request per text.

    The vote is yes if P(yes) > P(no), and its margin is log P(yes) - log P(no) in nats, P being the probability that the
    reply begins with the label. Prompts are sent as token ids, in the model's chat template: what all questions about a
    text begin with is the query, the rest of each an item. Text that is cut there could make other tokens.

    Args:
        model: as the server calls it, with the address: "MODEL@http://host:8000/v1".
        key_variable: the environment variable that holds the access key, as for `EndpointVoter`.
        tokenizer: the model's tokenizer with its chat template: a folder, a GGUF file or an id of the Hub; by default
            the model's name. Where the server has the endpoint /tokenize, both must make the same tokens.
        labels: the words for yes and for no, such as "Yes/No" or "Yes,yes/No,no"; each is one token, and the
            probabilities of several add up. vLLM tells the share of one token, so there yes has one word.
        recheck: votes by a smaller margin than this are put to `EndpointVoter` and read from its replies; 0 for none.
        at_once: how many requests may be under way.
        attempts: how often a request is tried.
        timeout: seconds that the server may be silent in an attempt.

    Raises:
        MissingExtra: without httpx2, torch or transformers.
        JudgeUnavailable: for no model, no tokenizer, or an address that is none.
        ValueError: for labels of another form, or a number out of range.
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
        attempts: int = 6,
        timeout: float = TIMEOUT_S,
    ) -> None:
        self.labels, self._words = labels, _words(labels)
        self.recheck = finite("recheck", recheck, 0, LARGEST_LEAD, "a number of nats")
        given = Server.named(model, None, key_variable, SCORING)
        root = given.url.removesuffix("/v1")
        self._client = Client(replace(given, url=root), at_once, attempts, timeout)
        self._tokens = _tokens(given.model, tokenizer)
        self._chat = EndpointVoter(f"{given.model}@{root}/v1", key_variable=key_variable) if recheck else None
        self._endpoint: Endpoint | None = None
        self._failures: Counter[str] = Counter()
        self._usage = Usage()

    @property
    def key(self) -> str:
        """The model, a digest of the address, the endpoint, the labels, a digest of the tokenizer, and who votes again.

        The first use asks the server which endpoint it has.

        Raises:
            JudgeUnavailable: as `settle`.
        """
        name = self._found.name
        again = f":below-{self.recheck:g}-by({self._chat.key})" if self._chat else ""
        return f"{self._client.server.key}:{name}:{self.labels}:tokenizer={self._tokens.digest}{again}"

    @property
    def failures(self) -> Counter[str]:
        """How many questions got no vote, by reason."""
        return self._failures + (self._chat.failures if self._chat else Counter())

    @property
    def spent(self) -> str:
        """What its votes cost so far, for people; empty before any came."""
        parts = (str(self._usage) if self._usage.replies else "", self._chat.spent if self._chat else "")
        return "; asked again: ".join(filter(None, parts))

    def settle(self) -> None:
        """Learn which endpoint the server has and whether its tokenizer is the one that is used, unless that is known.

        Raises:
            JudgeUnavailable: if it has none, or has another tokenizer, or a label is not one token; if the server is
                down, refuses the access key, or knows no such model.
        """
        if self._endpoint:
            return
        self._label_ids = self._ids()
        endpoint = self._detected()
        if len(self._label_ids.yes) > 1 and not endpoint.adds_up:
            raise JudgeUnavailable(
                f"labels is {brief(self.labels)}, and {self._origin} has vLLM's endpoint, which tells the share of one "
                "token; expected one word for yes. Leave the others out, as in 'Yes/No,no'."
            )
        self._check_tokenizer()
        if self._chat:
            self._chat.settle()
        self._endpoint = endpoint

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Answer each pair, text by text, with margins; `FAILED` where no scores came.

        Raises:
            JudgeUnavailable: if the server is down, refuses the access key, or knows no such model.
        """
        near = [np.zeros(0, dtype=np.int64)]
        for rows, margins in self._margins(texts, questions, pairs):
            close = np.abs(margins) < self.recheck
            near.append(rows[close])
            codes = np.where(np.isnan(margins), FAILED, np.where(margins > 0, YES, NO)).astype(np.int8)
            yield rows[~close], codes[~close], margins[~close]
        again = np.concatenate(near)
        if self._chat and len(again):
            for places, *given in self._chat.answer(texts, questions, pairs[again]):
                yield (again[places], *given)  # type: ignore[misc]

    def close(self) -> None:
        """Nothing is held between calls."""

    @property
    def _found(self) -> Endpoint:
        self.settle()
        assert self._endpoint, "settled"
        return self._endpoint

    @property
    def _origin(self) -> str:
        return self._client.server.origin

    def _margins(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[tuple[Any, Margins]]:
        """Rows of `pairs` and their margins, request by request; NaN where no scores came."""
        endpoint = self._found
        under_way: dict[int, tuple[Any, Asked]] = {}

        def bodies() -> Iterator[Mapping[str, Any]]:
            for place, rows in enumerate(_requests(pairs)):
                asked = _asked(self._tokens.tokens(texts, questions, pairs[rows]))
                under_way[place] = rows, asked
                yield endpoint.body(self._client.server.model, asked, self._label_ids)

        for place, said in self._client.each(endpoint.path, bodies()):
            rows, asked = under_way.pop(place)
            margins = read(endpoint, said, asked, self._label_ids)
            if isinstance(margins, Failure):
                self._failures[margins.reason] += len(rows)
                margins = np.full(len(rows), np.nan)
            else:
                self._usage.add(said)
            yield rows, margins

    def _ids(self) -> Labels:
        """The tokens of the labels, as they begin a reply."""
        chat = self._tokens.turn("?")
        yes, no = ([self._tokens.after(chat, word) for word in words] for words in self._words)
        if len({*yes, *no}) < len(yes) + len(no):
            raise JudgeUnavailable(
                f"labels is {brief(self.labels)}, of which two are the same token of the tokenizer; expected another "
                "token for each, such as 'Yes/No'."
            )
        return Labels(tuple(yes), tuple(no))

    def _detected(self) -> Endpoint:
        """The endpoint that the server has, by one token's scores."""
        said = []
        probe = Asked([self._label_ids.yes[0]], [[self._label_ids.no[0]]])
        for endpoint in ENDPOINTS:
            reply = self._client.post(
                endpoint.path, endpoint.body(self._client.server.model, probe, self._label_ids)
            )
            margins = read(endpoint, reply, probe, self._label_ids)
            if not isinstance(margins, Failure):
                return endpoint
            if margins.status == 200:
                raise JudgeUnavailable(
                    f"{self._origin}/{endpoint.path} does not reply as documented: {margins.reason}. "
                    f"Start the server without multi-item scoring, or take the judge {self._plain}: it is another one."
                )
            if margins.status not in _ABSENT:
                raise self._client.unavailable(margins)
            said.append(f"/{endpoint.path}: {margins.reason}{f', {margins.said}' if margins.words else ''}")
        raise JudgeUnavailable(
            f"{self._origin} scores no labels of the model {brief(self._client.server.model)} ({'; '.join(said)}). Check "
            "the model's name; if the server offers neither vLLM's /generative_scoring nor SGLang's /v1/score, take the "
            f"judge {self._plain}: it is another one, which generates."
        )

    @property
    def _plain(self) -> str:
        return brief(f"{ENDPOINT}{self._client.server.model}@URL")

    def _check_tokenizer(self) -> None:
        """Compare the tokens of a prompt with each label to those that the server makes of it."""
        chat = self._tokens.turn("Is it there? Äpfel, 3 x \u3042.")
        for word in (word for words in self._words for word in words):
            body = {"model": self._client.server.model, "prompt": chat + word, "add_special_tokens": False}
            said = self._client.post("tokenize", body)
            if isinstance(said, Failure):
                warnings.warn(
                    f"{self._origin} does not say how it tokenizes ({said.reason} at /tokenize): the tokenizer is taken "
                    "for its own, unchecked.",
                    stacklevel=2,
                )
                return
            if not isinstance(said, dict) or said.get("tokens") != self._tokens.ids(chat + word):
                raise JudgeUnavailable(
                    f"The tokenizer {brief(self._tokens.weights.name)} makes other tokens than {self._origin} does; "
                    "expected that of the server's model. Name its folder or id of the Hub: tokenizer='ORG/NAME'."
                )


def _words(labels: object) -> list[list[str]]:
    """The words for yes and those for no.

    >>> _words("Yes,yes/No")
    [['Yes', 'yes'], ['No']]

    Raises:
        ValueError: for labels of another form.
    """
    if not isinstance(labels, str) or not _LABELS.fullmatch(labels):
        raise ValueError(
            f"labels is {brief(labels)}; expected words for yes and words for no, such as 'Yes/No' or 'Yes,yes/No,no'."
        )
    return [words.split(",") for words in labels.split("/")]


def _tokens(model: str, tokenizer: str | None) -> ChatTokens:
    try:
        return ChatTokens(tokenizer or model)
    except JudgeUnavailable as error:
        raise JudgeUnavailable(
            f"The judge {brief(SCORING + model)} needs the tokenizer of its model, for its chat template and the tokens of "
            f"the labels, and {brief(tokenizer or model)} is none: give tokenizer, a folder or an id of the Hub "
            f"(org/name). {error}"
        ) from error


def _requests(pairs: Pairs) -> Iterator[Any]:
    """The rows of `pairs` that go together, text by text."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    of_text = np.split(order, np.flatnonzero(np.diff(pairs[order, 0])) + 1)
    for rows in of_text:
        yield from np.split(rows, range(MOST_ITEMS, len(rows), MOST_ITEMS))


def _asked(prompts: list[list[int]]) -> Asked:
    query = common_prefix(prompts)
    return Asked(query, [prompt[len(query) :] for prompt in prompts])
