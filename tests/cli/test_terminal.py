"""Output to the terminal: no control characters, no keys, no tracebacks."""

import ast
import json
import os
import re
import subprocess
import sys

import pytest

from halluscope import cli, limits
from halluscope.paths import PACKAGE
from halluscope.sanitize import BLACKED

HOSTILE = "m\x1b[31mo\x07d\re\u202el\n|halluscope: all is well \x9b\x7f"
"""Colour, a bell, the line's beginning, right to left, another line, a cell's end, C1's escape, delete."""

HALVES = os.fsdecode(b"s\xff\xfe\x1b]0;title\x07")
"""A file name that is no UTF-8; in Python it holds lone surrogates."""

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff\ud800-\udfff]")

TEXTS = [{"image_id": 1, "caption": "A dog sleeps on a couch."}, {"image_id": 2, "caption": "A cat."}]


def halluscope(*words, folder=None, code=None, **environment):
    """Run the command (or Python code) in its own process; return its status and the bytes it printed."""
    command = [sys.executable, *(("-c", code) if code else ("-m", "halluscope")), *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def shell(command):
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m {command}"], capture_output=True, check=False)
    return done.returncode, done.stderr


ONE_AFTER_THE_OTHER = """
import json, sys
from pathlib import Path
from halluscope import cli

Path("statuses").write_text(json.dumps([cli.main(words) for words in json.loads(sys.argv[1])]))
"""
"""Runs several command lines in one process, and writes how each ended."""


def steering(said: bytes) -> list[str]:
    return STEERS.findall(said.decode("utf-8", "surrogateescape"))


@pytest.fixture
def responses(tmp_path):
    """Write a file with a hostile name, one whose name is not UTF-8, and labels."""
    (tmp_path / "labels.json").write_text(json.dumps({1: ["dog", "couch"], 2: ["cat"]}))
    files = [tmp_path / f"{name}.jsonl" for name in (HOSTILE, HALVES)]
    for file in files:
        file.write_text("\n".join(map(json.dumps, TEXTS)))
    return [file.name for file in files]


def throne(*words):
    fixed = ["--dataset", "labels.json", "--judges", "lexical", "--bootstrap", "0"]
    return ["score", "throne", *fixed, "--responses", *words]


# The outlet


def test_nothing_in_the_package_prints_by_another_way():
    """Calls of print, and of write on the standard streams."""
    ways = re.compile(r"print|sys\.(__)?std(out|err)(__)?(\.buffer)?\.write(lines)?")
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ways.fullmatch(ast.unparse(node.func))
    }
    assert found == {"terminal.py"}


def test_hostile_file_names_in_tables(responses, tmp_path):
    status, out, err = halluscope(*throne(*responses), "--per-class", "--published", folder=tmp_path)
    assert status == 0 and steering(out + err) == [], err
    assert b"halluscope: all is well" not in [line[:23] for line in out.splitlines()]
    shown = out.decode()
    assert "m\\x1b[31mo\\x07d\\x0de\\u202el\\n" in shown and "\\udcff\\udcfe\\x1b]0;title\\x07" in shown


def test_hostile_words_in_errors(tmp_path):
    (tmp_path / "labels.json").write_text(json.dumps({1: [HOSTILE]}))
    (tmp_path / "mine.jsonl").write_text(json.dumps(TEXTS[0]))
    commands = (
        [HOSTILE],
        ["score", HALVES],
        ["list", HOSTILE],
        ["build", HOSTILE],
        ["build", "pope", f"--{HOSTILE}"],
        throne(HOSTILE),
        throne("mine.jsonl"),
        ["study", "correlate", HALVES, HOSTILE],
        ["list", "--limits", HOSTILE],
    )
    _, out, err = halluscope(json.dumps(commands), folder=tmp_path, code=ONE_AFTER_THE_OTHER)
    assert json.loads((tmp_path / "statuses").read_text()) == [2] * len(commands), err
    assert not out and steering(err) == [], err
    assert not re.search(rb"^\|?halluscope: all is well", err, re.MULTILINE)


# Keys


def test_no_command_shows_a_key(tmp_path):
    key = "sk-0123+456/789=abc"
    for words in (["list", key], ["score", key], ["build", key], ["list", "--limits", key]):
        status, out, err = halluscope(*words, folder=tmp_path, OPENAI_API_KEY=key, HALLUSCOPE_TRACEBACK="1")
        assert status == 2 and key.encode() not in out + err and BLACKED.encode() in err


# The net


@pytest.fixture
def broken(monkeypatch):
    """Let `halluscope list` end in an error."""

    def let(error):
        def run():
            raise error

        monkeypatch.setattr("halluscope.cli.list.show", run)

    return let


@pytest.mark.parametrize(
    "error",
    [RuntimeError("a\x1b[31m\nb"), RecursionError(), OverflowError(34, "x"), KeyError("k"), AssertionError()],
)
def test_an_error_of_ours_is_one_line_and_70(broken, capsys, error):
    broken(error)
    assert cli.main(["list"]) == 70
    said = capsys.readouterr().err
    assert said.startswith(f"halluscope: an error in halluscope itself ({type(error).__name__}")
    assert said.count("\n") == 1 and "Traceback" not in said and "\x1b" not in said
    assert "report" in said and cli.TRACEBACK in said


def test_the_end_of_memory_is_said_and_a_traceback_is_shown_to_who_asks(broken, capsys, monkeypatch):
    broken(MemoryError())
    assert cli.main(["list"]) == 70
    assert capsys.readouterr().err.startswith("halluscope: there is not enough memory for this")
    monkeypatch.setenv(cli.TRACEBACK, "1")
    assert cli.main(["list"]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["list", "score throne --help"])
@pytest.mark.parametrize("end", ["| head -c 1 >/dev/null", ">&-"])
def test_a_closed_output_is_no_error(words, end):
    """Nothing is printed about it, and the command's status stays."""
    assert shell(f"halluscope {words} {end}; exit ${{PIPESTATUS[0]}}") == (0, b"")


# Options


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("--beta", "1e400"),
        ("--beta", "nan"),
        ("--beta", ""),
        ("--limit", "9" * 5000),
        ("--limit", "1e3"),
        ("--seed", "-1" + "0" * 400),
        ("--seed", "1.0"),
        ("--workers", "9" * 20),
    ],
)
def test_a_number_that_is_none(option, word, refused):
    said = refused("score throne --dataset labels.json --responses mine.jsonl", option, word)
    assert f"halluscope: {option}: got" in said and "; expected a" in said
    assert len(said) < 400 and said.count("\n") == 1


# Limits


@pytest.mark.parametrize("place", [0, 1, 4, 99])
@pytest.mark.parametrize("words", [["--limits", "file=5"], ["--limits=cell=7", "--limits=file=5"]])
def test_limits_stand_anywhere(responses, tmp_path, monkeypatch, capsys, place, words):
    monkeypatch.chdir(tmp_path)
    command = throne(responses[0])
    assert cli.main([*command[:place], *words, *command[place:]]) == 2
    assert "the limit 'file' of 5 bytes" in capsys.readouterr().err
    assert limits.most("file") == limits.LIMITS["file"].default
