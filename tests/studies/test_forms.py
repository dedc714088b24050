"""A parallel form asks its own questions, and every signature names it: in files, in Python, and in the harnesses."""

import json

import pytest

import halluscope
from halluscope import registry, scoring
from halluscope.answering import sources
from halluscope.answering.answer import answer
from halluscope.answering.models import Vlm
from halluscope.harness import functions
from halluscope.reading.datasets import read_rows
from halluscope.signature import keys_of
from halluscope.studies.parallel.form import form_name, parallel_form
from tests import tiny_vlm
from tests.harness import data as harness_data
from tests.studies.sheets import run

SEED = 3
DESCRIBE = "Describe this image in detail."

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* questions are scored", "ignore:.*was built from annotations"
)


@pytest.fixture(scope="module")
def parallel(data, tmp_path_factory):
    """The parallel form of throne_coco, as the command makes it."""
    out = tmp_path_factory.mktemp("parallel") / "throne_coco"
    run("study", "parallel", data / "throne_coco", "--out", out, "--seed", SEED)
    return out


def keys(name, rows):
    """The signature's keys of a score of rows."""
    benchmark = registry.benchmark(name)
    options = {**benchmark.options_of(name), **registry.dataset(name).harness}
    if benchmark.judges and benchmark.judges.kind == "votes":
        options["judges"] = "lexical"
    if benchmark.is_graded and benchmark.judges.rule is None:
        options["judge"] = "none"
    return keys_of(scoring.of_each(benchmark, rows, ["No."] * len(rows), options)[0]["signature"])


@pytest.mark.parametrize("name", harness_data.TASKS)
def test_every_signature_tells_the_form(data, name):
    found = read_rows(f"{data / name}:{registry.dataset(name).config}")
    columns = [column for column in found.column_names if column != "image"]
    rows = parallel_form([{column: row[column] for column in columns} for row in found], SEED).rows
    if not rows:
        pytest.skip("no row of it has a parallel form")
    original = [{column: value for column, value in row.items() if column != "form"} for row in rows]
    untold = keys(name, original)
    assert "form" not in untold and rows[0]["form"] == form_name(SEED)
    assert keys(name, rows) == {**untold, "form": form_name(SEED)}
    mixed = keys(name, [*original[:-1], rows[-1]])
    assert len(rows) < 2 or mixed["form"] == f"original,{form_name(SEED)}"


def test_a_row_is_asked_its_own_prompt(parallel, data, tmp_path, one_thread):
    source = sources.open_source(str(parallel), harness_data.pictures(data, "throne_coco"))
    (prompt,) = set(source.rows["prompt"])
    assert prompt != DESCRIBE and source.benchmark.asked(source.rows[0]) == prompt
    assert source.benchmark.asked(source.rows[0], "Say it.") == "Say it."
    vlm, out = Vlm(str(tiny_vlm.make(tmp_path / "tiny")), "cpu"), tmp_path / "answers.jsonl"
    answer(vlm, source, out, max_new_tokens=4, progress=False)
    for row, line in zip(source.rows, map(json.loads, out.open()), strict=True):
        (alone,) = vlm.reply([[prompt]], [source.image(row)], 4)
        assert (line["response"], line["prompt"], line["run"]["prompt"]) == (alone, prompt, prompt)
    result = halluscope.score("throne_coco", out, parallel, judges="lexical")
    assert "other_prompts" not in result and keys_of(result["signature"])["form"] == form_name(SEED)
    against_original = halluscope.score("throne_coco", out, data / "throne_coco", judges="lexical")
    assert against_original["other_prompts"] == len(source.rows)
    assert "form" not in keys_of(against_original["signature"])


def test_a_parallel_form_of_a_parallel_form_tells_both():
    rows = [{"question": "Is there a dog in the image?", "answer": "yes"}]
    once = parallel_form(rows, 1)
    assert parallel_form(once.rows, 2).rows[0]["form"] == f"{form_name(1)}-{form_name(2)}"
    assert parallel_form([rows[0] | {"form": "round"}], 1).rows[0]["form"] == form_name(1)


def test_the_harnesses_ask_the_rows_prompt(parallel, data, caplog):
    images = harness_data.pictures(data, "throne_coco")
    setting = {"dataset": str(parallel), "judges": "lexical"} | ({"images": images} if images else {})
    docs = functions.dataset("throne_coco", throne_coco=setting)["test"]
    assert {functions.prompt(doc) for doc in docs} == set(docs["prompt"]) != {DESCRIBE}
    assert functions.marked_prompt(docs[0]) == functions.IMAGE + docs[0]["prompt"]
    said = [functions.answers(doc, ["A dog."])["f0.5_cls"] for doc in docs]
    with caplog.at_level("INFO"):
        functions.score(said)
    (signature,) = (line for line in caplog.messages if "|form:" in line)
    assert keys_of(signature)["form"] == form_name(SEED)
