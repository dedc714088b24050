"""Says what a file is that other people wrote: which benchmark it answers, its columns, what is odd, what to type."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from halluscope import registry
from halluscope.benchmark import Part
from halluscope.errors import LimitExceeded
from halluscope.files.cut_ends import CutEnds
from halluscope.files.opening import SHEETS, ending
from halluscope.inspection.printed import printed, scores_among
from halluscope.inspection.recognising import (
    Recognised,
    by_questions,
    by_task,
    is_part,
    judged_by,
    options_of_part,
    recognise,
)
from halluscope.judging import completions
from halluscope.judging.verdicts import REPLIES, reply_of
from halluscope.paths import path_of
from halluscope.responses import logs, reading, text_column, thoughts
from halluscope.responses.cells import is_nothing, text_in
from halluscope.responses.column_facts import (
    LONGEST_LABEL,
    Expected,
    Texts,
    common_beginning,
    common_ending,
    first_question,
    labels_in,
    plain_answer,
    questions_among,
    right_answers,
)
from halluscope.responses.image_urls import URLS
from halluscope.responses.names import ANSWER_ID, IDS, IMAGES, MODELS, QUESTIONS, RIGHT_ANSWERS, SAYS, TEXTS
from halluscope.responses.odd_texts import notes_among
from halluscope.responses.rating_files import row_of
from halluscope.responses.repeats import places_of_repeats
from halluscope.responses.table import Table, kinds
from halluscope.responses.unfolding import SAMPLE, numbers
from halluscope.sanitize import one_line, typed

# What a file can hold
RESPONSES = "responses"
ASKED = "questions"
SCORES = "printed scores"
VERDICTS = "verdicts"
ANNOTATIONS = "annotations in COCO's format"
OTHER = "other rows"
NONE = "no rows"

# The columns of a right answer and of a verdict
GOLD = RIGHT_ANSWERS + ("answer",)
JUDGED = ("rating", "judge_text", "verdict", "correctness")

# The lists in a file of annotations in COCO's format
ANNOTATED = ("images", "annotations")

# The columns where a row's id is looked for
IDS_OF_ROWS = ("doc_id",) + IDS

# The column of a harness's samples with the response, and the other columns of a sample that are looked at
SAMPLED = "filtered_resps"
SAMPLE_COLUMNS = ("doc_id", logs.INPUT, "target", SAMPLED)

# The column of LLaVA's reviews with two ratings
REVIEWED = "tuple"

# How many columns of two rows are compared to tell whether one is the other again
MOST_COMPARED = 100

# What a command names where the file does not tell it
DATASET = "DATASET"
JUDGE = "JUDGE"
FILE = "RESPONSES"

FILE_OF_REPLIES = "{file}"  # stands for the file's name where a benchmark says how a judge's replies are read

# The image in Qwen-VL's prompts, and their end
PICTURE = re.compile(r"<img>[^<>]*</img>|<image(?:here)?>", re.IGNORECASE)
ANSWER_CUE = "Answer:"

# What is said of a judge's replies without ids
IN_ORDER = "chat completions, one for each question in the questions' order"
TEXTS_IN_ORDER = "texts, one for each question in the questions' order"

# The column of a text that stands in a list alone
BARE = TEXTS[0]


@dataclass(frozen=True)
class Inspection:
    """What a file is."""

    file: str
    kind: str  # one of the constants above
    rows: int = 0
    benchmarks: Sequence[str] = ()  # the benchmarks that it may belong to, the likeliest first
    about: str = ""  # which part or version of the benchmark, as far as its content tells
    # "id", "text", "image", "question" -> the column
    columns: Mapping[str, str] = field(default_factory=dict)
    odd: Mapping[str, int] = field(default_factory=dict)  # what is odd -> in how many rows
    figures: Mapping[str, float] = field(default_factory=dict)  # the scores that it prints
    words: Sequence[str] = ()  # of the command that scores it; () if it cannot be scored
    remarks: Sequence[str] = ()  # what a user should know of the column with the responses
    problem: str = ""  # why `score` may refuse it, as far as its content tells

    @property
    def command(self) -> str:
        """The command that scores it, for people; "" if it cannot be scored."""
        if not self.words:
            return ""
        return typed(self.words)

    def __str__(self) -> str:
        """Return one line."""
        kind = f"{self.rows:,} {self.kind}" if self.rows else self.kind
        if self.benchmarks:
            kind += f" of {' or '.join(self.benchmarks)}"
        if self.about:
            kind += f" ({self.about})"
        columns = []
        for name, column in self.columns.items():
            columns.append(f"{name} in {one_line(column, 40)}")
        odd = []
        for oddity, count in self.odd.items():
            odd.append(f"{count:,} {oddity}")
        figures = []
        for name, value in self.figures.items():
            figures.append(f"{one_line(name, 40)} {value:g}")
        parts = [kind]
        for facts in (columns, odd, figures, self.remarks):
            if facts:
                parts.append(", ".join(facts))
        if self.problem:
            parts.append(f"`score` may refuse it: {self.problem}")
        return "; ".join(parts)

    def row(self) -> dict[str, Any]:
        """Return what is known, for JSON."""
        facts = dict(vars(self))
        del facts["words"]
        facts["command"] = self.command
        return {name: value for name, value in facts.items() if value}


@dataclass(frozen=True)
class TextChoice:
    """The column that `score` takes for the responses, as far as a file's content tells."""

    column: str = ""
    remarks: Sequence[str] = ()  # what a user should know of the choice
    problem: str = ""  # why it is refused


