"""Ctrl-C at any time ends the command with one line and exit status 130."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["halluscope"]
MODULE, FUNCTION = SCRIPT.split(":")

# As pip writes the command `halluscope`
INSTALLED = f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"

STOPS = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"


@pytest.mark.parametrize("start", [["-c", INSTALLED], ["-m", "halluscope"]], ids=["installed", "module"])
@pytest.mark.parametrize("imported", ["cyclopts", "numpy"])
def test_ctrl_c_during_imports_ends_in_one_line(tmp_path: Path, start: list[str], imported: str) -> None:
    """A module that the command line imports at once, and one that it imports when a command needs it."""
    (tmp_path / f"{imported}.py").write_text(STOPS)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src"), *sys.path])
    ended = subprocess.run(
        [sys.executable, *start, "compare", "a", "b"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert ended.returncode == 128 + signal.SIGINT == 130
    assert ended.stderr == "halluscope: interrupted.\n" and ended.stdout == ""
