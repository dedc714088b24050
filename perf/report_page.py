"""Times how fast a report's page with 5,000 rows, five runs and images opens and filters in headless Chromium.

    python perf/report_page.py [--items 5000] [--models 5]

The script prints the file's size, the time to write it, the times until the first screen is painted and until its rows
are there, and for each filter the time until the browser has drawn its result.
"""

import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from selenium import webdriver

from halluscope.reporting.page.writing import write
from made_page import made_page
from timing import options, seconds

ROUNDS = 5
THUMBNAIL = (384, 288)

FILTERS = {
    "with an error": {"error": "+"},
    "one class, hallucinated": {"class": "dog", "outcome": "hallucinated"},
    "judges disagree": {"disputed": "1"},
    "one model": {"model": "Otter-1B"},
    "in the order of the dataset": {"sort": "order"},
    "search for a word": {"q": "umbrella"},
    "search for an id": {"q": "5440"},
    "no item": {"q": "zebra crossing"},
    "all": {},
}

CHOOSE = """
const [wanted, done] = arguments, form = document.getElementById("filters");
form.reset();
for (const [name, value] of Object.entries(wanted)) {
  const control = form.elements[name];
  if (control.type === "checkbox") control.checked = true; else control.value = value;
}
const start = performance.now();
form.dispatchEvent(new Event("input"));
const told = () => [performance.now() - start, document.getElementById("count").textContent];
requestAnimationFrame(() => setTimeout(() => done(told())));
"""

OPENED = """
const done = arguments[0];
new PerformanceObserver((list) => {
  const painted = list.getEntriesByName("first-contentful-paint")[0];
  const complete = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
  if (painted) done([painted.startTime, complete]);
}).observe({type: "paint", buffered: true});
"""


@dataclass(frozen=True)
class Filtered:
    """What choosing filters came to."""

    milliseconds: float
    count: str  # what the page says of the number of rows


def main() -> None:
    """Print the measurements."""
    arguments = options(__doc__, items=5000, models=5)
    page = made_page(arguments.items, arguments.models, THUMBNAIL)
    kilobytes = sum(len(picture.content) for picture in page.pictures.values()) / len(page.pictures) / 1000
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        file = Path(folder, "report.html")
        took = seconds(lambda: write(page, file))
        version = chromium.capabilities["browserVersion"]
        print(f"{platform.machine()}, Chromium {version}, headless; medians of {ROUNDS}")
        print(f"{arguments.items:,} rows, {arguments.models} runs, images of {kilobytes:.1f} KB")
        print(f"the file: {file.stat().st_size / 1e6:.1f} MB, written in {took:.1f} s")
        time_opening(chromium, file.as_uri())
        time_filters(chromium, file.as_uri())


def browser() -> webdriver.Chrome:
    """Start Debian's Chromium."""
    chrome_options = webdriver.ChromeOptions()
    chrome_options.binary_location = shutil.which("chromium")
    for flag in ("headless=new", "no-sandbox", "disable-gpu"):
        chrome_options.add_argument(f"--{flag}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=chrome_options, service=service)


def time_opening(chromium: webdriver.Chrome, url: str) -> None:
    """Print how long the page takes to open."""
    paintings = []
    completions = []
    for _ in range(ROUNDS):
        chromium.get(url)
        painted, complete = chromium.execute_async_script(OPENED)
        paintings.append(painted / 1000)
        completions.append(complete / 1000)
    print(f"first screen: {median(paintings):.2f} s; its rows: {median(completions):.2f} s")


def time_filters(chromium: webdriver.Chrome, url: str) -> None:
    """Print how long each filter takes."""
    chromium.get(url)
    at_once = choose(chromium, {"q": "umbrella"})
    print(
        "a search right after opening, before the page has prepared for searches: "
        f"{at_once.milliseconds:.0f} ms"
    )
    for name, filters in FILTERS.items():
        rounds = [choose(chromium, filters) for _ in range(ROUNDS)]
        first = rounds[0]
        middle = median(filtered.milliseconds for filtered in rounds)
        print(f"{name}: {middle:.0f} ms, at first {first.milliseconds:.0f} ms ({first.count})")


def choose(chromium: webdriver.Chrome, filters: dict[str, Any]) -> Filtered:
    """Choose only these filters, by the names of their controls."""
    milliseconds, count = chromium.execute_async_script(CHOOSE, filters)
    return Filtered(milliseconds, count)


if __name__ == "__main__":
    main()
