"""`halluscope answer`: a tiny vision-language model answers every benchmark, and every score command reads it."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from PIL import Image

from halluscope import cli, registry
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


ROWS = {"throne_coco": 3, "pope": 18, "pope_c": 9}


def asked(data: Path, name: str) -> int:
    """Count the questions of a dataset."""
    count = len(read_rows(f"{data / name}:{registry.dataset(name).config}"))
    assert count == ROWS.get(name, count)
    return count


def test_a_prompt_with_a_name(data: Path, vlm: Vlm, tmp_path: Path) -> None:
    """Each line names the prompt, and its `run` holds the prompt's text."""
    out, source = tmp_path / "answers.jsonl", opened(data, "pope")
    answer(vlm, source, out, prompt="short", limit=2, max_new_tokens=2, progress=False)
    answer(vlm, source, out, prompt="short", limit=3, max_new_tokens=2, progress=False)  # and goes on
    written = lines(out)
    assert [line["halluscope_prompt"] for line in written] == ["short"] * 3
    asked = "{question}\nAnswer the question using a single word or phrase."
    assert written[0]["run"]["prompt"] == asked == source.benchmark.prompts["short"]


@pytest.mark.filterwarnings("ignore:.* questions are scored")
@pytest.mark.parametrize("name", harness_data.TASKS)
def test_round_trip(
    name: str, data: Path, vlm: Vlm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answers.jsonl"
    source = opened(data, name)
    assert answer(vlm, source, out, max_new_tokens=TOKENS, batch_size=4, progress=False) == asked(data, name)
    for row, written in zip(source.rows, lines(out), strict=True):
        image = source.image(row)
        (alone,) = vlm.reply([[source.benchmark.asked(row)]], None if image is None else [image], TOKENS)
        assert written["response"] == alone and written["run"]["model"] == vlm.key
        assert written["run"]["chat"] == vlm.chat
    assert cli.main([*harness_data.score_command(data, name, "--responses", str(out)), "--json"]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)) == 1
    assert "matched by" not in captured.err, "rows are found by their ids"


def test_the_image_matters_and_may_be_grey(vlm: Vlm, data: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    images = [Image.fromarray(noise), Image.new("RGB", (40, 30), (250, 9, 9))]
    assert len(set(vlm.reply([["What is it?"]] * 2, images, 8))) == 2
    assert vlm.reply([["What is it?"]], None, 8) != vlm.reply([["What is it?"]], images[:1], 8)
    Image.linear_gradient("L").save(tmp_path / "COCO_val2014_000000000010.jpg")
    source = sources.open_source(str(data / "pope"), str(tmp_path))
    image = source.image(source.rows[0])
    assert image is not None and image.mode == "RGB"


def test_a_model_without_a_chat_template(tmp_path: Path) -> None:
    plain = Vlm(str(tiny_vlm.make(tmp_path / "plain", chat_template=None)), "cpu")
    assert plain._rendered(["Is it?"], with_image=True) == "<image>\nIs it?"
    assert plain._rendered(["Is it?"], with_image=False) == "Is it?"
    assert plain.chat == "no"
    assert plain.reply([["Is it?"]], [Image.new("RGB", (9, 9))], 4)


def test_a_template_that_only_the_tokenizer_has(model: Path, vlm: Vlm, tmp_path: Path) -> None:
    def made(template: str) -> Vlm:
        folder = shutil.copytree(model, tmp_path / "model", dirs_exist_ok=True)
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"chat_template": template}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        return Vlm(str(folder), "cpu")

    moved = made(tiny_vlm.CHAT)
    assert moved._rendered(["Is it?"], with_image=True) == vlm._rendered(["Is it?"], with_image=True)
    assert moved.chat == vlm.chat and len(vlm.chat) == 8
    of_text = "{% for one in messages %}[{{ one['role'] }}] {{ one['content'] }}{% endfor %}"
    knows_text = made(of_text)
    assert knows_text._rendered(["Is it?"], with_image=True) == "[user] <image>\nIs it?"
    assert knows_text._rendered(["Is it?"], with_image=False) == "[user] Is it?"
    assert knows_text.reply([["Is it?"]], [Image.new("RGB", (9, 9))], 4)
    assert len({vlm.chat, knows_text.chat}) == 2


