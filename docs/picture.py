"""Makes docs/report.png, the README's picture of a report, from the demo's page in headless Chromium."""

import shutil
import sys
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from selenium import webdriver

from halluscope import cli

PICTURE = Path(__file__).with_name("report.png")
WIDTH, HEIGHT, COLOURS = 1040, 900, 128


def main() -> int:
    """Write the demo's page, scroll to its first row, and take a screenshot."""
    options = webdriver.ChromeOptions()
    for switch in ("headless=new", "no-sandbox", "hide-scrollbars", f"window-size={WIDTH},{HEIGHT}"):
        options.add_argument(f"--{switch}")
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        if status := cli.main(["demo", "--out", str(page), "--quiet"]):
            return status
        browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            browser.get(page.as_uri())
            browser.execute_script("document.querySelector('#items').scrollIntoView()")
            time.sleep(1)  # images load when they are scrolled into view
            taken = Image.open(BytesIO(browser.get_screenshot_as_png()))
        finally:
            browser.quit()
    taken.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
