"""The requests in batch files: each has an id, which is a digest of the request, and a list says what each id means.

A batch file holds requests, one per line, and is sent to a server as a whole. The output names each request only by its
id. All rounds of an export are in one folder: `round-1`, `round-2`, ..., each with its batch files and its list.
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
from halluscope.files.json_stream import lines
from halluscope.files.writing import json_line
from halluscope.judging.cache import Key, Request
from halluscope.sanitize import short_repr

ID = "custom_id"

LIST = "asked.jsonl"  # The file with a round's list of requests

# The file with the ids that were asked again and have come, one per line; it is in the folder of all rounds
CAME = "came.txt"

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A grader's reply that is requested."""

    judge: str  # the grader's key
    prompt: str  # the sha256 of the prompt, in hexadecimal digits
    repeat: int  # the number of the repeat
    seed: int  # the seed of the reply
    fresh: bool  # whether the reply is to replace one that is kept
    empty: bool  # whether an empty text is a reply

    @property
    def about(self) -> tuple[str | int, ...]:
        """What tells this request from others."""
        return "reply", self.judge, self.prompt, self.repeat, self.seed

    @property
    def request(self) -> Request:
        """What identifies the judge's reply in the cache."""
        return bytes.fromhex(self.prompt), self.repeat, self.seed


@dataclass(frozen=True, slots=True)
class Vote:
    """A voter's vote that is requested."""

    judge: str  # the voter's key
    frame: str  # the question's frame
    question: str  # the question as it is asked
    text: str  # the sha256 of the text, in hexadecimal digits

    @property
    def about(self) -> tuple[str | int, ...]:
        """What tells this request from others."""
        return "vote", self.judge, self.frame, self.question, self.text


Wanted = Reply | Vote


def custom_id(wanted: Wanted) -> str:
    """Return the id of a request: a digest of what is asked, in 48 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(wanted.about).encode(), digest_size=24).hexdigest()


def listed(id: str, wanted: Wanted) -> str:
    """Return a request as a line of the list."""
    return json_line({ID: id, **asdict(wanted)})


def rounds(folder: Path) -> list[Path]:
    """Return the folders of the rounds so far, in their order."""
    found = {number: path for path in folder.glob("round-*") if (number := _number(path))}
    return [found[number] for number in sorted(found)]


def next_round(folder: Path) -> Path:
    """Return the folder of the next round."""
    last = max(map(_number, rounds(folder)), default=0)
    return folder / f"round-{last + 1}"


def read_list(part: Path) -> Iterator[tuple[str, Wanted]]:
    """Yield what was asked in a round, each request after its id."""
    for where, row in lines(part / LIST):
        wanted = _wanted(row)
        if wanted is None or row[ID] != custom_id(wanted):
            raise BuildError(
                f"{where} is {short_repr(row)}; expected a request as `halluscope ask export` lists it. Export "
                "again, into another folder."
            )
        yield row[ID], wanted


def came(folder: Path) -> set[str]:
    """Return the ids that were asked again and whose replies have come."""
    file = folder / CAME
    return set(file.read_text(encoding="utf-8").split()) if file.exists() else set()


def came_anew(folder: Path) -> set[Key]:
    """Return the keys of the replies that were asked for again and have come."""
    ids = came(folder)
    of_lists = (one for part in rounds(folder) if ids for one in read_list(part))
    replies = (wanted for id, wanted in of_lists if id in ids and isinstance(wanted, Reply))
    return {(reply.judge, *reply.request) for reply in replies}


def _wanted(row: Any) -> Wanted | None:
    """Return the request in a line of the list; None if the line is not a request."""
    match row:
        case {
            "custom_id": str(),
            "judge": str(judge),
            "prompt": str(prompt),
            "repeat": int(repeat),
            "seed": int(seed),
            "fresh": bool(fresh),
            "empty": bool(empty),
            **rest,
        } if not rest and _SHA256.fullmatch(prompt) and max(repeat, abs(seed)) < 2**63:
            return Reply(sys.intern(judge), prompt, repeat, seed, fresh, empty)
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
    """Return the number of a round's folder; 0 for another folder."""
    number = path.name.removeprefix("round-")
    return int(number) if number.isdecimal() and number.isascii() else 0
