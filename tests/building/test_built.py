"""The contents of a stats.json: anything unexpected ends in an error that names the file and the key."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasets import Features, List, Value

from halluscope import cli, registry
from halluscope.building import build_info
from halluscope.building.output import Table
from halluscope.errors import BuildError
from halluscope.hub import contents

HOSTILE = (
    "<script>alert(1)</script>",
    "a](https://example.org)",
    "a\n---\nlicense: mit",
    "a | b",
    "a\x1b[31m",
)

ODD: tuple[Any, ...] = (
    *(None, 5, -1, 0.5, True, "", "x", [], {}, [1], [None], {"a": "b"}, {"": 1}, [[]], "\ud800"),
    *(10**400, 2**64, float("nan"), float("inf"), "0" * 63, "a" * 100_000),
    *HOSTILE,
)


@pytest.fixture
def throne(built: Path, tmp_path: Path) -> Path:
    """A throne_coco for tests to corrupt."""
    return Path(shutil.copytree(built / "throne_coco", tmp_path / "throne_coco"))


def stats(folder: Path) -> Any:
    return json.loads((folder / "stats.json").read_text())


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each place in a JSON value, as the keys that lead there."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], to: Any) -> Any:
    """Return the value with one part replaced."""
    if not at:
        return to
    value = copy.copy(value)
    value[at[0]] = changed(value[at[0]], at[1:], to)
    return value


@pytest.mark.parametrize("name", [one.name for one in registry.datasets()])
def test_every_build_is_of_this_form(name: str, built: Path) -> None:
    found = build_info.read_stats(built / name / "stats.json")
    assert found == stats(built / name)
    assert build_info.compare(built / name, found["tables"])


def test_whatever_stands_in_a_place(throne: Path) -> None:
    """Either a build could have written it, or the error names its place."""
    file, whole = throne / "stats.json", stats(throne)
    refused = 0
    for at in places(whole):
        for odd in ODD:
            file.write_text(json.dumps(changed(whole, at, odd)))
            try:
                build_info.read_stats(file)
            except BuildError as error:
                refused += 1
                said = str(error)
                assert said.startswith(str(file)) and said.endswith(f"Build {throne} again."), (at, odd, said)
                assert len(said) < 600 + 2 * len(str(throne)) and said.isprintable(), (at, odd, said)
                named = all(key in said for key in at[:1])
                assert named or "not JSON" in said, (at, said)
            else:
                assert odd not in HOSTILE and not isinstance(odd, list), (at, odd)
    assert refused > 900


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"5", b"null", b"\xff\xfe", b'{"tables": 5}'),
        *(b"[" * 200_000, b'{"a":' * 200_000, b'{"counts": ' + b'{"a":' * 500 + b"1" + b"}" * 501),
        *(b"1" * 10_000, b'{"name": "a", "name": "b"}', b'{"counts": ' + b"[" * 960 + b"]" * 960 + b"}"),
    ],
)
@pytest.mark.parametrize("command", ["build", "publish"])
def test_what_is_no_stats_file(
    content: bytes, command: str, throne: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (throne / "stats.json").write_bytes(content)
    if command == "build":
        status = cli.main(
            ["build", "pope_c", "--source", str(throne), "--out", str(tmp_path / "out"), "--subset"]
        )
    else:
        status = cli.main(["publish", "dataset", "throne_coco", "--org", "acme", "--folder", str(throne)])
    said = capsys.readouterr().err
    assert status in (1, 2) and str(throne / "stats.json") in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()


# Where its files lie


def point_at(folder: Path, file: str) -> None:
    """Let stats.json name a shard, with the right sha256."""
    whole = stats(folder)
    (folder / "stats.json").write_text(json.dumps(changed(whole, ("tables", 0, "shards", 0, "file"), file)))


OUTSIDE = ("data/../data/", "data/./", "data//", "/data/", "data/a/b/", "data/.", "data\\", "C:/")


@pytest.mark.parametrize(
    "file",
    [
        *("../x.parquet", "data/../../x.parquet", "x.parquet", "data", ""),
        *(f"{folder}x-00000-of-00001.parquet" for folder in (*OUTSIDE, "data/x\n-", "data/x\x1b[31m-")),
    ],
)
def test_a_shard_elsewhere(file: str, throne: Path) -> None:
    point_at(throne, file)
    with pytest.raises(BuildError, match=r"stats\.json: tables is .*; expected what a build writes"):
        build_info.read_stats(throne / "stats.json")


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_a_link_that_leads_out(what: str, throne: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next((throne / "data").iterdir()) if what == "the file" else throne / "data"
    path.symlink_to(path.rename(throne.parent / "outside"))
    with pytest.raises(BuildError, match="or is outside"):
        build_info.compare(throne, stats(throne)["tables"])
    with pytest.raises(BuildError, match="or is outside"):
        contents.dataset("throne_coco", "acme", throne, subset=True)


# Rows that do not fit


FEATURES = Features({"id": Value("int64"), "text": Value("string"), "many": List(Value("string"))})
GOOD = {"id": 1, "text": "a", "many": ["b"]}


@pytest.mark.parametrize(
    "odd",
    [
        *(5, None, ["id"], GOOD | {"id": 10**400}, GOOD | {"id": 2**64}, GOOD | {"id": "x"}),
        *(GOOD | {"text": 5}, GOOD | {"text": {"a": 1}}, GOOD | {"text": "\ud800"}),
        *(GOOD | {"many": [1]}, GOOD | {"many": {"a": 1}}, GOOD | {"text": object()}),
    ],
)
def test_a_row_that_cannot_be_written(odd: Any, tmp_path: Path) -> None:
    rows = [*[GOOD] * 150, odd, *[GOOD] * 100]
    table = Table(FEATURES, rows, "coco")
    with pytest.raises(BuildError, match=r"Row 150 \(the first is 0\) of config 'coco' cannot be"):
        table.write(tmp_path, "test")
