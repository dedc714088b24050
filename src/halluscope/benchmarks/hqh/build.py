"""Builds hqh: 4,000 free-form questions of eight types about images of Visual Genome.

A row holds a question, its short answer, its image, and the caption and regions of the image, if image_data.json is
given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from halluscope.benchmarks.hqh.metric import GRADED
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.graded.build import Extra, builder
from halluscope.inputs import id_of
from halluscope.sanitize import short_repr

ImageData = Mapping[int, tuple[str, str]]
"""Image id -> the caption, and the annotated regions as text."""


def read_image_data(file: Readable) -> ImageData:
    """Read image_data.json: the caption and the image_information of each image id.

    Raises:
        BuildError: for a file in another format, or a broken entry; the message names the image id.
    """
    content = read_json(file)
    if not isinstance(content, dict):
        raise BuildError(
            f"{file} holds {short_repr(content)}; expected image id -> caption and image_information: "
            "image_data.json."
        )
    return dict(_known(key, entry, str(file)) for key, entry in content.items())


def _known(key: str, entry: Any, file: str) -> tuple[int, tuple[str, str]]:
    if (image_id := id_of(key)) is None:
        raise BuildError(f"{file} has the entry {short_repr(key)}; expected an image id, which is a number.")
    for name in ("caption", "image_information"):
        if not isinstance(entry, dict) or not isinstance(entry.get(name), str):
            raise BuildError(f"{file}: the image id {key} has no text as {name}; expected one.")
    return image_id, (entry["caption"], entry["image_information"])


def describe(file: Readable, questions: Sequence[Any]) -> list[Any]:
    """Return the questions with the captions and regions of their images.

    Raises:
        BuildError: for images without an entry, with their ids.
    """
    known = read_image_data(file)
    missing = sorted({question.image_id for question in questions} - known.keys())
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise BuildError(
            f"--image-data has no entry for {len(missing):,} of the questions' images: image id {shown}. Get the "
            "image_data.json that belongs to these questions, or leave --image-data out."
        )
    told = {image_id: [text.strip() or None for text in texts] for image_id, texts in known.items()}
    return [
        replace(question, caption=caption, details=details)
        for question in questions
        for caption, details in [told[question.image_id]]
    ]


BUILDER = builder(
    GRADED,
    Extra("image_data", "image_data.json: captions and regions, which are shown to a judge", describe),
)
