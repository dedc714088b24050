"""MME's rows: of the dataset, of the file with all questions, and of the authors' text files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import read_text
from halluscope.reading.datasets import read_once
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.reading.yes_no_labels import YES_NO
from halluscope.responses.column_facts import plain_question
from halluscope.sanitize import short_repr
from halluscope.signature import data_of

HALLUCINATION = ("existence", "count", "position", "color")
PERCEPTION = (*HALLUCINATION, "posters", "celebrity", "scene", "landmark", "artwork", "OCR")
COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")

# Subtask -> how many questions it has, in the paper's order
SUBTASKS = {
    "existence": 60,
    "count": 60,
    "position": 60,
    "color": 60,
    "posters": 294,
    "celebrity": 340,
    "scene": 400,
    "landmark": 400,
    "artwork": 400,
    "OCR": 40,
    "commonsense_reasoning": 140,
    "numerical_calculation": 40,
    "text_translation": 40,
    "code_reasoning": 40,
}

# The digest of the different questions of a file (`known_questions`) -> whose they are
KNOWN_QUESTIONS = {
    "mme-1983-9626ff67": "all subtasks",
    "mme-220-ec645838": "existence, count, position, color",
    "mme-43-4f2e52d9": "existence",
    "mme-59-90d260d4": "count",
    "mme-60-77f3cf58": "position",
    "mme-58-c225e9ca": "color",
    "mme-179-3c068b86": "posters",
    "mme-328-ecf50157": "celebrity",
    "mme-337-2fd6599a": "scene",
    "mme-400-84c60620": "landmark",
    "mme-237-1fa09ad0": "artwork",
    "mme-40-9dc9b4d8": "OCR",
    "mme-138-948a1d69": "commonsense_reasoning",
    "mme-37-3fe2d1e0": "numerical_calculation",
    "mme-40-ad5911cc": "text_translation",
    "mme-27-b9f451a9": "code_reasoning",
}

# What follows a question: in the authors' files, and in LLaVA's
INSTRUCTION = "Please answer yes or no."
LLAVA_INSTRUCTION = "Answer the question using a single word or phrase."


@dataclass(frozen=True)
class Question(Row):
    """One of the two questions about an image."""

    id: str  # the image's file, and 1 for the question that the authors ask first, whose right answer is yes, else 2
    subtask: str
    file_name: str  # "SUBTASK/NAME"
    question: str  # without the instruction to answer yes or no
    answer: str


class Questions(Rows[Question]):
    row_type = Question
    dataset = "mme"
    file = "mme_benchmark.jsonl"
    needed = ("subtask", "file_name", "question", "answer")
    upstream = {"subtask": "type"}
    # the image's name and the subtask, as lmms-eval's Parquet files call them
    others = ("question_id", "category")
    marker = ""

    def parse(self, row: Fields) -> Question:
        subtask = row.one_of("subtask", SUBTASKS)
        file_name = row.text("file_name")
        answer = row.yes_or_no("answer")
        return Question(
            id=row.text_or_none("id") or f"{file_name}/{YES_NO.index(answer) + 1}",
            subtask=subtask,
            file_name=file_name,
            question=without_instruction(row.text("question")),
            answer=answer,
            form=row.form,
        )

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row without an id by our names: its image may stand in other folders, and end otherwise."""
        values = super().renamed(row)
        values["id"] = None
        if "category" in row:
            values.setdefault("subtask", row["category"])
        image = row.get("file_name", row.get("image"))
        if not isinstance(image, str):  # the image itself
            image = row.get("question_id")
        if isinstance(image, str):
            folder, _, name = image.replace("\\", "/").partition("/")
            subtask = values.setdefault("subtask", folder)
            values["file_name"] = file_name_of(subtask, name or folder)
        return values

    def read_folder(self, folder: Path, some_ok: bool = False) -> list[Question]:
        """Read the authors' text files: of each subtask a file, or a folder with a file per image.

        `some_ok` is for a folder of some subtasks.
        """
        files = files_of_subtasks(folder)
        missing = [subtask for subtask in SUBTASKS if not files[subtask]]
        if len(missing) == len(SUBTASKS) or (missing and not some_ok):
            hint = ""
            if len(missing) < len(SUBTASKS):
                hint = " Pass --subset to build the other subtasks."
            raise BuildError(
                f"{folder} holds no {missing[0]}.txt, and no folder {missing[0]} with text files; expected the "
                f"authors' files of all {len(SUBTASKS)} subtasks, or mme_benchmark.jsonl.{hint}"
            )
        return in_order(read_once(rows_of_files(files), self.read))

    def read_upstream(self, file: Any) -> list[Question]:
        return in_order(super().read_upstream(file))


