"""HallusionBench's rows, as the dataset hallusionbench or the authors' file has them.

A control pair is one question about several figures: the original image and edited images, and for a visual supplement
(VS) also no image (section 3.2, equation 1). Its control question has figure_id 0.
"""

from dataclasses import dataclass
from typing import Any

from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows

CATEGORIES = ("VD", "VS")  # visual dependent, visual supplement
SUBCATEGORIES = ("illusion", "math", "video", "ocr", "figure", "chart", "table", "map")
ANSWER_OF_UPSTREAM = {"1": "yes", "0": "no"}

# Values of `visual_input`
NO_VISUAL = 0
ORIGINAL = 1
EDITED = 2
ROLES = ("no_visual", "original", "edited")  # what a question is about, by its `visual_input`


@dataclass(frozen=True)
class Question(Row):
    """A question."""

    category: str
    subcategory: str
    visual_input: int  # 0 no visual, 1 original image, 2 edited image
    set_id: int  # shared by the figures and questions of one root; unique within the subcategory
    figure_id: int  # the figure in the set; 0 for the control question
    question_id: int  # the question in the set
    question: str
    gt_answer: str
    gt_answer_details: str  # the right answer in words
    sample_note: str | None
    filename: str | None  # in the folder hallusion_bench, such as "VD/ocr/3_1.png"
    pair: str  # the control pair, such as "VD/ocr/3/q1"
    figure: str | None  # such as "VD/ocr/3_1"; None without a visual
    role: str

    @property
    def id(self) -> tuple[str, str, int, int, int]:
        return (self.category, self.subcategory, self.set_id, self.figure_id, self.question_id)

    @property
    def yes(self) -> bool:
        """Whether yes is the right answer."""
        return self.gt_answer == "yes"

    @property
    def group(self) -> str:
        return f"{self.category}/{self.subcategory}"

    @property
    def set(self) -> str:
        """The set, such as "VD/ocr/3"; questions of a set depend on each other."""
        return f"{self.group}/{self.set_id}"

    @property
    def title(self) -> str:
        return f"{self.group} set {self.set_id} figure {self.figure_id} question {self.question_id}"


class Questions(Rows[Question]):
    row_type = Question
    dataset = "hallusionbench"
    file = "HallusionBench.json"
    needed = (
        "category",
        "subcategory",
        "set_id",
        "figure_id",
        "question_id",
        "visual_input",
        "question",
        "gt_answer",
    )
    before_image = "filename"

    def parse(self, row: Fields) -> Question:
        category = row.one_of("category", CATEGORIES)
        subcategory = row.one_of("subcategory", SUBCATEGORIES)
        set_id = row.whole("set_id")
        figure_id = row.whole("figure_id")
        question_id = row.whole("question_id")
        visual_input = row.whole("visual_input")
        question = row.text_or_none("question") or ""
        gt_answer = answer_of(row)
        details = row.text_or_none("gt_answer_details") or ""
        note = row.text_or_none("sample_note")
        check_visual_input(row.where, visual_input, category, figure_id)
        set_name = f"{category}/{subcategory}/{set_id}"
        figure = None
        filename = None
        if visual_input != NO_VISUAL:
            figure = f"{set_name}_{figure_id}"
            filename = f"{figure}.png"
        return Question(
            category=category,
            subcategory=subcategory,
            set_id=set_id,
            figure_id=figure_id,
            question_id=question_id,
            visual_input=visual_input,
            question=question,
            gt_answer=gt_answer,
            gt_answer_details=details,
            sample_note=note,
            figure=figure,
            filename=filename,
            pair=f"{set_name}/q{question_id}",
            role=ROLES[visual_input],
            form=row.form,
        )


QUESTIONS = Questions()


def answer_of(row: Fields) -> str:
    """Return the right answer, which the authors' file writes as "1" or "0"."""
    value: Any = row.values.get("gt_answer")
    if isinstance(value, str) and value in ANSWER_OF_UPSTREAM:
        return ANSWER_OF_UPSTREAM[value]
    return row.yes_or_no("gt_answer")


def check_visual_input(where: str, visual_input: int, category: str, figure_id: int) -> None:
    """Check that exactly the control questions of visual supplements have no image."""
    expected: tuple[int, ...] = (ORIGINAL, EDITED)
    if category == "VS" and figure_id == 0:
        expected = (NO_VISUAL,)
    if visual_input not in expected:
        raise ValueError(
            f"{where}: visual_input is {visual_input} in {category} with figure_id {figure_id}; expected 0 (no image) "
            "for VS rows with figure_id 0, and 1 (original) or 2 (edited) for all others."
        )
