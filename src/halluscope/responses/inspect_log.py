"""Reads a log of Inspect, as `.eval` or as JSON, into the samples that lm-eval and lmms-eval log.

Inspect itself is not needed for it. What the tasks of `halluscope.harness.inspect` know of a row stands in a sample's
metadata; what was said is the sample's completion.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.files import zstd
from halluscope.files.opening import ending, no_text, parse
from halluscope.foreign import brief, one_line

ENDING = ".eval"

LOG = {"version", "status", "eval", "plan"}
"""What tells a log in JSON from rows."""

SAMPLE = {"id", "epoch", "input", "output", "metadata"}
"""What each sample of a log has."""

Located = tuple[str, Any]


def is_zip(file: Path) -> bool:
    """Whether a file is a log as Inspect writes it unless it is told otherwise."""
    return ending(file) == ENDING


def of_zip(file: Path) -> Iterator[Located]:
    """The samples of a log, each with where it stands; one per member of the zip.

    Raises:
        BuildError: for what is no such zip, or is damaged.
        LimitExceeded: for a sample that is too large, or too many.
        MissingExtra: without zstandard.
        ValueError: for no sample, or one that was asked in several epochs.
    """
    members = zstd.members(file, "samples/", ".json")
    found = ((f"{file}, {one_line(name, 80)}", content) for name, content in members)
    yield from _samples(((where, _parsed(content, where)) for where, content in found), str(file))


def _parsed(content: bytes, where: str) -> Any:
    try:
        return parse(content.decode(), where)
    except UnicodeDecodeError as error:
        raise no_text(where, error) from error


def is_json(row: Any) -> bool:
    """Whether what a file of JSON holds is a log."""
    return isinstance(row, Mapping) and row.keys() >= LOG


def of_json(log: Mapping[str, Any], where: str) -> Iterator[Located]:
    """The samples of a log that was read already, as `of_zip` has them."""
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise ValueError(f"{where}: samples is {brief(samples)}; expected a list, as Inspect writes it.")
    yield from _samples(((f"{where}, sample {number}", one) for number, one in enumerate(samples, 1)), where)


def _samples(found: Iterator[Located], log: str) -> Iterator[Located]:
    """Samples as another harness logs them, without those that nothing was said to, for the request failed."""
    empty = True
    for where, sample in found:
        empty = False
        output = _output(sample, where)
        if sample["epoch"] != 1:
            raise ValueError(
                f"{where} is of epoch {brief(sample['epoch'])}: this log holds several responses per row; expected "
                "one. Run the task with --epochs 1."
            )
        if output.get("choices"):
            said = output.get("completion")
            yield where, {"doc_id": sample["id"], "doc": sample["metadata"], "filtered_resps": said}
    if empty:
        raise ValueError(f"{log} holds no sample; expected a log that was written with its samples.")


def _output(sample: Any, where: str) -> Mapping[str, Any]:
    """What a model gave to a sample."""
    output = sample["output"] if isinstance(sample, Mapping) and sample.keys() >= SAMPLE else None
    if not isinstance(output, Mapping):
        raise ValueError(
            f"{where} is no sample of Inspect: it is {brief(sample, 120)}; expected one with "
            f"{', '.join(sorted(SAMPLE))}."
        )
    return output
