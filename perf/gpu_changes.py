"""What gpu.py measures of possible improvements, each beside the present code."""

import math
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpu_bench import Bench, Results, Sizes
from gpu_judges import TEMPLATES, Subject, ask, clock, every_pair, shapes, speed, with_judge
from halluscope.judging.models.language_model import LanguageModelJudge
from made_models import Made, judge_of, let_it_vote, texts

# How many pools of prompts a run has where tokenizing is timed
POOLS = 8

# How often a batch is timed; the shortest time counts
ROUNDS = 5

# How many votes are compared: of the compiled judge, and of padded batches
COMPILED_PROMPTS = 256
PADDED_PROMPTS = 640

# By how many tokens the questions in a padded batch may differ in length, as in our judges on a GPU
SPREAD = 32

# The share of the card that a batch gets which is far too large for it, and its tokens
SMALL_SHARE = 0.01
LARGE_BATCH = 1 << 24

BACKGROUND = "background: on and off"
OUT_OF_MEMORY = "out of memory"
GRAPHS = "CUDA graphs per length"
PADDING = "chat: padded or equal lengths"
FLEET = "several GPUs through Ray"


def measure(bench: Bench) -> None:
    """Measure all of them."""
    first = shapes(bench)[0]
    last = shapes(bench)[-1]
    parts = [BACKGROUND, compiling(bench)]
    if bench.on_cuda:
        parts += [OUT_OF_MEMORY, GRAPHS]
    else:
        for name in (OUT_OF_MEMORY, GRAPHS):
            bench.leave_out(name, "needs CUDA")
    with_judge(bench, first, parts, measure_encoder_decoder)
    with_judge(bench, last, [PADDING], measure_chat)
    measure_fleet(bench)


def measure_encoder_decoder(bench: Bench, subject: Subject) -> None:
    """Compare each possible speed-up of an encoder-decoder judge with the present code, and provoke a full memory."""
    sizes = bench.sizes
    bench.part(BACKGROUND, 20, lambda: background(subject, sizes))
    if bench.on_cuda:
        bench.part(OUT_OF_MEMORY, 30, lambda: out_of_memory(subject, sizes))
    bench.part(compiling(bench), 120, lambda: compiled(subject, sizes, backend(bench)))
    if bench.on_cuda:
        bench.part(GRAPHS, 45, lambda: graphs(subject, sizes))


def measure_chat(bench: Bench, subject: Subject) -> None:
    """Compare a chat judge's padded batches with others."""
    bench.part(PADDING, 25, lambda: padding(subject, bench.sizes))


def measure_fleet(bench: Bench) -> None:
    """Measure several GPUs through Ray, if there are several."""
    gpus = 0
    if bench.on_cuda:
        gpus = torch.cuda.device_count()
    if gpus < 2:
        bench.leave_out(FLEET, f"there are {gpus} GPUs")
        return
    bench.part(FLEET, 90, lambda: fleet(bench, gpus))


def backend(bench: Bench) -> str:
    """Return what torch.compile makes of a model: kernels on a GPU; on a CPU the same steps as before."""
    if bench.on_cuda:
        return "inductor"
    return "eager"


def compiling(bench: Bench) -> str:
    """Return the name of the part that compiles."""
    return f"torch.compile of layers ({backend(bench)})"


@dataclass(frozen=True)
class Way:
    """One of two ways of doing the same; `choose` sets up the judge for it."""

    name: str
    choose: Callable[[], None]


def in_turn(subject: Subject, sizes: Sizes, first: Way, second: Way) -> Results:
    """Measure two ways twice each, in turn; return all prompts per second, and the ratio of the best ones."""
    rates: dict[str, list[float]] = {first.name: [], second.name: []}
    for way in (first, second, first, second):
        way.choose()
        rates[way.name].append(speed(subject, sizes.seconds / 2)["prompts_per_s"])
    return rates | {"ratio": max(rates[first.name]) / max(rates[second.name])}


def background(subject: Subject, sizes: Sizes) -> Results:
    """Compare tokenizing and stacking in parallel with the GPU and before it, in several pools, as in a run."""
    judge = subject.judge
    had_background = judge.background
    pool = judge.pool

    def choose(is_on: bool) -> None:
        judge.background = is_on

    judge.pool = math.ceil(len(subject.pairs) / POOLS)
    try:
        return in_turn(subject, sizes, Way("on", lambda: choose(True)), Way("off", lambda: choose(False)))
    finally:
        judge.pool = pool
        judge.background = had_background


def out_of_memory(subject: Subject, sizes: Sizes) -> Results:
    """Check on a share of the card that a far too large batch is halved until it fits, with the same votes."""
    judge = subject.judge
    pairs = subject.pairs[: 16 * sizes.compared]
    before = ask(subject, pairs)
    budget = judge.batch_tokens
    total = torch.cuda.get_device_properties(judge.device).total_memory
    torch.cuda.empty_cache()
    allowed = torch.cuda.memory_allocated(judge.device) + SMALL_SHARE * total
    torch.cuda.set_per_process_memory_fraction(allowed / total, judge.device)
    judge.batch_tokens = LARGE_BATCH
    try:
        after = ask(subject, pairs)
        settled = judge.batch_tokens
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, judge.device)
        judge.batch_tokens = budget
    differ = (before.codes != after.codes).sum()
    return {"allowed_gb": allowed / 1e9, "batch_tokens": settled, "differ": int(differ)}


