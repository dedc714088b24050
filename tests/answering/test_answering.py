"""`halluscope answer`: a tiny vision-language model answers every benchmark, and every score command reads it."""

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from halluscope import registry
from halluscope.answering import sources
from halluscope.answering.answer import answer
from halluscope.answering.models import Vlm
from halluscope.reading.datasets import read_rows
from tests import images as image_files
from tests import small_datasets, tiny_vlm
from tests.files.disk import content
from tests.harness import data as harness_data

TOKENS = 12


def opened(data: Path, name: str) -> sources.Source:
    return sources.open_source(str(data / name), harness_data.pictures(data, name))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.open()]


def command(model: object, dataset: Path, out: Path, *more: object) -> list[str]:
    """The words of `halluscope answer`."""
    return ["answer", "--model", str(model), "--dataset", str(dataset), "--out", str(out), *map(str, more)]


def answered(vlm: Vlm, source: sources.Source, out: Path, **options: Any) -> bytes:
    """Answer, and return the file's content."""
    answer(vlm, source, out, **{"max_new_tokens": TOKENS, "progress": False} | options)
    return out.read_bytes()


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("name", harness_data.TASKS)
def test_answers_of_each_task_are_written_and_scored(name, data, vlm, tmp_path, ran):
    out, source, dataset = tmp_path / "answers.jsonl", opened(data, name), registry.dataset(name)
    count = len(read_rows(f"{data / name}:{dataset.config}"))
    assert count == {"throne_coco": 3, "pope": 18, "pope_c": 9}.get(name, count)
    assert answer(vlm, source, out, max_new_tokens=TOKENS, batch_size=4, progress=False) == count
    for row, written in zip(source.rows, lines(out), strict=True):
        image = source.image(row)
        (alone,) = vlm.reply([[source.benchmark.asked(row)]], None if image is None else [image], TOKENS)
        assert written["response"] == alone and written["run"]["model"] == vlm.key
        assert written["run"]["chat"] == vlm.chat
    printed = ran(*harness_data.score_command(data, name, "--responses", str(out)), "--json")
    assert len(json.loads(printed.out)) == 1
    assert "matched by" not in printed.err, "rows are found by their ids"


