"""`halluscope install-metrics`: the bare names, in evaluate's real module cache, in fresh processes."""

import json
import os
import subprocess
import sys

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
OLD = "0.0.9"

LOAD = """
import evaluate, json, sys
texts, objects, replies, answers = json.loads(sys.argv[1])
throne, pope = evaluate.load("throne"), evaluate.load("pope")
print(json.dumps([throne.compute(predictions=texts, references=objects, judges="lexical"),
                  pope.compute(predictions=replies, references=answers)]))
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """An empty module cache of evaluate's."""
    monkeypatch.setattr(config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))  # evaluate adds the cache to it
    return tmp_path / "modules"


@pytest.fixture
def install(modules, capsys, monkeypatch):
    """Run `halluscope install-metrics`; return the lines that it prints."""

    def run(*words, version=__version__, ends=0):
        capsys.readouterr()
        with monkeypatch.context() as then:
            then.setattr(installed, "__version__", version)
            assert main(["install-metrics", *words]) == ends
        out, err = capsys.readouterr()
        return (out + err).splitlines()

    return run


def load(environment, folder):
    """Score with the bare names in another process."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", LOAD, json.dumps([TEXTS, OBJECTS, REPLIES, ANSWERS])]
    process = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.long
def test_the_bare_name_with_and_without_a_network(hub, modules, install, tmp_path):
    install()
    expected = [throne.compute(TEXTS, OBJECTS, judges="lexical"), pope.compute(REPLIES, ANSWERS)]
    with_network = hub.environment(tmp_path / "home", HF_MODULES_CACHE=str(modules))
    assert load(with_network, tmp_path / "elsewhere") == expected
    # The Hub was asked, and has none.
    assert any("evaluate-metric/throne" in request for request in hub.requests)
    asked = len(hub.requests)
    without = with_network | {"HF_EVALUATE_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    assert load(without, tmp_path / "elsewhere") == expected
    assert len(hub.requests) == asked


def test_listed_installed_upgraded_removed(modules, install):
    names = contents.metrics()
    assert install("--list")[:-1] == [f"{name}: not installed" for name in names]
    assert not modules.exists()  # looking makes nothing

    install(version=OLD)
    old = f"halluscope {OLD}, not this version; run halluscope install-metrics again"
    assert install("--list")[:-1] == [f"{name}: {old}" for name in names]

    expected = [f"{name}: halluscope {__version__}, this version" for name in names]
    for _ in range(2):  # again changes nothing
        assert install() == [*expected, f"in {installed.cache()}"]
    for name in names:
        home = modules / "evaluate_modules" / "metrics" / f"evaluate-metric--{name}"
        (copy,) = [folder for folder in home.iterdir() if folder.is_dir()]  # the old one is gone
        assert len(copy.name) == 64
        assert (copy / f"{name}.py").read_bytes() == share("metrics", name, f"{name}.py").read_bytes()
        for package in (copy, home, home.parent, home.parent.parent, modules):
            assert (package / "__init__.py").is_file()

    assert install("--remove") == [f"removed: {', '.join(names)}"]
    assert not list(installed.cache().glob("evaluate-metric--*"))
    assert install("--remove") == ["removed: nothing was installed"]


def test_a_module_of_somebody_else_stays(modules, install):
    home = modules / "evaluate_modules" / "metrics" / "evaluate-metric--pope"
    theirs = home / ("a" * 64)
    theirs.mkdir(parents=True)
    (theirs / "pope.py").write_text("theirs")
    empty = home / ("b" * 64)
    empty.mkdir()
    (home / ("c" * 64)).symlink_to(theirs)
    late = 4_000_000_000  # from a computer whose clock is ahead
    os.utime(theirs / "pope.py", (late, late))
    assert f"pope: another module, not from halluscope ({theirs})" in install("--list")
    assert f"pope: halluscope {__version__}, this version" in install()
    install("--remove")
    assert {folder.name[0] for folder in home.iterdir() if folder.is_dir()} == {"a", "b", "c"}
    assert (theirs / "pope.py").read_text() == "theirs"


@pytest.mark.parametrize("version", [OLD, __version__])
def test_a_copy_that_somebody_changed_stays(version, install):
    install(version=version)
    (copy,) = installed.cache().glob(f"evaluate-metric--pope/{'?' * 64}")
    (copy / "pope.py").write_text("theirs")
    (more,) = installed.cache().glob(f"evaluate-metric--throne/{'?' * 64}")
    (more / "notes.txt").write_text("theirs")
    held = content(copy)["pope.py"], content(more)["notes.txt"]
    current = version == __version__
    said = "\n".join(install(ends=2 if current else 0))
    assert not current or f"{copy} is no longer what halluscope put there; remove it" in said
    removed = "".join(install("--remove"))
    assert not current or "pope" not in removed
    assert (content(copy)["pope.py"], content(more)["notes.txt"]) == held


def test_an_install_that_fails_leaves_nothing_half(modules, install, monkeypatch):
    """On a full disk, and where the new copy cannot be moved in."""
    install(version=OLD)
    before = {name: held[2] for name, held in content(modules).items()}
    with full(at=100):
        install(ends=2)
    assert {name: held[2] for name, held in content(modules).items()} == before

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    for name in ("rename", "replace"):
        monkeypatch.setattr(f"halluscope.hub.installed.Path.{name}", full_disk)
    install(ends=2)
    versions = [line.partition(",")[0] for line in install("--list")[:-1]]
    assert versions == [f"{name}: halluscope {OLD}" for name in contents.metrics()]
