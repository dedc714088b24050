"""perf/gpu.py on a CPU, with tiny shapes: its logic, not its measurements. CUDA parts are left out or faked."""

import contextlib
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

PERF = str(Path(__file__).parents[2] / "perf")


@pytest.fixture(scope="module")
def gpu():
    """gpu.py; its other files are its `gpu_judges` and `gpu_changes`."""
    before = list(sys.path)
    sys.path.insert(0, PERF)
    import gpu

    yield gpu
    sys.path[:] = before


@pytest.fixture(scope="module")
def subject(gpu, tmp_path_factory, one_thread):
    bench = bench_in(gpu, tmp_path_factory.mktemp("made"), gpu.ON_A_CPU)
    return gpu.gpu_judges.make_subject(bench, gpu.gpu_judges.TINY[0])


def bench_in(gpu, folder, sizes):
    """Ten seconds on a CPU."""
    return gpu.Bench(sizes, "cpu", folder, folder / "gpu.json", time.monotonic() + 10)


@pytest.mark.long
def test_all_parts_run_on_a_cpu(gpu, tmp_path, capsys, one_thread):
    """In float32 every vote is equal to that of `generate`, and enough say yes and no for that to mean something."""
    options = ["--device", "cpu", "--out", str(tmp_path / "gpu.json")]
    bench = gpu.main(options)
    assert set(bench.left_out) == {"out of memory", "CUDA graphs per length", "several GPUs through Ray"}
    models = [shape.name for shape in gpu.gpu_judges.FULL]
    for model in models:
        equal = bench.results[f"{model}: equal"]
        assert equal["compared"] > gpu.gpu_judges.BATCH
        assert equal["differ"] == equal["unreadable"] == 0
        assert equal["balanced"]
        assert equal["median_lead"] > 100 * equal["usual_difference_of_leads"]
        speed = bench.results[f"{model}: ours"]
        assert 0 < speed["prompts"] < 80 * 6
        assert speed["flop_per_s"] > 0
        assert bench.results[f"{model}: 5,000 texts"]["needed_s"] > 0
    throne = bench.results["THRONE with its three judges: 1 texts"]
    assert throne["prompts"] == 3 * 240
    assert throne["all_s"] == sum(
        bench.results[f"{model}: 1 texts, timed"]["seconds"] for model in models[:3]
    )
    for name in ("torch.compile of layers (eager)", "chat: padded or equal lengths"):
        assert bench.results[name]["differ"] == 0
        assert bench.results[name]["ratio"] > 0
    content = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert content == {"found": bench.results, "left_out": bench.left_out}
    table = (tmp_path / "gpu.txt").read_text(encoding="utf-8")
    assert all(f"{model}  " in table for model in models)
    assert "left out: out of memory: needs CUDA" in table
    assert capsys.readouterr().out.endswith(table)
    again = gpu.main(options)  # all parts are there: no judge is made
    assert again.results == bench.results
    assert "made ..." not in capsys.readouterr().out


def test_a_part_without_time_and_one_that_fails_cost_no_other(gpu, tmp_path):
    bench = bench_in(gpu, tmp_path, gpu.ON_A_GPU)
    assert bench.part("long", 11, lambda: {"seconds": 1}) == {}
    assert bench.part("broken", 0, lambda: {"seconds": 1 / 0}) == {}
    assert bench.part("whole", 5, lambda: {"seconds": 1}) == {"seconds": 1}
    assert "it takes about 11" in bench.left_out["long"] and "ZeroDivisionError" in bench.left_out["broken"]
    assert json.loads(bench.path.read_text(encoding="utf-8"))["found"] == {"whole": {"seconds": 1}}


def test_a_run_goes_on_where_the_last_one_stopped(gpu, tmp_path):
    first = bench_in(gpu, tmp_path, gpu.ON_A_GPU)
    first.go_on({"card": "NVIDIA H100"})
    first.part("whole", 5, lambda: {"seconds": 1})
    first.part("long", 11, lambda: {"seconds": 1})
    second = bench_in(gpu, tmp_path, gpu.ON_A_GPU)
    second.go_on({"card": "NVIDIA H100"})
    assert second.part("whole", 5, lambda: {"seconds": 2}) == {"seconds": 1}
    assert second.part("long", 9, lambda: {"seconds": 2}) == {"seconds": 2}
    assert not second.left_out
    other = bench_in(gpu, tmp_path, gpu.ON_A_GPU)
    other.go_on({"card": "NVIDIA H200"})
    assert other.part("whole", 5, lambda: {"seconds": 3}) == {"seconds": 3}
    aside = json.loads((tmp_path / "gpu.old.json").read_text(encoding="utf-8"))
    assert aside["found"] == second.results


