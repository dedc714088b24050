"""Asks a vision-language model a benchmark's questions, and writes its responses to a file of JSON lines.

The file grows batch by batch; repeating the call resumes where a killed one stopped.
"""

import hashlib
import json
import os
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from halluscope import limits
from halluscope.answering.models import Asked, Model, Response
from halluscope.answering.sources import Source
from halluscope.errors import BuildError
from halluscope.files.opening import parse
from halluscope.files.writing import only_writer
from halluscope.judging.planning import CHARACTERS_A_TOKEN
from halluscope.reading.datasets import Row
from halluscope.responses.names import PROMPT
from halluscope.sanitize import short_repr
from halluscope.validation import LARGEST_SEED, finite, whole

# The key in each line that describes the run; a file never mixes lines of different runs
RUN = "run"

# The key of a line for the model's reply in the first turn, if there was one
FIRST = "first"

# The most tokens of the reply to a first turn
FIRST_TOKENS = 1024

COLDEST = 0.01
HOTTEST = 10.0

# The tokens of a question and of its response, as a server counted them, by OpenAI's names
Usage = dict[str, int]


@dataclass(frozen=True)
class Sample:
    """How responses are drawn."""

    seed: int = 0  # of all draws, from 0 to `LARGEST_SEED`
    # the number by which scores are divided before the draw, from `COLDEST` to `HOTTEST`
    temperature: float = 1.0

    def __post_init__(self) -> None:
        whole("seed", self.seed, most=LARGEST_SEED)
        finite("temperature", self.temperature, COLDEST, HOTTEST)

    def seed_of(self, question: str, turn: str) -> int:
        """Return the seed of a question in a turn, from 0 to `LARGEST_SEED`, derived from the question's name."""
        digest = hashlib.sha256(f"{self.seed} {turn} {question}".encode()).digest()
        number = int.from_bytes(digest[:8], "big")  # of 64 bits
        return number // 2


def answer(
    model: Model | Callable[[], Model], source: Source, out: Path, *, progress: bool = True, **settings: Any
) -> int:
    """Ask a model the questions that have no response in a file yet, and add its responses to the file.

    Args:
        model: the model, or what loads it; it is loaded only when all else has been checked.
        source: the questions.
        out: the file of JSON lines.
        progress: whether a bar shows how far it is.
        settings: what is asked and how: the other fields of `Run`.

    Returns:
        How many questions got a response.

    Raises:
        ValueError: for a wrong setting, or if the file holds other lines than those of this run.
    """
    run = Run(source, **settings)
    with only_writer(out) as file:
        run.read(file, out)  # so that lines of another run are an error before the model is loaded
        if callable(model):
            model = model()
        if run.first is not None:
            model.check_turns()
        run.add_model(model)
        written = run.read(file, out)
        file.truncate(written.end)
        rows = run.left(written.usage)
        count = 0
        with tqdm(
            total=len(run.rows),
            initial=len(run.rows) - len(rows),
            desc="answering",
            unit="question",
            disable=not progress,
        ) as bar:
            for line in run.lines(model, rows):
                file.write(line)
                file.flush()
                count += 1
                bar.update()
    return count


@dataclass(frozen=True)
class Outlook:
    """What a run will take."""

    requests: int  # how many questions have no response yet, each turn counted
    done: int  # how many have one
    read: float  # tokens of the prompts that are left
    said: float  # tokens of the responses that are left
    is_measured: bool  # whether tokens are those that a server counted for the responses so far


def plan(source: Source, out: Path, **settings: Any) -> Outlook:
    """Return what the same call of `answer` will take, by what the server counted for the responses so far.

    Before any response, a token is taken as 4 characters, images as nothing, and each response as its longest.
    """
    run = Run(source, **settings)
    usage: dict[str, Usage] = {}
    if out.exists():
        with out.open("rb") as file:
            usage = run.read(file, out).usage
    rows = run.left(usage)
    read = [tokens["prompt_tokens"] for tokens in usage.values() if "prompt_tokens" in tokens]
    generated = [tokens["completion_tokens"] for tokens in usage.values() if "completion_tokens" in tokens]
    if not read or not generated or run.first is not None:
        return _estimate(run, rows, done=len(usage))
    return Outlook(
        requests=len(rows),
        done=len(usage),
        read=len(rows) * sum(read) / len(read),
        said=len(rows) * sum(generated) / len(generated),
        is_measured=True,
    )


