"""Output is written completely or not at all, even if the process is killed, and nothing else is touched."""

import os
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


@pytest.mark.usefixtures("steps")
def test_what_came_meanwhile_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = writing._exchange

    def late(new: Path, path: Path) -> bool:
        fill(path, {"late.txt": "mine", "deep/late/late.txt": "mine"})
        return exchange(new, path)

    monkeypatch.setattr(writing, "_exchange", late)
    put(place, ours)
    assert texts(place).items() >= (NEW | OTHERS | {"late.txt": "mine", "deep/late/late.txt": "mine"}).items()


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


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (lambda work: work.symlink_to("place"), "is a link; expected a folder"),
        (
            lambda work: fill(work, {"new/a.txt": "", "old/a.txt": ""}),
            "as it was before a build that was killed",
        ),
    ],
)
def test_what_another_left_in_the_way_is_not_removed(
    place: Path, left: Callable[[Path], None], message: str
) -> None:
    left(place.parent / ".place.halluscope-unfinished")
    before = content(place.parent)
    with pytest.raises(OutputError, match=message):
        put(place, ours)
    assert content(place.parent) == before


# A file that grows


def test_what_was_written_before_an_error_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyError), writing.only_writer(tmp_path / "new") as file:
        file.write(b"one\n")
        raise KeyError
    assert (tmp_path / "new").read_bytes() == b"one\n"
    with full(at=2), pytest.raises(OSError), writing.only_writer(tmp_path / "full") as file:
        file.write(b"one\n")
    assert (tmp_path / "full").read_bytes() == b"on"
    with pytest.raises(OutputError, match="expected a file, or a new name"), writing.only_writer(tmp_path):
        pass
