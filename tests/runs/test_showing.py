"""`halluscope.report`: what a metric's result shows in a notebook, for each benchmark that the registry finds."""

import json
from html import escape
from typing import Any

import evaluate
import numpy as np
import pytest
from PIL import Image

import halluscope
from halluscope import registry
from halluscope.benchmark import Benchmark
from halluscope.errors import OutputError
from halluscope.paths import share
from tests.reporting.test_page import Elements
from tests.test_contract import example, offline

SCORED = [one for one in registry.benchmarks() if one.is_scored]


def each(of):
    return pytest.mark.parametrize("benchmark", of, ids=lambda one: one.name)


pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")


def frame(report: Any) -> dict[str, str | None]:
    """Return the attributes of the single element that a notebook shows."""
    found = Elements(report._repr_html_())
    ((attributes, _),) = found.starts("iframe")
    assert len(found.held) == 1
    return attributes


def items_of(report: Any) -> dict[str, list[Any]]:
    """Return the data of the page's script: an id per item, and what is shown of the item."""
    page = frame(report)["srcdoc"]
    parts = {
        name: json.loads(page.split(f'id="{name}">')[1].split("</script>")[0]) for name in ("index", "rows-0")
    }
    return dict(zip(parts["index"]["ids"], parts["rows-0"], strict=True))


def scored(benchmark: Benchmark, **options: Any) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """The example of a metric's page, scored by `evaluate` with its table of rows."""
    predictions, references, shown = example(benchmark)
    metric = evaluate.load(str(share("metrics", benchmark.name)))
    asked = shown | offline(benchmark) | {benchmark.items: True} | options
    return metric.compute(predictions=predictions, references=references, **asked), predictions, references


@each(SCORED)
def test_a_result_of_evaluate_is_shown(benchmark):
    """Each response is an item, complete and unchanged; the whole page is inside its frame."""
    result, predictions, references = scored(benchmark)
    report = halluscope.report(result, predictions, references)
    attributes = frame(report)
    assert attributes["sandbox"] == "allow-scripts" and "src" not in attributes
    assert attributes["srcdoc"].startswith("<!doctype html>")
    assert escape("default-src 'none'").replace("x27", "39") in attributes["srcdoc"]
    shown = list(items_of(report).values())
    texts = ["".join(part if isinstance(part, str) else part[0] for part in each[0][0]) for _, each in shown]
    assert texts == predictions
    assert repr(report).startswith(f"{benchmark.title}\nresponses: ")
    assert escape(result["signature"]) in attributes["srcdoc"]


@each(SCORED)
def test_pictures_stand_beside_their_rows(benchmark):
    result, predictions, references = scored(benchmark)
    pictures = [None, *(Image.new("RGB", (40, 30), (place, 9, 9)) for place in range(1, len(predictions)))]
    report = halluscope.report(result, predictions, references, images=pictures)
    shown = [item.image in report.page.pictures for item in report.page.runs[0].items]
    assert any(shown) and "data:image/" in frame(report)["srcdoc"]


def refuses(said, *given, **options):
    with pytest.raises(ValueError, match=said):
        halluscope.report(*given, **options)


@each(SCORED)
def test_what_is_no_such_result_is_refused(benchmark):
    result, said, right = scored(benchmark)
    rows, items = len(said), benchmark.items
    refuses(f"There are {rows - 1} predictions and {rows} references", result, said[:-1], right)
    refuses(f"There are {rows} predictions and {rows - 1} references", result, said, right[:-1])
    refuses(f"about {rows} rows, but there are {rows - 1} predictions", result, said[:-1], right[:-1])
    without = {name: value for name, value in result.items() if name != items}
    refuses(rf"no {items}.*compute\(\.\.\., {items}=True\)", without, said, right)
    refuses("has no option 'image_idz'", result, said, right, image_idz=range(rows))
    picture = [Image.new("RGB", (4, 3))]
    refuses(f"There are 1 values of images and {rows} predictions", result, said, right, images=picture)


