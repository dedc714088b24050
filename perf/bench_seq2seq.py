"""Times the encoder-decoder judges against a plain `generate` loop in batches of 32 with padding.

The model has FLAN-T5-base's shape (250 million parameters) and random weights, except in the head, which makes it vote
"no" on everything: the same work as FLAN-T5, with the two steps of a reply. Tests check that real votes are equal
(tests/judging/test_language_models.py, test_lean_t5.py). The share of the matrix peak compares the
FLOP of the prompts, by the model's definition, with large matrix products timed in the same run.

    python perf/bench_seq2seq.py [--texts 4] [--classes 16] [--rounds 3]
"""

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.judge import Pairs
from halluscope.judging.models import weights
from halluscope.judging.models.engine import Seq2SeqJudge
from halluscope.judging.questions import Question
from halluscope.judging.votes import NO
from halluscope.vocabularies import load
from timing import compare, options, seconds

TOKENIZER = Path(__file__).parents[1] / "tests" / "tiny_t5" / "checkpoint"
BASE = {
    "d_model": 768,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 12,
    "num_decoder_layers": 12,
    "num_heads": 12,
    "vocab_size": 32128,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
}
BATCH = 32
NEW_TOKENS = 2
BFLOAT16_PROMPTS = 32
COCO = load("coco")

# How many weights each token of a prompt is multiplied with: the encoder's matrices, and those for the keys and values
# of the decoder's attention to the prompt
WEIGHTS_READ = 99_090_432


@dataclass(frozen=True)
class Asking:
    """Questions about texts, to a judge."""

    judge: Seq2SeqJudge
    texts: list[str]
    questions: list[Question]
    pairs: Pairs  # every question about every text

    def ask(self, pairs: Pairs) -> int:
        """Ask these pairs, and return the number of votes."""
        votes = 0
        for rows, *_ in self.judge.answer(self.texts, self.questions, pairs):
            votes += len(rows)
        return votes

    def prompts(self) -> list[str]:
        """Return the prompt of each pair."""
        visible = [self.judge.show(text) for text in self.texts]
        prompts = []
        for text, question in self.pairs.tolist():
            prompts.append(self.judge.prompt(visible[text], self.questions[question]))
        return prompts


def main() -> None:
    """Print the ratios."""
    arguments = options(__doc__, texts=4, classes=16, rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        make_base(Path(folder))
        asking = make_asking(folder, arguments.texts, arguments.classes)
        prompts = asking.prompts()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        lengths = [len(ids) for ids in tokenizer(prompts)["input_ids"]]
        print(
            f"{len(prompts)} prompts of {np.mean(lengths):.0f} tokens (from {min(lengths)} to {max(lengths)})"
        )
        model = T5ForConditionalGeneration.from_pretrained(folder).eval()
        check_votes(asking, generate(model, tokenizer, prompts), tokenizer)
        print_share_of_peak(asking, sum(lengths), arguments.rounds)
        compare(
            "seq2seq judge, float32",
            lambda: asking.ask(asking.pairs),
            lambda: generate(model, tokenizer, prompts),
            "generate, float32",
            arguments.rounds,
        )
        chosen = np.random.default_rng(0).permutation(len(prompts))[:BFLOAT16_PROMPTS]
        chosen_prompts = [prompts[row] for row in chosen]
        bfloat16_model = T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.bfloat16).eval()
        compare(
            f"seq2seq judge, float32, {len(chosen)} prompts",
            lambda: asking.ask(asking.pairs[chosen]),
            lambda: generate(bfloat16_model, tokenizer, chosen_prompts),
            "generate, bfloat16",
            arguments.rounds,
        )


def make_asking(folder: str, count: int, classes: int) -> Asking:
    """Load the judge, and make up texts."""
    rng = random.Random(0)
    texts = []
    for _ in range(count):
        names = rng.sample(COCO.classes, rng.randint(30, 40))
        texts.append(f"The image shows a {', a '.join(names)}.")
    questions = PAPER.about(COCO)[0][:classes]
    pairs = np.array(list(np.ndindex(len(texts), len(questions))))
    judge = Seq2SeqJudge(weights.find(folder), device="cpu")
    judge.load()
    return Asking(judge, texts, questions, pairs)


def check_votes(asking: Asking, replies: list[list[int]], tokenizer: Any) -> None:
    """Check that both ways say no to everything, and then end."""
    for reply in replies:
        assert tokenizer.decode(reply[1:]) == "no</s>", reply
    for _, codes, *_ in asking.judge.answer(asking.texts, asking.questions, asking.pairs):
        assert (codes == NO).all(), codes


def print_share_of_peak(asking: Asking, tokens: int, rounds: int) -> None:
    """Compare the judge's speed with that of matrix products right before and after it."""
    peak = matrix_peak()
    took = min(seconds(lambda: asking.ask(asking.pairs)) for _ in range(rounds))
    peak = max(peak, matrix_peak())
    rate = 2 * WEIGHTS_READ * tokens / took
    print(f"float32: {rate / 1e9:.0f} GFLOP/s, {rate / peak:.0%} of the matrix peak ({peak / 1e9:.0f})")


def make_base(folder: Path) -> None:
    """Save a T5 of FLAN-T5-base's shape with random weights."""
    torch.manual_seed(0)
    config = T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, **BASE)
    model = T5ForConditionalGeneration(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    no, end = tokenizer("no")["input_ids"]
    with torch.no_grad():
        ids = torch.randint(3, len(tokenizer), (8, 40))
        replies = torch.tensor([[0, no]] * len(ids))
        states = model(input_ids=ids, decoder_input_ids=replies, output_hidden_states=True)
        first, second = states.decoder_hidden_states[-1].mean(0)
        head = torch.zeros_like(model.lm_head.weight)
        head[no] = first - second
        head[end] = second - first
    model.lm_head.weight = torch.nn.Parameter(head)  # no longer shared with the embeddings
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def generate(model: Any, tokenizer: Any, prompts: list[str]) -> list[list[int]]:
    """Return replies by the plain loop."""
    replies: list[list[int]] = []
    for start in range(0, len(prompts), BATCH):
        batch = tokenizer(prompts[start : start + BATCH], return_tensors="pt", padding=True)
        replies += model.generate(**batch, max_new_tokens=NEW_TOKENS, do_sample=False).tolist()
    return replies


def matrix_peak(size: int = 3072) -> float:
    """Return FLOP per second of a large float32 matrix product, the best of several."""
    matrix = torch.randn(size, size)
    with torch.inference_mode():
        shortest = min(seconds(lambda: matrix @ matrix) for _ in range(6))
    return 2 * size**3 / shortest


if __name__ == "__main__":
    main()