QUESTIONS = Questions()


def without_instruction(question: str) -> str:
    """Return a question without the instruction how to answer it.

    >>> without_instruction("Is there a dog? Please answer yes or no.")
    'Is there a dog?'
    """
    question = question.strip()
    for instruction in (INSTRUCTION, LLAVA_INSTRUCTION):
        question = question.removesuffix(instruction).strip()
    return question


def known_questions(questions: Sequence[str]) -> str | None:
    """Return which subtasks' questions these are, in any order; None if they are not all of one subtask, or of all."""
    different = {plain_question(without_instruction(question)) for question in questions}
    return KNOWN_QUESTIONS.get(data_of("mme", [[question] for question in different]))


def questions_by_subtask(images: Sequence[str]) -> dict[str, int]:
    """Count questions by the subtasks in which their images stand; {} if one stands in none.

    >>> questions_by_subtask(["OCR/0001.jpg", "color/images/1.jpg", "OCR/0001.jpg"])
    {'color': 1, 'OCR': 2}
    """
    present: Counter[str] = Counter()
    for image in images:
        subtask, slash, _ = image.replace("\\", "/").partition("/")
        if not slash or subtask not in SUBTASKS:
            return {}
        present[subtask] += 1
    return {subtask: present[subtask] for subtask in SUBTASKS if subtask in present}


def file_name_of(subtask: str, image: str) -> str:
    """Return an image's name in the dataset.

    >>> file_name_of("OCR", "images/0001.jpg"), file_name_of("code_reasoning", "0001.jpg")
    ('OCR/0001.jpg', 'code_reasoning/0001.png')
    """
    stem = Path(image).stem
    if subtask in COGNITION:
        return f"{subtask}/{stem}.png"
    return f"{subtask}/{stem}.jpg"


def in_order(rows: Sequence[Question]) -> list[Question]:
    """Return rows subtask by subtask and image by image, so that each source gives the same dataset."""
    order = {subtask: number for number, subtask in enumerate(SUBTASKS)}
    return sorted(rows, key=lambda row: (order[row.subtask], row.id))


def files_of_subtasks(folder: Path) -> dict[str, list[Path]]:
    """Return the authors' text files of each subtask: its own file, or those of its images in its folder.

    Other folders, such as the authors' eval_tool, are not looked into.
    """
    files = {}
    for subtask in SUBTASKS:
        files[subtask] = sorted((folder / subtask).rglob("*.txt"))
        if (folder / f"{subtask}.txt").is_file():
            files[subtask] = [folder / f"{subtask}.txt"]
    return files


def rows_of_files(files: Mapping[str, Sequence[Path]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of the authors' text files, each with its place.

    A subtask's own file has lines of an image, a question and its right answer; an image's file, which has the image's
    name, lines of a question and its right answer. Tabs divide them.
    """
    for subtask, files_of_subtask in files.items():
        for file in files_of_subtask:
            for number, line in enumerate(read_text(file).splitlines(), 1):
                if line.strip():
                    yield f"{file}, line {number}", row_of_line(line, subtask, file, number)


def row_of_line(line: str, subtask: str, file: Path, number: int) -> dict[str, Any]:
    """Return the row that a line of the authors' text files states."""
    cells = line.split("\t")
    if file.stem != subtask:
        cells.insert(0, file.stem)
    if len(cells) < 3:
        raise BuildError(
            f"{file}, line {number} is {short_repr(line, 120)}; expected a question and its right answer, divided by a "
            "tab. Get the file again."
        )
    image, question, answer = cells[:3]
    return {"subtask": subtask, "file_name": f"{subtask}/{image}", "question": question, "answer": answer}