def compiled(subject: Subject, sizes: Sizes, backend: str) -> Results:
    """Compare speed and votes of the lean T5 with its layers compiled and without."""
    lean = subject.judge._voting
    shuffled = np.random.default_rng(1).permutation(len(subject.pairs))
    pairs = subject.pairs[shuffled[:COMPILED_PROMPTS]]
    before = ask(subject, pairs)
    layers = torch.compile(lean.layers, dynamic=True, backend=backend)

    def replace() -> None:
        lean.layers = layers

    def restore() -> None:
        vars(lean).pop("layers", None)  # the class's own is there again

    began = time.monotonic()
    replace()
    try:
        after = ask(subject, pairs)
        first_s = time.monotonic() - began
        results = in_turn(subject, sizes, Way("replaced", replace), Way("plain", restore))
    finally:
        restore()
    results["differ"] = int((before.codes != after.codes).sum())
    results["first_s"] = first_s
    return results


def graphs(subject: Subject, sizes: Sizes) -> Results:
    """Compare reading and the first token from a CUDA graph per length with a plain launch; full batches only."""
    judge = subject.judge
    lean = judge._voting
    pool = None
    held: list[Any] = []  # a graph's memory is free for others once nothing holds the graph
    by_length: dict[int, list[Any]] = {}
    ratios = []
    prompts = judge.tokens(subject.texts, subject.questions, subject.pairs)
    with torch.inference_mode():
        for _, block in judge._blocks(prompts):
            length = block.shape[1]
            if len(held) == sizes.graphs or length in by_length:
                continue
            eager_s = best(subject, partial(lean.begin, block))
            graph = torch.cuda.CUDAGraph()
            began = clock(subject)
            with torch.cuda.graph(graph, pool=pool):
                logits, _ = lean.begin(block)
            captured_s = clock(subject) - began
            pool = graph.pool()
            held.append(graph)
            replayed_s = best(subject, graph.replay)
            plain_logits, _ = lean.begin(block)
            is_equal = torch.equal(logits.argmax(-1), plain_logits.argmax(-1))
            ratios.append(eager_s / replayed_s)
            by_length[length] = [len(block), eager_s / replayed_s, captured_s, is_equal]
    return {
        "length: prompts, ratio, seconds to capture, equal": by_length,
        "ratio": float(np.median(ratios)),
    }


def best(subject: Subject, run: Callable[[], Any]) -> float:
    """Return the shortest of several timings, after one run that is not timed."""
    run()
    times = []
    for _ in range(ROUNDS):
        began = clock(subject)
        run()
        times.append(clock(subject) - began)
    return min(times)


def padding(subject: Subject, sizes: Sizes) -> Results:
    """Compare a chat model's questions about a text in one padded batch with batches of equal length."""
    judge = subject.judge
    before = judge.spread
    pairs = subject.pairs[:PADDED_PROMPTS]

    def pad() -> None:
        judge.spread = SPREAD

    def do_not_pad() -> None:
        judge.spread = 0

    try:
        results = in_turn(subject, sizes, Way("padded", pad), Way("equal lengths", do_not_pad))
        pad()
        padded = ask(subject, pairs)
        do_not_pad()
        unpadded = ask(subject, pairs)
    finally:
        judge.spread = before
    results["differ"] = int((padded.codes != unpadded.codes).sum())
    results["compared"] = len(pairs)
    return results


def fleet(bench: Bench, workers: int) -> Results:
    """Measure prompts per second of the first shape in several workers, after the first tenth."""
    from halluscope.judging.models.ray_pool import RayPool

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the workers too
    shape = shapes(bench)[0]
    device = "cpu"
    if bench.on_cuda:
        device = "cuda"
    make = partial(voting_judge, shape, bench.folder / "workers", device, bench.precision)
    judge = RayPool(make, shape.name, workers, device)
    chosen = texts(workers * bench.sizes.texts, random.Random(0))
    questions = TEMPLATES[0]
    pairs = every_pair(chosen, questions[: bench.sizes.questions])
    began = 0.0
    first = 0
    answered = 0
    for rows, *_ in judge.answer(chosen, questions, pairs):
        answered += len(rows)
        if not began and answered > len(pairs) // 10:
            began = time.monotonic()
            first = answered
    seconds = time.monotonic() - began
    judge.close()
    return {"workers": workers, "prompts_per_s": (answered - first) / seconds, "answered": answered}


def voting_judge(shape: Made, folder: Path, device: str, precision: str) -> LanguageModelJudge:
    """Make a judge in a worker."""
    judge = judge_of(shape, folder / str(os.getpid()), device, precision)
    chosen = texts(16, random.Random(0))
    pairs = every_pair(chosen, TEMPLATES[0])
    let_it_vote(judge, judge.tokens(chosen, TEMPLATES[0], pairs[::4]))
    return judge
