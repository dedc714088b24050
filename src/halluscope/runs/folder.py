"""A run (scored responses, what judges said about them, the result), and its folder.

A folder is written whole or not at all, and never over another one; it is read again, and checked to be unchanged.

- `scores.json`: the result.
- `items.jsonl`: a row per image or question: its id, the response, what was found, a line of votes per voter
  (`ballots`, see `halluscope.judging.votes.SIGNS`), and what the metric took from the dataset's row (`inputs`).
- `replies.jsonl`: a grader's replies, by the prompt's sha256; only if a language model gave verdicts.
- `run.json`: facts about the run: command, versions, signature, options, judges.
- `files/`: copies of the files that options name, such as a list of synonyms.
- `SHA256SUMS`: a checksum per file, in the format of `sha256sum --check`.

Whoever changes a file can also rewrite its checksum, so `differences` scores rows and replies again, without any judge.
"""

import json
import math
import platform
import re
import shutil
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from halluscope import registry, scoring
from halluscope.benchmark import SIGNATURE, Benchmark
from halluscope.building.fetch import sha256_of
from halluscope.errors import RunError
from halluscope.files.opening import PACKED, ending, json_rows, leads_out, read_json, read_text
from halluscope.files.writing import check_new, json_line, new_folder
from halluscope.judging.cache import Record, cache_of
from halluscope.judging.judge import KnownJudge, is_greedy
from halluscope.judging.verdicts import ITEMS, RUN
from halluscope.judging.votes import VoteResult
from halluscope.metric import Result
from halluscope.paths import path_of
from halluscope.reporting.report_items import Item
from halluscope.reporting.tables import Values, finite, to_json
from halluscope.responses.matching import Matched
from halluscope.sanitize import redact, short_repr
from halluscope.scoring import Ready
from halluscope.signature import keys_of
from halluscope.validation import flags
from halluscope.version import __version__

# Options that say where and how judges run on this machine; they change no score, and are not written.
HERE = ("device", "store", "progress")


