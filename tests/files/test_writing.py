"""Output is written completely or not at all, even if the process is killed, and nothing else is touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from halluscope.errors import OutputError
from halluscope.files import writing
from tests.files.disk import content, full

ROOT = Path(__file__).parents[2]
NEW = {"a.txt": "new", "data/one": "new", "data/two": "new"}
OLD = {"a.txt": "old", "data/one": "old", "data/three": "old"}
OTHERS = {"notes.txt": "mine", "deep/er/notes.txt": "mine", ".hidden": "mine"}


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*") if file.is_file()
    }


def put(path: Path, replaced: Callable[[], set[str]] = set) -> None:
    with writing.new_folder(path, replaced) as new:
        fill(new, NEW)


def ours() -> set[str]:
    return {"a.txt", "data"}


@pytest.fixture(params=["in one step", "in two steps"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a system call that swaps folders."""
    if request.param == "in two steps":
        monkeypatch.setattr(writing, "_exchange", lambda *_: False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with something old, and with files of the user's."""
    place = tmp_path / "place"
    fill(place, OLD | OTHERS)
    (place / "link").symlink_to("notes.txt")
    (place / "broken").symlink_to("nowhere")
    (place / "of_folder").symlink_to("deep")
    os.mkfifo(place / "pipe")
    (place / "empty").mkdir(mode=0o700)
    place.chmod(0o750)
    return place


# A folder


def test_a_new_folder(tmp_path: Path) -> None:
    put(tmp_path / "deep" / "place")
    assert texts(tmp_path) == {f"deep/place/{name}": text for name, text in NEW.items()}
    assert [entry.name for entry in (tmp_path / "deep").iterdir()] == ["place"]


@pytest.mark.usefixtures("steps")
def test_what_is_replaced_goes_and_all_else_stays(place: Path) -> None:
    before = {name: held for name, held in content(place).items() if name not in OLD}
    put(place, ours)
    after = content(place)
    assert {name: after[name] for name in before} == before  # not even copied
    assert texts(place).items() >= (NEW | OTHERS).items() and "data/three" not in after
    assert (place / "pipe").is_fifo() and (place / "empty").stat().st_mode & 0o777 == 0o700
    assert place.stat().st_mode & 0o777 == 0o750
    assert [entry.name for entry in place.parent.iterdir()] == ["place"]


def test_the_same_file_stays_and_another_is_not_replaced(tmp_path: Path) -> None:
    fill(tmp_path, {"place/a.txt": "new"})
    before, inode = content(tmp_path / "place"), (tmp_path / "place").stat().st_ino
    put(tmp_path / "place")
    assert content(tmp_path / "place").items() >= before.items() and texts(tmp_path / "place") == NEW
    assert (tmp_path / "place").stat().st_ino == inode
    fill(tmp_path, {"other/data/mine": "mine"})
    before = content(tmp_path)
    with pytest.raises(OutputError, match="data is there already; move it away"):
        put(tmp_path / "other")
    assert content(tmp_path) == before


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), OutputError("no")]
)
@pytest.mark.parametrize("where", ["while it is filled", "before it is put"])
def test_what_fails_leaves_all_as_it_was(place: Path, error: BaseException, where: str) -> None:
    before = content(place.parent)

    def fail() -> set[str]:
        raise error

    with pytest.raises(type(error)), writing.new_folder(place, fail) as new:
        fill(new, NEW)
        if where == "while it is filled":
            raise error
    assert content(place.parent) == before


