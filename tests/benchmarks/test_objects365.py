"""throne_objects365: its vocabulary, its names and ids, the draw, and the builder, on generated files of its form."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from halluscope import cli, vocabularies
from halluscope.benchmarks.throne import build as objects365
from halluscope.benchmarks.throne.build import natural_k_shot
from halluscope.building import fetch
from halluscope.building import spec as specs
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.paths import share
from tests import small_datasets

NAMES = vocabularies.load("objects365").classes
builder = small_datasets.builder("throne_objects365")


def file_name(image_id: int) -> str:
    version, patch = (1, image_id % 16) if image_id % 2 else (2, 16 + image_id % 28)
    return f"images/v{version}/patch{patch}/objects365_v{version}_{image_id:08d}.jpg"


def content(images: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Make a file's content; every class occurs, later classes more rarely; the last image is empty."""
    draw = random.Random(seed)
    ids = draw.sample(range(1, 2_000_000), images)
    cells = [(image, 1 + n % 365) for n, image in enumerate(ids[:-1])]
    cells += [(image, 1 + min(int(draw.expovariate(0.02)), 364)) for image in ids[:-1] for _ in range(3)]
    return {
        "images": [
            {"height": 9, "id": i, "license": 5, "width": 9, "file_name": file_name(i), "url": ""}
            for i in ids
        ],
        "annotations": [
            {"id": n, "iscrowd": 0, "isfake": 0, "area": 1.5, "isreflected": 0, "bbox": [0.5, 0, 1, 1.5]}
            | {"image_id": image, "category_id": category}
            for n, (image, category) in enumerate(cells, 1)
        ],
        "categories": [{"name": published(i), "id": i} for i in range(365, 0, -1)],
    }


def published(category: int) -> str:
    """Class 53 is misspelt in the annotations, as it is upstream."""
    return "Bakset" if category == 53 else NAMES[category - 1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with zhiyuan_objv2_val.json, names.csv and ids.txt (12 ids)."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    write(folder, content())
    rows = [f"{i},{published(i)},{name}" for i, name in enumerate(NAMES, 1)]
    (folder / "names.csv").write_text("\r\n".join(rows), newline="")
    (folder / "ids.txt").write_text("".join(f"{i}\n" for i in chosen(folder)))
    return folder


def write(folder: Path, what: Any) -> None:
    (folder / "zhiyuan_objv2_val.json").write_text(json.dumps(what))


def chosen(folder: Path) -> list[int]:
    images = json.loads((folder / "zhiyuan_objv2_val.json").read_text())["images"]
    return [image["id"] for image in images[:12]]


def spec_of(folder: Path, images: int) -> Spec:
    """The real spec, with this set's sums and number of images."""
    text = share("datasets", "throne_objects365", "spec.toml").read_text()
    facts = specs.load("throne_objects365")
    text = text.replace("images = 5110", f"images = {images}")
    for source, name in (("names", "names.csv"), ("ids", "ids.txt")):
        text = text.replace(facts.sources[source].sha256, fetch.sha256_of(folder / name))
    (folder / "spec.toml").write_text(text)
    return specs.read(folder / "spec.toml")


def build(folder: Path, out: Path, **options: Any) -> Path:
    options = {"names": folder / "names.csv", "with_images": False, "subset": True} | options
    if not options.get("sample"):
        options = {"ids": folder / "ids.txt"} | options
    return builder.build(folder / "zhiyuan_objv2_val.json", out=out, **options)


def load(folder: Path) -> Any:
    return load_dataset(str(folder), split="validation", cache_dir=str(folder.parent / "hf"))


def stats(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "stats.json").read_text())


# The vocabulary


def test_the_names_are_those_of_the_table(upstream: Path):
    names = objects365.read_names(upstream / "throne" / "objects365_names_fix.csv")
    assert tuple(names[i][1] for i in range(1, 366)) == NAMES
    assert sum(published != corrected for published, corrected in names.values()) == 13


# The draw

presence = st.dictionaries(st.integers(0, 500), st.sets(st.sampled_from("abcdefg")), min_size=8, max_size=60)


@given(presence, st.integers(1, 4), st.integers(0, 5), st.randoms())
def test_natural_k_shot(classes_of, shots, seed, shuffle):
    every = set().union(*classes_of.values())
    usable = {image for image, classes in classes_of.items() if classes}
    if shots * 7 > len(usable):
        with pytest.raises(BuildError, match=rf"= {shots * 7} images were asked for, but {len(usable)}"):
            natural_k_shot(classes_of, shots, 7, seed)
        return
    drawn = natural_k_shot(classes_of, shots, 7, seed)
    assert len(drawn) == len(set(drawn)) == shots * 7
    assert drawn == sorted(drawn) and set(drawn) <= usable
    assert set().union(*(classes_of[image] for image in drawn)) == every
    items = list(classes_of.items())
    shuffle.shuffle(items)
    assert natural_k_shot(dict(items), shots, 7, seed) == drawn


def test_the_draw_stays_the_same():
    """The draw of a seed may never change, because scores are compared on it."""
    classes_of = {i: {"abc"[i % 3]} if i < 30 else {"d"} for i in range(31)}
    assert natural_k_shot(classes_of, 2, 4, seed=1) == [0, 8, 9, 13, 19, 20, 26, 30]


def test_an_image_that_holds_two_rare_classes_is_swapped_in_once():
    classes_of = {image: {"common"} for image in range(30)} | {30: {"rare", "rarer"}}
    drawn = natural_k_shot(classes_of, 2, 3, seed=0)
    assert len(drawn) == len({*drawn}) == 6 and 30 in drawn


# The builder


