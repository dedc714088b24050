import gzip
import json

import datasets
import pytest

from halluscope.reading.presence import match, read_labels, read_responses


def lines(path, *rows):
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8"
    )
    return path


def test_responses(tmp_path):
    path = lines(
        tmp_path / "llava.jsonl", {"image_id": "7", "caption": "A dog."}, "", {"image_id": 3, "response": ""}
    )
    responses = read_responses(path)
    assert (responses.name, responses.image_ids, responses.texts) == ("llava", [7, 3], ["A dog.", ""])
    assert read_responses(path, limit=1).texts == ["A dog."]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"image_id": 1, "capt'], "line 1 is not JSON"),
        ([{"image_id": 1}], "line 1: expected an object with image_id and one of response, caption"),
        ([{"caption": "A dog."}], "line 1: expected an object with image_id"),
        ([{"image_id": 1, "caption": None}], "line 1: caption is None; expected the LVLM's text"),
        ([{"image_id": "x", "caption": "a"}], "image_id is 'x'; expected a whole number"),
        ([{"image_id": 1.7, "caption": "a"}], "image_id is 1.7; expected a whole number"),
        (['{"image_id": 1, "caption": "a", "caption": "b"}'], "'caption' stands there twice"),
        (
            [{"image_id": 1, "caption": "a"}, {"image_id": 1, "caption": "b"}],
            "line 2: image_id 1 stands in .* line 1",
        ),
        ([[1, 2]], "entry 1: expected an object"),
        ([], "holds no response"),
    ],
)
def test_bad_responses(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        read_responses(lines(tmp_path / "r.jsonl", *rows))


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
    for source in (plain, zipped, rows, coco, parquet):
        assert read_labels(str(source)) == expected, source


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"1": ["dog"', "not JSON, or is cut off"),
        ('["dog"]', "holds a list"),
        ('{"1": "dog"}', "objects, a list of class names"),
        ('{"1": ["dog"], "01": ["cat"]}', "image_id 1 comes twice"),
        ('{"1": ["dog"], "1": ["cat"]}', "'1' stands there twice"),
        ('{"annotations": []}', "not COCO"),
    ],
)
def test_bad_labels(tmp_path, content, message):
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_labels(str(path))


def test_a_folder_that_is_no_dataset(tmp_path):
    (tmp_path / "note.md").write_text("no dataset")
    with pytest.raises(ValueError, match="is no dataset that can be loaded"):
        read_labels(str(tmp_path))


def test_a_byte_order_mark_is_not_text(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"image_id": 1, "caption": "a"}).encode())
    assert read_responses(path).texts == ["a"]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_labels(str(tmp_path / "labels.json"))


def test_a_response_whose_image_has_no_labels(tmp_path):
    responses = read_responses(lines(tmp_path / "llava.jsonl", {"image_id": 8, "caption": "A dog."}))
    with pytest.raises(ValueError, match="1 of the 1 responses of llava .* such as image_id 8"):
        match(responses, {7: ["dog"]})
