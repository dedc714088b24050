"""Makes small copies of images, so that a page holds all of them and still opens quickly."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    wanted: Iterable[str], find: Callable[[str], Image], credits: Mapping[str, str], progress: bool = True
) -> dict[str, Picture]:
    """Return small copies of images, by their names."""
    names = list(dict.fromkeys(wanted))
    side = side_of(len(names))
    with ThreadPoolExecutor(WORKERS) as pool:
        made = pool.map(lambda name: picture(find(name), side, credits.get(name, "")), names)
        shown = partial(tqdm, total=len(names), desc="pictures", unit=" images", disable=not progress)
        return dict(zip(names, shown(made), strict=True))


def side_of(count: int) -> int:
    """Return how many pixels the longer side has on a page with `count` pictures."""
    fitting = (side for side in SIDES if count * side * side * 0.75 * PER_PIXEL <= MOST)
    return next(fitting, SIDES[-1])


def picture(image: Image, side: int, credit: str = "") -> Picture:
    """Return a copy as WebP, at most `side` pixels long and wide, without metadata such as camera, place or colours."""
    small = image.copy()
    small.thumbnail((side, side))
    small.info = {}
    content = BytesIO()
    small.save(content, "WEBP", quality=QUALITY, method=4)
    return Picture(content.getvalue(), small.width, small.height, credit)
