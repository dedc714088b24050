"""What gpu.py measures of each model: votes and speed, beside a plain `generate` loop, and THRONE's whole cost."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gpu_bench import IMAGES, WHOLE, Bench, Results, Sizes, part_of, timed
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.adapters import as_voter
from halluscope.judging.ask_votes import collect_votes
from halluscope.judging.judge import Answered, Pairs
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models.engine import SHARED_FROM, common_prefix
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.judging.questions import Question
from halluscope.judging.votes import RULES, YES
from made_models import COCO, FULL, TINY, Made, describe, judge_of, let_it_vote, texts, word_id

BATCH = 32
NEW_TOKENS = 3

# The plain loop runs at most this many seconds
LONGEST_PLAIN = 20.0

# The head is fitted to one in this many of the compared prompts
FITTED = 2

# How much longer a timed run may take than at the speed of the batches before it
SLOWER = 1.4

TEMPLATES = PAPER.about(COCO)


@dataclass
class Subject:
    """A judge, already loaded, with its texts and questions."""

    judge: LanguageModelJudge
    texts: Sequence[str]  # of medium length
    questions: Sequence[Question]  # about each text
    pairs: Pairs  # every question about every text
    work: "Work"  # of each pair
    tokenizing_s: float  # to tokenize one prompt

    @property
    def on_cuda(self) -> bool:
        return bool(self.judge.device.type == "cuda")

    def about(self) -> Results:
        """Return what gpu.py says of the judge once it is made."""
        return {
            "parameters": sum(weight.numel() for weight in self.judge._model.parameters()),
            "prompts": len(self.pairs),
            "batch_tokens": self.judge.batch_tokens,
            "tokenizing_s_per_prompt": self.tokenizing_s,
        }


@dataclass(frozen=True)
class Work:
    """What it takes to read prompts, by prompt."""

    tokens: Any  # tokens that prompts share are counted once
    flop: Any  # 2 x the weights that each token is multiplied with (`weights_read`)


@dataclass(frozen=True)
class Votes:
    """Votes on pairs."""

    codes: Any
    leads: Any  # the logit of yes less that of no, at the first token


@dataclass(frozen=True)
class PlainRun:
    """What the plain loop answered until its time was up; seconds and tokens leave out its first batch."""

    votes: Votes
    seconds: float
    tokens: float


def measure(bench: Bench) -> None:
    """Measure each model, and what THRONE costs with its three judges."""
    bench.part("needed", 10, lambda: needed(bench.sizes.needed))
    for shape in shapes(bench):
        names = []
        for part in ("equal", "ours", WHOLE, timed(bench.sizes)):
            names.append(part_of(shape.name, part))
        with_judge(bench, shape, names, measure_judge)
    add_up(bench)


def shapes(bench: Bench) -> tuple[Made, ...]:
    """Return the models' shapes: small ones on a CPU."""
    if bench.sizes.are_full:
        return FULL
    return TINY


# A judge with what it is asked


def with_judge(
    bench: Bench, shape: Made, parts: Sequence[str], run: Callable[[Bench, Subject], None]
) -> None:
    """Make a judge, run something with it, and free its memory; nothing is made if all these parts have run."""
    if all(part in bench.results for part in parts):
        return
    name = part_of(shape.name, "made")
    subject = bench.attempt(name, 20, lambda: make_subject(bench, shape))
    if subject is None:
        return
    bench.keep(name, subject.about())
    run(bench, subject)
    subject.judge.close()


def make_subject(bench: Bench, shape: Made) -> Subject:
    """Make a judge that votes, with its texts and questions."""
    sizes = bench.sizes
    judge = judge_of(shape, bench.folder / shape.name, bench.device, bench.precision)
    number = sizes.texts
    if shape.chat:
        number = sizes.chat_texts
    chosen = medium_texts(sizes, number)
    questions = TEMPLATES[0][: sizes.questions]
    pairs = every_pair(chosen, questions)
    fitted = spaced(pairs, sizes.compared)[::FITTED]
    let_it_vote(judge, judge.tokens(chosen, questions, fitted))
    began = time.monotonic()
    work = work_of(judge, chosen, questions, pairs)
    tokenizing_s = (time.monotonic() - began) / len(pairs)
    return Subject(judge, chosen, questions, pairs, work=work, tokenizing_s=tokenizing_s)