def test_the_code_of_a_model_is_not_run(tmp_path, monkeypatch):
    ran, folder = tmp_path / "ran", tmp_path / "model"
    folder.mkdir()
    of = {"AutoConfig": "conf.C", "AutoModelForImageTextToText": "conf.M", "AutoProcessor": "conf.P"}
    (folder / "config.json").write_text(json.dumps({"model_type": "theirs", "auto_map": of}))
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "P", "auto_map": of}))
    (folder / "conf.py").write_text(f"open({str(ran)!r}, 'w')\nclass C: pass\nM = P = C\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ValueError, match="cannot be loaded"):
        Vlm(str(folder), "cpu")
    assert not ran.exists()


def test_it_goes_on_where_it_stopped(source, vlm, tmp_path):
    out, options = tmp_path / "part.jsonl", {"max_new_tokens": TOKENS, "batch_size": 4, "progress": False}
    complete = answered(vlm, source, tmp_path / "whole.jsonl", batch_size=4)
    assert answer(vlm, source, out, limit=6, **options) == 6
    assert out.read_bytes() == b"".join(complete.splitlines(keepends=True)[:6])
    for cut in (0, 1, len(complete) // 2, len(complete) - 1, len(complete)):
        out.write_bytes(complete[:cut])
        assert answer(vlm, source, out, **options) == 18 - complete[:cut].count(b"\n")
        assert out.read_bytes() == complete


def test_a_file_of_another_run_is_refused(data, source, vlm, tmp_path):
    out, pope_c = tmp_path / "answers.jsonl", opened(data, "pope_c")
    before = answered(vlm, pope_c, out, max_new_tokens=4)
    other = Vlm(str(tiny_vlm.make(tmp_path / "tiny", seed=1)), "cpu")
    short, length = {"prompt": "Short: {question}"}, {"max_new_tokens": pope_c.benchmark.max_new_tokens}
    for model, rows, options, said in (
        (other, pope_c, {}, r"line 1 was made with model 'tiny@.*, not 'tiny@.*Name a new file"),
        (vlm, pope_c, short, r"made with questions .*, prompt '\{question\}', not 'Short: \{question\}'"),
        (vlm, source, {}, r"made with dataset 'pope_c:questions', not 'pope:coco'"),
        (vlm, pope_c, length, rf"made with max_new_tokens 4, not {length['max_new_tokens']}\."),
    ):
        with pytest.raises(ValueError, match=said):
            answered(model, rows, out, **{"max_new_tokens": 4} | options)
    assert out.read_bytes() == before


def test_what_somebody_added_is_not_cut_off(source, vlm, tmp_path):
    out = tmp_path / "answers.jsonl"
    written = answered(vlm, source, out, limit=2)
    said = "line 3 is not JSON.* `halluscope answer` did not write this file; name a new"
    half, other = b'{"image_id": 10, "respo' * 2, b'{"question_id": 999999, "'
    for added in (b"a note", b'{"a": ', b"[", b"\x00\x00", half, other, b'"'):
        out.write_bytes(written + added)
        before = content(tmp_path)
        with pytest.raises(ValueError, match=said):
            answered(vlm, source, out)
        assert content(tmp_path) == before


def test_a_second_process_is_told(data, source, model, vlm, tmp_path, refused, monkeypatch):
    """The second process is refused before it loads a model; the first goes on."""
    out = tmp_path / "answers.jsonl"
    words = command(model, data / "pope", tmp_path / "link", "--images", data / "pictures")
    (tmp_path / "link").symlink_to(out)
    reply, told, came = Vlm.reply, [], []

    def meanwhile(self, *arguments):
        before = content(tmp_path)
        with monkeypatch.context() as other:
            other.setattr(Vlm, "__init__", lambda *_: pytest.fail("a model was loaded"))
            told.append(refused(*words))
        assert content(tmp_path) == before
        assert len(lines(out)) == len(came), "each is in the file before more is asked"
        came.extend(reply(self, *arguments))
        return came[-len(arguments[0]) :]

    monkeypatch.setattr(Vlm, "reply", meanwhile)
    assert answer(vlm, source, out, max_new_tokens=4, progress=False) == 18
    assert len(told) == 3 and all("Another process is writing to" in said for said in told)
    assert len(lines(out)) == len({(row["sampling"], row["question_id"]) for row in lines(out)}) == 18


def test_what_is_wrong_is_said_before_a_model_is_loaded(data, model, tmp_path, refused, monkeypatch):
    processor = "transformers.AutoProcessor.from_pretrained"
    monkeypatch.setattr(processor, lambda *_, **__: pytest.fail("a model was loaded"))
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"image_id": 10}\n')
    out, drawn = tmp_path / "a.jsonl", "is for drawn responses only; expected --sample with it"
    for file, more, message in (
        (out, "--limit 0", "limit is 0"),
        (out, "--prompt {question}", "expected one without {question}"),
        (foreign, "", "was not written by `halluscope answer`"),
        (out, "--device nonsense", "device is 'nonsense'; expected"),
        (out, "--device cuda:99", "device is 'cuda:99'; torch finds"),
        (out, "--workers 2 --device cuda:1", "each worker takes a GPU of its own. Leave device out"),
        (out, "--workers -1", "workers is -1; expected a number of processes from 1"),
        (out, "--seed 1", f"--seed {drawn}"),
        (out, "--sample --temperature 0", "temperature is 0.0; expected a number from 0.01 to 10"),
        (out, "--sample --seed -1", "seed is -1; expected a whole number from 0"),
        (out, "--first=", "The first turn is empty"),
    ):
        assert message in refused(*command(model, data / "throne_coco", file, *more.split())), more
        assert not out.exists()
    assert "There is no model 'nonsense'; expected a folder" in refused(
        *command("nonsense", data / "throne_coco", out)
    )
    said = refused(*command(model, data / "pope", out, "--prompt", "Is it?", "--images", data / "pictures"))
    assert "expected one with {question} in the place of each row's question" in said
    (tmp_path / "other" / "data").mkdir(parents=True)
    Dataset.from_dict({"nr": [1]}).to_parquet(tmp_path / "other" / "data" / "test.parquet")
    assert "No known dataset has the columns nr" in refused(*command(model, tmp_path / "other", out))
    (tmp_path / "rows.json").write_text('[{"question_id": 1}]')
    assert "is a JSON file; expected a dataset" in refused(*command(model, tmp_path / "rows.json", out))


# Images that cannot be opened


@pytest.fixture
def coco(tmp_path):
    """Make a dataset of three questions about three images, with the images next to it."""
    return small_datasets.build("throne_coco", tmp_path, with_images=False)


def test_a_broken_image_is_named_and_the_run_goes_on_when_it_is_mended(
    coco, model, vlm, tmp_path, ran, refused
):
    images, out = tmp_path / "throne_coco-inputs/val2017", tmp_path / "a.jsonl"
    complete = answered(vlm, sources.open_source(str(coco), str(images)), tmp_path / "b.jsonl", batch_size=1)
    broken = images / "000000000020.jpg"
    good = broken.read_bytes()
    always = ["--images", images, "--max-new-tokens", TOKENS, "--batch-size", 1, "--device", "cpu", "--quiet"]
    words = command(model, coco, out, *always)
    for bad, why in (
        (good[:-5], "image file is truncated"),
        (image_files.png(60_000, 60_000), "is larger than the limit 'pixels' of 100,000,000"),
    ):
        broken.write_bytes(bad)
        said = refused(*words)
        assert f"image_id 20, which row 1 of throne_coco asks about: {broken}" in said and why in said
        assert out.read_bytes() == complete.splitlines(keepends=True)[0]
    broken.write_bytes(good)
    ran(*words)
    assert out.read_bytes() == complete
