"""Makes small copies of images, so that a page holds all of them and still opens quickly."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

from PIL.Image import Image
from tqdm import tqdm

from halluscope.reporting.page.content import Picture

MOST = 30_000_000  # the most bytes that all pictures of a page may take

# Choices for the longer side in pixels; the largest with which all pictures fit is taken.
SIDES = (640, 480, 320, 240, 160)

QUALITY = 60
# Bytes per pixel of a photo in a WebP file of this quality, with a margin.
PER_PIXEL = 0.1

WORKERS = 4


def pictures(
    names: Iterable[str],
    find: Callable[[str], Image],
    credits: Mapping[str, str],
    progress: bool = True,
    count: int = 0,
) -> dict[str, Picture]:
    """Return small copies of images, by their names; `count` images are on the page, if these are not all."""
    different = list(dict.fromkeys(names))
    side = side_of(max(count, len(different)))

    def copy(name: str) -> Picture:
        return picture(find(name), side, credits.get(name, ""))

    copies = {}
    with ThreadPoolExecutor(WORKERS) as pool:
        finished = tqdm(
            pool.map(copy, different),
            total=len(different),
            desc="pictures",
            unit=" images",
            disable=not progress,
        )
        for name, small in zip(different, finished, strict=True):
            copies[name] = small
    return copies


def side_of(count: int) -> int:
    """Return how many pixels the longer side has on a page with `count` pictures."""
    for side in SIDES:
        pixels = side * side * 0.75
        if count * pixels * PER_PIXEL <= MOST:
            return side
    return SIDES[-1]


def picture(image: Image, side: int, credit: str = "") -> Picture:
    """Return a copy as WebP, at most `side` pixels long and wide, without metadata such as camera, place or colours."""
    small = image.copy()
    small.thumbnail((side, side))
    small.info = {}
    content = BytesIO()
    small.save(content, "WEBP", quality=QUALITY, method=4)
    return Picture(content.getvalue(), small.width, small.height, credit)
