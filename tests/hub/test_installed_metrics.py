"""`halluscope install-metrics`: the bare names, in evaluate's real module cache, in fresh processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluate import config

from halluscope import __version__
from halluscope.benchmarks.pope import metric as pope
from halluscope.benchmarks.throne import metric as throne
from halluscope.cli import main
from halluscope.hub import contents, installed
from halluscope.paths import share
from tests.files.disk import content, full

TEXTS, OBJECTS = ["A dog.", "No cat here."], [["dog"], ["cat"]]
REPLIES, ANSWERS = ["Yes.", "no"], ["yes", "yes"]

LOAD = """
import evaluate, json, sys
texts, objects, replies, answers = json.loads(sys.argv[1])
throne, pope = evaluate.load("throne"), evaluate.load("pope")
print(json.dumps([throne.compute(predictions=texts, references=objects, judges="lexical"),
                  pope.compute(predictions=replies, references=answers)]))
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty module cache of evaluate's."""
    monkeypatch.setattr(config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("evaluate.loading.config.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))  # evaluate adds the cache to it
    return tmp_path / "modules"


def load(environment: dict[str, str], folder: Path) -> list[dict[str, object]]:
    """Score with the bare names in another process."""
    folder.mkdir(exist_ok=True)
    process = subprocess.run(
        [sys.executable, "-c", LOAD, json.dumps([TEXTS, OBJECTS, REPLIES, ANSWERS])],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.long
def test_the_bare_name_with_and_without_a_network(hub, modules, tmp_path):
    assert main(["install-metrics"]) == 0
    expected = [
        throne.compute(TEXTS, OBJECTS, judges="lexical"),
        pope.compute(REPLIES, ANSWERS),
    ]
    at = {"HF_MODULES_CACHE": str(modules)}
    with_network = hub.environment(tmp_path / "home", **at)
    assert load(with_network, tmp_path / "elsewhere") == expected
    assert any(
        "evaluate-metric/throne" in request for request in hub.requests
    )  # the Hub was asked, and has none
    asked = len(hub.requests)
    without = with_network | {"HF_EVALUATE_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    assert load(without, tmp_path / "elsewhere") == expected
    assert len(hub.requests) == asked


def test_listed_installed_upgraded_removed(modules, capsys, monkeypatch):
    names = contents.metrics()
    assert main(["install-metrics", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == [f"{name}: not installed" for name in names]
    assert not modules.exists()  # looking makes nothing

    monkeypatch.setattr(installed, "__version__", "0.0.9")
    main(["install-metrics"])
    capsys.readouterr()
    monkeypatch.setattr(installed, "__version__", __version__)
    main(["install-metrics", "--list"])
    old = "halluscope 0.0.9, not this version; run halluscope install-metrics again"
    assert capsys.readouterr().out.splitlines()[:-1] == [f"{name}: {old}" for name in names]

    for _ in range(2):  # again changes nothing
        main(["install-metrics"])
        said = capsys.readouterr().out.splitlines()
        expected = [f"{name}: halluscope {__version__}, this version" for name in names]
        assert said == [*expected, f"in {installed.cache()}"]
    for name in names:
        home = modules / "evaluate_modules" / "metrics" / f"evaluate-metric--{name}"
        (copy,) = [folder for folder in home.iterdir() if folder.is_dir()]  # the old one is gone
        assert len(copy.name) == 64
        assert (copy / f"{name}.py").read_bytes() == share("metrics", name, f"{name}.py").read_bytes()
        for package in (copy, home, home.parent, home.parent.parent, modules):
            assert (package / "__init__.py").is_file()

    main(["install-metrics", "--remove"])
    assert capsys.readouterr().out == f"removed: {', '.join(names)}\n"
    assert not list(installed.cache().glob("evaluate-metric--*"))
    main(["install-metrics", "--remove"])
    assert capsys.readouterr().out == "removed: nothing was installed\n"


def test_a_module_of_somebody_else_stays(modules, capsys):
    home = modules / "evaluate_modules" / "metrics" / "evaluate-metric--pope"
    theirs = home / ("a" * 64)
    theirs.mkdir(parents=True)
    (theirs / "pope.py").write_text("theirs")
    late = 4_000_000_000  # from a computer whose clock is ahead
    os.utime(theirs / "pope.py", (late, late))
    main(["install-metrics", "--list"])
    assert f"pope: another module, not from halluscope ({theirs})" in capsys.readouterr().out
    main(["install-metrics"])
    assert f"pope: halluscope {__version__}, this version" in capsys.readouterr().out
    main(["install-metrics", "--remove"])
    assert [folder for folder in home.iterdir() if folder.is_dir()] == [theirs]
    assert (theirs / "pope.py").read_text() == "theirs"


def test_an_install_that_fails_leaves_nothing_half(modules, capsys, monkeypatch):
    monkeypatch.setattr(installed, "__version__", "0.0.9")
    main(["install-metrics"])
    monkeypatch.setattr(installed, "__version__", __version__)
    before = {name: held[2] for name, held in content(modules).items()}
    with full(at=100):
        assert main(["install-metrics"]) == 2
    assert {name: held[2] for name, held in content(modules).items()} == before


@pytest.mark.parametrize("version", ["0.0.9", __version__])
def test_a_copy_that_somebody_changed_stays(version, modules, capsys, monkeypatch):
    monkeypatch.setattr(installed, "__version__", version)
    main(["install-metrics"])
    monkeypatch.setattr(installed, "__version__", __version__)
    (copy,) = installed.cache().glob(f"evaluate-metric--pope/{'?' * 64}")
    (copy / "pope.py").write_text("theirs")
    (more,) = installed.cache().glob(f"evaluate-metric--throne/{'?' * 64}")
    (more / "notes.txt").write_text("theirs")
    held = content(copy)["pope.py"], content(more)["notes.txt"]
    assert main(["install-metrics"]) == (2 if version == __version__ else 0)
    said = capsys.readouterr().err
    assert version != __version__ or f"{copy} is no longer what halluscope put there; remove it" in said
    main(["install-metrics", "--remove"])
    assert (content(copy)["pope.py"], content(more)["notes.txt"]) == held
    assert "pope" not in capsys.readouterr().out or version != __version__


def test_a_copy_that_cannot_be_moved_in_leaves_the_one_that_is_there(modules, capsys, monkeypatch):
    version = "0.0.9"
    monkeypatch.setattr(installed, "__version__", version)
    main(["install-metrics"])
    monkeypatch.setattr(installed, "__version__", __version__)

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    for name in ("rename", "replace"):
        monkeypatch.setattr(f"halluscope.hub.installed.Path.{name}", full_disk)
    assert main(["install-metrics"]) == 2
    capsys.readouterr()
    main(["install-metrics", "--list"])
    said = capsys.readouterr().out.splitlines()[:-1]
    assert [line.partition(",")[0] for line in said] == [
        f"{n}: halluscope {version}" for n in contents.metrics()
    ]