def _estimate(run: "Run", rows: Sequence[Row], done: int) -> Outlook:
    """Return what it will take to ask about rows, by their questions alone; `done` is how many have a response."""
    count = len(rows)
    requests = count
    characters = sum(len(run.source.benchmark.asked(row, run.asked_with)) for row in rows)
    replies_to_first = 0
    if run.first is not None:  # it is sent alone, and again with its reply and the question
        requests += count
        characters += 2 * len(run.first) * count
        replies_to_first = FIRST_TOKENS * count
    return Outlook(
        requests=requests,
        done=done,
        read=characters / CHARACTERS_A_TOKEN + replies_to_first,
        said=float(run.tokens * count + replies_to_first),
        is_measured=False,
    )


@dataclass(frozen=True)
class Written:
    """What a file of responses holds."""

    usage: dict[str, Usage]  # what a server counted for each question that has a response
    end: int  # where its whole lines end, in bytes


@dataclass(frozen=True)
class Chat:
    """A row, and the turns before its question."""

    row: Row
    turns: tuple[str, ...] = ()


@dataclass
class Run:
    """What is asked and how, all checked; each line of the file holds the `settings`."""

    source: Source
    prompt: str | None = None  # another prompt, or the name of one; None for the benchmark's own
    max_new_tokens: int | None = None  # None for the benchmark's own
    sample: Sample | None = None  # None for the likeliest responses
    first: str | None = None  # what is sent in a turn before the question; None for nothing
    limit: int | None = None  # how many rows, from the first on; None for all
    batch_size: int = 8

    asked_with: str | None = field(init=False)  # the other prompt's text
    tokens: int = field(init=False)  # the most tokens of a response
    rows: Any = field(init=False)  # those that are asked about, a `datasets.Dataset`
    settings: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        benchmark = self.source.benchmark
        self.asked_with = benchmark.named_prompt(self.prompt)
        benchmark.check_prompt(self.asked_with or benchmark.prompt)
        counts = {
            "max_new_tokens": self.max_new_tokens,
            "batch_size": self.batch_size,
            "limit": self.limit,
        }
        for name, count in counts.items():
            if count is not None and count < 1:
                raise ValueError(f"{name} is {count}; expected at least 1.")
        if self.first is not None and not self.first.strip():
            raise ValueError("The first turn is empty; expected what to ask before the question.")
        self.tokens = self.max_new_tokens or benchmark.max_new_tokens
        count_of_rows = len(self.source.rows)
        limit = min(self.limit or count_of_rows, count_of_rows)
        self.rows = self.source.rows.select(range(limit))
        self.settings = {
            "dataset": self.source.name,
            "questions": f"{count_of_rows}-{self.source.digest(self.asked_with)}",
            "prompt": self.source.prompt(self.asked_with),
            "max_new_tokens": self.tokens,
            "sample": None,
            FIRST: None,
        }
        if self.sample is not None:
            self.settings["sample"] = asdict(self.sample)
        if self.first is not None:
            self.settings[FIRST] = {"prompt": self.first, "max_new_tokens": FIRST_TOKENS}

    def add_model(self, model: Model) -> None:
        """Let the settings say which model is asked."""
        settings: dict[str, Any] = {"model": model.key, "chat": model.chat}
        settings.update(self.settings)
        self.settings = settings

    def left(self, done: Container[str]) -> list[Row]:
        """Return the rows whose questions are not among those of these names."""
        return [row for row in self.rows if self._name(row) not in done]

    def _name(self, row: Row) -> str:
        """Return the name of a row's question."""
        return json.dumps([row.get(column) for column in self.source.dataset.key])

    def lines(self, model: Model, rows: list[Row]) -> Iterator[bytes]:
        """Ask about rows, and yield a line for each response as it comes; a row without one has no line."""
        if not rows:
            return
        if self.first is None:
            yield from self._ask(model, [Chat(row) for row in rows])
            return
        at_once = self.batch_size * model.at_once  # a killed run loses the first turns of no more rows
        for start in range(0, len(rows), at_once):
            yield from self._ask(model, self._begun(model, rows[start : start + at_once], self.first))

    def _ask(self, model: Model, chats: list[Chat]) -> Iterator[bytes]:
        questions = []
        for chat in chats:
            text = self.source.benchmark.asked(chat.row, self.asked_with)
            questions.append(self._question(chat.row, (*chat.turns, text), "response"))
        for index, response in model.replies(questions, self.tokens, self._temperature(), self.batch_size):
            line = self._line(chats[index], questions[index], response)
            yield json.dumps(line).encode() + b"\n"

    def _begun(self, model: Model, rows: list[Row], first: str) -> list[Chat]:
        """Return the rows whose first turn the model replied to, in their order, with that turn and the reply."""
        questions = [self._question(row, (first,), FIRST) for row in rows]
        chats = {}
        for index, reply in model.replies(questions, FIRST_TOKENS, self._temperature(), self.batch_size):
            chats[index] = Chat(rows[index], (first, reply.text))
        return [chats[index] for index in sorted(chats)]

    def _temperature(self) -> float:
        if self.sample is None:
            return 0.0
        return self.sample.temperature

    def _question(self, row: Row, turns: tuple[str, ...], turn: str) -> Asked:
        """Return what the model is asked about a row; `turn` is the name of the last of the turns."""
        image = None
        if row[self.source.key] is not None:
            image = partial(self.source.find, row[self.source.key])
        seed = None
        if self.sample is not None:
            seed = self.sample.seed_of(self._name(row), turn)
        return Asked(turns, image, seed)

    def _line(self, chat: Chat, question: Asked, response: Response) -> dict[str, Any]:
        line = identifying(chat.row, self.source.dataset.key)
        if chat.turns:
            line[FIRST] = chat.turns[-1]
        line["response"] = response.text
        line.update(response.columns)
        if "question" not in chat.row:
            line["prompt"] = question.turns[-1]
        if self.prompt in self.source.benchmark.prompts:
            line[PROMPT] = self.prompt
        line[RUN] = self.settings
        return line

    def read(self, file: IO[bytes], out: Path) -> Written:
        """Read what is in the file of responses already; a last line that is cut off does not count.

        Raises:
            ValueError: if a line is not one of this run's.
        """
        size = file.seek(0, os.SEEK_END)
        limits.check("file", size, str(out))
        usage: dict[str, Usage] = {}
        end = file.seek(0)
        for number, line in enumerate(file, 1):
            where = f"{out}, line {number}"
            is_whole = line.endswith(b"\n")
            try:
                row = parse(line.decode("utf-8", "replace"), where)
            except BuildError as error:
                if not is_whole and self._begins(line):
                    break
                raise ValueError(
                    f"{error} `halluscope answer` did not write this file; name a new file."
                ) from error
            self._check_line(row, where)
            if is_whole:
                usage[self._name(row)] = row.get("usage", {})
                end += len(line)
        return Written(usage, end)

    def _check_line(self, row: Any, where: str) -> None:
        """Check that a line has this run's settings."""
        if not isinstance(row, dict) or not isinstance(row.get(RUN), dict):
            raise ValueError(f"{where} was not written by `halluscope answer`; name a new file.")
        differences = []
        for name, value in self.settings.items():
            earlier = row[RUN].get(name)
            if earlier != value:
                differences.append(f"{name} {short_repr(earlier)}, not {short_repr(value)}")
        if differences:
            raise ValueError(
                f"{where} was made with {', '.join(differences)}. Name a new file, or repeat the earlier settings."
            )

    def _begins(self, line: bytes) -> bool:
        """Whether a line that is cut off is the beginning of a line that `answer` writes for this source."""
        for row in self.source.rows:
            columns = identifying(row, self.source.dataset.key)
            for name in (FIRST, "response"):
                beginning = json.dumps(columns | {name: ""}).removesuffix('"}').encode()
                if line.startswith(beginning) or beginning.startswith(line):
                    return True
        return False


def identifying(row: Row, key: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of a row that identify its question: its key, its image, and the question."""
    columns = {name: row[name] for name in key if name in row}
    for name in ("image_id", "question"):
        if name in row:
            columns[name] = row[name]
    return columns
