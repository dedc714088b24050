"""Makes judges without a download: a shape, random weights, a tokenizer of made-up text, and a head that votes.

The judges do the same work as the real models, through the same code; only their votes mean nothing. The head projects
a prompt on the direction in which prompts differ most, votes "yes" on one side and "no" on the other, and then ends the
reply. So each vote occurs about half of the time; if all votes were equal, comparing them would prove nothing.
"""

import random
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
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
CHAT_TEMPLATE = "User: {{ messages[0]['content'] }}\nAssistant:"
VOCABULARY = 32_128
SWING = 0.5
"""How far the logits of yes and no are from their mean, in standard deviations over prompts; the mean is 1."""


SHARPER = 2
"""Factor on the matrices of queries (and keys), compared with their size at the start of training."""

RIDGE = 1e-2
"""The ridge penalty, as a share of a state's mean squared length."""


@dataclass(frozen=True)
class Made:
    """A model's shape.

    Attributes:
        name: the model's name in the table.
        like: the sizes in the configuration.
        chat: whether the model is decoder-only.
    """

    name: str
    like: dict[str, int]
    chat: bool = False

    def config(self) -> Any:
        """Return the configuration as an object of transformers."""
        special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None, "tie_word_embeddings": False}
        sizes = {"vocab_size": VOCABULARY} | self.like
        if self.chat:
            return transformers.LlamaConfig(**sizes, **special)
        return transformers.T5Config(
            **sizes, **special, feed_forward_proj="gated-gelu", decoder_start_token_id=0, dropout_rate=0.0
        )


def t5(name: str, width: int, hidden: int, layers: int, heads: int, head: int = 64) -> Made:
    """Return a shape of FLAN-T5."""
    depth = {"num_layers": layers, "num_decoder_layers": layers, "num_heads": heads}
    return Made(name, {"d_model": width, "d_kv": head, "d_ff": hidden} | depth)


def chat(name: str, width: int, hidden: int, layers: int, heads: int, kept: int) -> Made:
    """Return the shape of a chat model like Llama."""
    sizes = {"hidden_size": width, "intermediate_size": hidden, "num_hidden_layers": layers}
    attention = {"num_attention_heads": heads, "num_key_value_heads": kept, "max_position_embeddings": 4096}
    return Made(name, sizes | attention, chat=True)


FULL = (
    t5("flan-t5-base", 768, 2048, 12, 12),
    t5("flan-t5-large", 1024, 2816, 24, 16),
    t5("flan-t5-xl", 2048, 5120, 24, 32),
    chat("chat-1b", 2048, 8192, 16, 32, 8),
)
TINY = (
    t5("flan-t5-base", 32, 48, 2, 2, head=16),
    t5("flan-t5-large", 48, 64, 2, 3, head=16),
    t5("flan-t5-xl", 64, 96, 2, 4, head=16),
    chat("chat-1b", 32, 64, 2, 4, 2),
)
"""Small versions of the same models, for a CPU and for the tests of perf/gpu.py."""


class _Given(LanguageModelJudge):
    """A judge that is handed its model instead of reading it from a folder."""

    given: Any = None

    def _pretrained(self) -> Any:
        return self.given


class GivenSeq2Seq(_Given, Seq2SeqJudge):
    """An encoder-decoder judge with a given model."""


class GivenChat(_Given, CausalJudge):
    """A chat judge with a given model."""


def judge_of(made: Made, folder: Path, device: str, precision: str, seed: int = 0) -> LanguageModelJudge:
    """Make a model with random weights on the device, and load a judge; tokenizer and shape are saved in `folder`.

    The judge cannot vote before `let_it_vote`.
    """
    config, tokenizer = made.config(), tokenizer_of(made.chat)
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    weights = Weights(str(folder), made.name, "random", is_encoder_decoder=not made.chat)
    judge = (GivenChat if made.chat else GivenSeq2Seq)(weights, device)
    judge.given = _random(config, made.chat, torch.device(device), getattr(torch, precision), seed)
    judge.load()
    return judge


