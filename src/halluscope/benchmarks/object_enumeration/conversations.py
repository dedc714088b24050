"""Instruction-tuning samples in the form that LLaVA trains on, and the enumeration that is put before each."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halluscope.benchmarks.object_enumeration.enumeration import INSTRUCTION, Enumeration
from halluscope.errors import BuildError
from halluscope.files.entries import entries
from halluscope.files.opening import Readable
from halluscope.files.writing import new_file
from halluscope.foreign import brief

Sample = dict[str, Any]
"""What LLaVA's files hold: {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}."""

IMAGE = "<image>"
"""What stands for the image in a turn."""

_OF_2014 = re.compile(r"COCO_(?:train|val)2014_")


def read_samples(file: Readable, pictures: Mapping[str, int]) -> Iterator[tuple[Sample, int | None]]:
    """Samples, each with the place of its picture; None for one without an image, or with one that is not annotated.

    Args:
        file: a JSON list of samples.
        pictures: file name -> the place of the picture.

    Raises:
        BuildError: for what is no such list.
    """
    for number, sample in enumerate(entries(file), 1):
        where = f"{file}: sample {number}"
        if not isinstance(sample, dict) or not isinstance(sample.get("image", ""), str):
            raise BuildError(f"{where} is {brief(sample)}; expected an object whose image is a file name.")
        picture = _picture(sample.get("image", ""), pictures)
        if picture is not None:
            _check(sample, where)
        yield sample, picture


def enumerated(sample: Sample, enumeration: Enumeration) -> Sample:
    """A sample with the enumeration before its own turns, and the image before that."""
    turns = [{**turn, "value": _without_image(turn["value"])} for turn in sample["conversations"]]
    first = [{"from": "human", "value": INSTRUCTION}, {"from": "gpt", "value": enumeration.response}]
    return {**sample, "conversations": [*first, *turns]}


@contextmanager
def new_list(path: Path | None) -> Iterator[Callable[[Sample], None]]:
    """Give what adds a sample to a new file, a JSON list; None writes nothing.

    The file is there when all of it is written; what fails leaves its place as it was.
    """
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
    """The picture that a sample's image is: by its whole path, or by less and less of it."""
    parts = image.split("/")
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    names = (*tails, _OF_2014.sub("", parts[-1]))
    return next((pictures[name] for name in names if name in pictures), None)


def _check(sample: Sample, where: str) -> None:
    """Check what an enumeration is put before."""
    if not isinstance(sample.get("id"), str | int):
        raise BuildError(f"{where} has id {brief(sample.get('id'))}; expected text or a whole number.")
    turns = sample.get("conversations")
    if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns):
        raise BuildError(
            f"{where} (id {brief(sample['id'])}) has conversations {brief(turns)}; expected a list of objects with "
            "from and value, both text."
        )


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in ("from", "value"))


def _without_image(text: str) -> str:
    """A turn's text without the mark of the image, which LLaVA puts on a line of its own."""
    return text.replace(IMAGE, "").strip() if IMAGE in text else text
