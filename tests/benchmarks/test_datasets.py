"""Datasets of all benchmarks: images are stored as they are, and what is built of the published files is whole.

The published files are where HALLUSCOPE_UPSTREAM has them. POPE's and MME's, which take more than a count, are in
their own tests.
"""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Image, load_dataset

import halluscope
from halluscope import registry
from halluscope.errors import BuildError
from tests import small_datasets
from tests.harness import data as harness_data

NEED_MORE = ("pope_c", "throne_objects365", "object_halbench")
"""Datasets whose builders need more than one source; they have tests of their own."""

WITH_IMAGES = [
    dataset
    for dataset in harness_data.DATASETS
    if small_datasets.builder(dataset.name).images and dataset.name not in NEED_MORE
]


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("dataset", WITH_IMAGES, ids=lambda dataset: dataset.name)
def test_images_are_stored_as_they_are(dataset: Any, packed: bool, tmp_path: Path) -> None:
    small_datasets.build(dataset.name, tmp_path)
    inputs = tmp_path / f"{dataset.name}-inputs"
    source = inputs
    if len([*inputs.iterdir()]) == 1:
        (source,) = inputs.iterdir()
    pictures = tmp_path / "pictures"
    names = harness_data.file_names(tmp_path, dataset)
    for number, name in enumerate(sorted(set(names))):
        harness_data.draw(pictures / name, number)
    if dataset.name == "dash_b":  # its two halves have a file of one name, told apart by its folders
        for place in ("neg/coco/kite/10.jpg", "pos/flickr/kite/10.jpg"):
            (pictures / place).parent.mkdir(parents=True)
            shutil.copy(pictures / "10.jpg", pictures / place)
        (pictures / "10.jpg").rename(tmp_path / "10.jpg")
    images = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", pictures)) if packed else pictures
    out = small_datasets.builder(dataset.name).build(source, images, tmp_path / "out", subset=True)
    rows = load_dataset(str(out), *filter(None, [dataset.config]), cache_dir=str(tmp_path / "hf"))
    (split,) = rows.values()
    stored = split.cast_column("image", Image(decode=False))["image"]
    seen = set()
    for row, image in zip(split, stored, strict=True):
        if image is not None:  # a question may have none, and AMBER's rows about one image share it
            name = row.get(dataset.file) or f"{row[dataset.image_key]}.jpg"
            (file, *_) = [*pictures.rglob(Path(name).name)] if dataset.name == "dash_b" else [pictures / name]
            assert image["bytes"] == file.read_bytes()
            seen.add(name)
    assert seen == {*names}


@pytest.mark.parametrize("name", ["amber", "dash_b", "llava_bench", "repope"])
def test_a_file_is_not_taken_for_several(name: str, tmp_path: Path) -> None:
    small_datasets.build(name, tmp_path)
    file = min((tmp_path / f"{name}-inputs").glob("*.json*"))
    with pytest.raises(BuildError, match="is a file; expected the folder that holds .* and "):
        small_datasets.builder(name).build(file, out=tmp_path / "out", subset=True)


def test_a_table_of_the_authors_may_have_any_name(tmp_path: Path) -> None:
    built = small_datasets.build("haloquest", tmp_path)
    (file,) = (tmp_path / "haloquest-inputs").iterdir()
    again = small_datasets.builder("haloquest").build(
        shutil.copy(file, tmp_path / "questions"), out=tmp_path / "again", subset=True
    )
    assert rows_of(again, tmp_path) == rows_of(built, tmp_path)


def test_a_table_that_pandas_saved_again(tmp_path: Path) -> None:
    """A part of the rows keeps their ids, whatever index pandas wrote beside them; JSON is read as JSON."""
    built = small_datasets.build("haloquest", tmp_path)
    (file,) = (tmp_path / "haloquest-inputs").iterdir()
    expected = rows_of(built, tmp_path)[1:]
    part = pd.read_csv(file).iloc[1:]
    part.to_csv(tmp_path / "index.csv")
    part.reset_index(drop=True).to_csv(tmp_path / "new_index.csv")
    part.to_json(tmp_path / "rows.json", orient="records")
    part.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    for name in ("index.csv", "new_index.csv", "rows.json", "rows.jsonl"):
        out = small_datasets.builder("haloquest").build(
            tmp_path / name, out=tmp_path / "out", subset=True, force=True
        )
        assert rows_of(out, tmp_path) == expected, name


