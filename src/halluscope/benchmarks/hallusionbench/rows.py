"""Reads HallusionBench's questions, and says which belong together (section 3.2, equation 1).

A control pair is one question about several figures: the original image and edited images, and for a visual supplement
(VS) also no image. Its control question has figure_id 0. Keys contain the category and the subcategory, because `ocr`
occurs in both categories.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halluscope.benchmarks.hallusionbench import BENCHMARK
from halluscope.inputs import id_of, is_id
from halluscope.reading.datasets import read_each
from halluscope.sanitize import short_repr

NO_VISUAL, ORIGINAL, EDITED = 0, 1, 2
# The kind of image that a question is about, by its `visual_input`.
ROLES = ("no_visual", "original", "edited")

DEPENDENT, SUPPLEMENT = "VD", "VS"
ID = ("category", "subcategory", "set_id", "figure_id", "question_id")
Id = tuple[str, str, int, int, int]

_ANSWERS = {"yes": True, "no": False, "1": True, "0": False}


@dataclass(frozen=True)
class VisualQuestion:
    """A question of HallusionBench."""

    category: str  # "VD" (visual dependent) or "VS" (visual supplement)
    subcategory: str  # such as "chart"
    set_id: int  # shared by the figures and questions of one root; unique within the subcategory
    figure_id: int  # the figure in the set; 0 for the control question
    question_id: int  # the question in the set
    visual_input: int  # 0 no visual, 1 original image, 2 edited image
    yes: bool  # whether yes is the right answer
    question: str = ""  # the text of the question
    details: str = ""  # the right answer in words
    form: str = ""  # the parallel form that the question belongs to; "" for the original

    @property
    def id(self) -> Id:
        """The fields that identify the question."""
        return self.category, self.subcategory, self.set_id, self.figure_id, self.question_id

    @property
    def group(self) -> str:
        """The category and subcategory, such as "VD/ocr"."""
        return f"{self.category}/{self.subcategory}"

    @property
    def set(self) -> str:
        """The set, such as "VD/ocr/3"; questions of a set depend on each other."""
        return f"{self.group}/{self.set_id}"

    @property
    def pair(self) -> str:
        """The control pair, such as "VD/ocr/3/q1"."""
        return f"{self.set}/q{self.question_id}"

    @property
    def figure(self) -> str | None:
        """The figure, such as "VD/ocr/3_1"; None without a visual."""
        return None if self.visual_input == NO_VISUAL else f"{self.set}_{self.figure_id}"

    @property
    def role(self) -> str:
        """The kind of image that it is about: no_visual, original or edited."""
        return ROLES[self.visual_input]

    @property
    def row(self) -> dict[str, str | int]:
        """The question as a row of the dataset, with the columns that the metric needs."""
        return {
            **dict(zip(ID, self.id, strict=True)),
            "visual_input": self.visual_input,
            "question": self.question,
            "gt_answer": "yes" if self.yes else "no",
            "gt_answer_details": self.details,
        }


# The dataset's columns that the metric needs.
COLUMNS = (*ID, "visual_input", "question", "gt_answer", "gt_answer_details", "form")


@dataclass(frozen=True)
class Counting:
    """The counting rules of a protocol."""

    visual_only: bool = False  # whether to leave out questions without a visual, which leaves 951 of 1,129
    mean: bool = False  # whether to give the mean of aAcc, qAcc and fAcc too, as `overall`

    @property
    def questions(self) -> int:
        """How many of the benchmark's questions count."""
        return 951 if self.visual_only else 1129


OFFICIAL = "official"
PROTOCOLS = {
    OFFICIAL: Counting(),
    "lmms-eval": Counting(visual_only=True),
    "vlmevalkit": Counting(visual_only=True, mean=True),
}


def load(sources: Sequence[str]) -> list[VisualQuestion]:
    """Read the dataset: built folders, Hub ids, or HallusionBench.json."""
    rows = read_each(sources, COLUMNS, ID, "the dataset hallusionbench")
    return read_all(rows, ", ".join(sources))


def wanted(question: VisualQuestion, *, protocol: str = OFFICIAL) -> bool:
    """Whether a protocol counts a question."""
    return not known_protocol(protocol).visual_only or question.visual_input != NO_VISUAL