def _random(config: Any, chat: bool, device: torch.device, dtype: torch.dtype, seed: int) -> Any:
    """Make a model with random weights. Attention is sharper than at the start of training, so that prompts differ."""
    kind = transformers.LlamaForCausalLM if chat else transformers.T5ForConditionalGeneration
    before = torch.get_default_dtype()
    torch.manual_seed(seed)
    torch.set_default_dtype(dtype)
    try:
        with device:
            model = kind(config)
    finally:
        torch.set_default_dtype(before)
    sharper = (".q_proj.", ".k_proj.") if chat else (".q.",)
    for name, weight in model.named_parameters():
        if any(part in name for part in sharper):
            weight.data *= SHARPER
    model.lm_head.weight = torch.nn.Parameter(
        torch.zeros_like(model.lm_head.weight)
    )  # no longer shared with the embeddings
    return model


def let_it_vote(judge: LanguageModelJudge, prompts: list[list[int]]) -> None:
    """Set the head so that about half of these prompts get "yes", the others "no", and each reply then ends."""
    yes, no = (word_id(judge, word) for word in ("yes", "no"))
    first, second = _states(judge, prompts, (yes, no))
    along = torch.linalg.svd(first - first.mean(0), full_matrices=False)[0][:, 0]
    at_first = torch.stack([torch.ones_like(along), along / along.std()], 1)
    then = at_first.new_tensor([-1.0, 0.0]).expand(len(second), 2)
    speaks, leans = _fitted(torch.cat([first, second]), torch.cat([at_first, then])).T
    far = first @ leans
    leans = (leans - far.median() * speaks) / far.std()  # half of the prompts are on either side
    head = judge._model.lm_head.weight.data
    head[yes], head[no] = (speaks + sign * SWING * leans for sign in (1, -1))
    head[judge._tokenizer.eos_token_id] = -speaks  # ending is least likely at first, then most likely


def _fitted(states: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return weights [width, k] that map states [n, width] to about `wanted` [n, k], by ridge regression."""
    alike = states @ states.T
    ridge = RIDGE * alike.diagonal().mean() * torch.eye(len(alike), device=alike.device)
    return states.T @ torch.linalg.solve(alike + ridge, wanted)


def _states(judge: LanguageModelJudge, prompts: list[list[int]], said: tuple[int, int]) -> Any:
    """Return the head's input at the first token [n, width], and after each of two first tokens [2 n, width]."""
    read: list[torch.Tensor] = []
    hook = judge._model.lm_head.register_forward_pre_hook(
        lambda _, inputs: read.append(inputs[0].flatten(0, -2).float())
    )
    first, second = [], []
    with torch.inference_mode():
        for _, block in judge._blocks(prompts):
            for token in said:
                _, state = judge._voting.begin(block)
                judge._voting.go_on(block.new_full((len(block),), token), state)
                first.append(read[-2])
                second.append(read[-1])
    hook.remove()
    return torch.cat(first).clone(), torch.cat(second).clone()


def word_id(judge: LanguageModelJudge, word: str) -> int:
    """Return the token of a word at the beginning of a reply."""
    return int(judge._tokenizer(word, add_special_tokens=False)["input_ids"][0])


def tokenizer_of(chat: bool) -> Any:
    """Train a tokenizer on made-up text: it splits at white space, as T5's does, or reads bytes, as chat models' do."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    if chat:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        spaced = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(spaced)
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {END}", special_tokens=[(END, 1)]
        )
    letters = pre_tokenizers.ByteLevel.alphabet() if chat else []
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=letters,
        show_progress=False,
    )
    asked = [question.prompt("") for row in PAPER.about(COCO) for question in row]
    tokenizer.train_from_iterator([*texts(200, random.Random(1)), *asked, *["yes", "no"] * 50], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        unk_token=UNKNOWN,
        padding_side="left" if chat else "right",
        chat_template=CHAT_TEMPLATE if chat else None,
        model_max_length=4096,
    )


def texts(number: int, rng: random.Random) -> list[str]:
    """Make up descriptions; within a question's prompt, most have 100 to 200 tokens."""
    return [describe(rng.sample(COCO.classes, rng.randint(12, 40)), rng) for _ in range(number)]


def describe(names: list[str], rng: random.Random) -> str:
    """Return a text that names these classes."""
    where = ("on the left", "in the background", "near the middle", "next to it", "in front")
    parts = [f"a {name} {rng.choice(where)}" if rng.random() < 0.2 else f"a {name}" for name in names]
    return f"The image shows {', '.join(parts)}."
