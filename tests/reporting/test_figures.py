"""Figures: counts that can be checked by hand, files that are safe and always the same, and the command."""

import math
import re
import sys
from dataclasses import astuple
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from halluscope import registry
from halluscope.errors import MissingExtra
from halluscope.reporting import figures
from halluscope.reporting.figures import FORMATS, Axis, ModelInTwo, Point, share
from halluscope.reporting.page.drawings import drawing
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, MISSED, Item, Mark, Shown
from tests.reporting import pages
from tests.runs.made import change, made, write
from tests.small_datasets import needs

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* was built from annotations without", "ignore:.* questions are scored"
)
POPE = registry.benchmark("pope")
MMHAL = registry.benchmark("mmhal")
THRONE = registry.benchmark("throne")
HOSTILE = (*pages.HOSTILE, "\ufffe\uffff", "$\\frac{1}{0}$ and $", "狗 🐕", "", "_hidden")


def model(name, seed=0, classes=("dog", "cup", "bench", "bus"), rows=60):
    """A run with data for every figure."""
    draws = np.random.default_rng(seed)
    items = []
    for row in range(rows):
        outcomes = draws.choice([FOUND, HALLUCINATED, MISSED, ABSENT], len(classes))
        marks = []
        for number, kind in enumerate(draws.choice(["good", "bad"], len(classes))):
            start = int(draws.integers(0, 90))
            marks.append(Mark(start, start + 4, str(kind), "", classes[number]))
        by_class = dict(zip(classes, map(str, outcomes), strict=True))
        items.append(Item(str(row), "word " * 20, str(row), marks=marks, classes=by_class))
    scores = {
        "accuracy": 0.5,
        "f1": 0.25,
        "unparsed": math.nan,
        "accuracy/random": 0.6,
        "accuracy/popular": 0.4,
    }
    scores["interval"] = {"accuracy": (0.45, 0.6), "accuracy/random": (0.5, 0.7)}
    return Shown(name, scores, items)


def compared(*values):
    """Models with these scores in two benchmarks."""
    return [
        ModelInTwo(str(number), Point(first, first - 0.1, first + 0.1), Point(second))
        for number, (first, second) in enumerate(values)
    ]


def texts(figure):
    """Return the texts in a figure."""
    svg = figure.file("svg").decode()
    return [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("}text")]


# What is counted


def item(number, **classes):
    return Item(str(number), "a text", classes=classes)


def test_errors_of_a_class():
    """A dog is said in three rows, and there in two of them: 1 of 3 mentions is wrong, and 1 of 3 dogs is missed."""
    rows = [
        item(1, dog=FOUND),
        item(2, dog=FOUND, cup=MISSED),
        item(3, dog=HALLUCINATED),
        item(4, dog=MISSED),
        item(5, dog=ABSENT, bus=ABSENT),
    ]
    errors = figures.errors_by_class(rows)
    assert {name: astuple(counts) for name, counts in errors.items()} == {"dog": (2, 1, 1), "cup": (0, 0, 1)}
    assert errors["dog"].wrong_mentions == errors["dog"].misses == share(1, 3)
    assert math.isnan(errors["cup"].wrong_mentions.value)


def test_where_mentions_stand():
    """In a text of 20 characters, places 0 and 1 are the first tenth, and 19 is the last."""
    marks = [
        Mark(0, 3, "good", "", "dog"),
        Mark(1, 3, "bad", "", "cup"),
        Mark(1, 3, "bad", "said by another too", "cup"),
        Mark(19, 20, "bad", "", "bus"),
        Mark(10, 12, "back", "", "car"),
        Mark(10, 12, "open", "", "car"),
        Mark(10, 12, "bad", "a claim, of no class"),
    ]
    tenths = figures.mentions_by_tenth([Item("1", "x" * 20, marks=marks)])
    assert [astuple(tenth) for tenth in tenths] == [(2, 1), *[(0, 0)] * 8, (1, 1)]


# What is drawn


