"""Says what a file is that other people wrote: which benchmark it answers, its columns, what is odd, what to type."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.benchmark import Benchmark
from halluscope.building import spec
from halluscope.errors import LimitExceeded
from halluscope.files.cut_ends import CutEnds
from halluscope.files.opening import ending, read_text
from halluscope.judging import completions
from halluscope.paths import path_of
from halluscope.responses import files, text_column, thoughts
from halluscope.responses.cells import is_nothing, text_in
from halluscope.responses.column_facts import (
    LONGEST_LABEL,
    Expected,
    Texts,
    first_question,
    plain_answer,
    questions_among,
    right_answers,
)
from halluscope.responses.image_urls import URLS, file_in
from halluscope.responses.names import IDS, IMAGES, QUESTIONS, SAYS
from halluscope.responses.repeats import places_of_repeats
from halluscope.responses.text_column import Table
from halluscope.sanitize import one_line

# What a file can hold
RESPONSES, ASKED, SCORES, VERDICTS = "responses", "questions", "printed scores", "verdicts"
OTHER, NONE = "other rows", "no rows"

# The columns of a right answer and of a verdict
GOLD = ("label", "gold", "answer", "gt_answer", "ground_truth", "target")
JUDGED = ("rating", "judge_text", "verdict", "correctness")

# A score in a text, and words that only names of scores hold
_FIGURE = re.compile(r"(?<![\w-])([A-Za-z][\w ()%-]{0,60}?)\s*[:|=]\s*(-?\d+(?:\.\d+)?)\b")

_WORDS = ("acc", "score", "rate", "f1")

# What a command names where the file does not tell it
DATASET, JUDGE, FILE = "DATASET", "JUDGE", "RESPONSES"

FILE_OF_REPLIES = "{file}"  # stands for the file's name where a benchmark says how a judge's replies are read

# What is said of a judge's replies without ids
IN_ORDER = "chat completions, one for each question in the questions' order"

FEWEST_WORDS = 8  # texts of this many words, in the median, describe
MOST = 30  # how many printed scores are listed


class Inspection(NamedTuple):
    """What a file is."""

    file: str
    kind: str  # one of the constants above
    rows: int = 0
    benchmarks: Sequence[str] = ()  # the benchmarks that it may belong to, the likeliest first
    about: str = ""  # which part or version of the benchmark, as far as its content tells
    columns: Mapping[str, str] = {}  # "id", "text", "image", "question" -> the column
    odd: Mapping[str, int] = {}  # what is odd -> in how many rows
    figures: Mapping[str, float] = {}  # the scores that it prints
    command: str = ""  # the command that scores it; "" if it cannot be scored
    remarks: Sequence[str] = ()  # what a user should know of the column with the responses
    problem: str = ""  # why `score` may refuse it, as far as its content tells

    def __str__(self) -> str:
        """Return one line."""
        of = f" of {' or '.join(self.benchmarks)}" if self.benchmarks else ""
        about = f" ({self.about})" if self.about else ""
        rows = f"{self.rows:,} " if self.rows else ""
        parts = [
            [f"{rows}{self.kind}{of}{about}"],
            [f"{name} in {one_line(column, 40)}" for name, column in self.columns.items()],
            [f"{count:,} {what}" for what, count in self.odd.items()],
            [f"{one_line(name, 40)} {value:g}" for name, value in self.figures.items()],
            self.remarks,
            [f"`score` may refuse it: {self.problem}" if self.problem else ""],
        ]
        return "; ".join(", ".join(part) for part in parts if any(part))

    def row(self) -> dict[str, Any]:
        """Return what is known, for JSON."""
        return {key: value for key, value in self._asdict().items() if value}


def inspect(file: str | Path) -> Inspection:
    """Say what a file is, by its content alone; a file that is neither a table nor printed scores is an error."""
    name = str(file)
    cut_ends = CutEnds(allowed=True)
    try:
        located = [one for one in files.located(path_of(file), cut_ends) if isinstance(one[1], Mapping)]
    except LimitExceeded:
        raise
    except ValueError as error:
        figures = _printed(path_of(file))
        if not figures:
            raise error from error.__cause__
        return Inspection(name, SCORES, figures=figures)
    rows = [row for _, row in located]
    replies = _completions(rows)
    if replies:
        return _of_completions(name, replies)
    held = Counter(column for row in rows for column, value in row.items() if value not in (None, ""))
    names = {column for row in rows for column in row}
    if not names:
        return Inspection(name, NONE)

    def first(known: Iterable[str], enough: int = 1) -> str:
        return next((column for column in known if held[column] >= enough), "")

    table = Table.of(name, located)
    taken = Taken(first(("filtered_resps",)))
    if not taken.column:
        taken = _taken(table, text_column.by_name(rows))
    text = taken.column if held[taken.column] else ""
    numbers = files.numbers(rows[0]) if len(rows) == 1 and not text else ()
    if figures := _scores(("/".join(keys), value) for keys, value in numbers):
        return Inspection(name, SCORES, figures=figures)
    question = first(one for one in (*QUESTIONS, "input") if one != text)
    texts = [_shown(row.get(text)) for row in rows]
    is_judged, has_gold = not names.isdisjoint(JUDGED), not names.isdisjoint(GOLD)
    if not question and text and sum("?" in one for one in texts) > 0.9 * len(texts):
        question, text, kind = text, "", ASKED
    elif text and not (text in GOLD and is_judged):
        kind = RESPONSES
    else:
        kind = VERDICTS if is_judged else ASKED if question and has_gold else OTHER
    id = first(("doc_id", *IDS), max(1, len(rows)))
    roles = {"id": id, "text": text, "image": first((*IMAGES, *URLS)), "question": question}
    columns = {role: column for role, column in roles.items() if column}
    asked = [str(row[question]) for row in rows if question and question in row]
    images = [str(row.get(columns["image"])) for row in rows] if "image" in columns else []
    benchmarks, about, dataset, is_part = _benchmarks(asked, names, texts if text else [], images)
    if not benchmarks and asked:  # the questions without what is written after them
        alone = [first_question(text) or text for text in asked]
        benchmarks, about, dataset, is_part = _benchmarks(alone, names, texts if text else [], images)
        asked = alone
    if kind == RESPONSES and benchmarks and len(asked) == len(rows) and not taken.problem:
        taken = _beside_answers(table, taken, benchmarks[0], asked)
        text, columns["text"] = taken.column, taken.column
        texts = [_shown(row.get(text)) for row in rows]
    found = Inspection(name, kind, len(rows), benchmarks, about, columns)
    if kind != RESPONSES:
        return found
    blank = ending(Path(file)) in files.TABLES
    odd = _odd(rows, text, texts)
    lacking = sum(text_column.missing(rows, [text], blank))
    if lacking:
        empty = odd.pop("empty") - lacking
        odd = {"without a response": lacking} | ({"empty": empty} if empty else {}) | odd
    cut = {"line cut off at the end": len(cut_ends.places)} if cut_ends.places else {}
    found = found._replace(odd=odd | cut, remarks=taken.remarks, problem=taken.problem)
    if not benchmarks or taken.problem:
        return found
    benchmark = registry.benchmark(benchmarks[0])
    own = registry.first_dataset(benchmark).id
    if len(own) == 1 and held[own[0]] >= len(rows):
        found = found._replace(columns=columns | {"id": own[0]})  # where ids are looked for first
    source = registry.first_dataset(benchmark).name if dataset is None else dataset or DATASET
    command = f"halluscope score {benchmark.name} --responses {one_line(name)} --dataset {source}"
    if benchmark.judges and not benchmark.judges.default:
        command += f" --{benchmark.judges.option} {JUDGE}"
    if is_part or cut or lacking or _is_part(benchmark, len(rows)):
        command += " --partial"
    return found._replace(command=command)


@dataclass(frozen=True)
class Taken:
    """The column that `score` takes for the responses, as far as a file's content tells."""

    column: str
    remarks: Sequence[str] = ()  # what a user should know of the choice
    problem: str = ""  # why it is refused


