"""Opening images: which are accepted, and the errors for files that are not images, truncated, too large or missing."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from PIL import Image as Pillow
from PIL.ExifTags import Base
from PIL.Image import Image

from halluscope.errors import BuildError, HalluscopeError
from halluscope.files.opening import inside
from halluscope.files.pictures import open_picture
from halluscope.reading import pictures
from tests import images

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20


def pixels(image: Image) -> list[list[list[int]]]:
    assert image.mode == "RGB"
    return np.asarray(image).tolist()


# What is taken


MODES = {"PNG": "L P RGB RGBA", "BMP": "L P RGB", "GIF": "L P", "TIFF": "L P RGB RGBA", "WEBP": "RGB RGBA"}


@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind in MODES for mode in MODES[kind].split()])
def test_pixels_are_those_that_were_saved(kind: str, mode: str) -> None:
    grey = mode in "LP"
    colours = np.stack([GREY, GREY, GREY] if grey else [GREY, 255 - GREY, GREY // 2], axis=-1)
    drawn = Pillow.fromarray(colours).convert("L" if grey else "RGB").convert(mode)
    content = images.file(drawn, kind, **({"lossless": True} if kind == "WEBP" else {}))
    assert pixels(open_picture(content, "it")) == colours.tolist()


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_greys_of_sixteen_bits_keep_their_brightness(kind: str) -> None:
    drawn = Pillow.fromarray(GREY.astype(np.uint16) * 256 + 255)
    grey = np.stack([GREY, GREY, GREY], axis=-1)
    assert pixels(open_picture(images.file(drawn, kind), "it")) == grey.tolist()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_turned_image_is_upright(kind: str) -> None:
    turned = Pillow.Exif()
    turned[Base.Orientation] = 6  # the first row is on the right
    half = Pillow.new("RGB", (16, 8))
    half.paste((255, 255, 255), (0, 0, 8, 8))
    upright = open_picture(images.file(half, kind, exif=turned), "it")
    assert upright.size == (8, 16)
    assert np.asarray(upright)[2, 4].min() > 200 and np.asarray(upright)[13, 4].max() < 50
    assert Base.Orientation not in upright.getexif(), "nobody turns it once more"


# What is not


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty. Get it again"),
        (
            b"<html>404</html>",
            "its first bytes, b'<html>404</h', are those of no known format; expected JPEG",
        ),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a --><svg/>", "it is an SVG, a drawing without pixels"),
        (images.eps(), "it is EPS or PostScript, a program that draws; expected JPEG, .* Save it as one"),
        (images.file(Pillow.new("RGB", (16, 16)), "ICO"), "it is an ICO;"),
        (images.file(Pillow.new("RGB", (16, 16)), "PDF"), "it is a PDF;"),
        (b"\0\0\0\x1cftypavif" + bytes(40), "it is an AVIF;"),
        (images.png(0, 8), "its header is cut off or damaged"),
        (images.bmp(8, 8), "image file is truncated .* It is cut off or damaged; get it again"),
        *((content, "it holds several frames or pages") for content in images.several().values()),
    ],
)
def test_each_has_its_own_error(content: bytes, message: str) -> None:
    with pytest.raises(BuildError, match=rf"^folder/a\.jpg is not a readable image: {message}"):
        open_picture(content, "folder/a.jpg")


KINDS = {
    "progressive": {"kind": "JPEG", "progressive": True},
    "PNG": {},
    "WEBP": {},
    "deflated": {"kind": "TIFF", "compression": "tiff_adobe_deflate"},
}


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("name", KINDS)
def test_cut_anywhere_or_changed(name: str) -> None:
    """A cut file has all its pixels or none; a changed one an image or our error."""
    options: dict[str, Any] = {"kind": name} | KINDS[name]
    content = images.file(images.noise(size=(15, 11)), **options)
    whole = open_picture(content, "it").tobytes()
    refused = 0
    for end in range(len(content)):
        try:
            assert open_picture(content[:end], "it").tobytes() == whole, end
        except BuildError as error:
            assert str(error).startswith("it is not a readable image: ")
            refused += 1
    assert refused > len(content) - 30  # what follows the pixels of a PNG
    chance = random.Random(0)
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(3):
            changed[chance.randrange(min(len(content), chance.choice((60, 9999))))] = chance.randrange(256)
        try:
            open_picture(bytes(changed), "it").load()
        except HalluscopeError as error:
            assert str(error).startswith("it ")


# Limits


def test_too_many_pixels_take_no_memory() -> None:
    """In another process, where Pillow's warnings would be errors other than ours."""
    script = """
import resource, sys, warnings
from tests import images
from halluscope.errors import LimitExceeded
from halluscope.files.pictures import open_picture
warnings.simplefilter("error")
open_picture(images.file(images.noise(), "PNG"), "it")
held = images.huge()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name, content in held.items():
    try:
        open_picture(content, name)
        sys.exit(f"{name} was opened")
    except LimitExceeded as error:
        assert str(error).startswith(f"{name} is larger than the limit 'pixels' of 100,000,000"), error
        assert "--limits pixels=" in str(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unit = 1024 if sys.platform == "darwin" else 1
    assert float(done.stdout) / unit < 30, "MB"


# Ghostscript


OPENED = {
    "ours": "open_picture(Path('a.jpg').read_bytes(), 'a.jpg')",
    "a list of images": "print(list(read_rows('rows.parquet')))",
    "Pillow": "Image.open('a.jpg').load()",
}


@pytest.mark.parametrize("by", OPENED)
def test_ghostscript_is_not_run(by: str, tmp_path: Path) -> None:
    """Pillow alone would run the program."""
    programs = images.ghostscript(tmp_path / "bin")
    (tmp_path / "a.jpg").write_bytes(images.eps())
    features = datasets.Features({"images": datasets.List(datasets.Image())})
    rows = [{"images": [{"bytes": images.eps(), "path": None}]}]
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "rows.parquet")
    script = (
        "from pathlib import Path\nfrom PIL import Image\nfrom halluscope.files.pictures import open_picture\n"
        f"from halluscope.reading.datasets import read_rows\n{OPENED[by]}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "HF_HOME": str(tmp_path / "hf")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (programs / "ran").exists() == (by == "Pillow"), done.stderr
    assert ("a.jpg is not a readable image: it is EPS" in done.stderr) == (by == "ours")
    assert (done.returncode == 0) == (by == "a list of images"), done.stderr


# Where files may lie


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/etc/passwd", "leads out of"),
        ("inner/../../secret.png", "leads out of"),
        ("link.png", "leads out of"),
        ("links/secret.png", "leads out of"),
        ("\ud800.png", "cannot be a file's name"),
    ],
)
def test_names_that_are_no_files_of_a_folder(name: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    images.noise().save(tmp_path / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "links").symlink_to(tmp_path)
    with pytest.raises(BuildError, match=message):
        inside(folder, name)
    for content in (name, {"bytes": None, "path": name}):
        with pytest.raises(BuildError, match=rf"The image of it cannot be opened: .*{message}"):
            if isinstance(content, str):
                pictures.open_named(content, folder, "The image of it")
            else:
                pictures.open_stored(content, folder, "The image of it")


def test_images_that_a_folder_lacks(tmp_path: Path) -> None:
    images.noise().save(tmp_path / "7.png")
    assert pictures.file_names(tmp_path / "none", [7]) == {}
    with pytest.raises(ValueError, match="There is no folder"):
        pictures.of_folder(tmp_path / "none", {"7.png"})
    with pytest.raises(ValueError, match=r"1 of the 2 images are not in .*, such as 8\.png"):
        pictures.of_folder(tmp_path, {"7.png", "8.png"})
    with pytest.raises(BuildError, match="is called 7; expected the name of a file"):
        pictures.open_named(7, tmp_path, "The image of it")


def test_a_column_that_holds_no_images() -> None:
    table = datasets.Dataset.from_list([{"image_id": 1, "image": 2.5}])
    with pytest.raises(ValueError, match="The column image of it holds"):
        pictures.of_table(table, "image_id", {1}, "it")


def test_a_row_that_names_an_address_or_a_file_elsewhere(serve: Any, tmp_path: Path) -> None:
    """Neither is opened, in a dataset's folder or as a single file."""
    server = serve(None)
    images.noise().save(tmp_path / "secret.png")
    places = [f"{server.url}/a.png", str(tmp_path / "secret.png"), "../secret.png"]
    stored = [{"image_id": i, "image": {"bytes": None, "path": place}} for i, place in enumerate(places)]
    features = datasets.Features({"image_id": datasets.Value("int64"), "image": datasets.Image(decode=False)})
    table = datasets.Dataset.from_list(stored, features=features).cast_column("image", datasets.Image())
    for folder in (None, tmp_path / "data"):
        find = pictures.of_table(table, "image_id", {0, 1, 2}, "it", folder=folder)
        for i in range(3):
            with pytest.raises(BuildError, match=f"The image in row {i} of it"):
                find(i)
    assert pictures.of_table(table, "image_id", {1}, "it", folder=tmp_path)(1).size == (23, 17)
    assert server.got == []
