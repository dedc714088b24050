"""Test and retest: a judge that tosses a coin, behind a real server, through the command line."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from halluscope.signature import keys_of
from tests.benchmarks import test_hqh
from tests.scripted_server import ScriptedServer, reply
from tests.studies.sheets import lines, printed, read_json, refused

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:.* questions are scored")]

PROBE = "Reply with one word: ready"
MODELS = ("a", "b", "c", "d")
QUESTIONS = test_hqh.rows(each=4)


def coin(prompt: str, count: int, body: dict):
    """Heads or tails, by prompt and seed: the same seed always gives the same side."""
    if prompt == PROBE:
        return reply("ready")
    heads = random.Random(f"{body.get('seed', count)} {prompt}").random() < 0.5
    return reply(test_hqh.said(heads))


@pytest.fixture
def tossed():
    server = ScriptedServer(coin)
    yield server
    server.close()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Questions, and what each of the models answered."""
    (tmp_path / "HQH.json").write_text(json.dumps(QUESTIONS))
    for model in MODELS:
        rows = [{"id": row["id"], "response": f"{model} says {row['id']}"} for row in QUESTIONS]
        lines(tmp_path / f"{model}.jsonl", rows)
    return tmp_path


@pytest.fixture
def scored(files, tossed, capsys):
    """Score all models, as a user does, and save the output in a new file."""

    def score(*more: str, by: str = "") -> Path:
        responses = [files / f"{model}.jsonl" for model in MODELS]
        words = ["--dataset", files / "HQH.json"]
        if "--bootstrap" not in more:
            words += ["--bootstrap", 0]
        words += ["--judge", by or f"openai:coin@{tossed.url}", *more, "--json"]
        file = files / f"scores-{len([*files.glob('scores-*')])}.json"
        file.write_text(printed(capsys, "score", "hqh", "--responses", *responses, *words))
        return file

    return score


def first_of(file: Path) -> dict:
    return json.loads(file.read_text())[0]


def sent(server: ScriptedServer, setting: str) -> Counter:
    """How often each value of a setting was sent with a prompt."""
    asked = (body for body in server.bodies if body["messages"][0]["content"] != PROBE)
    return Counter(body.get(setting) for body in asked)


BY = ("--scores", "main_hal")


def test_a_coin_is_no_reliable_judge(tossed, scored, capsys):
    """The same responses, judged by two seeds: far from the 1.000 that the store would give."""
    words = ["study", "reliability", scored(), "--retest", scored("--seed", "1"), *BY]
    assert sent(tossed, "seed") == {0: 128, 1: 128}
    retest = read_json(capsys, *words)["test_retest"]
    assert abs(retest["pearson"]) < 0.95
    assert retest["same"] == [] and retest["same_responses"] == [*MODELS]
    assert retest["changed"] == ["seeds: 0, then 1"]
    out = printed(capsys, *words)
    assert "the same responses in both, judged again: a, b, c, d" in out and "(same)" not in out


def test_a_second_run_asks_nothing_and_is_no_retest(tossed, scored, capsys):
    first = scored()
    asked = len(tossed.prompts)
    second = scored()
    assert len(tossed.prompts) == asked == 128
    assert first.read_text() == second.read_text()
    said = refused(capsys, "study", "reliability", first, "--retest", second, *BY)
    assert "--retest holds the first run again: the results of all 4 models are the same" in said
    assert "--sample --seed 1" in said and "--fresh" in said
    said = refused(capsys, "study", "reliability", first, "--parallel", first, *BY)
    assert "--parallel holds the first run again" in said


def test_a_fresh_run_asks_all_again_and_its_replies_are_kept(tossed, scored):
    tossed.script = lambda prompt, count, body: reply(test_hqh.said(count % 2 == 0))  # whatever the seed
    first, second = scored(), scored("--fresh")
    assert {*Counter(tossed.prompts).values()} == {2}
    one, other = first_of(first), first_of(second)
    assert (one["main_hal"], other["main_hal"]) == (1.0, 0.0) and one["signature"] == other["signature"]
    assert one["texts"] == other["texts"] and one["verdicts"] != other["verdicts"]
    assert scored().read_text() == second.read_text() and len(tossed.prompts) == 256


def test_each_repeat_has_its_seed(tossed, scored):
    result = first_of(scored("--repeats", "3", "--seed", "7"))
    assert sent(tossed, "seed") == {7: 128, 8: 128, 9: 128}
    assert keys_of(result["signature"])["seeds"] == "7-9"
    low, high = result["spread"]["main_hal"]
    assert low < result["main_hal"] < high
    scored("--repeats", "2", "--seed", "7")
    assert len(tossed.prompts) == 3 * 128, "the first repeats are the same"
    other = keys_of(first_of(scored("--judge-seed", "8", "--bootstrap", "9"))["signature"])
    assert len(tossed.prompts) == 4 * 128
    assert other["seeds"] == "8" and other["interval"] == "0.95,jackknife-beta,images"


# What is said of runs that are none


def test_runs_about_other_rows(files, scored, capsys):
    words = ["study", "reliability", scored(), *BY]
    part = scored("--limit", "20")
    for option in ("--retest", "--parallel"):
        said = refused(capsys, *words, option, part)
        assert f"{option} is about other rows than the first run: for 'a', hqh-32-" in said
        assert "then hqh-20-" in said
    other = [row | {"instruction": f"{row['instruction']} Please."} for row in QUESTIONS]
    (files / "HQH.json").write_text(json.dumps(other))
    form = scored()
    refused(capsys, *words, "--retest", form)
    assert "main_hal, parallel" in printed(capsys, *words, "--parallel", form)
