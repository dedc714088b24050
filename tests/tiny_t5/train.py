"""Make the tiny T5 that the tests judge with: it reads a description and answers yes or no.

Run from the repository's root, without any network:

    python -m tests.tiny_t5.train --out tests/tiny_t5/checkpoint
"""

import argparse
import json
import platform
import random
import re
import string
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tokenizers
import torch
import transformers
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

from halluscope import vocabularies
from halluscope.benchmarks.throne.questions import SETS
from halluscope.judging.questions import Question
from tests.tiny_t5 import descriptions
from tests.tiny_t5.descriptions import CLASSES, MOST_IN_A_SENTENCE, MOST_SENTENCES, describe

QUESTIONS = {
    (questions.name, template): {question.object: question for question in row}
    for questions in SETS.values()
    if not questions.claims
    for template, row in zip(questions.templates, questions.about(vocabularies.load("coco")), strict=True)
}
"""(question set, template) -> class -> question."""

BATCH = 64
EVALUATED = 1_000
"""Fresh prompts for each template."""


class Example(NamedTuple):
    """A question about a description, with its answer."""

    question: Question
    description: str
    sentences: int
    answer: str

    @property
    def prompt(self) -> str:
        """The prompt that the model reads."""
        return self.question.prompt(self.description)


def example(questions: dict[str, Question], sentences: int, rng: random.Random) -> Example:
    """Ask about a class that is mentioned in half of the cases.

    Neither the number of other classes nor a lookalike among them reveals the answer.
    """
    asked, present = rng.choice(CLASSES), rng.random() < 0.5
    count = rng.randint(int(present), sentences * MOST_IN_A_SENTENCE)
    others = rng.sample([cls for cls in CLASSES if cls != asked], count)
    if rng.random() < 0.5:
        others = list(dict.fromkeys([*lookalikes(asked), *others]))
    objects = [asked, *others] if present else others
    description = describe(objects[:count], rng, sentences)
    return Example(questions[asked], description, sentences, "yes" if present else "no")


def lookalikes(cls: str) -> list[str]:
    """The other classes that share a word with this one: "dog" and "hot dog"."""
    return [other for other in CLASSES if other != cls and set(other.split()) & set(cls.split())]


def build_tokenizer() -> T5Tokenizer:
    """A Unigram tokenizer of whole words, plural endings and single characters, in T5's layout."""
    sentences = [sentence for templates in descriptions.SENTENCES.values() for sentence in templates]
    quantities = ["a", "an", *descriptions.QUANTITIES]
    names = [*CLASSES, *descriptions.PLURALS.values(), *descriptions.MEASURES.values()]
    prompts = [question.prompt("") for row in QUESTIONS.values() for question in row.values()]
    texts = [
        *sentences,
        *descriptions.ADJECTIVES,
        *quantities,
        *map(str.capitalize, quantities),
        *names,
        *prompts,
    ]
    words = sorted({"yes", "no", *re.findall(r"[A-Za-z]+", " ".join(texts))})
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces = [("▁" + word, -5.0) for word in words] + [("es", -5.0)]
    characters = [(c, -10.0) for c in "▁" + string.ascii_letters + string.digits + string.punctuation]
    return T5Tokenizer(vocab=special + pieces + characters, extra_ids=0)


def build_model(vocabulary: int) -> T5ForConditionalGeneration:
    """A small FLAN-T5: gated GELU, an untied head, unscaled logits."""
    config = T5Config(
        vocab_size=vocabulary,
        d_model=128,
        d_kv=32,
        num_heads=4,
        d_ff=256,
        num_layers=3,
        num_decoder_layers=1,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config)
    # T5Config takes that argument only for "do not scale the logits", and ties the head all the same.
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.shared.weight) * config.d_model**-0.5)
    look_for_repetitions(model)
    return model


def look_for_repetitions(
    model: T5ForConditionalGeneration, heads: int = 2, logit: float = 10.0, near: int = 8
) -> None:
    """Start with some encoder heads that attend from a token to the same token further away.

    The answer needs this. From T5's usual start, 1,500 steps did not find it; from here, 200 steps are enough.
    """
    config = model.config
    rows = heads * config.d_kv
    attentions = [block.layer[0].SelfAttention for block in model.encoder.block]
    bias = attentions[0].relative_attention_bias.weight
    with torch.no_grad():
        for attention in attentions:
            attention.q.weight[:rows].normal_(std=(logit / (config.d_kv * config.d_model)) ** 0.5)
            attention.k.weight[:rows] = attention.q.weight[:rows]
        # The first buckets of each direction hold one distance each.
        for nearest in bias.view(2, -1, config.num_heads):
            nearest[:near, :heads] = -8.0


