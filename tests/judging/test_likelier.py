"""Judges that vote for the likelier of yes and no, against the logits of the models' own forward pass."""

import math
import shutil

import numpy as np
import pytest
import torch

from halluscope.benchmarks.throne import metric as throne
from halluscope.errors import JudgeUnavailable
from halluscope.judging.cache import Cache
from halluscope.judging.models.engine import local_judge, local_name
from halluscope.judging.resolve import resolve_chat
from halluscope.vocabularies import load

CLASSES = ["dog", "cat", "bus", "cup"]
TEXTS = ["A dog beside a bus.", "No cat here. " * 3, "A red cup."]
QUESTION = "Is there {a/an} {x} in this image?"


@pytest.fixture(scope="module")
def judge(tiny_t5, one_thread):
    judge = local_judge(f"likelier=0.25:{tiny_t5}", device="cpu")
    judge.load()
    return judge


def asked(judge, questions):
    """The votes and margins on all pairs of texts and questions."""
    pairs = np.array(list(np.ndindex(len(TEXTS), len(questions))))
    codes = np.full(len(pairs), -1)
    margins = np.full(len(pairs), np.nan)
    for rows, of_rows, their_margins in judge.answer(TEXTS, questions, pairs):
        codes[rows] = of_rows
        margins[rows] = their_margins
    return codes, margins


def margin(judge, prompt, words):
    """log P(yes) - log P(no) by a plain forward pass, of these tokens."""
    ids = judge._tokenizer(prompt, return_tensors="pt", add_special_tokens=judge.adds_special_tokens)
    if judge.auto_class == "AutoModelForSeq2SeqLM":
        ids["decoder_input_ids"] = torch.zeros((1, 1), dtype=torch.long)
    with torch.inference_mode():
        chances = judge._model(**ids).logits[0, -1].double().softmax(-1)
    yes, no = (chances[tokens].sum() for tokens in words)
    return math.log(yes / no)


def test_margins_and_votes_of_an_encoder_decoder(judge):
    questions = [question for row in throne.questions_of("paper").about(load(CLASSES)) for question in row]
    codes, margins = asked(judge, questions)
    vocabulary = judge._tokenizer.get_vocab()
    words = []
    for word in ("yes", "no"):
        spelled = [token for piece, token in vocabulary.items() if piece.strip("▁").lower() == word]
        words.append(spelled)
    expected = []
    for text in TEXTS:
        expected += [margin(judge, judge.prompt(text, question), words) for question in questions]
    np.testing.assert_allclose(margins, expected, atol=1e-4)
    assert (codes == (margins > 0.25)).all() and 0 < codes.sum() < len(codes)


@pytest.mark.long
def test_a_chat_model_and_the_same_without_its_template(smollm2, smollm2_folder, tmp_path):
    """Without a template the prompt ends with "Answer:"; without `likelier:` such a model is refused."""
    plain = tmp_path / "plain"
    shutil.copytree(smollm2_folder, plain)
    (plain / "chat_template.jinja").unlink()
    questions = throne.questions_of([QUESTION]).about(load(CLASSES))[0]
    for folder, end in ((smollm2_folder, "assistant\n"), (plain, "\nAnswer:")):
        judge = local_judge(f"likelier:{folder}", device="cpu")
        codes, margins = asked(judge, questions)
        prompt = judge.prompt(TEXTS[0], questions[0])
        assert prompt.endswith(end)
        words = [
            [
                judge._tokenizer.convert_tokens_to_ids(start + word)
                for start in ("", "Ġ")
                for word in spellings
            ]
            for spellings in (("yes", "Yes"), ("no", "No", "NO"))
        ]
        assert margins[0] == pytest.approx(margin(judge, prompt, words), abs=0.02)
        assert (codes == (margins > 0)).all()
    with pytest.raises(JudgeUnavailable, match=r"no chat template; .* name it 'likelier:MODEL'"):
        local_judge(str(plain), device="cpu").load()


def test_the_threshold_is_in_signature_and_cache_and_margins_are_kept(tiny_t5, tmp_path):
    store = tmp_path / "votes.sqlite"
    options = {"vocabulary": CLASSES, "questions": [QUESTION], "store": str(store), "progress": False}
    objects = [["dog"], [], ["cup"]]
    results = {}
    for name in ("likelier", "likelier=-50", "likelier=1e2"):
        results[name] = throne.compute(TEXTS, objects, judges=f"{name}:{tiny_t5}", **options)
    for name, said in (("likelier", 0), ("likelier=-50", -50), ("likelier=1e2", 100)):
        assert f":float32:likelier={said}|" in results[name]["signature"]
    assert results["likelier=-50"]["recall_all"] == 1 and results["likelier=1e2"]["recall_all"] == 0
    questions = throne.questions_of([QUESTION]).about(load(CLASSES))[0]
    cache = Cache(str(store), "read")
    codes, margins = cache.votes(local_judge(f"likelier:{tiny_t5}", "cpu").key, questions, TEXTS)
    assert (np.isnan(margins) == (codes < 0)).all()
    cache.close()


def test_a_judges_name_may_state_a_threshold(tiny_t5):
    assert local_name("org/model").threshold is None
    assert local_name("likelier:org/model").threshold == 0
    assert local_name("likelier=-0.5:C:/model").model == "C:/model"
    assert local_name("likelier=-0:m/m").threshold == 0 and local_name("likely/model").model == "likely/model"
    for word in ("", "x", "nan", "inf"):
        with pytest.raises(JudgeUnavailable, match="expected a number of nats"):
            throne.compute(["A dog."], [["dog"]], judges=f"likelier={word}:org/model")
    with pytest.raises(JudgeUnavailable, match="votes yes or no; expected a judge of free text"):
        resolve_chat(f"likelier:{tiny_t5}")
