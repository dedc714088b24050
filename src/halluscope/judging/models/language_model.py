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
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np

from halluscope.errors import JudgeUnavailable, needs
from halluscope.judging.judge import Answered, Pairs
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


class LanguageModelJudge:
    """A language model that reads each prompt on its own.

    By default it runs on a GPU if there is one, in bfloat16 on CUDA if the card computes it (T5 overflows in float16),
    and else in float32.
    """

    rule: str  # the name of the rule that reads a reply as a vote
    auto_class: str  # the class of transformers that loads the model
    adds_special_tokens = True
    stored = True
    claims = False

    def __init__(self, weights: Weights, device: str | None = None) -> None:
        with needs(
            f"The judge {weights.name!r}", "judge", " The judge 'lexical' needs neither torch nor a model."
        ):
            import torch
            import transformers
        self._torch, self._transformers = torch, transformers
        self.weights = weights
        self.device, self.dtype = placed(device)
        on_gpu = self.device.type == "cuda"
        self.background = on_gpu  # whether a thread prepares prompts while the model reads others
        self.pool = 65_536 if on_gpu else 4_096  # how many prompts are sorted by length at a time
        self.batch_tokens = 0  # how many prompt tokens a batch may hold; known once the model is loaded
        # By how many tokens questions about one text may differ in length in a batch: on a GPU a small batch costs as
        # much as a larger one, and a CPU computes the padding too
        self.spread = 32 if on_gpu else 0
        self.key = f"{weights.key}:{str(self.dtype).removeprefix('torch.')}:{self.rule}"
        self._model: Any = None
        self._tokenizer: Any = None
        # what generates replies token by token, and what does so faster for votes: classes of `steps`
        self._replying: Any = None
        self._voting: Any = None

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        """Vote on each pair, in batches of prompts of equal length, the shortest texts first."""
        self.load()
        lengths = np.array([len(text) for text in texts])[pairs[:, 0]]
        pools = np.split(np.argsort(lengths, kind="stable"), range(self.pool, len(pairs), self.pool))
        read = ((pool, self.tokens(texts, questions, pairs[pool])) for pool in pools)
        for pool, ids in self._prepared(read):
            for rows, codes in self._votes(ids, pairs[pool, 0]):
                yield pool[rows], np.array(codes, dtype=np.int8)

    def replies(self, prompts: Sequence[str], max_new_tokens: int) -> Iterator[tuple[int, str | None]]:
        """Yield each prompt's index with the reply to it, the shortest prompts first.

        The reply is None if it had not ended after `max_new_tokens`, or if the prompt leaves no room for it.
        """

        def reply(block: Any) -> list[Reply]:
            steps = self._replying
            return self._generate(
                steps, steps.begin(block), lambda tokens, ended: tokens if ended else None, max_new_tokens
            )

        self.load()
        for rows, block in self._blocks(self._whole(prompts), max_new_tokens):
            if block.shape[1] + max_new_tokens > self._positions:
                yield from ((row, None) for row in rows.tolist())
                continue
            for row, tokens in zip(rows.tolist(), self._in_memory(reply, block), strict=True):
                yield row, self._text(tokens) if tokens[-1] in self._ends else None

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
        source, options = self.weights.source, self.weights.load_options
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
        self._ends = set(ends if isinstance(ends, list) else [ends])
        self._replying = Steps(model)
        is_t5 = type(model).__name__ == "T5ForConditionalGeneration"
        self._voting = LeanT5(model) if is_t5 else self._replying
        self._plan_batches()
        self._model = model

    def _pretrained(self) -> Any:
        options = self.weights.load_options | {"dtype": self.dtype}
        return getattr(self._transformers, self.auto_class).from_pretrained(self.weights.source, **options)

    def _plan_batches(self) -> None:
        """Set how many prompt tokens a batch may hold in the device's memory."""
        most = 65_536 if self.device.type == "cuda" else 4_096
        if self.device.type == "cuda":
            free, _ = self._torch.cuda.mem_get_info(self.device.index)
            config, width = self.config, self.config.hidden_size
            inner = getattr(config, "d_ff", None) or getattr(config, "intermediate_size", None) or 4 * width
            # of a token: the widest layer's inputs and outputs, and the cache
            numbers = 8 * width + 3 * inner + 2 * width * config.num_hidden_layers
            most = int(min(most, max(1024, MEMORY_SHARE * free / (self.dtype.itemsize * numbers))))
        self.batch_tokens = self.batch_tokens or most

    def close(self) -> None:
        self._model = self._tokenizer = self._voting = self._replying = None
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
        if len(text.encode()) > self._max_text_tokens:
            spans = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
                "offset_mapping"
            ]
            if len(spans) > self._max_text_tokens:
                warnings.warn(
                    f"{self.weights.name} reads at most {self._max_text_tokens} tokens of a text; "
                    f"the end of a text of {len(spans)} tokens was cut off.",
                    stacklevel=2,
                )
                text = text[: spans[self._max_text_tokens][0]]
        return text

    def _disarmed(self, text: str) -> str:
        text = encodable(text)
        normalizer = self._tokenizer.backend_tokenizer.normalizer
        plain = normalizer.normalize_str(text) if normalizer else text
        if any(token in plain for token in self._special):
            text = plain  # the normalizer turns look-alikes, such as wide letters, into control tokens
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def tokens(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt."""
        visible = self._visible(texts, pairs)
        return self._tokenized(
            [self.prompt(visible[text], questions[question]) for text, question in pairs.tolist()]
        )

    def _visible(self, texts: Sequence[str], pairs: Pairs) -> dict[int, str]:
        """Return what the model sees of each text that the pairs are about."""
        return {i: self.show(texts[i]) for i in np.unique(pairs[:, 0]).tolist()}

    def _whole(self, prompts: Sequence[str]) -> list[Ids]:
        return self._tokenized([self.turn(self._disarmed(prompt)) for prompt in prompts])

    def _tokenized(self, prompts: Sequence[str]) -> list[Ids]:
        if not prompts:
            return []
        read = self._tokenizer(list(prompts), add_special_tokens=self.adds_special_tokens)
        return cast("list[Ids]", read["input_ids"])

    def _votes(self, ids: Sequence[Ids], texts: Any) -> Iterator[tuple[Any, list[int]]]:
        """Yield rows of `ids` and their votes, batch by batch; `texts` gives the number of each prompt's text."""
        return self._decided(self._prepared(self._blocks(ids)))

    def _decided(self, blocks: Iterable[Any], *prefix: Any) -> Iterator[tuple[Any, list[int]]]:
        """Yield the rows and votes of batches, which may continue from the state of a shared beginning."""
        for rows, block in blocks:
            yield rows, self._in_memory(lambda part: self._decide(self._voting.begin(part, *prefix)), block)

    def _prepared(self, items: Iterable[T]) -> Iterable[T]:
        return ahead(items) if self.background else items

    def _blocks(self, ids: Sequence[Ids], room: int = 0, spread: int = 0) -> Iterator[tuple[Any, Any]]:
        """Yield rows of `ids` and their tokens [batch, length], the shortest first.

        `room` is how many further tokens each row must have room for. The lengths in a batch differ by at most
        `spread`; shorter rows begin with `PADDING`.
        """
        lengths = np.array([len(one) for one in ids], dtype=np.int64)
        rows = np.argsort(lengths, kind="stable")
        while len(rows):
            rest = lengths[rows]
            alike = int(np.searchsorted(rest, rest[0] + spread, side="right"))
            size = min(alike, max(1, self.batch_tokens // (int(rest[alike - 1]) + room)))
            batch, rows = rows[:size], rows[size:]
            longest = int(rest[size - 1])
            padded = [[PADDING] * (longest - len(ids[i])) + ids[i] for i in batch]
            yield batch, self._torch.from_numpy(np.array(padded, dtype=np.int64)).to(self.device)

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
        return [said for half in block.tensor_split(2) for said in self._in_memory(decode, half)]

    def _decide(self, begun: tuple[Any, Any]) -> list[int]:
        """Return the votes' codes for a batch; each reply is decoded only until the rule has read it."""
        rule = RULES[self.rule]

        @cache  # most replies of a batch are the same
        def read(tokens: Reply, ended: bool) -> int | None:
            return rule(self._text(tokens), ended)

        return self._generate(self._voting, begun, read, MAX_NEW_TOKENS)

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
        rows = list(range(len(logits)))
        replies: list[Reply] = [()] * len(rows)
        found: list[T | None] = [None] * len(rows)
        for length in range(1, max_new_tokens + 1):
            tokens = logits.argmax(-1)
            for row, token in zip(rows, tokens.tolist(), strict=True):
                replies[row] += (token,)
                found[row] = read(replies[row], token in self._ends or length == max_new_tokens)
            left = [i for i, row in enumerate(rows) if found[row] is None]
            if not left:
                break
            if len(left) < len(rows):
                tokens, state, rows = tokens[left], steps.keep(state, left), [rows[i] for i in left]
            logits, state = steps.go_on(tokens, state)
        return cast("list[T]", found)

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode([*tokens], skip_special_tokens=True))

    def _check(self, tokenizer: Any) -> None:
        """Refuse a tokenizer that does not suit this kind of judge, before the model is loaded."""


def placed(device: str | None) -> tuple[Any, Any]:
    """Return torch's device, by default a GPU if there is one, and its precision."""
    import torch

    try:
        found = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise ValueError(f"device is {device!r:.80}; expected 'cpu', 'cuda' or 'cuda:1'. {error}") from error
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device is {device!r:.80}; torch finds {torch.cuda.device_count()} GPUs.")
    half = found.type == "cuda" and torch.cuda.get_device_capability(found)[0] >= BFLOAT16_FROM
    return found, torch.bfloat16 if half else torch.float32


def ahead(items: Iterable[T]) -> Iterator[T]:
    """Yield the same items in the same order; a thread makes each item while the one before it is in use.

    An error in making an item is raised where that item would have come.
    """
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, iterator, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, iterator, end)
            yield item  # type: ignore[misc]
