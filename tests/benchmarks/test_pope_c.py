"""pope_c: the grid of all questions, its two configs, and their join, from presence datasets built here."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets import Dataset, Image, Value, load_dataset

from halluscope import vocabularies
from halluscope.benchmarks.pope import complete as pope_c
from halluscope.benchmarks.pope.joined import Joined
from halluscope.building import spec as specs
from halluscope.errors import BuildError
from tests import images as image_files
from tests import small_datasets

builder, builder_objects365 = map(small_datasets.builder, ("pope_c", "pope_c_objects365"))
CLASSES = ("person", "dog", "cup")
OBJECTS = {10: ("person", "cup"), 20: (), 30: ("dog",)}
"""What small_datasets has in throne_coco."""

PICTURES = "throne_coco-inputs/val2017"


def build(source: Path, out: Path, **options: Any) -> Path:
    return builder.build(source, out=out, **({"subset": True} | options))


def load(folder: Path, config: str) -> Any:
    return load_dataset(str(folder), config, split="validation", cache_dir=str(folder.parent / "hf"))


def joined(folder: Path, **options: Any) -> Joined:
    return Joined(load(folder, "questions"), load(folder, "images"), **options)


def stats(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "stats.json").read_text())


def throne(folder: Path) -> Path:
    return small_datasets.build("throne_coco", folder, with_images=True)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a small presence dataset."""
    folder = tmp_path_factory.mktemp("source")
    return build(throne(folder), folder / "out")


# The rows


def test_each_class_is_asked_of_each_image(out: Path):
    rows = load(out, "questions")
    assert rows.column_names == ["question_id", "image_id", "object", "question", "answer"]
    assert rows.features["question_id"] == rows.features["image_id"] == Value("int64")
    assert list(rows["question_id"]) == list(range(1, 10))
    assert list(rows["image_id"]) == [image for image in OBJECTS for _ in CLASSES]
    assert list(rows["object"]) == list(CLASSES) * 3
    assert list(rows["answer"]) == [
        "yes" if cls in objects else "no" for objects in OBJECTS.values() for cls in CLASSES
    ]
    assert rows["question"][0] == "Is there a person in the image?"


def test_an_image_is_stored_once(out: Path):
    rows = load(out, "images").cast_column("image", Image(decode=False))
    assert rows.column_names == ["image_id", "image", "file_name"]
    assert list(rows["image_id"]) == list(OBJECTS)
    for row in rows:
        assert row["image"]["bytes"] == (out.parent / PICTURES / row["file_name"]).read_bytes()


def test_from_objects365(tmp_path: Path):
    source = small_datasets.build("throne_objects365", tmp_path)
    rows = load(builder_objects365.build(source, out=tmp_path / "out", subset=True), "questions")
    assert list(rows["answer"]) == ["yes", "yes", "no", "no", "no", "yes"]
    assert rows["question"][1] == "Is there sneakers in the image?"
    with pytest.raises(BuildError, match="holds 'throne_objects365'; expected a presence dataset"):
        build(source, tmp_path / "two")


# The join


def test_each_image_is_opened_once(out: Path):
    opened: list[int] = []

    class Watched(Joined):
        def _open(self, image_id: int) -> Any:
            opened.append(image_id)
            return super()._open(image_id)

    rows = Watched(load(out, "questions"), load(out, "images"))
    seen = [(row["image_id"], row["image"].size, row["object"]) for row in rows]
    assert seen == [(image, (8, 6), name) for image in OBJECTS for name in CLASSES]
    assert opened == list(OBJECTS)
    assert [row["image_id"] for row in rows[2:4]] == [10, 20]


def test_questions_without_their_images_are_refused(out: Path):
    asked, images = load(out, "questions"), load(out, "images")
    with pytest.raises(ValueError, match="1 of the images .* are missing, such as image_id 30"):
        Joined(asked, images.select([0, 1]))
    assert len(Joined(asked.select(range(6)), images.select([0, 1]))) == 6
    with pytest.raises(ValueError, match="repeat 1 image ids"):
        Joined(asked, images.select([0, 0, 1, 2]))
    with pytest.raises(ValueError, match="no column 'image'"):
        Joined(asked, Dataset.from_dict({"image_id": [1]}))
    with pytest.raises(ValueError, match="no image 5 among the 3 images"):
        Joined(asked, images).image_of(5)


