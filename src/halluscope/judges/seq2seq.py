"""Encoder-decoder judges: FLAN-T5, as THRONE has them (section 4.2), or any other."""

from typing import Any

from halluscope.judges.language_model import LanguageModelJudge

FLAN_T5 = ("google/flan-t5-base", "google/flan-t5-large", "google/flan-t5-xl")
"""The paper's ensemble, the cheapest first."""


class Seq2SeqJudge(LanguageModelJudge):
    """An encoder-decoder: yes only if its whole decoded reply is "yes", as THRONE's released code counts."""

    rule = "whole"
    auto_class = "AutoModelForSeq2SeqLM"

    def _read(self, ids: Any) -> tuple[Any, Any]:
        mask = self._torch.ones_like(ids)
        encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask)
        start = ids.new_full((len(ids),), self._model.generation_config.decoder_start_token_id)
        return self._continue(
            start, {"encoder_outputs": encoded, "attention_mask": mask, "past_key_values": None}
        )

    def _continue(self, tokens: Any, state: Any) -> tuple[Any, Any]:
        out = self._model(decoder_input_ids=tokens[:, None], use_cache=True, **state)
        return out.logits[:, -1], state | {"past_key_values": out.past_key_values}
