"""Measures our judges on a GPU: one command, offline, in under 8 minutes, with the installed torch and transformers.

    python perf/gpu.py [--device cuda] [--minutes 7.5] [--out gpu.json] [--tiny]

Models of FLAN-T5's three shapes and a chat model of about a billion parameters are made on the device with random
weights (made_models.py). Each is asked through our judges and through a plain `generate` loop in batches of 32 with
padding, to compare votes, tokens per second, share of the card's peak, and memory. Then possible improvements are
compared with the present code: preparing in the background, padding, compiling, graphs, several GPUs. A last test runs
out of memory. A part starts only if enough time is left; a part that fails or is left out is named, and the other parts
keep their results.

The script needs only torch and transformers, with what they install (numpy, tokenizers, huggingface_hub, tqdm), and ray
for several GPUs. Without transformers it measures only the card's own peak.
"""

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

try:
    import numpy as np
    import torch

    from halluscope.benchmarks.throne.questions import PAPER
    from halluscope.judging.adapters import as_voter
    from halluscope.judging.ask_votes import collect_votes
    from halluscope.judging.lexical import LexicalJudge
    from halluscope.judging.models.engine import SHARED_FROM, CausalJudge, common_prefix
    from halluscope.judging.models.language_model import Ids, LanguageModelJudge
    from halluscope.judging.votes import RULES, YES
except ImportError as missing:
    sys.exit(f"perf/gpu.py needs torch, numpy, tqdm and huggingface_hub, and installs nothing: {missing}.")

try:
    import transformers

    from made_models import COCO, FULL, TINY, Made, describe, judge_of, let_it_vote, texts, word_id

    WITHOUT = ""
except ImportError as missing:  # the card itself can still be measured
    Made, FULL, TINY = Any, (), ()  # type: ignore[misc,assignment]
    WITHOUT = f"models need transformers and its tokenizers, which this script does not install: {missing}"

BATCH, NEW_TOKENS = 32, 3
LONGEST_PLAIN = 20.0
"""The plain loop runs at most this many seconds."""

POOLS = 8
"""The number of pools of prompts where tokenizing is timed."""

FITTED = 2
"""The head is fitted to one in this many of the compared prompts."""

IMAGES = 5_000
PEAKS = {
    "B200": 2250, "GH200": 989, "H200": 989, "H100 PCIe": 756, "H100 NVL": 835, "H100": 989, "A100": 312, "L40S": 362,
    "L4": 121, "A10": 125,
}  # fmt: skip
"""Part of a card's name -> dense bfloat16 TFLOP/s in the maker's datasheet; the first match counts."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        models: the shapes.
        pool: number of texts to ask about, of medium length among `IMAGES`: as many as one pool of a run holds.
        chat_pool: the same for a chat model, whose batches hold one text each.
        questions: number of classes to ask about.
        compared: number of prompts that also go through the plain loop.
        seconds: how long to measure each speed; at least one batch is measured.
        matrix: side of the matrices whose product gives the peak.
        graphs: number of batch shapes to capture.
        sampled: number of texts from which the work of a whole run is extrapolated.
        needed: number of texts for which the share of ask="needed" is estimated.
        timed: number of texts about which all of THRONE's questions are asked and timed.
    """

    models: tuple[Made, ...]
    pool: int
    chat_pool: int
    questions: int
    compared: int
    seconds: float
    matrix: int
    graphs: int
    sampled: int
    needed: int
    timed: int


ON_A_GPU = Sizes(FULL, 819, 205, 80, 2_048, 10.0, 8_192, 24, 40, 200, 500)
ON_A_CPU = Sizes(TINY, 6, 6, 16, 96, 0.05, 256, 4, 2, 10, 1)


