"""Kinds of language model judges: encoder-decoders (THRONE's FLAN-T5, section 4.2), checkers, and instruct models.

A checker reads a document and a claim, and says "1" if the document supports the claim, else "0", such as MiniCheck
(Tang et al., EMNLP 2024), `lytang/MiniCheck-Flan-T5-Large`. MiniCheck's own program (github.com/Liyan06/MiniCheck,
minicheck/inference.py at 00a1ed4) gives the model "predict: {document}</s>{claim}", cut to at most 2,048 tokens, and
takes the more likely of the tokens 209 ("1") and 3 (with which "0" begins), with a tie for "0". Here the reply is
decoded like every judge's, and one that is neither "0" nor "1" is an unreadable vote. That program also divides a
document of more than 500 words at sentences; here a text is read whole, up to `language_model.MAX_TEXT_TOKENS`.
"""

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import MAX_TOKENS, ChatJudge, Pairs, Schema, Voter
from halluscope.judging.models import weights
from halluscope.judging.models.language_model import Ids, LanguageModelJudge
from halluscope.judging.models.ray_pool import RayPool
from halluscope.judging.models.weights import Weights
from halluscope.judging.questions import Question
from halluscope.paths import is_there, path_of
from halluscope.sanitize import one_line, short_repr

# The paper's ensemble, the cheapest first
FLAN_T5 = ("google/flan-t5-base", "google/flan-t5-large", "google/flan-t5-xl")

# The prefix for a model that is asked about claims, and whose replies are read by the rule "label"
CHECKER = "checker:"

# The prefix for a model that votes for the likelier of yes and no, perhaps with a threshold: "likelier=0.5:"
LIKELIER = "likelier"
_LIKELIER = re.compile(rf"{LIKELIER}(?:=(?P<threshold>[^:]*))?:(?P<model>.*)", re.DOTALL)

# Ends the prompt for a model that is no chat model, which then goes on with yes or no
ANSWER = "\nAnswer:"

SEPARATOR = "</s>"  # Between document and claim in a checker's prompt: T5's end-of-text token


@dataclass(frozen=True)
class LocalName:
    """What the name of a local judge says."""

    model: str  # a Hub id, a folder or a GGUF file
    prefix: str = ""  # what stands before the model's name
    checks: bool = False  # whether it is a checker
    threshold: float | None = None  # of log P(yes) - log P(no), in nats, for the likelier of the two


def local_name(judge: str) -> LocalName:
    """Read the name of a local judge: a model's, perhaps after "checker:", "likelier:" or "likelier=THRESHOLD:"."""
    if judge.startswith(CHECKER):
        return LocalName(judge.removeprefix(CHECKER), prefix=CHECKER, checks=True)
    match = _LIKELIER.fullmatch(judge)
    if match is None:
        return LocalName(judge)
    threshold = 0.0
    if match["threshold"] is not None:
        threshold = _threshold(match["threshold"], judge)
    model = match["model"]
    return LocalName(model, prefix=judge.removesuffix(model), threshold=threshold)


def _threshold(word: str, judge: str) -> float:
    try:
        threshold = float(word)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise JudgeUnavailable(
            f"The judge {short_repr(judge)} has the threshold {short_repr(word)}; expected a number of nats that "
            f"log P(yes) - log P(no) must exceed, as in '{LIKELIER}=0.5:MODEL', or '{LIKELIER}:MODEL' for 0."
        )
    return threshold + 0.0  # -0.0 becomes 0.0


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder; it votes yes only if its whole decoded reply is "yes", as in THRONE's released code.

    With `checks` it is a checker, which is asked about claims and votes yes if its whole reply is "1".
    """

    auto_class = "AutoModelForSeq2SeqLM"

    def __init__(
        self,
        weights: Weights,
        device: str | None = None,
        checks: bool = False,
        threshold: float | None = None,
    ) -> None:
        if checks and not weights.is_encoder_decoder:
            raise JudgeUnavailable(
                f"The checker {short_repr(weights.name)} is not an encoder-decoder; expected one such as "
                "MiniCheck's on FLAN-T5 (lytang/MiniCheck-Flan-T5-Large). Name an instruct model without 'checker:'."
            )
        self.rule = "label" if checks else "whole"
        self.claims = checks
        super().__init__(weights, device, threshold)

    def _check(self, tokenizer: Any) -> None:
        if self.claims and tokenizer.eos_token != SEPARATOR:
            raise JudgeUnavailable(
                f"The tokenizer of the checker {short_repr(self.weights.name)} ends a text with "
                f"{short_repr(tokenizer.eos_token)}; expected {SEPARATOR}, which separates document and claim. Is "
                "the model a T5?"
            )

    def tokens(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt: those of a text's beginning, and those of a question's end.

        This needs a tokenizer that splits a prompt between the two, as T5's does at white space. The first prompt about
        a text shows whether it does; if not, all prompts about that text are tokenized whole.
        """
        visible = self._visible(texts, pairs)
        question_numbers = np.unique(pairs[:, 1]).tolist()
        ends = self._tokenized([questions[question].end for question in question_numbers])
        end_of = dict(zip(question_numbers, ends, strict=True))
        # the beginning of a text's prompts, by text and frame; empty if the tokenizer splits no prompt there
        beginnings: dict[tuple[int, str], Ids] = {}
        prompts: list[Ids] = []
        for text, question in pairs.tolist():
            place = (text, questions[question].frame)
            end = end_of[question]
            if beginnings.get(place):
                prompts.append(beginnings[place] + end)
                continue
            (prompt,) = self._tokenized([self.prompt(visible[text], questions[question])])
            prompts.append(prompt)
            if place not in beginnings:
                splits_there = prompt[-len(end) :] == end
                beginnings[place] = prompt[: -len(end)] if splits_there else []
        return prompts


