"""Reads the authors' two lists of images: without the object ("neg"), and with it ("pos")."""

from collections.abc import Iterator
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.sanitize import short_repr

QUESTION = "Can you see a {} in this image. Please answer only with yes or no."
HALVES = {"neg": "no", "pos": "yes"}


def rows(file: Readable, answer: str, first: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list, which has sources, each with objects and their file names."""
    content = read_json(file)
    try:
        named = [
            (source, name, image)
            for source, of in content.items()
            for name, each in of.items()
            for image in each
        ]
        if not all(isinstance(image, str) for _, _, image in named):
            raise TypeError
    except (AttributeError, TypeError) as error:
        raise BuildError(
            f"{file} is {short_repr(content, 120)}; expected an object of sources, each with objects and file names."
        ) from error
    for number, (source, name, image) in enumerate(named, first):
        about = {"source": source, "object": name, "file_name": image}
        yield {"question_id": number, **about, "question": QUESTION.format(name), "answer": answer}
