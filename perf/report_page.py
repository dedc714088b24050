"""Times how fast a report's page with 5,000 rows, five runs and images opens and filters in headless Chromium.

    python perf/report_page.py [--items 5000] [--models 5]

The script prints the file's size, the time to write it, the times until the first screen is painted and until its rows
are there, and for each filter the time until the browser has drawn its result.
"""

import argparse
import platform
import shutil
import tempfile
from pathlib import Path
from statistics import median

from selenium import webdriver

from halluscope.reporting.page.writing import write
from made_page import made_page
from timing import seconds

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
const told = () => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd];
requestAnimationFrame(() => setTimeout(() => done(told())));
"""


def browser() -> webdriver.Chrome:
    """Start Debian's Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("headless=new", "no-sandbox", "disable-gpu"):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description="Time a report's page in a browser.")
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--models", type=int, default=5)
    given = parser.parse_args()
    page = made_page(given.items, given.models, THUMBNAIL)
    pictures = [len(picture.content) for picture in page.pictures.values()]
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        file = Path(folder, "report.html")
        took = seconds(lambda: write(page, file))
        version = chromium.capabilities["browserVersion"]
        print(f"{platform.machine()}, Chromium {version}, headless; medians of {ROUNDS}")
        print(
            f"{given.items:,} rows, {given.models} runs, images of {sum(pictures) / len(pictures) / 1000:.1f} KB"
        )
        print(f"the file: {file.stat().st_size / 1e6:.1f} MB, written in {took:.1f} s")
        opened = []
        for _ in range(ROUNDS):
            chromium.get(file.as_uri())
            opened.append(chromium.execute_async_script(OPENED))
        painted, complete = (median(times) for times in zip(*opened, strict=True))
        print(f"first screen: {painted / 1000:.2f} s; its rows: {complete / 1000:.2f} s")
        chromium.get(file.as_uri())
        at_once, _ = chromium.execute_async_script(CHOOSE, {"q": "umbrella"})
        print(f"a search right after opening, before the page has prepared for searches: {at_once:.0f} ms")
        for name, wanted in FILTERS.items():
            tried = [chromium.execute_async_script(CHOOSE, wanted) for _ in range(ROUNDS)]
            times = [took for took, _ in tried]
            print(f"{name}: {median(times):.0f} ms, at first {times[0]:.0f} ms ({tried[0][1]})")


if __name__ == "__main__":
    main()
