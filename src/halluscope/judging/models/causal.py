"""Decoder-only judges: any instruct model with a chat template."""

import hashlib
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.judging.models import weights
from halluscope.judging.models.language_model import Ids, LanguageModelJudge
from halluscope.sanitize import one_line, short_repr

# Fixes the date for chat templates that state it, because votes depend on it (the date is Llama 3.2's own example)
TODAY = "{%- macro strftime_now(format) -%} 26 Jul 2024 {%- endmacro -%}"

# From this many questions about a text on, the text is read once for all of them
SHARED_FROM = 8


class CausalJudge(LanguageModelJudge):
    """An instruct model, asked as the user of a chat: the vote is the first word of its reply.

    The beginning that all prompts about a text share is read once, and batches of questions continue from its cache.
    """

    rule = "first-word"
    auto_class = "AutoModelForCausalLM"
    adds_special_tokens = False  # the chat template holds them
    _shares = True

    def turn(self, prompt: str) -> str:
        try:
            template = f"{TODAY}{self._tokenizer.get_chat_template()}"
            chat = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}],
                chat_template=template,
                tokenize=False,
                add_generation_prompt=True,
            )
        except Exception as error:  # a template is a program: it may raise anything
            raise self._broken(f"fails ({type(error).__name__}: {one_line(error, 200)})") from error
        if prompt.strip() not in chat:
            raise self._broken("leaves out the prompt")
        return str(chat)

    def _broken(self, what: str) -> JudgeUnavailable:
        return JudgeUnavailable(
            f"The chat template of the judge {short_repr(self.weights.name)} {what}; expected one that accepts a "
            "user's turn in plain text. Use another model, or fix the template in its folder."
        )

    def _check(self, tokenizer: Any) -> None:
        if not tokenizer.chat_template:
            raise JudgeUnavailable(
                f"The judge {self.weights.name!r} has no chat template; expected an instruct or chat model."
            )

    def _votes(self, ids: Sequence[Ids], texts: Any) -> Iterator[tuple[Any, list[int]]]:
        rows_about: dict[int, list[int]] = defaultdict(list)
        for row, text in enumerate(texts.tolist()):
            rows_about[text].append(row)
        spread = self.spread if "position_ids" in self._parameters else 0
        alone: list[int] = []
        for rows in rows_about.values():
            prefix = common_prefix([ids[row] for row in rows]) if len(rows) >= SHARED_FROM else []
            cache = self._shared(prefix) if prefix else None
            if cache is None:
                alone += rows
                continue
            own = [ids[row][len(prefix) :] for row in rows]
            for part, codes in self._decided(self._blocks(own, len(prefix), spread), cache):
                yield np.array(rows)[part], codes
        for part, codes in super()._votes([ids[row] for row in alone], texts[alone]):
            yield np.array(alone)[part], codes

    def _shared(self, prefix: Ids) -> Any:
        """Return the model's cache of a prefix; None, with a warning, if several prompts cannot continue from it.

        Once a question is read, a layer that keeps a window or a running state has lost what the next ones need.
        """
        if not self._shares:
            return None
        with self._torch.inference_mode():
            _, state = self._voting.begin(self._torch.tensor([prefix], device=self.device))
        kinds = {type(layer).__name__ for layer in getattr(state[0], "layers", [None])}
        self._shares = kinds == {"DynamicLayer"}
        if not self._shares:
            warnings.warn(
                f"{self.weights.name} keeps {', '.join(sorted(kinds))} as its cache, which prompts cannot share; each "
                "prompt is read whole, which is several times as slow.",
                stacklevel=2,
            )
            return None
        return state


def common_prefix(prompts: Sequence[Ids]) -> Ids:
    """Return the beginning that all prompts share, but never a whole prompt.

    It is enough to compare the first and the last in sorted order, because these differ the most.
    """
    first, last = min(prompts)[:-1], max(prompts)[:-1]
    length = next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None)
    return first[: min(len(first), len(last)) if length is None else length]


class ChatTokens(CausalJudge):
    """A chat model's tokenizer and chat template without its weights, for servers that take token ids.

    Prompts become the tokens that a local judge with the same model reads. `name` is a folder, a GGUF
    file, or a Hub id ("org/name", "org/name@revision").
    """

    def __init__(self, name: str) -> None:
        super().__init__(weights.described(name), device="cpu")
        self.load(with_weights=False)

    @property
    def digest(self) -> str:
        """The first 8 hexadecimal digits of the sha256 of all that decides on a prompt's tokens."""
        tokenizer = self._tokenizer
        parts = (
            tokenizer.backend_tokenizer.to_str(),
            tokenizer.get_chat_template(),
            str(self._max_text_tokens),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]

    def ids(self, text: str) -> Ids:
        """Return the tokens of a text in which control tokens count as such."""
        return self._tokenized([text])[0]

    def after(self, chat: str, word: str) -> int:
        """Return the one token with which a reply begins if its first word is `word`; `chat` is a prompt's `turn`."""
        before, whole = self.ids(chat), self.ids(chat + word)
        if whole[:-1] != before:
            raise JudgeUnavailable(
                f"The label {short_repr(word)} is not one token of the tokenizer {short_repr(self.weights.name)} "
                "after its chat template; expected labels that are one token each. Give other labels, such as "
                "labels='Yes/No', or the tokenizer of the server's model."
            )
        return whole[-1]
