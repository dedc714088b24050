"""The store: found by content, shared, and never a wrong number."""

import multiprocessing
import os
import resource
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from halluscope.benchmarks.throne.prompts import PAPER, RELEASED
from halluscope.errors import StoreError
from halluscope.judging.store import AnswerStore
from halluscope.judging.voters.asking import ask
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.vocabularies import load

VOCABULARY = load(["dog", "cat", "cow"])
TEXTS = [f"Text number {i}." for i in range(40)]


class Oracle:
    """A judge that answers by a rule of its own and writes down what it was asked, one line a question."""

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
    """In a process of its own: what `prepare` does to it, then a run, whose message is written down."""
    log = (folder / "message").open("w")
    prepare()
    try:
        run(folder)
    except StoreError as error:
        log.write(str(error))
        log.flush()


def test_a_full_disk_is_an_error_and_what_was_kept_stays(tmp_path):
    """A process that may write no file beyond 160 KiB meets what a full disk is to SQLite."""

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


def of_another_version(path: Path) -> None:
    AnswerStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mails (id INTEGER)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 100), "cannot be used.*not a database"),
        (lambda path: path.mkdir(), "cannot be used"),
        (of_another_version, "form 99; this version of halluscope reads form 1"),
        (of_another_program, "another program"),
    ],
)
def test_a_bad_store_is_an_error_and_never_a_wrong_answer(tmp_path, make, message):
    path = tmp_path / "answers.sqlite"
    make(path)
    with pytest.raises(StoreError, match=message):
        AnswerStore(path)


def test_a_damaged_page_is_an_error(tmp_path):
    run(tmp_path)
    path = tmp_path / "answers.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    with pytest.raises(StoreError, match="cannot be used"):
        run(tmp_path)
