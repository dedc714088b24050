"""Reads POPE's rows: a question about one object in one image, with its right answer."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, json_rows
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.reading.datasets import Source, read_columns
from halluscope.reading.fields import Fields
from halluscope.responses.column_facts import plain_answer, plain_question
from halluscope.sanitize import short_repr
from halluscope.vocabularies import read_toml

SAMPLINGS = ("random", "popular", "adversarial")  # How POPE chooses the absent objects that it asks about
PER_SAMPLING = 3000  # How many questions each of POPE's samplings has, with the ids 1 to 3,000
REPOPE = "repope"
# By how many ids RePOPE's answers are known, and of how many such groups some must be there
HUNDRED, FEWEST_HUNDREDS = 100, 3
HEAD = 30  # How many questions of a sampling tell which it is

_ENDS_IN_ID = re.compile(r"(?<!\d)([0-9]{1,18})(?:\.\w{1,10})?$")

Row = TypeVar("Row", bound=Mapping[str, Any])


@dataclass  # not frozen: 400,000 of them are made
class ObjectQuestion:
    """One row."""

    question_id: int  # unique within a sampling
    image_id: int  # the number at the end of the image's file name
    file_name: str  # the image's file name; "" if unknown (`pope_c`)
    question: str  # the question put to the LVLM
    object: str  # the object that the question asks about
    answer: str  # the right answer, "yes" or "no"
    sampling: str  # how the absent objects were chosen: "random", "popular" or "adversarial"; "" in `pope_c`
    form: str = ""  # the row's parallel form; "" for the original
    labels: str = ""  # whose right answer this is: "repope" for RePOPE's corrected answer; "" for POPE's


class LeftOut(NamedTuple):
    """A question of POPE that RePOPE leaves out because it is ambiguous; responses to it are left out too."""

    question_id: int  # unique within a sampling
    sampling: str  # "random", "popular" or "adversarial"


COLUMNS = tuple(field.name for field in fields(ObjectQuestion))
OTHERWISE = {"file_name": "", "sampling": "", "form": "", "labels": ""}
NEEDED = tuple(name for name in COLUMNS if name not in OTHERWISE)


_versions = partial(read_toml, __file__, "versions.toml")


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_official(file: Readable, name: str) -> list[ObjectQuestion]:
    """Read a file of POPE's or RePOPE's authors: `question_id`, `image`, `text`, `label`, JSON lines or one JSON list.

    Its name tells the sampling, and whether it is RePOPE's; its first questions tell RePOPE's too. In a parallel form
    of the file (`halluscope parallel`) the question is rephrased, and a column names the `object`. LLaVA's file of all
    samplings has a `category`, and no `label` (`_labelled`).
    """
    rows = list(json_rows(file))
    if rows and all(isinstance(row, Mapping) and "label" not in row for _, row in rows):
        rows = _labelled(rows)
    published = _known(plain(str(row.get("text"))) for _, row in rows if isinstance(row, Mapping))[0].lower()
    name = published if REPOPE in published else name
    sampling = next((one for one in SAMPLINGS if one in name), "")
    labels = REPOPE if REPOPE in name else ""
    try:
        questions = [_question(row, where, sampling, labels) for where, row in rows]
    except ValueError as error:
        raise BuildError(str(error)) from error
    ids = Counter((question.question_id, question.sampling) for question in questions)
    if not questions or ids.most_common(1)[0][1] > 1:
        what = f"question_id {ids.most_common(1)[0][0][0]} more than once" if questions else "no question"
        raise BuildError(f"{file} holds {what}; expected POPE's questions, each id once.")
    return questions


def _known(asked: Iterable[str]) -> tuple[str, int, str]:
    """Return which published sampling begins with these questions, its rows, and its dataset; ("", 0, "") if none."""
    found: tuple[str, int, str] = _versions()["heads"].get(
        _digest("\n".join(islice(asked, HEAD))), ("", 0, "")
    )
    return found


def _labelled(rows: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Add POPE's labels about COCO: every second adversarial object is absent; all samplings share the present ones."""
    asked = {where: (str(row.get("image")), plain(str(row.get("text")))) for where, row in rows}
    first = [asked[where] for where, row in rows if row.get("category") == "adversarial"]
    if _digest(repr(first)) != _versions()["adversarial"]:
        return list(rows)  # other questions, which are refused without their labels
    present = {*first[::2]}
    return [(where, {**row, "label": "yes" if asked[where] in present else "no"}) for where, row in rows]


def first_line(text: str) -> str:
    """Return a text up to its first line break, also if the break is written as a backslash and an n."""
    return text.replace("\\n", "\n").partition("\n")[0]


def plain(text: str) -> str:
    """Return a question's first line as `plain_question` has it."""
    return plain_question(first_line(text))


