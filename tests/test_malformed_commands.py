"""Malformed files and arguments on the command line, for every benchmark and dataset in the registry.

Each ends in a result or in one clear error; there is no traceback, and no existing file is changed.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halluscope import cli, registry
from halluscope.benchmark import Benchmark
from halluscope.hub import space
from tests import malformed_files, small_datasets
from tests.malformed_files import BYTES, ODD

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
SCORED = [pytest.param(one, id=one.name) for one in registry.benchmarks() if one.is_scored]
DATASETS = [one.name for one in registry.datasets() if one.name in small_datasets.BUILDS]


def part_of(values: Any, name: str, parts: int) -> list[Any]:
    """One part of the values for each benchmark or dataset in turn: reading is the same for all, so together they see
    all of them."""
    names = [*(one.values[0].name for one in SCORED), *DATASETS]
    return [*values][names.index(name) % parts :: parts]


def files_of(*folders: Path) -> dict[str, str]:
    """The sha256 of each file, by its path."""
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command, and return its exit status, output and error output."""
    status = cli.main(words)
    out, err = capsys.readouterr()
    return status, out, err


def check(words: list[str], capsys: pytest.CaptureFixture[str], what: str) -> str | None:
    """Run a command, and check how it ends.

    Returns:
        The output, or None after an error.
    """
    status, out, err = ended(words, capsys)
    assert status in (0, 1, 2), f"{what}: status {status}: {err[-500:]}"
    assert "Traceback" not in err, f"{what}: {err[-800:]}"
    if status:
        assert len(err.strip()) > 30, f"{what}: too short an error: {err!r}"
        assert not any(ord(sign) < 32 and sign not in "\n\t\r" for sign in err), f"{what}: {err!r}"
    return None if status else out


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], Path]]:
    """For each benchmark the words that score a good file of responses, and that file."""
    folder = tmp_path_factory.mktemp("good")
    return {one.values[0].name: _good(one.values[0], folder / one.values[0].name) for one in SCORED}


def _good(benchmark: Benchmark, folder: Path) -> tuple[list[str], Path]:
    from datasets import load_dataset

    name = benchmark.datasets[0].name if benchmark.datasets else benchmark.reads[0]
    built = small_datasets.build(name, folder)
    config = registry.dataset(name).config
    (rows,) = load_dataset(str(built), config, cache_dir=str(folder / "cache")).values()
    identity = registry.first_dataset(benchmark)
    known = [column for column in (*identity.id, *identity.also) if column in rows.column_names]
    said = [{column: row[column] for column in known} | {"response": "Yes, a dog."} for row in rows]
    responses = folder / "mine.jsonl"
    responses.write_bytes(malformed_files.lines(said))
    source = f"{built}:{config}" if config else str(built)
    return ["score", benchmark.name, "--dataset", source, "--json", *_offline(benchmark)], responses


def _offline(benchmark: Benchmark) -> list[str]:
    """Return the options with which a benchmark needs no language model and no network."""
    page = space.page(benchmark.name)
    offered = {option.name for option in benchmark.options}
    words = []
    for name, value in page.options.items():
        if name in offered and isinstance(value, str | int | float) and not isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if "synonyms" in offered:
        words = ["--synonyms", "names"]
    return words


def finite(text: str) -> Any:
    """Read what `--json` printed, in which no number is NaN or infinite."""
    return json.loads(text, parse_constant=pytest.fail)


# Responses


@pytest.mark.parametrize("benchmark", SCORED)
def test_files_that_hold_no_responses(benchmark, good, tmp_path, capsys):
    words, responses = good[benchmark.name]
    endings = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".jsonl.gz", ".txt")
    for ending in part_of(endings, benchmark.name, 8):
        for called, damage in BYTES.items():
            file = tmp_path / f"bad{ending}"
            file.write_bytes(damage(responses.read_bytes()))
            before = files_of(tmp_path)
            check([*words, "--responses", str(file)], capsys, f"{called}{ending}")
            assert files_of(tmp_path) == before


@pytest.mark.parametrize("benchmark", SCORED)
def test_rows_with_odd_values(benchmark, good, tmp_path, capsys):
    """An odd value next to the text changes no score: it gives an error, or is ignored."""
    words, responses = good[benchmark.name]
    rows = [json.loads(line) for line in responses.read_text().splitlines()]
    right = finite(check([*words, "--responses", str(responses)], capsys, "good") or "")
    for called, odd in part_of(malformed_files.odd_rows(rows), benchmark.name, 4):
        file = tmp_path / "mine.jsonl"
        file.write_bytes(malformed_files.lines(odd))
        out = check([*words, "--responses", str(file)], capsys, called)
        if out is None:
            continue
        (found,) = finite(out)
        if not called.startswith("response"):
            scores = {name: found[name] for name in benchmark.scores if name in found}
            assert scores == {name: right[0][name] for name in scores}, called


# Datasets


def _rows_of(built: Path) -> Iterator[Path]:
    yield from sorted(file for file in built.rglob("*") if file.is_file())


