"""The store: found by content, shared between processes, and never wrong."""

import hashlib
import itertools
import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from halluscope import cli
from halluscope.benchmarks.throne.prompts import PAPER, RELEASED
from halluscope.errors import StoreError
from halluscope.judging import store_file
from halluscope.judging.questions import Question
from halluscope.judging.store import AnswerStore, ReadOnlyStore
from halluscope.judging.voters.asking import ask
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
    store = AnswerStore(folder / "answers.sqlite")
    about = questions.about(VOCABULARY)
    present = np.zeros((len(texts), 3), dtype=bool)
    answers = ask([Oracle(folder / "log", key, wait)], about, texts, present, k=3, which="all", store=store)
    store.close()
    return answers


def expected(questions=PAPER, texts=TEXTS) -> np.ndarray:
    rows = [
        [[Oracle.right(text, q) for q in about] for about in questions.about(VOCABULARY)] for text in texts
    ]
    return np.array(rows, dtype=np.int8).transpose(0, 2, 1)


def asked(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def test_a_second_run_asks_nothing(tmp_path):
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) == 40 * 3 * 3
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) == 40 * 3 * 3


def test_other_content_is_asked(tmp_path):
    run(tmp_path)
    before = len(asked(tmp_path))
    run(tmp_path, questions=RELEASED)  # one of its questions has the paper's words, in another frame
    assert len(asked(tmp_path)) == before + 40 * 3 * 3
    run(tmp_path, key="oracle-2")
    assert len(asked(tmp_path)) == before + 2 * 40 * 3 * 3
    more = [*TEXTS[5:10], "A new text 41."]
    assert (run(tmp_path, texts=more) == expected(texts=more)).all()
    assert len(asked(tmp_path)) == before + 2 * 40 * 3 * 3 + 9


def test_all_codes_come_back(tmp_path):
    assert set(np.unique(run(tmp_path))) == {NO, YES, OTHER}
    assert UNASKED not in run(tmp_path)


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


def says_store_error(folder: Path, prepare) -> None:
    """In another process, call `prepare`, then run, and write down the message."""
    log = (folder / "message").open("w")
    prepare()
    try:
        run(folder)
    except StoreError as error:
        log.write(str(error))
        log.flush()


def test_a_full_disk_is_an_error_and_what_was_kept_stays(tmp_path):
    """For SQLite, a limit of 160 KiB per file is like a full disk."""

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (160 * 1024, 160 * 1024))

    forked(says_store_error, tmp_path, little_room).join()
    assert "disk I/O error" in (message := (tmp_path / "message").read_text()) or "full" in message
    before = len(asked(tmp_path))
    assert 7 < before < 40 * 3 * 3
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) <= 40 * 3 * 3 + 7


def test_a_store_that_may_only_be_read_is_an_error(tmp_path):
    AnswerStore(tmp_path / "answers.sqlite").close()

    def nobody():
        tmp_path.chmod(0o555)
        (tmp_path / "answers.sqlite").chmod(0o444)
        if os.geteuid() == 0:
            for folder in tmp_path.parents[:4]:  # pytest makes them for its user alone
                folder.chmod(folder.stat().st_mode | 0o055)
            os.setuid(65534)

    forked(says_store_error, tmp_path, nobody).join()
    assert "readonly database" in (tmp_path / "message").read_text()
    assert not (tmp_path / "log").exists(), "nothing was asked"


def test_two_processes_share_a_store(tmp_path):
    processes = [forked(run, tmp_path, wait=0.005) for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    before = len(asked(tmp_path))
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) == before


def test_half_characters_and_nul_have_their_own_place(tmp_path):
    store = AnswerStore(tmp_path / "answers.sqlite")
    texts = ["a\x00", "a", "\ud800", "\ud801", "�"]
    kept = store.of("judge", texts)
    questions = PAPER.about(VOCABULARY)[0]
    given = np.full((5, 3), UNASKED, dtype=np.int8)
    kept.recall(questions, given)
    kept.keep(np.array([[i, 0] for i in range(5)]), np.array([YES, NO, YES, NO, OTHER], dtype=np.int8))
    kept.recall(questions, given)
    assert given[:, 0].tolist() == [YES, NO, YES, NO, OTHER]


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


