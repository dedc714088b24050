"""`halluscope report`: its headline, a page of several benchmarks, and the worst responses as text and CSV."""

import csv
import json
import re

import pytest

import halluscope
from halluscope import vocabularies
from halluscope.runs.folder import check
from halluscope.runs.page import shown
from tests.reporting.test_page import Elements
from tests.small_datasets import needs

pytestmark = pytest.mark.filterwarnings("ignore")
CLASSES = vocabularies.load("coco").classes


@pytest.fixture(scope="module")
def four_models(tmp_path_factory):
    """THRONE's runs of four models on 160 images with two objects each.

    One names both objects, or every 20th time one of them; one always names the first alone (precision 1, recall
    1/2); one names both and every other time a third (precision 4/5, recall 1), which gives the same F0.5; and one
    names a third.
    """
    folder = tmp_path_factory.mktemp("four")
    objects = {}
    said = {"good": {}, "careful": {}, "eager": {}, "poor": {}}
    for number in range(2 * len(CLASSES)):
        first, second, third = (CLASSES[place % len(CLASSES)] for place in range(number, number + 3))
        objects[number] = [first, second]
        said["good"][number] = f"A {first}." if number % 20 == 0 else f"A {first} and a {second}."
        said["careful"][number] = f"A {first}."
        said["eager"][number] = f"A {first} and a {second}"
        said["eager"][number] += f" and a {third}." if number // len(CLASSES) % 2 else "."
        said["poor"][number] = f"A {third}."
    (folder / "objects.json").write_text(json.dumps(objects))
    files = {}
    for name, texts in said.items():
        rows = [{"image_id": number, "response": text} for number, text in texts.items()]
        if name == "poor":
            rows = [row | {"prompt": "What is here?"} for row in rows]
        files[name] = folder / f"{name}.jsonl"
        files[name].write_text("\n".join(map(json.dumps, rows)))
    halluscope.score("throne", files, folder / "objects.json", judges="lexical", out=folder / "runs")
    return folder / "runs"


def header_of(page):
    """Return the texts of a page's headline, and of what follows it."""
    return re.findall(r'<p class="(?:verdict|lead)">(.*?)</p>', page.read_text("utf-8"))


def test_the_headline_of_several_models(four_models, tmp_path, ran):
    ran("report", four_models, "--out", tmp_path / "page.html")
    first, better, hidden, _ = header_of(tmp_path / "page.html")
    assert re.fullmatch(r"good has the best f0\.5_cls of 4 models: 9\d\.\d\.", first)
    assert better == "It is better than each other one beyond chance."
    assert hidden == (
        "f0.5_cls hides a difference: careful has a precision of 100.0 and a recall of 50.0, eager has a precision of "
        "80.0 and a recall of 100.0."
    )


def test_the_prompt_that_was_answered(four_models, tmp_path, ran):
    def asked(*names):
        page = tmp_path / f"{'-'.join(names)}.html"
        ran("report", *(four_models / name for name in names), "--out", page)
        return re.search(
            r'<p class="soft small">(.*?)</p>\s*<p class="asked">(.*?)</p>',
            page.read_text("utf-8"),
            re.DOTALL,
        )

    assert asked("good").groups() == ("The benchmark&#39;s prompt", "Describe this image in detail.")
    assert asked("poor")[2] == "What is here?"
    assert asked("good", "poor")[2] == "Describe this image in detail. (good)\nWhat is here? (poor)"


@needs("throne", "pope")
def test_a_page_of_several_benchmarks(runs, tmp_path, ran):
    said = ran("report", runs / "throne", runs / "pope", "--out", tmp_path / "page.html").out
    page = (tmp_path / "page.html").read_text("utf-8")
    found = Elements(page)
    assert found.starts("title")[0][1] == "3 models on 2 benchmarks"
    index_of = {
        title: json.loads(found.named(id_)) for title, id_ in (("THRONE", "index"), ("POPE", "index-1"))
    }
    assert all(sorted(index["runs"]) == ["one", "other", "third"] for index in index_of.values())
    assert f"{sum(3 * len(index['ids']) for index in index_of.values()):,} responses" in said
    tabs = [
        held["href"] for held, _ in found.starts("a") if held["href"].startswith(("#overview", "#report"))
    ]
    assert tabs == ["#overview", "#report", "#report-1"]
    ids = [held["id"] for held, _ in found.held if "id" in held]
    inner = {id_ for id_ in ids if not re.match(r"m[\da-f]{10}", id_)}  # without the parts of drawings
    assert len([id_ for id_ in ids if id_ in inner]) == len(inner)
    assert "Do both benchmarks rank the models alike?" in page
    ran("report", runs / "throne" / "one", runs / "pope" / "one", "--out", tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text("utf-8")
    assert Elements(page).starts("title")[0][1] == "one on 2 benchmarks"


@needs("throne", "pope")
def test_the_worst_responses_as_text(runs, tmp_path, ran):
    said = ran("report", runs / "throne", "--worst", "2").out
    for name in ("one", "other", "third"):
        items = shown(check(runs / "throne" / name)).items
        wrong = sorted((item for item in items if item.errors), key=lambda item: -item.badness)
        part = said.split(f"\n{name}: the 2 worst responses of {len(items)}\n")[1]
        for number, item in enumerate(wrong[:2], 1):
            invented = [word for word, outcome in item.classes.items() if outcome == "hallucinated"]
            heading = next(line for line in part.split("\n") if line.startswith(f"{number}. "))
            assert (
                heading.startswith(f"{number}. {item.id}: ")
                and f"hallucinated {', '.join(invented)}" in heading
            )
    assert "hallucinated]" in said, "the word is marked in the text"
    assert list(tmp_path.iterdir()) == []


@needs("throne", "pope")
def test_the_worst_responses_as_csv(runs, tmp_path, ran, refused):
    file = tmp_path / "worst.csv"
    ran("report", runs, "--worst", "2", "--out", file)
    rows = list(csv.DictReader(file.open(encoding="utf-8", newline="")))
    assert {(row["benchmark"], row["model"]) for row in rows} == {
        (title, name) for title in ("THRONE", "POPE") for name in ("one", "other", "third")
    }
    first = shown(check(runs / "pope" / "one")).items
    worst = max((item for item in first), key=lambda item: item.badness)
    row = next(row for row in rows if row["benchmark"] == "POPE" and row["model"] == "one")
    assert (row["id"], row["response"], row["question"]) == (worst.id, worst.text, worst.question)
    assert row["errors"] == "; ".join(worst.errors) and row["read as"]
    assert "--worst is -1; expected" in refused("report", runs, "--worst", "-1")
    assert "expected a name that ends in .csv" in refused(
        "report", runs, "--worst", "2", "--out", tmp_path / "a.html"
    )