def medium_texts(sizes: Sizes, number: int) -> list[str]:
    """Return texts from the middle of many, by length, in any order."""
    many = IMAGES
    if not sizes.are_full:
        many = 20 * sizes.texts
    by_length = sorted(texts(many, random.Random(0)), key=len)
    start = (many - number) // 2
    return random.Random(1).sample(by_length[start : start + number], number)


def every_pair(chosen: Sequence[str], questions: Sequence[Question]) -> Pairs:
    """Return every question about every text."""
    return np.array(list(np.ndindex(len(chosen), len(questions))))


def spaced(pairs: Pairs, number: int) -> Pairs:
    """Return a number of pairs, in order and evenly spaced over all texts."""
    places = np.linspace(0, len(pairs) - 1, min(number, len(pairs)))
    return pairs[np.unique(places.astype(np.int64))]


def work_of(
    judge: LanguageModelJudge, chosen: Sequence[str], questions: Sequence[Question], pairs: Pairs
) -> Work:
    """Return the work of each pair."""
    prompts = judge.tokens(chosen, questions, pairs)
    tokens = np.array([len(prompt) for prompt in prompts], dtype=np.float64)
    if not judge.weights.is_encoder_decoder:
        for text in np.unique(pairs[:, 0]):
            rows = np.flatnonzero(pairs[:, 0] == text)
            if len(rows) >= SHARED_FROM:  # their beginning is read once
                shared = len(common_prefix([prompts[row] for row in rows]))
                tokens[rows] -= shared - shared / len(rows)
    return Work(tokens, 2 * weights_read(judge) * tokens)


def weights_read(judge: LanguageModelJudge) -> int:
    """Return how many weights each token of a prompt is multiplied with.

    These are the matrices of all layers; of a decoder behind an encoder, those for the keys and values of its attention
    to the prompt. Attention among tokens and the reply of one or two tokens are left out.
    """
    read = 0
    for name, weight in judge._model.named_parameters():
        if judge.weights.is_encoder_decoder:
            is_layer = name.startswith("encoder.block.") and "bias" not in name
            is_read = is_layer or "EncDecAttention.k." in name or "EncDecAttention.v." in name
        else:
            is_read = ".layers." in name
        if is_read and weight.ndim == 2:
            read += weight.numel()
    return read


# Its votes


def measure_judge(bench: Bench, subject: Subject) -> None:
    """Compare a judge's votes and speed with the plain loop, and time all of THRONE's questions."""
    sizes = bench.sizes
    name = subject.judge.weights.name
    bench.part(part_of(name, "equal"), 25, lambda: equal(subject, sizes))
    rates = bench.part(part_of(name, "ours"), 1.5 * sizes.seconds, lambda: speed(subject, sizes.seconds))
    if not rates:
        return
    share = bench.results.get("needed", {}).get(name)
    flop_per_s = rates["flop_per_s"]
    bench.part(part_of(name, WHOLE), 5, lambda: whole_run(subject, flop_per_s, share, sizes.sampled))
    needs = SLOWER * prompts_about(sizes.timed) / rates["prompts_per_s"]
    bench.part(part_of(name, timed(sizes)), needs, lambda: timed_run(subject.judge, sizes.timed))


def equal(subject: Subject, sizes: Sizes) -> Results:
    """Compare votes of our judge and of the plain loop on the same prompts, in the same precision."""
    pairs = spaced(subject.pairs, sizes.compared)
    forget_peak(subject)
    plain = ask_plainly(subject, pairs, LONGEST_PLAIN)
    plain_gb = peak_gb(subject)
    answered = len(plain.votes.codes)
    timed_prompts = answered - BATCH  # the first batch warms up
    results = compared(ask(subject, pairs[:answered]), plain.votes)
    results["plain_prompts_per_s"] = None
    results["plain_tokens_per_s"] = None
    if plain.seconds:
        results["plain_prompts_per_s"] = timed_prompts / plain.seconds
        results["plain_tokens_per_s"] = plain.tokens / plain.seconds
    results["plain_peak_gb"] = plain_gb
    return results


def compared(ours: Votes, plain: Votes) -> Results:
    """Count how often votes differ, and how often rounding explains it.

    A difference is explained if either lead is smaller than the usual effect of rounding on leads, which is the 99th
    percentile of the differences between leads.
    """
    yes = float((plain.codes == YES).mean())
    unreadable = (plain.codes > YES).sum() + (ours.codes > YES).sum()
    differ = np.flatnonzero(ours.codes != plain.codes)
    usual = float(np.percentile(np.abs(ours.leads - plain.leads), 99))
    smaller_lead = np.minimum(np.abs(ours.leads), np.abs(plain.leads))
    return {
        "compared": len(ours.codes),
        "yes": yes,
        "balanced": 0.3 <= yes <= 0.7,
        "unreadable": int(unreadable),
        "differ": len(differ),
        "explained": int((smaller_lead[differ] <= usual).sum()),
        "usual_difference_of_leads": usual,
        "median_lead": float(np.median(np.abs(plain.leads))),
        "differing_leads": [(float(ours.leads[row]), float(plain.leads[row])) for row in differ[:20]],
    }


