"""Builds the dataset dash_b from the authors' lists."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from halluscope.benchmarks.dash_b.data import HALVES, QUESTIONS, Question
from halluscope.building.command import Builder
from halluscope.building.output import Order

FOLDERS = {answer: half for half, answer in HALVES.items()}  # right answer -> the folder of the images


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    answers = Counter(row.answer for row in rows)
    return {
        "questions": len(rows),
        "images": len({row.question_id for row in rows}),
        "yes": answers["yes"],
        "no": answers["no"],
        "objects": len({row.object for row in rows}),
    }


def make(order: Order) -> Path:
    out = order.target()
    sources = order.fetch_all(*HALVES)
    rows = QUESTIONS.read_lists([(half, source.path) for half, source in sources.items()])
    return order.write_rows(
        out, rows, image_of, columns=QUESTIONS.features(with_image=True), counts=counts(rows), sources=sources
    )


def image_of(row: Question) -> str:
    """Return where a row's image is in the authors' folder of images."""
    return f"{FOLDERS[row.answer]}/{row.source}/{row.object}/{row.file_name}"


BUILDER = Builder(
    "dash_b",
    about="""Builds dash_b: 2,682 yes/no questions about 70 objects.

    halluscope build dash_b                                         # downloads 0.1 MB; no images
    halluscope build dash_b --source DASH-B/images --images FOLDER
""",
    source="the folder of the authors' lists, dash_benchmark_neg.json and dash_benchmark_pos.json (default: download)",
    images="the folder of the images: neg/SOURCE/OBJECT/NAME and pos/... (default: no column `image`)",
    make=make,
)
