"""The builders' frame and throne_coco, on a small COCO set with real JPEGs, made here."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pooch
import pytest
from datasets import Image, Value, load_dataset
from PIL import Image as Pillow

import halluscope
from halluscope import cli, registry
from halluscope.building import fetch
from halluscope.building import spec as specs
from halluscope.building.output import Order
from halluscope.building.spec import Spec
from halluscope.errors import BuildError
from halluscope.paths import share
from halluscope.terminal import quiet
from tests import images as image_files
from tests import small_datasets
from tests.small_datasets import needs

throne_coco = small_datasets.builder("throne_coco")

# Categories, images and annotations are all out of order on purpose.
CATEGORIES = {87: "scissors", 18: "dog", 1: "person", 47: "cup"}
IMAGES = (30, 10, 20, 40)
ANNOTATIONS = [(10, 47, 0), (30, 18, 1), (10, 1, 0), (10, 47, 0), (40, 87, 0), (40, 1, 1)]
OBJECTS = [["person", "cup"], [], ["dog"], ["person", "scissors"]]


def annotations() -> dict[str, Any]:
    """A COCO file's content, without `info` and `licenses`."""
    return {
        "images": [{"id": i, "file_name": f"{i:012d}.jpg", "width": 32, "height": 24} for i in IMAGES],
        "annotations": [
            {"id": n, "image_id": image, "category_id": category, "iscrowd": crowd, "bbox": [0, 0, 9, 9]}
            for n, (image, category, crowd) in enumerate(ANNOTATIONS)
        ],
        "categories": [{"id": i, "name": name} for i, name in CATEGORIES.items()],
    }


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no proxy, and separate caches for each test."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A folder with instances_val2017.json and val2017/*.jpg."""
    folder = tmp_path / "upstream"
    (folder / "val2017").mkdir(parents=True)
    for i in IMAGES:
        picture = Pillow.effect_noise((32, 24), i).convert("RGB")
        picture.save(folder / "val2017" / f"{i:012d}.jpg", comment=b"kept as it is")
    write_annotations(folder, annotations())
    return folder


def write_annotations(folder: Path, content: Any) -> Path:
    file = folder / "instances_val2017.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def zipped(upstream: Path) -> tuple[Path, Path]:
    """The two archives as COCO publishes them."""
    labels, pictures = upstream / "annotations_trainval2017.zip", upstream / "val2017.zip"
    with zipfile.ZipFile(labels, "w") as archive:
        archive.write(upstream / "instances_val2017.json", "annotations/instances_val2017.json")
    with zipfile.ZipFile(pictures, "w") as archive:
        for file in sorted((upstream / "val2017").iterdir()):
            archive.write(file, f"val2017/{file.name}")
    return labels, pictures


def spec_of(upstream: Path, url: str = "http://127.0.0.1:9", **expected: int) -> Spec:
    """The real spec, with this set's sums and counts."""
    labels, pictures = zipped(upstream)
    sums = {
        "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268": fetch.sha256_of(labels),
        "e8c7f7908f1d7278341fae127d0da654f102f11bd7b21d8aeefa635b8c810b6f": fetch.sha256_of(
            upstream / "instances_val2017.json"
        ),
        "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05": fetch.sha256_of(pictures),
        "http://images.cocodataset.org/annotations": url,
        "http://images.cocodataset.org/zips": url,
        "images = 5000": f"images = {expected.get('images', 4)}",
        "classes = 80": f"classes = {expected.get('classes', 4)}",
        "annotations = 36781": f"annotations = {expected.get('annotations', 6)}",
    }
    text = share("datasets", "throne_coco", "spec.toml").read_text()
    for old, new in sums.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = upstream / "spec.toml"
    file.write_text(text)
    return specs.read(file)


def build(upstream: Path, out: Path, **options: Any) -> Path:
    """Build from local files as the user would with --subset."""
    options = {"images": upstream / "val2017", "subset": True} | options
    built = throne_coco.build(upstream / "instances_val2017.json", options.pop("images"), out, **options)
    assert isinstance(built, Path)
    return built


def load(folder: Path, **options: Any) -> Any:
    return load_dataset(str(folder), split="validation", cache_dir=str(folder.parent / "hf"), **options)