@dataclass
class Bench:
    """The settings and results of a run; results are written after each part.

    Attributes:
        sizes: how much is measured.
        device: the device to measure.
        folder: the folder for the models' tokenizers.
        path: the JSON file for results.
        ends: when the time is up, by `time.monotonic`.
        found: part -> its results.
        left_out: part -> why it did not run.
    """

    sizes: Sizes
    device: str
    folder: Path
    path: Path
    ends: float
    found: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def on_cuda(self) -> bool:
        """Whether the device is a GPU."""
        return self.device.startswith("cuda")

    @property
    def precision(self) -> str:
        """The precision that the models compute in, as our judges choose it."""
        return "bfloat16" if self.on_cuda else "float32"

    def part(self, name: str, needs: float, run: Callable[[], Any]) -> Any:
        """Run a part that takes about `needs` seconds on a GPU, if that time is left; tiny shapes need almost none."""
        needs = needs if self.sizes is ON_A_GPU else 0.0
        began, left = time.monotonic(), self.ends - time.monotonic()
        print(f"{name} ...", flush=True)
        if left < needs:
            return self.leave_out(name, f"{left:.0f} s were left, and it takes about {needs:.0f}")
        try:
            found = run()
        except Exception as error:
            traceback.print_exc()
            return self.leave_out(name, f"failed with {type(error).__name__}: {str(error)[:300]}")
        self.found[name] = found
        print(f"    {time.monotonic() - began:.1f} s: {json.dumps(found, default=str)[:400]}", flush=True)
        self.write()
        return found

    def leave_out(self, name: str, why: str) -> None:
        """Note that a part did not run."""
        self.left_out[name] = why
        print(f"    left out: {why}", flush=True)
        self.write()

    def write(self) -> None:
        """Write the results so far."""
        content = {"found": self.found, "left_out": self.left_out}
        self.path.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")


@dataclass
class Asked:
    """A judge with its texts and questions.

    Attributes:
        judge: the judge, already loaded.
        texts: texts of medium length.
        questions: the questions about each text.
        pairs: every question about every text.
        flop: FLOP per pair, 2 x the weights that each token is multiplied with (`weights_read`).
        tokens: tokens per pair; tokens that prompts share are counted once.
        tokenizing: seconds to tokenize one prompt.
    """

    judge: LanguageModelJudge
    texts: Sequence[str]
    questions: Sequence[Any]
    pairs: Any
    flop: Any
    tokens: Any
    tokenizing: float

    @property
    def on_cuda(self) -> bool:
        """Whether the judge runs on a GPU."""
        return bool(self.judge.device.type == "cuda")


def main(given: Sequence[str] | None = None) -> Bench:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--minutes", type=float, default=7.5, help="time limit for the whole run")
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the JSON file")
    parser.add_argument("--tiny", action="store_true", help="small shapes; always so on a CPU")
    options = parser.parse_args(given)
    device = f"cuda:{torch.cuda.current_device()}" if options.device == "cuda" else options.device
    sizes = ON_A_GPU if device.startswith("cuda") and not options.tiny else ON_A_CPU
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sizes, device, Path(folder), options.out, time.monotonic() + 60 * options.minutes)
        measure(bench)
    print(table(bench))
    return bench


def measure(bench: Bench) -> None:
    """Run all parts, the most valuable first."""
    bench.part("machine", 0, partial(machine, bench.device))
    bench.part("peak", 10, partial(peak, bench))
    if WITHOUT:
        return bench.leave_out("models", WITHOUT)
    bench.part("needed", 10, partial(needed, bench.sizes.needed))
    for made in bench.sizes.models:
        with_judge(bench, made, partial(core, bench, made))
    with_judge(bench, bench.sizes.models[0], partial(alternatives, bench))
    with_judge(bench, bench.sizes.models[-1], partial(padding, bench))
    return several(bench)


def with_judge(bench: Bench, made: Made, run: Callable[[Asked], None]) -> None:
    """Make a judge, run something with it, and free its memory."""
    asked: list[Asked] = []
    bench.part(f"{made.name}: made", 20, partial(made_for, bench, made, asked))
    for one in asked:
        run(one)
        one.judge.given = None  # type: ignore[attr-defined]
        one.judge.close()


