"""Reads from a COCO annotation file which classes are in which image."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from halluscope.errors import BuildError
from halluscope.files.opening import Readable
from halluscope.reading import boxes


@dataclass(frozen=True)
class CocoImage:
    """One image: its id and file name, the classes in it ordered by category id, and its number of annotations."""

    image_id: int
    file_name: str
    objects: tuple[str, ...]
    annotations: int


@dataclass(frozen=True)
class CocoTable:
    """The class names in the order of category ids, the images in the order of image ids, and the category ids."""

    classes: tuple[str, ...]
    images: tuple[CocoImage, ...]
    class_ids: tuple[int, ...]

    @property
    def file_names(self) -> list[str]:
        """The images' file names, in the order of image ids."""
        return [image.file_name for image in self.images]

    def without(self, file_names: Iterable[str]) -> "CocoTable":
        """Return the table without the images that have these file names."""
        gone = set(file_names)
        images = tuple(image for image in self.images if image.file_name not in gone)
        if not images:
            raise BuildError(f"None of the {len(self.images):,} images that the annotations name exists.")
        return replace(self, images=images)

    def only(self, image_ids: Collection[int]) -> "CocoTable":
        """Return the table with only these images."""
        asked = set(image_ids)
        if unknown := sorted(asked - {image.image_id for image in self.images}):
            raise BuildError(
                f"{len(unknown):,} of the {len(asked):,} image ids are not among the {len(self.images):,} images of "
                f"the annotations, such as {unknown[0]}. Are these the annotations of the same split?"
            )
        return replace(self, images=tuple(image for image in self.images if image.image_id in asked))


def read_annotations(file: Readable) -> CocoTable:
    """Read and check an annotation file; its boxes are not read."""
    table = boxes.read(file, sized=False)
    return CocoTable(
        table.classes,
        tuple(
            CocoImage(
                image.image_id, image.file_name, tuple(table.classes[kind] for kind in kinds), int(count)
            )
            for image, kinds, count in zip(
                table.pictures, table.present(), np.diff(table.starts), strict=True
            )
        ),
        table.class_ids,
    )