def _taken(table: Table, column: str) -> Taken:
    """Return the column with the responses, where the one that is named so may hold prompts."""
    if not column:
        return Taken("")
    texts = [text_in(row.get(column)) for row in table.rows]
    expected = Expected(questions_among(texts))
    try:
        choice = text_column.decide(table, column, texts, expected)
    except ValueError as error:
        return Taken(column, problem=str(error))
    if choice.column != column or choice.remarks:
        return Taken(choice.column, choice.remarks)
    candidates = text_column.beside(table.rows, column, expected)
    if len(candidates) == 1 and _may_be_right_answers(table, column, texts, candidates[0].name):
        name = one_line(column, 40)
        other = one_line(candidates[0].name, 40)
        return Taken(column, [f"if {name} holds the right answers, the responses are those in {other}"])
    return Taken(column)


def _may_be_right_answers(table: Table, column: str, texts: Texts, other: str) -> bool:
    """Whether a column may hold right answers, and the other one something else."""
    are_short = all(len(plain_answer(text or "")) <= LONGEST_LABEL for text in texts)
    if column not in GOLD and not are_short:
        return False
    others = [text_in(row.get(other)) for row in table.rows]
    return not right_answers(texts, others)  # the same, as a rule reads it


def _beside_answers(table: Table, taken: Taken, benchmark: str, questions: Sequence[str]) -> Taken:
    """Return the column with the responses, if a benchmark's right answers follow from its questions."""
    module = registry.benchmark(benchmark).module("rows")
    if taken.column == "filtered_resps" or not hasattr(module, "known_answers"):
        return taken
    answers = module.known_answers(questions)
    if not any(answers):
        return taken
    texts = [text_in(row.get(taken.column)) for row in table.rows]
    expected = Expected([""] * len(texts), [answers])
    try:
        choice = text_column.decide(table, taken.column, texts, expected)
    except ValueError as error:
        return Taken(taken.column, problem=str(error))
    remarks = [remark for remark in taken.remarks if not remark.startswith("if ")]
    return Taken(choice.column, remarks + list(choice.remarks))


