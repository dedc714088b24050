"""Object HalBench's rows, and a user's file of the names that responses hold."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.responses.rated import warn_of_other_responses
from halluscope.responses.rating_files import rows_in
from halluscope.sanitize import short_repr

# Names that equal the right answers in this share of so many rows are no model's
RIGHT_SHARE = 0.9
FEW_ROWS = 5

# The column of the authors' file with the names that stand for a class, each with its class
OF_SCRIPT = "mscoco_generated_words"

# What models are asked, as the papers print it
PROMPTS = (
    "Provide a thorough description of the given image.",
    "Provide a thorough description of the given picture.",
    "What is this photo about? Please answer in great detail.",
    "Explain the narrative or story that the image seems to convey, detailing each part that contributes to it.",
    "Please provide a detailed description of the image. Describe the visual elements, colors, shapes, textures, and "
    "any objects or people present along with the overall mood or atmosphere portrayed in the image.",
    "Please provide a detailed description of the image, including its visual elements, such as colors, shapes, "
    "textures, objects, and people.",
    "Provide an intricate description of the image, capturing its visual elements, including colors, shapes, textures, "
    "objects, and any people present.",
    "Compose a detailed account of the image, encompassing its visual characteristics, like colors, shapes, textures, "
    "objects, and any human subjects, by paying careful attention to the specifics.",
)


@dataclass(frozen=True)
class Image(Row):
    """An image of COCO val2014, what is asked about it, and what is in it."""

    image_id: int
    file_name: str
    question: str
    objects: tuple[str, ...]  # the COCO classes in it

    @property
    def id(self) -> int:
        """The image's id, because there is one row about each."""
        return self.image_id


class Images(Rows[Image]):
    row_type = Image
    dataset = "object_halbench"
    file = "a file of the same columns"
    id = "image_id"
    needed = ("image_id", "question", "objects")
    before_image = "image_id"

    def parse(self, row: Fields) -> Image:
        image_id = row.whole("image_id")
        return Image(
            image_id=image_id,
            file_name=row.text_or_none("file_name") or file_name_of(image_id),
            question=row.text("question"),
            objects=row.words("objects", "a list of COCO classes"),
            form=row.form,
        )


IMAGES = Images()


def file_name_of(image_id: int) -> str:
    """Return the name of an image's file in COCO's folder val2014."""
    return f"COCO_val2014_{image_id:012d}.jpg"


def are_prompts(questions: Sequence[str]) -> bool:
    """Whether some questions are those of this benchmark, with or without an image's placeholder before them.

    >>> are_prompts([f"<image> {PROMPTS[0]}", PROMPTS[1]]), are_prompts([PROMPTS[0], "Describe this image."])
    (True, False)
    """
    different = {" ".join(question.split()) for question in questions}
    if len(different) < 2:  # one of the prompts may be anybody's
        return False
    return all(question.endswith(PROMPTS) for question in different)


def read_names(
    file: Path, images: Sequence[Image], response_texts: Sequence[str] = ()
) -> list[list[str] | None]:
    """Read the names that each response holds, in the order of the images: rows with image_id and objects.

    Objects are a list of names, or null for a response whose names are not known. The file that the authors' script
    writes (hall_*.json) has the names that stand for a class, each with its class.

    Args:
        file: the file.
        images: the dataset's rows.
        response_texts: the responses; () if they are not known.

    Raises:
        ValueError: for a row that is none, or about another image, and for an image without a row.
    """
    image_ids = [image.image_id for image in images]
    known = set(image_ids)
    stated: dict[int, Mapping[str, Any]] = {}  # the row of each image
    names_of: dict[int, list[str] | None] = {}
    for where, row in rows_in(file):
        if isinstance(row, Mapping) and OF_SCRIPT in row and "objects" not in row:
            row = dict(row, objects=_names_of_script(row[OF_SCRIPT], where))
        if not isinstance(row, Mapping) or "objects" not in row:
            raise ValueError(
                f"{where} is {short_repr(row, 120)}; expected an object with image_id and objects, a list of names, or "
                "the authors' hall_*.json."
            )
        fields = Fields(row, where)
        image_id = fields.whole("image_id")
        if image_id not in known:
            raise ValueError(f"{where}: image_id {image_id} is not among the {len(known):,} images.")
        if image_id in names_of:
            raise ValueError(f"{where} is the second row on the image {image_id}; expected one.")
        names = None
        if row["objects"] is not None:
            names = list(fields.words("objects", "a list of names, or null"))
        names_of[image_id] = names
        stated[image_id] = row
    missing = [image_id for image_id in image_ids if image_id not in names_of]
    if missing:
        raise ValueError(
            f"{file} has no row on {len(missing):,} of the {len(image_ids):,} images, such as image_id {missing[0]}; "
            "expected one per image, with null for a response whose names are not known."
        )
    names_of_images = [names_of[image_id] for image_id in image_ids]
    if response_texts:
        warn_of_other_responses([stated[image_id] for image_id in image_ids], response_texts, str(file))
    _warn_of_right_answers(str(file), names_of_images, images)
    return names_of_images


def _names_of_script(pairs: Any, where: str) -> list[str]:
    """Return the names in a row of the authors' file: pairs, each once if a language model found them."""
    names = []
    if not isinstance(pairs, list):
        pairs = [pairs]
    for pair in pairs:
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
            names.append(pair[0])
    if len(set(names)) < len(pairs):
        raise ValueError(
            f"{where}: {OF_SCRIPT} is {short_repr(pairs, 120)}; expected pairs of a name and its class, each once, as "
            "the authors' script writes them with --use_gpt. Without it they are the words of the captions: leave "
            "--objects out, and rules read these."
        )
    return names


def _warn_of_right_answers(
    file: str, names_of_images: Sequence[Sequence[str] | None], images: Sequence[Image]
) -> None:
    """Warn of a file with the objects that are in the images, in place of those that responses name."""
    same = 0
    for names, image in zip(names_of_images, images, strict=True):
        if names is not None and set(names) == set(image.objects):
            same += 1
    if same >= FEW_ROWS and same >= RIGHT_SHARE * len(images):
        warnings.warn(
            f"{same:,} of the {len(images):,} rows of {file} name just the objects that the dataset has: are these the "
            "right answers? Expected the objects that each response names.",
            stacklevel=2,
        )
