"""`halluscope.report`: what a metric's result shows in a notebook, for each benchmark that the registry finds."""

import json
from html import escape
from html.parser import HTMLParser
from typing import Any

import evaluate
import numpy as np
import pytest
from PIL import Image

import halluscope
from halluscope import registry
from halluscope.errors import OutputError
from halluscope.paths import share
from halluscope.registry import Benchmark
from tests.test_contract import example, offline

SCORED = [pytest.param(one, id=one.name) for one in registry.benchmarks() if one.is_scored]
BY_PLACE = [one for one in registry.benchmarks() if one.is_scored and "image_ids" in one.input_options]
"""Those whose references are no rows with ids of their own."""

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\ud800 {{7*7}} ${7*7} "

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")


class Frames(HTMLParser):
    """The elements of HTML, with their attributes as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.found.append((tag, dict(attributes)))


def frame(report: Any) -> dict[str, str | None]:
    """Return the single element that a notebook shows."""
    ((tag, attributes),) = Frames(report._repr_html_()).found
    assert tag == "iframe"
    return attributes


def items_of(report: Any) -> dict[str, list[Any]]:
    """Return the data of the page's script: an id per item, and what is shown of the item."""
    page = frame(report)["srcdoc"]
    parts = {
        name: json.loads(page.split(f'id="{name}">')[1].split("</script>")[0]) for name in ("index", "rows-0")
    }
    return dict(zip(parts["index"]["ids"], parts["rows-0"], strict=True))


def scored(
    benchmark: Benchmark, tmp_path: Any, **options: Any
) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """The example of a metric's page, scored by `evaluate` with its table of rows."""
    predictions, references, shown = example(benchmark)
    metric = evaluate.load(str(share("metrics", benchmark.name)))
    asked = shown | offline(benchmark, tmp_path) | {benchmark.items: True} | options
    return (
        metric.compute(predictions=predictions, references=references, **asked),
        predictions,
        references,
    )


@pytest.mark.parametrize("benchmark", SCORED)
def test_a_result_of_evaluate_is_shown(benchmark, tmp_path):
    """Each response is an item, complete and unchanged; the whole page is inside its frame."""
    result, predictions, references = scored(benchmark, tmp_path)
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


@pytest.mark.parametrize("benchmark", SCORED)
def test_hostile_texts_stay_texts(benchmark, tmp_path):
    """Such texts add no element and no script to a page, and appear in it unchanged."""
    _, references, options = example(benchmark)
    predictions = [HOSTILE] * len(references)
    asked = options | offline(benchmark, tmp_path) | {benchmark.items: True}
    result = benchmark.compute(predictions, references, **asked)
    report = halluscope.report(result, predictions, references)
    page = frame(report)["srcdoc"]
    assert "<img src=x" not in page and "${7*7}" in page
    elements = [tag for tag, _ in Frames(page).found]
    assert elements.count("script") == 3 and "iframe" not in elements  # the index, the rows, the page's own


@pytest.mark.parametrize("benchmark", [pytest.param(one, id=one.name) for one in BY_PLACE])
def test_rows_are_called_by_image_or_place(benchmark, tmp_path):
    ids = ["seven", "nine", "eleven", "twelve"]
    result, predictions, references = scored(benchmark, tmp_path)
    places = [*map(str, range(len(predictions)))]
    assert list(items_of(halluscope.report(result, predictions, references))) == places
    ids = ids[: len(predictions)]
    result, _, _ = scored(benchmark, tmp_path, image_ids=ids)
    report = halluscope.report(result, predictions, references, image_ids=ids)
    images = [item.image for item in report.page.runs[0].items]
    assert images == ids and list(items_of(report)) == (places if benchmark.name == "pope" else ids)


@pytest.mark.parametrize("benchmark", SCORED)
def test_pictures_stand_beside_their_rows(benchmark, tmp_path):
    result, predictions, references = scored(benchmark, tmp_path)
    pictures = [None, *(Image.new("RGB", (40, 30), (place, 9, 9)) for place in range(1, len(predictions)))]
    report = halluscope.report(result, predictions, references, images=pictures)
    shown = [item.image in report.page.pictures for item in report.page.runs[0].items]
    assert any(shown) and "data:image/" in frame(report)["srcdoc"]
    with pytest.raises(ValueError, match=f"There are 1 values of images and {len(predictions)} predictions"):
        halluscope.report(result, predictions, references, images=pictures[:1])


@pytest.mark.parametrize("benchmark", SCORED)
def test_what_is_no_such_result_is_refused(benchmark, tmp_path):
    result, predictions, references = scored(benchmark, tmp_path)
    rows = len(predictions)
    for given, known in ((predictions[:-1], references), (predictions, references[:-1])):
        with pytest.raises(
            ValueError, match=f"There are {len(given)} predictions and {len(known)} references"
        ):
            halluscope.report(result, given, known)
    with pytest.raises(ValueError, match=f"about {rows} rows, but there are {rows - 1} predictions"):
        halluscope.report(result, predictions[:-1], references[:-1])
    without = {name: value for name, value in result.items() if name != benchmark.items}
    with pytest.raises(ValueError, match=rf"no {benchmark.items}.*compute\(\.\.\., {benchmark.items}=True\)"):
        halluscope.report(without, predictions, references)
    with pytest.raises(ValueError, match="has no option 'image_idz'"):
        halluscope.report(result, predictions, references, image_idz=range(rows))


