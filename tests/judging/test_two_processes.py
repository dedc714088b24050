"""Two commands at once on one cache, with a server that draws its replies: each asked once, and one score."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.scripted_server import Said, ScriptedServer, reply

SOURCE = Path(__file__).parents[2] / "src"
QUESTIONS = 60
WAIT_S = 0.02  # how long the server takes for a reply
AT_ONCE = 4
PATIENCE_S = 90
VERDICTS = (
    '{"point": "It says so.", "verdict": "correct"}',
    '{"point": "It says so.", "verdict": "incorrect"}',
)


class Coin:
    """A server's replies, drawn anew each time; it holds all of them back until `gate` is opened."""

    def __init__(self, *sides: str) -> None:
        self.sides = sides
        self.gate = threading.Event()
        self.tests = 0  # how many processes have sent their test prompt
        self.replied = 0

    def __call__(self, prompt: str, count: int, body: dict) -> Said:
        if prompt.startswith("Reply with one word"):
            self.tests += 1
            return reply("ready")
        self.gate.wait(PATIENCE_S)
        self.replied += 1
        return reply(random.choice(self.sides), wait=WAIT_S)


@pytest.fixture
def verdicts(tmp_path: Path) -> list[str]:
    """HaloQuest's command, with as many questions as rows."""
    head = "image_name,url,image type,hallucination type,question,groundtruth responses,split"
    questions = [head]
    responses = []
    for number in range(QUESTIONS):
        url = f"https://example.org/{number}.jpg"
        questions.append(f"{number}.jpg,{url},real,false premises,What is thing {number}?,There is none,eval")
        responses.append(json.dumps({"id": number, "response": f"It is a ladder of {number} steps."}))
    (tmp_path / "haloquest-eval.csv").write_text("\n".join(questions))
    (tmp_path / "mine.jsonl").write_text("\n".join(responses))
    words = ["haloquest", "--responses", str(tmp_path / "mine.jsonl")]
    return [*words, "--dataset", str(tmp_path / "haloquest-eval.csv"), "--temperature", "1", "--judge"]


@pytest.fixture
def votes(tmp_path: Path) -> list[str]:
    """THRONE's command; a text's 80 classes make many questions."""
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"image_id": 1, "response": "A dog and a cat.", "objects": ["dog"]}))
    return ["throne", "--responses", str(file), "--dataset", str(file), "--ask", "all", "--judges"]


def started(words: list[str], server: ScriptedServer, folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own, with the cache that all share."""
    command = [sys.executable, "-m", "halluscope", "score", *words, server.judge, *options]
    command += ["--store", str(folder / "answers.sqlite"), "--at-once", str(AT_ONCE), "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def numbers(process: subprocess.Popen[str]) -> dict:
    """Wait for the end of a command, and return the result that it printed."""
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    (result,) = json.loads(out)
    return result


def wait_until(is_so) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def most_often(server: ScriptedServer) -> int:
    """Return how often the prompt came that came most often."""
    return max(Counter(server.prompts).values())


@pytest.mark.parametrize(("kind", "sides"), [("verdicts", VERDICTS), ("votes", ("Yes", "No"))])
def test_each_request_is_asked_once(kind, sides, request, serve, tmp_path):
    words = request.getfixturevalue(kind)
    coin = Coin(*sides)
    server = serve(coin)
    both = [started(words, server, tmp_path) for _ in range(2)]
    wait_until(lambda: coin.tests == 2)
    coin.gate.set()
    first, second = [numbers(process) for process in both]
    assert first == second
    assert most_often(server) == 1
    assert server.most_at_once > 1
    asked = len(server.prompts)
    assert numbers(started(words, server, tmp_path)) == first
    assert len(server.prompts) == asked >= QUESTIONS
    assert [file.name for file in tmp_path.glob("answers*")] == ["answers.sqlite"]


def test_each_asks_its_own_and_waits_for_the_other(verdicts, serve, tmp_path):
    """The first process asks 20 questions, the second the other 40 at the same time; both then have all of its rows."""
    coin = Coin(*VERDICTS)
    server = serve(coin)
    few = started(verdicts, server, tmp_path, "--limit", "20")
    wait_until(lambda: len(server.prompts) == AT_ONCE)
    every = started(verdicts, server, tmp_path)
    wait_until(lambda: len(server.prompts) == 2 * AT_ONCE)
    coin.gate.set()
    assert (
        numbers(few)["accuracy"] == numbers(started(verdicts, server, tmp_path, "--limit", "20"))["accuracy"]
    )
    assert numbers(every) == numbers(started(verdicts, server, tmp_path))
    assert most_often(server) == 1
    assert len(server.prompts) == QUESTIONS


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_blocks_nobody(end, verdicts, serve, tmp_path):
    """The other takes over what is left; at most what was under way is asked again."""
    coin = Coin(*VERDICTS)
    server = serve(coin)
    killed = started(verdicts, server, tmp_path)
    wait_until(lambda: len(server.prompts) == AT_ONCE)
    other = started(verdicts, server, tmp_path)
    wait_until(lambda: coin.tests == 2)
    coin.gate.set()
    wait_until(lambda: coin.replied >= QUESTIONS // 3)
    killed.send_signal(end)
    killed.communicate(timeout=PATIENCE_S)
    before = time.monotonic()
    result = numbers(other)
    assert time.monotonic() - before < PATIENCE_S / 3
    counts = Counter(server.prompts)
    assert len(counts) == QUESTIONS
    assert counts.total() <= QUESTIONS + 2 * AT_ONCE
    assert numbers(started(verdicts, server, tmp_path)) == result
    assert [file.name for file in tmp_path.glob("answers*")] == ["answers.sqlite"]
