"""Reads a log of Inspect, as `.eval` or as JSON, into the samples that lm-eval and lmms-eval log.

Inspect itself is not needed for it. What the tasks of `halluscope.harness.inspect` know of a row stands in a sample's
metadata; what was said is the sample's completion.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.files import zstd
from halluscope.files.opening import ending, parse
from halluscope.foreign import brief

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
    found = (
        (f"{file}, {name}", parse(content.decode("utf-8", "replace"), f"{file}, {name}"))
        for name, content in zstd.members(file, "samples/", ".json")
    )
    yield from _samples(found, str(file))


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
    """Samples as another harness logs them, without those to which nothing was said, for the request failed."""
    number = 0
    for number, (where, sample) in enumerate(found, 1):
        if not isinstance(sample, Mapping) or not sample.keys() >= SAMPLE:
            raise ValueError(f"{where} is no sample of Inspect: {brief(sample, 120)}. Expected one with {_NAMES}.")
        if sample["epoch"] != 1:
            raise ValueError(
                f"{where} is of epoch {brief(sample['epoch'])}: this log holds several responses per row, and expected "
                "is one. Ask with --epochs 1, or score each epoch from a log of its own."
            )
        if (output := _output(sample["output"], where)).get("choices"):
            yield where, {
                "doc_id": sample["id"],
                "doc": sample["metadata"],
                "filtered_resps": output.get("completion"),
            }
    if not number:
        raise ValueError(f"{log} holds no sample; expected a log that was not written with --no-log-samples.")


def _output(output: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(output, Mapping):
        raise ValueError(f"{where}: output is {brief(output)}; expected an object with the model's completion.")
    return output


_NAMES = ", ".join(sorted(SAMPLE))
