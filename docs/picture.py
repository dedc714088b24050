"""Makes docs/report.png and report-dark.png, the README's pictures of a report, from the demo's page in Chromium."""

import shutil
import sys
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from selenium import webdriver

from halluscope import cli

FILES = {"light": "report.png", "dark": "report-dark.png"}
WIDTH, HEIGHT, COLOURS = 1040, 900, 128
SHOWN = 585  # of the page's height: down to the scores


def main() -> int:
    """Write the demo's page, open it, and take a screenshot in each scheme of colours."""
    options = webdriver.ChromeOptions()
    for switch in ("headless=new", "no-sandbox", "hide-scrollbars", f"window-size={WIDTH},{HEIGHT}"):
        options.add_argument(f"--{switch}")
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        status = cli.main(["demo", "--out", str(page), "--quiet"])
        if status:
            return status
        browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            for scheme, name in FILES.items():
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
                browser.get(page.as_uri())
                time.sleep(2)  # images load when they are in view
                taken = Image.open(BytesIO(browser.get_screenshot_as_png()))
                taken = taken.crop((0, 0, taken.width, SHOWN))
                taken.convert("RGB").quantize(COLOURS).save(Path(__file__).with_name(name), optimize=True)
        finally:
            browser.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