@dataclass(frozen=True)
class Run:
    benchmark: Benchmark
    ready: Ready  # the responses, and what the metric takes from their rows
    options: Values  # the metric's options
    record: Record  # what the judges said
    scores: Result  # as `scoring.compute` gives it, without the table of rows
    found: Sequence[Values]  # what was found in each row
    # what else is noted, such as the command as the user wrote it; it changes no score
    about: Values = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.ready.matched.name

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its signature, with their values."""
        return keys_of(self.scores[SIGNATURE])

    @property
    def columns(self) -> dict[str, Any]:
        """What the metric takes from each row: name -> a value per row."""
        rows = len(self.ready.matched.rows)
        return {
            name: value
            for name, value in self.ready.inputs.items()
            if isinstance(value, list | tuple | np.ndarray) and len(value) == rows
        }


def score(
    benchmark: Benchmark,
    ready: Ready,
    options: Values,
    about: Values | None = None,
    *,
    items: bool = True,
) -> Run:
    """Score responses as `scoring.compute` does, and note what the judges say.

    Unless `items` is False, also note what is found in each row, which takes longer and more memory.
    """
    names = benchmark.keywords.intersection(benchmark.input_options)
    inputs = {name: options[name] for name in names if options.get(name) is not None}
    fresh = options.get("fresh", False)
    flags(fresh=fresh)
    cache = cache_of(options.get("store"), fresh)
    ready = Ready(ready.matched, {**inputs, **ready.inputs})
    try:
        return _compute(Run(benchmark, ready, {}, Record(cache), Result(), [], about or {}), options, items)
    finally:
        if cache is not options.get("store"):
            cache.close()


def benchmark_of(runs: Mapping[str, Run]) -> Benchmark:
    known = {run.benchmark.name: run.benchmark for run in runs.values()}
    if len(known) > 1:
        raise RunError(f"The runs are of {', '.join(known)}; expected runs of one benchmark.")
    return next(iter(known.values()))


def rescore(run: Run, **options: Any) -> Run:
    """Score a run from what its judges said; no judge is asked."""
    options["progress"], judges = False, run.benchmark.judges
    if judges and judges.kind == "verdicts":
        named = run.options.get("judge", judges.default)
        if named and named not in judges.rules:
            options["judge"] = run.record.judge or KnownJudge("nobody", greedy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the run was first scored
        return _compute(replace(run, record=run.record.finished()), {**run.options, **options})


def _compute(run: Run, options: Values, with_items: bool = True) -> Run:
    items, others = run.benchmark.items, {*HERE, *run.ready.inputs, run.benchmark.items}
    result = scoring.compute(run.benchmark, run.ready, {**options, "store": run.record, items: with_items})
    own = {name: options[name] for name in options if name in run.benchmark.keywords - others}
    return replace(run, options=own, found=result.pop(items, []), scores=result)


# Its folder

SCORES, REPLIES, FILES, SUMS = "scores.json", "replies.jsonl", "files", "SHA256SUMS"

# The keys of a row in items.jsonl besides its id and what was found.
RESPONSE, BALLOTS, INPUTS = "response", "ballots", "inputs"

# What is noted of how responses were matched.
MATCHED = (
    *("by", "of", "sampled", "left_out", "other_prompts", "uncompared", "labels"),
    *("prompts", "origin", "version", "figures", "built"),
)

FORM = 1  # the version of the folder's format; other versions are not read

# The relative difference that a score may have, since another machine may add in another order.
ROUNDING = 1e-12

_NOTHING = object()  # stands for a value that only the other side has


def write(scored: Sequence[Run], out: Path) -> None:
    """Write one run as a folder, or several as folders within one, each named after its responses."""
    check_new(out)
    with new_folder(out) as new:
        if len(scored) == 1:
            _write(scored[0], new)
            return
        taken: set[str] = set()
        for run in scored:
            stem = name = re.sub(r"[^\w.-]", "_", run.name)[:100].lstrip(".") or "responses"
            number = 1
            while name.lower() in taken:
                number += 1
                name = f"{stem}-{number}"
            taken.add(name.lower())
            (new / name).mkdir()
            _write(run, new / name)


def check_options(options: Values) -> None:
    _in_json({key: value for key, value in options.items() if key not in HERE})


def folders(paths: Sequence[str | Path]) -> list[Path]:
    """Return the folders of runs: each of these folders that is a run, or the runs in it and in its folders."""
    runs: list[Path] = []
    for path in paths:
        folder = path_of(path)
        inner = [folder]
        if not (folder / RUN).is_file():
            files = [*folder.glob(f"*/{RUN}"), *folder.glob(f"*/*/{RUN}")]
            inner = sorted(file.parent for file in files)
        if not inner:
            raise RunError(
                f"There is no run in {folder}; expected a folder that `halluscope score NAME ... --out FOLDER` wrote."
            )
        runs += inner
    return runs


def read(folder: Path) -> Run:
    try:
        about = read_json(folder / RUN)
        if about["form"] != FORM or about["version"] != __version__:
            raise RunError(
                f"{folder} was made by halluscope {short_repr(about['version'])}, but this is {__version__}, which may "
                "score differently. Install the version that made it."
            )
        benchmark = registry.benchmark(about["benchmark"])
        key = registry.first_dataset(benchmark).key
        rows = [item for _, item in json_rows(folder / ITEMS)]
        options, whole = (
            _with_files(benchmark, about[name], partial(_path, folder)) for name in ("options", INPUTS)
        )
        matched: Matched[Any] = Matched(
            about["responses"],
            [SimpleNamespace(**{part: row[part] for part in key}) for row in rows],
            [row[RESPONSE] for row in rows],
            **about["matched"],
        )
        columns = {name: [row[INPUTS][name] for row in rows] for name in rows[0][INPUTS]}
        record = Record()
        if about["voters"]:
            record.poll = VoteResult.read([row[BALLOTS] for row in rows], about["voters"])
        if about["grader"]:
            record.judge = KnownJudge(*about["grader"])
            record.read(row for _, row in json_rows(folder / REPLIES))
        scores = Result(_result(read_json(folder / SCORES), benchmark.scores))
        del scores["responses"]
        found = [{name: row[name] for name in row.keys() - {RESPONSE, BALLOTS, INPUTS}} for row in rows]
        return Run(benchmark, Ready(matched, whole | columns), options, record, scores, found, about)
    except RunError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, FileNotFoundError) as error:
        raise RunError(f"{folder} is not a run, or was changed: {type(error).__name__}: {error}") from error


def check(folder: Path) -> Run:
    if found := next(changed(folder), None):
        raise RunError(f"{folder}: {found}. `halluscope verify {folder}` shows what differs.")
    return read(folder)


def checked(paths: Sequence[str | Path]) -> dict[str, Run]:
    """Read runs, each as `check` does, by their names, or by their folders where names are the same."""
    runs = {folder: check(folder) for folder in folders(paths)}
    names = [run.name for run in runs.values()]
    return {run.name if names.count(run.name) == 1 else str(folder): run for folder, run in runs.items()}


def changed(folder: Path) -> Iterator[str]:
    """Yield the files of a run that have changed since it was written, each with what is wrong."""
    if (found := folders([folder])) != [folder]:
        raise RunError(
            f"{folder} holds {len(found)} runs; expected one. Name one of them, such as {found[0]}."
        )
    try:
        lines = [
            re.fullmatch(r"([0-9a-f]{64})  (.+)", line) for line in read_text(folder / SUMS).splitlines()
        ]
    except (ValueError, FileNotFoundError) as error:
        raise RunError(f"{folder} has no checksums: {error}") from error
    listed = {line[2]: line[1] for line in lines if line}
    if not all(lines) or not {SCORES, ITEMS, RUN} <= listed.keys() or any(map(leads_out, listed)):
        yield f"{SUMS} was changed"
    for name, sha256 in listed.items():
        if not (folder / name).is_file():
            yield f"{name} is missing"
        elif sha256_of(folder / name) != sha256:
            yield f"{name} was changed"


def differences(folder: Path) -> Iterator[str]:
    """Yield what in a run was changed, or differs when it is scored again; nothing if all is well."""
    yield from changed(folder)
    try:
        run = read(folder)
        made = rescore(run)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        yield f"it cannot be scored again: {error}"
        return
    for name, expected in {"signature": made.scores[SIGNATURE], "rows": len(made.found)}.items():
        yield from _between(run.about.get(name), expected, f"{RUN}, {name}")
    yield from _between(_jsonable(finite(run.scores)), _jsonable(finite(made.scores)), SCORES)
    for number, ((_, row), item) in enumerate(zip(json_rows(folder / ITEMS), items(made), strict=True), 1):
        yield from _between(row, _jsonable(item), f"{ITEMS}, row {number}")


def _between(kept: Any, made: Any, where: str, keys: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield where two values of JSON differ, numbers by more than rounding."""
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        for name in {**kept, **made}:
            yield from _between(kept.get(name, _NOTHING), made.get(name, _NOTHING), where, (*keys, name))
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for one, other in zip(kept, made, strict=True):
            yield from _between(one, other, where, keys)
    elif type(kept) is not type(made) or not (
        math.isclose(kept, made, rel_tol=ROUNDING, abs_tol=ROUNDING) if type(kept) is float else kept == made
    ):
        place = ", ".join([where, *map(short_repr, keys)])
        old, new = ("nothing" if value is _NOTHING else short_repr(value, 200) for value in (kept, made))
        yield f"{place}: {old} in the folder, but {new} when scored again"