def test_what_cannot_be_moved_is_moved_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two steps, of which the second fails."""
    before, rename = content(place.parent), Path.rename

    def fails(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(writing, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="Input/output"):
        put(place, ours)
    assert content(place.parent) == before


def test_other_files_that_cannot_be_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example on another disk mounted there: they would have to be copied, and removed."""
    before = content(place.parent)

    def other_disk(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", other_disk)
    with pytest.raises(
        OutputError, match=r"place holds other files, which cannot be kept .*: .*cross-device link"
    ):
        put(place, ours)
    assert content(place.parent) == before
    put(place, lambda: {entry.name for entry in place.iterdir()})  # without other files it does not matter
    assert texts(place) == NEW


@pytest.mark.usefixtures("steps")
def test_what_came_meanwhile_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = writing._exchange

    def late(new: Path, path: Path) -> bool:
        fill(path, {"late.txt": "mine", "deep/late/late.txt": "mine"})
        return exchange(new, path)

    monkeypatch.setattr(writing, "_exchange", late)
    put(place, ours)
    assert texts(place).items() >= (NEW | OTHERS | {"late.txt": "mine", "deep/late/late.txt": "mine"}).items()


def test_only_what_is_ours_is_cleared(tmp_path: Path) -> None:
    work = tmp_path / ".place.halluscope-unfinished"
    fill(work, {"mine.txt": "mine", "new/a.txt": "half"})
    fill(tmp_path, {".place-other/mine.txt": "mine"})
    put(tmp_path / "place")
    assert texts(work) == {"mine.txt": "mine"} and texts(tmp_path / ".place-other") == {"mine.txt": "mine"}
    (tmp_path / "theirs" / "new").mkdir(parents=True)
    (tmp_path / ".other.halluscope-unfinished").symlink_to("theirs")
    with pytest.raises(OutputError, match="is a link; expected a folder"):
        put(tmp_path / "other")
    assert (tmp_path / "theirs" / "new").is_dir()


KILLED = """
import os, signal, sys
from pathlib import Path
from halluscope.files import writing
from tests.files.test_writing import NEW, OLD, OTHERS, fill, ours, put, texts

root, two_steps = Path(sys.argv[1]), sys.argv[2] == "two steps"
if two_steps:
    writing._exchange = lambda *_: False
STATES = {"old": OLD | OTHERS, "new": NEW | OTHERS, "none": None}
seen = set()
for at in range(1, 1000):
    place = root / str(at) / "place"
    fill(place, OLD | OTHERS)
    child = os.fork()
    if not child:
        left = at
        def count(event, details):
            global left
            if event.startswith(("os.", "open", "shutil.", "ctypes.dlsym")):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(count)
        put(place, ours)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    found = texts(place) if place.exists() else None
    state = next((name for name, one in STATES.items() if one == found), str(found))
    seen.add(state)
    put(place, ours)
    after = texts(place)
    assert after == NEW | OTHERS, (at, state, after)
    assert [entry.name for entry in place.parent.iterdir()] == ["place"], (at, state)
    if not ended:
        break
print(at, *sorted(seen))
"""


@pytest.mark.parametrize("how", ["one step", "two steps"])
def test_killed_at_any_moment(how: str, tmp_path: Path) -> None:
    """Kill at each system call in turn, then write again. Without a swap, there is a moment with no folder at all."""
    command = [sys.executable, "-c", KILLED, str(tmp_path), how]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    moments, *seen = ran.stdout.split()
    assert int(moments) > 40
    assert seen == (["new", "old"] if how == "one step" else ["new", "none", "old"])


def test_killed_between_two_renames_and_then_made_by_somebody_else(place: Path) -> None:
    """Nothing is lost: neither the old content, nor the new."""
    work = place.parent / ".place.halluscope-unfinished"
    (work / "new").mkdir(parents=True)
    place.rename(work / "old")
    fill(place, {"mine.txt": "mine"})
    before = content(place.parent)
    with pytest.raises(
        OutputError, match=r"old is .*place as it was before a build that was killed; move it back"
    ):
        put(place)
    assert content(place.parent) == before


HELD = """
import sys
from pathlib import Path
from halluscope.files import writing
from tests.files.test_writing import NEW, fill

with getattr(writing, sys.argv[1])(Path(sys.argv[2])) as made:
    if sys.argv[1] == "new_folder":
        fill(made, NEW)
    print("held", flush=True)
    sys.stdin.read()
"""


def held(kind: str, path: Path) -> subprocess.Popen[str]:
    """Another process that writes to a place until its standard input ends."""
    command = [sys.executable, "-c", HELD, kind, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_second_one_is_told_and_changes_nothing(place: Path) -> None:
    (place.parent / "link").symlink_to(place)
    with held("new_folder", place.parent / "new") as first:
        before = content(place.parent)
        with pytest.raises(OutputError, match=r"Another process is making .*new; wait until it ends"):
            put(place.parent / "new")
        assert content(place.parent) == before
        put(place, ours)  # another folder has its own
        first.communicate()
    assert first.returncode == 0 and texts(place.parent / "new") == NEW


def test_one_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with held("new_folder", tmp_path / "place") as first:
        first.send_signal(signal.SIGKILL)
    put(tmp_path / "place")
    assert [entry.name for entry in tmp_path.iterdir()] == ["place"]


# A file that grows


def test_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "grows.jsonl"
    for line in (b"one\n", b"two\n"):
        with writing.only_writer(path) as file:
            file.write(line)
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    with held("only_writer", path) as first:
        for name in (path, tmp_path / "link", tmp_path / "hard"):
            with pytest.raises(OutputError, match="Another process is writing to"), writing.only_writer(name):
                pytest.fail("there are two writers")
        first.communicate()
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_that_stays_empty_goes_again(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "mine").touch()
    for name in ("new", "link", "mine"):
        with pytest.raises(KeyError), writing.only_writer(tmp_path / name):
            raise KeyError
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "mine"]


def test_what_was_written_before_an_error_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyError), writing.only_writer(tmp_path / "new") as file:
        file.write(b"one\n")
        raise KeyError
    assert (tmp_path / "new").read_bytes() == b"one\n"
    with full(at=2), pytest.raises(OSError), writing.only_writer(tmp_path / "full") as file:
        file.write(b"one\n")
    assert (tmp_path / "full").read_bytes() == b"on"


