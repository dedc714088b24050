"""A run's folder.

It is written whole or not at all, and never over another one; it is read again, and checked to be unchanged.

- `scores.json`: the result.
- `items.jsonl`: a row per image or question: its id, the response, what was found, a line of votes per voter
  (`ballots`, see `halluscope.judging.votes.SIGNS`), and what the metric took from the dataset's row (`inputs`).
- `replies.jsonl`: a grader's replies, by the prompt's sha256; only if a language model gave verdicts.
- `run.json`: facts about the run: command, versions, signature, options, judges.
- `files/`: copies of the files that options name, such as a list of synonyms.
- `SHA256SUMS`: a checksum per file, in the format of `sha256sum --check`.

Whoever changes a file can also rewrite its checksum; `halluscope.runs.verifying` scores rows and replies again.
"""

import json
import math
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from halluscope import registry
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.building.fetch import sha256_of
from halluscope.errors import RunError
from halluscope.files.opening import PACKED, ending, json_rows, leads_out, read_json, read_text
from halluscope.files.writing import check_new, json_line, new_folder
from halluscope.judging.cache import Record
from halluscope.judging.judge import KnownJudge
from halluscope.judging.verdicts import ITEMS, RUN
from halluscope.judging.votes import VoteResult
from halluscope.metric import Result
from halluscope.paths import path_of
from halluscope.reporting.report_items import Item
from halluscope.reporting.tables import Values, finite, to_json
from halluscope.responses.matching import Matched
from halluscope.runs.run import HERE, Run
from halluscope.sanitize import redact, short_repr
from halluscope.scoring import Ready, how_asked
from halluscope.validation import kind
from halluscope.version import __version__

SCORES = "scores.json"
REPLIES = "replies.jsonl"
FILES = "files"
SUMS = "SHA256SUMS"

# The keys of a row in items.jsonl besides its id and what was found.
RESPONSE = "response"
BALLOTS = "ballots"
A_RUN = "a folder that `halluscope score NAME ... --out FOLDER` wrote"
INPUTS = "inputs"

# What is noted of how responses were matched.
MATCHED = (
    "by",
    "of",
    "sampled",
    "left_out",
    "without_response",
    "repeats",
    "cut_ends",
    "other_prompts",
    "uncompared",
    "labels",
    "prompts",
    "origin",
    "version",
    "figures",
    "built",
)

MOST_ASKED = 5  # prompts that are noted
HOW_ASKED = "how_asked"

FORM = 1  # the version of the folder's format; other versions are not read

LONGEST_NAME = 100  # bytes of a folder's name that come from the responses'; systems allow 255


# Writing


def write(runs: Sequence[Run], out: Path) -> None:
    """Write one run as a folder, or several as folders within one, each named after its responses."""
    check_new(out)
    with new_folder(out) as new:
        if len(runs) == 1:
            _write(runs[0], new)
            return
        for run, name in zip(runs, folder_names(runs), strict=True):
            (new / name).mkdir()
            _write(run, new / name)


def folder_names(runs: Iterable[Run]) -> list[str]:
    """Return a folder's name for each run; no two differ by case alone."""
    names = []
    known: set[str] = set()
    for run in runs:
        safe = re.sub(r"[^\w.-]", "_", run.name)
        cut = safe.encode()[:LONGEST_NAME].decode(errors="ignore")
        stem = cut.lstrip(".") or "responses"
        name = stem
        number = 1
        while name.lower() in known:
            number += 1
            name = f"{stem}-{number}"
        known.add(name.lower())
        names.append(name)
    return names


def check_options(options: Values) -> None:
    """Check that options can be written, before anything is scored."""
    written = dict(options)
    for name in HERE:
        written.pop(name, None)
    _in_json(written)


