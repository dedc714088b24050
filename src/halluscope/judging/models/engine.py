"""Kinds of language model judges: encoder-decoders (THRONE's FLAN-T5, section 4.2), checkers, and instruct models.

A checker reads a document and a claim, and says "1" if the document supports the claim, else "0", such as MiniCheck
(Tang et al., EMNLP 2024), `lytang/MiniCheck-Flan-T5-Large`. MiniCheck's own program (github.com/Liyan06/MiniCheck,
minicheck/inference.py at 00a1ed4) gives the model "predict: {document}</s>{claim}", cut to at most 2,048 tokens, and
takes the more likely of the tokens 209 ("1") and 3 (with which "0" begins), with a tie for "0". Here the reply is
decoded like every judge's, and one that is neither "0" nor "1" is an unreadable vote. That program also divides a
document of more than 500 words at sentences; here a text is read whole, up to `language_model.MAX_TEXT_TOKENS`.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import Judge, Pairs
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

SEPARATOR = "</s>"  # Between document and claim in a checker's prompt: T5's end-of-text token


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder; it votes yes only if its whole decoded reply is "yes", as in THRONE's released code.

    With `checks` it is a checker, which is asked about claims and votes yes if its whole reply is "1".
    """

    auto_class = "AutoModelForSeq2SeqLM"

    def __init__(self, weights: Weights, device: str | None = None, checks: bool = False) -> None:
        if checks and not weights.is_encoder_decoder:
            raise JudgeUnavailable(
                f"The checker {short_repr(weights.name)} is not an encoder-decoder; expected one such as "
                "MiniCheck's on FLAN-T5 (lytang/MiniCheck-Flan-T5-Large). Name an instruct model without 'checker:'."
            )
        self.rule, self.claims = "label" if checks else "whole", checks
        super().__init__(weights, device)

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
        visible, asked = self._visible(texts, pairs), np.unique(pairs[:, 1]).tolist()
        tails = dict(zip(asked, self._tokenized([questions[i].parts[2] for i in asked]), strict=True))
        heads: dict[tuple[int, str], Ids] = {}
        found: list[Ids] = []
        for text, question in pairs.tolist():
            beginning, tail = (text, questions[question].frame), tails[question]
            if head := heads.get(beginning):
                found.append(head + tail)
                continue
            (whole,) = self._tokenized([self.prompt(visible[text], questions[question])])
            found.append(whole)
            heads.setdefault(beginning, whole[: -len(tail)] if whole[-len(tail) :] == tail else [])
        return found


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


def local_judge(
    model: str, device: str | None = None, workers: int = 0, found: Weights | None = None
) -> Judge:
    """Return a model's judge, without loading it yet; a model is a Hub id, a folder or a GGUF file.

    With "checker:" before it, the judge is a checker. The other arguments are those of `VoteOptions`.
    """
    checks, name = model.startswith(CHECKER), model.removeprefix(CHECKER)
    found = found or weights.find(name)
    if workers:
        # a worker has another working directory
        there = str(path_of(name).resolve()) if is_there(name) else name
        make = partial(local_judge, f"{CHECKER * checks}{there}", device)
        return RayPool(make, found.name, workers, not (device or "").startswith("cpu"))
    if found.is_encoder_decoder or checks:
        return Seq2SeqJudge(found, device, checks)
    return CausalJudge(found, device)
