"""Plans of a run compared with the run itself."""

import json
import random
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from halluscope import cli
from halluscope.benchmarks.throne import metric as throne
from halluscope.benchmarks.throne.questions import PAPER
from halluscope.judging import cost as planning
from halluscope.judging.cache import Cache
from halluscope.judging.cost import (
    READ_WEIGHTS,
    Prompts,
    _shares,
    inspect_model,
    read_tokens,
    read_weights,
)
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models import weights
from halluscope.judging.models.engine import CausalJudge, Seq2SeqJudge
from halluscope.judging.options import VoteOptions
from halluscope.judging.resolve import ReplayJudge
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


@pytest.mark.parametrize(
    ("model", "gflop"),
    [("google/flan-t5-base", 34), ("google/flan-t5-large", 122), ("google/flan-t5-xl", 457)],
)
def test_a_prompt_of_the_papers_judges(model, gflop):
    """Measured before this was written (design/judging.md), for prompts of about 170 tokens."""
    assert 2 * READ_WEIGHTS[model] * 170 == pytest.approx(gflop * 1e9, rel=0.05)


def test_all_of_throne_on_coco():
    """5,000 responses x 80 classes x 3 questions to each of the three: 3.6 million prompts, 7.4e17 FLOP."""
    prompts = 5_000 * len(COCO.classes) * len(PAPER.templates)
    assert prompts * len(READ_WEIGHTS) == 3.6e6
    assert sum(prompts * 2 * read * 170 for read in READ_WEIGHTS.values()) == pytest.approx(7.4e17, rel=0.05)


def small_llama():
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=500,
    )


