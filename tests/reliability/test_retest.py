"""Test and retest: a judge that tosses a coin, behind a real server, through the command line."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from halluscope import cli, registry
from halluscope.benchmarks.hallusionbench import metric as hallusionbench
from halluscope.benchmarks.hqh import metric as hqh
from halluscope.judging.ask import collect_verdicts
from halluscope.judging.cache import Cache
from halluscope.judging.prompts import PromptSpec
from halluscope.signature import keys_of
from tests.benchmarks import test_hallusionbench, test_hqh
from tests.fake_judge import FakeJudge
from tests.scripted_server import ScriptedServer, refuse, reply

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
        (tmp_path / f"{model}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def scored(files: Path, name: str, server: ScriptedServer, capsys, *more: str, by: str = "") -> str:
    """Score all models, as a user does, and save the output as NAME.json."""
    judge = ["--judge", by or f"openai:coin@{server.url}"]
    responses = [str(files / f"{model}.jsonl") for model in MODELS]
    command = ["score", "hqh", "--responses", *responses, "--dataset", str(files / "HQH.json"), "--json"]
    capsys.readouterr()
    assert cli.main([*command, *judge, "--bootstrap", "0", *more]) == 0
    (files / f"{name}.json").write_text(capsys.readouterr().out)
    return str(files / f"{name}.json")


def sent(server: ScriptedServer, setting: str) -> Counter:
    """How often each value of a setting was sent with a prompt."""
    asked = (body for body in server.bodies if body["messages"][0]["content"] != PROBE)
    return Counter(body.get(setting) for body in asked)


def reliability(capsys, *command: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main(["reliability", *command])
    return status, *capsys.readouterr()


BY = ("--by", "main_hal")


def test_a_coin_is_no_reliable_judge(files, tossed, capsys):
    """The same responses, judged by two seeds: far from the 1.000 that the store would give."""
    first = scored(files, "first", tossed, capsys)
    second = scored(files, "second", tossed, capsys, "--seed", "1")
    assert sent(tossed, "seed") == {0: 128, 1: 128}
    status, out, _ = reliability(capsys, first, "--retest", second, "--json", *BY)
    retest = json.loads(out)["test_retest"]
    assert status == 0 and abs(retest["pearson"]) < 0.95
    assert retest["same"] == [] and retest["same_responses"] == [*MODELS]
    assert retest["changed"] == ["seeds: 0, then 1"]
    status, out, _ = reliability(capsys, first, "--retest", second, *BY)
    assert "the same responses in both, judged again: a, b, c, d" in out and "(same)" not in out


def test_a_second_run_asks_nothing_and_is_no_retest(files, tossed, capsys):
    first = scored(files, "first", tossed, capsys)
    asked = len(tossed.prompts)
    second = scored(files, "second", tossed, capsys)
    assert len(tossed.prompts) == asked == 128
    assert Path(first).read_text() == Path(second).read_text()
    status, _, err = reliability(capsys, first, "--retest", second, *BY)
    assert (
        status == 2 and "--retest holds the first run again: the results of all 4 models are the same" in err
    )
    assert "--sample --seed 1" in err and "--fresh" in err
    status, _, err = reliability(capsys, first, "--parallel", first, *BY)
    assert status == 2 and "--parallel holds the first run again" in err


def test_a_fresh_run_asks_all_again_and_its_replies_are_kept(files, tossed, capsys):
    tossed.script = lambda prompt, count, body: reply(test_hqh.said(count % 2 == 0))  # whatever the seed
    first = scored(files, "first", tossed, capsys)
    second = scored(files, "second", tossed, capsys, "--fresh")
    assert {*Counter(tossed.prompts).values()} == {2}
    one, other = (json.loads(Path(file).read_text())[0] for file in (first, second))
    assert (one["main_hal"], other["main_hal"]) == (1.0, 0.0) and one["signature"] == other["signature"]
    assert one["texts"] == other["texts"] and one["verdicts"] != other["verdicts"]
    third = scored(files, "third", tossed, capsys)
    assert len(tossed.prompts) == 256 and Path(third).read_text() == Path(second).read_text()


def test_a_fresh_run_asks_what_two_models_share_once(files, tossed, capsys):
    (files / "b.jsonl").write_text((files / "a.jsonl").read_text())
    scored(files, "first", tossed, capsys, "--fresh")
    assert len(tossed.prompts) == len({*tossed.prompts}) == 96
    scored(files, "second", tossed, capsys, "--fresh")
    assert {*Counter(tossed.prompts).values()} == {2}


def test_a_fresh_run_that_gets_no_reply_keeps_what_was_kept(tmp_path):
    store = Cache(tmp_path / "answers.sqlite")
    collect_verdicts([PromptSpec("a", str)], FakeJudge(lambda *_: "first"), cache=store)
    silent = FakeJudge(lambda *_: None)
    with pytest.raises(ValueError, match="no readable verdict"):
        collect_verdicts([PromptSpec("a", str)], silent, cache=Cache(store.path, "refresh"))
    assert collect_verdicts([PromptSpec("a", str)], silent, cache=store) == [["first"]]


def test_each_repeat_has_its_seed(files, tossed, capsys):
    first = scored(files, "first", tossed, capsys, "--repeats", "3", "--seed", "7")
    assert sent(tossed, "seed") == {7: 128, 8: 128, 9: 128}
    result = json.loads(Path(first).read_text())[0]
    assert keys_of(result["signature"])["seeds"] == "7-9"
    low, high = result["spread"]["main_hal"]
    assert low < result["main_hal"] < high
    scored(files, "fewer", tossed, capsys, "--repeats", "2", "--seed", "7")
    assert len(tossed.prompts) == 3 * 128, "the first repeats are the same"
    scored(files, "other", tossed, capsys, "--judge-seed", "8", "--bootstrap", "9")
    assert len(tossed.prompts) == 4 * 128
    other = keys_of(json.loads((files / "other.json").read_text())[0]["signature"])
    assert other["seeds"] == "8" and other["interval"].endswith("seed0")


def test_a_judge_seed_moves_no_draw_of_the_bootstrap(tossed):
    texts = [f"says {row['id']}" for row in QUESTIONS]
    options = {"judge": FakeJudge(lambda *_: test_hqh.said(True, "says")), "bootstrap": 50, "progress": False}
    one, other = (hqh.compute(texts, QUESTIONS, **options, judge_seed=seed) for seed in range(2))
    assert one["interval"] == other["interval"] and one["signature"] != other["signature"]


def test_a_server_that_takes_no_seed_is_asked_again_all_the_same(files, tossed, capsys):
    def script(prompt, count, body):
        return refuse(400, "Unsupported parameter: 'seed'") if "seed" in body else coin(prompt, count, body)

    tossed.script = script
    with pytest.warns(UserWarning, match="accepts no seed and is asked without"):
        first = scored(files, "first", tossed, capsys)
        second = scored(files, "second", tossed, capsys, "--seed", "1")
    assert {*Counter(tossed.prompts).values()} == {2}
    assert "seed=refused" in json.loads(Path(first).read_text())[0]["signature"]
    status, out, _ = reliability(capsys, first, "--retest", second, "--json", *BY)
    assert status == 0 and json.loads(out)["test_retest"]["pearson"] < 0.95


def test_a_temperature_is_sent_and_stands_in_the_signature(files, tossed, capsys):
    cold = scored(files, "cold", tossed, capsys)
    warm = scored(files, "warm", tossed, capsys, "--temperature", "0.7")
    assert sent(tossed, "temperature") == {0: 128, 0.7: 128}
    signed = [json.loads(Path(file).read_text())[0]["signature"] for file in (cold, warm)]
    assert "temperature=0:" in signed[0] and "temperature=0.7:" in signed[1]


def test_hallusionbench_asks_its_repeats_by_seeds(tossed):
    tossed.script = lambda prompt, count, body: reply(
        "same" if "Answer 2:" in prompt else ("correct", "incorrect")[body["seed"] % 2]
    )
    rows = test_hallusionbench.rows()
    texts = [f"answer {n}" for n in range(len(rows))]
    judge = f"openai:coin@{tossed.url}"
    got = hallusionbench.compute(texts, rows, judge=judge, repeats=2, seed=4, progress=False)
    assert got["spread"]["qAcc"] == (0.0, 1.0) and keys_of(got["signature"])["seeds"] == "4-5"
    again = hallusionbench.compute(texts, rows, judge=judge, repeats=2, seed=6, progress=False)
    assert again["verdicts"] == got["verdicts"] and again["signature"] != got["signature"]


# What is said of runs that are none


def edited(file: str, path: Path, **values) -> str:
    results = [row | values for row in json.loads(Path(file).read_text())]
    path.write_text(json.dumps(results))
    return str(path)


def test_the_same_verdicts_by_other_seeds_are_said_in_the_row(files, tossed, capsys):
    """A judge that repeats itself: the row says that the second run has the same verdicts."""
    tossed.script = lambda prompt, count, body: reply(test_hqh.said(random.Random(prompt).random() < 0.5))
    first = scored(files, "first", tossed, capsys)
    second = scored(files, "second", tossed, capsys, "--seed", "1")
    assert len(tossed.prompts) == 256
    status, out, _ = reliability(capsys, first, "--retest", second, *BY)
    assert status == 0 and "1.000 (same)" in out
    assert "the very same responses and verdicts in both: a, b, c, d" in out


def test_rules_on_the_same_responses_are_said_in_the_row(files, tossed, capsys):
    (files / "b.jsonl").write_text(  # so that the models differ
        "\n".join(json.dumps({"id": row["id"], "response": row["ground_truth"]}) for row in QUESTIONS)
    )
    first = scored(files, "first", tossed, capsys, by="reference-only")
    second = scored(files, "second", tossed, capsys, "--bootstrap", "5", by="reference-only")
    status, out, _ = reliability(capsys, first, "--retest", second, *BY)
    assert status == 0 and "1.000 (same)" in out
    (files / "c.jsonl").write_text((files / "c.jsonl").read_text().replace('c says 1"', 'it is red"'))
    second = scored(files, "second", tossed, capsys, "--bootstrap", "5", by="reference-only")
    status, out, _ = reliability(capsys, first, "--retest", second, *BY)
    assert "(same)" not in out and "in both: a, b, d\n" in out


def test_runs_about_other_rows(files, tossed, capsys):
    first = scored(files, "first", tossed, capsys)
    part = scored(files, "part", tossed, capsys, "--limit", "20")
    for option in ("--retest", "--parallel"):
        status, _, err = reliability(capsys, first, option, part, *BY)
        assert status == 2 and f"{option} is about other rows than the first run: for 'a', hqh-32-" in err
        assert "then hqh-20-" in err
    (files / "HQH.json").write_text(
        json.dumps([row | {"instruction": f"{row['instruction']} Please."} for row in QUESTIONS])
    )
    form = scored(files, "form", tossed, capsys)
    assert reliability(capsys, first, "--retest", form, *BY)[0] == 2
    assert reliability(capsys, first, "--parallel", form, *BY)[0] == 0
    names = [name for name in registry.benchmark("hqh").scores if name not in BY][:2]
    status, out, _ = reliability(capsys, first, "--parallel", form, *BY, "--scores", *names)
    assert status == 0 and all(f"{name}, parallel" in out for name in names)
    status, _, err = reliability(capsys, first, "--retest", form, *BY, "--scores", *names)
    assert status == 2 and "expected --parallel beside it" in err


def test_fewer_than_three_models(files, tossed, capsys):
    first = scored(files, "first", tossed, capsys)
    second = scored(files, "second", tossed, capsys, "--seed", "1")
    for file in (first, second):
        Path(file).write_text(json.dumps(json.loads(Path(file).read_text())[:2]))
    status, _, err = reliability(capsys, first, "--retest", second, *BY)
    assert status == 2 and "There are 2 models; a correlation needs at least 3" in err


def test_texts_tell_responses_whatever_their_order(files, tossed, capsys):
    first = scored(files, "first", tossed, capsys, by="reference-only")
    lines = (files / "a.jsonl").read_text().splitlines()
    (files / "a.jsonl").write_text("\n".join(lines[::-1]))
    second = scored(files, "second", tossed, capsys, by="reference-only")
    one, other = (json.loads(Path(file).read_text()) for file in (first, second))
    assert one[0]["texts"] == other[0]["texts"] != one[1]["texts"]


# Options that move nothing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "0.7"], "temperature is 0.7, but 'reference-only' gives the same verdicts"),
        (["--fresh"], "fresh is True, but 'reference-only' gives the same verdicts"),
        (["--temperature", "3"], "temperature is 3.0; expected a number from 0 to 2"),
        (["--temperature", "-1"], "temperature is -1.0; expected a number from 0 to 2"),
        (["--judge-seed", "-1"], "judge_seed is -1; expected a judge's seed from 0 to"),
    ],
)
def test_bad_options(files, tossed, capsys, options, message):
    import re

    options = [option.format(f"openai:coin@{tossed.url}") for option in options]
    command = ["score", "hqh", "--responses", str(files / "a.jsonl"), "--dataset", str(files / "HQH.json")]
    assert cli.main([*command, *options, "--quiet"]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not tossed.bodies


def test_a_local_model_has_neither_seeds_nor_temperature(tiny_t5, one_thread, tmp_path):
    texts = [f"says {row['id']}" for row in QUESTIONS[:2]]
    options = {"judge": str(tiny_t5), "max_tokens": 4, "device": "cpu", "progress": False, "max_failed": 1}
    with pytest.raises(ValueError, match=r"temperature is 0.5, but checkpoint@\S+ decodes greedily"):
        hqh.compute(texts, QUESTIONS[:2], **options, temperature=0.5)
    with pytest.warns(UserWarning, match="decodes greedily: its 2 repeats are equal"):
        got = hqh.compute(texts, QUESTIONS[:2], **options, repeats=2, seed=1)
    assert "seeds" not in keys_of(got["signature"])
    kept = Cache().count()
    with pytest.warns(UserWarning, match="no readable verdict"):
        hqh.compute(texts, QUESTIONS[:2], **options, seed=5)
    assert Cache().count() == kept == (0, 2), "another seed asks a greedy judge nothing"