def inspect(file: str | Path) -> Inspection:
    """Say what a file is, by its content alone; a file that is neither a table nor printed scores is an error."""
    name = str(file)
    cut_ends = CutEnds(allowed=True)
    located = []
    rows = []
    try:
        for where, row in reading.located(path_of(file), cut_ends):
            if isinstance(row, Mapping):
                row = _with_document(row)
                located.append((where, row))
                rows.append(row)
    except LimitExceeded:
        raise
    except ValueError as error:
        figures = printed(path_of(file))
        if not figures:
            raise error from error.__cause__
        return Inspection(name, SCORES, figures=figures)
    replies = _completions(rows)
    about = IN_ORDER
    if not replies:
        replies = _bare_texts(rows)
        about = TEXTS_IN_ORDER
    of_replies = _of_replies(Inspection(name, VERDICTS, len(replies), about=about), replies)
    if of_replies.benchmarks:  # else they may be an LVLM's
        return of_replies
    if len(rows) == 1 and rows[0].keys() >= set(ANNOTATED):
        return Inspection(name, ANNOTATIONS, about=_counted(rows[0]))
    table = Table.of_rows(name, located)
    if not table.columns:
        return Inspection(name, NONE)
    if not rows[0].keys() >= SAMPLE:
        table = reading.with_known_columns(table)
    return _of_table(name, table, table.rows(), cut_ends)


def _counted(content: Mapping[str, Any]) -> str:
    """Return how many entries the lists in a file of annotations have."""
    parts = []
    for name, entries in content.items():
        if name in (*ANNOTATED, "categories") and isinstance(entries, list):
            parts.append(f"{len(entries):,} {name}")
    return ", ".join(parts)


