"""A dataset as a user names it: `name[:config][@split]`, a folder, the Hub, or a file."""

import datasets
import pytest

from halluscope.answering.sources import open_source
from halluscope.errors import BuildError
from halluscope.reading.datasets import (
    Source,
    configs,
    read_rows,
)

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
        ("/home/me@host/hqh@test", Source("/home/me@host/hqh", split="test")),
        ("me@host/a:b/hqh:all@test", Source("me@host/a:b/hqh", "all", "test")),
    ],
)
def test_the_name_of_a_source_is_split_into_its_parts(folder, written, source):
    (folder.parents[1] / "a:b@c.json").write_text("[]")
    assert Source.of(written) == source


@pytest.mark.parametrize("part", [":coco", "@test", ":coco@test"])
def test_a_file_has_no_parts(part, tmp_path):
    """They were ignored, so another part than the one that was named was scored."""
    (tmp_path / "rows.jsonl").write_text('{"id": 1}')
    with pytest.raises(
        ValueError, match="which is a file and has no configs or splits; expected its name alone"
    ):
        read_rows(f"{tmp_path / 'rows.jsonl'}{part}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.jsonl", "", "rows.jsonl holds no row"),
        ("rows.jsonl", "7", "line 1 is 7; expected an object"),
        ("rows.parquet", "PAR1", "rows.parquet is not a Parquet file"),
    ],
)
def test_files_that_are_none(folder, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_rows(str(tmp_path / name))


def test_what_is_not_there(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*rows.jsonl"):
        read_rows(str(tmp_path / "rows.jsonl"))
    (tmp_path / "datasets" / "half").mkdir()
    with pytest.raises(
        ValueError,
        match=r"no dataset 'nowhere' in \S+datasets\. It holds hqh; `halluscope build NAME` makes one\. You",
    ):
        read_rows("nowhere")
    with pytest.raises(ValueError, match=r"no dataset 'hqj' in \S+\. Did you mean 'hqh'\? It holds hqh;"):
        read_rows("hqj@test")
    (tmp_path / "datasets").rename(tmp_path / "elsewhere")
    with pytest.raises(
        ValueError, match=r"no dataset 'hqh' in \S+\. It holds no datasets; `halluscope build hqh` makes it"
    ):
        read_rows("hqh")
    with pytest.raises(ValueError, match="org/hqh cannot be loaded as a dataset .*halluscope build NAME"):
        read_rows("org/hqh")


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hqh", "hqh has the splits .*, .*; name one: hqh@(test|validation)"),
        ("hqh@train", "hqh@train has no split 'train'; it has (test|validation), "),
    ],
)
def test_a_split_has_to_be_named(folder, name, message):
    with pytest.raises(ValueError, match=message):
        read_rows(name)
    assert str(Source.of("hqh:all@test")) == "datasets/hqh:all@test"


def test_a_card_of_another_name(folder):
    (folder / ".huggingface.yaml").write_text("configs: []")
    with pytest.raises(BuildError, match=r"\.huggingface\.yaml is not supported; remove it"):
        read_rows("hqh@test")


# What a folder's card may name


def card(folder, named):
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  {named}\n---\n")
    return str(folder)


@pytest.mark.parametrize(
    "named",
    [
        "data_files: [data/test.parquet, ADDRESS/rows.parquet]",
        "data_files: [{split: test, path: [data/*.parquet, ADDRESS/rows.parquet]}]",
        "data_dir: ADDRESS/",
        "data_files: zip://rows.json::ADDRESS/rows.zip",
        "data_files: simplecache::/elsewhere/rows.parquet",
        "data_files: [{split: test, path: data/../../rows.parquet}]",
    ],
)
def test_a_card_that_names_data_elsewhere(named, folder, serve):
    server = serve(None)
    source = card(folder, named.replace("ADDRESS", server.url))
    for read in (read_rows, configs, open_source):
        with pytest.raises(BuildError, match=r"README\.md names .* as data, which is outside the folder"):
            read(f"{source}@test")
    assert server.got == []


def test_an_address_is_no_dataset(serve):
    server = serve(None)
    for name in (f"{server.url}/rows.parquet", "hf://datasets/a/b", "/dev/zero", "../a/b"):
        with pytest.raises(
            (ValueError, FileNotFoundError),
            match=r"nor a Hub id|There is no file|There is no dataset '(http|hf)'",
        ):
            read_rows(name)
    assert server.got == []


def test_a_script_in_a_folder_is_not_run(folder):
    (folder / f"{folder.name}.py").write_text("raise SystemExit('run')")
    with pytest.raises(ValueError, match="cannot be loaded as a dataset .*scripts are no longer supported"):
        read_rows(f"{folder}@test")


def test_a_folder_that_the_library_takes_for_a_pattern(folder, tmp_path):
    elsewhere = tmp_path / "answers [v2]"
    elsewhere.mkdir()
    folder.rename(elsewhere / "hqh")
    with pytest.raises(
        ValueError, match=r"takes \[, .* in .*/answers \[v2\]/hqh for a pattern; give its folders"
    ):
        read_rows(f"{elsewhere / 'hqh'}@test")