def a_link_to_another_program(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    another_program(path.parent / "elsewhere" / "mails.db")
    path.symlink_to(path.parent / "elsewhere" / "mails.db")


def a_later_form(path: Path) -> None:
    AnswerStore(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


FOREIGN = [
    (another_program, "a database of another program"),
    (another_program_that_was_killed, "a database of another program"),
    (a_link_to_another_program, "a database of another program"),
    (a_later_form, "in format 99; this version of halluscope reads formats 1 to 3"),
    (lambda path: path.write_text("My notes. " * 500), "not a database that can be read"),
    (lambda path: path.write_text("short"), "not a database that can be read"),
    (lambda path: path.mkdir(), "a folder, or not a plain file"),
    (os.mkfifo, "a folder, or not a plain file"),
]


def folder_as_it_is(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Each file's and folder's time of change, and what is in it."""
    return {
        path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("kind", [AnswerStore, ReadOnlyStore])
@pytest.mark.parametrize(("make", "message"), FOREIGN)
def test_what_is_no_store_is_left_as_it_is(tmp_path, make, message, kind):
    path = tmp_path / "answers.sqlite"
    make(path)
    before = folder_as_it_is(tmp_path)
    with pytest.raises(StoreError, match=message):
        kind(path)
    assert folder_as_it_is(tmp_path) == before


def test_an_empty_file_becomes_a_store(tmp_path):
    """An empty file, as from `mktemp`; reading does not write to it."""
    path = tmp_path / "answers.sqlite"
    path.touch()
    before = folder_as_it_is(tmp_path)
    assert ReadOnlyStore(path).count() == (0, 0)
    assert folder_as_it_is(tmp_path) == before
    store = AnswerStore(path)
    store.keep_reply("judge", ("prompt", 0), "yes")
    store.close()
    assert ReadOnlyStore(path).replies("judge", [("prompt", 0)]) == {("prompt", 0): "yes"}


def commands(folder: Path, judge: Path) -> list[list[str]]:
    """The commands that open a store."""
    responses, labels = folder / "responses.jsonl", folder / "labels.json"
    responses.write_text('{"image_id": 1, "caption": "A dog."}')
    labels.write_text('{"1": ["dog"]}')
    options = ["throne", "--responses", str(responses), "--dataset", str(labels), "--judges", str(judge)]
    return [["score", *options], ["plan", *options], ["list"]]


@pytest.mark.parametrize("kind", [AnswerStore, ReadOnlyStore])
def test_a_later_form_that_is_only_in_the_log_yet_is_refused(tmp_path, kind):
    path = tmp_path / "answers.sqlite"
    AnswerStore(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
        with pytest.raises(StoreError, match="in format 99"):
            kind(path)
        assert db.execute("PRAGMA user_version").fetchone() == (99,)


@pytest.mark.parametrize("make", [another_program, another_program_that_was_killed])
def test_commands_leave_another_programs_file_as_it_is(tmp_path, make, tiny_t5, monkeypatch, capsys):
    path = tmp_path / "mails.db"
    make(path)
    monkeypatch.setenv("HALLUSCOPE_STORE", str(path))
    words = commands(tmp_path, tiny_t5)
    before = folder_as_it_is(tmp_path)
    for command in words:
        assert cli.main(command) == 2
        assert f"{path} is a" in capsys.readouterr().err
    assert folder_as_it_is(tmp_path) == before


def test_a_link_to_a_store_is_the_store(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "answers.sqlite"
    link.symlink_to(tmp_path / "elsewhere" / "kept.sqlite")
    assert (run(tmp_path) == expected()).all()  # it leads to nothing yet
    assert link.is_symlink()
    writer = AnswerStore(link)
    writer.keep_reply("judge", ("prompt", 0), "said")
    assert ReadOnlyStore(link).replies("judge", [("prompt", 0)]) == {("prompt", 0): "said"}
    writer.close()


@pytest.mark.parametrize("name", [5, "a\0b", b"bytes", ["list"]])
def test_what_names_no_file_is_an_error(name):
    with pytest.raises(StoreError, match="expected the name of a file"):
        AnswerStore(name)


@pytest.mark.parametrize("ending", ["wal", "journal"])
def test_what_is_left_of_a_store_that_is_gone_is_not_taken_for_a_part_of_the_next(tmp_path, ending):
    path, left = tmp_path / "answers.sqlite", tmp_path / f"answers.sqlite-{ending}"
    left.write_bytes(b"left")
    with pytest.raises(StoreError, match=f"sqlite-{ending}: left over from an answer store that is gone"):
        AnswerStore(path)
    assert left.read_bytes() == b"left" and not path.exists()
    left.unlink()
    AnswerStore(path).close()
    assert [file.name for file in tmp_path.iterdir()] == ["answers.sqlite"]


def test_many_processes_make_one_store(tmp_path):
    for i in range(5):
        folder = tmp_path / str(i)
        folder.mkdir()
        processes = [forked(keep_one, folder / "answers.sqlite", str(n)) for n in range(6)]
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 6
        assert ReadOnlyStore(folder / "answers.sqlite").count() == (0, 6)


def keep_one(path: Path, prompt: str) -> None:
    store = AnswerStore(path)
    store.keep_reply("judge", (prompt, 0), "said")
    store.close()


def test_a_file_system_without_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")))
    assert (run(tmp_path) == expected()).all()
    assert (run(tmp_path) == expected()).all()
    assert len(asked(tmp_path)) == 40 * 3 * 3


def test_a_second_look_gives_up_no_lock(tmp_path):
    """Closing a file gives up this process's locks on it; the last other process would then delete the log."""
    path = tmp_path / "answers.sqlite"
    first = AnswerStore(path)
    first.keep_reply("judge", ("a", 0), "said")
    AnswerStore(path).close()
    ReadOnlyStore(path).close()
    other = multiprocessing.get_context("spawn").Process(
        target=keep_one, args=(path, "b")
    )  # with locks of its own
    other.start()
    other.join()
    assert path.with_name("answers.sqlite-wal").exists()
    first.keep_reply("judge", ("c", 0), "said")
    first.close()
    assert ReadOnlyStore(path).count() == (0, 3)


# Older forms.

FORM_1 = """
CREATE TABLE judge (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE question (id INTEGER PRIMARY KEY, frame TEXT NOT NULL, question TEXT NOT NULL, UNIQUE (frame, question));
CREATE TABLE text (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE);
CREATE TABLE answer (
    judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1, 2)),
    PRIMARY KEY (judge, question, text)
) WITHOUT ROWID;
PRAGMA application_id = 0x68616C6C;
PRAGMA user_version = 1;
"""
FORM_2 = f"""{FORM_1}
CREATE TABLE reply (
    judge INTEGER NOT NULL, prompt BLOB NOT NULL, repeat INTEGER NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (judge, prompt, repeat)
);
PRAGMA user_version = 2;
"""
REPLIES = {("prompt", 0): "yes", ("prompt", 1): "\ud800 no", ("a\x00", 0): ""}


def sha(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def make_form(path: Path, form: int, texts=TEXTS, journal: str = "DELETE") -> None:
    """Write a store in the format of earlier versions, with the oracle's votes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.executescript(FORM_2 if form == 2 else FORM_1)
        db.execute("BEGIN")
        db.executemany("INSERT INTO judge (id, key) VALUES (?, ?)", [(3, "other"), (4, "oracle")])
        db.executemany(
            "INSERT INTO text (id, sha256) VALUES (?, ?)", [(2 * i, sha(t)) for i, t in enumerate(texts)]
        )
        for n, question in enumerate(q for about in PAPER.about(VOCABULARY) for q in about):
            db.execute("INSERT INTO question VALUES (?, ?, ?)", (10 + n, question.frame, question.text))
            votes = [(4, 10 + n, 2 * i, Oracle.right(text, question)) for i, text in enumerate(texts)]
            db.executemany("INSERT INTO answer VALUES (?, ?, ?, ?)", votes)
        if form == 2:
            said = [(3, sha(p), r, said.encode("utf-8", "surrogatepass")) for (p, r), said in REPLIES.items()]
            db.executemany("INSERT INTO reply VALUES (?, ?, ?, ?)", said)
        db.execute("COMMIT")


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize("form", [1, 2])
def test_an_older_store_is_brought_to_the_present_form(tmp_path, form, journal):
    path = tmp_path / "answers.sqlite"
    make_form(path, form, journal=journal)
    for _ in range(2):
        assert (run(tmp_path) == expected()).all()
        assert not (tmp_path / "log").exists(), "nothing was asked"
        store = AnswerStore(path)
        assert store.replies("other", [*REPLIES]) == (REPLIES if form == 2 else {})
        store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"judge", "question", "text", "answer", "reply"}


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_many_processes_bring_one_store_to_the_present_form(tmp_path, journal):
    path = tmp_path / "answers.sqlite"
    make_form(path, 2, [f"Text number {i}." for i in range(2_000)], journal)
    processes = [forked(keep_one, path, str(n)) for n in range(5)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 5
    assert ReadOnlyStore(path).count() == (2_000 * 9, len(REPLIES) + 5)


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize("form", [1, 2])
def test_an_older_store_is_read_without_a_change(tmp_path, form, journal):
    path = tmp_path / "answers.sqlite"
    make_form(path, form, journal=journal)
    before = folder_as_it_is(tmp_path)
    store = ReadOnlyStore(path)
    assert store.count() == (40 * 3 * 3, len(REPLIES) if form == 2 else 0)
    given = np.full((40, 3), UNASKED, dtype=np.int8)
    store.of("oracle", TEXTS).recall(PAPER.about(VOCABULARY)[1], given)
    assert (given == expected()[:, :, 1]).all()
    assert store.replies("other", [*REPLIES]) == (REPLIES if form == 2 else {})
    store.close()
    assert folder_as_it_is(tmp_path) == before


@pytest.mark.parametrize("kind", [AnswerStore, ReadOnlyStore])
@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE answer SET answer = 3 WHERE text = 20",
        "UPDATE answer SET answer = -1 WHERE text = 20",
        "UPDATE answer SET answer = 'yes' WHERE text = 20",
        "UPDATE answer SET answer = 9223372036854775807 WHERE text = 20",
        "DELETE FROM text WHERE id = 20",
        "DELETE FROM judge WHERE id = 4",
        "DELETE FROM question",
        "UPDATE text SET sha256 = 'abc' WHERE id = 20",
        "UPDATE text SET sha256 = 20 WHERE id = 20",
        "UPDATE reply SET reply = x'ff' WHERE repeat = 1",
        "UPDATE reply SET reply = 7 WHERE repeat = 1",
        "UPDATE reply SET reply = 'a text' WHERE repeat = 1",
        "UPDATE reply SET prompt = x'00' WHERE repeat = 1",
        "UPDATE reply SET prompt = NULL",
        "UPDATE reply SET repeat = 'first' WHERE repeat = 1",
        "DELETE FROM judge WHERE id = 3",
        "DROP TABLE answer",
        "DROP TABLE reply",
        "DROP TABLE question",
        "ALTER TABLE text RENAME COLUMN sha256 TO md5",
        "PRAGMA user_version = 3",
        "PRAGMA user_version = 0",
    ],
)
def test_an_older_store_that_is_damaged_is_refused_and_left_as_it_is(tmp_path, harm, kind):
    path = tmp_path / "answers.sqlite"
    make_form(path, 2)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'prompt BLOB NOT NULL', 'prompt BLOB') WHERE name = 'reply'"
        )
        db.execute("PRAGMA writable_schema = RESET")
        db.execute(harm)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="damaged|in format 0"):
        kind(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["answers.sqlite"]


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_kill_amid_the_change_of_form_leaves_the_store_as_it_was(tmp_path, journal, monkeypatch):
    path = tmp_path / "answers.sqlite"
    make_form(path, 2, [f"Text number {i}." for i in range(8_000)], journal)

    def killed():
        monkeypatch.setattr(store_file, "_take_replies", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        AnswerStore(path)

    forked(killed).join()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM answer").fetchone() == (8_000 * 9,)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert (run(tmp_path) == expected()).all()
    assert not (tmp_path / "log").exists()
    assert ReadOnlyStore(path).count() == (8_000 * 9, len(REPLIES))


# Damage.

ABOUT = PAPER.about(VOCABULARY)[0]
PROMPTS = [(f"prompt {i // 6}", i % 3, i % 2) for i in range(42)]
SAID = {asked: f"A reply \ud800 to {asked}. " * (1 + asked[1] * 9) for asked in PROMPTS}
JUDGES = {"plain": False, "with margins": True}


def votes_of(judge: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the votes and margins of a judge of `JUDGES`."""
    codes = [[(Oracle.right(text, q) + JUDGES[judge]) % 3 for q in ABOUT] for text in TEXTS]
    margins = np.add.outer(np.arange(40), np.arange(3)) / 7 - 3
    return np.array(codes, dtype=np.int8), margins if JUDGES[judge] else np.full((40, 3), np.nan)


def fill(store: AnswerStore) -> None:
    """Ask again for votes that are not stored; stored votes must be right."""
    for judge in JUDGES:
        kept = store.of(judge, TEXTS)
        found = recalled(kept)
        codes, margins = votes_of(judge)
        check(found, judge)
        pairs = np.argwhere(found[0] == UNASKED)
        kept.keep(pairs, codes[tuple(pairs.T)], margins[tuple(pairs.T)])
        replies = store.replies(judge, PROMPTS)
        assert all(SAID[asked] == said for asked, said in replies.items()), "a wrong reply"
        for asked in SAID.keys() - replies.keys():
            store.keep_reply(judge, asked, SAID[asked])


def recalled(kept) -> tuple[np.ndarray, np.ndarray]:
    codes, margins = np.full((40, 3), UNASKED, dtype=np.int8), np.full((40, 3), np.nan)
    kept.recall(ABOUT, codes, margins)
    return codes, margins


def check(found: tuple[np.ndarray, np.ndarray], judge: str) -> None:
    """Whether the recalled votes are right, except where they are `UNASKED`."""
    there = found[0] != UNASKED
    codes, margins = votes_of(judge)
    assert (found[0][there] == codes[there]).all(), "a wrong vote"
    np.testing.assert_array_equal(found[1][there], margins[there], "a wrong margin")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The file of a store of votes, margins and replies."""
    path = tmp_path_factory.mktemp("whole") / "answers.sqlite"
    store = AnswerStore(path)
    fill(store)
    fill(store)
    store.close()
    return path.read_bytes()


def outcomes(path: Path) -> list[str]:
    """Return the outcome for a store that may be damaged: right, asked again, or the kind of error."""
    found = []
    for kind in (ReadOnlyStore, AnswerStore, AnswerStore):
        try:
            store = kind(path)
        except StoreError:
            found.append("refused")
            continue
        for act in (store.count, lambda store=store: whole_again(store)):
            try:
                found.append("right" if act() else "asked again")
            except StoreError as error:
                assert str(path) in str(error) and "name another file" in str(error)
                found.append("refused")
        store.close()
    return found


def whole_again(store: AnswerStore) -> bool:
    """Whether everything is stored and right; anything else is asked for again."""
    kept = {judge: recalled(store.of(judge, TEXTS)) for judge in JUDGES}
    replies = {judge: store.replies(judge, PROMPTS) for judge in JUDGES}
    for judge, found in kept.items():
        check(found, judge)
        assert all(SAID[asked] == said for asked, said in replies[judge].items()), "a wrong reply"
    if type(store) is AnswerStore:
        fill(store)
    lacking = any((codes == UNASKED).any() for codes, _ in kept.values())
    return not lacking and all(len(one) == len(PROMPTS) for one in replies.values())


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


PAGE = 4096


def cut(whole: bytes) -> Iterator[bytes]:
    yield from (whole[:n] for n in (1, 50, 100, 512, PAGE - 1, PAGE, PAGE + 1))
    yield from (whole[: len(whole) - n] for n in (1, PAGE, 3 * PAGE))


def zeroed(whole: bytes) -> Iterator[bytes]:
    for start in range(0, len(whole), PAGE):
        yield whole[:start] + bytes(PAGE) + whole[start + PAGE :]


def swapped(whole: bytes) -> Iterator[bytes]:
    pages = [whole[start : start + PAGE] for start in range(0, len(whole), PAGE)]
    for i, j in itertools.combinations(range(len(pages)), 2):
        if (i + 3 * j) % 5 == 0:
            other = pages.copy()
            other[i], other[j] = other[j], other[i]
            yield b"".join(other)


@pytest.mark.parametrize("harm", [cut, zeroed, swapped])
def test_damaged_pages_are_never_another_answer(tmp_path, whole, harm):
    """An error each time, unless the page only held names, which get new numbers."""
    counted: Counter[str] = Counter()
    for i, data in enumerate(harm(whole)):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / "answers.sqlite").write_bytes(data)
        counted.update(set(outcomes(folder / "answers.sqlite")))
    assert set(counted) <= {"right", "asked again", "refused"}
    assert counted["refused"] > 0.6 * (i + 1)


def swap(table: str, column: str, one: int, other: int) -> str:
    """Two rows, or groups of rows, change places."""
    return "".join(
        f"UPDATE {table} SET {column} = {new} WHERE {column} = {old};"
        for old, new in ((one, -7), (other, one), (-7, other))
    )


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE answer SET answer = (answer + 1) % 3 WHERE text = 7",
        "UPDATE answer SET answer = 7 WHERE text = 7",
        "UPDATE answer SET answer = 'no' WHERE text = 7",
        "UPDATE answer SET answer = 9223372036854775807 WHERE text = 7",
        "UPDATE answer SET answer = 1e300 WHERE text = 7",
        "UPDATE answer SET margin = margin + 0.001 WHERE text = 7",
        "UPDATE answer SET margin = NULL WHERE text = 7",
        "UPDATE answer SET margin = 1 WHERE margin IS NULL",
        "UPDATE answer SET margin = 'wide' WHERE text = 7",
        "UPDATE answer SET checksum = checksum + 1 WHERE text = 7",
        "UPDATE answer SET checksum = 'abc' WHERE text = 7",
        "UPDATE answer SET checksum = (SELECT checksum FROM answer WHERE text = 8) WHERE text = 7",
        *(swap("answer", column, 1, 2) for column in ("judge", "question", "text")),
        *(swap(table, "id", 1, 2) for table in ("judge", "question", "text")),
        "UPDATE reply SET reply = CAST('another' AS BLOB) WHERE repeat = 1",
        "UPDATE reply SET reply = 'text' WHERE repeat = 1",
        "UPDATE reply SET reply = x'ff' WHERE repeat = 1",
        "UPDATE reply SET reply = 5 WHERE repeat = 1",
        "UPDATE reply SET checksum = 5 WHERE repeat = 1",
        "UPDATE reply SET checksum = x'0000000000000000' WHERE repeat = 1",
        swap("reply", "judge", 1, 2),
        swap("reply", "repeat", 0, 1),
        swap("reply", "seed", 0, 1),
        "DROP TABLE answer",
        "DROP TABLE reply",
        "ALTER TABLE reply DROP COLUMN checksum",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 2",
    ],
)
def test_a_changed_record_is_an_error(tmp_path, whole, harm):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(f"PRAGMA ignore_check_constraints = ON; {harm}")
    assert "refused" in outcomes(path)


def test_commands_say_that_a_store_is_damaged(tmp_path, whole, tiny_t5, monkeypatch, capsys):
    path = tmp_path / "answers.sqlite"
    monkeypatch.setenv("HALLUSCOPE_STORE", str(path))
    for command in commands(tmp_path, tiny_t5):
        path.write_bytes(whole[:PAGE] + bytes(len(whole) - PAGE))
        assert cli.main(command) == 2
        assert "it is damaged" in (said := capsys.readouterr().err) and "delete it" in said


# What is kept.


def test_margins_come_back_bit_for_bit(tmp_path):
    margins = np.array([0.1, -0.0, 0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, 2.0**53, -3.0])
    texts = [str(i) for i in range(len(margins))]
    store = AnswerStore(tmp_path / "answers.sqlite")
    for judge, given in (
        ("one", margins),
        ("another", None),
        ("a third", margins.clip(-1e30, 1e30).astype(np.float32)),
    ):
        kept = store.of(judge, texts)
        kept.recall(ABOUT, np.full((len(texts), 3), UNASKED, dtype=np.int8))
        pairs = np.array([(i, 1) for i in range(len(texts))])
        kept.keep(pairs, np.full(len(texts), YES, dtype=np.int8), given)
        codes, back = (
            np.full((len(texts), 3), UNASKED, dtype=np.int8),
            np.full((len(texts), 3), 7.0),
        )
        codes[0, 1], back[0, 1] = NO, 8.0  # not asked for
        kept.recall(ABOUT, codes, back)
        wanted = np.full(len(texts), np.nan) if given is None else given.astype(np.float64)
        np.testing.assert_array_equal(back[1:, 1], wanted[1:])
        assert (codes[0, 1], back[0, 1]) == (NO, 8.0)
        assert (codes[1:, 1] == YES).all()


def test_a_reply_with_another_seed_is_another_reply(tmp_path):
    store = AnswerStore(tmp_path / "answers.sqlite")
    asked = [
        ("prompt", 0),
        ("prompt", 0, 1),
        ("prompt", 0, 2**63 - 1),
        ("prompt", 0, -(2**63)),
        ("prompt", 1, 1),
    ]
    for i, one in enumerate(asked[:-1]):
        store.keep_reply("judge", one, f"reply {i}")
    assert store.replies("judge", asked) == {one: f"reply {i}" for i, one in enumerate(asked[:-1])}
    assert store.replies("judge", [("prompt", 0, 0)]) == {("prompt", 0, 0): "reply 0"}


def test_half_characters_are_kept_wherever_they_stand(tmp_path):
    """A judge's reply, its name, a question and a text may contain half characters."""
    questions = [Question("Is there a \udcff?", "x", "\ud800 {response} {question}")]
    store = AnswerStore(tmp_path / "answers.sqlite")
    for judge, code in (("judge \ud800", YES), ("judge \ud801", NO)):
        kept = store.of(judge, ["\ud800"])
        kept.recall(questions, np.full((1, 1), UNASKED, dtype=np.int8))
        kept.keep(np.array([[0, 0]]), np.array([code], dtype=np.int8))
        store.keep_reply(judge, ("\ud800", 0), f"\udfff {code}")
    store.close()
    store = AnswerStore(tmp_path / "answers.sqlite")
    for judge, code in (("judge \ud800", YES), ("judge \ud801", NO)):
        given = np.full((1, 1), UNASKED, dtype=np.int8)
        store.of(judge, ["\ud800"]).recall(questions, given)
        assert given.tolist() == [[code]]
        assert store.replies(judge, [("\ud800", 0)]) == {("\ud800", 0): f"\udfff {code}"}


def test_a_judge_that_answers_by_no_code_is_an_error_and_nothing_of_it_is_kept(tmp_path):
    oracle = Oracle(tmp_path / "log")
    oracle.right = lambda text, question: 7
    store = AnswerStore(tmp_path / "answers.sqlite")
    with pytest.raises(ValueError, match=r"The judge oracle answered .*7, 7.*expected batches"):
        ask([oracle], PAPER.about(VOCABULARY), TEXTS, np.zeros((40, 3), dtype=bool), k=3, store=store)
    assert store.count() == (0, 0)
