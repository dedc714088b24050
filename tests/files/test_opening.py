"""Opening files that are packed, truncated, too large, not plain files, or given twice. A child measures memory."""

import gzip
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from halluscope.errors import BuildError
from halluscope.files.opening import (
    check_once,
    read_json,
)

MB = 2**20
NAME = "annotations/instances.json"


def zeros(megabytes):
    """Return megabytes of white space, packed by deflate."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(packer.compress(b" " * MB) for _ in range(megabytes)) + packer.flush()


def archive(file, packed, size):
    """Write a zip whose only member claims to hold `size` bytes, whatever it holds."""
    name = NAME.encode()
    facts = struct.pack("<IIIHH", 0, len(packed), size, len(name), 0)
    local = struct.pack("<IHHHHH", 0x04034B50, 20, 0, 8, 0, 33) + facts + name
    central = (
        struct.pack("<IHHHHHH", 0x02014B50, 20, 20, 0, 8, 0, 33)
        + facts
        + struct.pack("<HHHII", 0, 0, 0, 0, 0)
    )
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(central + name), len(local) + len(packed), 0)
    file.write_bytes(local + packed + central + name + end)
    return file


def peak(code, *arguments, limits=""):
    """Return a child process's output, and its peak memory beyond that of its imports, in bytes."""
    script = (
        "import sys, resource\nfrom pathlib import Path\n"
        "from halluscope.files.opening import *\nfrom halluscope.reading.tables import rows\nimport zipfile\n"
        "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\nbefore = most()\n"
        f"try:\n    {code}\nexcept ValueError as error:\n    print(type(error).__name__, error)\n"
        "print(most() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"HALLUSCOPE_LIMITS": limits},
    )
    *said, taken = done.stdout.splitlines()
    return "\n".join(said), int(taken)


# Too large


def test_a_member_that_says_it_is_too_large_is_not_even_unpacked(tmp_path):
    file = archive(tmp_path / "a.zip", zeros(1), 3 * 2**30)
    said, taken = peak("read_json(zipfile.Path(sys.argv[1], sys.argv[2]))", file, NAME)
    assert said.startswith(
        f"LimitExceeded {file}/{NAME} is larger than the limit 'unpacked' of 1,073,741,824"
    )
    assert taken < 10 * MB


def test_a_member_that_says_it_is_small_gives_no_more_than_that(tmp_path):
    file = archive(tmp_path / "a.zip", zeros(300), 100)
    said, taken = peak("read_json(zipfile.Path(sys.argv[1], sys.argv[2]))", file, NAME)
    assert said.startswith(f"BuildError {file}/{NAME} cannot be read, or is cut off: Bad CRC-32")
    assert taken < 10 * MB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_that_is_unpacked_without_a_bound_is_refused(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as file:
        file.writestr(NAME, "{}")
    with pytest.raises(BuildError, match="another method than deflate; pack the archive anew"):
        read_json(zipfile.Path(tmp_path / "a.zip", NAME))


def test_a_gzip_is_unpacked_up_to_the_limit(tmp_path):
    with gzip.open(tmp_path / "a.json.gz", "wb") as file:
        for _ in range(300):
            file.write(b" " * MB)
    said, taken = peak("read_json(Path(sys.argv[1]))", tmp_path / "a.json.gz", limits="unpacked=40MiB")
    assert "a.json.gz is larger than the limit 'unpacked' of 41,943,040 bytes" in said
    assert taken < 60 * MB


@pytest.mark.parametrize(("unit", "first"), [(b"{}\n", b""), (b"{},", b"[")])
def test_millions_of_rows_in_a_small_file(unit, first, tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(first + unit * 3_000_000))
    said, taken = peak(
        "for _ in json_rows(Path(sys.argv[1])): pass", tmp_path / "a.jsonl.gz", limits="rows=9K"
    )
    assert "a.jsonl.gz is larger than the limit 'rows' of 9,000 rows" in said
    assert taken < 60 * MB


# No plain file, or damaged


def test_what_is_no_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    device = "a pipe or a device"
    for file, what in ((tmp_path, "a folder"), (tmp_path / "pipe.json", device), (Path("/dev/zero"), device)):
        with pytest.raises(BuildError, match=f"{file} is {what}; expected a file"):
            read_json(file)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_json(tmp_path / "loop")


# Names


def test_a_file_that_is_given_twice_is_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.touch(), two.touch()
    os.link(one, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(one)
    check_once([one, two, tmp_path / "not there", tmp_path / "not there either"])
    for again in (one, tmp_path / "hard", tmp_path / "soft", tmp_path / ".." / tmp_path.name / "one"):
        with pytest.raises(BuildError, match="is given twice.*; expected each file once. Leave one out"):
            check_once([one, two, again])
