"""Reads and writes instruction-tuning samples as LLaVA trains on them, and puts the enumeration before each sample."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halluscope.benchmarks.object_enumeration.enumeration import INSTRUCTION, Enumeration
from halluscope.errors import BuildError
from halluscope.files.json_stream import entries
from halluscope.files.opening import Readable
from halluscope.files.writing import new_file
from halluscope.sanitize import short_repr

# A sample in LLaVA's files: {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}.
Sample = dict[str, Any]

IMAGE = "<image>"  # The placeholder of the image in a turn

_OF_2014 = re.compile(r"COCO_(?:train|val)2014_")


def read_samples(file: Readable, pictures: Mapping[str, int]) -> Iterator[tuple[Sample, int | None]]:
    """Yield samples, each with the index of its picture, if that is annotated."""
    for number, sample in enumerate(entries(file), 1):
        where = f"{file}: sample {number}"
        if not isinstance(sample, dict) or not isinstance(sample.get("image", ""), str):
            raise BuildError(
                f"{where} is {short_repr(sample)}; expected an object whose image is a file name."
            )
        picture = _picture(sample.get("image", ""), pictures)
        if picture is not None:
            _check(sample, where)
        yield sample, picture


def enumerated(sample: Sample, enumeration: Enumeration) -> Sample:
    """Return a sample with the enumeration in front of its turns."""
    turns = [{**turn, "value": _without_image(turn["value"])} for turn in sample["conversations"]]
    first = [{"from": "human", "value": INSTRUCTION}, {"from": "gpt", "value": enumeration.response}]
    return {**sample, "conversations": [*first, *turns]}


@contextmanager
def new_list(path: Path | None) -> Iterator[Callable[[Sample], None]]:
    """Yield what adds a sample to a new JSON list, which appears when complete; without a path, nothing is written."""
    if path is None:
        yield lambda sample: None
        return
    with new_file(path) as file:
        before = "[\n"

        def add(sample: Sample) -> None:
            nonlocal before
            file.write(before + json.dumps(sample))
            before = ",\n"

        yield add
        file.write("\n]\n")


def _picture(image: str, pictures: Mapping[str, int]) -> int | None:
    parts = image.split("/")
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    names = (*tails, _OF_2014.sub("", parts[-1]))
    return next((pictures[name] for name in names if name in pictures), None)


def _check(sample: Sample, where: str) -> None:
    """Check a sample before an enumeration is added to it."""
    if not isinstance(sample.get("id"), str | int):
        raise BuildError(f"{where} has id {short_repr(sample.get('id'))}; expected text or a whole number.")
    turns = sample.get("conversations")
    if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
        raise BuildError(
            f"{where} (id {short_repr(sample['id'])}) has conversations {short_repr(turns)}; expected a list of "
            "objects with from and value, both text."
        )


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in ("from", "value"))


def _without_image(text: str) -> str:
    return text.replace(IMAGE, "").strip() if IMAGE in text else text
