"""What is asked by batch files: each request by an id that is a digest of it, and a list that says what each id means.

A batch file holds requests, one per line, and goes to a server as a whole; what comes back names each request by its id
alone. All rounds of one export lie in one folder: `round-1`, `round-2`, ..., each with its batch files and its list.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halluscope.errors import BuildError
from halluscope.files.entries import lines
from halluscope.files.writing import json_line
from halluscope.foreign import brief
from halluscope.judging.store_records import FoundBy, utf8

ID = "custom_id"

LIST = "asked.jsonl"
"""The list of a round."""

CAME = "came.txt"
"""The ids that were asked anew, and whose replies have come; one per line, in the folder of all rounds."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A grader's reply that is asked for.

    Attributes:
        judge: its key.
        prompt: the sha256 of the prompt, in hexadecimal digits.
        repeat: which repeat it is.
        seed: of the reply.
        fresh: whether it shall replace one that is kept.
    """

    judge: str
    prompt: str
    repeat: int
    seed: int
    fresh: bool

    @property
    def about(self) -> tuple[str | int, ...]:
        """What tells it from others."""
        return "reply", self.judge, self.prompt, self.repeat, self.seed

    @property
    def found_by(self) -> FoundBy:
        """What the store finds it by."""
        return utf8(self.judge), bytes.fromhex(self.prompt), self.repeat, self.seed


@dataclass(frozen=True, slots=True)
class Vote:
    """A voter's vote that is asked for.

    Attributes:
        judge: its key.
        frame: of the question.
        question: as it is put.
        text: the sha256 of the text, in hexadecimal digits.
    """

    judge: str
    frame: str
    question: str
    text: str

    @property
    def about(self) -> tuple[str | int, ...]:
        """What tells it from others."""
        return "vote", self.judge, self.frame, self.question, self.text


Wanted = Reply | Vote


def custom_id(wanted: Wanted) -> str:
    """The id of a request: a digest of what is asked, in 48 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(wanted.about).encode(), digest_size=24).hexdigest()


def listed(id: str, wanted: Wanted) -> str:
    """A line of the list."""
    return json_line({ID: id, **asdict(wanted)})


def rounds(folder: Path) -> list[Path]:
    """The folders of the rounds so far, in their order."""
    found = {number: path for path in folder.glob("round-*") if (number := _number(path))}
    return [found[number] for number in sorted(found)]


def next_round(folder: Path) -> Path:
    """The folder of a further round."""
    last = max(map(_number, rounds(folder)), default=0)
    return folder / f"round-{last + 1}"


def read_list(part: Path) -> Iterator[tuple[str, Wanted]]:
    """What was asked in a round, by the id of each request.

    Raises:
        BuildError: for a list that is not as it was written.
        FileNotFoundError: if there is none.
    """
    for where, row in lines(part / LIST):
        wanted = _wanted(row)
        if wanted is None or row[ID] != custom_id(wanted):
            raise BuildError(
                f"{where} is {brief(row)}; expected a request as `halluscope ask export` lists it. Export again, into "
                "another folder."
            )
        yield row[ID], wanted


def came(folder: Path) -> set[str]:
    """The ids that were asked anew, and whose replies have come."""
    file = folder / CAME
    return set(file.read_text(encoding="utf-8").split()) if file.exists() else set()


def came_anew(folder: Path) -> set[FoundBy]:
    """What the replies are found by that were asked anew, and have come."""
    ids = came(folder)
    of_lists = (one for part in rounds(folder) if ids for one in read_list(part))
    return {wanted.found_by for id, wanted in of_lists if id in ids and isinstance(wanted, Reply)}


def _wanted(row: Any) -> Wanted | None:
    """What a line of the list says; None for one that says something else."""
    match row:
        case {
            "custom_id": str(),
            "judge": str(judge),
            "prompt": str(prompt),
            "repeat": int(repeat),
            "seed": int(seed),
            "fresh": bool(fresh),
            **rest,
        } if not rest and _SHA256.fullmatch(prompt) and max(repeat, abs(seed)) < 2**63:
            return Reply(sys.intern(judge), prompt, repeat, seed, fresh)
        case {
            "custom_id": str(),
            "judge": str(judge),
            "frame": str(frame),
            "question": str(question),
            "text": str(text),
            **rest,
        } if not rest and _SHA256.fullmatch(text):
            return Vote(sys.intern(judge), sys.intern(frame), sys.intern(question), sys.intern(text))
    return None


def _number(path: Path) -> int:
    """The number of a round's folder; 0 for another."""
    number = path.name.removeprefix("round-")
    return int(number) if number.isdecimal() and number.isascii() else 0
