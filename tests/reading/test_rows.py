"""A dataset as a user names it: `name[:config][@split]`, a folder, the Hub, or a file."""

import gzip
import json

import datasets
import pytest

from halluscope.reading.rows import Source, picture_columns, read_columns, read_rows, without_pictures

ROWS = [{"id": 1, "question": "A?"}, {"id": 2, "question": "B?"}]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A dataset of two splits, where `halluscope build` puts one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hf"))
    built = tmp_path / "datasets" / "hqh" / "data"
    built.mkdir(parents=True)
    for split, rows in {"test": ROWS, "validation": ROWS[:1]}.items():
        datasets.Dataset.from_list(rows).to_parquet(built / f"{split}-00000-of-00001.parquet")
    return built.parent


@pytest.mark.parametrize(
    ("written", "source"),
    [
        ("hqh", Source("datasets/hqh")),
        ("hqh@test", Source("datasets/hqh", split="test")),
        ("hqh:all@test", Source("datasets/hqh", "all", "test")),
        ("pope:coco", Source("pope", "coco")),
        ("org/hqh:all", Source("org/hqh", "all")),
        ("a:b@c.json", Source("a:b@c.json")),
    ],
)
def test_names(folder, written, source):
    (folder.parents[1] / "a:b@c.json").write_text("[]")
    assert Source.of(written) == source


def test_splits(folder):
    assert read_rows("hqh@test")["id"][:] == [1, 2] and len(read_rows(f"{folder}@validation")) == 1
    with pytest.raises(ValueError, match=r"hqh has the splits .*; name one: hqh@(test|validation)\."):
        read_rows("hqh")
    with pytest.raises(ValueError, match="hqh@train has no split 'train'; it has"):
        read_rows("hqh@train")


def test_files(folder, tmp_path):
    text = "\n".join(map(json.dumps, ROWS))
    (tmp_path / "rows.jsonl").write_text(text)
    (tmp_path / "rows.json").write_text(json.dumps(ROWS))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    datasets.Dataset.from_list(ROWS).to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.jsonl", "rows.json", "rows.jsonl.gz", "rows.parquet"):
        assert list(read_rows(str(tmp_path / name))) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.jsonl", "", "rows.jsonl holds no row"),
        ("rows.json", "[]", "rows.json holds no row"),
        ("rows.jsonl", "7", "line 1 is 7; expected an object"),
        ("rows.jsonl", '{"id": ', "line 1 is not JSON, or is cut off"),
        ("rows.parquet", "PAR1", "rows.parquet is no Parquet file"),
    ],
)
def test_files_that_are_none(folder, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_rows(str(tmp_path / name))


def test_what_is_not_there(folder, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"There is no file .*rows.jsonl; expected a dataset, or a file"
    ):
        read_rows(str(tmp_path / "rows.jsonl"))
    (tmp_path / "datasets" / "half").mkdir()
    with pytest.raises(
        ValueError,
        match=r"no dataset 'nowhere' in \S+datasets\. It holds hqh; `halluscope build NAME` makes one\. A folder, or",
    ):
        read_rows("nowhere")
    with pytest.raises(ValueError, match=r"no dataset 'hqj' in \S+\. Did you mean 'hqh'\? It holds hqh;"):
        read_rows("hqj@test")
    (tmp_path / "datasets").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"no dataset 'hqh' in \S+\. It holds none; `halluscope build NAME`"):
        read_rows("hqh")
    with pytest.raises(ValueError, match="org/hqh is no dataset that can be loaded .*halluscope build NAME"):
        read_rows("org/hqh")


def test_only_the_named_columns_are_read(folder):
    rows = read_columns("hqh@test", ("id", "level"), ("id",), "the dataset hqh")
    assert rows.column_names == ["id"]
    with pytest.raises(ValueError, match="The dataset hqh@test has no column answer: not the dataset hqh"):
        read_columns("hqh@test", ("id",), ("id", "answer"), "the dataset hqh")


def test_images_stay_as_they_are_stored(tmp_path):
    features = datasets.Features({"id": datasets.Value("int64"), "image": datasets.Image()})
    stored = {"bytes": b"no image at all", "path": "a.png"}
    datasets.Dataset.from_list([{"id": 1, "image": stored}], features=features).to_parquet(
        tmp_path / "rows.parquet"
    )
    rows = read_rows(str(tmp_path / "rows.parquet"))
    assert picture_columns(rows) == ["image"] and rows[0]["image"]["bytes"] == stored["bytes"]
    assert without_pictures(rows).column_names == ["id"]
    assert picture_columns(ROWS) == [] and without_pictures(ROWS) is ROWS


def test_a_dataset_of_the_same_name_card_and_size_is_another_one(tmp_path):
    """The library alone goes by name and card, and gives the first one's rows for the others."""
    card = "---\nconfigs:\n- config_name: default\n  data_files: data/*\n---\n"
    for place, answer in (("one", "yes"), ("two", "not"), ("one", "abc")):
        folder = tmp_path / place / "same"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(card)
        datasets.Dataset.from_list([{"answer": answer}]).to_parquet(folder / "data" / "test.parquet")
        assert read_rows(str(folder))["answer"][:] == [answer]
        assert read_rows(str(folder))["answer"][:] == [answer]
