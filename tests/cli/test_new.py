"""`halluscope new` in a copy of this checkout, and the completion of words by a shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from halluscope import cli
from halluscope.paths import PACKAGE

ROOT = PACKAGE.parents[1]
NEW = ("new", "toybench", "--title", "ToyBench")


@pytest.fixture
def clone(tmp_path):
    """Return a function that runs Python in a copy of this checkout."""
    ignore = shutil.ignore_patterns("__pycache__", "*.jpg")
    for folder in ("src", "builders", "datasets", "dataset_cards", "metrics"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests/benchmarks").mkdir(parents=True)

    def python(*words):
        known = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "HF_HUB_OFFLINE": "1"}
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, env=known, capture_output=True, text=True
        )

    python.root = tmp_path
    return python


def test_a_new_benchmark_scores_its_example(clone):
    made = clone("halluscope", *NEW)
    assert made.returncode == 0, made.stderr
    tried = clone("pytest", "-q", "-p", "no:cacheprovider", "tests/benchmarks/test_toybench.py")
    assert tried.returncode == 0 and tried.stdout.startswith("."), tried.stdout
    assert "ToyBench" in clone("halluscope", "info", "toybench").stdout
    before = {path: path.read_bytes() for path in clone.root.rglob("*toybench*") if path.is_file()}
    again = clone("halluscope", *NEW)
    assert again.returncode == 2 and "toybench" in again.stderr
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize("name", ["pope", "Toy", "../toy", "1toy"])
def test_a_name_that_cannot_be(name, capsys):
    assert cli.main(["new", name]) == 2
    assert "expected small letters, digits and underscores" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("halluscope comp", "compare"),
        ("halluscope score pope --boots", "--bootstrap"),
        ("halluscope score po", "pope"),
    ],
)
def test_a_shell_completes_words(line, word, tmp_path):
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    file = tmp_path / "words"
    known = os.environ | asked | {"_ARGCOMPLETE_STDOUT_FILENAME": str(file)}
    subprocess.run([str(Path(sys.executable).with_name("halluscope"))], env=known, check=True)
    assert word in [found.strip() for found in file.read_text().split("\n")]
