"""Finds out a language model's key, shape and prompts' tokens without fetching its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging.cost.shapes import SHAPES, DecoderOnly, EncoderDecoder, Shape, shape
from halluscope.judging.judge import Pairs
from halluscope.judging.models import weights
from halluscope.judging.models.causal import SHARED_FROM, CausalJudge, common_prefix
from halluscope.judging.models.engine import Engine
from halluscope.judging.models.language_model import LanguageModelJudge, positions
from halluscope.judging.models.seq2seq import Seq2SeqJudge, check_encodes, is_checker, model_of
from halluscope.judging.models.weights import Weights
from halluscope.judging.questions import Question
from halluscope.judging.resolve import AS_USUAL, EndpointOptions, is_served
from halluscope.judging.scoring import ScoringVoter
from halluscope.network import hub_or_cache

# How many characters a token has in English, by a rule of thumb
CHARACTERS_A_TOKEN = 4.0


class Work(NamedTuple):
    """What each of n prompts costs; a beginning that prompts share is counted once, in equal parts."""

    tokens: NDArray[np.float64]  # tokens read [n]
    flop: NDArray[np.float64]  # FLOP [n]; NaN if the model's shape is not known


@dataclass(frozen=True)
class ModelInfo:
    """A judge that is a language model, not loaded."""

    model: str  # the model as the user wrote it
    name: str  # the model's name in a signature; never a path
    key: str | None  # the judge's key in the cache; None if it cannot be known
    shape: Shape | None  # the model's shape; None if it is not known
    reader: "Reader | None"  # the judge with only its tokenizer; None if the tokenizer is not available
    missing: str = ""  # what is not available, in words; empty if the judge can be asked
    # the longest reply of a model behind an endpoint, in tokens; 0 for a model that generates nothing
    reply: int = 0
    by_text: bool = False  # whether a request holds all questions about a text

    def work(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Work:
        """Return what prompts cost, by the judge's own tokenizer or by a rule of thumb."""
        if self.reader:
            return self.reader.work(texts, questions, pairs, self.shape)
        tokens = characters(texts, questions, pairs) / CHARACTERS_A_TOKEN
        return Work(tokens, _flop(self.shape, tokens))


def look(models: Sequence[str], engine: Engine, served: EndpointOptions = AS_USUAL) -> list[ModelInfo]:
    """Return the outlook on models: behind servers, or Hub ids, folders and GGUF files that `engine` is to run here."""
    return [
        _behind(model, served) if is_served(model) else _outlook(model, *_find(model_of(model)), engine)
        for model in models
    ]


def _behind(name: str, served: EndpointOptions) -> ModelInfo:
    """Return the outlook on a model behind a server; no request is sent, and other settings count as accepted."""
    judge = served.judge(name)
    if isinstance(judge, ScoringVoter):
        return ModelInfo(name, judge.name, judge.key, None, None, by_text=True)
    return ModelInfo(name, judge.name, judge.key, None, None, reply=judge.max_tokens)


def _outlook(model: str, found: Weights | None, missing: str, engine: Engine) -> ModelInfo:
    known = SHAPES.get(model_of(model).partition("@")[0])
    if found is None:
        return ModelInfo(model, model, None, known, None, missing)
    if is_checker(model):
        check_encodes(found)
    precision = engine.precision if engine.library == "torch" else None
    try:
        reader: Reader = (
            Seq2SeqReader(found, engine.device, precision=precision, checks=is_checker(model))
            if found.is_encoder_decoder
            else CausalReader(found, engine.device, precision=precision)
        )
    except MissingExtra as error:
        return ModelInfo(model, found.name, None, known, None, missing or str(error))
    key = reader.key if engine.library == "torch" else engine.judge(model).key if not missing else None
    if not found.source:
        return ModelInfo(model, found.name, key, known, None, missing)
    key = key if found.revision else None
    try:
        reader.load()
    except JudgeUnavailable as error:
        if not missing:
            raise
        return ModelInfo(model, found.name, key, known, None, f"{missing} {error}")
    return ModelInfo(model, found.name, key, shape(reader.config) or known, reader, missing)


