"""The cache: found by content, shared between processes, and never wrong."""

import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from halluscope import cli
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.errors import CacheError
from halluscope.judging.adapters import as_voter
from halluscope.judging.ask_votes import collect_votes
from halluscope.judging.cache import Cache, Record, cache_of
from halluscope.judging.judge import KnownJudge
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.vocabularies import load

VOCABULARY = load(["dog", "cat", "cow"])
TEXTS = [f"Text number {i}." for i in range(40)]


class Oracle:
    """A judge that votes by its own rule, and writes down its questions, one per line."""

    stored = True

    def __init__(self, log: Path, key: str = "oracle", wait: float = 0.0) -> None:
        self.log, self.key, self.wait = log, key, wait

    @staticmethod
    def right(text: str, question) -> int:
        return (len(question.text) + int(text.split()[-1].strip("."))) % 3

    def answer(self, texts, questions, pairs):
        for start in range(0, len(pairs), 7):
            rows = np.arange(start, min(start + 7, len(pairs)))
            with self.log.open("a") as file:
                for text, question in pairs[rows].tolist():
                    file.write(f"{texts[text]}|{questions[question].frame!r}|{questions[question].text}\n")
            time.sleep(self.wait)
            codes = [self.right(texts[text], questions[question]) for text, question in pairs[rows].tolist()]
            yield rows, np.array(codes, dtype=np.int8)

    def close(self) -> None:
        pass


def run(folder: Path, questions=PAPER, wait=0.0, texts=TEXTS, key="oracle") -> np.ndarray:
    cache = Cache(folder / "answers.sqlite")
    about = questions.about(VOCABULARY)
    present = np.zeros((len(texts), 3), dtype=bool)
    answers = collect_votes(
        [as_voter(Oracle(folder / "log", key, wait))], about, texts, present, k=3, which="all", cache=cache
    )
    cache.close()
    return answers


def expected(questions=PAPER, texts=TEXTS) -> np.ndarray:
    rows = [
        [[Oracle.right(text, q) for q in about] for about in questions.about(VOCABULARY)] for text in texts
    ]
    return np.array(rows, dtype=np.int8).transpose(0, 2, 1)


def asked(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


@pytest.mark.long
def test_a_killed_run_goes_on_where_it_was(tmp_path, rng):
    """SIGKILL at ten random moments: right answers in the end, and at most the batch in hand is asked again."""
    batch, kills = 7, 10
    for _ in range(kills):
        process = forked(run, tmp_path, wait=0.02)
        start = len(asked(tmp_path)) if (tmp_path / "log").exists() else 0
        moment = start + rng.integers(1, 5 * batch)
        while not (tmp_path / "log").exists() or len(asked(tmp_path)) < min(moment, 350):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.03))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    assert (run(tmp_path) == expected()).all()
    lines = asked(tmp_path)
    assert len(set(lines)) == 40 * 3 * 3
    assert len(lines) - len(set(lines)) <= kills * batch