def known_protocol(protocol: Any) -> Counting:
    """Return the counting rules of a protocol."""
    BENCHMARK.check_choices(protocol=protocol)
    return PROTOCOLS[protocol]


def cluster_of(question: VisualQuestion) -> str:
    """Return the set that a question shares with the questions it depends on."""
    return question.set


def inputs(questions: Sequence[VisualQuestion]) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    return {"references": questions}


def read_all(rows: Iterable[Any], where: str = "references") -> list[VisualQuestion]:
    """Read rows of the dataset, or of upstream's HallusionBench.json."""
    questions = [read(row, f"{where}[{number}]") for number, row in enumerate(rows)]
    first: dict[Id, int] = {}
    for number, question in enumerate(questions):
        if first.setdefault(question.id, number) != number:
            raise ValueError(
                f"{where}[{number}] is the question {describe(question.id)}, as is "
                f"{where}[{first[question.id]}]; expected each question once. Remove one of them."
            )
    return questions


def read(row: Any, where: str) -> VisualQuestion:
    """Read a row; numbers may be text, as upstream has them. A question that was read before is returned unchanged."""
    if isinstance(row, VisualQuestion):
        return row
    category, subcategory, set_id, figure_id, question_id = read_id(row, where)
    visual = _number(row, "visual_input", where)
    given = row.get("gt_answer")
    answer = str(given).strip().lower() if isinstance(given, str | int) else ""
    if visual not in (NO_VISUAL, ORIGINAL, EDITED):
        raise ValueError(f"{where}: visual_input is {visual}; expected 0 (none), 1 (original) or 2 (edited).")
    if answer not in _ANSWERS:
        raise ValueError(f"{where}: gt_answer is {short_repr(given)}; expected 'yes' or 'no'.")
    if (visual == NO_VISUAL) != (category == SUPPLEMENT and figure_id == 0):
        raise ValueError(
            f"{where}: visual_input is {visual} in {category} with figure_id {figure_id}; expected 0 for VS rows "
            "with figure_id 0, and for no other row."
        )
    texts = {
        "question": row.get("question"),
        "details": row.get("gt_answer_details"),
        "form": row.get("form"),
    }
    return VisualQuestion(
        category,
        subcategory,
        set_id,
        figure_id,
        question_id,
        visual,
        _ANSWERS[answer],
        **{name: text for name, text in texts.items() if isinstance(text, str)},
    )


def read_id(row: Any, where: str) -> Id:
    """Return the fields that identify the question of a row."""
    if not isinstance(row, Mapping):
        raise ValueError(f"{where} is {short_repr(row)}; expected a row of the dataset hallusionbench.")
    if missing := [field for field in ID if row.get(field) is None]:
        raise ValueError(
            f"{where} has no {', '.join(missing)}; expected a row of the dataset hallusionbench."
        )
    category, subcategory = row["category"], row["subcategory"]
    if category not in (DEPENDENT, SUPPLEMENT):
        raise ValueError(f"{where}: category is {short_repr(category)}; expected 'VD' or 'VS'.")
    if not isinstance(subcategory, str) or not subcategory.isidentifier():
        raise ValueError(
            f"{where}: subcategory is {short_repr(subcategory)}; expected a word such as 'chart'."
        )
    return (
        category,
        subcategory,
        _number(row, "set_id", where),
        _number(row, "figure_id", where),
        _number(row, "question_id", where),
    )


def describe(identity: Id) -> str:
    """Return a question's id in words.

    >>> describe(("VD", "ocr", 3, 1, 0))
    'VD/ocr set 3 figure 1 question 0'
    """
    category, subcategory, set_id, figure_id, question_id = identity
    return f"{category}/{subcategory} set {set_id} figure {figure_id} question {question_id}"


def _number(row: Mapping[str, Any], field: str, where: str) -> int:
    value = row.get(field)
    number = id_of(value) if isinstance(value, str) else value
    if number is None or not is_id(number) or number < 0:
        raise ValueError(f"{where}: {field} is {short_repr(value)}; expected a whole number of at least 0.")
    return int(number)