def test_weights_of_a_decoder_by_counting_them():
    """All but the embeddings, the output's matrix and the norms."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(small_llama())
    matrices = sum(
        weight.numel() for name, weight in model.named_parameters() if ".layers." in name and weight.ndim == 2
    )
    assert read_weights(small_llama()) == matrices


def test_weights_of_an_encoder_decoder_by_counting_them(tiny_t5):
    """The encoder's, and the decoder's matrices for the keys and values of what the encoder read."""
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(tiny_t5)
    read = re.compile(
        r"encoder\.block\..*(SelfAttention\.[qkvo]|DenseReluDense\.\w+)\.weight|.*EncDecAttention\.[kv]\.weight"
    )
    matrices = sum(weight.numel() for name, weight in model.named_parameters() if read.fullmatch(name))
    assert read_weights(model.config) == matrices


@pytest.mark.parametrize(
    ("stated", "shares"),
    [
        ({"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, False),
        ({"layer_types": ["full_attention"] * 3, "sliding_window": 512}, True),
        ({"sliding_window": 512}, False),
    ],
)
def test_windows_cannot_be_shared(stated, shares):
    assert _shares(SimpleNamespace(**{"layer_types": None, **stated})) == shares


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
    assert plan.exact and plan.at_least == plan.at_most == 360
    assert plan.loads[0].kept == 0 and plan.loads[1].kept is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("agreement", ["unanimous", "majority"])
def test_the_estimate_of_what_is_needed(descriptions, tiny_t5, tmp_path, one_thread, agreement):
    """The tiny T5 and its stand-in err in about one of a hundred cells, so the estimate must be within its bounds."""
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "agreement": agreement}
    plan = plan_of(throne.compute, [(texts, objects)], judges=str(tiny_t5), **options)
    judge = Counting(Seq2SeqJudge(weights.find(str(tiny_t5)), "cpu"))
    throne.compute(texts, objects, judges=judge, store=str(tmp_path / "store"), progress=False, **options)
    assert not plan.exact and plan.at_least == 60 and plan.at_most == 180
    assert plan.at_least <= judge.asked <= plan.at_most
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
    assert load_.tokens is load_.flop is load_.kept is None


def test_what_the_store_holds_is_not_asked(descriptions, tiny_t5, tmp_path, one_thread):
    texts, objects = descriptions
    path, options = tmp_path / "answers.sqlite", {"vocabulary": CLASSES, "judges": str(tiny_t5), "ask": "all"}
    before = plan_of(throne.compute, [(texts, objects)], store=str(path), **options).loads[0]
    assert not path.exists()
    throne.compute(texts[:4], objects[:4], store=str(path), progress=False, **options)
    files, content = sorted(tmp_path.iterdir()), path.read_bytes()
    after = plan_of(throne.compute, [(texts, objects)], store=str(path), **options).loads[0]
    assert (before.kept, after.kept) == (0, 4 * 6 * 3)
    assert after.questions == before.questions and after.left == before.left - after.kept
    assert 0 < after.tokens < before.tokens and 0 < after.flop < before.flop
    assert sorted(tmp_path.iterdir()) == files and path.read_bytes() == content


def test_a_cache_in_use_and_one_without_leave_to_write(tmp_path):
    """The plan sees what another process has just stored, and works in a folder that cannot be written to."""
    path, (question, *_) = tmp_path / "answers.sqlite", PAPER.about(load(["dog"]))
    cache = Cache(path)
    cache.keep_votes("judge", question, ["a text"], np.array([[0, 0]]), np.array([1]))
    for _ in ("in use", "closed"):
        looked = Cache(path, "read")
        assert looked.votes("judge", question, ["another", "a text"])[0].tolist() == [[-1], [1]]
        looked.close()
        cache.close()
        path.chmod(0o444)
        tmp_path.chmod(0o555)
    tmp_path.chmod(0o755)


def test_the_same_text_in_two_files_is_asked_about_once(descriptions, tiny_t5, one_thread):
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "judges": str(tiny_t5)}
    once = plan_of(throne.compute, [(texts, objects)], **options)
    twice = plan_of(throne.compute, [(texts, objects)] * 2, **options)
    assert twice.loads[0].questions == once.loads[0].questions


def test_tokens_are_the_judges_own(tiny_t5, one_thread):
    """Against each prompt tokenized by itself."""
    texts, about = ["A dog.", "Two dogs wait for the bus."], PAPER.about(COCO)[1]
    pairs = np.array([(i, j) for i in range(2) for j in range(80)])
    outlook = inspect_model(str(tiny_t5), VoteOptions(device="cpu"))
    judge = Seq2SeqJudge(weights.find(str(tiny_t5)), "cpu")
    assert outlook.key == judge.key and not outlook.missing
    judge.load()
    expected = [len(judge._tokenizer(about[j].prompt(texts[i]))["input_ids"]) for i, j in pairs.tolist()]
    assert read_tokens(outlook.reader, Prompts(texts, about, pairs)).tolist() == expected


def test_a_sample_is_near_the_whole(tiny_t5, monkeypatch, one_thread):
    rng = random.Random(9)
    texts = [describe(rng.sample(COCO.classes, rng.randint(1, 5)), rng) for _ in range(60)]
    inputs = [(texts, [["dog"]] * 60)]
    options = {"judges": str(tiny_t5), "ask": "all"}
    whole = plan_of(throne.compute, inputs, **options).loads[0]
    monkeypatch.setattr(planning, "SAMPLED_PROMPTS", 1500)
    part = plan_of(throne.compute, inputs, **options).loads[0]
    assert part.tokens != whole.tokens and part.tokens == pytest.approx(whole.tokens, rel=0.03)
    assert part.flop == pytest.approx(whole.flop, rel=0.03)
    assert "sample" in part.note and not whole.note


@pytest.fixture(scope="module")
def tiny_causal(tiny_t5, tmp_path_factory, one_thread):
    """A folder with an untrained Llama, and the tiny T5's tokenizer with a chat template."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("causal") / "tiny-causal"
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)
    tokenizer.chat_template = "User: {{ messages[0]['content'] }} Answer:"
    tokenizer.save_pretrained(folder)
    config = small_llama()
    config.vocab_size, config.eos_token_id = len(tokenizer), tokenizer.eos_token_id
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def test_a_shared_beginning_is_counted_once(tiny_causal):
    """The judge itself is asked, and how many tokens its model gets is counted: 80 questions share, 5 do not."""
    text, about = "A dog waits for the bus beside a red umbrella. It is raining.", PAPER.about(COCO)[0]
    outlook = inspect_model(str(tiny_causal), VoteOptions(device="cpu"))
    judge = CausalJudge(weights.find(str(tiny_causal)), "cpu")
    assert outlook.key == judge.key
    judge.load()
    read, begin = [], judge._voting.begin
    judge._voting.begin = lambda ids, prefix=None: read.append(ids.numel()) or begin(ids, prefix)
    works = []
    for questions in (80, 5):
        pairs = np.array([(0, j) for j in range(questions)])
        list(judge.answer([text], about, pairs))
        works.append(read_tokens(outlook.reader, Prompts([text], about, pairs)))
        assert works[-1].sum() == pytest.approx(sum(read))
        read.clear()
    assert works[0][0] < 0.5 * works[1][0]


def test_weights_that_cannot_be_had(descriptions, tmp_path):
    """The paper's three judges, without a network: known models are planned, and missing facts are named."""
    texts, objects = descriptions
    plan = plan_of(throne.compute, [(texts, objects)], vocabulary=CLASSES, judges="flan-t5", ask="all")
    assert [load.judge for load in plan.loads] == list(READ_WEIGHTS)
    for load_ in plan.loads:
        assert load_.questions == 180 and load_.seconds is None
        assert "nor can it be downloaded" in load_.note and "rule of thumb" in load_.note
    flop = [load_.flop / load_.tokens for load_ in plan.loads]
    assert 3.2 < flop[1] / flop[0] < 3.8 and 12 < flop[2] / flop[0] < 14.5
    assert plan.total("flop") == sum(load_.flop for load_ in plan.loads)
    assert plan.total("seconds") is None


