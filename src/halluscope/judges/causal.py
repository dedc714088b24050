"""Decoder-only judges: any instruct model with a chat template."""

from typing import Any

from halluscope.errors import JudgeUnavailable
from halluscope.judges.language_model import LanguageModelJudge


class CausalJudge(LanguageModelJudge):
    """An instruct model, asked as the user of a chat: yes or no is the first word of its reply."""

    rule = "first-word"
    auto_class = "AutoModelForCausalLM"
    adds_special_tokens = False  # the chat template holds them

    def turn(self, prompt: str) -> str:
        """The chat up to the model's turn."""
        turn = [{"role": "user", "content": prompt}]
        return str(self._tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True))

    def _check(self, tokenizer: Any) -> None:
        if not tokenizer.chat_template:
            raise JudgeUnavailable(
                f"The judge {self.weights.name!r} has no chat template; expected an instruct or chat model."
            )

    def _read(self, ids: Any) -> tuple[Any, Any]:
        out = self._model(
            input_ids=ids, attention_mask=self._torch.ones_like(ids), use_cache=True, logits_to_keep=1
        )
        return out.logits[:, -1], out.past_key_values

    def _continue(self, tokens: Any, state: Any) -> tuple[Any, Any]:
        out = self._model(input_ids=tokens[:, None], past_key_values=state, use_cache=True)
        return out.logits[:, -1], out.past_key_values
