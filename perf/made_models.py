"""Makes judges without a download: a shape, random weights, a tokenizer of made-up text, and a head that votes.

The judges do the same work as the real models, through the same code; only their votes mean nothing. The head projects
a prompt on the direction in which prompts differ most, votes "yes" on one side and "no" on the other, and then ends the
reply. So each vote occurs about half of the time; if all votes were equal, comparing them would prove nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.models.engine import CausalJudge, Seq2SeqJudge
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.judging.models.weights import Weights
from halluscope.vocabularies import load

COCO = load("coco")
PAD = "<pad>"
END = "</s>"
UNKNOWN = "<unk>"
CHAT_TEMPLATE = "User: {{ messages[0]['content'] }}\nAssistant:"
VOCABULARY = 32_128

# How far the logits of yes and no are from their mean, in standard deviations over prompts; the mean is 1
SWING = 0.5

# Factor on the matrices of queries (and keys), compared with their size at the start of training
SHARPER = 2

# The ridge penalty, as a share of a state's mean squared length
RIDGE = 1e-2

WHERE = ("on the left", "in the background", "near the middle", "next to it", "in front")


@dataclass(frozen=True)
class Made:
    """A model's shape."""

    name: str  # the model's name in the table
    sizes: dict[str, int]  # as the configuration names them
    chat: bool = False  # whether the model is decoder-only

    def config(self) -> Any:
        """Return the configuration as an object of transformers."""
        options: dict[str, Any] = {
            "vocab_size": VOCABULARY,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "bos_token_id": None,
            "tie_word_embeddings": False,
        }
        options |= self.sizes
        if self.chat:
            return transformers.LlamaConfig(**options)
        return transformers.T5Config(
            **options, feed_forward_proj="gated-gelu", decoder_start_token_id=0, dropout_rate=0.0
        )


def t5(name: str, *, width: int, hidden: int, layers: int, heads: int, head_width: int = 64) -> Made:
    """Return a shape of FLAN-T5."""
    sizes = {
        "d_model": width,
        "d_kv": head_width,
        "d_ff": hidden,
        "num_layers": layers,
        "num_decoder_layers": layers,
        "num_heads": heads,
    }
    return Made(name, sizes)


def chat(name: str, *, width: int, hidden: int, layers: int, heads: int, key_heads: int) -> Made:
    """Return the shape of a chat model like Llama."""
    sizes = {
        "hidden_size": width,
        "intermediate_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "max_position_embeddings": 4096,
    }
    return Made(name, sizes, chat=True)


FULL = (
    t5("flan-t5-base", width=768, hidden=2048, layers=12, heads=12),
    t5("flan-t5-large", width=1024, hidden=2816, layers=24, heads=16),
    t5("flan-t5-xl", width=2048, hidden=5120, layers=24, heads=32),
    chat("chat-1b", width=2048, hidden=8192, layers=16, heads=32, key_heads=8),
)

# Small versions of the same models, for a CPU and for the tests of perf/gpu.py
TINY = (
    t5("flan-t5-base", width=32, hidden=48, layers=2, heads=2, head_width=16),
    t5("flan-t5-large", width=48, hidden=64, layers=2, heads=3, head_width=16),
    t5("flan-t5-xl", width=64, hidden=96, layers=2, heads=4, head_width=16),
    chat("chat-1b", width=32, hidden=64, layers=2, heads=4, key_heads=2),
)


class GivenModel(LanguageModelJudge):
    """A judge that is handed its model instead of reading it from a folder. Once it is closed, the model is gone."""

    model: Any = None

    def _pretrained(self) -> Any:
        return self.model

    def close(self) -> None:
        self.model = None
        super().close()


class GivenSeq2Seq(GivenModel, Seq2SeqJudge):
    """An encoder-decoder judge with a given model."""


class GivenChat(GivenModel, CausalJudge):
    """A chat judge with a given model."""


def judge_of(shape: Made, folder: Path, device: str, precision: str, seed: int = 0) -> GivenModel:
    """Make a model with random weights on the device, and load a judge; tokenizer and shape are saved in `folder`.

    The judge cannot vote before `let_it_vote`.
    """
    config = shape.config()
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    tokenizer_of(shape.chat).save_pretrained(folder)
    weights = Weights(str(folder), shape.name, "random", is_encoder_decoder=not shape.chat)
    judge: GivenModel = GivenSeq2Seq(weights, device)
    if shape.chat:
        judge = GivenChat(weights, device)
    judge.model = random_model(shape, config, torch.device(device), getattr(torch, precision), seed=seed)
    judge.load()
    return judge


