"""Test and retest: a judge that tosses a coin, behind a real server, through the command line."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from halluscope import registry
from halluscope.benchmarks.hallusionbench import metric as hallusionbench
from halluscope.benchmarks.hqh import metric as hqh
from halluscope.judging.ask import collect_verdicts
from halluscope.judging.cache import Cache
from halluscope.judging.prompts import PromptSpec
from halluscope.signature import keys_of
from tests.benchmarks import test_hallusionbench, test_hqh
from tests.fake_judge import FakeJudge
from tests.scripted_server import ScriptedServer, refuse, reply
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
RULES = "reference-only"


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


def test_a_fresh_run_asks_what_two_models_share_once(files, tossed, scored):
    (files / "b.jsonl").write_text((files / "a.jsonl").read_text())
    scored("--fresh")
    assert len(tossed.prompts) == len({*tossed.prompts}) == 96
    scored("--fresh")
    assert {*Counter(tossed.prompts).values()} == {2}


def test_a_fresh_run_that_gets_no_reply_keeps_what_was_kept(tmp_path):
    store = Cache(tmp_path / "answers.sqlite")
    collect_verdicts([PromptSpec("a", str)], FakeJudge(lambda *_: "first"), cache=store)
    silent = FakeJudge(lambda *_: None)
    with pytest.raises(ValueError, match="no readable verdict"):
        collect_verdicts([PromptSpec("a", str)], silent, cache=Cache(store.path, "refresh"))
    assert collect_verdicts([PromptSpec("a", str)], silent, cache=store) == [["first"]]


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


def test_a_judge_seed_moves_no_draw_of_the_bootstrap(tossed):
    texts = [f"says {row['id']}" for row in QUESTIONS]
    options = {"judge": FakeJudge(lambda *_: test_hqh.said(True, "says")), "bootstrap": 50, "progress": False}
    one, other = (hqh.compute(texts, QUESTIONS, **options, judge_seed=seed) for seed in range(2))
    assert one["interval"] == other["interval"] and one["signature"] != other["signature"]


def test_a_server_that_takes_no_seed_is_asked_again_all_the_same(tossed, scored, capsys):
    def script(prompt, count, body):
        return refuse(400, "Unsupported parameter: 'seed'") if "seed" in body else coin(prompt, count, body)

    tossed.script = script
    with pytest.warns(UserWarning, match="accepts no seed and is asked without"):
        first, second = scored(), scored("--seed", "1")
    assert {*Counter(tossed.prompts).values()} == {2}
    assert "seed=refused" in first_of(first)["signature"]
    got = read_json(capsys, "study", "reliability", first, "--retest", second, *BY)
    assert got["test_retest"]["pearson"] < 0.95


def test_a_temperature_is_sent_and_stands_in_the_signature(tossed, scored):
    cold, warm = (first_of(scored(*more))["signature"] for more in ((), ("--temperature", "0.7")))
    assert sent(tossed, "temperature") == {0: 128, 0.7: 128}
    assert "temperature=0:" in cold and "temperature=0.7:" in warm


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


def test_the_same_verdicts_by_other_seeds_are_said_in_the_row(tossed, scored, capsys):
    """A judge that repeats itself: the row says that the second run has the same verdicts."""
    tossed.script = lambda prompt, count, body: reply(test_hqh.said(random.Random(prompt).random() < 0.5))
    out = printed(capsys, "study", "reliability", scored(), "--retest", scored("--seed", "1"), *BY)
    assert len(tossed.prompts) == 256
    assert "1.000 (same)" in out
    assert "the very same responses and verdicts in both: a, b, c, d" in out


def test_rules_on_the_same_responses_are_said_in_the_row(files, scored, capsys):
    rows = [{"id": row["id"], "response": f"I see {row['ground_truth']}"} for row in QUESTIONS]
    lines(files / "b.jsonl", rows)  # so that the models differ
    words = ["study", "reliability", scored(by=RULES), *BY, "--retest"]
    assert "1.000 (same)" in printed(capsys, *words, scored("--bootstrap", "5", by=RULES))
    (files / "c.jsonl").write_text((files / "c.jsonl").read_text().replace('c says 1"', 'it is red"'))
    out = printed(capsys, *words, scored("--bootstrap", "5", by=RULES))
    assert "(same)" not in out and "in both: a, b, d\n" in out


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
    names = [name for name in registry.benchmark("hqh").scores if name not in BY][:2]
    out = printed(capsys, *words, "--parallel", form, "--scores", *names)
    assert all(f"{name}, parallel" in out for name in names)
    said = refused(capsys, *words, "--retest", form, "--scores", *names)
    assert "expected one, or --parallel" in said


def test_fewer_than_three_models(scored, capsys):
    both = scored(), scored("--seed", "1")
    for file in both:
        file.write_text(json.dumps(json.loads(file.read_text())[:2]))
    said = refused(capsys, "study", "reliability", both[0], "--retest", both[1], *BY)
    assert "There are 2 models; a correlation needs at least 3" in said


def test_texts_tell_responses_whatever_their_order(files, scored):
    first = json.loads(scored(by=RULES).read_text())
    file = files / "a.jsonl"
    file.write_text("\n".join(file.read_text().splitlines()[::-1]))
    assert first[0]["texts"] == first_of(scored(by=RULES))["texts"] != first[1]["texts"]


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
def test_bad_options(files, capsys, options, message):
    words = ["score", "hqh", "--responses", files / "a.jsonl", "--dataset", files / "HQH.json", "--quiet"]
    assert message in refused(capsys, *words, *options)


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