def test_scores_and_the_parts_of_the_principal_one():
    """Points and intervals stand at their scores; a score without a value has no row."""
    figure = figures.of_scores([model("a")], POPE)
    whole, parts = figure.drawing.axes
    labels = [[label.get_text() for label in panel.get_yticklabels()] for panel in (whole, parts)]
    assert labels == [["accuracy ↑", "f1 ↑"], ["random", "popular"]]
    interval, _, values = whole.lines
    assert [*values.get_xdata()] == [0.5, 0.25] and [*interval.get_xdata()] == [0.45, 0.6]
    assert parts.get_title(loc="left") == "accuracy of parts"
    (panel,) = figures.of_scores([model("a")], POPE, ["f1"]).drawing.axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["f1 ↑"]
    rated = Shown("a", {"rating": 3.5, "hallucination_rate": 0.25}, [])
    with pytest.raises(ValueError, match="Of rating and hallucination_rate one is a share and one is points"):
        figures.of_scores([rated], MMHAL, ["rating", "hallucination_rate"])


def test_both_panels_of_scores_are_read_at_the_scale_below_them():
    """Also where a point stands at 0, beyond which nothing is drawn."""
    shown = model("a")
    figure = figures.of_scores([shown._replace(scores={**shown.scores, "unparsed": 0.0})], POPE)
    figure.file("svg")
    whole, parts = figure.drawing.axes
    assert whole.get_xlim() == parts.get_xlim() and whole.get_xlim()[0] == 0


def test_two_benchmarks():
    """Ranks 1 2 3 4 and 1 2 4 3: Spearman's coefficient is 1 - 6 * 2 / (4 * 15) = 0.8."""
    models = compared((0.5, 0.1), (0.6, 0.2), (0.7, 0.4), (0.8, 0.3))
    first, second = Axis("POPE", "f1", False), Axis("POPE-C", "f1", False)
    figure = figures.of_two_benchmarks(first, second, models)
    assert {"Spearman: 0.800", "POPE: f1", "POPE-C: f1"} <= {*texts(figure)}
    assert "negative" not in figure.caption
    plane, change = figure.drawing.axes
    points = [line.get_xydata().tolist() for line in plane.lines if len(line.get_xdata()) == 1]
    assert points == [[[0.5, 0.1]], [[0.6, 0.2]], [[0.7, 0.4]], [[0.8, 0.3]]]
    steps = [line.get_ydata().tolist() for line in change.lines if line.get_marker() != "None"]
    assert steps == [[0.5, 0.1], [0.6, 0.2], [0.7, 0.4], [0.8, 0.3]]
    rated = figures.of_two_benchmarks(first, Axis("MMHal-Bench", "rating", True), models)
    assert len(rated.drawing.axes) == 1
    falling = figures.of_two_benchmarks(first, Axis("CHAIR", "chair_i", False, is_lower_better=True), models)
    assert "It is negative where both rank alike" in falling.caption


def test_many_models_with_long_names():
    """Each is named apart from the others, and the names leave the panels the room that they have for two models."""
    names = [
        f"experiments/of-the-last-year/llava-{number}/with-a-low-temperature/pope" for number in range(25)
    ]
    models = [model(name, seed) for seed, name in enumerate(names)]
    for figure in (
        figures.of_scores(models, POPE, ["f1"]),
        figures.of_two_benchmarks(
            Axis("POPE", "f1", False),
            Axis("MME", "accuracy", False),
            [ModelInTwo(name, Point(place / 40), Point(place / 50)) for place, name in enumerate(names * 2)],
        ),
    ):
        figure.file("svg")
        legend = [text.get_text() for text in figure.drawing.legends[0].get_texts()]
        assert len({*legend}) == len({*names}) and max(map(len, legend)) <= figures.LONGEST
        for panel in figure.drawing.axes:
            place = panel.get_position()
            assert place.height * figure.drawing.get_figheight() > 1.5
    assert "After 25 models, colours and markers are those of the first ones again." in figure.caption


# Files


@pytest.fixture(scope="module")
def hostile():
    """All figures, of models and classes with hostile names."""
    models = [model(name, seed, HOSTILE[-6:-1]) for seed, name in enumerate(HOSTILE[:5])]
    points = compared(*[(number / 20, number / 30) for number in range(len(HOSTILE))])
    named = [ModelInTwo(name, point.first, point.second) for name, point in zip(HOSTILE, points, strict=True)]
    axis = Axis("POPE", "f1", False)
    return [*figures.of_models(models, POPE), figures.of_two_benchmarks(axis, axis, named)]


