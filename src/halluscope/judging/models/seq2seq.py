"""Encoder-decoder judges: FLAN-T5, as THRONE uses it (section 4.2), any other encoder-decoder, and checkers.

A checker reads a document and a claim, and says "1" if the document supports the claim, else "0". An example is
MiniCheck (Tang et al., EMNLP 2024) on FLAN-T5-large, `lytang/MiniCheck-Flan-T5-Large`. MiniCheck's own program
(github.com/Liyan06/MiniCheck, minicheck/inference.py at 00a1ed4) gives the model "predict: {document}</s>{claim}", cut
to at most 2,048 tokens, and takes the more likely of the tokens 209 ("1") and 3 (with which "0" begins) at the first
step, with a tie for "0". Here the reply is decoded like every judge's: one that is neither "0" nor "1" is an unreadable
vote, which cannot happen in that program. That program also divides a document of more than 500 words at sentences, and
takes the best of the parts. Here a text is read whole, up to `language_model.MAX_TEXT_TOKENS`; a longer one loses its
end, never the claim.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import Pairs
from halluscope.judging.models.decoding import Steps
from halluscope.judging.models.language_model import Ids, LanguageModelJudge
from halluscope.judging.models.weights import Weights
from halluscope.judging.questions import Question
from halluscope.sanitize import short_repr

FLAN_T5 = ("google/flan-t5-base", "google/flan-t5-large", "google/flan-t5-xl")
"""The paper's ensemble, the cheapest first."""

CHECKER = "checker:"
"""The prefix for a model that is asked about claims, and whose replies are read by the rule "label"."""

LABEL = "label"
SEPARATOR = "</s>"
"""The separator between document and claim: T5's end-of-text token."""


def model_of(name: str) -> str:
    """Return the model's own name, without the prefix of a checker."""
    return name.removeprefix(CHECKER)


def is_checker(name: str) -> bool:
    """Whether a model of this name is asked about claims."""
    return name.startswith(CHECKER)


def check_encodes(found: Weights) -> None:
    """Check that a checker's model is an encoder-decoder.

    Raises:
        JudgeUnavailable: if it is not.
    """
    if not found.is_encoder_decoder:
        raise JudgeUnavailable(
            f"The checker {short_repr(found.name)} is not an encoder-decoder; expected one such as MiniCheck's on "
            "FLAN-T5 (lytang/MiniCheck-Flan-T5-Large). Name an instruct model without 'checker:'."
        )


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder; it votes yes only if its whole decoded reply is "yes", as in THRONE's released code.

    Args:
        weights: the model.
        device: as for `LanguageModelJudge`.
        batch_tokens: as for `LanguageModelJudge`.
        precision: as for `LanguageModelJudge`.
        checks: whether it is a checker, which is asked about claims and votes yes if its whole reply is "1".
    """

    rule = "whole"
    auto_class = "AutoModelForSeq2SeqLM"

    def __init__(
        self,
        weights: Weights,
        device: str | None = None,
        batch_tokens: int | None = None,
        precision: str | None = None,
        checks: bool = False,
    ) -> None:
        if checks:
            self.rule = LABEL
        self.claims = checks
        super().__init__(weights, device, batch_tokens, precision)

    def _check(self, tokenizer: Any) -> None:
        if self.claims and tokenizer.eos_token != SEPARATOR:
            raise JudgeUnavailable(
                f"The tokenizer of the checker {short_repr(self.weights.name)} ends a text with "
                f"{short_repr(tokenizer.eos_token)}; expected {SEPARATOR}, which separates document and claim. Is "
                "the model a T5?"
            )

    def _steps(self, model: Any) -> Steps:
        from halluscope.judging.models.steps import Seq2SeqSteps

        return Seq2SeqSteps(model)

    def _steps_of_votes(self, model: Any) -> Steps | None:
        from halluscope.judging.models.lean_t5 import LeanT5

        return LeanT5(model) if LeanT5.fits(model) else None

    def _token_ids(self, shown: dict[int, str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt, joined from a text's beginning and a question's end.

        So each text and each question is tokenized once. This needs a tokenizer that splits a prompt between the two,
        as T5's does at white space. The first prompt about a text shows whether it does; if not, all prompts about that
        text are tokenized whole.
        """
        asked = np.unique(pairs[:, 1]).tolist()
        tails = dict(zip(asked, self._tokenized([questions[i].parts[2] for i in asked]), strict=True))
        beginnings = [(text, questions[question].frame) for text, question in pairs.tolist()]
        firsts: dict[tuple[int, str], int] = {}
        for row, beginning in enumerate(beginnings):
            firsts.setdefault(beginning, row)
        heads: dict[tuple[int, str], Ids] = {}
        wholes = super()._token_ids(shown, questions, pairs[list(firsts.values())])
        for (beginning, row), whole in zip(firsts.items(), wholes, strict=True):
            tail = tails[int(pairs[row, 1])]
            heads[beginning] = whole[: -len(tail)] if whole[-len(tail) :] == tail else []
        ids = [
            head + tails[question] if (head := heads[beginning]) else []
            for beginning, question in zip(beginnings, pairs[:, 1].tolist(), strict=True)
        ]
        unsplit = [row for row, one in enumerate(ids) if not one]
        for row, whole in zip(unsplit, super()._token_ids(shown, questions, pairs[unsplit]), strict=True):
            ids[row] = whole
        return ids
