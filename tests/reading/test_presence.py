"""Which objects are in which image, in every form that users have."""

import gzip
import json

import datasets
import pytest

from halluscope.reading.presence import ImageObjects, load, read_all


def objects(source):
    return {image.image_id: list(image.objects) for image in load([str(source)])}


def lines(path, *rows):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_labels_of_every_form(tmp_path):
    expected = {7: ["dog"], 9: []}
    plain = tmp_path / "labels.json"
    plain.write_text(json.dumps(expected))
    zipped = tmp_path / "labels.json.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    rows = lines(
        tmp_path / "l.jsonl", *({"image_id": key, "objects": names} for key, names in expected.items())
    )
    coco = tmp_path / "instances.json"
    coco.write_text(
        json.dumps(
            {
                "images": [{"id": 7, "file_name": "7.jpg"}, {"id": 9, "file_name": "9.jpg"}],
                "annotations": [{"id": 1, "image_id": 7, "category_id": 18, "iscrowd": 0}],
                "categories": [{"id": 18, "name": "dog"}],
            }
        )
    )
    parquet = tmp_path / "dataset"
    parquet.mkdir()
    table = datasets.Dataset.from_list(
        [{"image_id": key, "objects": names} for key, names in expected.items()]
    )
    table.to_parquet(parquet / "validation.parquet")
    for source in (plain, zipped, rows, coco, parquet, parquet / "validation.parquet"):
        assert objects(source) == expected, source
    assert objects(f"{parquet}@validation") == expected
    assert [image.file_name for image in load([str(coco)])] == ["7.jpg", "9.jpg"]


def test_several_sources(tmp_path):
    one, two = (lines(tmp_path / f"{i}.jsonl", {"image_id": i, "objects": []}) for i in (1, 2))
    assert load([str(one), str(two)]) == [ImageObjects(1, []), ImageObjects(2, [])]
    with pytest.raises(ValueError, match=r"2\.jsonl, line 1: image_id 2 comes twice in the labels"):
        load([str(two), str(one), str(two)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": ["dog"', "not JSON, or is cut off"),
        ('["dog"]', "holds a list"),
        ('{"1": "dog"}', "objects, a list of class names"),
        ('{"x": ["dog"]}', "labels.json, 'x': image_id is 'x'; expected a whole number"),
        ('{"1": ["dog"], "01": ["cat"]}', "image_id 1 comes twice"),
        ('{"1": ["dog"], "1": ["cat"]}', "'1' stands there twice"),
        ('{"annotations": []}', "not COCO"),
    ],
)
def test_bad_labels(tmp_path, content, message):
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        load([str(path)])


def test_a_dataset_of_something_else(tmp_path):
    datasets.Dataset.from_list([{"image_id": 1, "question": "?"}]).to_parquet(tmp_path / "test.parquet")
    with pytest.raises(ValueError, match="has no column objects: not a presence dataset"):
        load([str(tmp_path)])


def test_a_folder_that_is_no_dataset(tmp_path):
    (tmp_path / "note.md").write_text("no dataset")
    with pytest.raises(ValueError, match="is no dataset that can be loaded"):
        load([str(tmp_path)])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        load([str(tmp_path / "labels.json")])


def test_rows_in_python():
    assert read_all([{"image_id": "7", "objects": ["dog"]}]) == [ImageObjects(7, ["dog"])]
    with pytest.raises(
        ValueError, match=r"references\[1\]: expected image_id and objects, a list of class names"
    ):
        read_all([{"image_id": 7, "objects": []}, {"image_id": 8, "objects": "dog"}])