def _question(row: Any, where: str, sampling: str, labels: str) -> ObjectQuestion:
    if not isinstance(row, Mapping) or not {"question_id", "image", "text", "label"} <= set(row):
        raise ValueError(f"{where}: expected question_id, image, text and label; got {short_repr(row, 120)}.")
    fields = Fields(row, where)
    answer, question_id = fields.one_of("label", ("yes", "no")), fields.whole("question_id")
    image, text = fields.text("image"), first_line(fields.text("text"))
    asked = row if text and isinstance(row.get("object"), str) else OBJECT_ASKED.fullmatch(plain(text))
    if asked is None:
        raise fields.wrong("text", "'Is there a ... in the image?'")
    if (number := _ENDS_IN_ID.search(image)) is None:
        raise fields.wrong("image", "a file name that ends in an id")
    sampling = row["category"] if row.get("category") in SAMPLINGS else sampling
    name, image_id = asked["object"], int(number[1])
    return ObjectQuestion(
        question_id, image_id, image, text, name, answer, sampling, str(row.get("form") or ""), labels
    )


def unique_questions(rows: Iterable[Row]) -> tuple[list[Row], NDArray[np.int64]]:
    """Find the different (image, question) pairs, so that each is asked once and all rows are scored.

    The official 9,000 rows about COCO hold 5,127 pairs.

    Args:
        rows: rows with `question`, and `file_name` or `image_id`.

    Returns:
        The first row of each pair, and `index`, for each row the index of its pair. Given the `answers` to the first
        rows, `[answers[i] for i in index]` are the predictions for all rows.
    """
    number: dict[tuple[Any, Any], int] = {}
    unique: list[Row] = []
    index: list[int] = []
    for i, row in enumerate(rows):
        image = row.get("file_name", row.get("image_id"))
        if image is None or row.get("question") is None:
            raise ValueError(
                f"rows[{i}] has no question, or neither file_name nor image_id: {short_repr(dict(row), 120)}."
            )
        index.append(number.setdefault((image, row["question"]), len(unique)))
        if index[-1] == len(unique):
            unique.append(row)
    return unique, np.array(index, dtype=np.int64)


def load(sources: Sequence[str]) -> list[ObjectQuestion | LeftOut]:
    """Read questions from files of POPE's or RePOPE's authors (their names say which), or from built datasets.

    RePOPE's include those that it left out (`LeftOut`), in POPE's order, so responses to all of POPE's questions fit.
    """
    questions: list[ObjectQuestion] = []
    for written in sources:
        source = Source.of(written)
        if source.is_json:
            questions += read_official(source.path, source.path.name)
        else:
            rows = read_columns(written, COLUMNS, NEEDED, "the dataset pope or pope_c")
            for row in rows:
                once = {name: intern(value) if type(value) is str else value for name, value in row.items()}
                questions.append(ObjectQuestion(**OTHERWISE | once))
    if not (others := left_out(questions)):
        return list(questions)
    order = list(dict.fromkeys(question.sampling for question in questions))
    return sorted([*questions, *others], key=lambda one: (order.index(one.sampling), one.question_id))


def left_out(questions: Sequence[ObjectQuestion]) -> list[LeftOut]:
    """Return the questions that RePOPE's authors left out, in the samplings present; none for POPE's own rows."""
    known: dict[str, set[int]] = {}
    for one in questions:
        if one.labels == REPOPE and one.sampling:
            known.setdefault(one.sampling, set()).add(one.question_id)
    every = {*range(1, PER_SAMPLING + 1)}
    return [LeftOut(number, sampling) for sampling, ids in known.items() for number in sorted(every - ids)]


def wanted(question: ObjectQuestion | LeftOut, *, sampling: str | None = None) -> bool:
    """Whether a question has a right answer and is in the sampling to score; without a sampling, any."""
    return isinstance(question, ObjectQuestion) and sampling in (None, question.sampling)


def version_of(questions: Sequence[ObjectQuestion | LeftOut], prompts: Sequence[str]) -> str:
    """Return which older versions of the samplings the prompts are from, such as "2023-05"; "" if they are of none."""
    older, rows = _versions()["older"], Counter(question.sampling for question in questions)
    asked = [prompt or getattr(one, "question", "") for one, prompt in zip(questions, prompts, strict=True)]
    old = Counter(one.sampling for one, text in zip(questions, asked, strict=True) if "imange" in text)
    return ",".join(sorted({older.get(f"{name} {rows[name]} {old[name]}", "") for name in rows} - {""}))


def other_answers(question: ObjectQuestion) -> tuple[str, ...]:
    """Return POPE's answer to a question of RePOPE: POPE asks about COCO's present and absent objects in turns."""
    if question.labels != REPOPE or not question.sampling:
        return ()
    return ("yes" if question.question_id % 2 else "no",)