def _write(run: Run, folder: Path) -> None:
    scores = {"responses": run.name}
    scores.update(run.scores)
    _write_text(folder / SCORES, [to_json(scores), "\n"])
    _write_text(folder / ITEMS, (json_line(item, _plain_of_row) for item in items(run)))
    if run.record.judge:
        _write_text(folder / REPLIES, (json_line(reply) for reply in run.record.lines()))
    _write_text(folder / RUN, [redact(_in_json(_facts(run, folder))), "\n"])
    sums = []
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            sums.append(f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n")
    _write_text(folder / SUMS, sums)


def items(run: Run) -> Iterator[dict[str, Any]]:
    """Yield a row per image or question: id, response, what was found, votes, and the row's inputs to the metric."""
    matched = run.ready.matched
    columns = run.columns
    votes: Sequence[Any] = ()
    if run.record.poll:
        votes = run.record.poll.lines()
    key = registry.first_dataset(run.benchmark).key
    for place, (row, text, finding) in enumerate(zip(matched.rows, matched.texts, run.found, strict=True)):
        item = {column: getattr(row, column) for column in key}
        item[RESPONSE] = text
        item.update(finite(finding))
        if votes:
            item[BALLOTS] = votes[place]
        item[INPUTS] = {name: column[place] for name, column in columns.items()}
        yield item


def _facts(run: Run, folder: Path) -> dict[str, Any]:
    """Return what `run.json` says; files that options name are copied to the folder."""
    matched = run.ready.matched
    columns = run.columns
    inputs = dict(run.ready.inputs)
    for name in columns:  # these stand in the rows
        del inputs[name]
    facts = {
        "form": FORM,
        "benchmark": run.benchmark.name,
        "responses": run.name,
        "signature": run.scores[SIGNATURE],
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    facts.update(run.about)
    facts["rows"] = len(run.found)
    facts["matched"] = {name: getattr(matched, name) for name in MATCHED}
    # the prompts that the responses say were asked, each with its number of responses
    facts["asked"] = Counter(matched.asked).most_common(MOST_ASKED)
    # likewise, each with {question} in the place of the row's own
    facts[HOW_ASKED] = how_asked(matched).most_common(MOST_ASKED)
    facts["voters"] = None
    if run.record.poll:
        facts["voters"] = run.record.poll.metadata
    facts["grader"] = None
    if run.record.judge:
        facts["grader"] = (run.record.judge.key, run.record.judge.greedy)
    facts["options"] = _with_copies(run.benchmark, run.options, folder)
    facts[INPUTS] = _with_copies(run.benchmark, inputs, folder)
    return facts


def _write_text(file: Path, lines: Iterable[str]) -> None:
    """Write lines; lone surrogates are spelt out, as JSON does."""
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        stream.writelines(lines)


# Values in JSON


def jsonable(value: Any) -> Any:
    """Return a value as it is read again from a row."""
    return json.loads(json.dumps(value, default=_plain_of_row))


def _in_json(facts: Values) -> str:
    return json.dumps(facts, indent=2, default=_plain)


def _plain_of_row(value: Any) -> Any:
    """Return what stands in a row for a value that JSON does not know; a record is a dictionary there."""
    if not _is_record(value):
        return _plain(value)
    of_dataset = getattr(value, "row", None)
    if of_dataset is None:
        return asdict(value)
    return dict(of_dataset) | {"form": getattr(value, "form", "")}


def _plain(value: Any) -> Any:
    """Return what stands for a value that JSON does not know: a list, a path's text, a judge's key."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "key") and not _is_record(value):
        return value.key
    raise RunError(
        f"{short_repr(value)} cannot be written to a run's folder; expected text, numbers, or lists of these."
    )


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _with_undefined(value: Any, scores: Collection[str], name: str = "") -> Any:
    """Return a result from JSON, with NaN again for undefined scores and ends of intervals."""
    if isinstance(value, dict):
        return {key: _with_undefined(entry, scores, key) for key, entry in value.items()}
    if isinstance(value, list):
        return [_with_undefined(entry, scores, name) for entry in value]
    score, _, _ = name.partition("/")
    if value is None and score in scores:
        return math.nan
    return value


# Files that options name, such as a list of synonyms: the folder has copies


def _with_copies(benchmark: Benchmark, options: Values, folder: Path) -> dict[str, Any]:
    """Copy the files that options name to the folder, and return the options with the copies' names."""
    return _with_files(benchmark, options, lambda name, file: _copied(folder, name, file))


def _with_paths(benchmark: Benchmark, options: Values, folder: Path) -> dict[str, Any]:
    """Return options with the paths of the copies in the folder."""
    return _with_files(benchmark, options, lambda name, file: _path(folder, file))


def _with_files(benchmark: Benchmark, options: Values, change: Callable[[str, str], str]) -> dict[str, Any]:
    """Return options with the names of files changed."""
    with_files = dict(options)
    for option in benchmark.options:
        value = options.get(option.name)
        if option.metavar == "FILE" and isinstance(value, str | Path):
            with_files[option.name] = change(option.name, str(value))
    return with_files


def _copied(folder: Path, name: str, file: str) -> str:
    """Copy a file that an option names, and return the copy's name; what is no file keeps its name."""
    source = path_of(file)
    if not source.is_file():
        return file
    copy = f"{FILES}/{name}{ending(source)}"
    if file.lower().endswith(PACKED):
        copy += PACKED
    (folder / FILES).mkdir(exist_ok=True)
    shutil.copyfile(source, folder / copy)
    return copy


def _path(folder: Path, file: str) -> str:
    """Return the path of a copy, or the name of what is no file."""
    is_copy = file.startswith(f"{FILES}/")
    if leads_out(file) or (not is_copy and path_of(file).is_file()):
        raise RunError(f"{folder} names {short_repr(file)}, which is outside the folder.")
    if is_copy:
        return str(folder / file)
    return file


# Reading


def folders(paths: Sequence[str | Path]) -> list[Path]:
    """Return the folders of runs: each of these folders that is a run, or the runs in it, however deep."""
    if not paths:
        raise RunError(f"No run is named; expected {A_RUN}.")
    runs: list[Path] = []
    for path in paths:
        kind(
            "a run",
            path,
            str | Path,
            "a folder; several folders are arguments of their own, as in compare(a, b)",
        )
        folder = path_of(path)
        inner = _runs_in(folder)
        if not inner:
            raise RunError(f"There is no run in {folder}; expected {A_RUN}.")
        runs += inner
    return runs


def _runs_in(folder: Path) -> list[Path]:
    """Return a folder if it is a run, or else the runs in it, sorted; a run without `run.json` is one too.

    Hidden folders are left out: a run that another process is writing is in one.
    """
    runs = []
    seen = set()  # a link may lead to a folder above it
    for name, inner, files in os.walk(folder, followlinks=True):
        place = os.path.realpath(name)
        if place in seen:
            inner.clear()
        elif RUN in files or {SCORES, SUMS} <= set(files):
            runs.append(Path(name))
            inner.clear()
        inner[:] = sorted(entry for entry in inner if not entry.startswith("."))
        seen.add(place)
    return runs


def checked(paths: Sequence[str | Path]) -> dict[str, Run]:
    """Read runs, each as `check` does, by their names, or by their folders where names are the same."""
    by_folder = {folder: check(folder) for folder in folders(paths)}
    same_name = Counter(run.name for run in by_folder.values())
    runs = {}
    for folder, run in by_folder.items():
        name = run.name
        if same_name[name] > 1:
            name = str(folder)
        runs[name] = run
    return runs


def check(folder: Path) -> Run:
    """Read a run whose files are those that were written."""
    change = next(changed(folder), None)
    if change:
        raise RunError(f"{folder}: {change}. `halluscope verify {folder}` shows what differs.")
    return read(folder)


def changed(folder: Path) -> Iterator[str]:
    """Yield the files of a run that have changed since it was written, each with what is wrong."""
    inner = folders([folder])
    if inner != [folder]:
        raise RunError(
            f"{folder} holds {len(inner)} runs; expected one. Name one of them, such as {inner[0]}."
        )
    if not (folder / SUMS).is_file():
        yield f"{SUMS} is missing"
        return
    try:
        lines = read_text(folder / SUMS).splitlines()
    except ValueError as error:
        yield f"{SUMS} was changed: {error}"
        return
    sums = {}
    is_whole = True
    for line in lines:
        parts = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if parts is None or leads_out(parts[2]):
            is_whole = False
        if parts is not None:
            sums[parts[2]] = parts[1]
    if not is_whole or not {SCORES, ITEMS, RUN} <= sums.keys():
        yield f"{SUMS} was changed"
    for name, sha256 in sums.items():
        if not (folder / name).is_file():
            yield f"{name} is missing"
        elif sha256_of(folder / name) != sha256:
            yield f"{name} was changed"


def read(folder: Path) -> Run:
    """Read a run."""
    try:
        facts = read_json(folder / RUN)
        _check_version(folder, facts)
        return _read(folder, facts)
    except RunError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, FileNotFoundError) as error:
        raise RunError(f"{folder} is not a run, or was changed: {type(error).__name__}: {error}") from error


def _check_version(folder: Path, facts: Values) -> None:
    if facts["form"] != FORM or facts["version"] != __version__:
        raise RunError(
            f"{folder} was made by halluscope {short_repr(facts['version'])}, but this is {__version__}, which may "
            "score differently. Install the version that made it."
        )


def _read(folder: Path, facts: Values) -> Run:
    benchmark = registry.benchmark(facts["benchmark"])
    key = registry.first_dataset(benchmark).key
    inputs = _with_paths(benchmark, facts[INPUTS], folder)
    lines = []
    rows = []
    responses = []
    found = []
    for _, line in json_rows(folder / ITEMS):
        lines.append(line)
        rows.append(SimpleNamespace(**{column: line[column] for column in key}))
        responses.append(line[RESPONSE])
        found.append(_found(line))
    for name in lines[0][INPUTS]:
        inputs[name] = [line[INPUTS][name] for line in lines]
    scores = Result(_with_undefined(read_json(folder / SCORES), benchmark.scores))
    del scores["responses"]
    return Run(
        benchmark,
        Ready(Matched(facts["responses"], rows, responses, **facts["matched"]), inputs),
        _with_paths(benchmark, facts["options"], folder),
        record=_read_record(folder, facts, lines),
        scores=scores,
        found=found,
        about=facts,
    )


def _read_record(folder: Path, facts: Values, lines: Sequence[Values]) -> Record:
    """Return what the judges of a run said."""
    record = Record()
    if facts["voters"]:
        record.poll = VoteResult.read([line[BALLOTS] for line in lines], facts["voters"])
    if facts["grader"]:
        key, greedy = facts["grader"]
        replies = (reply for _, reply in json_rows(folder / REPLIES))
        record.read(KnownJudge(key, greedy), replies)
    return record


def _found(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found in a row, with the columns that identify it."""
    found = dict(line)
    for name in (RESPONSE, BALLOTS, INPUTS):
        found.pop(name, None)
    return found


def view(run: Run) -> list[Item]:
    """Return a run's rows as they are shown."""
    rows = [jsonable(item) for item in items(run)]
    voters = None
    if run.record.poll:
        voters = run.record.poll.metadata
    return list(run.benchmark.module("report").items(rows, run.options, voters))
