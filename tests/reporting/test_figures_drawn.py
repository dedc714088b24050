"""Figures as files: safe, reproducible, small, and drawn only from existing data; and the command that writes them."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from halluscope import registry
from halluscope.errors import MissingExtra
from halluscope.reporting.figures import charts, plots
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, MISSED, Item, Mark, Shown
from tests.runs.made import change, made, write
from tests.small_datasets import needs

pytestmark = pytest.mark.filterwarnings("ignore:.* was built from annotations without")
THRONE = registry.benchmark("throne")
SCORES = ("precision_cls", "recall_cls")
HOSTILE = (
    "</svg><script>alert(1)</script>",
    "a\" onload='alert(1)'",
    "$\\frac{1}{0}$ and $",
    "]]> <!-- &amp; &#x0;",
    "half \ud800, \u202eback, \u2028line, \x00\x1b[31m",
    f"style='fill: {charts.INK}'",
    "x" * 1_000_000,
    "\\input{/etc/passwd} %d {0}",
    "狗 🐕",
    "",
)


def model(name, seed, classes=("dog", "cup", "bench", "bus"), rows=60, voters=("a", "b", "c")):
    """A run with data for every figure; wherever there is a dog, its model invents a cup."""
    draws = np.random.default_rng(seed)
    items = []
    for row in range(rows):
        came = {one: str(draws.choice([FOUND, HALLUCINATED, MISSED, ABSENT])) for one in classes}
        came[classes[0]] = (FOUND, ABSENT)[row % 3 > 0]
        came[classes[1]] = (HALLUCINATED, ABSENT)[row % 3 > 0]
        text = "word " * int(draws.integers(10, 90))
        marks = [
            Mark(place := int(draws.integers(0, len(text) - 4)), place + 4, kind, "", one)
            for one, kind in zip(came, draws.choice(["good", "bad"], len(came)).tolist(), strict=True)
        ]
        items.append(Item(str(row), text, str(row), marks=marks, classes=came))
    scores = {one: float(draws.uniform(0.2, 0.9)) for one in (*SCORES, "f0.5_cls/a", "f0.5_cls/b")}
    scores["interval"] = {one: (value - 0.1, value + 0.05) for one, value in scores.items()}
    votes = draws.integers(0, 2, (rows, len(classes), 3)).astype(np.int8)
    return Shown(name, scores, items, voters=voters, votes=votes)


@pytest.fixture(scope="module")
def hostile():
    """Five models and four classes with hostile names."""
    return [model(name, seed, HOSTILE[5:9], voters=HOSTILE[1:4]) for seed, name in enumerate(HOSTILE[:5])]


@pytest.fixture(scope="module")
def drawn(hostile):
    return plots.figures(hostile, THRONE)


def test_a_file_holds_nothing_that_runs_or_comes_from_elsewhere(drawn):
    """All can be drawn, and text has the page's colours: no ink colour is left in attributes."""
    assert [one.name for one in drawn] == [*plots.FIGURES]
    known = {"svg", "title", "defs", "style", "g", "path", "use", "text", "clipPath", "rect"}
    for svg in (one.svg for one in drawn):
        assert len(svg) < 150_000
        nodes = [*ElementTree.fromstring(svg).iter()]
        assert {one.tag.rpartition("}")[2] for one in nodes} <= known
        for key, value in (pair for one in nodes for pair in one.attrib.items()):
            assert not key.rpartition("}")[2].startswith("on")
            assert "href" not in key or value.startswith("#")
            assert re.findall(r"url\((?!#)", value) == []
        assert not re.search(r"<!DOCTYPE|<\?|https?://(?!www\.w3\.org/(2000/svg|1999/xlink)\")", svg)
        colours = "".join(node.get("style", "") for node in nodes)
        assert charts.INK not in colours and "currentColor" in colours
        assert "prefers-color-scheme:dark" in svg and "DejaVu" not in svg


def test_names_are_only_text(hostile, drawn):
    """Each name is shown unchanged, on one line, shortened if it is long."""
    classes = next(one.svg for one in drawn if one.name == "classes")
    shown = [one.text for one in ElementTree.fromstring(classes).iter() if one.tag.endswith("}text")]
    for name in (*HOSTILE[:5], *HOSTILE[5:9]):
        assert charts.name(name) in shown
        assert len(charts.name(name)) <= charts.LONGEST
    assert charts.name("a" * 20 + "b" * 20).endswith("b" * charts.KEPT)


