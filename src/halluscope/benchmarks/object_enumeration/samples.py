"""LLaVA's samples: read from its files of instructions, given an enumeration, and written to a file like them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, entries
from halluscope.sanitize import short_repr

INSTRUCTION = "<image> Give a list of objects and locations in the image."

# Stands for the image in a turn
PLACEHOLDER = "<image>"

# What the file names of COCO's first release have before the number
OLD_PREFIX = re.compile(r"COCO_(?:train|val)2014_")


@dataclass(frozen=True)
class Sample:
    """A sample of training data."""

    # {"id", "image", "conversations": [{"from": "human" or "gpt", "value"}]}, and what else a file says of it
    content: dict[str, Any]
    image: int | None  # the index of its image; None if the sample stays as it is

    def add_enumeration(self, response: str) -> None:
        """Put the enumeration's turns before its own, which lose their placeholders of the image."""
        turns = [{"from": "human", "value": INSTRUCTION}, {"from": "gpt", "value": response}]
        for turn in self.content["conversations"]:
            value = turn["value"]
            if PLACEHOLDER in value:
                value = value.replace(PLACEHOLDER, "").strip()
            turns.append({**turn, "value": value})
        self.content["conversations"] = turns


def read_samples(file: Readable, images: Mapping[str, int]) -> Iterator[Sample]:
    """Yield the samples of a file; `images` are the indexes of annotated images, by their file names."""
    for number, content in enumerate(entries(file), 1):
        if not is_sample(content):
            raise BuildError(
                f"{file}: sample {number} is {short_repr(content)}; expected an object with id, image (a file name, or "
                "none), and conversations, a list of objects with from and value, both text."
            )
        yield Sample(content, image_of(content.get("image") or "", images))


def image_of(path: str, images: Mapping[str, int]) -> int | None:
    """Return the index of the image that a sample names; None if it is not annotated."""
    folders = path.split("/")
    for start in range(len(folders)):
        end_of_path = "/".join(folders[start:])
        if end_of_path in images:
            return images[end_of_path]
    return images.get(OLD_PREFIX.sub("", folders[-1]))


def is_sample(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    if not isinstance(content.get("id"), str | int) or not isinstance(content.get("image"), str | None):
        return False
    turns = content.get("conversations")
    return isinstance(turns, list) and all(is_turn(turn) for turn in turns)


def is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("from"), str) and isinstance(turn.get("value"), str)


class SampleWriter:
    """Writes samples to a file, as a JSON list."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._before = "[\n"

    def write(self, sample: Sample) -> None:
        self._file.write(self._before + json.dumps(sample.content))
        self._before = ",\n"

    def end(self) -> None:
        self._file.write("\n]\n")
