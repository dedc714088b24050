"""A report's page in a real Chromium: filters, links, keys; dark, narrow, printed; and what axe finds."""

import base64
import csv
import importlib.util
import io
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from halluscope import sanitize
from halluscope.reporting.page.content import Book, Figure, Page
from halluscope.reporting.page.writing import write
from halluscope.reporting.report_items import Fact, Item, Mark, Shown
from tests.reporting.pages import HOSTILE, page_of, small_page

pytestmark = pytest.mark.long

WATCH = """
window.refused = [];
addEventListener("securitypolicyviolation", (event) => refused.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page in the browser, which records what its policy refuses."""
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    browser.execute_cdp_cmd("Network.enable", {})

    def open_page(page: Page | Book, address: str = "") -> str:
        write(page, tmp_path / "page.html")
        browser.get((tmp_path / "page.html").as_uri() + address)
        return browser.current_url

    return open_page


def find(browser, selector: str):
    return browser.find_element(By.CSS_SELECTOR, selector)


def choose(browser, **wanted: str) -> None:
    """Set filters, as a user does; filters not named stay unchanged."""
    for name, value in wanted.items():
        name = f"[name='{name.replace('_', '.')}']"
        control = find(browser, name)
        if control.get_attribute("type") == "checkbox":
            control.click()
        elif control.get_attribute("type") == "radio":
            find(browser, f"{name}[value='{value}']").click()
        elif control.tag_name == "input":
            control.clear()
            control.send_keys(value)
        else:
            control.send_keys(find(control, f"option[value='{value}']").text)


def cards(browser) -> list[list[str]]:
    """The ids on each card, all of which are called up first."""
    more = find(browser, "#more")
    while more.is_displayed():
        browser.execute_script("arguments[0].click()", more)
    return browser.execute_script(
        "const ids = (card) => [...card.querySelectorAll('h3')].map((one) => one.textContent);"
        "return [...document.querySelectorAll('article')].map(ids)"
    )


def count(browser) -> str:
    return find(browser, "#count").text


def emulate(browser, width: int = 1280, **media: str) -> None:
    """Change the width or the medium."""
    features = [{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}]
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    given = {"media": media.get("media", ""), "features": features}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", given)


def is_at_rest(browser) -> None:
    """Check that nothing was refused, no error occurred, and no network request was made."""
    assert browser.execute_script("return refused") == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [name for name in asked if not name.startswith("data:")] == []


def wanted(page: Page, fits) -> set[str]:
    """Return the ids found by a plain loop over the items."""
    return {item.id for run in page.runs for item in run.items if fits(run, item)}


FILTERS = {
    "an error": ({"error": "+"}, lambda run, item: item.errors),
    "no error": ({"error": "-"}, lambda run, item: not item.errors),
    "one error": ({"error": "missed"}, lambda run, item: "missed" in item.errors),
    "a class": ({"class": "kite"}, lambda run, item: "kite" in item.classes),
    "missed": ({"class": "kite", "outcome": "missed"}, lambda run, item: item.classes.get("kite") == "missed"),
    "an outcome": ({"outcome": "hallucinated"}, lambda run, item: "hallucinated" in item.classes.values()),
    "a part": ({"part_type": "odd"}, lambda run, item: item.parts["type"] == "odd"),
    "disputed": ({"disputed": "1"}, lambda run, item: item.disputed),
    "unreadable": ({"unread": "1"}, lambda run, item: item.unread),
    "a model": ({"model": "Model two", "error": "empty"}, lambda run, item: run.name == "Model two" and not item.text),
    "a word": ({"q": "A KITE, number 2"}, lambda run, item: "a kite, number 2" in item.text.lower()),
    "a question": ({"q": "picture 4?"}, lambda run, item: "picture 4?" in item.question),
    "an id": ({"q": "item 17"}, lambda run, item: "item 17" in item.id),
    "several": (
        {"class": "dog", "error": "hallucinated", "part_type": "even"},
        lambda run, item: "dog" in item.classes and "hallucinated" in item.errors,
    ),
}  # fmt: skip