def test_a_result_of_nothing_or_of_something_else():
    """HQM has no rows; references of another metric are not rows of the dataset; a name may be unknown."""
    for result in (None, {}, {"accuracy": 1.0}, {"signature": 3}):
        refuses("expected what a metric's compute returned, with a signature", result, ["yes"], ["yes"])
    hqm = registry.benchmark("hqm")
    predictions, references, options = example(hqm)
    result = hqm.compute(predictions, references, **options)
    refuses("HQM does not score single responses", result, ["a", "b"], ["a", "b"])
    result, said, _ = scored(registry.benchmark("hqh"))
    other = [["dog"]] * len(said)
    refuses(r"references\[0\] is \['dog'\]; expected a row of the dataset hqh", result, said, other)
    refuses("There is no benchmark 'mine'", {"signature": "mine|version:1"}, ["a"], ["b"])
    result, said, right = scored(registry.benchmark("chair"))
    refuses("The result marks places beyond the end of a prediction", result, ["A dog."] * len(said), right)
    said, right = ["Yes", "No"], ["yes", "no"]
    result = registry.benchmark("pope").compute(said, right, per_question=True)
    refuses("There are 3 values of image_ids and 2 predictions", result, said, right, image_ids=[1, 2, 3])


def test_options_are_seen():
    """POPE's questions, samplings and classes appear with its rows; arrays work as lists do."""
    pope = registry.benchmark("pope")
    said, right = ["Yes", "Yes"], ["yes", "no"]
    options = {"image_ids": np.array([5, 6]), "questions": ["Is there a dog?", "Is there a cat?"]}
    options |= {"objects": ("dog", "cat"), "sampling": ["random", "popular"]}
    result = pope.compute(said, right, per_question=True, **options)
    report = halluscope.report(result, said, right, **options)
    first, second = report.page.runs[0].items
    assert (first.id, second.id) == ("random 0", "popular 1")
    assert (first.image, second.image) == ("5", "6")
    assert second.question == "Is there a cat?" and second.classes == {"cat": "hallucinated"}


def test_a_report_is_saved_once(tmp_path):
    pope = registry.benchmark("pope")
    result = pope.compute(["Yes"], ["no"], per_question=True)
    hostile = halluscope.report(result, ["Yes"], ["no"], name="\x1b[31mmine")
    assert "\\x1b[31mmine: accuracy 0.0" in repr(hostile)
    report = halluscope.report(result, ["Yes"], ["no"], name="mine")
    file = report.save(tmp_path / "report.html")
    assert file.read_text("utf-8") == frame(report)["srcdoc"]
    with pytest.raises(OutputError, match="is there already"):
        report.save(file)


@pytest.mark.long
def test_in_a_notebook_s_frame(tmp_path, browser):
    """The page's script runs in the frame under its policy, and its links stay in the frame."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    result, predictions, references = scored(registry.benchmark("amber"))
    html = halluscope.report(result, predictions, references)._repr_html_()
    page = f"<!doctype html><meta charset=utf-8><title>mine</title>{html}"
    (tmp_path / "notebook.html").write_text(page, "utf-8")
    browser.get((tmp_path / "notebook.html").as_uri())
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    run = browser.execute_script

    def comes(address, count):
        shown = "return [location.href, document.getElementById('count').textContent]"
        WebDriverWait(browser, 30).until(lambda _: run(shown) == [address, count])

    comes("about:srcdoc", "5 items")
    assert browser.find_elements(By.CSS_SELECTOR, "#list mark.bad")
    assert run("return getComputedStyle(document.querySelector('mark.bad')).fontWeight") == "600"
    browser.find_element(By.NAME, "q").send_keys("bench")
    comes("about:srcdoc#q=bench", "2 of 5 items")
    for link, place in (("#list h3 a", "item=1"), ("nav a[href='#about']", "about")):
        run("document.querySelector(arguments[0]).click()", link)
        comes(f"about:srcdoc#{place}", "1 of 5 items")
    with pytest.raises(Exception, match="(?i)cross-origin|denied|blocked"):
        run("return parent.document.title")
