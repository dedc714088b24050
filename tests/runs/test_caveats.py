"""Published scores stand apart from a user's, and only where both are about the same rows; a subset says that it is."""

import json
import re
from html import unescape

import pytest

import halluscope
from halluscope import registry
from halluscope.building import spec
from halluscope.reporting import published
from halluscope.reporting.formats import TABLE, written
from halluscope.runs.caveats import caveats
from halluscope.runs.folder import read
from halluscope.runs.results import beside
from tests import small_datasets
from tests.runs.made import made, write
from tests.small_datasets import needs

pytestmark = pytest.mark.filterwarnings("ignore")

WITH_PAPERS = [
    dataset.name
    for benchmark in registry.benchmarks()
    for dataset in benchmark.datasets
    if published.of(benchmark, dataset.options)
]


def result(name, rows, keys="", **also):
    return {"signature": f"{name}|data:{name}-{rows}-0a1b2c3d|{keys}version:1", **also}


@pytest.mark.parametrize("name", WITH_PAPERS)
def test_only_the_papers_number_of_rows_is_comparable(name):
    benchmark, options = registry.benchmark(name), registry.dataset(name).options
    size = next(iter(spec.load(name).expected.values()))
    assert caveats(benchmark, result(name, size), options) == []
    (short,) = caveats(benchmark, result(name, size - 1), options)
    assert f"{size - 1:,} " in short and f"{size:,}" in short


@needs("throne")
@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"part": [500, 5000]}, "Only 500 of 5,000 labelled images are scored."),
        ({"origin": "subset"}, "is a part, another version or a changed copy of the benchmark's"),
        ({"origin": "other file"}, "another content than the published one"),
        ({"keys": "form:parallel-1-0|"}, "parallel form"),
    ],
)
def test_what_makes_rows_other_rows(found, said):
    benchmark = registry.benchmark("throne")
    one = result("coco", 500 if "part" in found else 5000, **found)
    (line,) = caveats(benchmark, one, {})
    assert said in line
    notes = beside(benchmark, [("mine", result("coco", 5000)), ("part", one)], {})
    text = written(notes, TABLE)
    assert "not shown" in text and "LLaVA-Mistral" not in text


def test_llavas_version_of_pope_is_named_as_such(upstream, tmp_path, monkeypatch, ran):
    monkeypatch.chdir(tmp_path)
    halluscope.build("pope", upstream / "wild/questions/llava_pope_test.jsonl")
    (answers,) = (upstream / "wild/ShunqiM__PM").iterdir()
    said = ran("score pope --dataset pope_llava_pope_test --responses", answers).out
    assert "The questions are those of 2023-05, an older version of the benchmark's." in said
    assert "subset" not in said


@needs("throne")
def test_published_scores_have_a_table_of_their_own_in_the_papers_order():
    """Neither sorted nor bold, with who judged what."""
    keys = "judges:lexical-3-0a1b2c3d|questions:paper|prompts:other,5000|"
    table, *notes = beside(registry.benchmark("throne"), [("mine", result("coco", 5000, keys))], {})
    paper = published.load("throne_coco")
    assert [row[0] for row in table.rows] == [name for name, _ in paper.results] and not table.ranked
    assert table.header[0] == "published" and paper.source in table.of
    text = written([table, *notes], TABLE)
    assert "68.7" in text and re.search(r"\b514\b", text)  # Adapter-v2's F0.5 and length in Table 1
    assert "mine\n  here judged by lexical-3-0a1b2c3d, questions: paper, prompts: other,5000" in text


@needs("throne")
def test_the_page_and_the_text_say_that_a_build_is_a_subset(tmp_path, ran):
    folder = write(made(registry.benchmark("throne"), tmp_path), tmp_path / "run")
    ran("report", folder, "--out", tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text("utf-8"))
    lines = [{"image_id": row.image_id, "caption": "A dog."} for row in read(folder).ready.matched.rows]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["score throne --judges lexical --published --bootstrap 0 --responses", tmp_path / "mine.jsonl"]
    words += ["--dataset", tmp_path / "throne_coco"]
    as_text, as_json = ran(*words), ran(*words, "--json")
    for text in (page, as_text.out, as_json.err):
        assert "The dataset is a part, another version or a changed copy of the benchmark's." in text
        assert "3 images are scored; expected the benchmark's 5,000." in text and "LLaVA-Mistral" not in text
    assert json.loads(as_json.out)[0]["origin"] == "subset"


@needs("hqh")
def test_list_marks_a_subset(tmp_path, monkeypatch, ran):
    monkeypatch.chdir(tmp_path)
    small_datasets.build("hqh", tmp_path / "datasets")
    assert re.search(r"datasets/hqh \(not as published\)$", ran("list").out, re.M)
