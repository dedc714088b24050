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

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.errors import JudgeUnavailable, needs
from halluscope.files.writing import new_folder
from halluscope.judging.judge import SEPARATOR, Pairs
from halluscope.judging.models.language_model import MAX_NEW_TOKENS, Ids, LanguageModelJudge
from halluscope.judging.models.weights import Weights
from halluscope.judging.questions import Question
from halluscope.judging.votes import RULES
from halluscope.paths import cache_folder
from halluscope.sanitize import short_repr

# The paper's ensemble, the cheapest first
FLAN_T5 = ("google/flan-t5-base", "google/flan-t5-large", "google/flan-t5-xl")

# The prefix for a model that is asked about claims, and whose replies are read by the rule "label"
CHECKER = "checker:"


def model_of(name: str) -> str:
    return name.removeprefix(CHECKER)


def is_checker(name: str) -> bool:
    return name.startswith(CHECKER)


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder; it votes yes only if its whole decoded reply is "yes", as in THRONE's released code.

    With `checks` it is a checker, which is asked about claims and votes yes if its whole reply is "1".
    """

    auto_class = "AutoModelForSeq2SeqLM"

    def __init__(
        self,
        weights: Weights,
        device: str | None = None,
        precision: str | None = None,
        checks: bool = False,
    ) -> None:
        if checks and not weights.is_encoder_decoder:
            raise JudgeUnavailable(
                f"The checker {short_repr(weights.name)} is not an encoder-decoder; expected one such as "
                "MiniCheck's on FLAN-T5 (lytang/MiniCheck-Flan-T5-Large). Name an instruct model without 'checker:'."
            )
        self.rule, self.claims = "label" if checks else "whole", checks
        super().__init__(weights, device, precision)

    def _check(self, tokenizer: Any) -> None:
        if self.claims and tokenizer.eos_token != SEPARATOR:
            raise JudgeUnavailable(
                f"The tokenizer of the checker {short_repr(self.weights.name)} ends a text with "
                f"{short_repr(tokenizer.eos_token)}; expected {SEPARATOR}, which separates document and claim. Is "
                "the model a T5?"
            )

    def _token_ids(self, visible: dict[int, str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt, joined from a text's beginning and a question's end.

        So each text and each question is tokenized once. This needs a tokenizer that splits a prompt between the two,
        as T5's does at white space. The first prompt about a text shows whether it does; if not, all prompts about that
        text are tokenized whole.
        """
        asked = np.unique(pairs[:, 1]).tolist()
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
            if beginning not in heads:
                heads[beginning] = whole[: -len(tail)] if whole[-len(tail) :] == tail else []
        return found


class ConvertedJudge(Seq2SeqJudge):
    """A T5 converted for CTranslate2 (the extra `fast`), in the precision "float32" or "int8".

    int8 changes votes, so the user must choose it, and the signature names it. A vote is asked again in float32, by
    `Seq2SeqJudge`, if at any step the best token leads the next best by less than `recheck`, in logits; 0 for never.
    A model is converted once and kept in the user's cache.
    """

    def __init__(
        self,
        weights: Weights,
        precision: str,
        recheck: float = 0.0,
        device: str | None = None,
        checks: bool = False,
    ) -> None:
        super().__init__(weights, device, checks=checks)
        with needs("engine='ctranslate2'", "fast"):
            import ctranslate2
        self._ctranslate2 = ctranslate2
        self._precision, self._recheck = precision, recheck
        by = f"ctranslate2-{ctranslate2.__version__}-{self.device.type}-{precision}"
        again = f"+float32-below-{recheck:g}" if recheck else ""
        self.key = f"{weights.key}:{by}{again}:{self.rule}"
        self._slow = Seq2SeqJudge(weights, device, "float32", checks) if recheck else None

    def close(self) -> None:
        super().close()
        if self._slow:
            self._slow.close()

    def _load_model(self) -> None:
        self._model = self._ctranslate2.Translator(
            str(_converted(self.weights, self._precision)),
            device=self.device.type,
            device_index=self.device.index or 0,
            compute_type=self._precision,
            intra_threads=self._torch.get_num_threads(),
        )
        self._plan_batches()
        if self._slow:
            self._slow.load()

    def _votes(self, ids: Sequence[Ids], texts: Any) -> Iterator[tuple[Any, list[int]]]:
        for rows, block in self._blocks(ids):
            answers = self._in_memory(self._answers, block)
            codes, leads = (np.array(column) for column in zip(*answers, strict=True))
            close = np.flatnonzero(leads < self._recheck)
            if self._slow and len(close):
                again = self._slow._votes([ids[row] for row in rows[close]], texts[rows[close]])
                for part, surer in again:
                    codes[close[part]] = surer
            yield rows, codes.tolist()

    def _answers(self, block: Any) -> list[tuple[int | None, float]]:
        """Return for each prompt the vote's code, and the smallest lead of a token in the reply, in logits."""
        results = self._model.translate_batch(
            [self._tokenizer.convert_ids_to_tokens(ids) for ids in block.tolist()],
            beam_size=1,
            max_input_length=0,
            max_decoding_length=MAX_NEW_TOKENS,
            min_decoding_length=0,
            return_logits_vocab=bool(self._recheck),
        )
        answers = []
        for result in results:
            tokens = self._tokenizer.convert_tokens_to_ids(result.hypotheses[0])
            lead = np.inf
            for logits in result.logits[0] if self._recheck else ():
                there = logits if self.device.type == "cuda" else np.asarray(logits)
                best, second = (
                    self._torch.as_tensor(there, device=self.device).float().flatten().topk(2).values
                )
                lead = min(lead, float(best - second))
            answers.append((RULES[self.rule](self._text(tokens), True), lead))
        return answers


def _converted(weights: Weights, precision: str) -> Path:
    import ctranslate2
    import torch
    from ctranslate2.converters import TransformersConverter
    from filelock import FileLock

    class Converter(TransformersConverter):  # type: ignore[misc]
        """Corrects the T5 converter, which scales logits of tied embeddings: transformers 5 calls every T5's tied."""

        def load_model(self, model_class: Any, model_name_or_path: str, **options: Any) -> Any:
            model = super().load_model(model_class, model_name_or_path, **options | {"dtype": torch.float32})
            if hasattr(model.config, "scale_decoder_outputs"):
                model.config.tie_word_embeddings = model.config.scale_decoder_outputs
            return model

    name = f"{weights.key.replace('/', '--').replace('@', '-')}-{precision}-{ctranslate2.__version__}"
    folder = cache_folder() / "ctranslate2" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):  # another process waits for the one that converts
        if not folder.is_dir():
            with new_folder(folder) as new:
                Converter(weights.source).convert(str(new), quantization=precision, force=True)
    return folder
