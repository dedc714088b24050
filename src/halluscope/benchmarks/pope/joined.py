"""Joins the questions of POPE-Complete with their images: 400,000 questions, each image opened once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from datasets import Dataset
from datasets import Image as ImageFeature
from PIL.Image import Image

from halluscope.reading.pictures import open_stored


class Joined(Sequence[dict[str, Any]]):
    """The questions, each with its image, which is opened on demand and never copied.

    The questions come image by image, so keeping one image open is enough to open each once.
    """

    def __init__(self, questions: Dataset, images: Dataset, keep: int | None = 1) -> None:
        """Join the two configs of `pope_c`, or parts of them.

        Args:
            questions: rows with `image_id`, in any order.
            images: rows with `image_id`, each id once, and `image`.
            keep: how many images stay open; None for all, if questions are read out of order.
        """
        if "image" not in images.column_names:
            raise ValueError(
                "The images have no column 'image': the dataset was built without them. Build throne_* with images, "
                "then pope_c from it; or open the files by `file_name`."
            )
        ids = images["image_id"][:]
        self._place = {image_id: row for row, image_id in enumerate(ids)}
        repeated = len(ids) - len(self._place)
        if repeated:
            raise ValueError(f"The images repeat {repeated:,} image ids; expected each once.")
        missing = sorted(set(questions.unique("image_id")) - self._place.keys())
        if missing:
            raise ValueError(
                f"{len(missing):,} of the images that the questions ask about are missing, such as image_id "
                f"{missing[0]}. Are these the configs `questions` and `images` of the same dataset?"
            )
        self._questions = questions
        self._images = images.cast_column("image", ImageFeature(decode=False))
        self._open_once = lru_cache(keep)(self._open)

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, row: Any) -> Any:
        """Return one question with its image; for a slice, a list of questions with their images."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return self._with_image(self._questions[row])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for question in self._questions:
            yield self._with_image(question)

    def image_of(self, image_id: int) -> Image:
        """Return the image with this id, in RGB. Questions about one image share the object, so change only a copy."""
        if image_id not in self._place:
            raise ValueError(f"There is no image {image_id!r:.80} among the {len(self._place):,} images.")
        return self._open_once(image_id)

    def _with_image(self, question: dict[str, Any]) -> dict[str, Any]:
        return question | {"image": self.image_of(question["image_id"])}

    def _open(self, image_id: int) -> Image:
        row = self._place[image_id]
        return open_stored(self._images[row]["image"], None, f"The image {image_id}, in row {row:,}")
