"""Columns of class labels, which hold numbers: 0 is whatever name comes first."""

from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset

import halluscope
from halluscope.registry import benchmark
from tests import small_datasets

YES_FIRST = ClassLabel(names=["yes", "no"])
SAID = {"1": "Yes", "2": "Yes", "3": "Yes", "4": "Yes"}
RIGHT = ["yes", "yes", "yes", "no"]


@pytest.fixture(autouse=True)
def no_bars() -> Any:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def questions(answers: list[str]) -> Dataset:
    rows = []
    for number, answer in enumerate(answers, 1):
        row = {"question_id": number, "image_id": number, "object": "dog", "answer": answer}
        rows.append(row | {"question": "Is there a dog in the image?"})
    return Dataset.from_list(rows).cast_column("answer", YES_FIRST)


@pytest.mark.parametrize("form", ["loaded", "saved", "parquet"])
def test_right_answers_are_the_names(form: str, tmp_path: Path) -> None:
    rows: Any = questions(RIGHT)
    if form == "saved":
        rows.save_to_disk(tmp_path / "rows")
        rows = tmp_path / "rows"
    elif form == "parquet":
        rows.to_parquet(tmp_path / "rows.parquet")
        rows = tmp_path / "rows.parquet"
    assert halluscope.score("pope", SAID, rows, bootstrap=0)["accuracy"] == 0.75


def test_the_authors_columns_too() -> None:
    rows = []
    for number, label in enumerate(RIGHT, 1):
        row = {"question_id": number, "image": f"a_{number}.jpg", "label": label}
        rows.append(row | {"text": "Is there a dog in the image?"})
    loaded = Dataset.from_list(rows).cast_column("label", YES_FIRST)
    assert halluscope.score("pope", SAID, loaded, bootstrap=0)["accuracy"] == 0.75


def test_references_in_python(tmp_path: Path) -> None:
    column = questions(RIGHT)["answer"]
    assert benchmark("pope").compute(["Yes"] * 4, column, bootstrap=0)["accuracy"] == 0.75
    built = small_datasets.build("dash_b", tmp_path)
    (rows,) = datasets.load_dataset(str(built), cache_dir=str(tmp_path / "hf")).values()
    compute = benchmark("dash_b").compute
    assert compute(rows["answer"], rows, bootstrap=0)["accuracy"] == 1
    labelled = rows.cast_column("answer", YES_FIRST)
    assert compute(rows["answer"], labelled, bootstrap=0)["accuracy"] == 1


def test_labels_in_lists_and_rows_without_one() -> None:
    names = ClassLabel(names=list(small_datasets.COCO))
    rows = Dataset.from_list([{"image_id": 1, "objects": ["dog", "cup"]}, {"image_id": 2, "objects": []}])
    labelled = rows.cast_column("objects", datasets.List(names))
    said = {"1": "A dog and a cup.", "2": "A dog."}
    scores = [halluscope.score("throne", said, of, judges="lexical", bootstrap=0) for of in (rows, labelled)]
    assert scores[0]["signature"] == scores[1]["signature"]
    without = Dataset.from_dict({"answer": [None, "no"]}).cast_column("answer", YES_FIRST)
    with pytest.raises(ValueError, match=r"references\[0\] is None; expected 'yes' or 'no'"):
        benchmark("pope").compute(["Yes", "No"], without["answer"])