@pytest.mark.parametrize("result", [None, {}, {"accuracy": 1.0}, {"signature": 3}, "pope|version:1"])
def test_what_is_no_result_at_all(result):
    with pytest.raises(ValueError, match="expected what a metric's compute returned, with a signature"):
        halluscope.report(result, ["yes"], ["yes"])


def test_a_result_of_another_benchmark(tmp_path):
    """HQM has no rows; references of another metric are not rows of the dataset; a name may be unknown."""
    hqm = registry.benchmark("hqm")
    predictions, references, options = example(hqm)
    with pytest.raises(ValueError, match="HQM does not score single responses"):
        halluscope.report(hqm.compute(predictions, references, **options), ["a", "b"], ["a", "b"])
    result, predictions, _ = scored(registry.benchmark("hqh"), tmp_path)
    with pytest.raises(ValueError, match=r"references\[0\] is \['dog'\]; expected a row of the dataset hqh"):
        halluscope.report(result, predictions, [["dog"]] * len(predictions))
    with pytest.raises(ValueError, match="There is no benchmark 'mine'"):
        halluscope.report({"signature": "mine|version:1"}, ["a"], ["b"])


def test_a_result_of_other_responses(tmp_path):
    result, predictions, references = scored(registry.benchmark("chair"), tmp_path)
    with pytest.raises(ValueError, match="The result marks places beyond the end of a prediction"):
        halluscope.report(result, ["A dog."] * len(predictions), references)


def test_ids_of_another_number():
    pope = registry.benchmark("pope")
    result = pope.compute(["Yes", "No"], ["yes", "no"], per_question=True)
    with pytest.raises(ValueError, match="There are 3 values of image_ids and 2 predictions"):
        halluscope.report(result, ["Yes", "No"], ["yes", "no"], image_ids=[1, 2, 3])


def test_options_are_seen():
    """POPE's questions, samplings and classes appear with its rows; arrays work as lists do."""
    pope = registry.benchmark("pope")
    said, right = ["Yes", "Yes"], ["yes", "no"]
    options = {
        "image_ids": np.array([5, 6]),
        "questions": ["Is there a dog?", "Is there a cat?"],
        "objects": ("dog", "cat"),
        "sampling": ["random", "popular"],
    }
    result = pope.compute(said, right, per_question=True, **options)
    report = halluscope.report(result, said, right, **options)
    first, second = report.page.runs[0].items
    assert (first.id, second.id) == ("random 0", "popular 1")
    assert (first.image, second.image) == ("5", "6")
    assert second.question == "Is there a cat?" and second.classes == {"cat": "hallucinated"}


def test_thoughts_are_taken_out(tmp_path):
    throne = registry.benchmark("throne")
    said = ["<think>a cat?</think>A dog."]
    result = throne.compute(said, [["dog"]], judges="lexical", per_image=True)
    (item,) = halluscope.report(result, said, [["dog"]]).page.runs[0].items
    assert item.text == "A dog." and [mark.of for mark in item.marks] == ["dog"]


def test_a_report_is_saved_once(tmp_path):
    pope = registry.benchmark("pope")
    result = pope.compute(["Yes"], ["no"], per_question=True)
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

    result, predictions, references = scored(registry.benchmark("amber"), tmp_path)
    html = halluscope.report(result, predictions, references)._repr_html_()
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>mine</title>{html}", "utf-8"
    )
    browser.get((tmp_path / "notebook.html").as_uri())
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))

    def said() -> tuple[str, str]:
        return browser.execute_script("return [location.href, document.getElementById('count').textContent]")

    wait = WebDriverWait(browser, 30)
    wait.until(lambda _: said() == ["about:srcdoc", "5 items"])
    assert browser.find_elements(By.CSS_SELECTOR, "#list mark.bad")
    assert (
        browser.execute_script("return getComputedStyle(document.querySelector('mark.bad')).fontWeight")
        == "600"
    )
    browser.find_element(By.NAME, "q").send_keys("bench")
    wait.until(lambda _: said() == ["about:srcdoc#q=bench", "2 of 5 items"])
    for link, place in (("#list h3 a", "item=1"), ("nav a[href='#about']", "about")):
        browser.execute_script("document.querySelector(arguments[0]).click()", link)
        wait.until(lambda _, place=place: said()[0] == f"about:srcdoc#{place}")
    assert said()[1] == "1 of 5 items"
    with pytest.raises(Exception, match="(?i)cross-origin|denied|blocked"):
        browser.execute_script("return parent.document.title")