def items(run: Run) -> Iterator[dict[str, Any]]:
    """Yield a row per image or question: id, response, what was found, votes, and the row's inputs to the metric."""
    matched, columns, poll = run.ready.matched, run.columns, run.record.poll
    votes = poll.lines() if poll else ()
    key = registry.first_dataset(run.benchmark).key
    for index, (row, text, found) in enumerate(zip(matched.rows, matched.texts, run.found, strict=True)):
        yield {
            **{part: getattr(row, part) for part in key},
            RESPONSE: text,
            **finite(found),
            **({BALLOTS: votes[index]} if poll else {}),
            INPUTS: {name: column[index] for name, column in columns.items()},
        }


def view(run: Run) -> list[Item]:
    """Return a run's rows as they are shown."""
    poll, rows = run.record.poll, [_jsonable(row) for row in items(run)]
    return list(run.benchmark.module("report").items(rows, run.options, poll.metadata if poll else None))


def _jsonable(value: Any) -> Any:
    return json.loads(json.dumps(value, default=_plain))


def _write(run: Run, folder: Path) -> None:
    _write_text(folder / SCORES, [to_json({"responses": run.name, **run.scores}), "\n"])
    _write_text(folder / ITEMS, (json_line(item, _plain) for item in items(run)))
    matched, poll, judge, columns = run.ready.matched, run.record.poll, run.record.judge, run.columns
    if judge:
        _write_text(folder / REPLIES, map(json_line, run.record.lines()))
    copied = partial(_with_files, run.benchmark, change=partial(_copied, folder))
    about = {
        "form": FORM,
        "benchmark": run.benchmark.name,
        "responses": run.name,
        "signature": run.scores[SIGNATURE],
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **run.about,
        "rows": len(run.found),
        "matched": {name: getattr(matched, name) for name in MATCHED},
        "voters": poll.metadata if poll else None,
        "grader": (judge.key, is_greedy(judge)) if judge else None,
        "options": copied(run.options),
        INPUTS: copied({name: value for name, value in run.ready.inputs.items() if name not in columns}),
    }
    _write_text(folder / RUN, [redact(_in_json(about)), "\n"])
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    sums = [f"{sha256_of(file)}  {file.relative_to(folder).as_posix()}\n" for file in files]
    _write_text(folder / SUMS, sums)


