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
    before = list(sys.path)
    sys.path.insert(0, PERF)
    import gpu

    yield gpu
    sys.path[:] = before


@pytest.fixture(scope="module")
def asked(gpu, tmp_path_factory, one_thread):
    found = []
    gpu.made_for(bench_in(gpu, tmp_path_factory.mktemp("made")), gpu.TINY[0], found)
    return found[0]


def bench_in(gpu, folder, sizes=None):
    """Ten seconds on a CPU."""
    return gpu.Bench(sizes or gpu.ON_A_CPU, "cpu", folder, folder / "gpu.json", time.monotonic() + 10)


@pytest.mark.long
def test_all_parts(gpu, tmp_path, capsys, one_thread):
    """In float32 every vote is equal to that of `generate`, and enough say yes and no for that to mean something."""
    bench = gpu.main(["--device", "cpu", "--out", str(tmp_path / "gpu.json")])
    assert {*bench.left_out} == {"out of memory", "CUDA graphs per length", "several GPUs through Ray"}
    for made in gpu.FULL:
        found = bench.found[f"{made.name}: equal"]
        assert found["compared"] > gpu.BATCH and found["differ"] == found["unreadable"] == 0
        assert found["balanced"] and found["median_lead"] > 100 * found["usual_difference_of_leads"]
        speed = bench.found[f"{made.name}: ours"]
        assert 0 < speed["prompts"] < len(gpu.COCO.classes) * 6 and speed["flop_per_s"] > 0
        assert bench.found[f"{made.name}: 5,000 texts"]["needed_s"] > 0
    for name in (
        "torch.compile of layers (eager)",
        "chat: padded or equal lengths",
    ):
        assert bench.found[name]["differ"] == 0 and bench.found[name]["ratio"] > 0
    written = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert written["left_out"] == bench.left_out and written["found"].keys() == bench.found.keys()
    out = capsys.readouterr().out
    assert all(f"{made.name}  " in out for made in gpu.FULL)
    assert "left out: out of memory: needs CUDA" in out


def test_a_part_without_time_and_one_that_fails_cost_no_other(gpu, tmp_path):
    bench = bench_in(gpu, tmp_path, gpu.ON_A_GPU)
    assert bench.part("long", 11, lambda: 1) is None
    assert bench.part("broken", 0, lambda: 1 / 0) is None
    assert bench.part("whole", 5, lambda: {"one": 1}) == {"one": 1}
    assert "it takes about 11" in bench.left_out["long"] and "ZeroDivisionError" in bench.left_out["broken"]
    assert json.loads(bench.path.read_text(encoding="utf-8"))["found"] == {"whole": {"one": 1}}


def test_differences_are_explained_by_leads(gpu):
    """200 prompts whose leads differ by 0.01; three votes differ, two of them where a lead is less than that."""
    plain_leads = np.where(np.arange(200) % 2, 1.0, -1.0)
    plain_leads[:2] = 0.004
    leads = plain_leads - 0.01
    plain_codes, codes = (plain_leads > 0).astype(int), (leads > 0).astype(int)
    codes[3] = 0
    found = gpu.compared(codes, leads, plain_codes, plain_leads)
    assert (found["differ"], found["explained"], found["compared"]) == (3, 2, 200)
    assert found["usual_difference_of_leads"] == pytest.approx(0.01)
    assert found["differing_leads"][0] == pytest.approx((-0.006, 0.004))


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
def test_peaks(gpu, card, tflops):
    assert gpu.datasheet(card) == (None if tflops is None else tflops * 1e12)


def test_a_full_memory_is_provoked(gpu, asked, monkeypatch):
    """The card's own calls are faked; a batch of more than 600 tokens does not fit."""
    shares, begin = [], asked.judge._voting.begin

    def small(ids):
        if ids.numel() > 600 and len(shares) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return begin(ids)

    monkeypatch.setattr(asked.judge._voting, "begin", small)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(total_memory=1000))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 90)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda share, _: shares.append(share))
    budget = asked.judge.batch_tokens
    found = gpu.out_of_memory(asked, gpu.ON_A_CPU)
    assert shares == [0.1, 1.0] and asked.judge.batch_tokens == budget
    assert found["differ"] == 0 and found["batch_tokens"] < 1 << 24


def test_graphs(gpu, asked, monkeypatch):
    """A graph whose replay does nothing, captured by running what it would hold."""
    graph = SimpleNamespace(replay=lambda: None, pool=lambda: "pool")
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: contextlib.nullcontext())
    found = gpu.graphs(asked, gpu.ON_A_CPU)
    shapes = found["length: prompts, ratio, seconds to capture, equal"]
    assert len(shapes) == gpu.ON_A_CPU.graphs and found["ratio"] > 1
    assert all(same for *_, same in shapes.values())


@pytest.mark.long
def test_several_workers(gpu, tmp_path, one_thread, monkeypatch):
    """On a GPU machine each worker takes a GPU; here there are two processes."""
    import ray

    monkeypatch.setattr("halluscope.judging.models.ray_pool.SHARE", 16)
    try:
        found = gpu.fleet(bench_in(gpu, tmp_path), 2)
    finally:
        ray.shutdown()
    assert found["answered"] == 2 * gpu.ON_A_CPU.pool * gpu.ON_A_CPU.questions and found["prompts_per_s"] > 0


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