def random_model(shape: Made, config: Any, device: torch.device, dtype: torch.dtype, *, seed: int) -> Any:
    """Make a model with random weights. Attention is sharper than at the start of training, so that prompts differ."""
    model_class: Any = transformers.T5ForConditionalGeneration
    sharper = [".q."]
    if shape.chat:
        model_class = transformers.LlamaForCausalLM
        sharper = [".q_proj.", ".k_proj."]
    before = torch.get_default_dtype()
    torch.manual_seed(seed)
    torch.set_default_dtype(dtype)
    try:
        with device:
            model = model_class(config)
    finally:
        torch.set_default_dtype(before)
    for name, weight in model.named_parameters():
        if any(part in name for part in sharper):
            weight.data *= SHARPER
    empty = torch.zeros_like(model.lm_head.weight)
    model.lm_head.weight = torch.nn.Parameter(empty)  # no longer shared with the embeddings
    return model


def let_it_vote(judge: LanguageModelJudge, prompts: list[list[int]]) -> None:
    """Set the head so that about half of these prompts get "yes", the others "no", and each reply then ends."""
    yes = word_id(judge, "yes")
    no = word_id(judge, "no")
    states = head_inputs(judge, prompts, (yes, no))
    left_vectors, _, _ = torch.linalg.svd(states.first - states.first.mean(0), full_matrices=False)
    along = left_vectors[:, 0]  # each prompt's place in the direction in which prompts differ most
    at_first = torch.stack([torch.ones_like(along), along / along.std()], 1)
    after_it = at_first.new_tensor([-1.0, 0.0]).expand(len(states.second), 2)
    speaks, leans = fitted(torch.cat([states.first, states.second]), torch.cat([at_first, after_it])).T
    lead = states.first @ leans
    leans = (leans - lead.median() * speaks) / lead.std()  # half of the prompts are on either side
    head = judge._model.lm_head.weight.data
    head[yes] = speaks + SWING * leans
    head[no] = speaks - SWING * leans
    head[judge._tokenizer.eos_token_id] = -speaks  # ending is least likely at first, then most likely


def fitted(states: torch.Tensor, wanted_logits: torch.Tensor) -> torch.Tensor:
    """Return weights [width, k] that map states [n, width] to about these logits [n, k], by ridge regression."""
    alike = states @ states.T
    ridge = RIDGE * alike.diagonal().mean() * torch.eye(len(alike), device=alike.device)
    return states.T @ torch.linalg.solve(alike + ridge, wanted_logits)


@dataclass(frozen=True)
class HeadInputs:
    """The head's input at the first token of each reply, and at the second, once per first token [2 n, width]."""

    first: torch.Tensor
    second: torch.Tensor


def head_inputs(
    judge: LanguageModelJudge, prompts: list[list[int]], first_tokens: Sequence[int]
) -> HeadInputs:
    """Return the head's inputs for replies that begin with each of these tokens."""
    read: list[torch.Tensor] = []

    def keep(_: Any, inputs: Any) -> None:
        read.append(inputs[0].flatten(0, -2).float())

    hook = judge._model.lm_head.register_forward_pre_hook(keep)
    first = []
    second = []
    with torch.inference_mode():
        for _, block in judge._blocks(prompts):
            for token in first_tokens:
                _, state = judge._voting.begin(block)
                judge._voting.go_on(block.new_full((len(block),), token), state)
                first.append(read[-2])
                second.append(read[-1])
    hook.remove()
    return HeadInputs(torch.cat(first).clone(), torch.cat(second).clone())


def word_id(judge: LanguageModelJudge, word: str) -> int:
    """Return the token of a word at the beginning of a reply."""
    return int(judge._tokenizer(word, add_special_tokens=False)["input_ids"][0])


def tokenizer_of(is_chat: bool) -> Any:
    """Train a tokenizer on made-up text: it splits at white space, as T5's does, or reads bytes, as chat models' do."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    letters: list[str] = []
    options: dict[str, Any] = {"padding_side": "right"}
    if is_chat:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        letters = pre_tokenizers.ByteLevel.alphabet()
        options = {"padding_side": "left", "chat_template": CHAT_TEMPLATE}
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        )
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {END}", special_tokens=[(END, 1)]
        )
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=letters,
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_texts(), trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        model_max_length=4096,
        **options,
    )


def training_texts() -> list[str]:
    """Return descriptions, all prompts without a response, and the replies."""
    training = texts(200, random.Random(1))
    for questions in PAPER.about(COCO):
        training += [question.prompt("") for question in questions]
    training += ["yes", "no"] * 50
    return training


def texts(number: int, rng: random.Random) -> list[str]:
    """Make up descriptions; within a question's prompt, most have 100 to 200 tokens."""
    described = []
    for _ in range(number):
        classes = rng.sample(COCO.classes, rng.randint(12, 40))
        described.append(describe(classes, rng))
    return described


def describe(classes: list[str], rng: random.Random) -> str:
    """Return a text that names these classes."""
    parts = []
    for name in classes:
        part = f"a {name}"
        if rng.random() < 0.2:
            part += f" {rng.choice(WHERE)}"
        parts.append(part)
    return f"The image shows {', '.join(parts)}."
