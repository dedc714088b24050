"""Small copies of images, so that a page holds all of them and stays small enough to open at once."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO

from PIL.Image import Image
from tqdm import tqdm

from halluscope.reporting.page.content import Picture

MOST = 30_000_000
"""Bytes that all pictures of a page may take."""

SIDES = (640, 480, 320, 240, 160)
"""Pixels of the longer side; the largest with which all fit."""

QUALITY = 60
PER_PIXEL = 0.1
"""Bytes that a pixel of a photo takes in a WebP file of this quality, with something to spare."""

WORKERS = 4


def pictures(
    wanted: Iterable[str], find: Callable[[str], Image], credits: Mapping[str, str], progress: bool = True
) -> dict[str, Picture]:
    """Small copies of images.

    Args:
        wanted: what the images are called; one that comes twice is made once.
        find: gives an image by that; called from several threads.
        credits: whose an image is, and its licence, as far as that is known.
        progress: show how many are done.

    Raises:
        HalluscopeError: for an image that cannot be opened.
    """
    names = list(dict.fromkeys(wanted))
    side = side_of(len(names))
    with ThreadPoolExecutor(WORKERS) as pool:
        made = pool.map(lambda name: picture(find(name), side, credits.get(name, "")), names)
        shown = partial(tqdm, total=len(names), desc="pictures", unit=" images", disable=not progress)
        return dict(zip(names, shown(made), strict=True))


def side_of(count: int) -> int:
    """How many pixels the longer side has where a page holds so many pictures."""
    fitting = (side for side in SIDES if count * side * side * 0.75 * PER_PIXEL <= MOST)
    return next(fitting, SIDES[-1])


def picture(image: Image, side: int, credit: str = "") -> Picture:
    """A copy that is no larger than `side` pixels, as WebP, without what the file said of camera, place or colours."""
    small = image.copy()
    small.thumbnail((side, side))
    small.info = {}
    content = BytesIO()
    small.save(content, "WEBP", quality=QUALITY, method=4)
    return Picture(content.getvalue(), small.width, small.height, credit)
