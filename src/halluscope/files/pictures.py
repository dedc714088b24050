"""Opens image files in six formats; each must hold one picture, be complete, and have no more pixels than allowed.

Pillow's other formats are not tried: for EPS, it runs Ghostscript, which executes the file's program.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import Lock

import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps, UnidentifiedImageError
from PIL.Image import Image
from PIL.TiffImagePlugin import TILELENGTH, TILEWIDTH, TiffImageFile

from halluscope import limits
from halluscope.errors import BuildError, HalluscopeError
from halluscope.sanitize import one_line, short_repr

# The formats that Pillow may try
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")

# Pillow's names for a JPEG; MPO is a JPEG that holds several pictures
JPEGS = ("JPEG", "MPO")

EXPECTED = "expected JPEG, PNG, WebP, BMP, GIF or TIFF"

ORIENTATION = Pillow.ExifTags.Base.Orientation  # type: ignore[attr-defined]

# Matches the beginning of a file in one of `FORMATS`
_BEGIN = re.compile(rb"\xff\xd8\xff|\x89PNG|RIFF.{4}WEBP|BM|GIF8|II[*+]\0|MM\0[*+]", re.DOTALL)

# Other formats, as error messages call them -> how their files begin
_OTHERS = {
    "an SVG, a drawing without pixels": rb"[\xef\xbb\xbf\s]*<(svg\b|!DOCTYPE svg\b|(\?xml|!--).*?<svg\b)",
    "EPS or PostScript, a program that draws": rb"\s*%!|\xc5\xd0\xd3\xc6",
    "a PDF": rb"\s*%PDF",
    "a PSD": rb"8BPS",
    "an ICO": rb"\0\0[\1\2]\0",
    "an AVIF": rb".{4}ftypavi[fs]",
    "a HEIC": rb".{4}ftyp(hei|hev|mif1|msf1)",
    "a JPEG 2000": rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51",
    "a JPEG XL": rb"\0\0\0\x0cJXL |\xff\x0a",
}

# Held while Pillow's own limit is replaced
_one_at_a_time = Lock()


def open_picture(content: bytes, name: str) -> Image:
    """Return an image upright and in RGB, after decoding all of it to check that it is complete."""
    limits.check("image", len(content), name)
    with _named(name, content), _our_limit():
        # an extended WebP states its size; its decoder reserves memory as soon as the file is opened
        if content.startswith(b"RIFF") and content[8:16] == b"WEBPVP8X":
            width = 1 + int.from_bytes(content[24:27], "little")
            height = 1 + int.from_bytes(content[27:30], "little")
            _check_size(width, height)
        image = _open(content)
        _check(image, name)
        image.load()
        if image.getexif().get(ORIENTATION, 1) != 1:
            return _in_rgb(ImageOps.exif_transpose(image))
        if image.mode != "RGB":
            return _in_rgb(image)
        if image.format in JPEGS:
            # undecoded, to save memory: harnesses open all images before they ask about the first
            return _open(content)
        return image


def _in_rgb(image: Image) -> Image:
    if image.mode.startswith("I;16"):  # Pillow would make white of all but the darkest of 65,536 greys
        image = Pillow.fromarray((np.asarray(image) // 256).astype(np.uint8))
    return image.convert("RGB")


def data_uri(image: Image) -> str:
    """Return an opened image as a data URI: a JPEG as it is stored, any other image as a PNG, which is lossless."""
    stored = getattr(image, "fp", None)
    if image.format in JPEGS and isinstance(stored, BytesIO):
        return f"data:image/jpeg;base64,{b64encode(stored.getvalue()).decode()}"
    content = BytesIO()
    image.save(content, "PNG")
    return f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"


def _open(content: bytes) -> Image:
    return Pillow.open(BytesIO(content), formats=FORMATS)


def _check(image: Image, name: str) -> None:
    if isinstance(image, TiffImageFile):  # a tile is decoded as a whole, however little of it is shown
        _check_size(int(image.tag_v2.get(TILEWIDTH, 1)), int(image.tag_v2.get(TILELENGTH, 1)))
    if getattr(image, "is_animated", False) and image.format not in JPEGS:
        raise _unreadable(
            name,
            "it holds several frames or pages, and it is unknown which one is meant. Save that one as a PNG.",
        )


def _check_size(width: int, height: int) -> None:
    if width * height > limits.most("pixels"):
        raise Pillow.DecompressionBombError


@contextmanager
def _named(name: str, content: bytes) -> Iterator[None]:
    """Turn each error of Pillow's decoders into one that names the image."""
    try:
        yield
    except HalluscopeError:
        raise
    except Pillow.DecompressionBombError:
        limits.check("pixels", limits.most("pixels") + 1, name)
    except UnidentifiedImageError as error:
        raise _unreadable(name, _unidentified(content)) from error
    except Exception as error:  # decoders raise errors of many kinds, MemoryError too
        why = one_line(str(error) or type(error).__name__, 200)
        raise _unreadable(name, f"{why}. It is cut off or damaged; get it again.") from error


class _Limit(int):
    """A limit for Pillow that refuses every larger image; by itself Pillow refuses only those above twice its limit."""

    def __rmul__(self, _: int) -> int:
        return self


@contextmanager
def _our_limit() -> Iterator[None]:
    """Let Pillow refuse what is larger than our limit, before it decodes anything or reserves memory for it."""
    with _one_at_a_time:
        before = Pillow.MAX_IMAGE_PIXELS
        Pillow.MAX_IMAGE_PIXELS = _Limit(limits.most("pixels"))
        try:
            yield
        finally:
            Pillow.MAX_IMAGE_PIXELS = before


def _unidentified(content: bytes) -> str:
    if not content:
        return "it is empty. Get it again."
    if _BEGIN.match(content):
        return "its header is cut off or damaged. Get it again."
    for kind, begin in _OTHERS.items():
        if re.match(begin, content[:4096], re.DOTALL):
            return f"it is {kind}; {EXPECTED}. Save it as one of these."
    return f"its first bytes, {short_repr(content[:12])}, are those of no known format; {EXPECTED}. Get it again."


def _unreadable(name: str, why: str) -> BuildError:
    return BuildError(f"{name} is not a readable image: {why}")
