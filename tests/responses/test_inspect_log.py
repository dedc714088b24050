"""Inspect's logs as responses, from zips and JSON made here; in tests/harness, Inspect itself writes logs."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from halluscope import limits
from halluscope.errors import BuildError, LimitExceeded
from halluscope.files import opening
from halluscope.responses import reading


def sample(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a sample as Inspect logs it, with the fields that are read."""
    return {
        "id": f"{number} random",
        "epoch": 1,
        "input": "Is there a dog in the image?",
        "metadata": {"halluscope_task": "pope", "question_id": number, "sampling": "random", "cluster": "7"},
        "output": {"choices": [{"message": {"content": "Yes."}}], "completion": "Yes."},
        "scores": {"scores": {"value": {"accuracy": float("nan")}}},
    } | changes


def write_json(file: Path, samples: Any) -> Path:
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "halluscope/pope"},
        "plan": {},
        "samples": samples,
    }
    file.write_text(json.dumps(log, indent=2))
    return file


def write_zip(file: Path, members: dict[str, bytes]) -> Path:
    """A zip whose members are packed by Zstandard, which the zipfile of Python 3.11 cannot write."""
    central, place = b"", 0
    with file.open("wb") as out:
        for name, content in members.items():
            packed = zstandard.ZstdCompressor(write_content_size=False).compress(content)
            named = name.encode()
            sizes = (zlib.crc32(content), len(packed), len(content), len(named))
            local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 63, 0x800, opening.ZSTANDARD, 0, 0, *sizes, 4)
            out.write(local + named + b"\0\0\0\0" + packed)
            kinds = ("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, 0x800, opening.ZSTANDARD, 0, 0)
            central += struct.pack(*kinds, *sizes, 0, 0, 0, 0, 0, place) + named
            place = out.tell()
        out.write(central)
        count = len(members)
        out.write(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(central), place, 0))
    return file


def write_eval(file: Path, samples: list[Any]) -> Path:
    named = {f"samples/{number}_epoch_1.json": json.dumps(one).encode() for number, one in enumerate(samples)}
    return write_zip(file, {"header.json": b"{}", **named, "summaries.json": b"[]"})


def read(file: Path) -> reading.Responses:
    (responses,) = reading.read([file], reading.Reading(("pope",), parts={}))
    return responses


@pytest.mark.parametrize("write", [write_eval, write_json])
def test_a_log_holds_responses(tmp_path: Path, write: Any) -> None:
    ending = {write_eval: "eval", write_json: "json"}[write]
    responses = read(write(tmp_path / f"2026_pope.{ending}", [sample(1), sample(2)]))
    assert responses.name == "2026_pope" and responses.sampled
    assert responses.texts == ["Yes.", "Yes."]
    row = responses.table.row(1)
    assert row["question_id"] == 2 and row["sampling"] == "random" and "halluscope_task" not in row


def test_a_request_that_failed_is_no_response(tmp_path: Path) -> None:
    failed = sample(2, output={"choices": [], "completion": ""}, error={"message": "no route"})
    assert len(read(write_eval(tmp_path / "a.eval", [sample(1), failed]))) == 1
    silent = sample(2, output={"choices": [{"message": {"content": ""}}], "completion": ""})
    assert read(write_eval(tmp_path / "b.eval", [sample(1), silent])).texts == ["Yes.", ""]


@pytest.mark.parametrize("write", [write_eval, write_json])
@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "holds no samples; expected a log that was written with its samples"),
        ([sample(1), sample(1, epoch=2)], "belongs to epoch 2: this log holds several responses per row"),
        (
            [sample(1), {"id": 1}],
            r"is not a sample of Inspect: it is \{'id': 1\}; expected an object with epoch",
        ),
        (["Yes."], "is not a sample of Inspect: it is 'Yes.'"),
        ([sample(1), sample(1)], r"the document '1 random' is already in "),
        ([sample(1, metadata=None)], r"is a sample that names no task and holds no row \(doc\)"),
        (
            [sample(1, output={"choices": [{}], "completion": None})],
            "response is None; expected the LVLM's text",
        ),
    ],
)
def test_logs_that_hold_something_else(tmp_path: Path, write: Any, samples: list[Any], message: str) -> None:
    file = tmp_path / {write_eval: "a.eval", write_json: "a.json"}[write]
    with pytest.raises(ValueError, match=message):
        read(write(file, samples))


# What is wrong with a zip


@pytest.mark.parametrize("content", [b"{nope", b"[1]", b'{"id": "\xff"}'])
def test_the_name_of_a_sample_cannot_steer_a_terminal(tmp_path: Path, content: bytes) -> None:
    file = write_zip(tmp_path / "a.eval", {"samples/\x1b[31m\u202e\n.json": content})
    with pytest.raises(ValueError, match=r"samples/\\x1b\[31m\\u202e\\n\.json") as caught:
        read(file)
    assert str(caught.value).isprintable()


def test_every_byte_of_a_zip_matters_or_changes_nothing(tmp_path: Path) -> None:
    file = write_eval(tmp_path / "a.eval", [sample(1)])
    whole, expected = file.read_bytes(), read(file).texts[0]
    for place in range(0, len(whole), 3):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert read(file).texts[0] == expected
        except (ValueError, LimitExceeded):
            continue
    for end in range(0, len(whole), 50):
        file.write_bytes(whole[:end])
        with pytest.raises(BuildError):
            read(file)


def test_no_more_is_unpacked_than_the_limit(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.eval", {"samples/1.json": b" " * 10_000_000})
    with (
        limits.given("unpacked=1MB"),
        pytest.raises(LimitExceeded, match=r"samples/1\.json is larger than the limit"),
    ):
        read(file)
    lying = file.read_bytes().replace(struct.pack("<I", 10_000_000), struct.pack("<I", 10))
    file.write_bytes(lying)
    with limits.given("unpacked=1MB"), pytest.raises(LimitExceeded, match="limit 'unpacked'"):
        read(file)
    with limits.given("rows=1"), pytest.raises(LimitExceeded, match="limit 'rows'"):
        read(write_eval(tmp_path / "b.eval", [sample(1), sample(2)]))
