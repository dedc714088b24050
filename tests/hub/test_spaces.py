"""Metric Spaces: each metrics/<name>/app.py alone, served on loopback, and in a browser."""

import contextlib
import json
import re
import runpy
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from html.parser import HTMLParser

import pytest

from halluscope import __version__, registry
from halluscope.benchmarks.throne import metric as throne
from halluscope.hub import contents
from halluscope.hub.space import JSON_LINES, LINES, Page
from halluscope.paths import checkout, share
from halluscope.signature import data_of
from tests.small_datasets import needs

NAMES = contents.metrics()
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{of}")  # gradio's own use of pandas
    for of in (".future.no_silent_downcasting", "The copy keyword is deprecated")
]

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"


def page(name: str) -> Page:
    return runpy.run_path(str(share("metrics", name, "app.py")))["page"]


def first(page: Page) -> list[str]:
    """Return the default of each choice."""
    return [next(iter(choice.values)) for choice in page.choices.values()]


@pytest.fixture(scope="module")
def served():
    """THRONE's page on a loopback port; gradio may send no analytics."""
    patch = pytest.MonkeyPatch()
    patch.setenv("GRADIO_ANALYTICS_ENABLED", "False")
    patch.setenv("NO_PROXY", "*")
    patch.setattr(
        "gradio.analytics.version_check", lambda: pytest.fail("gradio asked for its newest version")
    )
    blocks = page("throne").blocks()
    _, url, _ = blocks.launch(prevent_thread_lock=True, quiet=True, share=False, ssr_mode=False)
    yield url
    blocks.close()
    patch.undo()


@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens_with_its_example_scored_without_a_network(name):
    shown, items = page(name), bool(registry.benchmark(name).items)
    said = shown.example()
    assert said.scores, said.message
    assert said.signature.startswith(f"{name}|") and said.signature.endswith(f"version:{__version__}")
    assert "expected the benchmark's" in said.message or not said.message
    assert said.rows is None or {len(said.rows["headers"])} == {len(row) for row in said.rows["data"]}
    assert {bool(said.rows), bool(said.texts), bool(shown.each)} == {items}
    assert said.chart.startswith("<figure") and "data:image/png;base64," in said.chart
    config = shown.blocks().get_config_file()
    assert config["analytics_enabled"] is False
    assert [one["api_name"] for one in config["dependencies"] if one["backend_fn"]] == ["score"]
    parts = [one["props"] for one in config["components"] if one["props"].get("elem_id")]
    held = {one["elem_id"]: one.get("value") for one in parts}
    assert held["signature"].startswith(f"{name}|") and held["scores"]["data"] and "<img" in held["chart"]
    assert ("<iframe" in held["texts"]) == bool(held["rows"]["data"]) == items


def test_the_page_scores_as_the_package_does():
    shown = page("throne")
    texts = ["A dog on a couch.", "", "Two cats."]
    objects = [["dog"], [], ["cat", "couch"]]
    expected = throne.compute(texts, objects, judges="lexical", bootstrap=1000, per_image=True)
    low, high = expected["interval"]["f0.5_all"]
    rows = [{"image_id": n, "caption": text} for n, text in enumerate(texts)]
    as_json = ["\n".join(map(json.dumps, pasted)) for pasted in (rows, objects)]
    as_lines = ["\n".join(texts) + "\n", "dog\n\ncat, couch"]
    for said in (
        shown.answer(LINES, *as_lines, *first(shown)),
        shown.answer(JSON_LINES, *as_json, *first(shown)),
    ):
        assert said.signature == expected["signature"] and not said.message
        figures = dict(said.scores)
        assert figures["f0.5_cls"] == f"{expected['f0.5_cls']:.4f}"
        assert figures["undefined_classes"] == str(expected["undefined_classes"])
        assert figures["interval/f0.5_all"] == f"{low:.4f} to {high:.4f}"
        assert said.rows["headers"] == ["line", "found", "hallucinated", "missed"]
        assert said.rows["data"] == [["1", "dog", "couch", ""], ["2", "", "", ""], ["3", "cat", "", "couch"]]