# Fixes the date for chat templates that state it, because votes depend on it (the date is Llama 3.2's own example)
TODAY = "{%- macro strftime_now(format) -%} 26 Jul 2024 {%- endmacro -%}"

# From this many questions about a text on, the text is read once for all of them
SHARED_FROM = 8


class CausalJudge(LanguageModelJudge):
    """An instruct model, asked as the user of a chat: the vote is the first word of its reply.

    With a threshold it may also be a model that is no chat model: it reads the prompt and "Answer:". The
    beginning that all prompts about a text share is read once, and batches of questions continue from its cache.
    """

    rule = "first-word"
    auto_class = "AutoModelForCausalLM"
    adds_special_tokens = False  # the chat template holds them
    _shares = True
    _is_plain = False  # whether it is no chat model

    def turn(self, prompt: str) -> str:
        if self._is_plain:
            return prompt + ANSWER
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

    def _broken(self, trouble: str) -> JudgeUnavailable:
        return JudgeUnavailable(
            f"The chat template of the judge {short_repr(self.weights.name)} {trouble}; expected one that accepts a "
            "user's turn in plain text. Use another model, or fix the template in its folder."
        )

    def _check(self, tokenizer: Any) -> None:
        if tokenizer.chat_template:
            return
        if self.threshold is None:
            raise JudgeUnavailable(
                f"The judge {self.weights.name!r} has no chat template; expected an instruct or chat model. To ask "
                f"whether yes or no is likelier, name it '{LIKELIER}:MODEL'."
            )
        self._is_plain = True
        self.adds_special_tokens = True

    def _votes(self, prompts: Sequence[Ids], texts: Any) -> Iterator[tuple[Any, list[float]]]:
        rows_about: dict[int, list[int]] = defaultdict(list)
        for row, text in enumerate(texts.tolist()):
            rows_about[text].append(row)
        alone: list[int] = []  # the prompts that are read whole
        for rows in rows_about.values():
            prefix: Ids = []
            if len(rows) >= SHARED_FROM:
                prefix = common_prefix([prompts[row] for row in rows])
            state = self._shared(prefix) if prefix else None
            if state is None:
                alone += rows
                continue
            ends = [prompts[row][len(prefix) :] for row in rows]
            for part, readings in self._votes_after(state, ends, len(prefix)):
                yield np.array(rows)[part], readings
        for part, readings in super()._votes([prompts[row] for row in alone], texts[alone]):
            yield np.array(alone)[part], readings

    def _votes_after(self, state: Any, ends: Sequence[Ids], length: int) -> Iterator[tuple[Any, list[float]]]:
        """Yield numbers of prompts and their votes, batch by batch, from the state of the beginning that they share."""
        spread = self.spread if "position_ids" in self._parameters else 0
        for rows, block in self._blocks(ends, room=length, spread=spread):
            yield rows, self._in_memory(lambda part: self._decide(self._voting.begin(part, state)), block)

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
    first = min(prompts)[:-1]
    last = max(prompts)[:-1]
    for place, (token, other_token) in enumerate(zip(first, last, strict=False)):
        if token != other_token:
            return first[:place]
    return first[: len(last)]


def local_judge(
    model: str, device: str | None = None, workers: int = 0, known: Weights | None = None
) -> Voter:
    """Return a model's judge, without loading it yet.

    Args:
        model: a Hub id, a folder or a GGUF file, perhaps after a prefix: see `local_name`.
        device: as in `VoteOptions`.
        workers: as in `VoteOptions`.
        known: the model's weights, if they are known.
    """
    meant = local_name(model)
    name = meant.model
    model_weights = known or weights.find(name)
    if workers:
        if is_there(name):  # a worker has another working directory
            name = str(path_of(name).resolve())
        name = meant.prefix + name
        return RayPool(partial(local_judge, name, device), model_weights.name, workers, device)
    if model_weights.is_encoder_decoder or meant.checks:
        return Seq2SeqJudge(model_weights, device, meant.checks, meant.threshold)
    return CausalJudge(model_weights, device, meant.threshold)


class LocalChat(ChatJudge):
    """A model on this machine that replies to whole prompts, with greedy decoding."""

    greedy = True

    def __init__(self, model: str, max_tokens: int = MAX_TOKENS, device: str | None = None) -> None:
        model_weights = weights.find(model)
        self._max_tokens = max_tokens
        self._model: LanguageModelJudge
        if model_weights.is_encoder_decoder:
            self._model = Seq2SeqJudge(model_weights, device)
        else:
            self._model = CausalJudge(model_weights, device)

    @property
    def key(self) -> str:
        return (
            f"{self._model.weights.key}:{self._model.precision}:temperature=0:max_tokens={self._max_tokens}"
        )

    @property
    def faster(self) -> str:
        return self._model.faster

    def replies(
        self,
        prompts: Sequence[str],
        schemas: Sequence[Schema | None] = (),
        seeds: Sequence[int] = (),
    ) -> Iterator[tuple[int, str | None]]:
        """Reply to each prompt, the shortest first; schemas and seeds do not matter."""
        for index, reply in self._model.replies(prompts, self._max_tokens):
            if reply is None:
                self.failures[f"longer than {self._max_tokens} tokens, or no room for as many"] += 1
            yield index, reply

    def close(self) -> None:
        """Free the model's memory."""
        self._model.close()