@pytest.mark.parametrize("benchmark", SCORED)
def test_datasets_that_are_none(benchmark, good, tmp_path, capsys):
    words, responses = good[benchmark.name]
    source = Path(words[3].partition(":")[0])
    for place, part in enumerate(_rows_of(source)):
        for called, damage in part_of(BYTES.items(), benchmark.name, 12):
            folder = tmp_path / f"{place}-{called}".replace(" ", "-")
            shutil.copytree(source, folder)
            inside = folder / part.relative_to(source)
            if part.suffix not in (".json", ".toml", ".md") and called in (
                "deep inside",
                "utf-16",
                "no utf-8",
            ):
                continue
            inside.write_bytes(damage(part.read_bytes()))
            config = words[3].partition(":")[2]
            other = [*words[:3], f"{folder}:{config}" if config else str(folder), *words[4:]]
            check([*other, "--responses", str(responses)], capsys, f"{part.name}: {called}")
            shutil.rmtree(folder)


# Words


WORDS = [
    "",
    " ",
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "9" * 400,
    "0x10",
    "true",
    "\x1b[31m",
    "\ud800",
    "a" * 5000,
    "'",
]


@pytest.mark.parametrize("benchmark", SCORED)
def test_options_with_odd_words(benchmark, good, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, responses = good[benchmark.name]
    known = [f"--{option.name.replace('_', '-')}" for option in benchmark.options if not option.flag]
    shared = ["--limit", "--seed", "--bootstrap", "--id-column", "--text-column", "--thoughts", "--format"]
    before = files_of(responses.parent)
    for option in [*known, *shared]:
        for word in part_of(WORDS, benchmark.name, 5):
            check(
                [*words, "--responses", str(responses), f"{option}={word}"], capsys, f"{option} {word[:20]!r}"
            )
    assert files_of(responses.parent) == before


# Building


@pytest.mark.parametrize("name", DATASETS)
def test_upstream_files_that_are_none(name, tmp_path, capsys, monkeypatch):
    """Each source file of a dataset, damaged in each way, gives a BuildError, and nothing is built."""
    small_datasets.build(name, tmp_path / "good")
    inputs = tmp_path / "good" / f"{name}-inputs"
    sources = [
        file
        for file in sorted(inputs.rglob("*"))
        if file.is_file() and file.suffix in (".json", ".csv", ".txt")
    ]
    real = small_datasets.builder
    for place, source in enumerate(sources):
        if source.relative_to(inputs).parts[0] != source.name:
            continue  # of a dataset that this one is built from
        for called, damage in part_of(BYTES.items(), name, 5):
            out = tmp_path / f"{place}-{len(called)}-{called}".replace(" ", "-")

            def damaged(of: str, file: str = source.name, by: Any = damage) -> Any:
                return Damaging(real(of), file, by) if of == name else real(of)

            monkeypatch.setattr(small_datasets, "builder", damaged)
            try:
                small_datasets.build(name, out)
            except (ValueError, OSError) as error:
                assert len(str(error)) > 30, called
                assert not (out / name).exists(), called


class Damaging:
    """A builder that finds one of its sources damaged."""

    def __init__(self, builder: Any, file: str, damage: malformed_files.Damage) -> None:
        self.builder, self.file, self.damage = builder, file, damage

    def build(self, source: Path, *given: Any, **options: Any) -> Path:
        file = source if source.is_file() else source / self.file
        if file.name == self.file:
            file.write_bytes(self.damage(file.read_bytes()))
        for path in options.values():
            if isinstance(path, Path) and path.name == self.file:
                path.write_bytes(self.damage(path.read_bytes()))
        return self.builder.build(source, *given, **options)


# The other commands

LINES = "a.jsonl"


COMMANDS = [
    ["study", "correlate", LINES, LINES],
    ["study", "parallel", LINES, "--out", "new.jsonl"],
    ["study", "reliability", "--test-retest", LINES, LINES],
    ["study", "sheet", "make", LINES, "--out", "sheet", "--sample", "1"],
    ["study", "sheet", "read", LINES],
    ["study", "agree", f"A={LINES}", f"B={LINES}"],
    ["answer", "--model", "there/is-none", "--dataset", LINES, "--out", "answers.jsonl"],
    ["score", "throne", "--plan", "--responses", LINES, "--dataset", LINES, "--judges", "lexical"],
    ["publish", "dataset", "throne_coco", "--org", "me", "--folder", LINES],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]).removesuffix(f"-{LINES}"))
def test_commands_that_read_a_file(words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = {
        "responses": "m",
        "id": 1,
        "image_id": 1,
        "question": "What is it?",
        "answer": "A dog.",
        "f0.5_cls": 0.5,
        "found": ["dog"],
        "hallucinated": [],
    }
    good = malformed_files.lines([row, row | {"id": 2}])
    bad = {called: damage(good) for called, damage in BYTES.items()}
    bad |= {
        called: malformed_files.lines(rows)
        for called, rows in malformed_files.odd_rows([row, row | {"id": 2}])
    }
    for called, content in [*bad.items()][COMMANDS.index(words) % 3 :: 3]:
        file = tmp_path / LINES
        file.write_bytes(content)
        check(words, capsys, called)
        assert file.read_bytes() == content
        for made in ("new.jsonl", "answers.jsonl"):
            (tmp_path / made).unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "sheet", ignore_errors=True)


@pytest.mark.parametrize("word", [*ODD, *WORDS])
def test_names_that_are_none(word, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in ("list", "build", "score", "explain", "study", "tasks", "publish", "answer", word):
        check([command, word], capsys, command)
