"""LLaVA-Bench's rows: of the dataset, and of the authors' three files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.reading.fields import Fields
from halluscope.reading.rows import Row, Rows
from halluscope.responses.column_facts import plain_question
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.validation import is_id

# In the order in which the paper prints them
CATEGORIES = ("conv", "detail", "complex")


@dataclass(frozen=True)
class Question(Row):
    """A question about an image."""

    id: int
    file_name: str  # the image
    question: str
    category: str
    context: str | None  # what people wrote about the image; None if it is not known
    answer: str | None  # GPT-4's, which read the context and saw no image; None if it is not known


class Questions(Rows[Question]):
    row_type = Question
    dataset = "llava_bench"
    file = "questions.jsonl"
    needed = ("id", "file_name", "question", "category", "context", "answer")
    upstream = {"id": "question_id", "file_name": "image", "question": "text"}
    marker = "question_id"

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of questions.jsonl by our names; what the authors' other files say of it is not known."""
        values = super().renamed(row)
        values.setdefault("context", None)
        values.setdefault("answer", None)
        return values

    def parse(self, row: Fields) -> Question:
        return Question(
            id=row.whole("id"),
            file_name=row.text("file_name"),
            question=row.text("question"),
            category=row.one_of("category", CATEGORIES),
            context=row.text_or_none("context"),
            answer=row.text_or_none("answer"),
            form=row.form,
        )


QUESTIONS = Questions()


# The digest of all questions, each once
KNOWN_QUESTIONS = "llava_bench-51-b4dab572"


def are_all_questions(questions: Sequence[str]) -> bool:
    """Whether these are the questions of questions.jsonl, in any order."""
    different = {plain_question(question) for question in questions}
    return data_of("llava_bench", [[question] for question in different]) == KNOWN_QUESTIONS


def complete(rows: Sequence[Question], contexts: Readable, answers: Readable) -> list[Question]:
    """Return rows with what context.jsonl says of their images, and with GPT-4's answers of answers_gpt4.jsonl."""
    caption_of = texts_by(contexts, "image", "caption")
    answer_of = texts_by(answers, "question_id", "text")
    asked = texts_by(answers, "question_id", "prompt")
    completed = []
    for row in rows:
        if row.file_name not in caption_of:
            raise BuildError(
                f"{contexts} says nothing of the image {row.file_name}; get context.jsonl again."
            )
        id = str(row.id)
        if id not in answer_of:
            raise BuildError(
                f"{answers} has no answer to the question {row.id}; get answers_gpt4.jsonl again."
            )
        if asked[id] != row.question:
            raise BuildError(
                f"{answers} answers {short_repr(asked[id])} as the question {row.id}; expected "
                f"{short_repr(row.question)}. Get the questions and the answers from one place."
            )
        completed.append(replace(row, context=caption_of[row.file_name], answer=answer_of[id]))
    return completed


def texts_by(file: Readable, key: str, text: str) -> dict[str, str]:
    """Return the texts of a file of JSON lines by what they are about."""
    texts: dict[str, str] = {}
    for where, row in json_rows(file):
        if not isinstance(row, Mapping) or not isinstance(row.get(text), str):
            raise BuildError(
                f"{where} is {short_repr(row)}; expected an object with {key} and {text}, a text."
            )
        about = row.get(key)
        if not isinstance(about, str) and not is_id(about):
            raise BuildError(f"{where}: {key} is {short_repr(about)}; expected a name or a whole number.")
        if str(about) in texts:
            raise BuildError(f"{where} is the second row on {key} {short_repr(about)}; expected one.")
        texts[str(about)] = row[text]
    return texts
