"""Figures as files: safe, reproducible, small, and drawn only from existing data; and the command that writes them."""

import re
import sys
from argparse import Namespace
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from halluscope import cli, registry
from halluscope.cli import runs as commands
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


def test_all_can_be_drawn(drawn):
    assert [one.name for one in drawn] == [*plots.FIGURES]


@pytest.mark.parametrize("name", plots.FIGURES)
def test_a_file_holds_nothing_that_runs_or_comes_from_elsewhere(name, drawn):
    svg = next(one.svg for one in drawn if one.name == name)
    assert len(svg) < 150_000
    root = ElementTree.fromstring(svg)
    known = {"svg", "title", "defs", "style", "g", "path", "use", "text", "clipPath", "rect"}
    assert {one.tag.rpartition("}")[2] for one in root.iter()} <= known
    for one in root.iter():
        for key, value in one.attrib.items():
            assert not key.rpartition("}")[2].startswith("on")
            assert "href" not in key or value.startswith("#")
            assert re.findall(r"url\((?!#)", value) == []
    assert not re.search(r"<!DOCTYPE|<\?|https?://(?!www\.w3\.org/(2000/svg|1999/xlink)\")", svg)


def test_colours_of_text_are_those_of_the_page(drawn):
    """No ink colour is left in attributes; a text that names it is unchanged, as far as names are shown."""
    for one in drawn:
        root = ElementTree.fromstring(one.svg)
        colours = [node.get("style", "") for node in root.iter()]
        assert not any(charts.INK in colour for colour in colours)
        assert any("currentColor" in colour for colour in colours)
        assert "prefers-color-scheme:dark" in one.svg and "DejaVu" not in one.svg


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


def test_judges_that_never_disagree_are_not_drawn():
    votes = np.ones((60, 4, 3), np.int8)
    _, lacking = plots.able(["judges"], [model("a", 1)._replace(votes=votes)], THRONE)
    assert lacking == {"judges": "no two votes on the same text and class differ"}


def test_one_model_and_too_many():
    one, two = model("one", 1), [model(f"model {number}", number) for number in range(7)]
    alone = {plot.name: plot for plot in plots.able([*plots.FIGURES], [one], THRONE)[0]}
    assert "scores" not in alone and "models" not in alone["classes"].caption
    plot = plots.able(["classes"], two, THRONE)[0][0]
    assert "Of 7 models, these are drawn: model 0, model 1, model 2, model 3, model 4." in plot.caption
    assert b"model 4<" in plot.saved("svg") and b"model 5<" not in plot.saved("svg")


def test_judges_of_other_runs_are_left_out():
    one, other = model("one", 1), model("other", 2)._replace(voters=["somebody else"] * 3)
    plot = plots.able(["judges"], [one, other], THRONE)[0][0]
    assert "Of 2 models, these are drawn: one." in plot.caption


def test_models_with_different_rows_say_so():
    """Whether they are drawn side by side, or added up."""
    one, other = model("one", 1), model("other", 2, rows=40)
    for plot in plots.able([*plots.FIGURES], [one, other], THRONE)[0]:
        assert plot.caption.endswith(" The models have different rows: one 60, other 40.")
    for plot in plots.able([*plots.FIGURES], [one, model("other", 2)], THRONE)[0]:
        assert "different rows" not in plot.caption


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


def test_an_unknown_figure_names_its_neighbour():
    with pytest.raises(
        ValueError, match=r"no figure 'clases'\. Did you mean 'classes'\? The known ones are scores, groups, "
    ):
        commands.plot(Namespace(figures=["classes", "clases"]))


# The command


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, said in {
        "one": ["A dog and a cup."],
        "other": ["A person.", "A bus and a dog in the end."],
    }.items():
        write(made(THRONE, folder / "made", said), folder / "runs" / name)
    return folder / "runs"


@needs("throne")
def test_the_command(runs, tmp_path, capsys):
    words = ["plot", str(runs), "--out", str(tmp_path / "figures")]
    assert cli.main([*words, "--figures", "classes", "places", "judges", "--format", "svg", "pdf"]) == 0
    said = capsys.readouterr()
    files = {file.name for file in (tmp_path / "figures").iterdir()}
    assert files == {"classes.svg", "classes.pdf", "places.svg", "places.pdf", "captions.txt"}
    assert "figures: classes.svg, classes.pdf: Which classes are wrong most often?\n" in said.out
    assert said.err == "judges is not drawn: no two votes on the same text and class differ.\n"
    captions = (tmp_path / "figures/captions.txt").read_text("utf-8")
    assert captions.startswith("classes: Which classes are wrong most often?\nAll 4 classes, ")
    assert cli.main(words) == 2 and "is there already" in capsys.readouterr().err


@needs("throne")
def test_the_command_refuses(runs, tmp_path, capsys):
    out = ["--out", str(tmp_path / "figures")]
    assert cli.main(["plot", str(runs), *out, "--figures", "class"]) == 2
    assert "Did you mean 'classes'?" in capsys.readouterr().err
    assert cli.main(["plot", str(runs), *out, "--figures", "groups"]) == 2
    assert "There is nothing to draw" in capsys.readouterr().err
    assert cli.main(["plot", str(tmp_path), *out]) == 2
    assert "There is no run in" in capsys.readouterr().err
    changed = write(made(THRONE, tmp_path / "made"), tmp_path / "changed")
    change(changed, "items.jsonl", lambda rows: rows[:1], sealed=False)
    assert cli.main(["plot", str(changed), *out]) == 2
    assert "items.jsonl was changed" in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()


@needs("throne", "pope")
def test_runs_of_two_benchmarks_are_refused(runs, tmp_path, capsys):
    other = write(made(registry.benchmark("pope"), tmp_path / "made"), tmp_path / "pope")
    assert cli.main(["plot", str(runs), str(other), "--out", str(tmp_path / "figures")]) == 2
    assert "expected runs of one benchmark" in capsys.readouterr().err
