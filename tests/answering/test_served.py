"""`halluscope answer` through a server on loopback: the same as in process, under faults, and after kills."""

import base64
import json
import random
from io import BytesIO
from pathlib import Path

import pytest
import ray
from datasets import Dataset
from PIL import Image

from halluscope.answering import sources
from halluscope.answering.answer import answer, plan
from halluscope.answering.models import ServedVlm, Workers
from halluscope.reading.datasets import read_rows
from tests.answering.test_answering import command, lines, opened
from tests.scripted_server import Said, refuse, reply

pytestmark = pytest.mark.usefixtures("access_key")
USAGE = {"prompt_tokens": 640, "completion_tokens": 2, "total_tokens": 642}


def parts(body) -> tuple[str, list[str]]:
    """Return a request's last question, and its images as data URLs."""
    first = body["messages"][0]["content"]
    if isinstance(first, str):
        return first, []
    images = [part["image_url"]["url"] for part in first if part["type"] == "image_url"]
    last = body["messages"][-1]["content"]
    return (last if isinstance(last, str) else last[-1]["text"]), images


def pixels(url: str) -> Image.Image:
    kind, _, data = url.partition(";base64,")
    assert kind in ("data:image/jpeg", "data:image/png")
    return Image.open(BytesIO(base64.b64decode(data)))


def script_of(say):
    """A server's script: it is ready, and says what `say` does of a question and its images."""
    return lambda prompt, count, body: reply("ready") if isinstance(prompt, str) else say(*parts(body))


def model_of(server, **options) -> ServedVlm:
    return ServedVlm(f"openai:tiny@{server.url}", **options).probe(draws=False)


@pytest.mark.parametrize("name", ["pope", "throne_coco", "hallusionbench"])
def test_it_equals_the_same_model_in_process(name, data, vlm, serve, tmp_path):
    def say(question, images):
        shown = [pixels(url) for url in images] or None
        (said,) = vlm.reply([[question]], shown, 8)
        return reply(said)

    source, here, there = opened(data, name), tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    count = answer(vlm, source, here, max_new_tokens=8, progress=False)
    server = serve(script_of(say))
    assert answer(model_of(server), source, there, max_new_tokens=8, progress=False) == count
    assert {body["max_tokens"] for body in server.bodies if parts(body)[1]} == {8}
    ours, theirs = (
        sorted(json.dumps(line | {"run": None}) for line in lines(file)) for file in (here, there)
    )
    assert ours == theirs


def many(data: Path, tmp_path: Path, count: int) -> sources.Source:
    """Write a dataset of `count` questions, and open it."""
    rows = read_rows(str(data / "pope"))
    made = [dict(rows[place % len(rows)]) | {"question_id": place} for place in range(count)]
    folder = tmp_path / "pope"
    (folder / "data").mkdir(parents=True)
    Dataset.from_list(made, features=rows.features).to_parquet(folder / "data" / "coco-test.parquet")
    return sources.open_source(str(folder), str(data / "pictures"), keep=8)


def test_no_row_is_lost_and_none_asked_twice_under_faults(data, serve, tmp_path):
    """A tenth of first attempts fail; a thought, a refusal and a cut response are kept for what they are."""
    chance = random.Random(3)
    broken = [refuse(429, "slow down", headers={"Retry-After": "0.01"}), Said(b"", drop=True)]
    broken += [reply("no", drips=2), refuse(503, "busy")]

    def script(prompt, count, body):
        if isinstance(prompt, str):
            return reply("ready")
        fault = chance.randrange(40) if count % 100 < 60 else 9
        if fault < 4:
            return broken[fault]
        said = reply("no").body | {"usage": USAGE}
        (choice,) = said["choices"]
        if fault == 4:
            choice["message"]["reasoning_content"] = "Let me see."
        if fault == 5:
            choice["message"] |= {"content": None, "refusal": "I cannot look."}
        if fault == 6:
            choice["finish_reason"] = "length"
        return Said(said)

    source, out = many(data, tmp_path, 500), tmp_path / "out.jsonl"
    server = serve(script)
    model = model_of(server, timeout=5.0)
    assert answer(model, source, out, progress=False) + model.failures.total() == 500
    answer(model, source, out, progress=False)
    found = lines(out)
    assert sorted(line["question_id"] for line in found) == list(range(500))
    assert {line["response"] for line in found} == {"no", "I cannot look."}
    assert any(line.get("reasoning") == "Let me see." for line in found)
    assert any(line.get("finish_reason") == "length" for line in found)
    assert found[0]["usage"] == {"prompt_tokens": 640, "completion_tokens": 2}
    before = len(server.bodies)
    assert answer(model, source, out, progress=False) == 0
    assert len(server.bodies) == before
    outlook = plan(source, tmp_path / "new.jsonl", limit=10)
    assert (outlook.requests, outlook.done, outlook.is_measured) == (10, 0, False)


def test_by_the_command_line(data, serve, tmp_path, ran, refused):
    server = serve(lambda prompt, count, body: Said(reply("no").body | {"usage": USAGE}))
    out = tmp_path / "answers.jsonl"
    words = command(f"openai:tiny@{server.url}", data / "pope", out, "--images", data / "pictures")
    ran(*words, "--quiet", "--limit", 4, "--at-once", 2)
    said = ran(*words, "--plan").err
    assert "14 requests to send, 4 responses there" in said and "8,960 tokens read" in said
    ran(*words, "--quiet", "--samples", 2, "--seed", 7)
    assert len(lines(tmp_path / "answers-seed7.jsonl")) == len(lines(tmp_path / "answers-seed8.jsonl")) == 18
    assert "--device is for models on this machine" in refused(*words, "--device", "cpu")
    assert "--samples is -1; expected how many responses" in refused(*words, "--samples", -1)
    assert "at_once is 0; expected a number of requests from 1" in refused(*words, "--at-once", 0)
    fresh = command(
        f"openai:tiny@{server.url}", data / "pope", tmp_path / "b.jsonl", "--images", data / "pictures"
    )
    assert "18 requests to send" in ran(*fresh, "--plan").err
    assert "36 requests to send" in ran(*fresh, "--plan", "--first", "Look.").err
    ran(*fresh, "--quiet", "--prompt", "short")
    assert {line["halluscope_prompt"] for line in lines(tmp_path / "b.jsonl")} == {"short"}


def test_questions_without_a_response_are_counted_and_asked_again(data, serve, tmp_path, ran):
    refuses = [True]

    def say(question, images):
        return refuse(400, "bad image") if refuses[0] and "cat" in question else reply("no")

    server, out = serve(script_of(say)), tmp_path / "answers.jsonl"
    words = command(f"openai:tiny@{server.url}", data / "pope", out, "--images", data / "pictures", "--quiet")
    assert "3 questions got no response (3 x " in ran(*words, status=2).err
    refuses.clear()
    refuses.append(False)
    ran(*words)
    assert len(lines(out)) == 18


@pytest.mark.long
def test_workers_answer_as_one_process_does(source, model, vlm, tmp_path):
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    options = {"max_new_tokens": 4, "batch_size": 2, "progress": False}
    answer(vlm, source, here, **options)
    try:
        assert answer(Workers(str(model), "cpu", 2), source, there, **options) == 18
        with pytest.raises(ValueError, match="There is no model './nowhere'"):
            answer(Workers("./nowhere", "cpu", 1), source, tmp_path / "no.jsonl", **options)
    finally:
        ray.shutdown()
    assert sorted(here.read_text().splitlines()) == sorted(there.read_text().splitlines())