def _shown(cell: Any) -> str:
    """Return a cell as text; "" for null."""
    return "" if is_nothing(cell) else str(cell)


def _printed(file: Path) -> dict[str, float]:
    """Return the scores that a text prints; {} if it prints none, or is no text."""
    try:
        text = read_text(file)
    except LimitExceeded:
        raise
    except ValueError:
        return {}
    return _scores(_FIGURE.findall(text))


def _completions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts of chat completions; [] for other rows. The reader of responses gives each choice as a row."""
    replies = []
    for row in rows:
        reply = completions.reply_in({"choices": [row]}) if "message" in row else None
        if reply is None:
            return []
        replies.append(reply)
    return replies


def _of_completions(name: str, replies: Sequence[str]) -> Inspection:
    """Say whose verdicts a judge's replies are, by their words."""
    for benchmark in registry.benchmarks():
        if not benchmark.is_scored:
            continue
        module = benchmark.module("metric")
        if hasattr(module, "are_replies") and module.are_replies(replies):
            source = registry.first_dataset(benchmark).name
            command = (
                f"halluscope score {benchmark.name} --responses {FILE} --dataset {source} "
                f"{module.HOW_READ.replace(FILE_OF_REPLIES, one_line(name))}"
            )
            return Inspection(name, VERDICTS, len(replies), [benchmark.name], IN_ORDER, command=command)
    return Inspection(name, VERDICTS, len(replies), about=IN_ORDER)


def _is_part(benchmark: Benchmark, rows: int) -> bool:
    """Whether the dataset has more rows, all of which need a response."""
    in_sets = registry.first_dataset(benchmark).also or hasattr(benchmark.module("rows"), "set_of")
    if benchmark.partial_ok or in_sets or not benchmark.datasets:
        return False
    return bool(rows < spec.load(benchmark.datasets[0].name).expected.get("questions", 0))