def test_a_folder_without_weights(descriptions, tiny_t5, tmp_path, one_thread):
    folder = tmp_path / "described"
    folder.mkdir()
    for file in tiny_t5.iterdir():
        if file.suffix != ".safetensors":
            (folder / file.name).write_bytes(file.read_bytes())
    texts, objects = descriptions
    options = {"vocabulary": CLASSES, "ask": "all"}
    (got,) = plan_of(throne.compute, [(texts, objects)], judges=str(folder), calibrate=1, **options).loads
    (there,) = plan_of(throne.compute, [(texts, objects)], judges=str(tiny_t5), **options).loads
    assert (got.questions, got.tokens, got.flop) == (there.questions, there.tokens, there.flop)
    assert "holds no weights" in got.note and got.kept is None and got.seconds is None


@pytest.mark.parametrize("workers", [0, 2])
def test_a_calibration_measures_and_keeps_its_answers(tiny_t5, tmp_path, monkeypatch, one_thread, workers):
    rng = random.Random(6)
    texts = [describe(rng.sample(COCO.classes, 3), rng) for _ in range(30)]
    inputs = [(texts, [["dog"]] * 30)]
    options = {"judges": str(tiny_t5), "device": "cpu", "ask": "all", "store": str(tmp_path / "store")}
    monkeypatch.setattr(planning, "MEASURED_PROMPTS", 480)
    before = plan_of(throne.compute, inputs, **options).loads[0]
    (got,) = plan_of(throne.compute, inputs, calibrate=0.001, workers=workers, **options).loads
    assert 0 < got.measured <= 480
    again = plan_of(throne.compute, inputs, **options).loads[0]
    assert again.kept == got.measured and again.left == got.left == before.left - got.measured
    assert again.tokens == pytest.approx(got.tokens) and again.flop == pytest.approx(got.flop)
    assert got.seconds == pytest.approx(got.flop / got.flop_per_second / max(1, workers))


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), True])
def test_a_time_that_is_none(descriptions, bad):
    with pytest.raises(ValueError, match="calibrate is"):
        plan_of(throne.compute, [descriptions], judges="lexical", calibrate=bad)


def test_what_scoring_refuses_is_refused(descriptions, tiny_t5):
    for options, message in [
        ({"agreement": 1}, "agreement is 1"),
        ({"ask": "some"}, "ask is 'some'"),
        ({"judges": [str(tiny_t5)] * 2}, "more than once"),
        ({"judges": "no such judge"}, "There is no judge"),
        ({"wokers": 2}, r"no option 'wokers'\. Did you mean 'workers'\?"),
    ]:
        with pytest.raises(ValueError, match=message):
            plan_of(throne.compute, [descriptions], **{"judges": "lexical"} | options)


@pytest.fixture
def files(descriptions, throne_files):
    return throne_files(*descriptions)


def test_the_command_that_scores_with_plan_for_score(files, tiny_t5, tmp_path, capsys, one_thread):
    """11 texts are not empty and 10 of them differ; 80 classes, 3 questions."""
    options = [*files, "--judges", str(tiny_t5), "lexical", "--ask", "all", "--per-class", "--bootstrap", "9"]
    options += ["--out", str(tmp_path / "run"), "--published", "--seed", "1"]
    assert cli.main(["plan", *options, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["exact"] and plan["at_most"] == 4800
    assert [judge["left"] for judge in plan["judges"]] == [2400, 2400]
    assert plan["total"]["questions"] == 2400 and plan["judges"][0]["judge"] == "checkpoint"
    assert not (tmp_path / "answers.sqlite").exists()
    assert cli.main(["plan", *options, "--calibrate", "0.001", "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert "TFLOP/s" in out and "their votes are kept" in out and "divided among 2 workers" in out
    assert "are exact" in out and str(tiny_t5) not in out
    assert cli.main(["score", *options, "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["plan", *options]) == 0
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("checkpoint"))
    assert row == ["checkpoint", "2,400", "2,400", "0", "0", "0", "-"]


def test_an_estimate_says_so(files, capsys):
    assert cli.main(["plan", *files, "--judges", "lexical"]) == 0
    out = capsys.readouterr().out
    assert "estimate" in out and "between 800 " in out and "and 2,400 (every judge)" in out


@pytest.mark.long
def test_of_a_model_on_the_hub_only_what_describes_it_is_fetched(files, tiny_t5, hub, tmp_path, capsys):
    assert cli.main(["plan", *files, "--judges", str(tiny_t5), "--json"]) == 0
    (there,) = json.loads(capsys.readouterr().out)["judges"]
    hub.make(
        "model", "org/tiny", {file.name: file.read_bytes() for file in tiny_t5.iterdir() if file.is_file()}
    )
    command = [sys.executable, "-m", "halluscope", "plan", *files, "--judges", "org/tiny", "--json"]
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