def ask(subject: Subject, pairs: Pairs) -> Votes:
    """Return our judge's votes on pairs."""
    judge = subject.judge
    decide = judge._decide
    codes = np.full(len(pairs), -1)
    leads = np.full(len(pairs), np.nan)
    batch_leads: list[Any] = []

    def decide_and_keep_leads(begun: Any) -> list[float]:
        batch_codes = decide(begun)  # if memory runs out here, the batch is repeated in halves
        batch_leads.append(leads_of(judge, begun[0]))
        return batch_codes

    judge._decide = decide_and_keep_leads  # type: ignore[method-assign,assignment]
    try:
        for rows, batch_codes, *_ in judge.answer(subject.texts, subject.questions, pairs):
            codes[rows] = batch_codes
            leads[rows] = np.concatenate(batch_leads)
            batch_leads.clear()
    finally:
        del judge._decide
    return Votes(codes, leads)


def leads_of(judge: LanguageModelJudge, logits: Any) -> Any:
    """Return the logit of yes less that of no, of each prompt."""
    yes = logits[:, word_id(judge, "yes")].float()
    no = logits[:, word_id(judge, "no")].float()
    return (yes - no).cpu().numpy()


def ask_plainly(subject: Subject, pairs: Pairs, limit: float) -> PlainRun:
    """Ask by `generate` in batches of 32 with padding, text by text, until the time is up."""
    judge = subject.judge
    rule = RULES[judge.rule]
    codes: list[int | None] = []
    leads = []
    seconds = 0.0
    tokens = 0.0
    for start in range(0, len(pairs), BATCH):
        began = clock(subject)
        prompts = []
        for text, question in pairs[start : start + BATCH].tolist():
            prompts.append(judge.prompt(judge.show(subject.texts[text]), subject.questions[question]))
        batch = judge._tokenizer(
            prompts, return_tensors="pt", padding=True, add_special_tokens=judge.adds_special_tokens
        )
        ids = batch["input_ids"].to(judge.device)
        mask = batch["attention_mask"].to(judge.device)
        with torch.inference_mode():
            output = judge._model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=NEW_TOKENS,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
        reply_start = ids.shape[1]  # a decoder repeats the prompt
        if judge.weights.is_encoder_decoder:
            reply_start = 1
        replies = judge._tokenizer.batch_decode(output.sequences[:, reply_start:], skip_special_tokens=True)
        codes += [rule(reply, True) for reply in replies]
        leads.append(leads_of(judge, output.logits[0]))
        if start:
            seconds += clock(subject) - began
            tokens += float(mask.sum())
        if seconds > limit:
            break
    return PlainRun(Votes(np.array(codes), np.concatenate(leads)), seconds, tokens)


# Its speed


def speed(subject: Subject, seconds: float) -> Results:
    """Measure the speed of our judge until the time is up; the first batch is not timed."""
    forget_peak(subject)
    answered = []
    began = None
    took = 0.0
    for rows, *_ in subject.judge.answer(subject.texts, subject.questions, subject.pairs):
        now = clock(subject)
        if began is None:
            began = now
            continue
        answered.append(rows)
        took = now - began
        if took > seconds:
            break
    if not answered:
        raise RuntimeError("All prompts fit into the first batch, which is not timed; ask about more texts.")
    timed_rows = np.concatenate(answered)
    return {
        "prompts_per_s": len(timed_rows) / took,
        "tokens_per_s": float(subject.work.tokens[timed_rows].sum()) / took,
        "flop_per_s": float(subject.work.flop[timed_rows].sum()) / took,
        "prompts": len(timed_rows),
        "peak_gb": peak_gb(subject),
    }


