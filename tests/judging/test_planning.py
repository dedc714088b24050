"""Plans of a run compared with the run itself."""

import json
import random
import subprocess
import sys

import pytest

from halluscope import cli
from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import FLAN_T5, Seq2SeqJudge
from halluscope.vocabularies import load
from tests.planning import plan_of
from tests.tiny_t5.descriptions import describe

COCO = load("coco")
CLASSES = ["dog", "pizza", "umbrella", "clock", "person", "bus"]


@pytest.fixture(scope="module")
def descriptions():
    """12 texts, one of them twice and one empty, and what is in their images."""
    rng = random.Random(4)
    said = [rng.sample(CLASSES, 2) for _ in range(10)]
    texts = [describe(names, rng) for names in said]
    return [*texts, texts[0], " "], [*([names[0]] for names in said), ["bus"], ["dog"]]


class Counting:
    """Wraps another judge, and counts its questions."""

    def __init__(self, judge) -> None:
        self.judge, self.key, self.stored, self.asked = judge, judge.key, judge.stored, 0

    def answer(self, texts, questions, pairs):
        self.asked += len(pairs)
        yield from self.judge.answer(texts, questions, pairs)

    def close(self) -> None:
        pass


def test_asking_everything_is_exact(descriptions, tiny_t5, tmp_path, one_thread):
    """10 texts that differ and are not empty, 6 classes, 3 questions; each judge, for all of the same texts."""
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "ask": "all", "agreement": "majority"}
    plan = plan_of(
        throne.compute,
        [(texts, objects)],
        judges=[str(tiny_t5), "lexical"],
        store=str(tmp_path / "none"),
        **options,
    )
    judges = [
        Counting(Seq2SeqJudge(weights.find(str(tiny_t5)), "cpu")),
        Counting(LexicalJudge(load(CLASSES))),
    ]
    throne.compute(texts, objects, judges=judges, store=str(tmp_path / "store"), progress=False, **options)
    assert [load.questions for load in plan.loads] == [judge.asked for judge in judges] == [180, 180]
    assert plan.exact
    prompts = [
        question.prompt(text) for row in PAPER.about(load(CLASSES)) for question in row for text in texts[:10]
    ]
    assert plan.loads[0].tokens == sum(map(len, prompts)) / 4
    assert plan.loads[0].cached == 0 and plan.loads[1].cached is None
    assert not (tmp_path / "none").exists()


def test_the_estimate_of_what_is_needed(descriptions, tiny_t5, tmp_path, one_thread):
    """The tiny T5 and its stand-in err in about one of a hundred cells, so the estimate must be near."""
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "agreement": "majority"}
    plan = plan_of(throne.compute, [(texts, objects)] * 2, judges=str(tiny_t5), **options)
    judge = Counting(Seq2SeqJudge(weights.find(str(tiny_t5)), "cpu"))
    throne.compute(texts, objects, judges=judge, store=str(tmp_path / "store"), progress=False, **options)
    assert not plan.exact and 60 <= judge.asked <= 180  # one question about each cell, or all three
    assert plan.loads[0].questions == pytest.approx(judge.asked, rel=0.1)


def test_weights_that_cannot_be_had(descriptions, tmp_path):
    """The paper's three judges, without a network: known models are planned, and missing facts are named."""
    texts, objects = descriptions
    plan = plan_of(throne.compute, [(texts, objects)], vocabulary=CLASSES, judges="flan-t5", ask="all")
    assert [load.judge for load in plan.loads] == list(FLAN_T5)
    for load_ in plan.loads:
        assert load_.questions == load_.left == 180 and load_.cached is None
        assert "nor can it be downloaded" in load_.note
    assert (plan.total().questions, plan.total().cached) == (540, None)
    assert plan.total().tokens == sum(load_.tokens for load_ in plan.loads)


@pytest.fixture
def files(descriptions, throne_files):
    return throne_files(*descriptions)


def test_the_command_that_scores_with_plan_for_score(files, tiny_t5, tmp_path, capsys, one_thread):
    """11 texts are not empty and 10 of them differ; 80 classes, 3 questions."""
    options = [*files, "--judges", str(tiny_t5), "lexical", "--ask", "all", "--per-class", "--bootstrap", "9"]
    options += ["--out", str(tmp_path / "run"), "--published", "--seed", "1"]
    assert cli.main(["score", *options, "--plan", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["exact"]
    assert [judge["left"] for judge in plan["judges"]] == [2400, 2400]
    assert plan["total"]["questions"] == 2400 and plan["judges"][0]["judge"] == "checkpoint"
    assert not (tmp_path / "answers.sqlite").exists()
    assert cli.main(["score", *options, "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["score", *options, "--plan"]) == 0
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("checkpoint"))
    assert row == ["checkpoint", "2,400", "2,400", "0", "0"]


@pytest.mark.long
def test_of_a_model_on_the_hub_only_what_describes_it_is_fetched(files, tiny_t5, hub, tmp_path, capsys):
    assert cli.main(["score", *files, "--plan", "--judges", str(tiny_t5), "--json"]) == 0
    (there,) = json.loads(capsys.readouterr().out)["judges"]
    hub.make(
        "model", "org/tiny", {file.name: file.read_bytes() for file in tiny_t5.iterdir() if file.is_file()}
    )
    program = [sys.executable, "-m", "halluscope"]
    command = [*program, "score", *files, "--plan", "--judges", "org/tiny", "--json"]
    home = tmp_path / "home"
    for more in ({}, {"HF_HUB_OFFLINE": "1"}):
        done = subprocess.run(
            command, env=hub.environment(home, **more), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        (judge,) = json.loads(done.stdout)["judges"]
        assert {name for name in judge if judge[name] != there[name]} == {"judge", "note"}
        assert judge["note"] == "its weights are not on this machine yet; scoring downloads them"
    assert not list(home.rglob("*.safetensors"))