def test_a_drawing_on_a_page_holds_nothing_that_runs_or_comes_from_elsewhere(hostile):
    known = {"svg", "title", "defs", "g", "path", "use", "text", "clipPath", "rect"}
    assert [figure.name for figure in hostile] == ["scores", "classes", "places", "benchmarks"]
    for figure in hostile:
        svg = str(drawing(figure.on_page.svg))
        assert len(svg) < 150_000
        for node in ElementTree.fromstring(svg).iter():
            assert node.tag in known
            for key, value in node.attrib.items():
                assert not key.startswith("on") and key != "style"
                assert key != "href" or value.startswith("#")
                assert re.findall(r"url\((?!#)", value) == []


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_numbers_give_the_same_file(form):
    """At any time, and with any settings of the user's matplotlib."""
    before = figures.of_scores([model("one")], POPE).file(form)
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": "other", "text.color": "red"}):
        assert figures.of_scores([model("one")], POPE).file(form) == before
        assert matplotlib.rcParams["font.size"] == 30
    assert before.startswith({"svg": b"<?xml ", "pdf": b"%PDF", "png": b"\x89PNG"}[form])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'halluscope\[figures\]'"):
        figures.of_models([model("one")], POPE)


# Runs


@needs("throne", "pope")
def test_the_command(runs, tmp_path, ran, refused):
    out = tmp_path / "figures"
    printed = ran("report --format svg pdf --figures", out, runs / "throne").out
    assert "figures: classes.svg, classes.pdf: Which classes are wrong most often?\n" in printed
    files = {file.name for file in out.iterdir()}
    figures_of_throne = {
        f"{name}.{form}" for name in ("scores", "classes", "places") for form in ("svg", "pdf")
    }
    assert files == {*figures_of_throne, "captions.txt"}
    assert "is there already" in refused("report", runs / "throne", "--figures", out)

    both = tmp_path / "both"
    ran("report --scores f0.5_cls f1 --format svg --figures", both, runs / "throne", runs / "pope")
    assert {file.name for file in both.iterdir()} == {"benchmarks.svg", "captions.txt"}
    svg = (both / "benchmarks.svg").read_text("utf-8")
    assert ">THRONE (throne_coco): f0.5_cls<" in svg and ">POPE (pope): f1<" in svg


@needs("throne", "pope", "chair")
def test_several_benchmarks_each_have_their_figures(runs, tmp_path, ran):
    """Two are also drawn against each other, where three models have both."""
    chair = write(made(registry.benchmark("chair"), tmp_path / "made"), tmp_path / "chair")
    throne, pope = runs / "throne", runs / "pope"
    of_throne = {f"throne-throne_coco-{name}.svg" for name in ("scores", "classes", "places")}
    of_pope = {f"pope-{name}.svg" for name in ("scores", "classes")}
    of_chair = {f"chair-throne_coco-{name}.svg" for name in ("scores", "classes", "places")}
    for number, (paths, files) in enumerate(
        [
            ([throne, pope], {"benchmarks.svg"} | of_throne | of_pope),
            ([throne / "one", pope], of_throne | of_pope),
            ([throne, pope, chair], of_throne | of_pope | of_chair),
        ]
    ):
        folder = tmp_path / str(number)
        printed = ran("report --format svg --figures", folder, *paths).out
        assert {file.name for file in folder.iterdir()} == files | {"captions.txt"}
        assert "POPE (pope): What are the scores?" in printed
        svg = (folder / "pope-scores.svg").read_text("utf-8")
        assert ">third<" in svg, "a model is named by its responses, not by the folder of its run"


@needs("throne", "pope", "chair")
def test_the_command_refuses(runs, tmp_path, refused):
    changed = write(made(THRONE, tmp_path / "made"), tmp_path / "changed")
    change(changed, "items.jsonl", lambda rows: rows[:1], sealed=False)
    throne, pope = runs / "throne", runs / "pope"
    chair = write(made(registry.benchmark("chair"), tmp_path / "made"), tmp_path / "chair")
    for words, said in (
        ([throne, "--scores", "f1_clas"], "Did you mean 'f1_cls'?"),
        ([throne, pope, "--scores", "f1", "f1", "f1"], "3 scores are named for two benchmarks"),
        ([throne, pope, chair, "--scores", "f1"], "the runs are of 3 benchmarks: THRONE"),
        ([changed], "items.jsonl was changed"),
        ([throne / "one", pope, "--scores", "f1_cls"], "POPE (pope): one; expected at least 3"),
    ):
        assert said in refused("report", *words, "--figures", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
