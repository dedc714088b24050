"""Reads POPE's rows: a question about one object in one image, with its right answer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from halluscope.benchmark import Part
from halluscope.errors import BuildError
from halluscope.files.opening import SHEETS, Readable, ending, json_rows
from halluscope.judging.questions import OBJECT_ASKED
from halluscope.reading import tables
from halluscope.reading.datasets import Source, read_batches
from halluscope.reading.fields import Fields
from halluscope.reading.yes_no_labels import as_words
from halluscope.responses.column_facts import plain_answer, plain_question
from halluscope.responses.names import only_one_in
from halluscope.sanitize import short_repr
from halluscope.vocabularies import read_toml

SAMPLINGS = ("random", "popular", "adversarial")  # How POPE chooses the absent objects that it asks about
PER_SAMPLING = 3000  # How many questions each of POPE's samplings has, with the ids 1 to 3,000
REPOPE = "repope"
HUNDRED = 100  # By how many ids RePOPE's answers are known
FEWEST_HUNDREDS = 3  # Of how many such groups some must be there
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

    @property
    def image(self) -> str | int:
        """What tells its image from others."""
        return self.file_name or self.image_id


class LeftOut(NamedTuple):
    """A question of POPE that RePOPE leaves out because it is ambiguous; responses to it are left out too."""

    question_id: int  # unique within a sampling
    sampling: str  # "random", "popular" or "adversarial"


COLUMNS = tuple(field.name for field in fields(ObjectQuestion))
OTHERWISE: dict[str, Any] = {"file_name": "", "sampling": "", "form": "", "labels": ""}
NEEDED = tuple(name for name in COLUMNS if name not in OTHERWISE)


class Published(NamedTuple):
    """A sampling's questions as POPE or RePOPE published them."""

    name: str  # such as "random (COCO)"; "" for questions that neither published
    rows: int  # how many questions it has
    dataset: str  # the dataset that has them, such as "pope:gqa"


UNPUBLISHED = Published("", 0, "")


def _versions() -> dict[str, Any]:
    return read_toml(__file__, "versions.toml")


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _published(texts: Sequence[str]) -> Published:
    """Return which published sampling begins with these questions; `UNPUBLISHED` if none does."""
    head = "\n".join(texts[:HEAD])
    entry = _versions()["heads"].get(_digest(head))
    if entry is None:
        return UNPUBLISHED
    return Published(*entry)


def first_line(text: str) -> str:
    """Return a text up to its first line break, also if the break is written as a backslash and an n."""
    return text.replace("\\n", "\n").partition("\n")[0]


def plain(text: str) -> str:
    """Return a question's first line as `plain_question` has it."""
    return plain_question(first_line(text))


def load(sources: Sequence[str]) -> list[ObjectQuestion | LeftOut]:
    """Read questions from files of POPE's or RePOPE's authors, or from built datasets.

    RePOPE's include those that it left out (`LeftOut`), in POPE's order, so responses to all of POPE's questions fit.
    """
    questions: list[ObjectQuestion] = []
    for written in sources:
        source = Source.of(written)
        if source.is_json:
            questions.extend(read_official(source.path, source.path.name))
        else:
            questions.extend(_read_built(written))
    rows: list[ObjectQuestion | LeftOut] = list(questions)
    ambiguous = left_out(questions)
    if not ambiguous:
        return rows
    rows.extend(ambiguous)
    order = list(dict.fromkeys(question.sampling for question in questions))
    return sorted(rows, key=lambda row: (order.index(row.sampling), row.question_id))


def _read_built(written: str) -> Iterator[ObjectQuestion]:
    """Yield the questions of a built dataset; those with equal texts share the text."""
    for columns in read_batches(written, COLUMNS, NEEDED, "the dataset pope or pope_c"):
        rows = len(columns[COLUMNS[0]])
        cells = []
        for name in COLUMNS:
            if name == "answer":  # may be true or false, or 1 or 0
                cells.append(as_words(columns[name], any_case=True))
            elif name in columns:
                cells.append(columns[name])
            else:
                cells.append([OTHERWISE[name]] * rows)
        yield from map(ObjectQuestion, *cells)


def read_official(file: Readable, name: str) -> list[ObjectQuestion]:
    """Read a file of POPE's or RePOPE's authors: `question_id`, `image`, `text`, `label`, JSON lines or one JSON list.

    A table, or a file with the columns of a built dataset, is read too.

    Its first questions tell the sampling, and whether it is RePOPE's; if they are not published ones, its name does. In
    a parallel form of the file (`halluscope study parallel`) the question is rephrased, and a column names the
    `object`. LLaVA's file of all samplings has a `category`, and no `label` (`_labelled`).
    """
    rows = list(tables.rows(file) if ending(file) in SHEETS else json_rows(file))
    try:
        if rows and not _missing_columns(rows[0][1]):
            questions = [_built_question(row, where) for where, row in rows]
        else:
            questions = _questions_of_authors(rows, name)
    except ValueError as error:
        raise BuildError(str(error)) from error
    _check_ids(questions, file)
    return questions


