"""Rows of any benchmark, as a file or a dataset has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halluscope.records.files import json_rows, load_rows

Row = Mapping[str, Any]
JSON = (".json", ".jsonl", ".gz")


def read_rows(source: str) -> Any:
    """Read the rows of a file or a dataset.

    Args:
        source: JSON lines or a JSON list (.gz too), a .parquet file, or a dataset with one split (folder or Hub id;
            "name:config" picks a config).

    Returns:
        A list of objects for JSON, else a `datasets.Dataset` in which images stay as they are stored:
        {"bytes", "path"}.

    Raises:
        ValueError: for what is no such file or dataset, or holds no row.
        FileNotFoundError: if a file does not exist.
    """
    path = Path(source)
    rows = _objects(path) if path.suffix in JSON else _dataset(source)
    if not len(rows):
        raise ValueError(f"{source} holds no row.")
    return rows


def picture_columns(rows: Any) -> list[str]:
    """The columns of a dataset that hold images; none for a list of objects."""
    if isinstance(rows, list):
        return []
    from datasets import Image

    return [name for name, feature in rows.features.items() if isinstance(feature, Image)]


def without_pictures(rows: Any) -> Any:
    """The rows without their images, which are not read."""
    pictures = picture_columns(rows)
    return rows.remove_columns(pictures) if pictures else rows


def _objects(path: Path) -> list[Row]:
    rows = list(json_rows(path))
    for where, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{where} is {str(row)[:80]!r}; expected an object.")
    return [row for _, row in rows]


def _dataset(source: str) -> Any:
    from datasets import Image

    name, _, config = source.partition(":")
    path = Path(name)
    if path.suffix == ".parquet":
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {name}.")
        splits = _parquet(path)
    else:
        splits = load_rows(name, config or None)
    if len(splits) != 1:
        raise ValueError(f"{source} has the splits {', '.join(splits)}; expected a dataset with one.")
    (rows,) = splits.values()
    for column in picture_columns(rows):
        rows = rows.cast_column(column, Image(decode=False))
    return rows


def _parquet(path: Path) -> Any:
    import datasets

    try:
        return datasets.load_dataset("parquet", data_files=str(path))
    except Exception as error:  # the library raises its own, and pyarrow's
        raise ValueError(f"{path} is no Parquet file: {str(error)[:200]}.") from error
