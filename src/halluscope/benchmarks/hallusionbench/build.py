"""Builds hallusionbench: 1,129 yes/no questions in control pairs about original, edited and no images."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halluscope.benchmarks.hallusionbench.data import QUESTIONS, ROLES, Question
from halluscope.building.command import Builder
from halluscope.building.output import Order


def counts(rows: Sequence[Question]) -> dict[str, Any]:
    """Return the counts of the dataset's rows, which its spec states (Figure 2 of the paper)."""
    of_category = Counter(row.category for row in rows)
    of_role = Counter(row.role for row in rows)
    of_group = Counter((row.group, row.role) for row in rows)
    numbers: dict[str, Any] = {
        "questions": len(rows),
        "visual_dependent": of_category["VD"],
        "visual_supplement": of_category["VS"],
    }
    for role in ROLES:
        numbers[role] = of_role[role]
    numbers["pairs"] = len({row.pair for row in rows})
    numbers["figures"] = len({row.figure for row in rows} - {None})
    numbers["answers_yes"] = sum(row.yes for row in rows)
    per_subcategory = {}
    for group in sorted({row.group for row in rows}):
        per_subcategory[group] = {role: of_group[group, role] for role in ROLES}
    numbers["questions_per_subcategory"] = per_subcategory
    return numbers


def make(order: Order) -> Path:
    out = order.target()
    questions = order.fetch("questions")
    rows = QUESTIONS.read_upstream(questions.path)
    return order.write_rows(
        out,
        rows,
        image_of,
        columns=QUESTIONS.features(with_image=True),
        counts=counts(rows),
        sources={"questions": questions},
        exact=True,  # file names such as 0_0.png occur in several subcategories: only the whole path is unique
    )


def image_of(row: Question) -> str | None:
    """Return the path of a row's image; None without a visual."""
    return row.filename


BUILDER = Builder(
    "hallusionbench",
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
