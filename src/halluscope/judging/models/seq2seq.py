"""Encoder-decoder judges: FLAN-T5, as THRONE has them (section 4.2), or any other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from halluscope.judging.models.decoding import Steps
from halluscope.judging.models.language_model import Ids, LanguageModelJudge
from halluscope.judging.questions import Question
from halluscope.judging.voter import Pairs

FLAN_T5 = ("google/flan-t5-base", "google/flan-t5-large", "google/flan-t5-xl")
"""The paper's ensemble, the cheapest first."""


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder: yes only if its whole decoded reply is "yes", as THRONE's released code counts."""

    rule = "whole"
    auto_class = "AutoModelForSeq2SeqLM"

    def _steps(self, model: Any) -> Steps:
        from halluscope.judging.models.steps import Seq2SeqSteps

        return Seq2SeqSteps(model)

    def _steps_of_votes(self, model: Any) -> Steps | None:
        from halluscope.judging.models.lean_t5 import LeanT5

        return LeanT5(model) if LeanT5.fits(model) else None

    def _token_ids(self, shown: dict[int, str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Each text in its frame and each question is read once, where the tokenizer splits a prompt between them.

        A tokenizer that splits at white space does (T5's). The first prompt about a text shows whether it holds there;
        if not, all prompts about that text are read whole.
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
