"""Builds the dataset mme from the file with all questions, or from the authors' text files."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from halluscope.benchmarks.mme.data import QUESTIONS, SUBTASKS, Question
from halluscope.building.command import Builder
from halluscope.building.fetch import Fetched
from halluscope.building.output import Order
from halluscope.files.opening import Readable, is_file

FILE = "mme_benchmark.jsonl"

# Where an image may stand in its subtask's folder, and how its name may end in other people's copies
FOLDERS = ("", "images/")
ENDINGS = (".jpg", ".png")


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    subtasks = Counter(row.subtask for row in rows)
    answers = Counter(row.answer for row in rows)
    numbers = {
        "questions": len(rows),
        "images": len({row.file_name for row in rows}),
        "yes": answers["yes"],
        "no": answers["no"],
    }
    for subtask in SUBTASKS:
        numbers[subtask] = subtasks[subtask]
    return numbers


def make(order: Order) -> Path:
    out = order.target()
    sources: dict[str, Fetched] = {}
    if is_folder_of_texts(order.source):
        sources["texts"] = order.fetch("texts")
        rows = QUESTIONS.read_folder(Path(str(sources["texts"].path)), some_ok=order.subset)
    else:
        sources["questions"] = order.fetch("questions")
        rows = QUESTIONS.read_upstream(sources["questions"].path)
    if order.with_images:
        images = images_of(order, rows)
        if images:
            sources["images"] = images
    image_of = image_finder(sources)
    return order.write_rows(
        out,
        rows,
        image_of,
        columns=QUESTIONS.features(with_image=True),
        counts=counts(rows),
        sources=sources,
        exact=True,
    )


def is_folder_of_texts(source: Path | None) -> bool:
    """Whether a user's source is a folder of the authors' text files."""
    return source is not None and source.is_dir() and not (source / FILE).is_file()


def images_of(order: Order, rows: Sequence[Question]) -> Fetched | None:
    """Return the folder of the images: the one that the user names, or that of the text files if images are there."""
    if order.images:
        return order.fetch("images", order.images, "--images")
    if not is_folder_of_texts(order.source):
        return None
    texts = order.fetch("texts")
    if any(is_file(texts.path / path_of(row, texts.path)) for row in rows):
        return texts
    return None


def image_finder(sources: dict[str, Fetched]) -> Callable[[Question], str]:
    """Return what returns where a row's image is in the folder of images."""
    if "images" not in sources:
        return lambda row: row.file_name
    folder = sources["images"].path
    return lambda row: path_of(row, folder)


def path_of(row: Question, folder: Readable) -> str:
    """Return where a row's image is in a folder, or where it is expected if it is not there."""
    subtask, _, name = row.file_name.partition("/")
    stem = Path(name).stem
    for inner in FOLDERS:
        for ending in ENDINGS:
            path = f"{subtask}/{inner}{stem}{ending}"
            if is_file(folder / path):
                return path
    return row.file_name


BUILDER = Builder(
    "mme",
    about="""Builds mme: 2,374 yes/no questions in 14 subtasks, two about each image.

    halluscope build mme                                            # downloads 0.6 MB; no images
    halluscope build mme --source MME_Benchmark_release_version     # with the images in it
    halluscope build mme --source mme_benchmark.jsonl --images MME_Benchmark_release_version

The images must be asked for from the authors, who state no licence.
""",
    source="mme_benchmark.jsonl, or the folder of the authors' text files: SUBTASK.txt, or SUBTASK/IMAGE.txt, with the "
    "images beside them or not (default: download)",
    images="the folder of the images, SUBTASK/NAME or SUBTASK/images/NAME (default: those beside the text files, else "
    "no column `image`)",
    make=make,
)
