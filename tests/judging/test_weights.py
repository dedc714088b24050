import json
import shutil
import sys

import pytest

from halluscope.errors import JudgeUnavailable, MissingExtra
from halluscope.judging import resolve
from halluscope.judging.models import weights
from halluscope.judging.options import VoteOptions
from halluscope.vocabularies import load


def find(judges):
    return resolve.resolve(resolve.named(judges), load("coco"), **VoteOptions().how)


def test_a_folder_is_known_by_its_content(tmp_path, tiny_t5):
    found = weights.find(str(tiny_t5))
    copy = tmp_path / "elsewhere" / "checkpoint"
    shutil.copytree(tiny_t5, copy)
    assert weights.find(str(copy)).key == found.key
    assert str(tiny_t5.parent) not in found.key
    config = copy / "config.json"
    config.write_text(config.read_text() + " ")
    assert weights.find(str(copy)).key != found.key


def test_a_folder_without_weights(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"is_encoder_decoder": True}))
    with pytest.raises(JudgeUnavailable, match="holds no weights: expected a file that ends in .safetensors"):
        find([str(tmp_path)])


def test_a_folder_without_a_readable_configuration(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(JudgeUnavailable, match="holds no config.json"):
        find([str(tmp_path)])
    for text in ("[" * 200_000, "[]", '{"is_encoder_decoder": true, "is_encoder_decoder": false}'):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(JudgeUnavailable, match="not a configuration in JSON"):
            find([str(tmp_path)])


@pytest.mark.parametrize("name", ["lexcal", "./nowhere", "a/b/c"])
def test_an_unknown_judge(name):
    with pytest.raises(JudgeUnavailable, match="There is no judge .*'lexical' needs no model"):
        find([name])


def test_weights_that_cannot_be_downloaded():
    """The Hub is out of reach in the tests, as it may be for a user."""
    with pytest.raises(JudgeUnavailable) as caught:
        find("flan-t5")
    message = str(caught.value)
    assert (
        "google/flan-t5-base" in message and "hf download google/flan-t5-base --revision 7bcac57" in message
    )
    assert "name it as the judge: ./flan-t5-base" in message
    assert "The judge 'lexical' needs no model" in message


def test_a_missing_extra(tiny_t5, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        MissingExtra, match=r"pip install 'halluscope\[judge\]'.*'lexical' needs neither"
    ) as missing:
        find([str(tiny_t5)])
    assert isinstance(missing.value, ImportError)


def test_code_that_comes_with_a_model_is_not_run(tiny_t5, tmp_path, monkeypatch):
    """transformers asks at the terminal unless told not to; a waiting "y" must not run anything."""
    import io

    from halluscope.judging.models.engine import Seq2SeqJudge

    folder = tmp_path / "evil"
    shutil.copytree(tiny_t5, folder)
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "evil.EvilConfig", "AutoModelForSeq2SeqLM": "evil.EvilModel"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "evil", "auto_map": own}))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass EvilConfig: pass\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\ny\n"))
    with pytest.raises(JudgeUnavailable):
        Seq2SeqJudge(weights.find(str(folder)), device="cpu").load()
    assert not (tmp_path / "ran").exists()