@pytest.mark.parametrize("style", ["svg", "pdf", "png"])
def test_the_same_numbers_give_the_same_file(style):
    """At any time, and with any settings of the user's matplotlib."""
    plot = plots.able(["groups"], [model("one", 1)], THRONE)[0][0]
    before = plot.saved(style)
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": "other", "text.color": "red"}):
        assert plot.saved(style) == before
        assert matplotlib.rcParams["font.size"] == 30
    assert before.startswith({"svg": b"<svg ", "pdf": b"%PDF", "png": b"\x89PNG"}[style])


def test_nothing_to_draw():
    """Each figure says what is missing: without rows, and with rows that hold nothing."""
    for items in ([], [Item(str(number), "") for number in range(50)]):
        able, lacking = plots.able([*plots.FIGURES], [Shown("a", {"signature": "s"}, items)], THRONE)
        assert able == [] and lacking.keys() == plots.FIGURES.keys()
        assert all(why and not why.endswith(".") for why in lacking.values())


def test_judges_that_never_disagree_and_judges_of_other_runs_are_left_out():
    one, other = model("one", 1), model("other", 2)._replace(voters=["somebody else"] * 3)
    _, lacking = plots.able(["judges"], [one._replace(votes=np.ones((60, 4, 3), np.int8))], THRONE)
    assert lacking == {"judges": "no two votes on the same text and class differ"}
    plot = plots.able(["judges"], [one, other], THRONE)[0][0]
    assert "Of 2 models, these are drawn: one." in plot.caption


def test_one_model_and_too_many():
    one, two = model("one", 1), [model(f"model {number}", number) for number in range(7)]
    alone = {plot.name: plot for plot in plots.able([*plots.FIGURES], [one], THRONE)[0]}
    assert "scores" not in alone and "models" not in alone["classes"].caption
    plot = plots.able(["classes"], two, THRONE)[0][0]
    assert "Of 7 models, these are drawn: model 0, model 1, model 2, model 3, model 4." in plot.caption
    assert b"model 4<" in plot.saved("svg") and b"model 5<" not in plot.saved("svg")


def test_models_with_different_rows_say_so():
    """Whether they are drawn side by side, or added up."""
    one, other = model("one", 1), model("other", 2, rows=40)
    for second, differ in ((other, True), (model("other", 2), False)):
        for plot in plots.able([*plots.FIGURES], [one, second], THRONE)[0]:
            assert plot.caption.endswith(" The models have different rows: one 60, other 40.") == differ
            assert ("different rows" in plot.caption) == differ


def test_where_nothing_can_be_missed_there_is_no_recall():
    """For example, if judges vote only on mentioned classes."""
    one = Shown("a", {}, [Item("1", "", classes={"dog": FOUND, "cup": HALLUCINATED})])
    two = Shown("a", {}, [Item("1", "", classes={"dog": FOUND, "cup": MISSED})])
    drawn = [plots.able(["classes"], [run], THRONE)[0][0].saved("svg") for run in (one, two)]
    assert [b"recall" in svg for svg in drawn] == [False, True] and all(b"precision" in svg for svg in drawn)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'halluscope\[figures\]'"):
        plots.figures([model("one", 1)], THRONE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    said = {"one": ["A dog and a cup."], "other": ["A person.", "A bus and a dog in the end."]}
    for name, texts in said.items():
        write(made(THRONE, folder / "made", texts), folder / "runs" / name)
    return folder / "runs"


@needs("throne")
def test_the_command(runs, tmp_path, ran, refused):
    out = tmp_path / "figures"
    said = ran("report --figures", out, runs)
    files = {file.name for file in out.iterdir()}
    assert files >= {"classes.svg", "classes.pdf", "places.svg", "places.pdf", "captions.txt"}
    assert not Path("report.html").exists()
    assert "figures: classes.svg, classes.pdf: Which classes are wrong most often?\n" in said.out
    assert said.err.endswith("judges is not drawn: no two votes on the same text and class differ.\n")
    captions = (out / "captions.txt").read_text("utf-8")
    assert "classes: Which classes are wrong most often?\nAll 4 classes, " in captions
    assert "is there already" in refused("report", runs, "--figures", out)


@needs("throne", "pope")
def test_the_command_refuses(runs, tmp_path, refused):
    changed = write(made(THRONE, tmp_path / "made"), tmp_path / "changed")
    change(changed, "items.jsonl", lambda rows: rows[:1], sealed=False)
    pope = write(made(registry.benchmark("pope"), tmp_path / "made"), tmp_path / "pope")
    (tmp_path / "none").mkdir()
    for words, said in (
        ([tmp_path / "none"], "There is no run in"),
        ([changed], "items.jsonl was changed"),
        ([runs, pope], "expected runs of one benchmark"),
    ):
        assert said in refused("report", *words, "--figures", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