def test_rows_are_the_chosen_images_with_their_classes(folder: Path, tmp_path: Path):
    out = build(folder, tmp_path / "out", spec=spec_of(folder, 12), subset=False)
    rows = load(out)
    assert list(rows["image_id"]) == sorted(chosen(folder))
    truth: dict[int, set[int]] = {}
    for annotation in content()["annotations"]:
        truth.setdefault(annotation["image_id"], set()).add(annotation["category_id"])
    assert list(rows["objects"]) == [
        [NAMES[i - 1] for i in sorted(truth[image])] for image in rows["image_id"]
    ]
    assert list(rows["file_name"]) == [file_name(i) for i in rows["image_id"]]
    assert stats(out)["subset"] is False
    assert list(stats(out)["counts"]["images_per_class"]) == list(NAMES)
    digest = fetch.sha256_of(folder / "zhiyuan_objv2_val.json")
    assert stats(out)["sources"]["annotations"] == {"sha256": digest, "published": None}


def test_a_sample_is_the_same_in_any_order_of_the_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spec = spec_of(folder, 730)
    out = build(folder, tmp_path / "out", sample=True, shots=2, seed=3, spec=spec, subset=False)
    assert stats(out)["subset"] is True and stats(out)["counts"]["sample"] == {"shots": 2, "seed": 3}
    assert stats(out)["counts"]["images"] == 730 and "ids" not in stats(out)["sources"]
    assert min(stats(out)["counts"]["images_per_class"].values()) > 0
    other = content()
    other["images"].reverse()
    other["annotations"].reverse()
    write(folder, other)
    again = build(folder, tmp_path / "again", sample=True, shots=2, seed=3, spec=spec, subset=False)
    assert stats(again)["tables"] == stats(out)["tables"]


def test_images_in_patch_folders(folder: Path, tmp_path: Path):
    for image_id in chosen(folder)[1:]:  # all but one
        place = tmp_path / "given" / file_name(image_id)
        place.parent.mkdir(parents=True, exist_ok=True)
        Pillow.effect_noise((9, 9), image_id % 99).save(place)
    options = {"images": tmp_path / "given", "with_images": True}
    with pytest.raises(BuildError, match="1 of the 12 images are not in"):
        build(folder, tmp_path / "out", **options)
    rows = load(build(folder, tmp_path / "out", **options, only_images_present=True))
    assert len(rows) == 11 and rows[0]["image"].size == (9, 9)


def _rows(folder: Path, change: Any) -> None:
    rows = (folder / "names.csv").read_text().splitlines()
    (folder / "names.csv").write_text("\n".join(change(rows)))


BAD = {
    "a category twice": (
        lambda f: _rows(f, lambda rows: [*rows, "1,Person,People"]),
        "row 366 is .*each id and each corrected name once",
    ),
    "another version": (
        lambda f: _rows(f, lambda rows: ["1,Human,Human", *rows[1:]]),
        "Category 1 is 'Person' in the annotations and 'Human' in the table",
    ),
    "an unknown id": (
        lambda f: (f / "ids.txt").write_text("2000001\n2000002\n"),
        "2 of the 2 image ids are not among the 1,000 images .*such as 2000001",
    ),
    "no id": (lambda f: (f / "ids.txt").write_text("\n"), "holds no image ids"),
    "a name too few": (
        lambda f: _rows(f, lambda rows: rows[1:]),
        "364 rows; expected one for .* Category 1 is",
    ),
    "an id too large": (
        lambda f: (f / "ids.txt").write_text("9999999999999999999\n"),
        "line 1 is '9999999999999999999'; expected an image id",
    ),
    "an id that is none": (
        lambda f: (f / "ids.txt").write_text("7\n8.5\n"),
        "line 2 is '8.5'; expected an image id, each once",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_and_nothing_is_written(case: str, folder: Path, tmp_path: Path):
    spoil, message = BAD[case]
    spoil(folder)
    with pytest.raises(BuildError, match=message):
        build(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["--source", str(folder / "zhiyuan_objv2_val.json"), "--names", str(folder / "names.csv")]
    argv += ["--no-images", "--subset", "--out", str(tmp_path / "out")]
    assert cli.main(["build", "throne_objects365", *argv, "--sample", "--shots", "1"]) == 0
    assert "365 images" in capsys.readouterr().out
    for options in ({"ids": None}, {"sample": True, "ids": folder / "ids.txt"}):
        with pytest.raises(BuildError, match=r"Which images\?.*; not both"):
            build(folder, tmp_path / "two", **options)


def test_one_folder_of_the_published_files(folder: Path, tmp_path: Path):
    """The lists of names and ids are found next to the annotations, unless the user names others."""
    given = tmp_path / "given"
    given.mkdir()
    sources = specs.load("throne_objects365").sources
    for source, name in (
        ("annotations", "zhiyuan_objv2_val.json"),
        ("names", "names.csv"),
        ("ids", "ids.txt"),
    ):
        shutil.copy(folder / name, given / sources[source].url.rpartition("/")[2])
    options = {"with_images": False, "subset": True}
    out = builder.build(given, out=tmp_path / "out", **options)
    assert stats(out)["tables"] == stats(build(folder, tmp_path / "named"))["tables"]
    drawn = builder.build(given, out=tmp_path / "drawn", sample=True, shots=1, **options)
    assert stats(drawn)["counts"]["sample"] == {"shots": 1, "seed": 0}


def test_what_cannot_be_checked_is_not_downloaded(folder: Path, tmp_path: Path):
    with pytest.raises(BuildError, match=r"--source is missing: .*its sha256 is unknown"):
        builder.build(names=folder / "names.csv", ids=folder / "ids.txt", out=tmp_path / "out", subset=True)
    with pytest.raises(BuildError, match="--images is missing"):
        build(folder, tmp_path / "out", with_images=True)
