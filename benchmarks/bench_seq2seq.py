"""The seq2seq judge against a plain `generate` loop in batches of 32 with padding, as one would write it down.

The model has FLAN-T5-base's shape (250 million parameters) and random weights: the same work, and replies that mean
nothing. That both ways say the same is checked on each prompt's first token; that real votes are equal is a test
(tests/test_language_models.py).

    python benchmarks/bench_seq2seq.py [--texts 4] [--classes 24] [--rounds 3]
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

from halluscope.judges import weights
from halluscope.judges.seq2seq import Seq2SeqJudge
from halluscope.questions import PAPER
from halluscope.vocabularies import load
from timing import compare

TOKENIZER = Path(__file__).parents[1] / "tests" / "tiny_t5" / "checkpoint"
BASE = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12}
BATCH, NEW_TOKENS = 32, 2
COCO = load("coco")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=4)
    parser.add_argument("--classes", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rng = random.Random(0)
    names = [rng.sample(COCO.classes, rng.randint(30, 40)) for _ in range(options.texts)]
    texts = [f"The image shows a {', a '.join(listed)}." for listed in names]
    questions = PAPER.about(COCO)[0][: options.classes]
    pairs = np.array(list(np.ndindex(len(texts), len(questions))))
    with tempfile.TemporaryDirectory() as folder:
        make_base(Path(folder))
        judge = Seq2SeqJudge(weights.find(folder), device="cpu")
        judge.load()
        prompts = [
            judge.prompt(judge.show(texts[text]), questions[question]) for text, question in pairs.tolist()
        ]
        tokenizer, model = judge._tokenizer, judge._model
        lengths = [len(ids) for ids in tokenizer(prompts)["input_ids"]]
        print(
            f"{len(prompts)} prompts of {np.mean(lengths):.0f} tokens (from {min(lengths)} to {max(lengths)})"
        )
        assert first_tokens(judge, prompts) == [reply[1] for reply in generate(model, tokenizer, prompts)]
        ours = partial(collect, judge, texts, questions, pairs)
        compare(
            "seq2seq judge",
            ours,
            lambda: list(generate(model, tokenizer, prompts)),
            "generate",
            options.rounds,
        )


def make_base(folder: Path) -> None:
    """Save a T5 of FLAN-T5-base's shape with random weights."""
    torch.manual_seed(0)
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    config = T5Config(vocab_size=32128, feed_forward_proj="gated-gelu", **BASE, **special)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(TOKENIZER).save_pretrained(folder)


def collect(judge: Seq2SeqJudge, texts: list[str], questions: list[Any], pairs: Any) -> int:
    """Ask every pair."""
    return sum(len(rows) for rows, _ in judge.answer(texts, questions, pairs))


def generate(model: Any, tokenizer: Any, prompts: list[str]) -> Iterator[list[int]]:
    """The plain loop."""
    for start in range(0, len(prompts), BATCH):
        batch = tokenizer(prompts[start : start + BATCH], return_tensors="pt", padding=True)
        yield from model.generate(**batch, max_new_tokens=NEW_TOKENS, do_sample=False).tolist()


def first_tokens(judge: Seq2SeqJudge, prompts: list[str]) -> list[int]:
    """The first token of each reply, by the judge's own batches."""
    tokens = [0] * len(prompts)
    with torch.inference_mode():
        for places, ids in judge._batches(prompts):
            for place, token in zip(places, judge._read(ids)[0].argmax(-1).tolist(), strict=True):
                tokens[place] = token
    return tokens


if __name__ == "__main__":
    main()
