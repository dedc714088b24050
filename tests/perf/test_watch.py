"""perf/watch.py: a ratio below its floor fails, and the table is the file's."""

import sys
import tomllib
from pathlib import Path

import pytest

PERF = Path(__file__).parents[2] / "perf"

BENCH = """
from timing import record, size
record("counting", 1.0, size(3.0, 2.0), "a loop", 0.25)
"""


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """The module, with a bench and results of its own."""
    monkeypatch.syspath_prepend(str(PERF))
    import watch as module

    for name in ("watch.py", "timing.py"):
        (tmp_path / name).write_text((PERF / name).read_text())
    (tmp_path / "bench_one.py").write_text(BENCH)
    (tmp_path / "README.md").write_text(f"Ratios\n{module.BEGIN}\nold\n{module.END}\nrest\n")
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "QUICK_SCRIPTS", ("bench_one",))
    for name, file in (("RESULTS", "results.toml"), ("README", "README.md")):
        monkeypatch.setattr(module, name, tmp_path / file)
    yield module
    for name in ("watch", "timing"):
        sys.modules.pop(name, None)


def run(watch, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["watch.py", *options])
    return watch.main()


def test_a_ratio_below_its_floor_fails(watch, monkeypatch, tmp_path, capfd):
    assert run(watch, monkeypatch, "--write") == 0
    expected = {"ratio": 3.0, "floor": 1.5, "baseline": "a loop", "seconds": 1.0, "memory": 0.25}
    assert tomllib.loads((tmp_path / "results.toml").read_text()) == {"bench_one": {"counting": expected}}
    assert run(watch, monkeypatch, "--quick") == 0  # 2 is above 1.5
    (tmp_path / "results.toml").write_text(
        (tmp_path / "results.toml").read_text().replace("floor = 1.5", "floor = 2.5")
    )
    assert run(watch, monkeypatch) == 0
    capfd.readouterr()
    assert run(watch, monkeypatch, "--quick") == 1
    assert "bench_one, counting: 2.00 times as fast; the floor is 2.5" in capfd.readouterr().out


def test_the_table_is_written_from_the_ratios(watch, monkeypatch, tmp_path):
    assert run(watch, monkeypatch, "--write") == 0
    text = (tmp_path / "README.md").read_text()
    assert "| bench_one | counting | a loop | 3.00 | 1.5 | 1.00 | 0.25 |" in text
    assert text.startswith("Ratios\n") and text.endswith("rest\n") and "old" not in text


def test_a_script_that_fails(watch, monkeypatch, tmp_path, capfd):
    (tmp_path / "bench_one.py").write_text("raise SystemExit(3)")
    assert run(watch, monkeypatch) == 1
    assert "bench_one failed with status 3" in capfd.readouterr().out


def test_what_is_committed_fits_together(watch):
    """README's table is that of results.toml."""
    watch.RESULTS.write_text((PERF / "results.toml").read_text())
    known = watch.read()
    text = (PERF / "README.md").read_text()
    assert watch.with_table(text, known) == text
    assert {script for script, _ in known} <= {file.stem for file in PERF.glob("bench_*.py")}
