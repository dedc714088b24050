"""Small copies of images: small enough, without metadata, each made once; and their owners."""

import json
from io import BytesIO

import pytest
from PIL import Image as Pillow

from halluscope.errors import BuildError
from halluscope.files.pictures import open_picture
from halluscope.reading.coco import credits
from halluscope.reading.pictures import file_names
from halluscope.reporting.page.pictures import SIDES, picture, pictures, side_of


def photo(width: int = 800, height: int = 600) -> Pillow.Image:
    """Make a JPEG as a camera does, with its location and a comment."""
    image, file = Pillow.effect_noise((width, height), 60).convert("RGB"), BytesIO()
    exif = Pillow.Exif()
    exif[Pillow.ExifTags.Base.Make] = "a camera"
    image.save(file, "JPEG", exif=exif, comment=b"home address", icc_profile=b"colours" * 20, quality=90)
    return open_picture(file.getvalue(), "a photo")


def test_a_copy_says_nothing_of_where_it_was_taken():
    made = picture(photo(), 320, "CC BY 2.0, an address")
    read = Pillow.open(BytesIO(made.content))
    assert (read.format, read.size) == ("WEBP", (320, 240)) == ("WEBP", (made.width, made.height))
    assert made.credit == "CC BY 2.0, an address"
    assert not read.getexif() and not read.info.keys() & {"exif", "icc_profile", "comment", "xmp"}
    assert not any(word in made.content for word in (b"a camera", b"home address", b"colours"))
    assert picture(photo(40, 30), 320).width == 40, "a small image is not made larger"


def test_each_is_made_once_and_knows_whose_it_is():
    asked = []

    def find(name: str) -> Pillow.Image:
        asked.append(name)
        return photo(8, 6)

    made = pictures(["b", "a", "b"], find, {"a": "mine"}, progress=False)
    assert sorted(asked) == ["a", "b"] and list(made) == ["b", "a"]
    assert {name: one.credit for name, one in made.items()} == {"a": "mine", "b": ""}

    def fail(name: str) -> Pillow.Image:
        raise BuildError(f"{name} is cut off")

    with pytest.raises(BuildError, match="b is cut off"):
        pictures(["b"], fail, {}, progress=False)


def test_the_more_there_are_the_smaller_they_get():
    """80 pictures of 640 x 480 take 80 x 640 x 480 x 0.1 = 2.5 MB, 5,000 of 240 x 180 take 21.6 MB."""
    assert (side_of(1), side_of(80), side_of(5_000), side_of(1_000_000)) == (640, 640, 240, SIDES[-1])
    sides = [side_of(count) for count in range(1, 20_000, 37)]
    assert sides == sorted(sides, reverse=True)


def test_files_are_found_by_their_number_or_their_name(tmp_path):
    for name in ("COCO_val2014_000000000017.jpg", "18.PNG", "a.jpg", "000000000019.txt", "20-large.jpg"):
        (tmp_path / name).write_bytes(b"")
    found = {17: "COCO_val2014_000000000017.jpg", "18": "18.PNG", "a.jpg": "a.jpg"}
    assert file_names(tmp_path, {17, "18", 19, 20, "a.jpg", "b.jpg"}) == found
    (tmp_path / "017.jpg").write_bytes(b"")
    assert file_names(tmp_path, {17}) == {17: "017.jpg"}
    for other in ("17.jpg", "17.png"):
        (tmp_path / other).write_bytes(b"")
        said = f"holds 017.jpg and {other}; keep only the one that is the image 17"
        with pytest.raises(ValueError, match=said):
            file_names(tmp_path, {17})
        assert file_names(tmp_path, {"18"}) == {"18": "18.PNG"}, "of others there may be two"
        (tmp_path / other).unlink()


def test_credits_of_an_annotation_file(tmp_path):
    file = tmp_path / "instances.json"
    licenses = [{"id": 3, "name": "CC BY-NC-ND 2.0", "url": "http://example.org"}]
    images = [
        {"id": 1, "license": 3, "flickr_url": "http://flickr/1", "coco_url": "http://coco/1"},
        {"id": 2, "license": 3},
        {"id": 3, "license": 9, "coco_url": "http://coco/3"},
        {"id": 4},
        "nonsense",
    ]
    file.write_text(json.dumps({"images": images, "licenses": licenses}))
    licence = "CC BY-NC-ND 2.0"
    assert credits(file) == {"1": f"{licence}, http://flickr/1", "2": licence, "3": "http://coco/3", "4": ""}
    file.write_text(json.dumps({"images": [{"id": 1, "license": 4}, {"id": 2, "license": [4]}]}))
    assert credits(file) == {"1": "CC BY 2.0", "2": ""}  # COCO's fourth, Attribution
    file.write_text("[1]")
    said = r"instances.json is \[1\]; expected an annotation file in COCO's format"
    with pytest.raises(ValueError, match=said):
        credits(file)