KEYS = "line 1: expected an object with the LVLM's text under one of the keys response, raw_response, "
BAD_INPUT = [
    ("throne", LINES, "a dog\na cat", "dog", "There are 2 predictions and 1 references"),
    ("throne", LINES, "", "", "predictions is empty"),
    ("throne", LINES, "a dog", "unicorn", "'unicorn'"),
    ("throne", JSON_LINES, "a dog", "[]", "Descriptions, one image per line, line 1: 'a dog' cannot be read"),
    ("throne", JSON_LINES, '{"id": 1}', "[]", KEYS + "model_prediction, prediction"),
    ("throne", JSON_LINES, '{"caption": 1}', "[]", "line 1: caption is 1; expected the LVLM's text"),
    ("throne", JSON_LINES, '"a dog"', '{"boxes": []}', "line 1 has none of the keys objects; it has boxes"),
    ("throne", LINES, "x" * 5_000_001, "", "is larger than the limit 'page' of 5,000,000 characters"),
    ("hqm", LINES, "0.1\nmany\n0.3", "0.1\n0.2\n0.3", "line 2: 'many' cannot be read"),
    ("hallusionbench", LINES, "Yes", "Yes", "line 1: 'Yes' cannot be read"),
]


@pytest.mark.parametrize(
    ("name", "form", "predictions", "references", "message"),
    [pytest.param(*case, marks=needs(case[0])) for case in BAD_INPUT],
)
def test_bad_input_is_a_message(name, form, predictions, references, message):
    shown = page(name)
    said = shown.answer(form, predictions, references, *first(shown))
    assert message in said.message and not any(said[1:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth", [900, 100_000])
def test_brackets_in_brackets_are_a_message(name, depth):
    shown = page(name)
    deep = "[" * depth + "]" * depth
    said = shown.answer(JSON_LINES, deep, deep, *first(shown))
    assert said.message and not any(said[1:])


@pytest.mark.parametrize("name", [name for name in NAMES if registry.benchmark(name).items])
def test_pasted_markup_stays_text(name):
    """In the frame's page it is inside a JSON script element, and in the chart it is text of an image."""
    shown = page(name)
    lines = "\n".join([f"</script>{HOSTILE} ${{alert(1)}} dog"] * len(shown.predictions.example.split("\n")))
    said = shown.answer(LINES, lines, shown.references.example, *first(shown))
    assert said.scores, said.message
    ((tag, attributes),) = elements(said.texts)
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts"
    inside = [one for one, _ in elements(attributes["srcdoc"])]
    assert inside.count("script") == 3 and "img" not in inside and "onerror" in attributes["srcdoc"]
    assert [one for one, _ in elements(said.chart)] == ["figure", "strong", "img", "figcaption"]


def elements(html: str) -> list[tuple[str, dict[str, str]]]:
    """The elements of HTML, with their attributes."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(html)
    return found


def test_over_http(served):
    from gradio_client import Client

    client = Client(served, verbose=False, analytics_enabled=False)

    def score(*pasted):
        return client.predict(LINES, *pasted, "COCO's 80", api_name="/score")

    message, texts, chart, figures, each, signature = score("A dog.", "dog")
    assert ["precision_all", "1.0000"] in figures["data"] and not message
    data = data_of("coco", [["", "dog"]])
    assert signature.startswith(f"throne|data:{data}|responses:given|judges:lexical-5")
    assert each["headers"] == ["line", "found", "hallucinated", "missed"]
    assert each["data"] == [["1", "dog", "", ""]]
    assert "dog: found" in texts and chart.startswith("<figure")
    message, texts, chart, *_ = score("A", "\n\n")
    assert "There are 1 predictions and 2" in message and not texts and not chart


@pytest.mark.long
def test_in_a_browser(served, browser):
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    def box(name: str):
        return browser.find_element(By.CSS_SELECTOR, f"#{name} textarea")

    def said(name: str) -> str:
        return box(name).get_property("value")

    def marked() -> list[str]:
        """Return the words that the frame marks as wrong, after its script has run."""
        frames = browser.find_elements(By.CSS_SELECTOR, "#texts iframe")
        if not frames:
            return []
        browser.switch_to.frame(frames[0])
        script = "return [...document.querySelectorAll('#list mark.bad')].map((mark) => mark.firstChild.textContent)"
        marks: list[str] = browser.execute_script(script)
        browser.switch_to.default_content()
        return marks

    def score(name: str, text: str) -> None:
        """Type into a box, and press the button once nothing covers it, because the page is still being laid out."""
        box(name).clear()
        box(name).send_keys(text)
        button = WebDriverWait(browser, 30, ignored_exceptions=(WebDriverException,))
        button.until(lambda _: browser.find_element(By.ID, "score").click() or True)

    wait = WebDriverWait(browser, 30, ignored_exceptions=(StaleElementReferenceException,))
    browser.get(served)
    wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#predictions textarea"))
    assert browser.title == "THRONE" and "frisbee" in said("predictions")
    wait.until(lambda _: marked() == ["laptop", "bench"])  # on arrival, the worst first
    assert re.match(r"throne\|data:coco-2-[0-9a-f]{8}\|responses:given\|judges:lexical", said("signature"))
    assert "f0.5_cls" in browser.find_element(By.ID, "scores").text
    chart = browser.find_element(By.CSS_SELECTOR, "#chart img")
    assert browser.execute_script("return arguments[0].naturalWidth", chart) > 0

    score("predictions", f"{HOSTILE} A cat.\nA couch.")
    wait.until(lambda _: marked() == ["cat"])
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "#texts iframe"))
    assert HOSTILE in browser.find_element(By.ID, "list").text
    assert not browser.find_elements(By.CSS_SELECTOR, "img") and "taken" not in browser.title
    browser.switch_to.default_content()

    score("references", f"{HOSTILE}\ndog")
    wait.until(lambda _: "onerror" in said("message"))
    assert not browser.find_elements(By.CSS_SELECTOR, "img[src=x]") and browser.title == "THRONE"
    assert said("signature") == "" and not browser.find_elements(By.CSS_SELECTOR, "#texts iframe, #chart img")

    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert loaded and all(one.startswith((served, "data:", "blob:")) for one in loaded)  # no other server


@pytest.mark.skipif(checkout() is None, reason="needs a checkout")
def test_versions_agree():
    project = tomllib.loads((checkout() / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    gradio = re.search(r"(?m)^gradio==(.+)$", (checkout() / "constraints.txt").read_text())[1]
    for name in NAMES:
        assert f"sdk_version: {gradio}\n" in share("metrics", name, "README.md").read_text()


def test_without_gradio_the_extra_is_named(tmp_path):
    (tmp_path / "gradio.py").write_text("raise ImportError('not here', name='gradio')")
    code = "import runpy, sys; runpy.run_path(sys.argv[1])['page'].blocks()"
    command = [sys.executable, "-c", code, str(share("metrics", "pope", "app.py"))]
    path = {"PYTHONPATH": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=path)
    said = "MissingExtra: A metric's page needs gradio (not here): pip install 'halluscope[space]'."
    assert said in ran.stderr


@pytest.mark.long
def test_starting_the_app_by_itself(tmp_path):
    """Start it as the Hub does: python app.py, in its own folder, with a given port."""
    for file in share("metrics", "pope").glob("*"):
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"GRADIO_SERVER_PORT": str(port), "HOME": str(tmp_path), "PATH": "", "NO_PROXY": "*"}
    command = [sys.executable, "app.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    page = b""
    try:
        for _ in range(300):
            assert process.poll() is None
            with contextlib.suppress(OSError), opener.open(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                page = answer.read()
                break
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert b"POPE" in page