def files(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


# What comes out


def test_rows_have_their_images_bytes_and_classes(upstream: Path, tmp_path: Path) -> None:
    rows = load(build(upstream, tmp_path / "out"))
    assert rows.column_names == ["image_id", "image", "file_name", "prompt", "objects"]
    assert rows.features["image_id"] == Value("int64")
    assert list(rows["image_id"]) == [10, 20, 30, 40]
    assert list(rows["objects"]) == OBJECTS
    assert set(rows["prompt"]) == {"Describe this image in detail."}
    assert rows[0]["image"].size == (32, 24)
    for row in rows.cast_column("image", Image(decode=False)):
        assert row["image"]["bytes"] == (upstream / "val2017" / row["file_name"]).read_bytes()
    assert [row["objects"] for row in load(tmp_path / "out", streaming=True)] == OBJECTS


def test_stats_say_what_was_built_of_what(upstream: Path, tmp_path: Path) -> None:
    out = build(upstream, tmp_path / "out")
    stats = json.loads((out / "stats.json").read_text())
    assert stats["subset"] is True
    assert stats["counts"] == {
        "images": 4,
        "annotations": 6,
        "classes": 4,
        "objects_per_image": {"mean": 1.25, "min": 0, "max": 2},
        "images_without_objects": 1,
        "images_per_class": {"person": 2, "dog": 1, "cup": 1, "scissors": 1},
    }
    published = fetch.sha256_of(upstream / "instances_val2017.json")
    assert stats["sources"] == {
        "annotations": {"sha256": published, "published": False},
        "images": {"sha256": None, "published": None},
    }
    (table,) = stats["tables"]
    (shard,) = table["shards"]
    content = (out / shard["file"]).read_bytes()
    assert table["rows"] == 4
    assert (shard["bytes"], shard["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert str(tmp_path) not in (out / "stats.json").read_text()


# Where it comes from


@pytest.fixture
def server(upstream: Path) -> Iterator[str]:
    """An HTTP server on loopback that serves the upstream folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(upstream))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


def test_sources_are_downloaded_once(upstream: Path, tmp_path: Path, server: str) -> None:
    spec = spec_of(upstream, server)
    out = throne_coco.build(out=tmp_path / "out", cache=tmp_path / "kept", spec=spec)
    stats = json.loads((out / "stats.json").read_text())
    assert stats["subset"] is False
    assert all(source["published"] for source in stats["sources"].values())
    assert "This is a subset" not in (out / "README.md").read_text()
    assert list(load(out)["objects"]) == OBJECTS

    for archive in upstream.glob("*.zip"):  # the second time they come from the cache folder
        archive.unlink()
    again = throne_coco.build(out=tmp_path / "again", cache=tmp_path / "kept", spec=spec)
    assert files(again) == files(out)


def test_a_quiet_download_says_nothing(
    upstream: Path, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Any] = []
    monkeypatch.setattr(pooch.get_logger(), "handle", said.append)
    spec = spec_of(upstream, server)
    throne_coco.build(out=tmp_path / "told", cache=tmp_path / "first", spec=spec)
    assert said
    said.clear()
    with quiet():
        throne_coco.build(out=tmp_path / "quiet", cache=tmp_path / "second", spec=spec)
    assert not said


def test_download_of_something_else(upstream: Path, tmp_path: Path, server: str) -> None:
    spec = spec_of(upstream, server)
    published = spec.sources["annotations"].sha256
    (upstream / "annotations_trainval2017.zip").write_bytes(b"another file")
    arrived = hashlib.sha256(b"another file").hexdigest()
    with pytest.raises(BuildError, match=rf"--source.*expected sha256:{published} but got {arrived}"):
        throne_coco.build(out=tmp_path / "out", cache=tmp_path / "kept", spec=spec)
    assert not list((tmp_path / "kept").iterdir()) and not (tmp_path / "out").exists()


def test_counts_are_expected(upstream: Path, tmp_path: Path) -> None:
    spec = spec_of(upstream, annotations=7000)
    message = (
        "expected to hold 4 images, 4 classes, 7,000 annotations; found 4 images, 4 classes, 6 annotations"
    )
    with pytest.raises(BuildError, match=f"{message}.*Pass --subset if this is intended"):
        build(upstream, tmp_path / "out", spec=spec, subset=False)
    assert not (tmp_path / "out").exists()


# What is refused


def _broken(**changes: Any) -> dict[str, Any]:
    return annotations() | changes


def _more(key: str, entry: Any) -> dict[str, Any]:
    return annotations() | {key: [*annotations()[key], entry]}


BAD_ANNOTATIONS = {
    "cut off in text": (json.dumps(annotations())[:50], r"cut off: .* at character 37"),
    "not JSON": ("image,objects\n1,dog", "begins with 'image,.*; expected an object with lists of images"),
    "images twice": ('{"images": [], "annotations": [], "images": []}', "images is there twice"),
    "images of another kind": (_broken(images={"1": "a"}), "images is {.*, no list; expected"),
    "no image": (_broken(images=[], annotations=[]), "names no images"),
    "an image without a name": (_more("images", {"id": 7}), r"images\[4\] has file_name None"),
    "a duplicate image id": (_more("images", annotations()["images"][1]), r"images\[4\] has id 10, which"),
    "an unknown image": (
        _more("annotations", {"id": 99, "image_id": 5, "category_id": 1}),
        r"annotations\[6\] has image_id 5, which is not among the 4 ids",
    ),
    "an annotation that is a number": (_more("annotations", 9), r"annotations\[6\] is 9; expected an object"),
    "a class of another dataset": (_more("categories", {"id": 500, "name": "sombrero"}), "class 'sombrero'"),
    "an absolute file name": (_more("images", {"id": 7, "file_name": "/etc/hosts"}), "leads out of"),
}


@pytest.mark.parametrize("case", BAD_ANNOTATIONS)
def test_bad_annotations(case: str, upstream: Path, tmp_path: Path) -> None:
    content, message = BAD_ANNOTATIONS[case]
    write_annotations(upstream, content)
    with pytest.raises(BuildError, match=message):
        build(upstream, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"1 of the 4 images are not in .*: 000000000030\.jpg\..*--only-images-present"),
        (b"<html>404</html>", r"000000000030\.jpg is not a readable image: its first bytes"),
        (image_files.eps(), "is not a readable image: it is EPS or PostScript"),
        (image_files.tiff(60_000, 60_000), "is larger than the limit 'pixels'"),
    ],
)
def test_a_bad_image_is_refused_and_nothing_is_written(
    content: bytes | None, message: str, upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a zip, and no program is run to read it."""
    programs = image_files.ghostscript(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    file = upstream / "val2017" / "000000000030.jpg"
    file.write_bytes(content) if content else file.unlink()
    _, pictures = zipped(upstream)
    for place in (upstream / "val2017", pictures):
        with pytest.raises(ValueError, match=message):
            build(upstream, tmp_path / "out", images=place)
    assert not (tmp_path / "out").exists() and not (programs / "ran").exists()


def damaged(archive: Path) -> None:
    """Write a zip whose list of members cannot be read."""
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a", "b")
    archive.write_bytes(archive.read_bytes().replace(b"PK\x01\x02", b"PK\x00\x00"))


def packed(archive: Path, *names: str) -> None:
    with zipfile.ZipFile(archive, "w") as made:
        for name in names:
            made.writestr(name, "{}")


BAD_SOURCES: dict[str, tuple[Any, str]] = {
    "nothing": (lambda place: None, "does not exist; expected the file or folder"),
    "an empty folder": (Path.mkdir, "holds no annotations/instances_val2017.json; name the file"),
    "a damaged zip": (damaged, "cannot be read: .*Get it again"),
    "a zip that leads out": (lambda place: packed(place, "../a"), r"holds '../a'; expected unique names"),
    "a name twice": (lambda place: packed(place, "a", "a"), "holds 'a' twice; expected unique names"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", BAD_SOURCES)
def test_bad_sources(case: str, tmp_path: Path) -> None:
    make, message = BAD_SOURCES[case]
    make(tmp_path / "source")
    with pytest.raises(BuildError, match=message):
        throne_coco.build(tmp_path / "source", out=tmp_path / "out", with_images=False, subset=True)


def test_a_file_is_not_two_images(upstream: Path, tmp_path: Path) -> None:
    """Names that differ in their folders alone, where only one of the folders is there."""
    content = annotations()
    for image, folder in zip(content["images"], ("train", "val"), strict=False):
        image["file_name"] = f"{folder}/1.jpg"
    write_annotations(upstream, content)
    for folder in ("train", "val"):
        (upstream / "val2017" / folder).mkdir()
        shutil.copy(upstream / "val2017" / "000000000030.jpg", upstream / "val2017" / folder / "1.jpg")
    (upstream / "val2017" / "1.jpg").write_bytes((upstream / "val2017" / "train" / "1.jpg").read_bytes())
    build(upstream, tmp_path / "whole")
    for folder in ("train", "val"):
        shutil.rmtree(upstream / "val2017" / folder)
    with pytest.raises(BuildError, match="1.jpg would be both 'train/1.jpg' and 'val/1.jpg', because"):
        build(upstream, tmp_path / "out")


def test_a_zip_that_is_cut_off(upstream: Path, tmp_path: Path) -> None:
    for archive in zipped(upstream):
        archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(
        BuildError, match="--images .*val2017.zip is not a zip, or is cut off. Get it again from http"
    ):
        build(upstream, tmp_path / "out", images=upstream / "val2017.zip")
    with pytest.raises(BuildError, match="--source .*trainval2017.zip is not a zip, or is cut off"):
        throne_coco.build(upstream / "annotations_trainval2017.zip", out=tmp_path / "out", no_images=True)


def test_images_that_are_and_are_not_wanted(upstream: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="--no-images are given; expected one of them"):
        build(upstream, tmp_path / "out", with_images=False)
    for picture in (upstream / "val2017").iterdir():
        picture.unlink()
    with pytest.raises(BuildError, match="None of the 4 images that the annotations name exists"):
        build(upstream, tmp_path / "out", only_images_present=True)


@needs("pope")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forced": True}, "the builder of pope has no option 'forced'. Did you mean 'force'"),
        ({"images": "val2014"}, "the builder of pope has no option 'images'"),
        ({"no_images": True}, "the builder of pope has no option 'no_images'"),
        ({"force": "no"}, "force is 'no'; expected True or False"),
        ({"out": 3}, "out is 3; expected the name of a file or folder"),
        ({"configs": "coco"}, "configs is 'coco'; expected a list of some of coco, aokvqa, gqa"),
        ({"configs": ["cocoa"]}, "configs is 'cocoa'; expected 'coco'"),
        ({"from_annotations": "a.json", "images_count": "4"}, "images_count is '4'; expected a whole number"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        halluscope.build("pope", "nowhere", **options)


def test_no_images_in_python(upstream: Path, tmp_path: Path) -> None:
    """What the command calls --no-images has this name in Python too."""
    annotations = upstream / "instances_val2017.json"
    built = halluscope.build("throne_coco", annotations, out=tmp_path / "out", no_images=True, subset=True)
    assert "image" not in load(built).column_names


def test_a_folder_with_the_published_archives(upstream: Path, tmp_path: Path) -> None:
    """What users download and do not unpack is found by its published name."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for archive in zipped(upstream):
        archive.rename(folder / archive.name)
    out = throne_coco.build(folder, folder, tmp_path / "out", subset=True)
    assert list(load(out)["objects"]) == OBJECTS
    assert load(out)[0]["image"].size == (32, 24)


# The command line, the spec, and where files are


def test_command_line(upstream: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["build", "throne_coco", "--source", str(upstream), "--images", str(upstream)]
    argv += ["--out", str(tmp_path / "out")]
    assert cli.main(argv) == 2
    assert capsys.readouterr().err.startswith("halluscope: ")
    assert cli.main([*argv, "--subset"]) == 0
    printed = capsys.readouterr()
    said = printed.out
    assert "4 images, 6 annotations, 4 classes, 1 images without objects (not as published)" in said
    assert f"load_dataset('{tmp_path / 'out'}', split='validation')" in said
    (after,) = [line for line in printed.err.splitlines() if line.startswith("Next: ")]
    score = f"halluscope score throne_coco --responses answers.jsonl --dataset {tmp_path / 'out'}"
    assert f"`{score} --out runs/mine --judges lexical`" in after


def test_a_quiet_build_shows_no_progress(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", screen)
    argv = ["build", "throne_coco", "--source", str(upstream), "--images", str(upstream), "--subset"]
    assert cli.main([*argv, "--out", str(tmp_path / "seen")]) == 0
    assert "checking images" in screen.getvalue() and "writing" in screen.getvalue()
    screen.truncate(0)
    assert cli.main([*argv, "--out", str(tmp_path / "quiet"), "--quiet"]) == 0
    assert screen.getvalue() == ""


def test_script_runs_from_anywhere(upstream: Path, tmp_path: Path) -> None:
    script = share("builders", "throne_coco.py").resolve()
    words = ["--source", "upstream", "--no-images", "--subset", "--out", "datasets/throne_coco"]
    subprocess.run([sys.executable, str(script), *words], cwd=tmp_path, check=True, capture_output=True)
    assert list(load(tmp_path / "datasets/throne_coco")["objects"]) == OBJECTS


@pytest.mark.parametrize("name", [dataset.name for dataset in registry.datasets()])
def test_every_spec_is_complete(name: str) -> None:
    spec = specs.load(name)
    texts = (spec.version, spec.title, spec.license, spec.license_note, spec.split)
    assert spec.name == name and all(isinstance(text, str) and text for text in texts)
    assert isinstance(spec.publish_images, bool) and (spec.sources or spec.built_from) and spec.expected
    assert all(type(count) is int and count > 0 for count in spec.expected.values())
    for source in spec.sources.values():
        assert source.url.startswith(("http://", "https://"))
        for digest in (source.sha256, source.member_sha256):
            assert digest in (None, specs.UNKNOWN) or re.fullmatch("[0-9a-f]{64}", digest)
        is_file = source.member is not None and not source.member.endswith("/")
        assert is_file == (source.member_sha256 is not None)


def test_a_spec_without_a_source_that_its_builder_reads() -> None:
    spec = replace(specs.load("dash_b"), sources={})
    with pytest.raises(
        BuildError, match=r"spec\.toml has no \[sources\.images\], which --images needs; add it"
    ):
        Order(spec).fetch("images", option="--images")
