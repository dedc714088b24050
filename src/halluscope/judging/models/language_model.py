"""The base of language model judges: prompts in batches of one length, replies read as they come.

So prompts need neither padding nor mask, and a vote does not depend on its neighbours; only a decoder's short questions
about one text are padded, on a GPU. Decoding is greedy, and stops as soon as every reply in the batch is read: a vote
when the reading rule knows it, a whole reply when it has ended.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar, cast

import numpy as np

from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import Answered, AnsweredBy, Pairs, Voter
from halluscope.judging.models import gguf_files
from halluscope.judging.models.weights import Weights
from halluscope.judging.questions import Question
from halluscope.judging.votes import RULES
from halluscope.sanitize import encodable, printable, short_repr

# How many tokens of a reply are generated; one that has not said yes or no by then is read as it is
MAX_NEW_TOKENS = 8

# How many tokens of a text are read; the rest is cut off, with a warning. Questions are never cut.
MAX_TEXT_TOKENS = 2048

# The major compute capability from which on GPUs compute bfloat16 themselves; older ones emulate it
BFLOAT16_FROM = 8

# The share of a GPU's free memory for which batches are planned
MEMORY_SHARE = 0.5

# Fills the places before a prompt that is shorter than the others in its batch
PADDING = -1

# Matches how torch and CUDA's libraries say that memory is exhausted
_OUT_OF_MEMORY = re.compile(r"out of memory|_ALLOC_FAILED", re.IGNORECASE)

# The tokens of one prompt, and those of one reply
Ids = list[int]
Reply = tuple[int, ...]

T = TypeVar("T")


class LanguageModelJudge(Voter):
    """A language model that reads each prompt on its own.

    By default it runs on a GPU if there is one, in bfloat16 on CUDA if the card computes it (T5 overflows in float16),
    and else in float32.

    With a `threshold` no reply is generated: the vote is yes if log P(yes) - log P(no) of the reply's first token, in
    nats, is above it, else no. P is the sum over all tokens that spell the word, in any case.
    """

    rule: str  # the name of the rule that reads a reply as a vote
    auto_class: str  # the class of transformers that loads the model
    adds_special_tokens = True
    claims = False

    def __init__(self, weights: Weights, device: str | None = None, threshold: float | None = None) -> None:
        hint = " The judge 'lexical' needs neither torch nor a model."
        with needs(f"The judge {weights.name!r}", "judge", hint):
            import torch
            import transformers
        self._torch = torch
        self._transformers = transformers
        self.weights = weights
        self.threshold = threshold
        self.device, self.dtype = placed(device)
        on_gpu = self.device.type == "cuda"
        self.background = on_gpu  # whether a thread prepares prompts while the model reads others
        self.pool = 65_536 if on_gpu else 4_096  # how many prompts are sorted by length at a time
        self.batch_tokens = 0  # how many prompt tokens a batch may hold; known once the model is loaded
        # By how many tokens questions about one text may differ in length in a batch: on a GPU a small batch costs as
        # much as a larger one, and a CPU computes the padding too
        self.spread = 32 if on_gpu else 0
        self._model: Any = None
        self._tokenizer: Any = None
        # what generates replies token by token, and what does so faster for votes: classes of `steps`
        self._replying: Any = None
        self._voting: Any = None

    @property
    def key(self) -> str:
        rule = self.rule
        if self.threshold is not None:
            rule = f"likelier={self.threshold:.12g}"
        return f"{self.weights.key}:{self.precision}:{rule}"

    @property
    def precision(self) -> str:
        """The precision that the model computes in, such as "float32"."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def faster(self) -> str:
        elsewhere = "a server (openai:MODEL@URL) or fewer responses (--limit N)"
        if self.device.type == "cpu":
            return f"a GPU (--device cuda), {elsewhere}"
        return elsewhere

    def answer(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs
    ) -> Iterator[Answered | AnsweredBy]:
        """Vote on each pair, in batches of prompts of equal length, the shortest texts first."""
        self.load()
        lengths = np.array([len(text) for text in texts])[pairs[:, 0]]
        pools = np.split(np.argsort(lengths, kind="stable"), range(self.pool, len(pairs), self.pool))
        tokenized = ((pool, self.tokens(texts, questions, pairs[pool])) for pool in pools)
        for pool, prompts in self._prepared(tokenized):
            for rows, readings in self._votes(prompts, pairs[pool, 0]):
                if self.threshold is None:
                    yield pool[rows], np.array(readings, dtype=np.int8)
                else:
                    margins = np.array(readings, dtype=np.float64)
                    yield pool[rows], (margins > self.threshold).astype(np.int8), margins

    def replies(self, prompts: Sequence[str], max_new_tokens: int) -> Iterator[tuple[int, str | None]]:
        """Yield each prompt's index with the reply to it, the shortest prompts first.

        The reply is None if it had not ended after `max_new_tokens`, or if the prompt leaves no room for it.
        """
        self.load()
        reply_to = partial(self._whole_replies, max_new_tokens=max_new_tokens)
        for rows, block in self._blocks(self._whole(prompts), room=max_new_tokens):
            if block.shape[1] + max_new_tokens > self._positions:
                for row in rows.tolist():
                    yield row, None
                continue
            replies = self._in_memory(reply_to, block)
            for row, tokens in zip(rows.tolist(), replies, strict=True):
                text = None
                if tokens[-1] in self._ends:
                    text = self._text(tokens)
                yield row, text

    def _whole_replies(self, block: Any, max_new_tokens: int) -> list[Reply]:
        """Return the tokens of each reply to a batch, up to its end or to `max_new_tokens`."""
        begun = self._replying.begin(block)
        return self._generate(self._replying, begun, once_ended, max_new_tokens)

    def load(self) -> None:
        """Load the model and its tokenizer, unless they are loaded."""
        if self._model is not None:
            return
        try:
            if self.weights.gguf_file:
                with gguf_files.read_once():
                    self._load()
            else:
                self._load()
        except JudgeUnavailable:
            raise
        except Exception as error:  # transformers, safetensors and torch each raise their own
            raise JudgeUnavailable(
                f"The judge {short_repr(self.weights.name)} cannot be loaded on {self.device}: {type(error).__name__}: "
                f"{printable(error)}"
            ) from error

    def _load(self) -> None:
        source = self.weights.source
        options = self.weights.load_options
        tokenizer = self._transformers.AutoTokenizer.from_pretrained(source, **options)
        self._check(tokenizer)
        config = self._transformers.AutoConfig.from_pretrained(source, **options)
        # of a model that also reads images, the text part
        self.config: Any = getattr(config, "text_config", None) or config
        # how many tokens, of prompt and reply together, the model can handle
        most = getattr(self.config, "max_position_embeddings", None)
        self._positions = most or 2 * MAX_TEXT_TOKENS
        self._max_text_tokens = min(MAX_TEXT_TOKENS, self._positions // 2)
        special = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        self._special = sorted(special, key=len, reverse=True)
        self._tokenizer = tokenizer
        self._load_model()

    def _load_model(self) -> None:
        model = self._pretrained().to(self.device).eval()
        self._parameters = inspect.signature(model.forward).parameters
        if "past_key_values" not in self._parameters:
            raise JudgeUnavailable(
                f"The judge {self.weights.name!r} is a {type(model).__name__}, which transformers does not run with a "
                "cache of keys and values; expected a model with attention."
            )
        from halluscope.judging.models.steps import LeanT5, Steps

        ends = model.generation_config.eos_token_id
        if not isinstance(ends, list):
            ends = [ends]
        self._ends = set(ends)
        self._replying = Steps(model)
        self._voting = self._replying
        if type(model).__name__ == "T5ForConditionalGeneration":
            self._voting = LeanT5(model)
        if self.threshold is not None:
            self._words = [self._tokens_of("yes"), self._tokens_of("no")]
        self._plan_batches()
        self._model = model

    def _pretrained(self) -> Any:
        options = self.weights.load_options | {"dtype": self.dtype}
        return getattr(self._transformers, self.auto_class).from_pretrained(self.weights.source, **options)

    def _plan_batches(self) -> None:
        """Set how many prompt tokens a batch may hold in the device's memory."""
        if self.batch_tokens:
            return
        if self.device.type != "cuda":
            self.batch_tokens = 4_096
            return
        free, _ = self._torch.cuda.mem_get_info(self.device.index)
        width = self.config.hidden_size
        inner = getattr(self.config, "d_ff", None) or getattr(self.config, "intermediate_size", None)
        if not inner:
            inner = 4 * width
        # how many numbers a token takes
        in_widest_layer = 8 * width + 3 * inner
        in_cache = 2 * width * self.config.num_hidden_layers
        bytes_of_token = self.dtype.itemsize * (in_widest_layer + in_cache)
        in_memory = MEMORY_SHARE * free / bytes_of_token
        self.batch_tokens = int(min(65_536, max(1024, in_memory)))

    def close(self) -> None:
        self._model = None
        self._tokenizer = None
        self._voting = None
        self._replying = None
        if self.device.type == "cuda":
            self._torch.cuda.empty_cache()

    def prompt(self, text: str, question: Question) -> str:
        """Return the whole prompt as the tokenizer gets it, for a text that `show` returned."""
        return self.turn(question.prompt(text))

    def turn(self, prompt: str) -> str:
        """Return a prompt as the tokenizer gets it: unchanged, or as the user's turn in a chat."""
        return prompt

    def show(self, text: str) -> str:
        """Return what the model sees of a text: no lone surrogates, and no more than it can read.

        A control token of the model in the text is broken by a space, so that it cannot end a turn.
        """
        text = self._disarmed(text)
        if len(text.encode()) <= self._max_text_tokens:  # a token has at least a byte
            return text
        tokenized = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        spans = tokenized["offset_mapping"]
        if len(spans) <= self._max_text_tokens:
            return text
        warnings.warn(
            f"{self.weights.name} reads at most {self._max_text_tokens} tokens of a text; "
            f"the end of a text of {len(spans)} tokens was cut off.",
            stacklevel=2,
        )
        end, _ = spans[self._max_text_tokens]
        return text[:end]

    def _disarmed(self, text: str) -> str:
        text = encodable(text)
        normalizer = self._tokenizer.backend_tokenizer.normalizer
        if normalizer:
            normalized = normalizer.normalize_str(text)
            # the normalizer turns look-alikes, such as wide letters, into control tokens
            if any(token in normalized for token in self._special):
                text = normalized
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def tokens(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt."""
        visible = self._visible(texts, pairs)
        prompts = [self.prompt(visible[text], questions[question]) for text, question in pairs.tolist()]
        return self._tokenized(prompts)

    def _visible(self, texts: Sequence[str], pairs: Pairs) -> dict[int, str]:
        """Return what the model sees of each text that the pairs are about."""
        return {i: self.show(texts[i]) for i in np.unique(pairs[:, 0]).tolist()}

    def _whole(self, prompts: Sequence[str]) -> list[Ids]:
        return self._tokenized([self.turn(self._disarmed(prompt)) for prompt in prompts])

    def _tokenized(self, prompts: Sequence[str]) -> list[Ids]:
        if not prompts:
            return []
        tokenized = self._tokenizer(list(prompts), add_special_tokens=self.adds_special_tokens)
        return cast("list[Ids]", tokenized["input_ids"])

    def _tokens_of(self, word: str) -> Ids:
        """Return the tokens that spell a word, in any case and with blanks around it."""
        tokens = []
        for piece, token in self._tokenizer.get_vocab().items():
            if piece.lower().endswith(word) and self._text([token]).strip().lower() == word:
                tokens.append(token)
        if not tokens:
            raise JudgeUnavailable(
                f"The tokenizer of the judge {short_repr(self.weights.name)} has no token {word!r}; expected one, to "
                "compare yes with no. Name the model without 'likelier:'."
            )
        return tokens

    def _votes(self, prompts: Sequence[Ids], texts: Any) -> Iterator[tuple[Any, list[float]]]:
        """Yield numbers of prompts and what `_decide` returns for them, batch by batch.

        `texts` gives the number of each prompt's text.
        """
        for rows, block in self._prepared(self._blocks(prompts)):
            yield rows, self._in_memory(lambda part: self._decide(self._voting.begin(part)), block)

    def _prepared(self, items: Iterable[T]) -> Iterable[T]:
        if self.background:
            return ahead(items)
        return items

    def _blocks(self, prompts: Sequence[Ids], room: int = 0, spread: int = 0) -> Iterator[tuple[Any, Any]]:
        """Yield numbers of prompts and their tokens [batch, length], the shortest first.

        `room` is how many further tokens each row must have room for. The lengths in a batch differ by at most
        `spread`; shorter rows begin with `PADDING`.
        """
        lengths = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        lengths = lengths[order]
        start = 0
        while start < len(order):
            end = int(np.searchsorted(lengths, lengths[start] + spread, side="right"))
            most = max(1, self.batch_tokens // (int(lengths[end - 1]) + room))
            end = min(end, start + most)
            rows = order[start:end]
            longest = int(lengths[end - 1])
            padded = [[PADDING] * (longest - len(prompts[row])) + prompts[row] for row in rows]
            yield rows, self._torch.from_numpy(np.array(padded, dtype=np.int64)).to(self.device)
            start = end

    def _in_memory(self, decode: Callable[[Any], list[T]], block: Any) -> list[T]:
        """Return what `decode` returns for a batch; if memory is short, halve it, and make later batches smaller."""
        try:
            with self._torch.inference_mode():
                return decode(block)
        except RuntimeError as error:  # torch's own error is a subclass; those of CUDA's libraries are not
            if len(block) == 1 or not _OUT_OF_MEMORY.search(str(error)):
                raise
        self._torch.cuda.empty_cache()
        self.batch_tokens = min(self.batch_tokens, max(1, block.numel() // 2))
        first, second = block.tensor_split(2)
        return self._in_memory(decode, first) + self._in_memory(decode, second)

    def _decide(self, begun: tuple[Any, Any]) -> list[float]:
        """Return the votes' codes for a batch; each reply is decoded only until the rule has read it.

        With a threshold, return log P(yes) - log P(no) of the first tokens.
        """
        if self.threshold is not None:
            logits, _ = begun
            yes, no = (logits[:, tokens].float().logsumexp(-1) for tokens in self._words)
            return cast("list[float]", (yes - no).tolist())
        read = cache(self._read_vote)  # most replies of a batch are the same
        return list(self._generate(self._voting, begun, read, MAX_NEW_TOKENS))

    def _read_vote(self, tokens: Reply, has_ended: bool) -> int | None:
        rule = RULES[self.rule]
        return rule(self._text(tokens), has_ended)

    def _generate(
        self,
        steps: Any,
        begun: tuple[Any, Any],
        read: Callable[[Reply, bool], T | None],
        max_new_tokens: int,
    ) -> list[T]:
        """Return what `read` returns for each reply; a reply that has been read is not continued.

        `begun` is what `steps.begin` returned. `read` gets a reply's tokens so far, and whether it has ended; before
        that it may return None.
        """
        logits, state = begun
        rows = list(range(len(logits)))  # the replies that are still open
        replies: list[Reply] = [()] * len(rows)
        readings: list[T | None] = [None] * len(rows)
        for length in range(1, max_new_tokens + 1):
            tokens = logits.argmax(-1)
            for row, token in zip(rows, tokens.tolist(), strict=True):
                replies[row] += (token,)
                has_ended = token in self._ends or length == max_new_tokens
                readings[row] = read(replies[row], has_ended)
            is_open = [place for place, row in enumerate(rows) if readings[row] is None]
            if not is_open:
                break
            if len(is_open) < len(rows):
                tokens = tokens[is_open]
                state = steps.keep(state, is_open)
                rows = [rows[place] for place in is_open]
            logits, state = steps.go_on(tokens, state)
        return cast("list[T]", readings)

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _check(self, tokenizer: Any) -> None:
        """Refuse a tokenizer that does not suit this kind of judge, before the model is loaded."""


def once_ended(tokens: Reply, has_ended: bool) -> Reply | None:
    """Read a reply whole, as soon as it has ended."""
    return tokens if has_ended else None


def placed(device: str | None) -> tuple[Any, Any]:
    """Return torch's device, by default a GPU if there is one, and its precision."""
    import torch

    default = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device or default)
    except RuntimeError as error:
        raise ValueError(f"device is {device!r:.80}; expected 'cpu', 'cuda' or 'cuda:1'. {error}") from error
    if place.type != "cuda":
        return place, torch.float32
    if (place.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device is {device!r:.80}; torch finds {torch.cuda.device_count()} GPUs.")
    major, _ = torch.cuda.get_device_capability(place)
    if major >= BFLOAT16_FROM:
        return place, torch.bfloat16
    return place, torch.float32


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the same items in the same order; a thread makes each item while the one before it is in use.

    An error in making an item is raised where that item would have come.
    """
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, end)
        item = coming.result()
        while item is not end:
            coming = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]
            item = coming.result()
