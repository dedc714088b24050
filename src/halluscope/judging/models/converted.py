"""Encoder-decoder judges converted for CTranslate2, in float32 or int8 (the extra `fast`).

int8 changes votes, so the user must choose it, and the signature names it. Votes with a small margin can be asked again
in float32. A model is converted once and kept in the user's cache.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from halluscope.errors import MissingExtra
from halluscope.files.writing import new_folder
from halluscope.judging.models.language_model import MAX_NEW_TOKENS, Ids, positions
from halluscope.judging.models.seq2seq import Seq2SeqJudge
from halluscope.judging.models.weights import Weights
from halluscope.judging.votes import RULES
from halluscope.paths import cache_folder

PRECISIONS = ("float32", "int8")


class ConvertedJudge(Seq2SeqJudge):
    """A T5 that CTranslate2 runs.

    Args:
        weights: the model, in the form for transformers.
        precision: "float32" or "int8".
        recheck: a vote is asked again in float32, by `Seq2SeqJudge`, if at any step the best token leads the next best
            by less than this, in logits; 0 for never.
        device: as for `Seq2SeqJudge`.
        batch_tokens: as for `Seq2SeqJudge`.
        checks: as for `Seq2SeqJudge`.

    Raises:
        MissingExtra: without ctranslate2, torch and transformers.
    """

    def __init__(
        self,
        weights: Weights,
        precision: str,
        recheck: float = 0.0,
        device: str | None = None,
        batch_tokens: int | None = None,
        checks: bool = False,
    ) -> None:
        super().__init__(weights, device, batch_tokens, checks=checks)
        try:
            import ctranslate2
        except ImportError as error:
            raise MissingExtra(
                f"engine='ctranslate2' needs ctranslate2 ({error}): pip install 'halluscope[fast]'."
            ) from error
        self._ctranslate2 = ctranslate2
        self._precision, self._recheck = precision, recheck
        by = f"ctranslate2-{ctranslate2.__version__}-{self.device.type}-{precision}"
        again = f"+float32-below-{recheck:g}" if recheck else ""
        self.key = f"{weights.key}:{by}{again}:{self.rule}"
        self._slow = Seq2SeqJudge(weights, device, batch_tokens, "float32", checks) if recheck else None

    def close(self) -> None:
        """Free the models' memory."""
        super().close()
        if self._slow:
            self._slow.close()

    def _load_model(self) -> None:
        folder = _converted(self.weights, self._precision)
        self._model = self._ctranslate2.Translator(
            str(folder),
            device=self.device.type,
            device_index=self.device.index or 0,
            compute_type=self._precision,
            intra_threads=self._torch.get_num_threads(),
        )
        config = self._transformers.AutoConfig.from_pretrained(
            self.weights.source, **self.weights.load_options
        )
        self._positions = positions(config)
        self.batch_tokens = self.batch_tokens or self._fitting(config)
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

    def _answers(self, block: Any) -> list[tuple[int, float]]:
        """Return for each prompt the vote's code, and the smallest lead of a token in the reply, in logits."""
        results = self._model.translate_batch(
            [self._tokenizer.convert_ids_to_tokens(ids) for ids in block.tolist()],
            beam_size=1,
            max_input_length=0,
            max_decoding_length=MAX_NEW_TOKENS,
            min_decoding_length=0,
            return_logits_vocab=bool(self._recheck),
        )
        replies = [self._tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results]
        leads = [min(map(self._lead, result.logits[0])) if self._recheck else np.inf for result in results]
        codes = [cast("int", RULES[self.rule](self._text(tokens), True)) for tokens in replies]
        return list(zip(codes, leads, strict=True))

    def _lead(self, logits: Any) -> float:
        """Return by how much the best token leads the next best, in logits."""
        there = logits if self.device.type == "cuda" else np.asarray(logits)
        best, second = self._torch.as_tensor(there, device=self.device).float().flatten().topk(2).values
        return float(best - second)


def _converted(weights: Weights, precision: str) -> Path:
    """Return the folder of a converted model; convert it if it is missing."""
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
    kept = cache_folder() / "ctranslate2" / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{kept}.lock"):  # another process waits for the one that converts
        if not kept.is_dir():
            with new_folder(kept) as new:
                Converter(weights.source).convert(str(new), quantization=precision, force=True)
    return kept
