"""Builds llava_bench: 60 questions about 24 images, with GPT-4's answers."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from halluscope.benchmarks.llava_bench.data import CATEGORIES, QUESTIONS, Question, complete
from halluscope.building.command import Builder
from halluscope.building.output import Order


def counts(rows: Sequence[Question]) -> dict[str, int]:
    """Return the counts that the dataset's spec states."""
    categories = Counter(row.category for row in rows)
    numbers = {"questions": len(rows), "images": len({row.file_name for row in rows})}
    for category in CATEGORIES:
        numbers[category] = categories[category]
    return numbers


def make(order: Order) -> Path:
    out = order.target()
    sources = order.fetch_all("questions", "context", "answers")
    rows = QUESTIONS.read_upstream(sources["questions"].path)
    rows = complete(rows, sources["context"].path, sources["answers"].path)
    return order.write_rows(
        out, rows, image_of, columns=QUESTIONS.features(with_image=True), counts=counts(rows), sources=sources
    )


def image_of(row: Question) -> str:
    """Return the name of a row's image in the authors' folder."""
    return row.file_name


BUILDER = Builder(
    "llava_bench",
    about="""Builds llava_bench: 60 questions about 24 images, with what the images show and GPT-4's answers.

    halluscope build llava_bench --source FOLDER
    halluscope build llava_bench --source FOLDER --images FOLDER/images

FOLDER is the authors' repository on the Hub, liuhaotian/llava-bench-in-the-wild: questions.jsonl, context.jsonl,
answers_gpt4.jsonl and images/. Without --images there is no column `image`.
""",
    source="the folder that holds questions.jsonl, context.jsonl and answers_gpt4.jsonl",
    images="the folder of the images, 001.jpg to 024.jpg, or a zip of it (default: no column `image`)",
    make=make,
)
