"""Votes by a server's scores, against a server of our own that follows the documented schemas and runs SmolLM2.

vLLM and SGLang themselves were not run.
"""

from functools import partial

import numpy as np
import pytest
import torch

from halluscope.benchmarks.throne.prompts import PAPER
from halluscope.judging import client
from halluscope.judging.models.steps import CausalSteps
from halluscope.judging.voters.scoring import ScoringVoter
from halluscope.judging.votes import NO, UNASKED, YES
from halluscope.vocabularies import load
from tests.scoring_server import SGLANG, VLLM, Mind, ScoringServer

QUESTIONS = PAPER.about(load("coco"))[0]
TEXTS = ["A dog runs after two cats.", "A man on a skateboard beside a red car; a bus stands behind them."]
PAIRS = np.array([(text, question) for question in range(0, 80, 8) for text in (1, 0)])
"""Not in the order in which a server is best asked."""

BIAS = 2.47
"""Added to the logit of "Yes", which SmolLM2 says to nothing: with it about half of the votes are yes."""


class Biased(CausalSteps):
    """The model with a bias of the head."""

    def __init__(self, model, bias):
        super().__init__(model)
        self._bias = bias

    def _read(self, ids, cache):
        logits, cache = super()._read(ids, cache)
        for token, more in self._bias.items():
            logits[:, token] += more
        return logits, cache


@pytest.fixture(scope="module")
def mind(smollm2):
    yes = smollm2._tokenizer.encode("Yes", add_special_tokens=False)
    return Mind(smollm2._model, smollm2._tokenizer, {yes[0]: BIAS})


@pytest.fixture(scope="module")
def tokenizer(smollm2, tmp_path_factory):
    """The folder of a tokenizer, without weights."""
    folder = tmp_path_factory.mktemp("tokenizer") / "smollm2"
    smollm2._tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def local(smollm2, mind):
    """The local causal judge's votes on the same prompts, by its replies, and the margins of its first tokens."""
    before = smollm2._voting
    smollm2._voting = Biased(smollm2._model, mind.bias)
    try:
        return answers(smollm2)[0]
    finally:
        smollm2._voting = before


@pytest.fixture
def serve(monkeypatch, mind):
    """Start servers, with the client's waiting between attempts made short."""
    monkeypatch.setattr(client, "FIRST_WAIT_S", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started = []

    def start(kind=VLLM, *change, **options) -> ScoringServer:
        started.append(ScoringServer(mind, kind, *change, **options))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def voter(tokenizer):
    def make(server, **options):
        return ScoringVoter(
            f"m@{server.url}", **{"tokenizer": tokenizer, "attempts": 2, "timeout": 60.0} | options
        )

    return make


def answers(judge, pairs=PAIRS):
    """Codes and margins, each pair answered once."""
    codes, margins = np.full(len(pairs), UNASKED), np.full(len(pairs), np.nan)
    for rows, given, *more in judge.answer(TEXTS, QUESTIONS, pairs):
        assert (codes[rows] == UNASKED).all()
        codes[rows] = given
        margins[rows] = more[0] if more else np.nan
    assert (codes != UNASKED).all()
    return codes, margins


@pytest.fixture(scope="module")
def whole(smollm2, mind):
    """The next token's logits after each whole prompt, by transformers' own call: no cache, no cut."""
    rows = []
    for text, question in PAIRS.tolist():
        chat = smollm2.prompt(TEXTS[text], QUESTIONS[question])
        ids = torch.tensor([smollm2._tokenizer.encode(chat, add_special_tokens=False)])
        with torch.inference_mode():
            logits = mind.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, -1].double()
            for token, more in mind.bias.items():
                logits[token] += more
        rows.append(logits)
    return torch.stack(rows)


def margins_of(whole, mind, yes, no):
    """log P(yes) - log P(no), each summed over its words."""
    sums = (
        torch.stack([whole[:, mind.tokenizer.encode(word)[0]] for word in words]).logsumexp(0)
        for words in (yes, no)
    )
    return np.subtract(*(one.numpy() for one in sums))


@pytest.fixture(scope="module")
def expected(whole, mind):
    return margins_of(whole, mind, ["Yes"], ["No"])


# The votes.


@pytest.mark.parametrize("kind", [VLLM, SGLANG])
def test_votes_are_those_of_the_causal_judge(serve, voter, kind, expected, local):
    server = serve(kind)
    codes, margins = answers(voter(server))
    assert 0.3 <= (codes == YES).mean() <= 0.7  # else equality says nothing
    assert margins == pytest.approx(expected, abs=1e-4)
    assert (codes == np.where(expected > 0, YES, NO)).all()
    assert set(local) == {YES, NO} and (codes == local).all()
    assert len(server.scored) == len(TEXTS)


def test_what_is_sent(serve, voter, mind):
    server = serve(VLLM)
    judge = voter(server)
    answers(judge)
    (body, _) = server.scored
    encode = partial(mind.tokenizer.encode, add_special_tokens=False)
    assert body["model"] == "m" and body["label_token_ids"] == [*encode("Yes"), *encode("No")]
    assert body["apply_softmax"] is True and body["item_first"] is False
    prompts = [mind.tokenizer.decode(body["query"] + item) for item in body["items"]]
    asked = [TEXTS[0] in prompt for prompt in prompts]
    assert all(asked) and len(prompts) == len(PAIRS) // 2 and TEXTS[0] in mind.tokenizer.decode(body["query"])
    assert prompts[0].startswith("<|im_start|>system") and prompts[0].endswith("<|im_start|>assistant\n")
    assert {path for path, _ in server.asked} == {"/generative_scoring", "/tokenize"}


def test_several_words_add_up(serve, voter, whole, mind, expected):
    _, margins = answers(voter(serve(SGLANG), labels="Yes,yes/No,no"))
    assert margins == pytest.approx(margins_of(whole, mind, ["Yes", "yes"], ["No", "no"]), abs=1e-4)
    assert np.abs(margins - expected).max() > 1e-3


def test_votes_by_a_small_margin_are_asked_again_in_the_plain_way(serve, voter, expected, local):
    limit = float(np.median(np.abs(expected)))

    def change(path, body, said):
        if path != "/v1/chat/completions":
            return said
        said[1]["choices"][0]["message"]["content"] = "Perhaps."  # so that it shows who voted
        return said

    server = serve(SGLANG, change)
    judge = voter(server, recheck=limit)
    with pytest.warns(UserWarning, match="begin with neither yes nor no"):
        codes, _ = answers(judge)
    near = np.abs(expected) < limit
    assert 0 < near.sum() < len(near)
    assert ((codes == 2) == near).all()
    assert (codes[~near] == local[~near]).all()
    assert f":below-{limit:g}-by(openai:m@" in judge.key and judge.key.endswith(":first-word)")
