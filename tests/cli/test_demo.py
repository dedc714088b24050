"""The demo: marked descriptions, a page with them, and commands to type next."""

import os
import shutil
import subprocess
import sys

import pytest

from halluscope import cli
from halluscope.benchmarks.throne import demo
from halluscope.paths import PACKAGE, share

KINDS = {
    "1": "woman good, frisbee good, dog good, people back, cars back",
    "2": "toilet seat good, sink good",
    "3": "man good, bench good, handbag good, bus back, bicycle bad",
    "4": "pizza good, table good, mug good, fork good, knife bad",
    "5": "cats good, sofa good, television good, guests back",
    "6": "double-decker bus good, traffic light good, cars good, Pedestrians good",
    "7": "teddy bear good, bed good",
    "8": "boats good, Seagulls good, person bad",
}
"""The mentions in each description, and what its picture makes of them: looked at, not computed."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_opens(folder, browser):
    assert cli.main(["demo", "--out", "page.html"]) == 0
    browser.get((folder / "page.html").as_uri())
    cards = browser.find_elements("css selector", "article.card")
    assert len(cards) == 8
    marks = browser.find_elements("css selector", "article.card mark")
    there = sorted(f"{mark.text.splitlines()[0]} {mark.get_attribute('class')}" for mark in marks)
    assert there == sorted(", ".join(KINDS.values()).split(", "))
    shown = browser.execute_async_script(
        "const done = arguments[0], images = [...document.querySelectorAll('article.card img')];"
        "const check = () => { images.forEach((one) => one.scrollIntoView());"
        "  const wide = images.map((one) => one.naturalWidth);"
        "  wide.every((one) => one) ? done(wide) : setTimeout(check, 50) };"
        "check()"
    )
    assert shown == [640] * 8
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_its_own_page_is_replaced_and_nothing_else(folder, capsys, monkeypatch):
    page = folder / "demo-report.html"
    for _ in range(2):
        assert cli.main(["demo"]) == 0
        first = page.read_bytes()
    monkeypatch.setattr(demo, "shown", lambda: pytest.fail("it was scored"))
    said = "demo-report.html is there already; name a new file or folder, or remove it."
    for content in (first.replace(b"bicycle", b"unicorn"), b"mine", first + b"<p>A note</p>", b""):
        page.write_bytes(content)
        assert cli.main(["demo"]) == 2
        assert said in capsys.readouterr().err
        assert page.read_bytes() == content
    (folder / "reports").mkdir()
    assert cli.main(["demo", "--out", "reports"]) == 2
    assert sorted(file.name for file in folder.iterdir()) == ["demo-report.html", "reports"]


WITHOUT = """
import sys
sys.modules['torch'] = sys.modules['transformers'] = sys.modules['matplotlib'] = None
from halluscope import cli, paths
from halluscope.cli import commands
assert paths.checkout() is None
assert cli.main(['demo']) == 0 and commands.parse(['publish', 'dataset', 'pope', '--org', 'me'])
heavy = {'datasets', 'evaluate', 'pyarrow', 'pandas', 'huggingface_hub'} & set(sys.modules)
assert not heavy, heavy
"""


def test_it_runs_away_from_the_checkout_without_torch_and_matplotlib(folder):
    """In a fresh process, as installed from a wheel: nothing heavy is imported, and the page says what is missing."""
    installed = folder / "site" / "halluscope"
    shutil.copytree(PACKAGE, installed)
    (installed / "_share").mkdir(exist_ok=True)
    for name in ("builders", "dataset_cards", "datasets", "metrics"):
        (installed / "_share" / name).symlink_to(share(name))
    environment = os.environ | {"PYTHONPATH": str(folder / "site")}
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, stdout=subprocess.DEVNULL, env=environment)
    page = (folder / "demo-report.html").read_text()
    assert page.count("data:image/webp") == 8 and "halluscope[figures]" in page