def _questions_of_authors(rows: Sequence[tuple[str, Any]], name: str) -> list[ObjectQuestion]:
    """Read the rows of a file of the authors that has this name."""
    if rows and all(isinstance(row, Mapping) and "label" not in row for _, row in rows):
        rows = _labelled(rows)
    published = _published(_first_texts(rows))
    sampling = ""
    if len(rows) <= published.rows:
        sampling = only_one_in(published.name, SAMPLINGS)
    if not sampling:
        sampling = only_one_in(name, SAMPLINGS)
    labels = ""
    if REPOPE in published.name.lower() or REPOPE in name.lower():
        labels = REPOPE
    return [_question(row, where, sampling, labels) for where, row in rows]


def _labelled(rows: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Add POPE's labels about COCO: every second adversarial object is absent; all samplings share the present ones."""
    adversarial = [_image_and_text(row) for _, row in rows if row.get("category") == "adversarial"]
    if _digest(repr(adversarial)) != _versions()["adversarial"]:
        return list(rows)  # other questions, which are refused without their labels
    present = set(adversarial[::2])
    labelled = []
    for where, row in rows:
        label = "no"
        if _image_and_text(row) in present:
            label = "yes"
        labelled.append((where, row | {"label": label}))
    return labelled


def _image_and_text(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row.get("image")), plain(str(row.get("text")))


def _first_texts(rows: Sequence[tuple[str, Any]]) -> list[str]:
    """Return the questions of a file that tell which it is."""
    readable = [row for _, row in rows if isinstance(row, Mapping)]
    return [plain(str(row.get("text"))) for row in readable[:HEAD]]


def _question(row: Any, where: str, sampling: str, labels: str) -> ObjectQuestion:
    """Read a row of a file of the authors."""
    if not isinstance(row, Mapping) or not {"question_id", "image", "text", "label"} <= set(row):
        raise ValueError(f"{where}: expected question_id, image, text and label; got {short_repr(row, 120)}.")
    values = Fields(row, where)
    answer = values.yes_or_no("label")
    question_id = values.whole("question_id")
    image = values.text("image")
    text = first_line(values.text("text"))
    name = row.get("object")
    if not isinstance(name, str):
        name = _object_in(text)
    if not text or not name:
        raise values.wrong(
            "text", "'Is there a ... in the image?', or a column `object` beside another question"
        )
    id_in_name = _ENDS_IN_ID.search(image)
    if id_in_name is None:
        raise values.wrong("image", "a file name that ends in an id")
    for column in ("sampling", "category"):
        if row.get(column) in SAMPLINGS:
            sampling = row[column]
    return ObjectQuestion(
        question_id=question_id,
        image_id=int(id_in_name[1]),
        file_name=image,
        question=text,
        object=name,
        answer=answer,
        sampling=sampling,
        form=values.form,
        labels=labels,
    )


def _object_in(text: str) -> str:
    """Return the object that a question names; "" if it is not like POPE's."""
    match = OBJECT_ASKED.fullmatch(plain(text))
    if match is None:
        return ""
    return match["object"]


def _check_ids(questions: Sequence[ObjectQuestion], file: Readable) -> None:
    """Check that a file holds questions, each id once in a sampling."""
    if not questions:
        raise BuildError(f"{file} holds no question; expected POPE's questions, each id once.")
    ids = Counter((question.question_id, question.sampling) for question in questions)
    (question_id, _), times = ids.most_common(1)[0]
    if times > 1:
        raise BuildError(
            f"{file} holds question_id {question_id} more than once; expected POPE's questions, each id once, or once "
            f"in each sampling ({', '.join(SAMPLINGS)}), which a column `category` names."
        )


def left_out(questions: Sequence[ObjectQuestion]) -> list[LeftOut]:
    """Return the questions that RePOPE's authors left out, in the samplings present; none for POPE's own rows."""
    present: dict[str, set[int]] = {}
    for question in questions:
        if question.labels == REPOPE and question.sampling:
            present.setdefault(question.sampling, set()).add(question.question_id)
    ambiguous = []
    for sampling, ids in present.items():
        for question_id in range(1, PER_SAMPLING + 1):
            if question_id not in ids:
                ambiguous.append(LeftOut(question_id, sampling))
    return ambiguous


def read_all(rows: Iterable[Any], where: str = "references") -> list[ObjectQuestion]:
    """Read rows of `pope` or `pope_c`; an `ObjectQuestion` stays as it is."""
    questions = []
    for place, row in tables.numbered(where, rows):
        question = row
        if not isinstance(row, ObjectQuestion):
            question = _built_question(row, place)
        questions.append(question)
    return questions


def _built_question(row: Any, where: str) -> ObjectQuestion:
    """Read the row of a built dataset that stands there."""
    missing = _missing_columns(row)
    if missing:
        raise ValueError(
            f"{where} is {short_repr(row)}; expected a row of the dataset pope or pope_c. It has no "
            f"{', '.join(missing)}."
        )
    values = Fields(row, where)
    sampling = values.text_or_none("sampling") or ""
    if sampling:
        values.one_of("sampling", SAMPLINGS)
    return ObjectQuestion(
        question_id=values.whole("question_id"),
        image_id=values.whole("image_id"),
        file_name=values.text_or_none("file_name") or "",
        question=values.text("question"),
        object=values.text("object"),
        answer=values.yes_or_no("answer"),
        sampling=sampling,
        form=values.form,
        labels=values.text_or_none("labels") or "",
    )


def _missing_columns(row: Any) -> Sequence[str]:
    if not isinstance(row, Mapping):
        return NEEDED
    return [name for name in NEEDED if name not in row]


def unique_questions(rows: Iterable[Row]) -> tuple[list[Row], NDArray[np.int64]]:
    """Find the different (image, question) pairs, so that each is asked once and all rows are scored.

    The official 9,000 rows about COCO hold 5,127 pairs.

    Args:
        rows: rows with `question`, and `file_name` or `image_id`.

    Returns:
        The first row of each pair, and `index`, for each row the index of its pair. Given the `answers` to the first
        rows, `[answers[i] for i in index]` are the predictions for all rows.
    """
    numbers: dict[tuple[Any, Any], int] = {}
    unique: list[Row] = []
    index: list[int] = []
    for i, row in enumerate(rows):
        image = row.get("file_name") or row.get("image_id")
        question = row.get("question")
        if image is None or question is None:
            raise ValueError(
                f"rows[{i}] has no question, or neither file_name nor image_id: {short_repr(dict(row), 120)}."
            )
        pair = (image, question)
        if pair not in numbers:
            numbers[pair] = len(unique)
            unique.append(row)
        index.append(numbers[pair])
    return unique, np.array(index, dtype=np.int64)


def wanted(question: ObjectQuestion | LeftOut, *, sampling: str | None = None) -> bool:
    """Whether a question has a right answer and is in the sampling to score; without a sampling, any."""
    if isinstance(question, LeftOut):
        return False
    return sampling is None or sampling == question.sampling


def inputs(questions: Sequence[ObjectQuestion], *, corrected: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metric's inputs from the dataset's rows."""
    metric_inputs: dict[str, Any] = {
        "references": [question.answer for question in questions],
        "objects": [question.object for question in questions],
        "sampling": [question.sampling for question in questions],
        "questions": [question.question for question in questions],
        "forms": [question.form for question in questions],
        "image_ids": [question.image for question in questions],
    }
    if not all(metric_inputs["sampling"]):
        metric_inputs["sampling"] = None
    if corrected:
        metric_inputs["corrected"] = corrections(questions, load(corrected))
    return metric_inputs


def corrections(
    questions: Sequence[ObjectQuestion], corrected: Sequence[ObjectQuestion | LeftOut]
) -> list[str | None]:
    """Return RePOPE's answer to each of POPE's questions, or None where RePOPE has no answer."""
    rows = {(row.sampling, row.question_id): row for row in corrected}
    answers: list[str | None] = []
    for question in questions:
        row = rows.get((question.sampling, question.question_id))
        if isinstance(row, LeftOut):
            answers.append(None)
            continue
        if row is None or row.file_name != question.file_name or row.question != question.question:
            raise ValueError(
                f"corrected has no answer to question_id {question.question_id}, "
                f"{question.sampling or 'no sampling'}: {short_repr(question.question)}; expected RePOPE's answers to "
                "the questions of the dataset; they must be POPE's questions about COCO, with their samplings."
            )
        answers.append(row.answer)
    return answers


def version_of(questions: Sequence[ObjectQuestion | LeftOut], prompts: Sequence[str]) -> str:
    """Return which older versions of the samplings the prompts are from, such as "2023-05"; "" if they are of none."""
    rows = Counter(question.sampling for question in questions)
    if not any(_may_be_older(sampling, count) for sampling, count in rows.items()):
        return ""
    misspelt: Counter[str] = Counter()
    for question, prompt in zip(questions, prompts, strict=True):
        text = prompt
        if not prompt and not isinstance(question, LeftOut):
            text = question.question
        if "imange" in text:
            misspelt[question.sampling] += 1
    versions = set()
    for sampling, count in rows.items():
        version = _older_version(sampling, count, misspelt[sampling])
        if version:
            versions.add(version)
    return ",".join(sorted(versions))


def _may_be_older(sampling: str, rows: int) -> bool:
    """Whether an older version of a sampling has this many rows."""
    return any(name.startswith(f"{sampling} {rows} ") for name in _versions()["older"])


def _older_version(sampling: str, rows: int, misspelt: int) -> str:
    """Return when a sampling with this many rows, of which some say "imange", was published; "" for today's."""
    version: str = _versions()["older"].get(f"{sampling} {rows} {misspelt}", "")
    return version


def other_answers(question: ObjectQuestion) -> tuple[str, ...]:
    """Return POPE's answer to a question of RePOPE: POPE asks about COCO's present and absent objects in turns."""
    if question.labels != REPOPE or not question.sampling:
        return ()
    if question.question_id % 2 == 1:
        return ("yes",)
    return ("no",)


def are_corrected(questions: Sequence[ObjectQuestion], texts: Sequence[str | None]) -> bool:
    """Whether texts are RePOPE's answers to POPE's questions: they differ from POPE's where RePOPE's do."""
    known = 0
    as_corrected = 0
    for (sampling, hundred), ids in _differing(questions, texts).items():
        digests = _versions()["corrected"][sampling]
        if hundred < len(digests) and digests[hundred]:
            known += 1
            if _digest(repr(sorted(ids))).startswith(digests[hundred]):
                as_corrected += 1
    # one other answer in a hundred leaves more than a third of the hundreds as they are
    return known >= FEWEST_HUNDREDS and as_corrected >= known / 4


def _differing(
    questions: Sequence[ObjectQuestion], texts: Sequence[str | None]
) -> dict[tuple[str, int], list[int]]:
    """Return, for each hundred of a sampling's ids, the ids of the questions that the texts answer otherwise."""
    differing: dict[tuple[str, int], list[int]] = {}
    for question, text in zip(questions, texts, strict=True):
        if not question.sampling or question.labels == REPOPE or text is None:
            continue
        ids = differing.setdefault((question.sampling, question.question_id // HUNDRED), [])
        if plain_answer(text) != question.answer:
            ids.append(question.question_id)
    return differing


def known_answers(questions: Sequence[str]) -> list[str]:
    """Return POPE's answers to some questions, in their order; "" for each that is not POPE's, or not in POPE's order.

    In all of POPE's samplings, yes and no take turns: one by one, or in A-OKVQA's and GQA's random and popular ones,
    three by three.
    """
    texts = [plain(question) for question in questions]
    answers: list[str] = []
    while len(answers) < len(texts):
        remaining = len(texts) - len(answers)
        published = _published(texts[len(answers) :])
        # the first 2,910 random questions lack some absent objects, and RePOPE's lack some of each
        if published.rows != PER_SAMPLING:
            return answers + [""] * remaining
        turn = 3
        if "COCO" in published.name or "adversarial" in published.name:
            turn = 1
        for place in range(min(published.rows, remaining)):
            is_absent = place // turn % 2 == 1
            if is_absent:
                answers.append("no")
            else:
                answers.append("yes")
    return answers


def known(questions: Sequence[str]) -> Part | None:
    """Say which samplings some questions are, in their order; the dataset that has them ("" for none); and whether a
    sampling has more. None if they are not like POPE's.
    """
    texts = [plain(question) for question in questions]
    about_objects = sum(OBJECT_ASKED.fullmatch(text) is not None for text in texts)
    if not texts or about_objects < 0.9 * len(texts):
        return None
    descriptions: list[str] = []
    datasets = set()
    first = 0
    lacks_rows = False
    while first < len(texts):
        published = _published(texts[first:])
        datasets.add(published.dataset)
        if published == UNPUBLISHED:
            descriptions.append(f"{len(texts) - first:,} questions in another order, or made anew")
            break
        present = questions[first : first + published.rows]
        descriptions.append(_description(published, present))
        if len(present) < published.rows:
            lacks_rows = True
        first += published.rows
    dataset = ""
    if len(datasets) == 1:
        dataset = datasets.pop()
    return Part(dataset, "; ".join(descriptions), lacks_rows)


def _description(published: Published, questions: Sequence[str]) -> str:
    """Describe the questions of a published sampling that are present: its name and version, and how many they are."""
    name = published.name
    misspelt = sum("imange" in question for question in questions)
    version = _older_version(name.partition(" ")[0], len(questions), misspelt)
    if version:
        name = name.replace("(COCO)", f"(COCO, {version})")
    if len(questions) == published.rows:
        return name
    return f"{name}, {len(questions):,} of its {published.rows:,}"