def forked(target, *arguments, **options) -> multiprocessing.Process:
    """A process at work."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments, kwargs=options)
    process.start()
    return process


def says_cache_error(folder: Path, prepare) -> None:
    """In another process, call `prepare`, then run, and write down the message."""
    log = (folder / "message").open("w")
    prepare()
    try:
        run(folder)
    except CacheError as error:
        log.write(str(error))
        log.flush()


def test_a_full_disk_is_an_error_and_what_was_kept_stays(tmp_path):
    """For SQLite, a limit of 160 KiB per file is like a full disk."""

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (160 * 1024, 160 * 1024))

    forked(says_cache_error, tmp_path, little_room).join()
    assert "disk I/O error" in (message := (tmp_path / "message").read_text()) or "full" in message
    before = len(asked(tmp_path))
    assert 7 < before < 40 * 3 * 3
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) <= 40 * 3 * 3 + 7


def test_a_cache_that_may_only_be_read_is_an_error(tmp_path):
    made(tmp_path / "answers.sqlite")

    def nobody():
        tmp_path.chmod(0o555)
        (tmp_path / "answers.sqlite").chmod(0o444)
        if os.geteuid() == 0:
            for folder in tmp_path.parents[:4]:  # pytest makes them for its user alone
                folder.chmod(folder.stat().st_mode | 0o055)
            os.setuid(65534)

    forked(says_cache_error, tmp_path, nobody).join()
    assert "readonly database" in (tmp_path / "message").read_text()
    assert not (tmp_path / "log").exists(), "nothing was asked"


# Whose file it is.


def another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE mails (id INTEGER, text TEXT); INSERT INTO mails VALUES (1, 'a mail')")


def another_program_that_was_killed(path: Path) -> None:
    """Leave its last mail in the write-ahead log."""

    def write():
        db = sqlite3.connect(path)
        db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE mails (id INTEGER)")
        os.kill(os.getpid(), signal.SIGKILL)

    forked(write).join()
    path.with_name(f"{path.name}-shm").unlink()


def made(path: Path) -> None:
    cache = Cache(path)
    assert cache.count() == (0, 0)
    cache.close()


def a_later_form(path: Path) -> None:
    made(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


FOREIGN = [
    (another_program, "a database of another program"),
    (another_program_that_was_killed, "a database of another program"),
    (a_later_form, "in format 99; this version of halluscope reads format 5"),
    (lambda path: path.write_text("My notes. " * 500), "not a database that can be read"),
    (os.mkfifo, "a folder, or not a plain file"),
]


def folder_as_it_is(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Each file's and folder's time of change, and what is in it."""
    return {
        path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("mode", ["write", "read"])
@pytest.mark.parametrize(("make", "message"), FOREIGN)
def test_what_is_no_cache_is_left_as_it_is(tmp_path, make, message, mode):
    path = tmp_path / "answers.sqlite"
    make(path)
    before = folder_as_it_is(tmp_path)
    with pytest.raises(CacheError, match=message):
        Cache(path, mode).count()
    assert folder_as_it_is(tmp_path) == before


@pytest.mark.parametrize("make", [another_program, another_program_that_was_killed])
def test_commands_leave_another_programs_file_as_it_is(
    tmp_path, make, tiny_t5, throne_files, monkeypatch, capsys
):
    path = tmp_path / "mails.db"
    make(path)
    monkeypatch.setenv("HALLUSCOPE_STORE", str(path))
    words = [*throne_files(["A dog."], [["dog"]]), "--judges", str(tiny_t5)]
    before = folder_as_it_is(tmp_path)
    for command in (["score", *words], ["score", *words, "--plan"], ["list"]):
        assert cli.main(command) == 2
        assert f"{path} is a" in capsys.readouterr().err
    assert folder_as_it_is(tmp_path) == before


@pytest.mark.parametrize("ending", ["wal", "journal"])
def test_what_is_left_of_a_cache_that_is_gone_is_not_taken_for_a_part_of_the_next(tmp_path, ending):
    path, left = tmp_path / "answers.sqlite", tmp_path / f"answers.sqlite-{ending}"
    left.write_bytes(b"left")
    with pytest.raises(CacheError, match=f"sqlite-{ending}: left over from a cache that is gone"):
        Cache(path).count()
    assert left.read_bytes() == b"left" and not path.exists()
    left.unlink()
    made(path)
    assert [file.name for file in tmp_path.iterdir()] == ["answers.sqlite"]


# Damage.

ABOUT = PAPER.about(VOCABULARY)[0]
PROMPTS = [(f"prompt {i // 6}", i % 3, i % 2) for i in range(42)]
SAID = {asked: f"A reply \ud800 to {asked}. " * (1 + asked[1] * 9) for asked in PROMPTS}
MARGINS = np.add.outer(np.arange(40), np.arange(3)) / 7 - 3


def fill(cache: Cache) -> bool:
    """Ask again for what is not stored; return whether all was stored. What is stored must be right."""
    right = np.array([[Oracle.right(text, question) for question in ABOUT] for text in TEXTS], dtype=np.int8)
    codes, margins = cache.votes("judge", ABOUT, TEXTS)
    there = codes != UNASKED
    assert (codes[there] == right[there]).all(), "a wrong vote"
    np.testing.assert_array_equal(margins[there], MARGINS[there], "a wrong margin")
    replies = cache.replies("judge", PROMPTS)
    assert all(SAID[asked] == said for asked, said in replies.items()), "a wrong reply"
    if not cache.is_read:
        cache.keep_votes("judge", ABOUT, TEXTS, np.argwhere(~there), right[~there], MARGINS[~there])
        cache.keep_replies("judge", {asked: SAID[asked] for asked in SAID.keys() - replies.keys()})
    return bool(there.all()) and len(replies) == len(PROMPTS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The file of a cache of votes, margins and replies."""
    path = tmp_path_factory.mktemp("whole") / "answers.sqlite"
    cache = Cache(path)
    assert not fill(cache) and fill(cache)
    cache.close()
    return path.read_bytes()


def outcomes(path: Path) -> list[str]:
    """Return the outcome for a cache that may be damaged: right, asked again, or the kind of error."""
    found = []
    for mode in ("read", "write", "write"):
        cache = Cache(path, mode)
        for act in (cache.count, lambda cache=cache: fill(cache)):
            try:
                found.append("right" if act() else "asked again")
            except CacheError as error:
                assert str(path) in str(error) and "name another file" in str(error)
                found.append("refused")
        cache.close()
    return found


def trials(folder: Path, whole: bytes, seeds: range) -> None:
    """In another process, flip one to eight bits for each seed, and write down the outcome."""
    path = folder / "answers.sqlite"
    counted: Counter[str] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        data = bytearray(whole)
        for bit in rng.integers(0, 8 * len(data), rng.integers(1, 9)).tolist():
            data[bit // 8] ^= 1 << bit % 8
        for file in folder.iterdir():
            file.unlink()
        path.write_bytes(data)
        try:
            counted.update({max(outcomes(path), key=["right", "asked again", "refused"].index): 1})
        except Exception as error:
            counted[f"seed {seed}: {error!r:.300}"] += 1
    (folder.parent / "counted.json").write_text(json.dumps(counted))


@pytest.mark.parametrize("n", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_flipped_bits_are_never_another_answer(tmp_path, whole, n):
    (tmp_path / "store").mkdir()
    process = forked(trials, tmp_path / "store", whole, range(n))
    process.join(timeout=0.5 * n)
    process.kill()
    counted = json.loads((tmp_path / "counted.json").read_text())
    assert set(counted) <= {"right", "asked again", "refused"}
    assert sum(counted.values()) == n
    assert counted["refused"] > 0.3 * n, "most flips hit what is in use"


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE votes SET data = substr(data, 18) WHERE rowid = 7",
        "UPDATE votes SET data = data || substr(data, 1, 17) WHERE rowid = 7",
        "UPDATE votes SET data = 'no' WHERE rowid = 7",
        "UPDATE votes SET data = (SELECT data FROM votes WHERE rowid = 8) WHERE rowid = 7",
        "UPDATE votes SET checksum = (SELECT checksum FROM votes WHERE rowid = 8) WHERE rowid = 7",
        "UPDATE replies SET data = CAST('another' AS BLOB) WHERE rowid = 7",
        "UPDATE replies SET checksum = 5 WHERE rowid = 7",
        "UPDATE replies SET data = (SELECT data FROM replies WHERE rowid = 8) WHERE rowid = 7",
        "DROP TABLE votes",
        "ALTER TABLE replies DROP COLUMN checksum",
    ],
)
def test_a_changed_record_is_an_error(tmp_path, whole, harm):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(harm)
    assert "refused" in outcomes(path)


# What is kept.


def test_a_cache_that_an_earlier_version_wrote_is_still_hit(tmp_path):
    """The file was written by the code of November 2026; its keys and its form must not change."""
    path = tmp_path / "answers.sqlite"
    shutil.copy(Path(__file__).with_name("cache_form_5.sqlite"), path)
    questions = [question for row in PAPER.about(load(["dog", "cat"])) for question in row]
    cache = Cache(path)
    codes, margins = cache.votes("judge", questions, ["A dog.", "Two cats \ud800 sleep."])
    expected = np.full((2, 6), UNASKED)
    expected[[0, 0, 1, 1], [0, 3, 1, 5]] = [YES, NO, OTHER, YES]
    assert codes.tolist() == expected.tolist()
    assert margins[codes != UNASKED].tolist() == pytest.approx([0.5, np.nan, -2.25, 3.0], nan_ok=True)
    requests = [("Is it?", 0, 7), ("Is it?", 1, 8), ("Is it?", 0, 8)]
    replies = cache.replies("judge:temperature=1", requests)
    assert replies == {requests[0]: "yes \ud83d", requests[1]: "no"}
    assert cache.replies("judge", requests) == {}


def test_what_came_first_stays_unless_it_is_refreshed(tmp_path):
    """Votes on a text come in parts. What is refreshed finds only its own, and replaces the old for others too."""
    pair, request, other_request = np.array([[0, 0]]), ("prompt", 0, 0), ("prompt", 1, 0)
    cache = Cache(tmp_path / "answers.sqlite")
    cache.keep_votes("judge", ABOUT, TEXTS, pair, np.array([NO]))
    cache.keep_votes("judge", ABOUT, TEXTS, np.array([[0, 0], [0, 2]]), np.array([YES, OTHER]))
    cache.keep_replies("judge", {request: "old", other_request: "old"})
    cache.keep_replies("judge", {request: "later"})
    assert cache.votes("judge", ABOUT, TEXTS[:1])[0].tolist() == [[NO, UNASKED, OTHER]]
    assert cache.replies("judge", [request]) == {request: "old"}
    fresh = Cache(cache.path, "refresh")
    assert fresh.replies("judge", [request]) == {}
    assert (fresh.votes("judge", ABOUT, TEXTS)[0] == UNASKED).all()
    fresh.keep_votes("judge", ABOUT, TEXTS, pair, np.array([YES]))
    fresh.keep_replies("judge", {request: "new"})
    assert fresh.replies("judge", [request, other_request]) == {request: "new"}
    assert cache.replies("judge", [request, other_request]) == {request: "new", other_request: "old"}
    assert cache.votes("judge", ABOUT, TEXTS[:1])[0].tolist() == [[YES, UNASKED, UNASKED]]


def test_an_empty_file_becomes_a_cache_and_an_open_one_is_refreshed(tmp_path):
    (tmp_path / "answers.sqlite").touch()
    cache = Cache(tmp_path / "answers.sqlite")
    request = ("prompt", 0, 0)
    cache.keep_replies("judge", {request: "old"})
    assert cache_of(cache) is cache and cache.replies("judge", [request]) == {request: "old"}
    assert cache_of(cache, fresh=True).replies("judge", [request]) == {}


def test_a_cache_in_another_thread_is_not_taken_for_damaged(tmp_path):
    """A user who reads that it is damaged deletes it."""
    cache = Cache(tmp_path / "answers.sqlite")
    request = ("prompt", 0, 0)
    cache.keep_replies("judge", {request: "said"})
    with ThreadPoolExecutor(1) as thread:
        with pytest.raises(CacheError, match=r"same thread.*Give each thread a cache of its own") as caught:
            thread.submit(cache.replies, "judge", [request]).result()
        assert "damaged" not in str(caught.value) and "delete" not in str(caught.value)
        own = thread.submit(lambda: Cache(cache.path).replies("judge", [request]))
        assert own.result() == {request: "said"}


def test_what_is_only_read_keeps_nothing(tmp_path):
    """Neither in a file nor in the place of one that is missing."""
    made(tmp_path / "answers.sqlite")
    before = folder_as_it_is(tmp_path)
    for name in ("answers.sqlite", "missing", ":memory:"):
        cache = Cache(tmp_path / name, "read")
        with pytest.raises(CacheError, match="readonly database"):
            cache.keep_replies("judge", {("prompt", 0, 0): "said"})
        with pytest.raises(CacheError, match="readonly database"):
            cache.keep_votes("judge", ABOUT, TEXTS, np.array([[0, 0]]), np.array([YES]))
    assert folder_as_it_is(tmp_path) == before


def test_a_record_holds_what_passed(tmp_path):
    """What came before and what is new, once each, as a run's folder tells it; and it is read back without a file."""
    cache = Cache(tmp_path / "answers.sqlite")
    cache.keep_replies("judge", {("a", 0, 0): "kept \ud800", ("b", 0, 0): "not looked for"})
    record = Record(cache)
    record.judge = KnownJudge("judge", greedy=False)
    assert record.replies("another key", [("a", 0, 0)]) == {} and not record.is_read
    assert record.replies("judge", [("a", 0, 0), ("c", 0, 7)]) == {("a", 0, 0): "kept \ud800"}
    record.keep_replies("judge", {("c", 0, 7): "new"})
    assert cache.replies("judge", [("c", 0, 7)]) == {("c", 0, 7): "new"}
    digests = [hashlib.sha256(prompt).hexdigest() for prompt in (b"a", b"c")]
    lines = [{"prompt": prompt, "repeat": 0} for prompt in digests]
    lines = [lines[0] | {"seed": 0, "reply": "kept \ud800"}, lines[1] | {"seed": 7, "reply": "new"}]
    assert [*record.lines()] == lines
    back = Record()
    back.read(record.judge, lines)
    cache.close()
    for told in (back, record.finished()):
        found = told.replies("judge", [("a", 0, 0), ("b", 0, 0), ("c", 0, 7)])
        assert found == {("a", 0, 0): "kept \ud800", ("c", 0, 7): "new"} and told.is_read
    assert "_db" not in vars(cache), "the file is not opened again"
