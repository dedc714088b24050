"""Metric Spaces: the page of each metric, its app.py alone, served on loopback, and in a browser."""

import contextlib
import json
import re
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
from halluscope.hub.space import Page, as_lines, page
from halluscope.paths import PACKAGE, checkout

NAMES = contents.metrics()
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{of}")  # gradio's own use of pandas
    for of in (".future.no_silent_downcasting", "The copy keyword is deprecated")
]

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"


def first(page: Page) -> list[str]:
    """Return the default of each choice."""
    return [page.labels(name)[0] for name in page.choices]


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
    assert {bool(said.rows), bool(said.texts)} == {items}
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
    as_objects = "\n".join(json.dumps({"image_id": n, "objects": names}) for n, names in enumerate(objects))
    for pasted in (
        ("\n".join(texts) + "\n", "\n".join(map(json.dumps, objects))),
        ("\n".join(map(json.dumps, rows)), as_objects),
    ):
        said = shown.answer(*pasted, *first(shown))
        assert said.signature == expected["signature"] and not said.message
        figures = dict(said.scores)
        assert figures["f0.5_cls"] == f"{expected['f0.5_cls']:.4f}"
        assert figures["undefined_classes"] == str(expected["undefined_classes"])
        assert figures["interval/f0.5_all"] == f"{low:.4f} to {high:.4f}"
        assert said.rows["headers"] == ["line", "found", "hallucinated", "missed"]
        assert said.rows["data"] == [["1", "dog", "couch", ""], ["2", "", "", ""], ["3", "cat", "", "couch"]]


def test_a_response_may_begin_with_a_quotation_mark():
    """A line is JSON only if it can be read as that."""
    shown = page("throne")
    said = shown.answer('"Stop" is written on a bus.\n"A \\u0063at."', '["bus"]\n["cat"]', *first(shown))
    assert [row[1:3] for row in said.rows["data"]] == [["bus", ""], ["cat", ""]]


BAD_INPUT = [
    ("throne", "a dog\na cat", '["dog"]', "There are 2 predictions and 1 references"),
    ("throne", "", "", "predictions is empty"),
    ("throne", '{"caption": "a dog"', "[]", 'Responses, line 1: \'{"caption": "a dog"\' cannot be read'),
    ("throne", '"a dog"', '{"boxes": []}', "Rows, line 1 has no key objects; it has boxes"),
    ("throne", "x" * 5_000_001, "", "is larger than the limit 'page' of 5,000,000 characters"),
]


@pytest.mark.parametrize(
    ("name", "predictions", "references", "message"),
    BAD_INPUT,
)
def test_bad_input_is_a_message(name, predictions, references, message):
    shown = page(name)
    said = shown.answer(predictions, references, *first(shown))
    assert message in said.message and not any(said[1:])


def test_a_choice_that_is_not_offered_is_refused():
    """Whoever does not use the page may send anything, such as the name of a file on the server."""
    said = page("chair").answer("A dog.", '["dog"]', "/etc/passwd")
    assert "synonyms is '/etc/passwd'; expected" in said.message and not any(said[1:])


def test_ratings_of_nobody():
    """MMHal-Bench's page asks no judge; a rating that is null is nobody's."""
    shown = page("mmhal")
    assert "judge:given" in shown.example().signature
    rows = [{**row, "rating": None} for row in shown.references]
    said = shown.answer(as_lines(shown.predictions), as_lines(rows))
    assert dict(said.scores)["unreadable"] == "1.0000" and not said.chart


@pytest.mark.parametrize("name", [name for name in NAMES if registry.benchmark(name).items])
def test_pasted_markup_stays_text(name):
    """In the frame's page it is inside a JSON script element, and in the chart it is text of an image."""
    shown = page(name)
    lines = "\n".join([f"</script>{HOSTILE} ${{alert(1)}} dog"] * len(shown.predictions))
    said = shown.answer(lines, as_lines(shown.references), *first(shown))
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


@pytest.mark.long
def test_in_a_browser(served, browser):
    """The example's marks show on arrival; pasted markup stays text; no other server is asked."""
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

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

    wait = WebDriverWait(browser, 30, ignored_exceptions=(StaleElementReferenceException, WebDriverException))
    browser.get(served)
    wait.until(lambda _: marked() == ["laptop", "bench"])  # the worst first

    box = browser.find_element(By.CSS_SELECTOR, "#predictions textarea")
    box.clear()
    box.send_keys(f"{HOSTILE} A cat.\nA couch.")
    wait.until(lambda _: browser.find_element(By.ID, "score").click() or True)
    wait.until(lambda _: marked() == ["cat"])
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "#texts iframe"))
    assert HOSTILE in browser.find_element(By.ID, "list").text
    browser.switch_to.default_content()
    assert not browser.find_elements(By.CSS_SELECTOR, "img[src=x]") and browser.title == "THRONE"

    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert loaded and all(one.startswith((served, "data:", "blob:")) for one in loaded)


@pytest.mark.skipif(checkout() is None, reason="needs a checkout")
def test_versions_agree():
    project = tomllib.loads((checkout() / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    gradio = re.search(r"(?m)^gradio==(.+)$", (checkout() / "constraints.txt").read_text())[1]
    assert gradio == contents.GRADIO


@pytest.mark.long
def test_starting_the_app_by_itself(tmp_path):
    """Start it as the Hub does: python app.py, in its own folder, with a given port."""
    space = contents.metric("pope", "acme", "https://example.org/halluscope.whl")
    (tmp_path / "app.py").write_bytes(space.files["app.py"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"GRADIO_SERVER_PORT": str(port), "HOME": str(tmp_path), "PATH": "", "NO_PROXY": "*"}
    environment["PYTHONPATH"] = str(PACKAGE.parent)
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