def _write_text(file: Path, lines: Iterable[str]) -> None:
    """Write lines; lone surrogates are spelt out, as JSON does."""
    with file.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
        stream.writelines(lines)


def _in_json(about: Values) -> str:
    return json.dumps(about, indent=2, default=lambda value: _plain(value, records=False))


def _plain(value: Any, records: bool = True) -> Any:
    """Return what stands for a value that JSON does not know: a row's columns, a list, a path's text, a judge's key."""
    if is_dataclass(value) and not isinstance(value, type):
        if records:
            own = getattr(value, "row", None)  # of a dataset's row
            return asdict(value) if own is None else {**own, "form": getattr(value, "form", "")}
    elif isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    elif isinstance(value, set | frozenset):
        return sorted(value)
    elif isinstance(value, Path):
        return str(value)
    elif hasattr(value, "key"):
        return value.key
    raise RunError(
        f"{short_repr(value)} cannot be written to a run's folder; expected text, numbers, or lists of these."
    )


# Files that options name, such as a list of synonyms: the folder has copies


def _with_files(benchmark: Benchmark, options: Values, change: Callable[[str, str], str]) -> dict[str, Any]:
    """Return options with the names of files changed."""
    named = {option.name for option in benchmark.options if option.metavar == "FILE"}
    return {
        name: change(name, str(value)) if name in named and isinstance(value, str | Path) else value
        for name, value in options.items()
    }


def _copied(folder: Path, name: str, file: str) -> str:
    if not path_of(file).is_file():
        return file
    packed = PACKED if file.lower().endswith(PACKED) else ""
    copy = f"{FILES}/{name}{ending(path_of(file))}{packed}"
    (folder / FILES).mkdir(exist_ok=True)
    shutil.copyfile(path_of(file), folder / copy)
    return copy


def _path(folder: Path, _: str, file: str) -> str:
    own = file.startswith(f"{FILES}/")
    if leads_out(file) or (not own and path_of(file).is_file()):
        raise RunError(f"{folder} names {short_repr(file)}, which is outside the folder.")
    return str(folder / file) if own else file


def _result(value: Any, scores: Collection[str], name: str = "") -> Any:
    """Return a result from JSON, with NaN again for undefined scores and ends of intervals."""
    if isinstance(value, dict):
        return {inner: _result(item, scores, inner) for inner, item in value.items()}
    if isinstance(value, list):
        return [_result(item, scores, name) for item in value]
    return math.nan if value is None and name.partition("/")[0] in scores else value