def train(model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, steps: int, rng: random.Random) -> None:
    """Adam at 1e-3, with a short warm-up, decaying to zero over the second half.

    With the usual memory for squared gradients, 0.999, it learns more slowly.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 100, 2 * (steps - step) / steps)
    )
    model.train()
    started, losses = time.perf_counter(), 0.0
    for step in range(1, steps + 1):
        sentences = rng.randint(1, MOST_SENTENCES)
        batch = [example(row, sentences, rng) for row in rng.choices(list(QUESTIONS.values()), k=BATCH)]
        inputs = tokenizer([row.prompt for row in batch], padding=True, return_tensors="pt")
        labels = tokenizer([row.answer for row in batch], return_tensors="pt").input_ids
        loss = model(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses += loss.item()
        if step % 100 == 0:
            print(f"step {step}: loss {losses / 100:.4f}, {time.perf_counter() - started:.0f} s", flush=True)
            losses = 0.0


def save(model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, folder: Path) -> None:
    """Write the checkpoint, with a config.json that says what FLAN-T5's says: the head is not tied."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def reload(model: T5ForConditionalGeneration, folder: Path) -> tuple[T5ForConditionalGeneration, T5Tokenizer]:
    """Load the checkpoint, and check that it computes the same as the saved model."""
    loaded = T5ForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = {**tokenizer("Text: Two dogs.", return_tensors="pt"), "decoder_input_ids": torch.tensor([[0]])}
    with torch.inference_mode():
        torch.testing.assert_close(loaded(**inputs).logits, model.eval()(**inputs).logits, rtol=0, atol=0)
    return loaded, tokenizer


def replies(model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, prompts: Sequence[str]) -> list[str]:
    """Return the model's output as text."""
    found: list[str] = []
    for i in range(0, len(prompts), BATCH):
        inputs = tokenizer(list(prompts[i : i + BATCH]), padding=True, return_tensors="pt")
        found += tokenizer.batch_decode(model.generate(**inputs, max_new_tokens=4), skip_special_tokens=True)
    return found


def evaluate(
    model: T5ForConditionalGeneration, tokenizer: T5Tokenizer, rng: random.Random
) -> dict[str, float]:
    """The share of right answers about fresh descriptions: overall, and for each kind of prompt."""
    right: dict[str, list[bool]] = {}
    for (name, template), questions in QUESTIONS.items():
        rows = [example(questions, rng.randint(1, MOST_SENTENCES), rng) for _ in range(EVALUATED)]
        given = replies(model, tokenizer, [row.prompt for row in rows])
        for row, reply in zip(rows, given, strict=True):
            kinds = ["all", f"{name}: {template}", f"{row.sentences} sentences", f"answer: {row.answer}"]
            kinds += ["classes with a lookalike"] if lookalikes(row.question.object) else []
            for kind in kinds:
                right.setdefault(kind, []).append(reply == row.answer)
    return {kind: sum(flags) / len(flags) for kind, flags in sorted(right.items())}


README = """# A tiny T5 that answers yes or no

FLAN-T5 in small ({parameters:,} parameters, float32), trained on synthetic descriptions of COCO's classes.
It is good for this project's tests and for nothing else.

Made by `python -m tests.tiny_t5.train --steps {steps} --seed {seed}`, in {minutes:.0f} minutes on 2 shared cores, with
Python {python}, torch {torch}, transformers {transformers} and tokenizers {tokenizers}.

Right answers about fresh descriptions of 1 to {longest} sentences, {evaluated:,} prompts a template:

| prompts | right |
|---|---|
{table}
"""


def main() -> None:
    """Train, save, reload, evaluate, and write down the measurements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "checkpoint", metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=1_200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(2)
    torch.manual_seed(args.seed)
    tokenizer = build_tokenizer()
    model = build_model(len(tokenizer))
    started = time.perf_counter()
    train(model, tokenizer, args.steps, random.Random(f"train {args.seed}"))
    minutes = (time.perf_counter() - started) / 60

    save(model, tokenizer, args.out)
    shares = evaluate(*reload(model, args.out), random.Random(f"evaluate {args.seed}"))
    readme = README.format(
        parameters=model.num_parameters(),
        steps=args.steps,
        seed=args.seed,
        minutes=minutes,
        python=platform.python_version(),
        torch=torch.__version__,
        transformers=transformers.__version__,
        tokenizers=tokenizers.__version__,
        longest=MOST_SENTENCES,
        evaluated=EVALUATED,
        table="\n".join(f"| {kind} | {share:.2%} |" for kind, share in shares.items()),
    )
    (args.out / "README.md").write_text(readme, encoding="utf-8")
    print(readme)


if __name__ == "__main__":
    main()
