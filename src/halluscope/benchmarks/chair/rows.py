"""Reads CHAIR's rows, an image and its objects, from a presence dataset, or from annotations and captions together."""

from collections.abc import Sequence

from halluscope import vocabularies
from halluscope.errors import BuildError
from halluscope.files import pickles
from halluscope.mentions import synonyms as synonym_lists
from halluscope.mentions.ground_truth import ground_truth
from halluscope.mentions.reading import CaptionReader
from halluscope.reading import presence
from halluscope.reading.presence import ImageObjects, inputs, read_all
from halluscope.reading.words import readers

# How the cache of CHAIR's script (chair.pkl) becomes JSON, in the folder of the script, whose class it holds
CONVERT = (
    "`import json, pickle; from chair import CHAIR; objects = pickle.load(open('chair.pkl', 'rb')).imid_to_objects; "
    "json.dump({image: sorted(names) for image, names in objects.items()}, open('chair_objects.json', 'w'))`"
)

__all__ = ["ImageObjects", "are_caches", "inputs", "load", "read_all"]


def load(
    sources: Sequence[str],
    *,
    captions: str | None = None,
    synonyms: str | None = None,
    allow_other_synonyms: bool = False,
    reader: str = readers.LEMMINFLECT,
) -> list[ImageObjects]:
    """Read the objects of images from presence datasets, or from COCO's instances_*.json and its captions."""
    for source in sources:
        if pickles.is_named_so(source):
            raise BuildError(
                f"{source} is a pickle, which can run code when it is loaded; expected JSON. If it is the cache of "
                f"CHAIR's script, and you trust who made it, convert it in Python, in the script's folder: {CONVERT}. "
                "Then give that file."
            )
    if captions is None:
        return presence.load(sources, vocabularies.load("coco"))
    if len(sources) != 1:
        raise ValueError(f"captions is given; expected one file of instances, got {len(sources)} datasets.")
    listed = synonym_lists.load(synonyms, allow_other_synonyms)
    words = readers.load(reader, readers.WORDS)
    objects_of = ground_truth(sources[0], captions, CaptionReader(listed.class_of, words.read))
    return [ImageObjects(image_id, objects) for image_id, objects in objects_of.items()]


def are_caches(sources: Sequence[str]) -> bool:
    """Whether each source is a file of image id -> classes, as CHAIR's cache is: it has the captions' objects too."""
    return all(presence.is_names_by_image(source) for source in sources)