def are_corrected(questions: Sequence[ObjectQuestion], texts: Sequence[str | None]) -> bool:
    """Whether texts are RePOPE's answers to POPE's questions: they differ from POPE's where RePOPE's do."""
    differ: dict[tuple[str, int], list[int]] = {}
    for question, text in zip(questions, texts, strict=True):
        if not question.sampling or question.labels == REPOPE or text is None:
            continue
        ids = differ.setdefault((question.sampling, question.question_id // HUNDRED), [])
        if plain_answer(text) != question.answer:
            ids.append(question.question_id)
    known = as_corrected = 0
    for (sampling, hundred), ids in differ.items():
        digests = _versions()["corrected"][sampling]
        if hundred < len(digests) and digests[hundred]:
            known += 1
            as_corrected += _digest(repr(sorted(ids)))[: len(digests[hundred])] == digests[hundred]
    # one other answer in a hundred leaves more than a third of the hundreds as they are
    return known >= FEWEST_HUNDREDS and as_corrected >= known / 4


def known_answers(asked: Sequence[str]) -> list[str]:
    """Return POPE's answers to some questions, in their order; "" for each that is not POPE's, or not in POPE's order.

    In all of POPE's samplings, yes and no take turns: one by one, or in A-OKVQA's and GQA's random and popular ones,
    three by three.
    """
    texts = [*map(plain, asked)]
    answers: list[str] = []
    while len(answers) < len(texts):
        name, rows, _ = _known(texts[len(answers) :])
        there = min(rows, len(texts) - len(answers))
        # the first 2,910 random questions lack some absent objects, and RePOPE's lack some of each
        if not there or rows != PER_SAMPLING:
            return answers + [""] * (len(texts) - len(answers))
        turn = 1 if "COCO" in name or "adversarial" in name else 3
        answers += ["no" if place // turn % 2 else "yes" for place in range(there)]
    return answers


def known(asked: Sequence[str]) -> tuple[str, str, bool] | None:
    """Say which samplings some questions are, in their order; the dataset that has them ("" for none); and whether a
    sampling has more. None if they are not like POPE's.
    """
    texts = [*map(plain, asked)]
    if not texts or sum(OBJECT_ASKED.fullmatch(text) is not None for text in texts) < 0.9 * len(texts):
        return None
    found: list[str] = []
    datasets: dict[str, None] = {}
    first, is_part = 0, False
    while first < len(texts):
        name, rows, dataset = _known(texts[first:])
        datasets[dataset] = None
        if not rows:
            found.append(f"{len(texts) - first:,} questions in another order, or made anew")
            break
        there = min(rows, len(texts) - first)
        old = sum("imange" in text for text in asked[first : first + there])
        if when := _versions()["older"].get(f"{name.partition(' ')[0]} {there} {old}"):
            name = name.replace("(COCO)", f"(COCO, {when})")
        found.append(f"{name}{'' if there == rows else f', {there:,} of its {rows:,}'}")
        is_part |= there < rows
        first += rows
    return "; ".join(found), next(iter(datasets)) if len(datasets) == 1 else "", is_part


def inputs(questions: Sequence[ObjectQuestion], *, corrected: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    columns = {
        "references": "answer",
        "objects": "object",
        "sampling": "sampling",
        "questions": "question",
        "forms": "form",
    }
    found: dict[str, Any] = {name: [*map(attrgetter(of), questions)] for name, of in columns.items()}
    if not all(found["sampling"]):
        found["sampling"] = None
    found["image_ids"] = [question.file_name or question.image_id for question in questions]
    if corrected:
        found["corrected"] = corrections(questions, load(corrected))
    return found


def corrections(
    questions: Sequence[ObjectQuestion], others: Sequence[ObjectQuestion | LeftOut]
) -> list[str | None]:
    """Return RePOPE's answer to each of POPE's questions, or None where RePOPE has no answer."""
    found = {(other.sampling, other.question_id): other for other in others}
    answers: list[str | None] = []
    for one in questions:
        other = found.get((one.sampling, one.question_id))
        same = isinstance(other, LeftOut) or (
            other and (one.file_name, one.question) == (other.file_name, other.question)
        )
        if not same:
            raise ValueError(
                f"corrected has no answer to question_id {one.question_id}, {one.sampling or 'no sampling'}: "
                f"{short_repr(one.question)}; expected RePOPE's answers to the questions of the dataset; they "
                "must be POPE's questions about COCO, with their samplings."
            )
        answers.append(getattr(other, "answer", None))
    return answers


def read_all(rows: Iterable[Any], where: str = "references") -> list[ObjectQuestion]:
    """Read rows of `pope` or `pope_c`; an `ObjectQuestion` stays as it is."""
    found = []
    for number, row in enumerate(rows):
        if isinstance(row, ObjectQuestion):
            found.append(row)
            continue
        missing = [name for name in NEEDED if name not in row] if isinstance(row, Mapping) else [*NEEDED]
        if missing:
            raise ValueError(
                f"{where}[{number}] is {short_repr(row)}; expected a row of the dataset pope or pope_c. It has no "
                f"{', '.join(missing)}."
            )
        found.append(ObjectQuestion(**(OTHERWISE | {name: row[name] for name in COLUMNS if name in row})))
    return found
