"""Plans of a run compared with the run itself."""

import json
import random
import subprocess
import sys

import pytest

from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging.models import weights
from halluscope.judging.models.engine import FLAN_T5, Seq2SeqJudge
from halluscope.judging.replay import ReplayJudge
from halluscope.vocabularies import load
from tests.planning import plan_of
from tests.tiny_t5.descriptions import describe

CLASSES = ["dog", "pizza", "umbrella", "clock", "person", "bus"]


@pytest.fixture(scope="module")
def descriptions():
    """12 texts, one of them twice and one empty, and what is in their images."""
    rng = random.Random(4)
    said = [rng.sample(CLASSES, 2) for _ in range(10)]
    texts = [describe(names, rng) for names in said]
    return [*texts, texts[0], " "], [*([names[0]] for names in said), ["bus"], ["dog"]]


@pytest.fixture
def files(descriptions, throne_files):
    return throne_files(*descriptions)


def test_asking_everything_is_exact(descriptions, files, tiny_t5, tmp_path, json_of, ran, one_thread):
    """10 texts that differ and are not empty, 80 classes, 3 questions; each judge, for all of the same texts."""
    command = ["score", *files, "--judges", tiny_t5, "lexical", "--ask", "all", "--out", tmp_path / "run"]
    plan = json_of(*command, "--plan")
    model, rules = plan["judges"]
    texts, _ = descriptions
    prompts = [
        question.prompt(text) for row in PAPER.about(load("coco")) for question in row for text in texts[:10]
    ]
    assert plan["exact"] and plan["total"]["questions"] == len(prompts) == 2400
    assert (model["judge"], model["left"], model["cached"]) == ("checkpoint", 2400, 0)
    assert model["tokens"] == sum(map(len, prompts)) / 4
    assert (rules["left"], rules["cached"]) == (2400, None)
    assert not (tmp_path / "answers.sqlite").exists()
    ran(*command, "--quiet")
    table = ran(*command, "--plan").out.splitlines()
    (row,) = [line.split() for line in table if line.startswith("checkpoint")]
    assert row == ["checkpoint", "2,400", "2,400", "0", "0"]


class Counting:
    """Wraps another judge, and counts its questions."""

    def __init__(self, judge) -> None:
        self.judge, self.key, self.stored, self.asked = judge, judge.key, judge.stored, 0

    def answer(self, texts, questions, pairs):
        self.asked += len(pairs)
        yield from self.judge.answer(texts, questions, pairs)

    def close(self) -> None:
        pass


def test_the_estimate_of_what_is_needed(descriptions, tiny_t5, tmp_path, one_thread):
    """The tiny T5 and its stand-in err in about one of a hundred cells, so the estimate must be near."""
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "agreement": "majority"}
    plan = plan_of(throne.compute, [(texts, objects)] * 2, judges=str(tiny_t5), **options)
    judge = Counting(Seq2SeqJudge(weights.find(str(tiny_t5)), "cpu"))
    throne.compute(texts, objects, judges=judge, store=str(tmp_path / "store"), progress=False, **options)
    assert not plan.exact and 60 <= judge.asked <= 180  # one question about each cell, or all three
    assert plan.loads[0].questions == pytest.approx(judge.asked, rel=0.1)


def test_judges_that_cost_nothing_answer_for_themselves(descriptions):
    """The replayed replies say no to everything, which the lexical judge would not."""
    texts, objects = descriptions
    about = PAPER.about(load(CLASSES))
    replies = {(text, question.text): "no" for text in texts for row in about for question in row}
    plan = plan_of(throne.compute, [(texts, objects)], vocabulary=CLASSES, judges=ReplayJudge(replies))
    judge = Counting(ReplayJudge(replies))
    throne.compute(texts, objects, vocabulary=CLASSES, judges=judge, progress=False)
    (load_,) = plan.loads
    assert load_.questions == judge.asked
    assert load_.tokens is load_.cached is plan.total() is None


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


@pytest.mark.long
def test_of_a_model_on_the_hub_only_what_describes_it_is_fetched(files, tiny_t5, hub, tmp_path, json_of):
    (there,) = json_of("score", *files, "--plan", "--judges", tiny_t5)["judges"]
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