def test_a_file_that_was_removed_meanwhile_is_not_written_to(tmp_path: Path) -> None:
    with (tmp_path / "file").open("ab") as file:
        (tmp_path / "file").unlink()
        assert not writing._lock(file, tmp_path / "file")
        (tmp_path / "file").touch()
        assert not writing._lock(file, tmp_path / "file")


def test_only_a_file_grows(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(OutputError, match="is a folder or not a regular file"), writing.only_writer(path):
            pytest.fail("it is written to")


# A new file


@pytest.mark.parametrize("before", [None, "before"])
def test_a_full_disk_leaves_a_file_as_it_was(before: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    if before:
        path.write_text(before)
    held = content(tmp_path)
    with full(at=100), pytest.raises(OSError), writing.new_file(path) as file:
        file.write("x" * 200)
    assert content(tmp_path) == held


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OutputError, match="one is not a folder"), writing.new_file(tmp_path / "one" / "file"):
        pytest.fail("it is written to")
    with pytest.raises(OSError), writing.only_writer(tmp_path / "one"):
        pytest.fail("it is written to")


AS_NOBODY = """
import os, sys, tempfile
from pathlib import Path
from halluscope.errors import OutputError
from halluscope.files import writing

path = Path(sys.argv[1])
if os.geteuid() == 0:
    for folder in path.parents[1:4]:  # pytest makes them for its user alone
        folder.chmod(folder.stat().st_mode | 0o055)
    os.setuid(65534)
for write in (writing.check_new, writing.new_file, writing.new_folder):
    try:
        begun = write(path)
        begun and begun.__enter__()
    except OutputError as error:
        print(error)
"""


def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    """The error names the user's file and its folder, not a temporary name."""
    tmp_path.chmod(0o555)
    said = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, tmp_path / "page"], capture_output=True, text=True, check=True
    )
    error = f"{tmp_path / 'page'} cannot be written: you may not write to the folder {tmp_path}. Name another folder."
    assert said.stdout.splitlines() == [error] * 3
