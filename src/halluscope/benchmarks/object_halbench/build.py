"""Builds object_halbench: 300 images of COCO val2014, what is asked about each, and the COCO classes in it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from halluscope import vocabularies
from halluscope.benchmarks.object_halbench.data import IMAGES, Image, file_name_of
from halluscope.benchmarks.object_halbench.metric import LISTS
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched, fetch, sha256_of
from halluscope.building.output import Order
from halluscope.building.spec import UNKNOWN
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.mentions import synonyms as synonym_lists
from halluscope.mentions.ground_truth import ground_truth
from halluscope.mentions.reading import CaptionReader
from halluscope.options import Option
from halluscope.paths import path_of
from halluscope.reading import presence
from halluscope.reading.fields import Fields
from halluscope.reading.words import lemmas
from halluscope.sanitize import short_repr

# Of the images' ids, sorted as text, one per line
IMAGES_SHA256 = "3425d5cadce5"  # the first digits

INSTANCES = "instances_val2014.json"
CAPTIONS = "captions_val2014.json"


def counts(rows: Sequence[Image]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    return {"images": len(rows), "prompts": len({row.question for row in rows})}


def make(order: Order, objects: Path | None = None, synonyms: Path | None = None) -> Path:
    if objects is None:
        raise BuildError(
            "--objects is missing; expected CHAIR's cache as JSON (image id -> the objects in it), or the folder of "
            f"COCO's {INSTANCES} and {CAPTIONS}: {order.spec.sources['objects'].url}."
        )
    out = order.target()
    questions = fetch_questions(order)
    question_of = read_questions(questions.path)
    check_images(question_of, order, questions.path)
    objects_of = read_objects(objects, question_of, synonyms)
    rows = []
    for image_id, question in question_of.items():
        row = {"image_id": image_id, "question": question, "objects": objects_of[image_id]}
        rows.append(row)
    images = IMAGES.read_all(rows)
    return order.write_rows(
        out,
        images,
        image_of,
        columns=IMAGES.features(with_image=True),
        counts=counts(images),
        sources={"questions": questions, "objects": fetched_objects(objects)},
    )


def fetch_questions(order: Order) -> Fetched:
    """Return the questions: the authors' file, or the user's, whose images are checked instead of its bytes."""
    if order.source is None:
        return order.fetch("questions")
    upstream = replace(order.spec.sources["questions"], sha256=UNKNOWN)
    return fetch(upstream, "--source", order.source, order.cache, order.subset)


def read_questions(file: Readable) -> dict[int, str]:
    """Return the question about each image, in the file's order."""
    question_of: dict[int, str] = {}
    for where, row in json_rows(file):
        if not isinstance(row, Mapping):
            raise BuildError(f"{where} is {short_repr(row)}; expected an object with image_id and question.")
        fields = Fields(row, where)
        image_id = fields.whole("image_id")
        if image_id in question_of:
            raise BuildError(f"{where} is the second question about the image {image_id}; expected one.")
        question_of[image_id] = fields.text("question")
    return question_of


def check_images(image_ids: Collection[int], order: Order, file: Readable) -> None:
    """Check that these are the benchmark's images."""
    lines = "\n".join(sorted(str(image_id) for image_id in image_ids))
    digest = sha256(lines.encode()).hexdigest()
    if not digest.startswith(IMAGES_SHA256) and not order.subset:
        expected = order.spec.expected["images"]
        raise BuildError(
            f"{file} has {len(image_ids):,} images, which are not Object HalBench's {expected}; expected its "
            f"questions ({order.spec.sources['questions'].url}). Pass --subset if you mean to build from others."
        )


def read_objects(
    source: Path, image_ids: Collection[int], synonyms: Path | None = None
) -> Mapping[int, Sequence[str]]:
    """Return the COCO classes in each image: from COCO's folder, or from a file of image id -> objects."""
    objects_of: dict[int, Sequence[str]]
    if source.is_dir():
        instances = annotations(source, INSTANCES)
        captions = annotations(source, CAPTIONS)
        listed = synonym_lists.load(synonyms, known=LISTS)
        reader = CaptionReader(listed.class_of, lemmas.words)
        objects_of = dict(ground_truth(instances, captions, reader, only=image_ids))
    else:
        if synonyms is not None:
            raise BuildError(
                f"--synonyms is {synonyms}, but --objects {source} is a file, so no caption is read; leave --synonyms "
                "out."
            )
        objects_of = {row.image_id: row.objects for row in presence.load([str(source)])}
    missing = [image_id for image_id in image_ids if image_id not in objects_of]
    if missing:
        raise BuildError(
            f"{source} says nothing of {len(missing):,} of the {len(image_ids):,} images, such as image_id "
            f"{missing[0]}; expected the objects in images of COCO val2014."
        )
    known = set(vocabularies.load("coco").classes)
    for image_id in image_ids:
        others = [name for name in objects_of[image_id] if name not in known]
        if others:
            raise BuildError(
                f"{source}: {short_repr(others[0])} in the image {image_id} is none of COCO's 80 classes."
            )
    return objects_of


def fetched_objects(source: Path) -> Fetched:
    """Return what is noted of the source of objects, of which there is no published form."""
    if source.is_dir():
        return Fetched(source, sha256=None, published=None)
    return Fetched(source, sha256_of(source), published=None)


def annotations(folder: Path, name: str) -> Path:
    """Return a file of COCO's annotations in a folder, or in its folder `annotations`."""
    for file in (folder / name, folder / "annotations" / name):
        if file.is_file():
            return file
    raise BuildError(
        f"--objects {folder} holds no {name}; expected the folder of COCO's annotations of 2014."
    )


def image_of(row: Image) -> str:
    """Return the name of a row's image in COCO's folder."""
    return file_name_of(row.image_id)


BUILDER = Builder(
    "object_halbench",
    about="""Builds object_halbench: 300 images of COCO val2014, what is asked about each, and the COCO classes in it.

    halluscope build object_halbench --source QUESTIONS --objects coco2014_chair_objects.json.gz
    halluscope build object_halbench --source QUESTIONS --objects COCO/annotations --images COCO/val2014

QUESTIONS is the authors' obj_halbench_300_with_image.jsonl (64 MB, downloaded if it is not named), or any file of JSON
lines with its image_id and question. The classes are those that COCO's annotations or one of its five captions name:
CHAIR's cache has them, image id -> classes; from COCO's folder they are read here. Without --images there is no column
`image`.
""",
    source="obj_halbench_300_with_image.jsonl, or JSON lines with image_id and question (default: download)",
    images="the folder of the images, COCO_val2014_IMAGE_ID.jpg, or a zip of it (default: no column `image`)",
    options=(
        Option(
            "objects",
            f"CHAIR's cache as JSON, image id -> classes; or the folder of {INSTANCES} and {CAPTIONS}",
            type=path_of,
            metavar="PATH",
        ),
        Option(
            "synonyms",
            "the list of synonyms that reads COCO's captions: the refined one (default: fetched), or CHAIR's",
            type=path_of,
            metavar="FILE",
        ),
    ),
    make=make,
)