def _with_document(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a harness's sample with the columns of its document, as `score` reads it; any other row as it is."""
    if not row.keys() >= SAMPLE:
        return row
    sample = {}
    for column, value in logs.document_in(row).items():
        if column not in TEXTS:
            sample[column] = value
    for column in SAMPLE_COLUMNS:
        if column in row:
            sample[column] = row[column]
    return sample


def _of_table(name: str, table: Table, rows: Sequence[Mapping[str, Any]], cut_ends: CutEnds) -> Inspection:
    columns = _Columns(rows)
    choice = TextChoice(columns.first((SAMPLED,)))
    if not choice.column:
        choice = _choice(table)
    text = columns.first((choice.column,))
    if len(rows) == 1 and not text:
        figures = scores_among(("/".join(keys), value) for keys, value in numbers(rows[0]))
        if figures:
            return Inspection(name, SCORES, figures=figures)
    question = columns.first(name for name in (*QUESTIONS, logs.INPUT) if name != text)
    kind = _kind(table, rows[0], text, question)
    if kind == VERDICTS:
        return _of_verdicts(name, columns, rows, question)
    if kind == ASKED and not question:
        question = text
        text = ""
    roles = _roles(columns, len(rows), text, question)
    recognised = _recognised(table, roles, [str(row[question]) for row in rows if question in row])
    if kind == OTHER and question and recognised.benchmarks:
        kind = ASKED
    inspection = Inspection(
        file=name,
        kind=kind,
        rows=len(rows),
        benchmarks=recognised.benchmarks,
        about=recognised.part.about if recognised.part else "",
        columns=roles,
    )
    if kind != RESPONSES:
        return inspection
    if recognised.benchmarks and len(recognised.questions) == len(rows) and not choice.problem:
        choice = _beside_answers(table, choice, recognised)
    inspection = _of_responses(inspection, table, choice, cut_ends)
    if inspection.benchmarks and not inspection.problem:
        inspection = _with_command(inspection, recognised.part, columns)
    return inspection


def _of_responses(inspection: Inspection, table: Table, choice: TextChoice, cut_ends: CutEnds) -> Inspection:
    """Add what is odd about responses, and what a user should know of their column."""
    is_sheet = ending(Path(inspection.file)) in SHEETS
    remarks = list(choice.remarks)
    remarks += _texts_elsewhere(table, choice.column, is_sheet)
    return replace(
        inspection,
        columns={**inspection.columns, "text": choice.column},
        odd=_odd_rows(table, choice.column, is_sheet, cut_ends),
        remarks=remarks,
        problem=choice.problem,
    )


def dataset_for(inspection: Inspection) -> str:
    """Return which dataset scores responses to a file's questions: the file, or the benchmark's own.

    The file will not do if it lacks what the benchmark's rows need, such as right answers.
    """
    benchmark = registry.benchmark(inspection.benchmarks[0])
    try:
        benchmark.module("rows").load([inspection.file])
    except ValueError:
        return registry.first_dataset(benchmark).name
    return inspection.file


class _Columns:
    """How many rows have a value in each column."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.filled: Counter[str] = Counter()
        for row in rows:
            for column, value in row.items():
                if value not in (None, ""):
                    self.filled[column] += 1

    def first(self, names: Iterable[str], rows: int = 1) -> str:
        """Return the first of some columns that so many rows have; "" for none."""
        for name in names:
            if self.filled[name] >= max(1, rows):
                return name
        return ""


def _roles(columns: _Columns, rows: int, text: str, question: str) -> dict[str, str]:
    """Return the columns of ids, texts, images and questions, by their roles, where there are any."""
    roles = {
        "id": columns.first(IDS_OF_ROWS, rows),
        "text": text,
        "image": columns.first(IMAGES + URLS),
        "question": question,
    }
    for role in list(roles):
        if not roles[role]:
            del roles[role]
    return roles


def _kind(table: Table, first: Mapping[str, Any], text: str, question: str) -> str:
    """Return what rows are, given the first, and the columns with the responses and with the questions."""
    is_judged = not set(JUDGED).isdisjoint(table.columns)
    if REVIEWED in first and judged_by(first):
        return VERDICTS
    if text and not question and _are_questions(_shown_texts(table, text)):
        return ASKED
    if text and not (text in GOLD and is_judged):
        return RESPONSES
    if is_judged or judged_by(first):
        return VERDICTS
    has_right_answers = not set(GOLD).isdisjoint(table.columns)
    return ASKED if question and has_right_answers else OTHER


def _are_questions(texts: Sequence[str]) -> bool:
    with_mark = sum("?" in text for text in texts)
    return with_mark > 0.9 * len(texts) or bool(by_questions(texts).benchmarks)


def _recognised(table: Table, roles: Mapping[str, str], questions: list[str]) -> Recognised:
    """Return which benchmarks rows may belong to, if need be by their questions without what is written around them."""
    texts: Sequence[str] = []
    if "text" in roles:
        said = [text or "" for text in _texts_in(table, roles["text"])]
        texts = list(thoughts.take_out(said, thoughts.REMOVED).texts)
    images: list[str] = []
    if "image" in roles:
        images = [str(cell) for cell in table.cells(roles["image"])]
    ids: list[str] = []
    if "id" in roles:
        ids = [str(cell) for cell in table.cells(roles["id"])]
    if logs.TASK in table.columns:
        of_task = by_task({str(cell) for cell in table.cells(logs.TASK)})
        if of_task.benchmarks:
            return replace(of_task, questions=questions)
    bare = [_without_marks(question) for question in questions]
    first = [first_question(question) or question for question in questions]
    for asked_alone in (questions, bare, first, _without_frame(questions)):
        recognised = recognise(asked_alone, table.columns, texts, images, ids)
        if recognised.benchmarks:
            return replace(recognised, questions=asked_alone)
    return Recognised(questions=questions)


def _without_marks(prompt: str) -> str:
    """Return a prompt without the mark of the image, as LLaVA, OPERA and Qwen-VL write it, and "Answer:" at the end."""
    return PICTURE.sub("", prompt).strip().removesuffix(ANSWER_CUE).rstrip()


def _without_frame(prompts: Sequence[str]) -> list[str]:
    """Return prompts without what all of them begin with, up to a colon or a line's end, and all end with.

    A question mark before the end belongs to the question.
    """
    ending = common_ending(prompts).rpartition("?")[2]
    beginning = common_beginning(prompts)
    start = max(beginning.rfind(":"), beginning.rfind("\n")) + 1
    return [prompt[start:].removesuffix(ending).strip() for prompt in prompts]


def _with_command(inspection: Inspection, part: Part | None, columns: _Columns) -> Inspection:
    """Add the command that scores responses."""
    benchmark = registry.benchmark(inspection.benchmarks[0])
    first = registry.first_dataset(benchmark)
    roles = dict(inspection.columns)
    if len(first.id) == 1 and columns.filled[first.id[0]] >= inspection.rows:
        roles["id"] = first.id[0]  # where ids are looked for first
    source = first.name
    if part is not None:
        source = part.dataset or DATASET
    words = ["score", benchmark.name, "--responses", inspection.file, "--dataset", source]
    if benchmark.judges and not benchmark.judges.default:
        words += [f"--{benchmark.judges.option}", JUDGE]
    words += options_of_part(benchmark, inspection.rows)
    lacks = CUT in inspection.odd or LACKING in inspection.odd
    if part is not None and part.lacks_rows:
        lacks = True
    if lacks or is_part(benchmark, inspection.rows):
        words.append("--partial")
    return replace(inspection, columns=roles, words=words)


# The column with the responses


def _choice(table: Table) -> TextChoice:
    """Return the column with the responses, where the one that is named so may hold prompts."""
    column = text_column.by_name(table)
    if not column:
        return TextChoice()
    texts = text_column.texts_of(table, column)
    expected = Expected(questions_among(texts))
    try:
        decided = text_column.decide(table, column, texts, expected)
    except ValueError as error:
        return TextChoice(column, problem=str(error))
    if decided.column != column or decided.remarks:
        return TextChoice(decided.column, decided.remarks)
    candidates = text_column.beside(table, column, expected)
    if len(candidates) == 1 and _may_be_right_answers(table, column, texts, candidates[0].name):
        name = one_line(column, 40)
        beside = one_line(candidates[0].name, 40)
        return TextChoice(column, [f"if {name} holds the right answers, the responses are those in {beside}"])
    return TextChoice(column)


def _may_be_right_answers(table: Table, column: str, texts: Texts, beside: str) -> bool:
    """Whether a column may hold right answers, and the other one something else."""
    if column not in GOLD:
        for text in texts:
            if len(plain_answer(text or "")) > LONGEST_LABEL:
                return False
    answers = _texts_in(table, beside)
    return not right_answers(texts, answers)  # the same, as a rule reads it


def _beside_answers(table: Table, choice: TextChoice, recognised: Recognised) -> TextChoice:
    """Return the column with the responses, if the benchmark's right answers follow from its questions."""
    module = registry.benchmark(recognised.benchmarks[0]).module("rows")
    if choice.column == SAMPLED or not hasattr(module, "known_answers"):
        return choice
    answers = module.known_answers(recognised.questions)
    if not any(answers):
        return choice
    texts = text_column.texts_of(table, choice.column)
    expected = Expected([""] * len(texts), [answers], labels_in(answers))
    try:
        decided = text_column.decide(table, choice.column, texts, expected)
    except ValueError as error:
        return TextChoice(choice.column, problem=str(error))
    remarks = [remark for remark in choice.remarks if not remark.startswith("if ")]
    remarks += decided.remarks
    return TextChoice(decided.column, list(dict.fromkeys(remarks)))


def _texts_in(table: Table, column: str) -> list[str | None]:
    """Return a column's texts; None for a cell without one."""
    return [text_in(cell) for cell in table.cells(column)]


def _shown_texts(table: Table, column: str) -> list[str]:
    """Return a column's texts, and other cells as texts; "" for none."""
    texts = []
    for cell in table.cells(column):
        text = text_in(cell)
        if is_nothing(cell):
            text = ""
        elif text is None:
            text = str(cell)
        texts.append(text)
    return texts


# A judge's replies and ratings


def _completions(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the texts of chat completions; [] for other rows."""
    replies = []
    for row in rows:
        completion = row.get(TEXTS[0])  # where the reader of responses puts the choices, if it is one alone
        if "message" in row:
            completion = {"choices": [row]}
        if not isinstance(completion, Mapping) or "choices" not in completion:
            return []
        reply = completions.reply_in(completion, "a row")
        if reply is None:
            return []
        replies.append(reply)
    return replies


def _bare_texts(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return texts that stand in a list without anything else, or those in completions that they spell; else []."""
    texts = []
    for row in rows:
        if set(row) != {BARE}:
            return []
        text = str(row[BARE])
        texts.append(reply_of(row_of(text, "a row"), (), "a row") or text)
    return texts


def _of_verdicts(
    name: str, columns: _Columns, rows: Sequence[Mapping[str, Any]], question: str
) -> Inspection:
    """Say whose verdicts rows hold, by their columns, or by the words of a judge's replies."""
    roles = _roles(columns, len(rows), "", "")
    inspection = Inspection(name, VERDICTS, len(rows), columns=roles)
    judged = judged_by(rows[0])
    asked = by_questions([str(row[question]) for row in rows if question in row]).benchmarks
    if asked and judged not in asked:  # such as whether answers to POPE are right
        return replace(inspection, benchmarks=asked)
    if judged:
        return _with_ratings(inspection, judged, f"--ratings {FILE_OF_REPLIES}")
    replies = []
    for row in rows:
        for column in REPLIES:
            if column in row:
                replies.append(str(row[column]))
    if replies:
        return _of_replies(inspection, replies)
    return inspection


def _of_replies(inspection: Inspection, replies: Sequence[str]) -> Inspection:
    """Add the benchmark whose judge is asked for such replies, and the command that scores them."""
    for benchmark in registry.benchmarks():
        if not benchmark.is_scored:
            continue
        module = benchmark.module("metric")
        if hasattr(module, "are_replies") and module.are_replies(replies):
            return _with_ratings(inspection, benchmark.name, module.HOW_READ)
    return inspection


def _with_ratings(inspection: Inspection, benchmark: str, how_read: str) -> Inspection:
    """Add the command that scores responses with the verdicts in a file."""
    source = registry.first_dataset(registry.benchmark(benchmark)).name
    words = ["score", benchmark, "--responses", FILE, "--dataset", source]
    for word in how_read.split():
        words.append(word.replace(FILE_OF_REPLIES, inspection.file))
    return replace(inspection, benchmarks=[benchmark], words=words)


# What is odd

CUT = "line cut off at the end"
LACKING = "without a response"
EMPTY = "empty"


def _texts_elsewhere(table: Table, column: str, blank: bool) -> list[str]:
    """Say which columns have a text in each row that has none in this one."""
    missing = text_column.missing(table, [column], blank)
    lacking = [place for place, is_missing in enumerate(missing) if is_missing]
    columns = []
    for name in table.columns:
        if SAYS.match(name) and name not in GOLD and lacking:
            cells = table.cells(name)
            if all(isinstance(cells[place], str) and cells[place].strip() for place in lacking):
                columns.append(name)
    if not columns:
        return []
    return [
        f"rows without a text in {column} have one in {', '.join(columns)}: with --text-column {column} "
        f"{columns[0]}, for one, these rows are scored too"
    ]


def _odd_rows(table: Table, column: str, blank: bool, cut_ends: CutEnds) -> dict[str, int]:
    """Count what is odd about responses, and the rows that have none.

    Args:
        table: the rows.
        column: the column with the responses.
        blank: whether an empty cell is no response (`text_column.missing`).
        cut_ends: the last lines of which a part is missing.
    """
    texts = _shown_texts(table, column)
    lacking = sum(text_column.missing(table, [column], blank))
    empty = sum(not text.strip() for text in texts)
    names = list(table.columns)
    names.remove(column)
    gold = _first_present(GOLD, names)
    are_gold = gold != "" and _are_the_same(table.cells(gold), texts)
    beside = []
    for name in names:
        if SAYS.match(name) and str in kinds(table.cells(name)):
            beside.append(name)
    heard = thoughts.take_out(texts, thoughts.REMOVED)
    shown = ", ".join(sorted(beside)[:5])
    odd = {
        LACKING: lacking,
        EMPTY: empty - lacking,
        "repeats of an earlier row": len(_repeats(table, names, texts)),
        f"equal to {gold}": len(texts) if are_gold else 0,
        "notes of a program that it has no response": len(notes_among(heard.texts)),
        "with thoughts": heard.thoughts,
        "with thoughts that never end": heard.unfinished,
        "lists of one text": sum(isinstance(cell, list) and len(cell) == 1 for cell in table.cells(column)),
        f"other columns of texts ({shown})": len(set(beside) - set(GOLD)),
    }
    model = _first_present(MODELS, names)
    if model:
        models = {str(cell) for cell in table.cells(model) if cell is not None}
        if len(models) > 1:
            odd[f"LVLMs in the column {model}, which need a file each"] = len(models)
    odd[CUT] = len(cut_ends.places)
    return {oddity: count for oddity, count in odd.items() if count}


def _are_the_same(cells: Sequence[Any], texts: Sequence[str]) -> bool:
    """Whether a column holds the texts, but for case and outer spaces."""
    pairs = zip(cells, texts, strict=True)
    return all(str(cell).lower() == text.strip().lower() for cell, text in pairs)


def _repeats(table: Table, names: Sequence[str], texts: Sequence[str]) -> set[int]:
    """Return the places of rows that are an earlier one again; which columns identify a row is not known here."""
    ids = _cells_as_texts(table, names, IDS_OF_ROWS)
    others = [name for name in names if name != ANSWER_ID]
    return places_of_repeats(ids, _cells_as_texts(table, names, others[:MOST_COMPARED]), texts)


def _first_present(known: Sequence[str], names: Sequence[str]) -> str:
    """Return the first known name that is present; "" for none."""
    for name in known:
        if name in names:
            return name
    return ""


def _cells_as_texts(table: Table, names: Sequence[str], known: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the cells of the known columns that are present, row by row; "" where a row lacks one."""
    columns = []
    for name in known:
        if name not in names:
            continue
        cells = []
        for place, cell in enumerate(table.cells(name)):
            cells.append(str(cell) if table.has(place, name) else "")
        columns.append(cells)
    if not columns:
        return [()] * len(table)
    return list(zip(*columns, strict=True))
