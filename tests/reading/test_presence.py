"""Which objects are in which image, in every format that users have."""

import gzip
import json

import datasets
import pytest

from halluscope import vocabularies
from halluscope.errors import BuildError
from halluscope.reading.presence import load

COCO = vocabularies.load("coco")


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
    lines_in_json = tmp_path / "lines.json"
    lines_in_json.write_bytes(rows.read_bytes())
    listed = tmp_path / "listed.json"
    listed.write_text(json.dumps([json.loads(line) for line in rows.read_text().splitlines()]))
    parquet = tmp_path / "dataset"
    parquet.mkdir()
    table = datasets.Dataset.from_list(
        [{"image_id": key, "objects": names} for key, names in expected.items()]
    )
    table.to_parquet(parquet / "validation.parquet")
    (tmp_path / "LABELS.PARQUET").write_bytes((parquet / "validation.parquet").read_bytes())
    files = (plain, zipped, rows, lines_in_json, listed, coco, parquet / "validation.parquet")
    for source in (*files, parquet, tmp_path / "LABELS.PARQUET"):
        assert objects(source) == expected, source
    assert objects(f"{parquet}@validation") == expected
    assert [image.file_name for image in load([str(coco)])] == ["7.jpg", "9.jpg"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": ["dog"', "not JSON, or is cut off"),
        ('["dog"]', "entry 1: expected image_id and objects, a list of class names; got 'dog'"),
        ('{"1": "dog"}', "objects, a list of class names"),
        ('{"x": ["dog"]}', "labels.json, 'x': image_id is 'x'; expected a 64-bit whole number"),
        ('{"1": ["dog"], "01": ["cat"]}', "has the image_id 1, which .* has too"),
        ('{"annotations": []}', "has no images and no categories; expected an object with lists of images"),
    ],
)
def test_bad_labels(tmp_path, content, message):
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        load([str(path)])


def test_a_table_has_no_lists(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("image_id,objects\n1,\"['dog']\"\n")
    with pytest.raises(
        ValueError, match="labels.csv is a table, in which a list of class names is a text; expected"
    ):
        load([str(path)])


# The classes of the labels


@pytest.fixture
def coco_file(tmp_path):
    """Writes a COCO file with categories of these names, and images of these file names."""

    def write(names=COCO.classes, files=("7.jpg", "9.jpg"), ids=(7, 9)):
        content = {
            "images": [{"id": key, "file_name": file} for key, file in zip(ids, files, strict=True)],
            "annotations": [{"id": 1, "image_id": 7, "category_id": 0, "iscrowd": 0}],
            "categories": [{"id": place, "name": name} for place, name in enumerate(names)],
        }
        (tmp_path / "instances.json").write_text(json.dumps(content))
        return str(tmp_path / "instances.json")

    return write


def test_annotations_know_the_very_classes_of_the_vocabulary(coco_file):
    assert [image.objects for image in load([coco_file()], COCO)] == [["person"], []]
    shuffled = list(reversed(COCO.classes))
    assert [image.objects for image in load([coco_file(shuffled)], COCO)] == [[shuffled[0]], []]
    for names, message in (
        (
            COCO.classes[:3],
            r"it lacks 77 \('motorcycle', 'airplane', 'bus', 'train', 'truck', \.\.\.\)\. Every mention",
        ),
        (["persn", *COCO.classes[1:]], r"it lacks 1 \('person'\) and has others: 1 \('persn'\)"),
        ([*COCO.classes, "unicorn"], r"has others: 1 \('unicorn'\)"),
    ):
        with pytest.raises(BuildError, match=rf"instances\.json does not have the 80 categories .*{message}"):
            load([coco_file(names)], COCO)
        assert load([coco_file(names)])
