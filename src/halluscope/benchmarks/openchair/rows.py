"""Reads OpenCHAIR's rows: an image, and the caption that it was made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows


@dataclass(frozen=True)
class CaptionedImage(Row):
    """An image that a text-to-image model made."""

    image_id: int
    true_caption: str  # the right caption, from which the image was made
    prompt: str = ""  # what is asked about the image; "" for the benchmark's own prompt


class CaptionedImages(Rows[CaptionedImage]):
    row_type = CaptionedImage
    dataset = "openchair"
    file = "the authors' dataset"
    id = "image_id"
    needed = ("image_id", "true_caption")
    upstream: ClassVar[Mapping[str, str]] = {"true_caption": "text"}
    marker = ""  # the authors' rows have no id but their index

    def parse(self, row: Fields) -> CaptionedImage:
        return CaptionedImage(
            image_id=row.whole("image_id"),
            true_caption=row.text("true_caption"),
            prompt=row.text_or_none("prompt") or "",
            form=row.form,
        )


IMAGES = CaptionedImages()


def load(sources: Sequence[str]) -> list[CaptionedImage]:
    """Read datasets, or files of the authors, as users name them."""
    return IMAGES.load(sources)


def read_all(rows: Sequence[Any], where: str = "references") -> list[CaptionedImage]:
    """Read rows, as the dataset or the authors' file has them."""
    return IMAGES.read_all(rows, where)


def inputs(rows: Sequence[CaptionedImage]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {
        "references": [row.true_caption for row in rows],
        "image_ids": [row.image_id for row in rows],
        "forms": [row.form for row in rows],
    }
