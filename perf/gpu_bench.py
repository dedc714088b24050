"""The parts of a run of gpu.py, their results, and the table of them.

Each part runs if enough time is left. Its results and the table are written at once, and a later run on the same
machine takes them from the file.
"""

import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IMAGES = 5_000
MODELS = ("flan-t5-base", "flan-t5-large", "flan-t5-xl", "chat-1b")

Results = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    are_full: bool  # whether the models have their real shapes
    texts: int  # to ask about, of medium length among `IMAGES`: as many as one pool of a run holds
    chat_texts: int  # the same for a chat model, whose batches hold one text each
    questions: int  # the classes to ask about
    compared: int  # the prompts that also go through the plain loop
    seconds: float  # how long to measure each speed; at least one batch is measured
    matrix: int  # side of the matrices whose product gives the peak
    graphs: int  # the shapes of batches to capture
    sampled: int  # the texts from which the work of a whole run is extrapolated
    needed: int  # the texts for which the share of ask="needed" is estimated
    timed: int  # the texts about which all of THRONE's questions are asked and timed


ON_A_GPU = Sizes(
    are_full=True,
    texts=819,
    chat_texts=205,
    questions=80,
    compared=2_048,
    seconds=10.0,
    matrix=8_192,
    graphs=24,
    sampled=40,
    needed=200,
    timed=500,
)
ON_A_CPU = Sizes(
    are_full=False,
    texts=6,
    chat_texts=6,
    questions=16,
    compared=96,
    seconds=0.05,
    matrix=256,
    graphs=4,
    sampled=2,
    needed=10,
    timed=1,
)


@dataclass
class Bench:
    """The settings and the results of a run."""

    sizes: Sizes
    device: str
    folder: Path  # for the models' tokenizers
    path: Path  # the JSON file of the results; the table stands beside it, as .txt
    ends: float  # when the time is up, by `time.monotonic`
    results: dict[str, Results] = field(default_factory=dict)  # by part
    left_out: dict[str, str] = field(default_factory=dict)  # why a part did not run

    @property
    def on_cuda(self) -> bool:
        return self.device.startswith("cuda")

    @property
    def precision(self) -> str:
        """The precision that the models compute in, as our judges choose it."""
        if self.on_cuda:
            return "bfloat16"
        return "float32"

    def go_on(self, machine: Results) -> None:
        """Take the results of an earlier run on this machine from the file; another machine's file is moved aside."""
        if self.path.exists():
            earlier = self._earlier()
            if earlier.get("machine") == machine:
                self.results = earlier
                print(f"{self.path} holds {len(earlier)} parts, which do not run again", flush=True)
            else:
                aside = self.path.with_suffix(".old.json")
                self.path.replace(aside)
                print(f"{self.path} is not of this machine with these sizes: moved to {aside}", flush=True)
        self.results["machine"] = machine
        self.write()

    def _earlier(self) -> dict[str, Results]:
        try:
            results: dict[str, Results] = json.loads(self.path.read_text(encoding="utf-8"))["found"]
        except (ValueError, KeyError, TypeError):  # any other file
            return {}
        return results

    def part(self, name: str, needs: float, run: Callable[[], Results]) -> Results:
        """Return a part's results, empty if there are none. It is run if it has not run yet; see `attempt`."""
        if name not in self.results:
            results = self.attempt(name, needs, run)
            if results is not None:
                self.keep(name, results)
        return self.results.get(name, {})

    def attempt(self, name: str, needs: float, run: Callable[[], Any]) -> Any:
        """Return what a part returns; None if it fails, or if the seconds that it `needs` on a GPU are not left."""
        print(f"{name} ...", flush=True)
        left = self.ends - time.monotonic()
        if not self.sizes.are_full:
            needs = 0
        if left < needs:
            self.leave_out(name, f"{left:.0f} s were left, and it takes about {needs:.0f}")
            return None
        began = time.monotonic()
        try:
            value = run()
        except Exception as error:
            traceback.print_exc()
            self.leave_out(name, f"failed with {type(error).__name__}: {str(error)[:300]}")
            return None
        print(f"    {time.monotonic() - began:.1f} s", flush=True)
        return value

    def keep(self, name: str, results: Results) -> None:
        """Note a part's results."""
        self.results[name] = results
        self.left_out.pop(name, None)
        print(f"    {json.dumps(results, default=str)[:400]}", flush=True)
        self.write()

    def leave_out(self, name: str, why: str) -> None:
        """Note that a part did not run."""
        self.left_out[name] = why
        print(f"    left out: {why}", flush=True)
        self.write()

    def write(self) -> None:
        """Write the results so far, as JSON and as a table."""
        content = {"found": self.results, "left_out": self.left_out}
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
        unfinished.replace(self.path)  # whoever ends the run here leaves a whole file
        self.path.with_suffix(".txt").write_text(table(self) + "\n", encoding="utf-8")