def test_the_code_of_a_model_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = tmp_path / "ran"
    folder = tmp_path / "model"
    folder.mkdir()
    of = {"AutoConfig": "conf.C", "AutoModelForImageTextToText": "conf.M", "AutoProcessor": "conf.P"}
    (folder / "config.json").write_text(json.dumps({"model_type": "theirs", "auto_map": of}))
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "P", "auto_map": of}))
    (folder / "conf.py").write_text(f"open({str(ran)!r}, 'w')\nclass C: pass\nM = P = C\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ValueError, match="cannot be loaded"):
        Vlm(str(folder), "cpu")
    assert not ran.exists()


def test_a_model_on_all_devices(model: Path, vlm: Vlm) -> None:
    pytest.importorskip("accelerate")
    spread = Vlm(str(model), "auto")
    images = [Image.new("RGB", (9, 9), (200, 0, 0))]
    assert torch.cuda.is_available() or spread.reply([["Is it?"]], images, 4) == vlm.reply(
        [["Is it?"]], images, 4
    )


def test_more_than_fits_into_memory(vlm: Vlm, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(vlm._model, "generate", full)
    with pytest.raises(ValueError, match="2 prompts at a time do not fit into memory: CUDA out of memory"):
        vlm.reply([["Is it?"]] * 2, None, 4)


def test_an_image_that_the_processor_does_not_take(vlm: Vlm, monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(**_: Any) -> None:
        raise ValueError("absolute aspect ratio must be smaller than 200")

    monkeypatch.setattr(vlm, "_processor", narrow)
    with pytest.raises(
        ValueError, match=r"images of 900 x 2, 5 x 4 pixels \(ValueError: absolute aspect ratio"
    ):
        vlm.reply([["Is it?"]] * 2, [Image.new("RGB", (900, 2)), Image.new("RGB", (5, 4))], 4)


def test_precision_and_name_are_in_the_key(vlm: Vlm, model: Path, tmp_path: Path) -> None:
    name, digest, precision = vlm.key.replace("@", ":").split(":")
    assert (name, len(digest), precision) == ("tiny", 12, "float32")
    moved = shutil.copytree(model, tmp_path / "tiny")
    assert Vlm(str(moved), "cpu").key == vlm.key
    other = Vlm(str(tiny_vlm.make(tmp_path / "other" / "tiny", seed=1)), "cpu")
    assert other.key.startswith("tiny@") and other.key != vlm.key


# The file


def test_it_goes_on_where_it_stopped(data: Path, vlm: Vlm, tmp_path: Path) -> None:
    source, whole, out = opened(data, "pope"), tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    options: dict[str, Any] = {"max_new_tokens": TOKENS, "batch_size": 4, "progress": False}
    answer(vlm, source, whole, **options)
    complete = whole.read_bytes()
    assert answer(vlm, source, out, limit=6, **options) == 6
    assert out.read_bytes() == b"".join(complete.splitlines(keepends=True)[:6])
    for cut in (0, 1, len(complete) // 2, len(complete) - 1):
        out.write_bytes(complete[:cut])
        left = 18 - complete[:cut].count(b"\n")
        assert answer(vlm, source, out, **options) == left
        assert out.read_bytes() == complete
    assert answer(vlm, source, out, **options) == 0


def test_a_file_of_another_run_is_refused(data: Path, vlm: Vlm, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    source = opened(data, "pope_c")
    options: dict[str, Any] = {"max_new_tokens": 4, "progress": False}
    answer(vlm, source, out, **options)
    before = out.read_bytes()
    other = Vlm(str(tiny_vlm.make(tmp_path / "tiny", seed=1)), "cpu")
    with pytest.raises(ValueError, match=r"line 1 was made with model 'tiny@.*, not 'tiny@.*Name a new file"):
        answer(other, source, out, **options)
    with pytest.raises(
        ValueError, match=r"made with questions .*, prompt '\{question\}', not 'Short: \{question\}'"
    ):
        answer(vlm, source, out, prompt="Short: {question}", **options)
    with pytest.raises(ValueError, match=r"made with dataset 'pope_c:questions', not 'pope:coco'"):
        answer(vlm, opened(data, "pope"), out, **options)
    longest = source.benchmark.max_new_tokens
    with pytest.raises(ValueError, match=rf"made with max_new_tokens 4, not {longest}\."):
        answer(vlm, source, out, progress=False)
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"image_id": 10, "caption": "A dog."}\n', "line 1 was not written by `halluscope answer`"),
        ("[1]\n", "line 1 was not written by"),
        ("A dog.\n", "line 1 is not JSON"),
        ('[{"image_id": 10, "caption": "A dog."}]', "line 1 was not written by"),  # what json.dump writes
        ('{"image_id": 10, "response": "A dog."}', "line 1 was not written by"),
        ('{"image_id": 999, "respo', "line 1 is not JSON, or is cut off"),
        ("A dog.", "line 1 is not JSON"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    content: str, message: str, data: Path, vlm: Vlm, tmp_path: Path
) -> None:
    out = tmp_path / "answers.jsonl"
    out.write_text(content)
    with pytest.raises(ValueError, match=message):
        answer(vlm, opened(data, "throne_coco"), out, progress=False)
    assert out.read_text() == content
    with pytest.raises(ValueError, match="is a folder"):
        answer(vlm, opened(data, "throne_coco"), tmp_path, progress=False)


@pytest.mark.parametrize(
    "cut_off",
    [
        b"a note",
        b'{"a": ',
        b"[",
        b"\x00\x00",
        b'{"image_id": 10, "respo' * 2,
        b'{"question_id": 999999, "',
        b'"',
    ],
)
def test_what_somebody_added_is_not_cut_off(cut_off: bytes, data: Path, vlm: Vlm, tmp_path: Path) -> None:
    out, source = tmp_path / "answers.jsonl", opened(data, "pope")
    answer(vlm, source, out, limit=2, max_new_tokens=4, progress=False)
    out.write_bytes(out.read_bytes() + cut_off)
    before = content(tmp_path)
    with pytest.raises(
        ValueError, match="line 3 is not JSON.* `halluscope answer` did not write this file; name a new"
    ):
        answer(vlm, source, out, max_new_tokens=4, progress=False)
    assert content(tmp_path) == before


def test_inputs_and_what_is_no_file_are_not_written_to(data: Path, vlm: Vlm, tmp_path: Path) -> None:
    copy = shutil.copytree(data / "throne_coco", tmp_path / "throne_coco")
    source = sources.open_source(str(copy))
    (tmp_path / "link").symlink_to(next((copy / "data").iterdir()))
    (tmp_path / "hard").hardlink_to(copy / "stats.json")
    os.mkfifo(tmp_path / "pipe")
    before = content(tmp_path)
    for out in (
        *copy.iterdir(),
        *(copy / "data").iterdir(),
        *(tmp_path / name for name in ("link", "hard", "pipe")),
    ):
        with pytest.raises(
            ValueError, match="did not write this file|was not written by|is a folder or not a regular file"
        ):
            answer(vlm, source, out, progress=False)
    assert content(tmp_path) == before


def test_a_second_process_is_told(
    data: Path,
    model: Path,
    vlm: Vlm,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second process is refused before it loads a model; the first goes on."""
    out, source = tmp_path / "answers.jsonl", opened(data, "pope")
    words = command(model, data / "pope", tmp_path / "link", "--images", data / "pictures")
    (tmp_path / "link").symlink_to(out)
    reply, told, came = Vlm.reply, [], []

    def meanwhile(self: Vlm, *arguments: Any) -> list[str]:
        before = content(tmp_path)
        with monkeypatch.context() as other:
            other.setattr(Vlm, "__init__", lambda *_: pytest.fail("a model was loaded"))
            assert cli.main(words) == 2
        assert content(tmp_path) == before
        told.append(capsys.readouterr().err)
        assert len(lines(out)) == len(came), "each is in the file before more is asked"
        came.extend(reply(self, *arguments))
        return came[-len(arguments[0]) :]

    monkeypatch.setattr(Vlm, "reply", meanwhile)
    assert answer(vlm, source, out, max_new_tokens=4, progress=False) == 18
    assert len(told) == 3 and all("Another process is writing to" in said for said in told)
    assert len(lines(out)) == len({(row["sampling"], row["question_id"]) for row in lines(out)}) == 18


# Bad input


def test_bad_models_and_datasets(
    data: Path, tmp_path: Path, tiny_t5: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(model: str, dataset: Path) -> str:
        assert cli.main(command(model, dataset, tmp_path / "a.jsonl")) == 2
        return capsys.readouterr().err

    throne = data / "throne_coco"
    assert "There is no model './nowhere'; expected a folder, or a Hub id" in fails("./nowhere", throne)
    assert "The model 'nobody/nothing' cannot be loaded" in fails("nobody/nothing", throne)
    assert "cannot be loaded" in fails(str(tiny_t5), throne)
    assert "was built without images" in fails("./nowhere", data / "pope")
    assert "cannot be loaded as a dataset" in fails("./nowhere", tmp_path / "nothing")
    assert not (tmp_path / "a.jsonl").exists()


def test_what_is_wrong_is_said_before_a_model_is_loaded(
    data: Path,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "transformers.AutoProcessor.from_pretrained", lambda *_, **__: pytest.fail("a model was loaded")
    )
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"image_id": 10}\n')
    out, drawn = tmp_path / "a.jsonl", "is for drawn responses only; expected --sample with it"
    for file, more, message in (
        (out, "--limit 0", "limit is 0"),
        (out, "--batch-size 0", "batch_size is 0; expected at least 1"),
        (out, "--max-new-tokens 0", "max_new_tokens is 0"),
        (out, "--prompt {question}", "expected one without {question}"),
        (foreign, "", "was not written by `halluscope answer`"),
        (foreign / "a.jsonl", "", "foreign.jsonl"),
        (out, "--device nonsense", "device is 'nonsense'; expected"),
        (out, "--device cuda:99", "device is 'cuda:99'; torch finds"),
        (out, "--seed 1", f"--seed {drawn}"),
        (out, "--temperature 1", f"--temperature {drawn}"),
        (out, "--sample --temperature 0", "temperature is 0.0; expected a number from 0.01 to 10"),
        (out, "--sample --seed -1", "seed is -1; expected a whole number from 0"),
        (out, "--first=", "The first turn is empty"),
    ):
        assert cli.main(command(model, data / "throne_coco", file, *more.split())) == 2, more
        assert message in capsys.readouterr().err
        assert not out.exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_computes_in_bfloat16(model: Path) -> None:
    vlm = Vlm(str(model))
    assert vlm.key.endswith(":bfloat16")
    assert vlm.reply([["What is it?"]] * 2, [Image.new("RGB", (9, 9))] * 2, 8)


# Images that cannot be opened


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    """Make a dataset of three questions about three images, with the images next to it."""
    return small_datasets.build("throne_coco", tmp_path, with_images=False)


def changed(dataset: Path, rows: list[dict[str, Any]]) -> None:
    """Write a dataset's rows again, without the card, because with a card `datasets` would use its cache."""
    (dataset / "README.md").unlink(missing_ok=True)
    features = read_rows(str(dataset)).features
    Dataset.from_list(rows, features=features).to_parquet(next((dataset / "data").iterdir()))


def test_a_broken_image_is_named_and_the_run_goes_on_when_it_is_mended(
    coco: Path, model: Path, vlm: Vlm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, out, whole = tmp_path / "throne_coco-inputs/val2017", tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    answer(vlm, sources.open_source(str(coco), str(images)), whole, max_new_tokens=TOKENS, batch_size=1)
    broken = images / "000000000020.jpg"
    good = broken.read_bytes()
    words = command(model, coco, out, "--images", images, "--max-new-tokens", TOKENS, "--batch-size", 1)
    for bad, why in (
        (good[:-5], "image file is truncated"),
        (image_files.eps(), "it is EPS"),
        (image_files.png(60_000, 60_000), "is larger than the limit 'pixels' of 100,000,000"),
    ):
        broken.write_bytes(bad)
        assert cli.main([*words, "--device", "cpu", "--quiet"]) == 2
        said = capsys.readouterr().err
        assert f"image_id 20, which row 1 of throne_coco asks about: {broken}" in said and why in said
        assert out.read_bytes() == whole.read_bytes().splitlines(keepends=True)[0]
    broken.write_bytes(good)
    assert cli.main([*words, "--device", "cpu", "--quiet"]) == 0
    assert out.read_bytes() == whole.read_bytes()


def test_a_broken_image_in_a_dataset_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small_datasets.build("throne_coco", tmp_path, with_images=True)
    (folder / "README.md").unlink()
    rows = read_rows(str(folder)).to_list()
    rows[2]["image"]["bytes"] = rows[2]["image"]["bytes"][:-5]
    rows[1]["image"] = {"bytes": None, "path": str(tmp_path / "throne_coco-inputs/val2017/000000000020.jpg")}
    changed(folder, rows)
    source = sources.open_source(str(folder))
    assert source.image(source.rows[0]) is not None
    with pytest.raises(
        ValueError, match=r"image_id 20, .*: The image in row 1 of throne_coco cannot be opened: .*leads"
    ):
        source.image(source.rows[1])
    with pytest.raises(
        ValueError,
        match=r"image_id 30, which row 2 of throne_coco asks about: The image in row 2 of throne_coco, "
        r"'0+30.jpg', is not a readable image: image file is truncated",
    ):
        source.image(source.rows[2])


@small_datasets.needs("hqh")
def test_two_files_of_one_number(data: Path, tmp_path: Path) -> None:
    for name in ("10.jpg", "10.png", "11.jpg", "011.png"):
        Image.new("RGB", (5, 4)).save(tmp_path / name)
    (tmp_path / "10.txt").write_text("What it shows.")
    with pytest.raises(
        ValueError, match=r"holds 10\.jpg and 10\.png; keep only the one that is the image 10"
    ):
        sources.open_source(str(data / "hqh"), str(tmp_path))
    (tmp_path / "10.png").unlink()
    source = sources.open_source(str(data / "hqh"), str(tmp_path))
    assert source.image(source.rows[0]) is not None


def test_file_names_that_are_none(coco: Path, tmp_path: Path) -> None:
    images = str(tmp_path / "throne_coco-inputs/val2017")
    rows = read_rows(str(coco)).to_list()
    for name, message in (
        (None, "The image 20 of throne_coco has no file name, but None"),
        ("../000000000020.jpg", "leads out of"),
        ("a\0.jpg", "cannot be a file's name"),
        ("x" * 5000, "1 of the 3 images are not in"),
        ("http://127.0.0.1/a.jpg", "1 of the 3 images are not in"),
    ):
        rows[1]["file_name"] = name
        changed(coco, rows)
        with pytest.raises(ValueError, match=message):
            sources.open_source(str(coco), images)