def test_differences_are_explained_by_leads(gpu):
    """200 prompts whose leads differ by 0.01; three votes differ, two of them where a lead is less than that."""
    plain_leads = np.where(np.arange(200) % 2, 1.0, -1.0)
    plain_leads[:2] = 0.004
    leads = plain_leads - 0.01
    codes = (leads > 0).astype(int)
    codes[3] = 0
    ours = gpu.gpu_judges.Votes(codes, leads)
    plain = gpu.gpu_judges.Votes((plain_leads > 0).astype(int), plain_leads)
    results = gpu.gpu_judges.compared(ours, plain)
    assert (results["differ"], results["explained"], results["compared"]) == (3, 2, 200)
    assert results["usual_difference_of_leads"] == pytest.approx(0.01)
    assert results["differing_leads"][0] == pytest.approx((-0.006, 0.004))


@pytest.mark.parametrize(
    ("card", "tflops"),
    [
        ("NVIDIA H200", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA L40S", 362),
        ("NVIDIA L40", None),
        ("NVIDIA A10G", None),
        ("", None),
    ],
)
def test_a_card_is_found_in_the_datasheets(gpu, card, tflops):
    assert gpu.datasheet(card) == (None if tflops is None else tflops * 1e12)


def test_a_full_memory_is_provoked(gpu, subject, monkeypatch):
    """The card's own calls are faked; a batch of more than 600 tokens does not fit."""
    shares = []
    begin = subject.judge._voting.begin

    def begin_in_little_memory(ids):
        if ids.numel() > 600 and len(shares) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return begin(ids)

    monkeypatch.setattr(subject.judge._voting, "begin", begin_in_little_memory)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=1000))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 90)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda share, _: shares.append(share))
    budget = subject.judge.batch_tokens
    results = gpu.gpu_changes.out_of_memory(subject, gpu.ON_A_CPU)
    assert shares == [0.1, 1.0]
    assert subject.judge.batch_tokens == budget
    assert results["differ"] == 0
    assert results["batch_tokens"] < 1 << 24


def test_graphs_are_timed_and_equal(gpu, subject, monkeypatch):
    """A graph whose replay does nothing, captured by running what it would hold."""
    graph = SimpleNamespace(replay=lambda: None, pool=lambda: "pool")
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: contextlib.nullcontext())
    results = gpu.gpu_changes.graphs(subject, gpu.ON_A_CPU)
    by_length = results["length: prompts, ratio, seconds to capture, equal"]
    assert len(by_length) == gpu.ON_A_CPU.graphs
    assert results["ratio"] > 1
    assert all(is_equal for *_, is_equal in by_length.values())


@pytest.mark.long
def test_several_workers(gpu, tmp_path, one_thread, monkeypatch):
    """On a GPU machine each worker takes a GPU; here there are two processes."""
    import ray

    monkeypatch.setattr("halluscope.judging.models.ray_pool.SHARE", 16)
    sizes = gpu.ON_A_CPU
    try:
        results = gpu.gpu_changes.fleet(bench_in(gpu, tmp_path, sizes), 2)
    finally:
        ray.shutdown()
    assert results["answered"] == 2 * sizes.texts * sizes.questions
    assert results["prompts_per_s"] > 0


def test_without_transformers_the_card_is_measured(tmp_path):
    """In a process where transformers cannot be imported; nothing else that this machine lacks is needed."""
    import subprocess

    blocked = (
        "import runpy, sys\n"
        "lacking = {'transformers', 'datasets', 'evaluate', 'pooch', 'pycocotools', 'ray', 'tabulate'}\n"
        "class Lacking:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in lacking:\n"
        "            raise ImportError(f'No module named {name}')\n"
        "sys.meta_path.insert(0, Lacking())\n"
        f"sys.argv = ['gpu.py', '--device', 'cpu', '--out', {str(tmp_path / 'gpu.json')!r}]\n"
        f"runpy.run_path({PERF + '/gpu.py'!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert written["found"]["peak"]["measured"] > 0
    assert "models need transformers" in written["left_out"]["models"] and "does not install" in done.stdout
