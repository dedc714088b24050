"""Measures our judges on a GPU: one command, offline, in under 8 minutes, with the installed torch and transformers.

    python perf/gpu.py [--device cuda] [--minutes 7.5] [--out gpu.json] [--tiny]

Models of FLAN-T5's three shapes and a chat model of about a billion parameters are made on the device with random
weights (made_models.py). Each is asked through our judges and through a plain `generate` loop in batches of 32 with
padding, to compare votes, tokens per second, share of the card's peak, and memory; then it is asked all of THRONE's
questions about 500 texts, for THRONE's whole cost on this card (gpu_judges.py). Then possible improvements are compared
with the present code: preparing in the background, padding, compiling, graphs, several GPUs. A last test runs out of
memory (gpu_changes.py).

A part starts only if enough time is left; a part that fails or is left out is named, and the other parts keep their
results. After each part gpu.json holds all results, and gpu.txt the table. Run again with the same file, the script
takes up the parts that are not in it; to measure all anew, name another file.

The script needs only torch and transformers, with what they install (numpy, tokenizers, huggingface_hub, tqdm), and ray
for several GPUs. Without transformers it measures only the card's own peak.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

try:
    import numpy  # noqa: F401 (the models' files need it)
    import torch

    from gpu_bench import ON_A_CPU, ON_A_GPU, Bench, Results
except ImportError as error:
    sys.exit(f"perf/gpu.py needs torch, numpy, tqdm and huggingface_hub, and installs nothing: {error}.")

try:
    import transformers

    import gpu_changes
    import gpu_judges

    TRANSFORMERS = transformers.__version__
    WITHOUT_MODELS = ""
except ImportError as error:  # the card itself can still be measured
    TRANSFORMERS = None
    WITHOUT_MODELS = (
        f"models need transformers and its tokenizers, which this script does not install: {error}"
    )

# Part of a card's name -> dense bfloat16 TFLOP/s in the maker's datasheet; the first match counts
PEAKS = {
    "B200": 2250,
    "GH200": 989,
    "H200": 989,
    "H100 PCIe": 756,
    "H100 NVL": 835,
    "H100": 989,
    "A100": 312,
    "L40S": 362,
    "L4": 121,
    "A10": 125,
}
WARM_UP = 3
PRODUCTS = 10


def main(arguments: Sequence[str] | None = None) -> Bench:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = "cpu"
    if torch.cuda.is_available():
        default = "cuda"
    parser.add_argument("--device", default=default)
    parser.add_argument("--minutes", type=float, default=7.5, help="time limit for the whole run")
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the JSON file")
    parser.add_argument("--tiny", action="store_true", help="small shapes; always so on a CPU")
    options = parser.parse_args(arguments)
    device = options.device
    if device == "cuda":
        device = f"cuda:{torch.cuda.current_device()}"
    sizes = ON_A_CPU
    if device.startswith("cuda") and not options.tiny:
        sizes = ON_A_GPU
    ends = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sizes, device, Path(folder), options.out, ends)
        measure(bench)
    print(bench.path.with_suffix(".txt").read_text(encoding="utf-8"), end="")
    return bench


def measure(bench: Bench) -> None:
    """Run all parts, the most valuable first."""
    bench.go_on(machine(bench))
    bench.part("peak", 10, lambda: peak(bench))
    if WITHOUT_MODELS:
        bench.leave_out("models", WITHOUT_MODELS)
        return
    gpu_judges.measure(bench)
    gpu_changes.measure(bench)


def machine(bench: Bench) -> Results:
    """Describe the machine, and say what is missing."""
    results: Results = {
        "torch": torch.__version__,
        "device": bench.device,
        "transformers": TRANSFORMERS or WITHOUT_MODELS,
        "full shapes": bench.sizes.are_full,
    }
    if bench.on_cuda:
        device = torch.device(bench.device)
        card = torch.cuda.get_device_properties(device)
        results["card"] = card.name
        results["gb"] = card.total_memory / 1e9
        results["gpus"] = torch.cuda.device_count()
        results["compute_capability"] = list(torch.cuda.get_device_capability(device))
    return results


def peak(bench: Bench) -> Results:
    """Measure FLOP per second of a large matrix product on random data: the mean of ten runs after a warm-up."""
    size = bench.sizes.matrix
    dtype = getattr(torch, bench.precision)
    left = torch.randn(size, size, device=bench.device, dtype=dtype)
    right = torch.randn(size, size, device=bench.device, dtype=dtype)
    for _ in range(WARM_UP):
        left @ right
    wait_for(bench)
    began = time.perf_counter()
    for _ in range(PRODUCTS):
        left @ right
    wait_for(bench)
    measured = PRODUCTS * 2 * size**3 / (time.perf_counter() - began)
    card = ""
    if bench.on_cuda:
        card = torch.cuda.get_device_name(torch.device(bench.device))
    return {"measured": measured, "datasheet": datasheet(card)}


def wait_for(bench: Bench) -> None:
    if bench.on_cuda:
        torch.cuda.synchronize(bench.device)


def datasheet(card: str) -> float | None:
    """Return the card's dense bfloat16 peak in FLOP per second, or None if the card is not in the table."""
    for name, teraflops in PEAKS.items():
        if re.search(rf"\b{name}\b", card):
            return 1e12 * teraflops
    return None


if __name__ == "__main__":
    main()
