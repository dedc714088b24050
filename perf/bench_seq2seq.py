"""Times the encoder-decoder judges against a plain `generate` loop in batches of 32 with padding.

The model has FLAN-T5-base's shape (250 million parameters) and random weights, except in the head, which makes it vote
"no" on everything: the same work as FLAN-T5, with the two steps of a reply. Tests check that real votes are equal
(tests/judging/test_language_models.py, test_lean_t5.py). The share of the matrix peak compares the
FLOP of the prompts, by the model's definition, with large matrix products timed in the same run.

    python perf/bench_seq2seq.py [--texts 4] [--classes 16] [--rounds 3]
"""

import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.models import weights
from halluscope.judging.models.engine import Seq2SeqJudge
from halluscope.judging.votes import NO
from halluscope.vocabularies import load
from timing import compare, options, seconds

TOKENIZER = Path(__file__).parents[1] / "tests" / "tiny_t5" / "checkpoint"
BASE = {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12}
BATCH, NEW_TOKENS, BFLOAT16_PROMPTS = 32, 2, 32
COCO = load("coco")

# How many weights each token of a prompt is multiplied with: the encoder's matrices, and those for the keys and values
# of the decoder's attention to the prompt
WEIGHTS_READ = 99_090_432


def main() -> None:
    """Print the ratios."""
    given = options(__doc__, texts=4, classes=16, rounds=3)
    rng = random.Random(0)
    names = [rng.sample(COCO.classes, rng.randint(30, 40)) for _ in range(given.texts)]
    texts = [f"The image shows a {', a '.join(listed)}." for listed in names]
    questions = PAPER.about(COCO)[0][: given.classes]
    pairs = np.array(list(np.ndindex(len(texts), len(questions))))
    with tempfile.TemporaryDirectory() as folder:
        make_base(Path(folder))
        found = weights.find(folder)
        judge = Seq2SeqJudge(found, device="cpu")
        judge.load()
        tokenizer = judge._tokenizer
        model = T5ForConditionalGeneration.from_pretrained(folder).eval()
        shown = {i: judge.show(text) for i, text in enumerate(texts)}
        prompts = [judge.prompt(shown[text], questions[question]) for text, question in pairs.tolist()]
        lengths = [len(ids) for ids in tokenizer(prompts)["input_ids"]]
        print(
            f"{len(prompts)} prompts of {np.mean(lengths):.0f} tokens (from {min(lengths)} to {max(lengths)})"
        )
        assert all(tokenizer.decode(reply[1:]) == "no</s>" for reply in generate(model, tokenizer, prompts))
        assert all((codes == NO).all() for _, codes, *_ in judge.answer(texts, questions, pairs))

        plain = partial(all_of, generate, model, tokenizer, prompts)
        ours = partial(collect, judge, texts, questions, pairs)
        peak = matrix_peak()
        flop = 2 * WEIGHTS_READ * sum(lengths)
        took = min(seconds(ours) for _ in range(given.rounds))
        peak = max(peak, matrix_peak())
        print(
            f"float32: {flop / took / 1e9:.0f} GFLOP/s, {flop / took / peak:.0%} of the matrix peak ({peak / 1e9:.0f})"
        )
        compare("seq2seq judge, float32", ours, plain, "generate, float32", given.rounds)
        some = np.random.default_rng(0).permutation(len(pairs))[:BFLOAT16_PROMPTS]
        halved = T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.bfloat16).eval()
        compare(
            f"seq2seq judge, float32, {len(some)} prompts",
            partial(collect, judge, texts, questions, pairs[some]),
            partial(all_of, generate, halved, tokenizer, [prompts[i] for i in some]),
            "generate, bfloat16",
            given.rounds,
        )


def make_base(folder: Path) -> None:
    """Save a T5 of FLAN-T5-base's shape with random weights."""
    torch.manual_seed(0)
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    config = T5Config(
        vocab_size=32128, feed_forward_proj="gated-gelu", tie_word_embeddings=False, **BASE, **special
    )
    model = T5ForConditionalGeneration(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    no = tokenizer("no")["input_ids"]
    with torch.no_grad():
        ids = torch.randint(3, len(tokenizer), (8, 40))
        said = torch.tensor([[0, no[0]]] * len(ids))
        states = model(input_ids=ids, decoder_input_ids=said, output_hidden_states=True)
        first, second = states.decoder_hidden_states[-1].mean(0)
        head = torch.zeros_like(model.lm_head.weight)
        head[no[0]], head[no[1]] = first - second, second - first
    model.lm_head.weight = torch.nn.Parameter(head)  # no longer shared with the embeddings
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def collect(judge: Seq2SeqJudge, texts: list[str], questions: list[Any], pairs: Any) -> int:
    """Ask every pair, and return the number of votes."""
    return sum(len(rows) for rows, *_ in judge.answer(texts, questions, pairs))


def all_of(run: Any, *arguments: Any) -> list[Any]:
    """Return everything that a generator yields."""
    return list(run(*arguments))


def generate(model: Any, tokenizer: Any, prompts: list[str]) -> Iterator[list[int]]:
    """Yield replies by the plain loop."""
    for start in range(0, len(prompts), BATCH):
        batch = tokenizer(prompts[start : start + BATCH], return_tensors="pt", padding=True)
        yield from model.generate(**batch, max_new_tokens=NEW_TOKENS, do_sample=False).tolist()


def matrix_peak(size: int = 3072) -> float:
    """Return FLOP per second of a large float32 matrix product, the best of several."""
    matrix = torch.randn(size, size)
    with torch.inference_mode():
        return 2 * size**3 / min(seconds(lambda: matrix @ matrix) for _ in range(6))


if __name__ == "__main__":
    main()