def _benchmarks(
    asked: Sequence[str], names: Collection[str], texts: Sequence[str], images: Sequence[str]
) -> tuple[list[str], str, str | None, bool]:
    """Return the benchmarks that rows may belong to, by questions, images, columns, or their length; what they are;
    their dataset (None for the benchmark's, "" for an unknown one); and whether their questions show them to be a part.
    """
    records = registry.benchmarks()
    for benchmark in records:
        module = benchmark.module("rows") if benchmark.is_scored else None
        if found := getattr(module, "known", lambda asked: None)(asked):
            return [benchmark.name], *found
    pictured = [file_in(image) for image in images]
    for benchmark in records:
        module = benchmark.module("rows") if benchmark.is_scored else None
        is_image = getattr(module, "is_image", None)
        if is_image is not None and pictured and all(map(is_image, pictured)):
            return [benchmark.name], "", None, False
    if prompted := [one.name for one in records if asked and {*asked} == {one.prompt}]:
        return prompted, "", None, False
    first = {one.name: one.datasets[0] for one in records if one.datasets}
    known = {name: {*one.id, *one.columns, *one.upstream} for name, one in first.items()}
    shared = Counter(name for each in known.values() for name in each)
    own = {name: sum(shared[key] == 1 for key in each.intersection(names)) for name, each in known.items()}
    if (most := max(own.values(), default=0)) > 1:
        return [name for name, count in own.items() if count == most], "", None, False
    words = sorted(len(text.split()) for text in texts)
    if words and words[len(words) // 2] >= FEWEST_WORDS:
        described = [one.name for one in records if one.is_scored and one.partial_ok]
        return described, "descriptions", "", False
    return [], "", None, False


def _odd(rows: Sequence[Mapping[str, Any]], column: str, texts: Sequence[str]) -> dict[str, int]:
    """Count what is odd about responses."""
    names = {name for row in rows for name in row} - {column}
    gold = next((name for name in GOLD if name in names), "")
    equal = all(
        str(row.get(gold)).lower() == text.strip().lower() for row, text in zip(rows, texts, strict=True)
    )
    others = {
        name for name in names if SAYS.match(name) and any(isinstance(row.get(name), str) for row in rows)
    }
    heard = thoughts.take_out(texts, thoughts.REMOVED)
    about = [name for name in IDS if name in names]
    told = [tuple(str(row.get(name, "")) for name in about) for row in rows]
    asked = [tuple(str(row.get(name, "")) for name in QUESTIONS if name in names) for row in rows]
    found = {
        "empty": sum(not text.strip() for text in texts),
        "repeats of an earlier row": len(places_of_repeats(told, asked, texts)),
        f"equal to {gold}": len(rows) if gold and equal else 0,
        "with thoughts": heard.thoughts,
        "with thoughts that never end": heard.unfinished,
        "lists of one text": sum(isinstance(row.get(column), list) for row in rows),
        f"other columns of texts ({', '.join(sorted(others)[:5])})": len(others - {*GOLD}),
    }
    return {what: count for what, count in found.items() if count}


def _scores(stated: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """Return the first of these numbers whose names are those of scores; a repeated name gets a number."""
    found: dict[str, float] = {}
    seen = Counter[str]()
    known = {letters(score) for one in registry.benchmarks() for score in one.scores}
    for name, value in islice(stated, 100 * MOST):
        last = letters(name.rpartition("/")[2])
        if len(found) < MOST and (last in known or any(word in last for word in _WORDS)):
            seen[name := name.strip()] += 1
            found[f"{name} #{seen[name]}" if seen[name] > 1 else name] = float(value)
    return found


def letters(name: str) -> str:
    """Return the letters and digits of a score's name, by which names are compared."""
    return re.sub("[^a-z0-9]", "", name.lower())
