"""Builds hallusionbench: 1,129 yes/no questions in control pairs about original, edited and no images.

A row holds a question, its right answer, its image, and the keys of its pair and figure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Image, Value

from halluscope.benchmarks.hallusionbench.rows import DEPENDENT, ROLES, SUPPLEMENT, VisualQuestion, read_all
from halluscope.building import images
from halluscope.building.command import Builder, Order
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.sanitize import short_repr

Row = tuple[VisualQuestion, Mapping[str, Any]]  # A question, and its row in the upstream file


def read(file: Readable) -> list[Row]:
    """Read HallusionBench.json, in the order of the file."""
    rows = read_json(file)
    if not isinstance(rows, list) or not rows:
        raise BuildError(
            f"{file} holds {short_repr(rows)}; expected a list of questions: HallusionBench.json."
        )
    try:
        questions = read_all(rows, str(file))
    except ValueError as error:
        raise BuildError(str(error)) from error
    for question in questions:
        if not question.question:
            raise BuildError(f"{file}: the question {question.id} has no text.")
    return list(zip(questions, rows, strict=True))


def counts(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the counts that stats.json gives for the rows (Figure 2 of the paper)."""
    questions = [question for question, _ in rows]
    category = Counter(question.category for question in questions)
    role = Counter(question.role for question in questions)
    cell = Counter((question.group, question.role) for question in questions)
    return {
        "questions": len(questions),
        "visual_dependent": category[DEPENDENT],
        "visual_supplement": category[SUPPLEMENT],
        **{name: role[name] for name in ROLES},
        "pairs": len({question.pair for question in questions}),
        "figures": len({question.figure for question in questions} - {None}),
        "answers_yes": sum(question.yes for question in questions),
        "questions_per_subcategory": {
            group: {name: cell[group, name] for name in ROLES}
            for group in sorted({question.group for question in questions})
        },
    }


def check_images(names: Sequence[str], folder: Readable, only_present: bool = False) -> None:
    """Decode the images of all figures; with `only_present`, some may be missing, but not all."""
    # File names such as 0_0.png occur in several subcategories: only the whole path is unique.
    absent = [name for name in names if not (folder / name).is_file()]
    if absent and (not only_present or len(absent) == len(names)):
        raise BuildError(
            f"{len(absent):,} of the {len(names):,} images are not in {folder}: {', '.join(absent[:5])}. "
            "Name the folder hallusion_bench, which holds VD and VS, or its zip."
        )
    images.check([name for name in names if name not in absent], folder)


def file_name(question: VisualQuestion) -> str | None:
    """Return the image's file in the folder hallusion_bench, such as "VD/ocr/3_1.png"."""
    return None if question.figure is None else f"{question.figure}.png"


COLUMNS = {
    "category": Value("string"),
    "subcategory": Value("string"),
    "visual_input": Value("int64"),
    "set_id": Value("int64"),
    "figure_id": Value("int64"),
    "question_id": Value("int64"),
    "question": Value("string"),
    "gt_answer": Value("string"),
    "gt_answer_details": Value("string"),
    "sample_note": Value("string"),
    "filename": Value("string"),
    "image": Image(),
    "pair": Value("string"),
    "figure": Value("string"),
    "role": Value("string"),
}


def _row(row: Row) -> dict[str, Any]:
    question, upstream = row
    return {
        "category": question.category,
        "subcategory": question.subcategory,
        "visual_input": question.visual_input,
        "set_id": question.set_id,
        "figure_id": question.figure_id,
        "question_id": question.question_id,
        "question": question.question,
        "gt_answer": "yes" if question.yes else "no",
        "gt_answer_details": question.details,
        "sample_note": upstream.get("sample_note"),
        "filename": file_name(question),
        "pair": question.pair,
        "figure": question.figure,
        "role": question.role,
    }


def make(order: Order) -> Path:
    """Build hallusionbench."""
    out = order.target()
    sources = {"questions": order.fetch("questions")}
    rows = read(sources["questions"].path)
    return order.write(
        out, rows, COLUMNS, _row, lambda row: file_name(row[0]), counts(rows), sources, check_images
    )


BUILDER = Builder(
    name="hallusionbench",
    about="""Builds hallusionbench: 1,129 yes/no questions in control pairs about original, edited and no images.

    halluscope build hallusionbench --images hallusion_bench.zip    # downloads the questions, 0.4 MB
    halluscope build hallusionbench --source HallusionBench.json --images hallusion_bench
    halluscope build hallusionbench --no-images

The authors' README links to hallusion_bench.zip on Google Drive; get it there. Without --images there is no column
`image`.
""",
    source="HallusionBench.json, or a folder that holds it (default: download)",
    images="the folder hallusion_bench, or its zip (default: no column `image`)",
    make=make,
)
