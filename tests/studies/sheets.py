"""Run commands, and read and write sheets as a spreadsheet does."""

import csv
import json
from pathlib import Path
from typing import Any

from halluscope import cli


def run(*words: object) -> None:
    """A command that succeeds."""
    assert cli.main([*map(str, words)]) == 0


def printed(capsys, *words: object) -> str:
    """What a command that succeeds prints."""
    capsys.readouterr()
    run(*words)
    return capsys.readouterr().out


def read_json(capsys, *words: object) -> Any:
    """What a command prints with --json."""
    return json.loads(printed(capsys, *words, "--json"))


def refused(capsys, *words: object) -> str:
    """The message of a command that refuses its input."""
    assert cli.main([*map(str, words)]) == 2
    return capsys.readouterr().err


def lines(file: Path, rows: list[Any]) -> Path:
    """Write rows as JSON lines."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def read_lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def table(file: Path) -> list[dict[str, str]]:
    """The rows of a sheet."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def save(rows: list[dict[str, str]], folder: Path) -> Path:
    """Write marked rows to folder/marked.csv."""
    file = folder / "marked.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return file