def part_of(model: str, part: str) -> str:
    """Return the name of a model's part."""
    return f"{model}: {part}"


WHOLE = f"{IMAGES:,} texts"


def timed(sizes: Sizes) -> str:
    """Return the name of the part that asks all of THRONE's questions."""
    return f"{sizes.timed} texts, timed"


# The table

HEADER = (
    "model",
    "yes",
    "differ",
    "explained",
    "prompts/s",
    "TFLOP/s",
    "of peak",
    "of measured",
    "tokens/s",
    "generate",
    "times",
    "GB",
    "generate GB",
    f"{IMAGES:,}: all",
    "needed",
)


def table(bench: Bench) -> str:
    """Return the results of each model, and then of each other part, as text."""
    machine = bench.results.get("machine", {})
    card = machine.get("card", "CPU (tiny shapes: the numbers mean nothing)")
    lines = [f"{card}, torch {machine.get('torch')}"]
    lines += aligned([HEADER] + [row(bench.results, model) for model in MODELS])
    lines.append("")
    for name, results in bench.results.items():
        if name.partition(":")[0] not in MODELS:
            lines.append(f"{name}: {brief(results)}")
    for name, why in bench.left_out.items():
        lines.append(f"left out: {name}: {why}")
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line per row, with each column as wide as its widest cell."""
    widths = [0] * len(rows[0])
    for cells in rows:
        for column, cell in enumerate(cells):
            widths[column] = max(widths[column], len(cell))
    lines = []
    for cells in rows:
        lines.append("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
    return lines


def row(results: dict[str, Results], model: str) -> list[str]:
    """Return a model's line of the table."""
    equal = results.get(part_of(model, "equal"), {})
    speed = results.get(part_of(model, "ours"), {})
    whole = results.get(part_of(model, WHOLE), {})
    peak = results.get("peak", {})
    flop = speed.get("flop_per_s")
    rate = speed.get("prompts_per_s")
    return [
        model,
        number(equal.get("yes"), ".0%"),
        number(equal.get("differ")) + "/" + number(equal.get("compared")),
        number(equal.get("explained")),
        number(rate),
        number(ratio(flop, 1e12), ".1f"),
        number(ratio(flop, peak.get("datasheet")), ".0%"),
        number(ratio(flop, peak.get("measured")), ".0%"),
        number(speed.get("tokens_per_s")),
        number(equal.get("plain_tokens_per_s")),
        number(ratio(rate, equal.get("plain_prompts_per_s")), ".1f"),
        number(speed.get("peak_gb"), ".1f"),
        number(equal.get("plain_peak_gb"), ".1f"),
        number(whole.get("all_s")) + " s",
        number(whole.get("needed_s")) + " s",
    ]


def ratio(value: float | None, base: float | None) -> float | None:
    """Return value / base, or None if one of them is missing."""
    if not value or not base:
        return None
    return value / base


def number(value: float | None, form: str = ",.0f") -> str:
    """Return a number as text, or a dash if it is missing."""
    if value is None:
        return "-"
    return format(value, form)


def brief(results: Results) -> str:
    """Return results on one line."""
    cells = []
    for name, value in results.items():
        shown = value
        if isinstance(value, float):
            shown = f"{value:.3g}"
        cells.append(f"{name} {shown}")
    return ", ".join(cells)[:300]
