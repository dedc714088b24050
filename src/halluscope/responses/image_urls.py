"""Compares the addresses of images that responses state with the images of the dataset's rows."""

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote

from halluscope.responses.names import is_image_file

# The columns that hold an image's address
URLS = ("image_src", "image_url", "img_url", "image_link", "url", "coco_url", "flickr_url")

_COCO_FILE = re.compile(r"COCO_(?:train|val|test)\d{4}_\d{12}\.jpg|\d{12}\.jpg", re.IGNORECASE)


def address_in(value: Any) -> str:
    """Return the address that a cell holds; "" if it holds none, or the image itself.

    >>> address_in({"url": "https://a.org/dog.jpg"}), address_in("data:image/png;base64,AAAA")
    ('https://a.org/dog.jpg', '')
    """
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        value = value.get("url")
    if not isinstance(value, str) or value.startswith("data:"):
        return ""
    return value.strip()


def file_in(address: str) -> str:
    """Return the name of the file that an address ends in.

    >>> file_in("https://a.org/images/a%20dog.jpg?size=large"), file_in("images/dog.jpg")
    ('a dog.jpg', 'dog.jpg')
    """
    if "://" in address:
        address = address.partition("?")[0].partition("#")[0]
    name = address.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return unquote(name)


def contradicts(
    file: str, name: str, own: Collection[str], known: Collection[str], has_address: bool
) -> bool:
    """Whether an address belongs to another image than the row's.

    An address that names none of the dataset's images says nothing, unless the dataset has addresses as well, or all
    its images and this one are COCO's: then it is known to be another image's.

    Args:
        file: the name of the file in the address.
        name: this name as the names of images are compared: of a file of COCO, the number.
        own: the names of the row's image.
        known: the names of all images of the dataset.
        has_address: whether the row has the address of its image.
    """
    if name in own:
        return False
    if name in known:
        return True
    if has_address:
        return is_image_file(file)
    is_of_coco = all(image.isdigit() for image in own) and len(own) > 0
    return is_of_coco and _COCO_FILE.fullmatch(file) is not None
