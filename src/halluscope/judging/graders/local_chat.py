"""A language model on this machine that replies to whole prompts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from halluscope.judging.graders.chat import MAX_TOKENS
from halluscope.judging.models import weights
from halluscope.judging.models.causal import CausalJudge
from halluscope.judging.models.seq2seq import Seq2SeqJudge


class LocalChat:
    """A model on this machine, with greedy decoding."""

    def __init__(self, model: str, max_tokens: int = MAX_TOKENS, device: str | None = None) -> None:
        found = weights.find(model)
        self._model = (Seq2SeqJudge if found.is_encoder_decoder else CausalJudge)(found, device)
        self._max_tokens = max_tokens
        precision = str(self._model.dtype).removeprefix("torch.")
        self.key = f"{found.key}:{precision}:temperature=0:max_tokens={max_tokens}"
        self.failures: Counter[str] = Counter()

    greedy = True

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, str | None]]:
        """Reply to each prompt, the shortest first. Equal prompts have equal replies, so each is asked once."""
        places: dict[str, list[int]] = {}
        for place, prompt in enumerate(prompts):
            places.setdefault(prompt, []).append(place)
        unique = list(places)
        for i, reply in self._model.replies(unique, self._max_tokens):
            same = places[unique[i]]
            if reply is None:
                self.failures[f"longer than {self._max_tokens} tokens, or no room for as many"] += len(same)
            yield from ((place, reply) for place in same)

    def close(self) -> None:
        """Free the model's memory."""
        self._model.close()
