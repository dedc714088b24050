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

from halluscope import limits
from halluscope.errors import BuildError, HalluscopeError, LimitExceeded
from halluscope.files.opening import inside, is_file
from halluscope.files.pictures import open_picture
from halluscope.reading import pictures
from halluscope.reading.datasets import read_rows
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


def test_jpeg_in_all_its_kinds() -> None:
    red = Pillow.new("RGB", (16, 16), (200, 30, 30))
    for mode in ("RGB", "L", "CMYK"):
        content = images.file(red.convert(mode), "JPEG", progressive=mode == "L")
        expected = Pillow.open(images.BytesIO(content)).convert("RGB")
        assert pixels(open_picture(content, "it")) == pixels(expected)
    red_enough = np.asarray(open_picture(images.file(red, "JPEG"), "it"))[8, 8]
    assert np.abs(red_enough - [200.0, 30, 30]).max() < 4


def test_sixteen_bits_are_as_pillow_has_them() -> None:
    deep = Pillow.fromarray(GREY.astype(np.uint16) * 300)
    content = images.file(deep, "PNG")
    assert pixels(open_picture(content, "it")) == pixels(Pillow.open(images.BytesIO(content)).convert("RGB"))


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


def test_of_a_phones_jpeg_the_first_picture() -> None:
    red, blue = Pillow.new("RGB", (16, 16), "red"), Pillow.new("RGB", (16, 16), "blue")
    content = images.file(red, "MPO", save_all=True, append_images=[blue])
    assert Pillow.open(images.BytesIO(content)).n_frames == 2  # type: ignore[attr-defined]
    assert np.asarray(open_picture(content, "it"))[8, 8].tolist() == pytest.approx([254, 0, 0], abs=3)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_an_animation_of_one_frame_is_an_image(kind: str) -> None:
    assert open_picture(images.file(images.noise(), kind, save_all=True), "it").size == (23, 17)


# What is not


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty. Get it again"),
        (
            b"<html>404</html>",
            "its first bytes, b'<html>404</h', are those of no known format; expected JPEG, PNG, WebP",
        ),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            "it is an SVG, a drawing without pixels; expected JPEG",
        ),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a --><svg/>", "it is an SVG"),
        (images.eps(), "it is EPS or PostScript, a program that draws; expected JPEG, .* Save it as one"),
        (b"\xc5\xd0\xd3\xc6" + bytes(40), "it is EPS or PostScript"),
        (b"%PDF-1.7\n", "it is a PDF;"),
        (images.file(Pillow.new("RGB", (16, 16)), "ICO"), "it is an ICO;"),
        (
            images.file(Pillow.new("RGB", (16, 16)), "PPM"),
            r"its first bytes, .* are those of no known format",
        ),
        (images.file(Pillow.new("RGB", (16, 16)), "PDF"), "it is a PDF;"),
        (b"8BPS\0\1" + bytes(40), "it is a PSD;"),
        (b"\0\0\0\x1cftypavif" + bytes(40), "it is an AVIF;"),
        (b"\0\0\0\x1cftypheic" + bytes(40), "it is a HEIC;"),
        (b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40), "it is a JPEG 2000;"),
        (b"\x89PNG\r\n\x1a\n", "its header is cut off or damaged. Get it again"),
        (images.png(0, 8), "its header is cut off or damaged"),
        (images.bmp(8, 8), "image file is truncated .* It is cut off or damaged; get it again"),
        *((content, "it holds several frames or pages") for content in images.several().values()),
    ],
)
def test_each_has_its_own_error(content: bytes, message: str) -> None:
    with pytest.raises(BuildError, match=rf"^folder/a\.jpg is not a readable image: {message}"):
        open_picture(content, "folder/a.jpg")


def test_a_bomb_of_text() -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + images.zlib.crc32(name + data).to_bytes(4, "big")

    whole = images.file(images.noise(), "PNG")
    bomb = chunk(b"zTXt", b"a\0\0" + images.zlib.compress(bytes(50_000_000)))
    with pytest.raises(BuildError, match=r"a\.png is not a readable image: Decompressed data too large"):
        open_picture(whole[:33] + bomb + whole[33:], "a.png")


KINDS = {
    "JPEG": {},
    "progressive": {"kind": "JPEG", "progressive": True},
    "PNG": {},
    "WEBP": {},
    "BMP": {},
    "GIF": {},
    "TIFF": {},
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


def test_the_limits_are_ours_alone(monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder) -> None:
    content = images.file(images.noise(size=(40, 30)), "TIFF")
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 100)
    with limits.given("pixels=1200"):
        assert open_picture(content, "it").size == (40, 30)
    with limits.given("pixels=1199"), pytest.raises(LimitExceeded, match="^it is larger .* 1,199 pixels"):
        open_picture(content, "it")
    with (
        limits.given("image=1K"),
        pytest.raises(LimitExceeded, match="^it is larger .*'image' of 1,000 bytes"),
    ):
        open_picture(content, "it")
    assert not recwarn and Pillow.MAX_IMAGE_PIXELS == 100


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
        ("../secret.png", "leads out of"),
        ("/etc/passwd", "leads out of"),
        ("inner/../../secret.png", "leads out of"),
        ("link.png", "leads out of"),
        ("links/secret.png", "leads out of"),
        ("a\0.png", "cannot be a file's name"),
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


def test_names_of_files_that_are_not_there(tmp_path: Path) -> None:
    for name in ("nothing.png", "x" * 5000, "C:/a.png", "C:\\a.png", "http://127.0.0.1/a.png", "", "."):
        assert not is_file(inside(tmp_path, name))
        with pytest.raises(BuildError, match="The image of it is called .*, which is not in"):
            pictures.open_named(name, tmp_path, "The image of it")
    for odd in (None, 17, ["a.png"]):
        with pytest.raises(BuildError, match=r"The image of it is called .*; expected the name of a file in"):
            pictures.open_named(odd, tmp_path, "The image of it")


def test_a_link_to_the_folder_and_one_inside(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    images.noise().save(tmp_path / "inner" / "a.png")
    (tmp_path / "inner" / "b.png").symlink_to("a.png")
    (tmp_path / "link").symlink_to(tmp_path / "inner")
    for name in ("a.png", "b.png", str(tmp_path / "inner" / "a.png")):
        assert pictures.open_named(name, tmp_path / "link", "it").size == (23, 17)


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


def test_a_column_of_something_else() -> None:
    table = datasets.Dataset.from_dict({"image_id": [1], "image": [3]})
    with pytest.raises(ValueError, match=r"The column image of it holds Value\('int64'\); expected images"):
        pictures.of_table(table, "image_id", {1}, "it")


def test_files_in_lists_and_objects_stay_as_they_are_stored(tmp_path: Path) -> None:
    content = images.file(images.noise(), "PNG")
    one = {"bytes": content, "path": None}
    features = datasets.Features(
        {"many": datasets.List(datasets.Image()), "in": {"it": datasets.Image()}, "one": datasets.Image()}
    )
    rows = [{"many": [one, one], "in": {"it": one}, "one": one}]
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "rows.parquet")
    assert list(read_rows(str(tmp_path / "rows.parquet"))) == rows