def test_filters_find_what_a_loop_finds(browser, opened):
    page = small_page()
    opened(page)
    assert count(browser) == "45 items" and len(cards(browser)) == 23
    for name, (filters, fits) in FILTERS.items():
        choose(browser, **filters)
        found = wanted(page, fits)
        assert 0 < len(found) < 45 and count(browser) == f"{len(found)} of 45 items", name
        shown = {id_ for card in cards(browser) for id_ in card}
        pairs = {number // 2 for number in range(45) if f"item {number}" in found}
        assert shown == {f"item {number}" for number in range(45) if number // 2 in pairs}, name
        find(browser, "#reset").click()
        assert count(browser) == "45 items"
    is_at_rest(browser)


def test_the_worst_items_right_and_wrong_and_a_class_of_a_figure(browser, opened):
    page = small_page()
    words = "<text style='font-size: 9px; fill: currentColor' y='9' onclick='alert(1)'>kite</text>"
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 20'><defs><style>text{fill:red}</style></defs>"
        f"<g id='a'>{words}</g></svg>"
    )
    verdict = ["Model one is better than Model two: by 3 points (p 0.01)."]
    opened(page._replace(figures=[Figure("classes", "Which?", "Two classes.", svg)], verdict=verdict))
    assert find(browser, ".verdict").text.startswith("Model one is better")

    def tiles() -> list[str]:
        return [one.text for one in browser.find_elements(By.CSS_SELECTOR, "#tiles b")]

    first, second = ({item.id: item for item in run.items} for run in page.runs)
    assert len(tiles()) == 10 and find(browser, "#tiles").location["y"] < 400
    browser.find_element(By.XPATH, "//button[.='of Model two']").click()
    bad = sorted((item for item in second.values() if item.errors), key=lambda item: -item.badness)
    assert tiles() == [item.id for item in bad[:10]]
    find(browser, "#tiles a").click()
    assert count(browser) == "1 of 45 items" and bad[0].id in cards(browser)[0]

    one_wrong = {id_ for id_, item in second.items() if item.errors and not first[id_].errors}
    button = f"//button[normalize-space() = 'only Model two wrong {len(one_wrong)}']"
    browser.find_element(By.XPATH, button).click()
    assert count(browser) == f"{len(one_wrong)} of 45 items"
    assert "was.0=right&was.1=wrong" in browser.current_url
    find(browser, "#reset").click()
    choose(browser, was_1="wrong", sort="1")
    assert set(cards(browser)[0]) & {bad[0].id} and count(browser) == f"{len(bad)} of 45 items"

    browser.execute_script("document.querySelector('.fold').open = true")
    find(browser, ".drawing text").click()
    assert find(browser, "[name=class]").get_attribute("value") == "kite"
    kites = wanted(page, lambda run, item: "kite" in item.classes)
    assert count(browser) == f"{len(kites)} of 45 items"
    saved = browser.execute_async_script(
        "const done = arguments[0], make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };"
        "document.getElementById('save').click();"
    )
    rows = list(csv.DictReader(io.StringIO(saved)))
    assert {row["id"] for row in rows} == kites
    assert all(row["Model one response"] == first[row["id"]].text for row in rows)
    is_at_rest(browser)


def test_benchmarks_in_tabs(browser, opened):
    """Each tab has its own filters, which the address names; a link leads to its tab."""
    first, second = small_page(), small_page(20)._replace(title="Another page")
    address = opened(Book("Two pages", [first, second], tables=first.tables))
    assert find(browser, "h1").text == "Two pages" and find(browser, "#overview table").is_displayed()
    assert not find(browser, "#items").is_displayed()
    browser.find_element(By.LINK_TEXT, "Another page").click()
    assert find(browser, "#count-1").text == "20 items" and not find(browser, "#count").is_displayed()
    assert find(browser, ".tabs [aria-current]").text == "Another page"
    find(browser, "#filters-1 [name=q]").send_keys("number 1")
    shared = browser.current_url
    assert shared == f"{address}#report=1&q=number+1" and find(browser, "#count-1").text == "11 of 20 items"
    find(browser, "#list-1 h3 a").click()
    assert browser.current_url == f"{address}#report=1&item=item+18"
    browser.back()
    browser.find_element(By.LINK_TEXT, first.title).click()
    assert count(browser) == "45 items" and not find(browser, "#items-1").is_displayed()
    for link, number in (
        (shared, "-1"),
        (f"{address}#report=0&item=item+13", ""),
        (f"{address}#items-1", "-1"),
    ):
        browser.get("about:blank")
        browser.get(link)
        assert find(browser, f"#count{number}").is_displayed(), link
    find(browser, "body").send_keys("j")
    assert browser.switch_to.active_element.get_attribute("aria-label") == "Item item 18, item 19"
    is_at_rest(browser)


def test_sorts_links_and_nothing_found(browser, opened):
    address = opened(small_page())
    assert cards(browser)[:2] == [["item 44"], ["item 42", "item 43"]]  # the worst first
    choose(browser, sort="order", q="number 1")
    assert cards(browser)[:3] == [["item 0", "item 1"], ["item 10", "item 11"], ["item 12", "item 13"]]
    shared, found = browser.current_url, cards(browser)
    assert shared == f"{address}#q=number+1&sort=order"
    choose(browser, q="no such word")
    assert find(browser, "article, .empty").text.startswith("No items match.")
    find(browser, ".empty button").click()
    assert count(browser) == "45 items"
    browser.get("about:blank")
    browser.get(shared)  # by somebody else
    assert cards(browser) == found and find(browser, "[name=q]").get_attribute("value") == "number 1"
    browser.find_element(By.LINK_TEXT, "item 13").click()
    assert cards(browser) == [["item 12", "item 13"]] and count(browser) == "1 of 45 items"
    assert browser.switch_to.active_element.tag_name == "article"
    assert browser.current_url == f"{address}#item=item+13"
    browser.back()
    assert cards(browser) == found
    browser.get("about:blank")
    browser.get(f"{address}#item=item+13&model=Model+two&class=unheard")
    assert cards(browser) == [["item 12", "item 13"]]
    assert [one.text for one in browser.find_elements(By.TAG_NAME, "h4")] == ["Model two"] * 2
    is_at_rest(browser)


def test_a_walk_by_keys(browser, opened):
    opened(small_page())

    def press(keys: str):
        """Return the element that has the focus then."""
        browser.switch_to.active_element.send_keys(keys)
        return browser.switch_to.active_element

    find(browser, "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the items"
    assert press(Keys.ENTER).get_attribute("id") == "items"
    for keys, label in (
        ("j", "Item item 44"),
        ("jj", "Item item 40, item 41"),
        (Keys.ARROW_UP, "Item item 42, item 43"),
        ("kkk", "Item item 44"),
        *[("j", None)] * 20,
        ("j", "Item item 2, item 3"),  # on the second page of cards
    ):
        assert press(keys).get_attribute("aria-label") == label or label is None
    mark, says = find(browser, "article mark"), find(browser, "#says")
    browser.execute_script("arguments[0].focus()", mark)
    assert says.is_displayed() and says.text == "dog: hallucinated"
    assert mark.get_attribute("textContent") == "dog (dog: hallucinated)"  # what a screen reader says
    mark.send_keys(Keys.ESCAPE)
    assert not says.is_displayed()
    mark.send_keys("/")
    assert press("jk/").get_attribute("value") == "jk/" == find(browser, "[name=q]").get_attribute("value")
    is_at_rest(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_serious(browser, opened, scheme, width):
    emulate(browser, width, scheme=scheme)
    axe = Path(importlib.util.find_spec("axe_core_python").origin).with_name("axe.min.js")
    page = small_page()
    for place in ("#overview", "#report"):
        opened(Book("Two pages", [page, small_page(5)], tables=page.tables), place)
        for folded in browser.find_elements(By.CSS_SELECTOR, "details")[:5]:
            browser.execute_script("arguments[0].open = true", folded)
        browser.execute_script(axe.read_text(encoding="utf-8"))
        found = browser.execute_async_script("axe.run().then(arguments[0])")
        assert len(found["passes"]) > 15
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        assert serious == [], [(one["id"], [node["html"] for node in one["nodes"]]) for one in serious]


def test_dark_narrow_and_printed(browser, opened):
    opened(small_page())

    def lightness() -> int:
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return int(colour.removeprefix("rgb(").split(",")[0])

    light = lightness()
    emulate(browser, scheme="dark")
    assert light > 200 and lightness() < 50
    emulate(browser, 360)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    emulate(browser, 1280, media="print", scheme="dark")
    hidden = ["#filters", "nav", "#more", ".skip"]
    assert not any(browser.find_element(By.CSS_SELECTOR, one).is_displayed() for one in hidden)
    assert find(browser, "article").is_displayed()
    emulate(browser)
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF") and len(printed) > 10_000
    is_at_rest(browser)


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_texts_in_a_browser(browser, opened, width):
    """Each text is shown as text, and can be searched for and linked to; the page is as wide as the window."""
    emulate(browser, width)
    page = page_of("harmless")
    items = [
        Item(
            **dict.fromkeys(("text", "question"), text),
            id=f"{place} {text[:100]}",
            marks=[Mark(0, 4, "bad", text)],
            facts=[Fact("unreadable reply", [(text[:1000], "open")])],
            errors=[text],
            classes={text: "found"},
            parts={"text": text},
        )
        for place, text in enumerate(HOSTILE)
    ]
    runs = [Shown(text[:1000], {}, items) for text in HOSTILE[:2]]
    address = opened(Page("Hostile", HOSTILE[1], page.headlines, page.tables, page.figures, runs))
    assert len(cards(browser)) == len(HOSTILE)
    script = "return [...document.querySelectorAll('article')].map((one) => one.querySelector('.question').textContent)"
    shown = browser.execute_script(script)
    assert shown[:-1] == [sanitize.printable(text) for text in HOSTILE[:-1]] and shown[-1] == "x" * 1500
    assert browser.title == "Hostile"
    assert not browser.find_elements(By.CSS_SELECTOR, "article script, article img")
    if width == 360:
        assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    find(browser, "[name=q]").send_keys("link](javascript")
    assert count(browser) == "1 of 20 items"
    links = browser.find_elements(By.CSS_SELECTOR, "article h3 a")
    assert [one.get_attribute("href").startswith(f"{address}#item=17+%7C+**bold") for one in links] == [True]
    links[0].click()
    assert count(browser) == "1 of 20 items"
    is_at_rest(browser)
    # Even if something got in, the page's policy lets nothing else run.
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/x\" style=\"color: red\">');"
    )
    assert browser.title == "Hostile"
    refused = browser.execute_script("return refused")
    assert {one.split()[0] for one in refused} == {"script-src-elem", "style-src-attr", "img-src"}
