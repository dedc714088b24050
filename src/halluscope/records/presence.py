"""Reading what users have: responses of an LVLM, and the objects of images. Rows are matched by image id."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.records.files import Read, json_rows, load_rows, parse, plain_name, read_text

TEXT_FIELDS = ("response", "caption", "text", "prediction", "answer")
"""Where a response's text is looked for, in this order."""


@dataclass(frozen=True)
class Responses:
    """An LVLM's texts, one an image.

    Attributes:
        name: the file's name without its ending; names the LVLM in a table.
        image_ids: unique.
        texts: in the same order.
    """

    name: str
    image_ids: list[int]
    texts: list[str]


def read_responses(path: str | Path, limit: int | None = None, read: Read = json_rows) -> Responses:
    """Read JSON lines (or a JSON list) with `image_id` and a text (one of `TEXT_FIELDS`).

    Raises:
        ValueError: for a line that is no such object, a text that is none, or an image id that comes twice.
        FileNotFoundError: if there is no such file.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"The limit is {limit}; expected at least 1 response.")
    path = Path(path)
    place: dict[int, str] = {}
    texts: list[str] = []
    for where, row in read(path):
        if limit is not None and len(texts) == limit:
            break
        field = next((field for field in TEXT_FIELDS if isinstance(row, Mapping) and field in row), None)
        if field is None or "image_id" not in row:
            raise ValueError(
                f"{where}: expected an object with image_id and one of {', '.join(TEXT_FIELDS)}; "
                f"got {json.dumps(row)[:120]}."
            )
        if not isinstance(row[field], str):
            raise ValueError(
                f"{where}: {field} is {row[field]!r:.80}; expected the LVLM's text "
                "(an empty text is allowed and mentions nothing)."
            )
        image_id = _image_id(row["image_id"], where)
        if image_id in place:
            raise ValueError(
                f"{where}: image_id {image_id} stands in {place[image_id]} already; "
                "expected one response an image. Remove one of them."
            )
        place[image_id] = where
        texts.append(row[field])
    if not texts:
        raise ValueError(f"{path} holds no response; expected one JSON object a line.")
    return Responses(plain_name(path), list(place), texts)


def read_labels(source: str) -> dict[int, list[str]]:
    """Read which objects are in which image.

    Args:
        source: a dataset (folder or Hub id, with `image_id` and `objects`; "name:split" picks a split), a COCO
            annotation file, or a .json(.gz) or .jsonl(.gz) file of image id -> class names.

    Raises:
        ValueError: for a file of another form, or an image id that comes twice.
        FileNotFoundError: if a file does not exist.
    """
    path = Path(source)
    if path.is_file() and path.name.endswith((".jsonl", ".jsonl.gz")):
        return _labels((row, where) for where, row in json_rows(path))
    if path.is_file():
        return _labels_of_json(path)
    if path.suffix in (".json", ".jsonl", ".gz"):
        raise FileNotFoundError(
            f"There is no file {source}; expected a dataset or a file of image id -> class names."
        )
    return _labels((row, f"{source}, row {number}") for number, row in enumerate(_dataset(source)))


def match(responses: Responses, labels: Mapping[int, Sequence[str]]) -> list[Sequence[str]]:
    """The objects of each response's image.

    Raises:
        ValueError: for a response whose image the labels do not have.
    """
    unknown = [image_id for image_id in responses.image_ids if image_id not in labels]
    if unknown:
        raise ValueError(
            f"{len(unknown)} of the {len(responses.image_ids)} responses of {responses.name} are about images that "
            f"the labels do not have, such as image_id {unknown[0]}. Are these the labels of the same split?"
        )
    return [labels[image_id] for image_id in responses.image_ids]


def _labels_of_json(path: Path) -> dict[int, list[str]]:
    content = parse(read_text(path), str(path))
    if isinstance(content, dict) and "annotations" in content:
        from halluscope.building.coco import read_annotations

        return {image.image_id: list(image.objects) for image in read_annotations(path).images}
    if not isinstance(content, dict):
        raise ValueError(
            f"{path} holds a {type(content).__name__}; expected image id -> class names, or COCO's form."
        )
    return _labels(
        ({"image_id": key, "objects": names}, f"{path}, {key!r}") for key, names in content.items()
    )


def _labels(rows: Any) -> dict[int, list[str]]:
    labels: dict[int, list[str]] = {}
    for row, where in rows:
        if not isinstance(row, Mapping) or "image_id" not in row or not isinstance(row.get("objects"), list):
            raise ValueError(
                f"{where}: expected image_id and objects, a list of class names; got {str(row)[:120]}."
            )
        image_id = _image_id(row["image_id"], where)
        if image_id in labels:
            raise ValueError(f"{where}: image_id {image_id} comes twice in the labels.")
        labels[image_id] = row["objects"]
    return labels


def _dataset(source: str) -> Any:
    name, _, split = source.partition(":")
    dataset = load_rows(name, split=split or "validation")
    missing = {"image_id", "objects"} - set(dataset.column_names)
    if missing:
        raise ValueError(
            f"The dataset {source} has no column {' or '.join(sorted(missing))}: not a presence dataset."
        )
    return dataset.select_columns(["image_id", "objects"])


def _image_id(value: object, where: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{where}: image_id is {value!r:.80}; expected a whole number.")
    return value
