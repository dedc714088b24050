"""A chat model's tokenizer and chat template without its weights, for servers that take token ids."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from halluscope.errors import JudgeUnavailable
from halluscope.judging.judge import Pairs
from halluscope.judging.models import weights
from halluscope.judging.models.causal import CausalJudge
from halluscope.judging.models.language_model import Ids, positions
from halluscope.judging.questions import Question
from halluscope.sanitize import short_repr


class ChatTokens(CausalJudge):
    """Tokenizes prompts exactly as a local judge with the same model does, but does not vote.

    Args:
        name: where the tokenizer is: a folder, a GGUF file, or a Hub id ("org/name", "org/name@revision").

    Raises:
        JudgeUnavailable: if there is no tokenizer.
        MissingExtra: without torch and transformers.
    """

    def __init__(self, name: str) -> None:
        super().__init__(weights.described(name), device="cpu")
        self.load()

    def _load_model(self) -> None:
        self._positions = positions(None)
        if self.weights.gguf_file or (Path(self.weights.source) / "config.json").is_file():
            config = self._transformers.AutoConfig.from_pretrained(
                self.weights.source, **self.weights.load_options
            )
            self._positions = positions(config)

    @property
    def digest(self) -> str:
        """The first 8 hexadecimal digits of the sha256 of all that decides on a prompt's tokens."""
        parts = (
            self._tokenizer.backend_tokenizer.to_str(),
            self._tokenizer.get_chat_template(),
            str(self._max_text_tokens),
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]

    def tokens(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> list[Ids]:
        """Return the tokens of each pair's prompt."""
        shown = {i: self.show(texts[i]) for i in set(pairs[:, 0].tolist())}
        return self._token_ids(shown, questions, pairs)

    def ids(self, text: str) -> Ids:
        """Return the tokens of a text in which control tokens count as such."""
        return self._tokenized([text])[0]

    def after(self, chat: str, word: str) -> int:
        """Return the one token with which a reply begins if its first word is `word`.

        Args:
            chat: a prompt, as `turn` returns it.
            word: the reply's first word.

        Raises:
            JudgeUnavailable: if the word is more than one token, or changes the prompt's last tokens.
        """
        before, whole = self.ids(chat), self.ids(chat + word)
        if whole[:-1] != before:
            raise JudgeUnavailable(
                f"The label {short_repr(word)} is not one token of the tokenizer {short_repr(self.weights.name)} "
                "after its chat "
                "template; expected labels that are one token each. Give other labels, such as labels='Yes/No', or "
                "the tokenizer of the server's model."
            )
        return whole[-1]