@pytest.mark.parametrize("name", ["pope", "dash_b", "hallusionbench", "hqh", "humblebench", "mme"])
def test_a_table_of_a_dataset_is_the_same_data(name: str, tmp_path: Path) -> None:
    """As a dataset, and as references whose numbers csv has as texts."""
    built = small_datasets.build(name, tmp_path)
    rows = pd.DataFrame(rows_of(built, tmp_path, *["coco"] * (name == "pope")))
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_csv(tmp_path / "rows.tsv", index=False, sep="\t")
    rows.to_excel(tmp_path / "rows.xlsx", index=False)
    responses = rows[[*registry.dataset(name).id]].assign(response="Yes")
    if name == "pope":
        responses["sampling"] = rows["sampling"]
    options: dict[str, Any] = {"bootstrap": 0}
    if name == "hqh":
        options["ratings"] = [{"correct": True, "extra_claims": 0}] * len(rows)
    signatures = set()
    for ending in ("parquet", "csv", "tsv", "xlsx"):
        file = tmp_path / f"rows.{ending}"
        result = halluscope.score(name, responses.to_dict("records"), str(file), **options)
        signatures.add(result["signature"])
    assert len(signatures) == 1
    if name != "pope":  # takes answers, not rows
        compute = registry.benchmark(name).compute
        with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file_of_texts:
            texts = [*csv.DictReader(file_of_texts)]
        results = [
            compute(["Yes"] * len(rows), given, **options) for given in (rows.to_dict("records"), texts)
        ]
        assert results[0]["signature"] == results[1]["signature"]


def rows_of(folder: Path, tmp_path: Path, *config: str) -> list[dict[str, Any]]:
    (split,) = load_dataset(str(folder), *config, cache_dir=str(tmp_path / "hf")).values()
    return list(split)


HQH_TYPES = ("existence", "count", "attribute", "action", "relation", "comparison", "environment", "OCR")

FILES = {
    "amber": ("annotations.json", "query/query_all.json"),
    "gavie": ("evaluation_set.json",),
    "hallusionbench": ("HallusionBench.json",),
    "haloquest": ("haloquest-eval.csv",),
    "hqh": ("HQH.json",),
    "repope": tuple(f"coco_repope_{sampling}.json" for sampling in ("random", "popular", "adversarial")),
}

COUNTS: dict[str, dict[str, Any]] = {
    "amber": {"asked_twice": 10, "both_true_and_imagined": 61, "yes": 4789, "no": 9427},
    "gavie": {"questions": 1000, "images": 120, "regions": 0},
    "hallusionbench": {},
    "haloquest": {"questions": 608},
    "hqh": {"images": 3153, "asked_more_than_once": 47},
    "repope": {"random": 2774, "popular": 2727, "adversarial": 2684},
}
"""What is known from the papers, or by counting with other means."""

GROUPS: dict[str, tuple[tuple[str, ...], dict[Any, int]]] = {
    "amber": (("task",), {("generative",): 1004, ("discriminative",): 14216}),
    "hqh": (("type",), {(name,): 500 for name in HQH_TYPES}),
    "haloquest": (
        ("image_type", "type"),
        {
            ("generated", "false premises"): 208,
            ("generated", "visual challenge"): 110,
            ("generated", "insufficient context"): 73,
            ("real", "false premises"): 96,
            ("real", "visual challenge"): 73,
            ("real", "insufficient context"): 48,
        },
    ),
}
"""Columns, and how many rows have each of their values."""


@pytest.mark.parametrize("name", FILES)
def test_what_is_built_of_the_published_files(name: str, upstream: Path, tmp_path: Path) -> None:
    """It is no subset, holds what was counted, and is scored as the files themselves are."""
    folder = upstream / name
    out = small_datasets.builder(name).build(folder, out=tmp_path / name)
    stats = json.loads((out / "stats.json").read_text())
    assert stats["subset"] is False
    assert all(source["published"] for source in stats["sources"].values() if source["sha256"])
    assert {key: stats["counts"][key] for key in COUNTS[name]} == COUNTS[name]
    room = registry.benchmark(name).module("rows")
    built = room.load([str(out)])
    assert built == room.load([str(folder / file) for file in FILES[name]])
    if name in GROUPS:
        columns, expected = GROUPS[name]
        assert Counter(tuple(getattr(row, column) for column in columns) for row in built) == expected