def characters(texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> NDArray[np.float64]:
    """Return how many characters each prompt has."""
    of_text = np.array([len(text) for text in texts], dtype=np.float64)
    around = np.array([len(question.prompt("")) for question in questions], dtype=np.float64)
    lengths: NDArray[np.float64] = of_text[pairs[:, 0]] + around[pairs[:, 1]]
    return lengths


class Reader(LanguageModelJudge):
    """A judge with its tokenizer and configuration, but without weights: it reads prompts, and does not vote."""

    config: dict[str, Any]

    def _load_model(self) -> None:
        config = self._transformers.AutoConfig.from_pretrained(
            self.weights.source, **self.weights.load_options
        )
        self.config = config.to_dict()
        self._positions = positions(config)

    def work(
        self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs, of: Shape | None
    ) -> Work:
        """Return what each prompt costs with a model of this shape."""
        self.load()
        shown = {i: self.show(texts[i]) for i in np.unique(pairs[:, 0]).tolist()}
        return self._work(self._token_ids(shown, questions, pairs), pairs, of)

    def _work(self, ids: Sequence[list[int]], pairs: Pairs, of: Shape | None) -> Work:
        raise NotImplementedError


class Seq2SeqReader(Reader, Seq2SeqJudge):
    """Reads prompts as an encoder-decoder does: each whole."""

    def _work(self, ids: Sequence[list[int]], pairs: Pairs, of: Shape | None) -> Work:
        tokens = np.array([len(one) for one in ids], dtype=np.float64)
        return Work(tokens, _flop(of, tokens))


class CausalReader(Reader, CausalJudge):
    """Reads prompts as a decoder-only model does: the beginning that prompts about a text share is read once."""

    def _work(self, ids: Sequence[list[int]], pairs: Pairs, of: Shape | None) -> Work:
        tokens = np.array([len(one) for one in ids], dtype=np.float64)
        flop = _flop(of, tokens)
        shares = of.shares if isinstance(of, DecoderOnly) else True
        for text in np.unique(pairs[:, 0]).tolist() if shares else ():
            rows = np.flatnonzero(pairs[:, 0] == text).tolist()
            if len(rows) < SHARED_FROM:
                continue
            before = len(common_prefix([ids[row] for row in rows]))
            own = tokens[rows] - before
            tokens[rows] = own + before / len(rows)
            if isinstance(of, DecoderOnly):
                flop[rows] = of.flop(own, before) + of.read(before) / len(rows)
        return Work(tokens, flop)


def _flop(of: Shape | None, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(len(tokens), np.nan) if of is None else of.flop(tokens)


def _find_here(model: str, path: Path) -> tuple[Weights, str]:
    """A model on this machine, and what is missing of it."""
    try:
        return weights.find(model), ""
    except JudgeUnavailable as error:
        if not (path / "config.json").is_file():
            raise
        encodes = weights.encodes(path / "config.json")
        return Weights(str(path), path.resolve().name, "", is_encoder_decoder=encodes), str(error)


def _find(model: str) -> tuple[Weights | None, str]:
    """Return a model and what is missing of it; the source is "" if only its name and revision are known."""
    path = Path(model).expanduser()
    if path.exists():
        return _find_here(model, path)
    name, _, wanted = model.partition("@")
    revision = wanted or weights.REVISIONS.get(name, "main")
    from huggingface_hub import snapshot_download

    try:
        with hub_or_cache():
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*weights.DESCRIBING]))
        encodes = weights.encodes(folder / "config.json")
    except Exception as error:
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0].split('. ')[0]}"
        named = revision != "main" and isinstance(SHAPES.get(name), EncoderDecoder)
        known = Weights("", name, revision, is_encoder_decoder=True) if named else None
        return known, f"neither on this machine nor can it be downloaded ({reason})"
    there = any(folder.glob("*.safetensors")) or any(folder.glob("*.bin"))
    missing = "" if there else "its weights are not on this machine yet; scoring downloads them"
    return Weights(str(folder), name, folder.name, is_encoder_decoder=encodes), missing