def test_an_image_that_cannot_be_read_is_named(out: Path):
    asked, images = load(out, "questions"), load(out, "images")
    stored = images.cast_column("image", Image(decode=False)).to_list()
    stored[1]["image"]["bytes"] = image_files.eps()
    stored[2]["image"] = {"bytes": None, "path": str(out.parent / PICTURES / "000000000030.jpg")}
    broken = Dataset.from_list(stored, features=images.cast_column("image", Image(decode=False)).features)
    rows = Joined(asked, broken.cast_column("image", Image()))
    assert rows.image_of(10).mode == "RGB"
    with pytest.raises(
        BuildError, match=r"The image 20, in row 1, '000000000020\.jpg', is not a readable image: it is EPS"
    ):
        rows.image_of(20)
    with pytest.raises(BuildError, match=r"The image 30, in row 2 is not in its row"):
        rows.image_of(30)


# What is refused


def test_a_subset_needs_subset(tmp_path: Path):
    source = throne(tmp_path)
    with pytest.raises(BuildError, match=r"expected to hold 400,000 questions.*found 9 questions"):
        build(source, tmp_path / "out", subset=False)
    spec = replace(specs.load("pope_c"), expected={"questions": 9, "images": 3, "classes": 3})
    with pytest.raises(BuildError, match="is a subset or a changed copy of throne_coco; pass --subset"):
        build(source, tmp_path / "out", subset=False, spec=spec)
    _change(source, subset=False)
    assert stats(build(source, tmp_path / "out", subset=False, spec=spec))["subset"] is False


def _change(source: Path, **facts: Any) -> None:
    (source / "stats.json").write_text(json.dumps(stats(source) | facts))


def _another_object(source: Path) -> None:
    counts = stats(source)["counts"]
    counts["images_per_class"].pop("dog")
    _change(source, counts=counts)


def _shard(source: Path) -> Path:
    return source / stats(source)["tables"][0]["shards"][0]["file"]


BAD = {
    "other counts": (lambda f: _change(f, counts={"images": 2}), "whose stats.json counts images_per_class"),
    "no dataset": (lambda f: (f / "stats.json").unlink(), "has no stats.json. Build it first"),
    "a missing file": (lambda f: _shard(f).unlink(), "which .*stats.json names, is missing"),
    "a changed file": (lambda f: _shard(f).write_bytes(b"PAR1"), "is not the file that its builder wrote"),
    "an unknown object": (_another_object, "names 'dog', which is not one of the 2 classes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sources(case: str, tmp_path: Path):
    source = throne(tmp_path)
    spoil, message = BAD[case]
    spoil(source)
    with pytest.raises(ValueError, match=message):
        build(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_source_that_is_not_there(tmp_path: Path):
    message = "There is no .*throne_coco, where throne_coco was looked for.*--source datasets/throne_coco"
    with pytest.raises(BuildError, match=message):
        build(tmp_path / "throne_coco", tmp_path / "out")


# The sums of THRONE


def test_as_many_yes_as_objects_in_coco(upstream: Path, tmp_path: Path):
    """The answer is yes exactly where THRONE lists the object."""
    annotations = upstream / "coco" / "mini"
    throne_coco = small_datasets.builder("throne_coco")
    source = throne_coco.build(annotations, out=tmp_path / "throne", with_images=False, subset=True)
    out = tmp_path / "out"
    shards = [source / shard["file"] for shard in stats(source)["tables"][0]["shards"]]
    rows = [
        row for shard in shards for row in pq.read_table(shard, columns=["image_id", "objects"]).to_pylist()
    ]
    asked = load(build(source, out), "questions").filter(lambda row: row["answer"] == "yes")
    assert len(asked) == sum(len(row["objects"]) for row in rows) == stats(out)["counts"]["yes"]
    named = [(row["image_id"], name) for row in rows for name in row["objects"]]
    assert list(zip(asked["image_id"], asked["object"], strict=True)) == named
    assert pope_c.read(source, "throne_coco").classes == list(vocabularies.load("coco").classes)
