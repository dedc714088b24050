"""Says what a file is that other people wrote: which benchmark it answers, its columns, what is odd, what to type."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from halluscope import registry
from halluscope.building import spec
from halluscope.errors import LimitExceeded
from halluscope.files.opening import read_text
from halluscope.paths import path_of
from halluscope.registry import Benchmark
from halluscope.responses import files, thoughts
from halluscope.responses.files import IDS, IMAGES, QUESTIONS
from halluscope.sanitize import one_line

# What a file can hold
RESPONSES, ASKED, SCORES, VERDICTS = "responses", "questions", "printed scores", "verdicts"
OTHER, NONE = "other rows", "no rows"

# The columns of a right answer and of a verdict
GOLD = ("label", "gold", "answer", "gt_answer", "ground_truth", "target")
JUDGED = ("rating", "judge_text", "verdict", "correctness")

# A score in a text, and words that only names of scores hold
_FIGURE = re.compile(r"([A-Za-z][\w ()%-]{0,30}?)\s*[:|=]\s*(-?\d+(?:\.\d+)?)\b")

_WORDS = ("acc", "score", "rate", "f1")

# What a command names where the file does not tell it
DATASET, JUDGE = "DATASET", "JUDGE"

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
        ]
        return "; ".join(", ".join(part) for part in parts if part)

    def row(self) -> dict[str, Any]:
        """Return what is known, for JSON."""
        return {key: value for key, value in self._asdict().items() if value}


def inspect(file: str | Path) -> Inspection:
    """Say what a file is, by its content alone; a file that is neither a table nor printed scores is an error."""
    name = str(file)
    try:
        rows = [row for _, row in files.located(path_of(file)) if isinstance(row, Mapping)]
    except LimitExceeded:
        raise
    except ValueError:
        if not (figures := _scores(_FIGURE.findall(read_text(path_of(file))))):
            raise
        return Inspection(name, SCORES, figures=figures)
    held = Counter(column for row in rows for column, value in row.items() if value not in (None, ""))
    names = {column for row in rows for column in row}
    if not names:
        return Inspection(name, NONE)

    def first(known: Iterable[str], enough: int = 1) -> str:
        return next((column for column in known if held[column] >= enough), "")

    known, _ = files.texts_among(tuple(+held))
    text = first(("filtered_resps", *known, *files.text_columns(rows)))
    numbers = files.numbers(rows[0]) if len(rows) == 1 and not text else ()
    if figures := _scores(("/".join(keys), value) for keys, value in numbers):
        return Inspection(name, SCORES, figures=figures)
    question = first(one for one in (*QUESTIONS, "input") if one != text)
    texts = [str(row.get(text, "")) for row in rows]
    is_judged, has_gold = not names.isdisjoint(JUDGED), not names.isdisjoint(GOLD)
    if not question and text and sum("?" in one for one in texts) > 0.9 * len(texts):
        question, text, kind = text, "", ASKED
    elif text and not (text in GOLD and is_judged):
        kind = RESPONSES
    else:
        kind = VERDICTS if is_judged else ASKED if question and has_gold else OTHER
    id = first(("doc_id", *IDS), max(1, len(rows)))
    roles = {"id": id, "text": text, "image": first(IMAGES), "question": question}
    columns = {role: column for role, column in roles.items() if column}
    asked = [str(row[question]) for row in rows if question and question in row]
    benchmarks, about, dataset, is_part = _benchmarks(asked, names, texts if text else [])
    found = Inspection(name, kind, len(rows), benchmarks, about, columns)
    if kind != RESPONSES:
        return found
    found = found._replace(odd=_odd(rows, text, texts))
    if not benchmarks:
        return found
    benchmark = registry.benchmark(benchmarks[0])
    source = registry.first_dataset(benchmark).name if dataset is None else dataset or DATASET
    command = f"halluscope score {benchmark.name} --responses {one_line(name)} --dataset {source}"
    if benchmark.judges and not benchmark.judges.default:
        command += f" --{benchmark.judges.option} {JUDGE}"
    return found._replace(command=command + " --partial" * (is_part or _is_part(benchmark, len(rows))))


def _is_part(benchmark: Benchmark, rows: int) -> bool:
    """Whether the dataset has more rows, all of which need a response."""
    in_sets = registry.first_dataset(benchmark).also or hasattr(benchmark.module("rows"), "set_of")
    if benchmark.partial_ok or in_sets or not benchmark.datasets:
        return False
    return bool(rows < spec.load(benchmark.datasets[0].name).expected.get("questions", 0))


def _benchmarks(
    asked: Sequence[str], names: Collection[str], texts: Sequence[str]
) -> tuple[list[str], str, str | None, bool]:
    """Return the benchmarks that rows may belong to, by their questions, their columns, or their length; what they are;
    their dataset (None for the benchmark's, "" for an unknown one); and whether their questions show them to be a part.
    """
    records = registry.benchmarks()
    for benchmark in records:
        module = benchmark.module("rows") if benchmark.is_scored else None
        if found := getattr(module, "known", lambda asked: None)(asked):
            return [benchmark.name], *found
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
        name
        for name in names
        if files.SAYS.match(name) and any(isinstance(row.get(name), str) for row in rows)
    }
    found = {
        "empty": sum(not text.strip() for text in texts),
        f"equal to {gold}": len(rows) if gold and equal else 0,
        "with thoughts": thoughts.take_out(texts, thoughts.REMOVED)[1],
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
