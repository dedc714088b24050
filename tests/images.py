"""Image files that are not what they seem: too large, too many, programs, cut off."""

import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

SIDE = 60_000
"""As many pixels as nobody decodes: 3.6 * 10**9 of them, and 10 GB."""


def file(image: Image.Image, kind: str, **options: Any) -> bytes:
    """An image as a file."""
    content = BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def noise(mode: str = "RGB", size: tuple[int, int] = (23, 17), much: float = 90) -> Image.Image:
    """Make an image in which neighbouring pixels always differ."""
    return Image.effect_noise(size, much).convert(mode)


def png(width: int, height: int) -> bytes:
    """Make a PNG that announces this many pixels, but holds few."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def bmp(width: int, height: int) -> bytes:
    """Make a BMP that announces this many pixels."""
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + header + bytes(100)


def tiff(width: int, height: int, tile: int = 0) -> bytes:
    """Make a TIFF that announces this many pixels; `tile` is the side of its only tile, 10 MB packed in 10 kB."""
    data = zlib.compress(bytes(10_000_000))
    place = {324: 8, 325: len(data)} if tile else {273: 8, 278: height, 279: len(data)}
    tags = {256: width, 257: height, 258: 8, 259: 8, 262: 1, 277: 1} | place
    tags |= {322: tile, 323: tile} if tile else {}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(tags.items()))
    return (
        b"II*\0" + struct.pack("<I", 8 + len(data)) + data + struct.pack("<H", len(tags)) + entries + bytes(4)
    )


def gif(width: int, height: int, frame: bool = False) -> bytes:
    """Make a GIF that announces this many pixels, or whose frame is that large, and is cleared after it was shown."""
    content = bytearray(file(Image.new("L", (8, 8)), "GIF"))
    size = struct.pack("<HH", width, height)
    at = content.index(b",\0\0\0\0\x08\0\x08\0")
    if not frame:
        content[6:10] = size
        return bytes(content)
    content[at + 5 : at + 9] = size
    return bytes(content[:at] + b"!\xf9\x04\x08\0\0\0\0" + content[at:])


def webp(width: int, height: int, frames: int = 1) -> bytes:
    """Make a WebP with a canvas of this size."""
    more = [noise(size=(8, 8)) for _ in range(frames - 1)]
    content = file(noise(size=(8, 8)), "WEBP", exif=b"Exif\0\0MM\0*", save_all=True, append_images=more)
    at = content.index(b"VP8X") + 12
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return content[:at] + size + content[at + 6 :]


def jpeg(width: int, height: int) -> bytes:
    """Make a JPEG that announces this many pixels."""
    content = file(noise(), "JPEG")
    at = content.index(b"\xff\xc0") + 5
    return content[:at] + struct.pack(">HH", height, width) + content[at + 4 :]


def huge() -> dict[str, bytes]:
    """Write small files of `SIDE` x `SIDE` pixels, or of as much memory."""
    return {
        "png": png(SIDE, SIDE),
        "bmp": bmp(SIDE, SIDE),
        "bmp upside down": bmp(SIDE, -SIDE),
        "tiff": tiff(SIDE, SIDE),
        "tiff of one tile": tiff(16, 16, tile=30_000),
        "gif": gif(SIDE, SIDE),
        "gif with a frame": gif(SIDE, SIDE, frame=True),
        "webp": webp(SIDE, SIDE),
        "webp of frames": webp(SIDE, SIDE, frames=2),
        "jpeg": jpeg(SIDE, SIDE),
        "just too large": png(13_000, 10_000),
    }


def several() -> dict[str, bytes]:
    """Files of several frames or pages."""
    more: dict[str, Any] = {"save_all": True, "append_images": [noise(), noise()]}
    return {kind: file(noise(), kind, **more) for kind in ("GIF", "PNG", "WEBP", "TIFF")}


def eps() -> bytes:
    """Make a PostScript program, which only Ghostscript runs."""
    return (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n(ran) (w) file closefile\n%%EOF\n"
    )


def ghostscript(folder: Path) -> Path:
    """Write a `gs` that creates the file `ran` next to itself when it runs; put its folder first on PATH."""
    folder.mkdir()
    program = folder / "gs"
    program.write_text('#!/bin/sh\ntouch "$(dirname "$0")/ran"\nexit 1\n')
    program.chmod(0o755)
    return folder