def whole_run(subject: Subject, flop_per_s: float, share: float | None, sampled: int) -> Results:
    """Estimate the time for 5,000 texts: the FLOP of all prompts, from a sample of texts, at the measured speed.

    Tokenizing runs in parallel; if it takes longer, its time counts instead.
    """
    sample = texts(sampled, random.Random(2))
    flop = 0.0
    for questions in TEMPLATES:
        pairs = every_pair(sample, questions)
        flop += float(work_of(subject.judge, sample, questions, pairs).flop.sum())
    device_s = flop / len(sample) * IMAGES / flop_per_s
    tokenizing_s = prompts_about(IMAGES) * subject.tokenizing_s
    seconds = max(device_s, tokenizing_s)
    needed_s = None
    if share is not None:
        needed_s = share * seconds
    return {
        "all_s": seconds,
        "needed_s": needed_s,
        "needed_share": share,
        "device_s": device_s,
        "tokenizing_s": tokenizing_s,
    }


# THRONE's whole cost


def timed_run(judge: LanguageModelJudge, number: int) -> Results:
    """Measure how long all of THRONE's questions about `number` texts take, tokenizing included."""
    chosen = texts(number, random.Random(4))
    began = time.perf_counter()
    prompts = 0
    for questions in TEMPLATES:
        for rows, *_ in judge.answer(chosen, questions, every_pair(chosen, questions)):
            prompts += len(rows)
    wait_for(judge.device)
    return {"texts": number, "prompts": prompts, "seconds": time.perf_counter() - began}


def add_up(bench: Bench) -> None:
    """Add up what the three judges of THRONE took for all questions about the timed texts, and for the needed ones."""
    name = f"THRONE with its three judges: {bench.sizes.timed} texts"
    shares = bench.results.get("needed", {})
    prompts = 0
    all_s = 0.0
    needed_s = 0.0
    for judge in names_of(is_chat=False):
        part = part_of(judge, timed(bench.sizes))
        if part not in bench.results or judge not in shares:
            bench.leave_out(name, f"needs the parts 'needed' and {part!r}")
            return
        run = bench.results[part]
        prompts += run["prompts"]
        all_s += run["seconds"]
        needed_s += shares[judge] * run["seconds"]
    bench.keep(name, {"prompts": prompts, "all_s": all_s, "needed_s": needed_s})


def names_of(is_chat: bool) -> list[str]:
    """Return the models that vote together: the three FLAN-T5, or the chat model alone."""
    return [shape.name for shape in FULL if shape.chat == is_chat]


def prompts_about(number: int) -> int:
    """Return how many prompts all of THRONE's questions about `number` texts are."""
    return number * len(COCO.classes) * len(TEMPLATES)


class CountingVoter:
    """The lexical judge in place of a model; it counts its questions."""

    stored = False

    def __init__(self, key: str) -> None:
        self.key = key
        self.questions = 0
        self._lexical = LexicalJudge(COCO)

    def answer(self, texts: Sequence[str], questions: Sequence[Question], pairs: Pairs) -> Iterator[Answered]:
        self.questions += len(pairs)
        yield from self._lexical.answer(texts, questions, pairs)

    def close(self) -> None: ...


def needed(number: int) -> Results:
    """Estimate the share of all questions that ask="needed" asks each judge, with lexical judges in place of models.

    A text names 2 to 9 classes; 7 of 10 are in the image, which also shows one other class. The three FLAN-T5 vote
    together, and must be unanimous; the chat model votes alone.
    """
    rng = random.Random(3)
    named = [rng.sample(COCO.classes, rng.randint(2, 9)) for _ in range(number)]
    described = [describe(classes, rng) for classes in named]
    in_images = []
    for classes in named:
        right = classes[: 1 + 7 * len(classes) // 10]
        in_images.append(right + [rng.choice(COCO.classes)])
    present = COCO.presence(in_images)
    shares: Results = {}
    for is_chat in (False, True):
        voters = [CountingVoter(name) for name in names_of(is_chat)]
        judges = [as_voter(voter) for voter in voters]
        collect_votes(judges, TEMPLATES, described, present, k=len(judges) * len(TEMPLATES))
        for voter in voters:
            shares[voter.key] = voter.questions / prompts_about(number)
    return shares


# The device


def clock(subject: Subject) -> float:
    """Return the time in seconds, once the device has finished its work."""
    wait_for(subject.judge.device)
    return time.perf_counter()


def wait_for(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def forget_peak(subject: Subject) -> None:
    """Start measuring peak memory here."""
    if subject.on_cuda:
        torch.cuda.reset_peak_memory_stats(subject.judge.device)


def peak_gb(subject: Subject) -> float | None:
    """Return the peak memory since `forget_peak`, in GB; None on a CPU."""
    if not subject.on_cuda:
        return None
    return float(torch.cuda.max_memory_allocated(subject.judge.device) / 1e9)