def made_for(bench: Bench, made: Made, asked: list[Asked]) -> dict[str, Any]:
    """Make a judge that votes, with its texts and questions."""
    sizes = bench.sizes
    judge = judge_of(made, bench.folder / made.name, bench.device, bench.precision)
    every = sorted(texts(IMAGES if sizes is ON_A_GPU else 20 * sizes.pool, random.Random(0)), key=len)
    number = sizes.chat_pool if made.chat else sizes.pool
    middle = random.Random(1).sample(every[(len(every) - number) // 2 :][:number], number)
    questions = PAPER.about(COCO)[0][: sizes.questions]
    pairs = every_pair(middle, questions)
    let_it_vote(judge, prompts_of(judge, middle, questions, pairs[spaced(pairs, sizes.compared)[::FITTED]]))
    began = time.monotonic()
    tokens, flop = work(judge, middle, questions, pairs)
    tokenizing = (time.monotonic() - began) / len(pairs)
    asked.append(Asked(judge, middle, questions, pairs, flop, tokens, tokenizing))
    parameters = sum(weight.numel() for weight in judge._model.parameters())
    return {
        "parameters": parameters,
        "prompts": len(pairs),
        "batch_tokens": judge.batch_tokens,
        "tokenizing_s_per_prompt": tokenizing,
    }


def prompts_of(
    judge: LanguageModelJudge, shown: Sequence[str], questions: Sequence[Any], pairs: Any
) -> list[Ids]:
    """Return the tokens of each pair's prompt."""
    return judge.tokens(shown, questions, pairs)


def every_pair(shown: Sequence[str], questions: Sequence[Any]) -> Any:
    """Return the indices of every question about every text: [pairs, 2]."""
    return np.array(list(np.ndindex(len(shown), len(questions))))


def spaced(pairs: Any, number: int) -> Any:
    """Return the indices of `number` pairs, in order and evenly spaced over all texts."""
    return np.unique(np.linspace(0, len(pairs) - 1, min(number, len(pairs))).astype(np.int64))


def work(judge: LanguageModelJudge, shown: Sequence[str], questions: Sequence[Any], pairs: Any) -> Any:
    """Return tokens and FLOP of each pair."""
    ids = judge.tokens(shown, questions, pairs)
    tokens = np.array([len(prompt) for prompt in ids], dtype=np.float64)
    if isinstance(judge, CausalJudge):
        for text in np.unique(pairs[:, 0]):
            rows = np.flatnonzero(pairs[:, 0] == text)
            if len(rows) >= SHARED_FROM:  # their beginning is read once
                shared = len(common_prefix([ids[row] for row in rows]))
                tokens[rows] -= shared - shared / len(rows)
    return tokens, 2 * weights_read(judge._model) * tokens


def weights_read(model: Any) -> int:
    """Return how many weights each token of a prompt is multiplied with.

    These are the matrices of all layers; of a decoder behind an encoder, those for the keys and values of its attention
    to the prompt. Attention among tokens and the reply of one or two tokens are left out.
    """
    read = (
        r"^encoder\.block\.(?!.*bias)|EncDecAttention\.[kv]\."
        if model.config.is_encoder_decoder
        else r"\.layers\."
    )
    matrices = [
        weight for name, weight in model.named_parameters() if re.search(read, name) and weight.ndim == 2
    ]
    return sum(weight.numel() for weight in matrices)


# Measurements of each model


def core(bench: Bench, made: Made, asked: Asked) -> None:
    """Compare votes and speed with the plain loop."""
    name, sizes = made.name, bench.sizes
    bench.part(f"{name}: equal", 25, partial(equal, asked, sizes))
    ours = bench.part(f"{name}: ours", 1.5 * sizes.seconds, partial(speed, asked, sizes.seconds))
    share = bench.found.get("needed", {}).get(name)
    if ours:
        run = partial(whole_run, asked, ours["flop_per_s"], share, sizes.sampled)
        bench.part(f"{name}: {IMAGES:,} texts", 5, run)
        expected_s = prompts_about(sizes.timed) / ours["prompts_per_s"]
        timed = partial(timed_run, asked.judge, sizes.timed)
        bench.part(f"{name}: {sizes.timed} texts, timed", 1.5 * expected_s, timed)


def equal(asked: Asked, sizes: Sizes) -> dict[str, Any]:
    """Compare votes of our judge and of the plain loop on the same prompts, in the same precision."""
    judge, rows = asked.judge, spaced(asked.pairs, sizes.compared)
    forget_peak(asked)
    plain_codes, plain_leads, seconds, prompts = plain(asked, rows, LONGEST_PLAIN)
    plain_gb, rows = peak_gb(asked), rows[: len(plain_codes)]
    codes, leads = ours(judge, asked, asked.pairs[rows])
    timed = rows[BATCH:]  # the first batch warms up
    return compared(codes, leads, plain_codes, plain_leads) | {
        "plain_prompts_per_s": len(timed) / seconds if seconds else None,
        "plain_tokens_per_s": prompts / seconds if seconds else None,
        "plain_peak_gb": plain_gb,
    }


def compared(codes: Any, leads: Any, plain_codes: Any, plain_leads: Any) -> dict[str, Any]:
    """Count how often votes differ, and how often rounding explains it.

    A lead is the logit of yes less that of no at the first token. A difference is explained if either lead is smaller
    than the usual effect of rounding on leads, which is the 99th percentile of the differences between leads.
    """
    differ = np.flatnonzero(codes != plain_codes)
    usual = float(np.percentile(np.abs(leads - plain_leads), 99))
    explained = np.minimum(np.abs(leads), np.abs(plain_leads))[differ] <= usual
    return {
        "compared": len(codes),
        "yes": (yes := float((plain_codes == YES).mean())),
        "balanced": 0.3 <= yes <= 0.7,
        "unreadable": int((plain_codes > YES).sum() + (codes > YES).sum()),
        "differ": len(differ),
        "explained": int(explained.sum()),
        "usual_difference_of_leads": usual,
        "median_lead": float(np.median(np.abs(plain_leads))),
        "differing_leads": [(float(leads[i]), float(plain_leads[i])) for i in differ[:20]],
    }


def ours(judge: LanguageModelJudge, asked: Asked, pairs: Any) -> tuple[Any, Any]:
    """Return codes and leads of pairs, by our judge."""
    yes, no = word_id(judge, "yes"), word_id(judge, "no")
    codes, leads, begun = np.full(len(pairs), -1), np.full(len(pairs), np.nan), []
    decide = judge._decide

    def kept(first: Any) -> list[float]:
        said = decide(first)  # if memory runs out here, the batch is repeated in halves
        begun.append((first[0][:, yes].float() - first[0][:, no].float()).cpu().numpy())
        return said

    judge._decide = kept  # type: ignore[method-assign,assignment]
    try:
        for rows, given, *_ in judge.answer(asked.texts, asked.questions, pairs):
            codes[rows], leads[rows] = given, np.concatenate(begun)
            begun.clear()
    finally:
        del judge._decide
    return codes, leads


def plain(asked: Asked, rows: Any, seconds: float) -> tuple[Any, Any, float, float]:
    """Ask by `generate` in batches of 32 with padding, text by text, until the time is up.

    Returns:
        Codes; leads; seconds and tokens, both without the first batch.
    """
    judge, codes, leads, took, tokens = asked.judge, [], [], 0.0, 0.0
    yes, no = word_id(judge, "yes"), word_id(judge, "no")
    rule, own = RULES[judge.rule], 1 if judge.auto_class == "AutoModelForSeq2SeqLM" else None
    for start in range(0, len(rows), BATCH):
        began = clock(asked)
        pairs = asked.pairs[rows[start : start + BATCH]].tolist()
        prompts = [judge.prompt(judge.show(asked.texts[i]), asked.questions[j]) for i, j in pairs]
        options = {"padding": True, "add_special_tokens": judge.adds_special_tokens}
        batch = judge._tokenizer(prompts, return_tensors="pt", **options)
        read = {name: batch[name].to(judge.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            out = judge._model.generate(
                **read,
                max_new_tokens=NEW_TOKENS,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
        said = out.sequences[:, own or read["input_ids"].shape[1] :]
        replies = judge._tokenizer.batch_decode(said, skip_special_tokens=True)
        codes += [rule(reply, True) for reply in replies]
        leads.append((out.logits[0][:, yes].float() - out.logits[0][:, no].float()).cpu().numpy())
        if start:
            took += clock(asked) - began
            tokens += float(read["attention_mask"].sum())
        if took > seconds:
            break
    return np.array(codes), np.concatenate(leads), took, tokens


def speed(asked: Asked, seconds: float) -> dict[str, Any]:
    """Measure the speed of our judge until the time is up; the first batch is not timed."""
    forget_peak(asked)
    rows, took = batches(asked, seconds)
    return {
        "prompts_per_s": len(rows) / took,
        "tokens_per_s": float(asked.tokens[rows].sum()) / took,
        "flop_per_s": float(asked.flop[rows].sum()) / took,
        "prompts": len(rows),
        "peak_gb": peak_gb(asked),
    }


def batches(asked: Asked, seconds: float) -> tuple[Any, float]:
    """Return the pairs answered while timed, and the seconds that took."""
    answered, began, took = [], None, 0.0
    for rows, *_ in asked.judge.answer(asked.texts, asked.questions, asked.pairs):
        now = clock(asked)
        if began is not None:
            answered.append(rows)
            took = now - began
        began = now if began is None else began
        if took > seconds:
            break
    if not answered:
        raise RuntimeError("All prompts fit into the first batch, which is not timed; ask about more texts.")
    return np.concatenate(answered), took


def whole_run(asked: Asked, flop_per_s: float, share: float | None, sampled: int) -> dict[str, Any]:
    """Estimate the time for 5,000 texts: the FLOP of all prompts, from a sample of texts, at the measured speed.

    Tokenizing runs in parallel; if it takes longer, its time counts instead.
    """
    some, about = texts(sampled, random.Random(2)), PAPER.about(COCO)
    flop = 0.0
    for questions in about:
        pairs = every_pair(some, questions)
        flop += float(work(asked.judge, some, questions, pairs)[1].sum())
    device_s = flop / len(some) * IMAGES / flop_per_s
    tokenizing_s = prompts_about(IMAGES) * asked.tokenizing
    seconds = max(device_s, tokenizing_s)
    return {
        "all_s": seconds,
        "needed_s": None if share is None else share * seconds,
        "needed_share": share,
        "device_s": device_s,
        "tokenizing_s": tokenizing_s,
    }


def timed_run(judge: LanguageModelJudge, number: int) -> dict[str, Any]:
    """Measure how long all of THRONE's questions about `number` texts take, tokenizing included."""
    some = texts(number, random.Random(4))
    began = time.perf_counter()
    prompts = 0
    for questions in PAPER.about(COCO):
        for rows, *_ in judge.answer(some, questions, every_pair(some, questions)):
            prompts += len(rows)
    _synchronize(judge.device)
    return {"texts": number, "prompts": prompts, "seconds": time.perf_counter() - began}


def prompts_about(number: int) -> int:
    """Return how many prompts all of THRONE's questions about `number` texts are."""
    return number * len(COCO.classes) * len(PAPER.about(COCO))


class _Counting:
    """The lexical judge in place of a model; it counts its questions."""

    stored = False

    def __init__(self, name: str) -> None:
        self.key, self.asked, self._lexical = name, 0, LexicalJudge(COCO)

    def answer(self, shown: Sequence[str], questions: Sequence[Any], pairs: Any) -> Iterator[Any]:
        self.asked += len(pairs)
        yield from self._lexical.answer(shown, questions, pairs)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def needed(number: int) -> dict[str, float]:
    """Estimate the share of all questions that ask="needed" asks each judge, with lexical judges in place of models.

    A text names 2 to 9 classes; 7 of 10 are in the image, which also shows one other class. The three FLAN-T5 vote
    together, and must be unanimous; the chat model votes alone.
    """
    rng = random.Random(3)
    named = [rng.sample(COCO.classes, rng.randint(2, 9)) for _ in range(number)]
    some = [describe(one, rng) for one in named]
    present = COCO.presence([[*one[: 1 + 7 * len(one) // 10], rng.choice(COCO.classes)] for one in named])
    about, found = PAPER.about(COCO), dict[str, float]()
    for names in ([made.name for made in FULL if not made.chat], [made.name for made in FULL if made.chat]):
        judges = [_Counting(name) for name in names]
        collect_votes([as_voter(judge) for judge in judges], about, some, present, len(judges) * len(about))
        found |= {judge.key: judge.asked / prompts_about(len(some)) for judge in judges}
    return found


# Possible improvements


def alternatives(bench: Bench, asked: Asked) -> None:
    """Compare each possible speed-up of an encoder-decoder judge with the present code, and provoke a full memory."""
    some = partial(speed, asked, bench.sizes.seconds / 2)
    bench.part("background: on and off", 20, partial(background, asked, some))
    on_cuda(bench, "out of memory", 30, partial(out_of_memory, asked, bench.sizes))
    backend = "inductor" if bench.on_cuda else "eager"
    compiled = partial(torch.compile, dynamic=True, backend=backend)
    bench.part(
        f"torch.compile of layers ({backend})", 120, partial(replaced, asked, "layers", compiled, some)
    )
    on_cuda(bench, "CUDA graphs per length", 45, partial(graphs, asked, bench.sizes))


def on_cuda(bench: Bench, name: str, needs: float, run: Callable[[], Any]) -> None:
    """Run a part that needs CUDA, or leave it out."""
    if bench.on_cuda:
        bench.part(name, needs, run)
    else:
        bench.leave_out(name, "needs CUDA")


def background(asked: Asked, run: Callable[[], Any]) -> dict[str, Any]:
    """Compare tokenizing and stacking in parallel with the GPU and before it, in several pools, as in a run."""
    judge = asked.judge
    was, pool = judge.background, judge.pool
    judge.pool = -(-len(asked.pairs) // POOLS)
    try:
        return in_turn({"on": run, "off": run}, lambda way: setattr(judge, "background", way == "on"))
    finally:
        judge.pool, judge.background = pool, was


def in_turn(ways: dict[str, Callable[[], Any]], choose: Callable[[str], None]) -> dict[str, Any]:
    """Measure two ways twice each, in turn; return all speeds, and the ratio of the best ones."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(2):
        for way, run in ways.items():
            choose(way)
            found[way].append(run()["prompts_per_s"])
    choose(next(iter(ways)))
    first, second = (max(rates) for rates in found.values())
    return found | {"ratio": first / second}


def replaced(asked: Asked, what: str, wrap: Callable[[Any], Any], run: Callable[[], Any]) -> dict[str, Any]:
    """Compare speed and votes with a part of the lean T5 replaced and without."""
    lean = asked.judge._voting
    some = np.random.default_rng(1).permutation(len(asked.pairs))[:256]
    before, _ = ours(asked.judge, asked, asked.pairs[some])
    wrapped = wrap(getattr(lean, what))
    began = time.monotonic()
    setattr(lean, what, wrapped)
    after, _ = ours(asked.judge, asked, asked.pairs[some])
    first_s = time.monotonic() - began

    def choose(way: str) -> None:
        vars(lean).pop(what, None)
        if way == "replaced":
            setattr(lean, what, wrapped)

    found = in_turn({"replaced": run, "plain": run}, choose)
    vars(lean).pop(what, None)
    return found | {"differ": int((before != after).sum()), "first_s": first_s}


def graphs(asked: Asked, sizes: Sizes) -> dict[str, Any]:
    """Compare reading and the first token from a CUDA graph per length with a plain launch; full batches only."""
    lean, pool, ratios, held = asked.judge._voting, None, dict[int, Any](), list[Any]()
    ids = prompts_of(asked.judge, asked.texts, asked.questions, asked.pairs)
    with torch.inference_mode():
        for _, block in asked.judge._blocks(ids):
            if len(held) == sizes.graphs or block.shape[1] in ratios:
                continue
            eager = best(asked, lambda block=block: lean.begin(block))  # type: ignore[misc]
            graph = torch.cuda.CUDAGraph()
            began = clock(asked)
            with torch.cuda.graph(graph, pool=pool):
                logits, _ = lean.begin(block)
            captured_s, pool = clock(asked) - began, graph.pool()
            replayed = best(asked, graph.replay)
            equal_ = bool(torch.equal(logits.argmax(-1), lean.begin(block)[0].argmax(-1)))
            held.append(graph)
            ratios[block.shape[1]] = (len(block), eager / replayed, captured_s, equal_)
    return {
        "length: prompts, ratio, seconds to capture, equal": ratios,
        "ratio": float(np.median([one[1] for one in ratios.values()])),
        "pays_after_batches": None,
    }


def best(asked: Asked, run: Callable[[], Any], rounds: int = 5) -> float:
    """Return the shortest of several timings, after one run that is not timed."""
    run()
    times = []
    for _ in range(rounds):
        began = clock(asked)
        run()
        times.append(clock(asked) - began)
    return min(times)


def out_of_memory(asked: Asked, sizes: Sizes) -> dict[str, Any]:
    """Check on a share of the card that a far too large batch is halved until it fits, with the same votes."""
    judge, some = asked.judge, np.arange(min(len(asked.pairs), 16 * sizes.compared))
    before, _ = ours(judge, asked, asked.pairs[some])
    budget, total = judge.batch_tokens, torch.cuda.get_device_properties(judge.device).total_memory
    torch.cuda.empty_cache()
    allowed = torch.cuda.memory_allocated(judge.device) + 0.01 * total
    torch.cuda.set_per_process_memory_fraction(allowed / total, judge.device)
    judge.batch_tokens = 1 << 24
    try:
        after, _ = ours(judge, asked, asked.pairs[some])
        settled = judge.batch_tokens
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, judge.device)
        judge.batch_tokens = budget
    return {"allowed_gb": allowed / 1e9, "batch_tokens": settled, "differ": int((before != after).sum())}


def padding(bench: Bench, asked: Asked) -> None:
    """Compare a chat model's questions about a text in one padded batch with batches of equal length."""
    before = asked.judge.spread

    def choose(way: str) -> None:
        asked.judge.spread = 32 if way == "padded" else 0

    def run() -> dict[str, Any]:
        some = partial(speed, asked, bench.sizes.seconds / 2)
        found = in_turn({"padded": some, "equal lengths": some}, choose)
        rows, votes = np.arange(min(len(asked.pairs), 640)), {}
        for way in ("padded", "equal lengths"):
            choose(way)
            votes[way], _ = ours(asked.judge, asked, asked.pairs[rows])
        return found | {
            "differ": int((votes["padded"] != votes["equal lengths"]).sum()),
            "compared": len(rows),
        }

    bench.part("chat: padded or equal lengths", 25, run)
    asked.judge.spread = before


def several(bench: Bench) -> None:
    """Measure several GPUs through Ray, if there are several."""
    name, gpus = "several GPUs through Ray", torch.cuda.device_count() if bench.on_cuda else 0
    if gpus < 2:
        return bench.leave_out(name, f"there are {gpus} GPUs")
    bench.part(name, 90, partial(fleet, bench, gpus))
    return None


def fleet(bench: Bench, workers: int) -> dict[str, Any]:
    """Measure prompts per second of the first shape in several workers, after the first tenth."""
    from halluscope.judging.models.ray_pool import RayPool

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the workers too
    made, kind = bench.sizes.models[0], "cuda" if bench.on_cuda else "cpu"
    make = partial(_voting_judge, made, bench.folder / "workers", kind, bench.precision)
    judge = RayPool(make, made.name, workers, on_gpus=bench.on_cuda)
    shown, questions = texts(workers * bench.sizes.pool, random.Random(0)), PAPER.about(COCO)[0]
    pairs = every_pair(shown, questions[: bench.sizes.questions])
    began, answered, first = 0.0, 0, 0
    for rows, *_ in judge.answer(shown, questions, pairs):
        answered += len(rows)
        if not began and answered > len(pairs) // 10:
            began, first = time.monotonic(), answered
    took = time.monotonic() - began
    judge.close()
    return {"workers": workers, "prompts_per_s": (answered - first) / took, "answered": answered}


def _voting_judge(made: Made, folder: Path, device: str, precision: str) -> LanguageModelJudge:
    judge = judge_of(made, folder / str(os.getpid()), device, precision)
    some, questions = texts(16, random.Random(0)), PAPER.about(COCO)[0]
    pairs = every_pair(some, questions)
    let_it_vote(judge, prompts_of(judge, some, questions, pairs[::4]))
    return judge


# The machine


def machine(device: str) -> dict[str, Any]:
    """Describe the machine, and say what is missing."""
    found: dict[str, Any] = {"torch": torch.__version__, "device": device}
    found["transformers"] = WITHOUT or transformers.__version__
    if device.startswith("cuda"):
        card = torch.cuda.get_device_properties(torch.device(device))
        found |= {"card": card.name, "gb": card.total_memory / 1e9, "gpus": torch.cuda.device_count()}
        found["compute_capability"] = torch.cuda.get_device_capability(torch.device(device))
    return found


def datasheet(card: str) -> float | None:
    """Return the card's dense bfloat16 peak in FLOP per second, or None if the card is not in the table."""
    return next((1e12 * peak for name, peak in PEAKS.items() if re.search(rf"\b{name}\b", card)), None)


def peak(bench: Bench) -> dict[str, Any]:
    """Measure FLOP per second of a large matrix product on random data: the mean of ten runs after a warm-up."""
    device, precision, size = bench.device, bench.precision, bench.sizes.matrix
    one, other = (torch.randn(size, size, device=device, dtype=getattr(torch, precision)) for _ in range(2))
    for _ in range(3):
        one @ other
    _synchronize(device)
    began = time.perf_counter()
    for _ in range(10):
        one @ other
    _synchronize(device)
    measured = 10 * 2 * size**3 / (time.perf_counter() - began)
    card = torch.cuda.get_device_name(torch.device(device)) if device.startswith("cuda") else ""
    return {"measured": measured, "datasheet": datasheet(card)}


def clock(asked: Asked) -> float:
    """Return the time in seconds, once the device has finished its work."""
    _synchronize(asked.judge.device)
    return time.perf_counter()


def _synchronize(device: Any) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def forget_peak(asked: Asked) -> None:
    """Start measuring peak memory here."""
    if asked.on_cuda:
        torch.cuda.reset_peak_memory_stats(asked.judge.device)


def peak_gb(asked: Asked) -> float | None:
    """Return the peak memory since `forget_peak`, in GB; None on a CPU."""
    return torch.cuda.max_memory_allocated(asked.judge.device) / 1e9 if asked.on_cuda else None


# The table


def table(bench: Bench) -> str:
    """Return the results of each model, and then of each other part, as text."""
    found = bench.found
    known, top = found.get("machine", {}), found.get("peak", {})
    header = ["model", "yes", "differ", "explained", "prompts/s", "TFLOP/s", "of peak", "of measured", "tokens/s",
              "generate", "times", "GB", "generate GB", f"{IMAGES:,}: all", "needed"]  # fmt: skip
    rows = [header, *(row(found, made.name, top) for made in FULL)]
    widths = [max(len(line[i]) for line in rows) for i in range(len(header))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in rows]
    models = {made.name for made in FULL}
    others = [f"{name}: {_brief(one)}" for name, one in found.items() if name.split(":")[0] not in models]
    missed = [f"left out: {name}: {why}" for name, why in bench.left_out.items()]
    title = f"{known.get('card', 'CPU (tiny shapes: the numbers mean nothing)')}, torch {torch.__version__}"
    return "\n".join([title, *lines, "", *others, *missed])


def row(found: dict[str, Any], name: str, top: dict[str, Any]) -> list[str]:
    """Return a model's line of the table; a missing value is a dash."""
    equal_, speed_, run = (
        found.get(f"{name}: {part}") or {} for part in ("equal", "ours", f"{IMAGES:,} texts")
    )
    rate, plain_rate = speed_.get("prompts_per_s"), equal_.get("plain_prompts_per_s")
    flop = speed_.get("flop_per_s")

    def of(peak_: float | None) -> str:
        return f"{flop / peak_:.0%}" if flop and peak_ else "-"

    def number(value: float | None, form: str = ",.0f", scale: float = 1.0) -> str:
        return "-" if value is None else format(value / scale, form)

    return [
        name, number(equal_.get("yes"), ".0%"), f"{number(equal_.get('differ'))}/{number(equal_.get('compared'))}",
        number(equal_.get("explained")), number(rate), number(flop, ".1f", 1e12), of(top.get("datasheet")),
        of(top.get("measured")), number(speed_.get("tokens_per_s")), number(equal_.get("plain_tokens_per_s")),
        f"{rate / plain_rate:.1f}" if rate and plain_rate else "-", number(speed_.get("peak_gb"), ".1f"),
        number(equal_.get("plain_peak_gb"), ".1f"), number(run.get("all_s"), ",.0f") + " s",
        number(run.get("needed_s"), ",.0f") + " s",
    ]  # fmt: skip


def _brief(one: Any) -> str:
    if not isinstance(one, dict):
        return str(one)
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in one.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())[:300]


if __name__ == "__main__":
    main()
