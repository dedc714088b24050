"""Reads a log of Inspect, as `.eval` or as JSON, into samples in the form of lm-eval's logs, without Inspect."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.files import zstd
from halluscope.files.opening import ending, no_text, parse
from halluscope.sanitize import one_line, short_repr

ENDING = ".eval"

# The keys that mark JSON as a log, not as rows
LOG = {"version", "status", "eval", "plan"}

# The keys that each sample of a log has
SAMPLE = {"id", "epoch", "input", "output", "metadata"}

Located = tuple[str, Any]


def is_zip(file: Path) -> bool:
    """Whether a file is a log in Inspect's default format, `.eval`."""
    return ending(file) == ENDING


def of_zip(file: Path) -> Iterator[Located]:
    """Yield the location and the content of each sample of a log in a zip, which has a member per sample."""
    members = zstd.members(file, "samples/", ".json")
    found = ((f"{file}, {one_line(name, 80)}", content) for name, content in members)
    yield from _samples(((where, _parsed(content, where)) for where, content in found), str(file))


def header(file: Path) -> Any:
    """Return the header of a log in a zip; None if it has none."""
    found = zstd.members(file, "header", ".json")
    return next((_parsed(content, f"{file}, {name}") for name, content in found), None)


def model_of(log: Any) -> str:
    """Return the model's name that a log or its header states; "" if it states none."""
    about = log.get("eval") if isinstance(log, Mapping) else None
    name = about.get("model") if isinstance(about, Mapping) else None
    return name if isinstance(name, str) else ""


def _parsed(content: bytes, where: str) -> Any:
    try:
        return parse(content.decode(), where)
    except UnicodeDecodeError as error:
        raise no_text(where, error) from error


def is_json(row: Any) -> bool:
    """Whether the content of a JSON file is a log."""
    return isinstance(row, Mapping) and row.keys() >= LOG


def of_json(log: Mapping[str, Any], where: str) -> Iterator[Located]:
    """Yield the samples of a log that was read already, as `of_zip` does."""
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise ValueError(f"{where}: samples is {short_repr(samples)}; expected a list, as Inspect writes it.")
    yield from _samples(((f"{where}, sample {number}", one) for number, one in enumerate(samples, 1)), where)


def _samples(found: Iterator[Located], log: str) -> Iterator[Located]:
    """Yield samples in the form of lm-eval's log, without those whose request failed and that have no response."""
    empty = True
    for where, sample in found:
        empty = False
        output = _output(sample, where)
        if sample["epoch"] != 1:
            raise ValueError(
                f"{where} belongs to epoch {short_repr(sample['epoch'])}: this log holds several responses per row; "
                "expected one. Run the task with --epochs 1."
            )
        if output.get("choices"):
            said = output.get("completion")
            yield where, {"doc_id": sample["id"], "doc": sample["metadata"], "filtered_resps": said}
    if empty:
        raise ValueError(f"{log} holds no samples; expected a log that was written with its samples.")


def _output(sample: Any, where: str) -> Mapping[str, Any]:
    output = sample["output"] if isinstance(sample, Mapping) and sample.keys() >= SAMPLE else None
    if not isinstance(output, Mapping):
        raise ValueError(
            f"{where} is not a sample of Inspect: it is {short_repr(sample, 120)}; expected an object with "
            f"{', '.join(sorted(SAMPLE))}."
        )
    return output
