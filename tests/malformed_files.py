"""Malformed files: each function turns the content of a good file into a bad one."""

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

DEEP = "[" * 200_000

Damage = Callable[[bytes], bytes]

BYTES: dict[str, Damage] = {
    "empty": lambda good: b"",
    "blanks": lambda good: b" \n\t\n",
    "half": lambda good: good[: len(good) // 2],
    "without its end": lambda good: good[:-3],
    "twice": lambda good: good + b"\n" + good,
    "byte order mark": lambda good: b"\xef\xbb\xbf" + good,
    "utf-16": lambda good: good.decode().encode("utf-16"),
    "no utf-8": lambda good: good.replace(b'": ', b'": \xff', 1),
    "nul": lambda good: good.replace(b'": ', b'": \0', 1),
    "noise": lambda good: bytes(range(256)) * 8,
    "deep": lambda good: DEEP.encode(),
    "deep objects": lambda good: b'{"a":' * 100_000,
    "deep inside": lambda good: good.replace(b'": ', b'": ' + DEEP.encode(), 1),
    "a number": lambda good: b"5",
    "a long number": lambda good: b"9" * 5000,
    "numbers": lambda good: b"[1, 2, 3]",
    "null": lambda good: b"null",
    "an empty object": lambda good: b"{}",
    "an empty list": lambda good: b"[]",
    "lists in a list": lambda good: b"[[[]], [[1]]]",
    "tables": lambda good: b'{"tables": 5}',
    "a web page": lambda good: b"<!DOCTYPE html><html><body>404</body></html>",
    "a git pointer": lambda good: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "gzip in disguise": gzip.compress,
    "a zip's beginning": lambda good: b"PK\x03\x04" + good,
    "parquet's beginning": lambda good: b"PAR1" + good + b"PAR1",
    "python's pickle": lambda good: b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}\x94.",
}
"""What a file may hold instead."""

ODD: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a great number": 10**30,
    "a fraction": 0.5,
    "beyond all floats": 1e308 * 10,
    "not a number": float("nan"),
    "true": True,
    "the empty text": "",
    "half a character": "\ud800",
    "an escape": "\x1b[31mred\x07",
    "a nul": "\0",
    "lines": "a\nb\r\nc\u2028d",
    "a formula": "=1+1",
    "an empty list": [],
    "an object": {"a": {"b": [1]}},
    "lists": [[["a"]]],
    "a script": "<script>alert(1)</script>",
    "a way out": "../../../etc/passwd",
}
"""What may stand where something else belongs."""


def odd_rows(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows with an odd value in the first row, column by column, and without each column."""
    for name in rows[0]:
        for called, value in ODD.items():
            yield f"{name} is {called}", [{**rows[0], name: value}, *copy.deepcopy(rows[1:])]
        yield f"without {name}", [{key: row[key] for key in row if key != name} for row in rows]


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as JSON lines, with any content."""
    return "\n".join(map(json.dumps, rows)).encode()
