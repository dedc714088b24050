"""Four figures that papers use, drawn by matplotlib: for a report's page, and as files.

Scores with their intervals; errors by class; errors along the text; two benchmarks against each other, as in THRONE's
Figures 6 and 7. matplotlib is imported when the first one is drawn.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.benchmark import Benchmark
from halluscope.errors import needs
from halluscope.files.writing import new_folder
from halluscope.reporting.page import content
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Item, Shown
from halluscope.reporting.tables import ARROWS, Values, is_defined
from halluscope.sanitize import one_line
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import correlations
from halluscope.stats.ratios import Floats, wilson

FORMATS = ("svg", "pdf", "png")
CAPTIONS = "captions.txt"

# After Okabe and Ito. Each model also has a marker, so that a figure can be read without colours.
COLOURS = ("#2f86d1", "#d55e00", "#009e73", "#b5609a", "#9a7700")
MARKERS = ("o", "s", "^", "D", "v")

MOST_MODELS = 25  # as many as there are pairs of a colour and a marker
MOST_REPEATED = 5  # models in a figure that draws each of them for every class, or as a line
MOST_CLASSES = 20
MOST_PARTS = 20

WIDTH = 6.4  # of a figure, in inches
PAGE_WIDTH = 4.6  # of a figure on a page, so that its letters can be read on a phone
ROW, POINT = 0.15, 0.08  # heights of a row, and of each model's point in it, in inches
AROUND = 0.9  # the height of all around the rows
LEGEND_LINE = 0.2  # the height of a line of names, after the first
APART = 0.72  # the share of a row's height in which its points are drawn

LONGEST = 32  # characters of a name; a longer one is cut in the middle
LINE = 54  # characters in a line of names
KEPT = 12  # how many of these are kept at the name's end, where similar models differ

TENTHS = 10

STYLE: dict[str, Any] = {
    "font.sans-serif": ["DejaVu Sans"],  # which matplotlib brings
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.markersize": 5,
    "lines.markeredgewidth": 0,
    "pdf.fonttype": 42,  # TrueType, as publishers want it
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "halluscope",  # the same figure gives the same file
    "text.parse_math": False,  # a name may hold dollar signs
}
INTERVAL = {"linewidth": 1, "alpha": 0.5}
UNDATED: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}

OF_THE_RESULT = "Lines are the intervals of the result, if it has any."
OF_WILSON = "Lines are Wilson's intervals at 95 %, which assume that the counts are independent."


@dataclass(frozen=True)
class Point:
    """A number and the ends of its interval; NaN for what is undefined."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn."""

    name: str  # the name of its files, such as "classes"
    title: str  # the question that it answers
    caption: str  # what it shows, and how that was counted
    drawing: Any  # a figure of matplotlib

    def file(self, form: str, transparent: bool = False) -> bytes:
        """Return the content of a file in one of `FORMATS`; the same figure gives the same file."""
        written = BytesIO()
        with _style(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's fonts may have it
            self.drawing.savefig(
                written,
                format=form,
                metadata=UNDATED[form],
                dpi=200,
                transparent=transparent,
            )
        return written.getvalue()

    @property
    def on_page(self) -> content.Figure:
        """The figure as a page holds it, which turns it light on dark pages."""
        height = self.drawing.get_figheight()
        self.drawing.set_size_inches(PAGE_WIDTH, height)
        svg = self.file("svg", transparent=True).decode("utf-8")
        self.drawing.set_size_inches(WIDTH, height)
        return content.Figure(self.name, self.title, self.caption, svg)


def write(
    figures: Sequence[Figure],
    folder: Path,
    formats: Sequence[str] = FORMATS,
) -> None:
    """Write figures into a new folder, a file in each format, and their captions.

    Raises:
        OutputError: if the folder exists.
        OSError: if it cannot be written.
    """
    with new_folder(folder) as new:
        captions = []
        for figure in figures:
            captions.append(f"{figure.name}: {figure.title}\n{figure.caption}\n")
            for form in formats:
                file = new / f"{figure.name}.{form}"
                file.write_bytes(figure.file(form))
        file = new / CAPTIONS
        file.write_text("\n".join(captions), "utf-8", "backslashreplace", "\n")


# Scores


def of_models(
    models: Sequence[Shown],
    benchmark: Benchmark,
    scores: Sequence[str] = (),
) -> list[Figure]:
    """Return the figures of models in one benchmark, the best model first; those that lack their data are left out."""
    figures = [
        of_scores(models, benchmark, scores),
        of_classes(models),
        of_places(models),
    ]
    return [figure for figure in figures if figure is not None]


def of_scores(
    models: Sequence[Shown],
    benchmark: Benchmark,
    scores: Sequence[str] = (),
) -> Figure | None:
    """Draw the scores that have the principal score's scale, and in a panel of their own its parts; or these scores.

    Returns:
        The figure; None if no score is defined.

    Raises:
        ValueError: if some of these scores are shares and others points.
    """
    is_points = benchmark.is_points(scores[0] if scores else benchmark.principal)
    panels = _panels(models, benchmark, scores, is_points)
    if not panels:
        return None
    best = models[:MOST_MODELS]
    heights = [len(names) for names in panels.values()]
    with _style():
        height = _height(sum(heights), len(best))
        figure = _blank(height + AROUND * len(panels) / 2)
        axes = figure.subplots(len(panels), sharex=True, squeeze=False, height_ratios=heights)
        for panel, title in zip(axes[:, 0], panels, strict=True):
            names = panels[title]
            panel.set_title(title)
            for number, model in enumerate(best):
                points = [point_of(model.scores, name) for name in names.values()]
                _draw_row_points(panel, number, len(best), points)
            _label_rows(panel, list(names))
        for panel in axes[:, 0]:  # once all is drawn, which widens the scale that they share
            _scale(panel.xaxis, not is_points)
        _add_legend(figure, best)
    return Figure(
        name="scores",
        title="What are the scores?",
        caption=f"Arrows say whether higher or lower is better. {OF_THE_RESULT}{_about(best, models)}",
        drawing=figure,
    )


def _panels(
    models: Sequence[Shown], benchmark: Benchmark, scores: Sequence[str], is_points: bool
) -> dict[str, dict[str, str]]:
    """Return title -> the scores in a panel: label -> the score's name; {} if none is defined."""
    whole: dict[str, str] = {}
    for name in scores or benchmark.scores:
        fits = benchmark.is_points(name) == is_points
        if scores and not fits:
            raise ValueError(
                f"Of {scores[0]} and {name} one is a share and one is points; expected scores of one scale."
            )
        if fits and _is_known(models, name):
            whole[_labelled(benchmark, name)] = name
    if not whole:
        return {}
    panels = {"": whole}
    parts = _parts(models, benchmark.principal)
    if len(parts) > 1 and not scores:
        panels[f"{benchmark.principal} of parts"] = parts
    return panels


def _parts(models: Sequence[Shown], score: str) -> dict[str, str]:
    """Return the first parts of a score: "random" -> "accuracy/random"."""
    parts: dict[str, str] = {}
    for model in models:
        for name in model.scores:
            if len(parts) == MOST_PARTS:
                return parts
            if name.startswith(f"{score}/") and _is_known(models, name):
                parts[name.removeprefix(f"{score}/")] = name
    return parts


def _is_known(models: Sequence[Shown], score: str) -> bool:
    return any(is_defined(model.scores.get(score)) for model in models)


def _labelled(benchmark: Benchmark, score: str) -> str:
    return score + ARROWS[benchmark.direction(score)]


def point_of(result: Values, score: str) -> Point:
    """Return a score of a result, and its interval if it has one."""
    value = result.get(score)
    if not is_defined(value):
        return Point()
    intervals = result.get("interval", {})
    if score not in intervals:
        return Point(value)
    low, high = intervals[score]
    return Point(value, low, high)


# Errors by class


@dataclass
class Errors:
    """How many rows mention a class rightly, how many wrongly, and how many miss it."""

    found: int = 0
    hallucinated: int = 0
    missed: int = 0

    @property
    def wrong_mentions(self) -> Point:
        return share(self.hallucinated, self.found + self.hallucinated)

    @property
    def misses(self) -> Point:
        return share(self.missed, self.found + self.missed)


def errors_by_class(items: Sequence[Item]) -> dict[str, Errors]:
    """Return the errors of each class that was mentioned or missed."""
    errors: dict[str, Errors] = {}
    for item in items:
        for name, outcome in item.classes.items():
            if outcome not in (FOUND, HALLUCINATED, MISSED):
                continue
            of_class = errors.setdefault(name, Errors())
            of_class.found += outcome == FOUND
            of_class.hallucinated += outcome == HALLUCINATED
            of_class.missed += outcome == MISSED
    return errors


def of_classes(models: Sequence[Shown]) -> Figure | None:
    """Draw which of a class's mentions are wrong and how often it is missed, for the classes with the most errors.

    Returns:
        The figure; None if no row says which classes were mentioned.
    """
    best = models[:MOST_REPEATED]
    by_model = [errors_by_class(model.items) for model in best]
    totals: Counter[str] = Counter()
    misses = 0
    for by_class in by_model:
        for name, errors in by_class.items():
            totals[name] += errors.hallucinated + errors.missed
            misses += errors.missed
    if not totals:
        return None
    worst_first = sorted(totals, key=lambda name: (-totals[name], name))
    names = worst_first[:MOST_CLASSES]
    panels: dict[str, Callable[[Errors], Point]] = {
        "mentions that are wrong": lambda errors: errors.wrong_mentions
    }
    if misses:
        panels["present, not mentioned"] = lambda errors: errors.misses
    with _style():
        height = _height(len(names), len(best))
        figure = _blank(height + AROUND)
        axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (title, share_of) in zip(axes, panels.items(), strict=True):
            panel.set_title(title)
            for number, by_class in enumerate(by_model):
                points = [share_of(by_class.get(name, Errors())) for name in names]
                _draw_row_points(panel, number, len(best), points)
            _label_rows(panel, [short(name) for name in names])
        for panel in axes:  # once all is drawn, which widens the scale that they share
            _scale(panel.xaxis, ticks=2)
        _add_legend(figure, best)
    which = f"The {len(names)} of {len(totals):,} classes with the most errors, the most on top."
    if len(names) == len(totals):
        which = f"All {len(names)} classes, the one with the most errors on top."
    return Figure(
        name="classes",
        title="Which classes are wrong most often?",
        caption=f"{which} A class counts once per row. {OF_WILSON}{_about(best, models)}",
        drawing=figure,
    )


# Errors along the text


@dataclass
class Mentions:
    """How many mentions of classes begin in a tenth of the texts, and how many of them are wrong."""

    total: int = 0
    wrong: int = 0


def mentions_by_tenth(items: Sequence[Item]) -> list[Mentions]:
    """Count the mentions in each tenth; two marks of one place that say the same are one mention."""
    tenths = [Mentions() for _ in range(TENTHS)]
    for item in items:
        marks = {(mark.start, mark.end, mark.of, mark.kind) for mark in item.marks}
        for start, _, name, kind in marks:
            if not name or kind not in ("good", "bad"):
                continue
            place = TENTHS * start // len(item.text)
            place = min(place, TENTHS - 1)
            tenth = tenths[place]
            tenth.total += 1
            tenth.wrong += kind == "bad"
    return tenths


def of_places(models: Sequence[Shown]) -> Figure | None:
    """Draw the share of mentions that are wrong along the text.

    Returns:
        The figure; None if no mentions are marked, or only those that are wrong.
    """
    best = models[:MOST_REPEATED]
    by_model = [mentions_by_tenth(model.items) for model in best]
    total = 0
    wrong = 0
    for tenths in by_model:
        for tenth in tenths:
            total += tenth.total
            wrong += tenth.wrong
    if wrong == total:
        return None

    middles = (np.arange(TENTHS) + 0.5) / TENTHS
    with _style():
        figure = _blank(height=3.0)
        panel = figure.subplots()
        for number, tenths in enumerate(by_model):
            points = [share(tenth.wrong, tenth.total) for tenth in tenths]
            _draw_line(panel, number, middles, points)
        panel.set_ylabel("mentions that are wrong")
        panel.set_xlabel("place in the text")
        panel.set_xlim(0, 1)
        panel.set_xticks([0, 0.5, 1], ["start", "middle", "end"])
        panel.grid(axis="y")
        _scale(panel.yaxis)
        _add_legend(figure, best)
    return Figure(
        name="places",
        title="Where in the text are hallucinations?",
        caption="Each text is cut into tenths of equal length. A point is the share of the mentions beginning there "
        f"that are wrong ({wrong:,} of {total:,} mentions in all). {OF_WILSON}{_about(best, models)}",
        drawing=figure,
    )


# Two benchmarks against each other


@dataclass(frozen=True)
class ModelInTwo:
    """A model in two benchmarks."""

    name: str
    first: Point
    second: Point


@dataclass(frozen=True)
class Axis:
    """A score of a benchmark."""

    benchmark: str  # the name that is shown
    score: str
    is_points: bool
    is_lower_better: bool = False


def of_two_benchmarks(first: Axis, second: Axis, models: Sequence[ModelInTwo]) -> Figure:
    """Draw models as points in a plane; and if both scores are shares, as lines from one to the other.

    Raises:
        ValueError: if there are fewer than three models.
        MissingExtra: if matplotlib, or scipy for the correlation, is not installed.
    """
    first_values = []
    second_values = []
    for model in models:
        first_values.append(model.first.value)
        second_values.append(model.second.value)
    correlation = correlations(first_values, second_values, Bootstrap(0))
    spearman = correlation["spearman"]["value"]
    are_shares = not first.is_points and not second.is_points
    with _style():
        figure = _blank(height=4.0)
        panels = figure.subplots(1, 2 if are_shares else 1, squeeze=False)[0]
        _draw_plane(panels[0], first, second, models)
        panels[0].set_title(f"Spearman: {spearman:.3f}")
        if are_shares:
            _draw_changes(panels[1], first, second, models)
            panels[1].set_title("From one to the other")
        _add_legend(figure, models)
    caption = (
        f"The {len(models)} models that have both scores; Spearman's rank correlation is {spearman:.3f}. "
    )
    if len(models) > MOST_MODELS:
        caption += f"After {MOST_MODELS} models, colours and markers are those of the first ones again. "
    if first.is_lower_better != second.is_lower_better:
        caption += "It is negative where both rank alike, since of one of the scores a lower one is better. "
    return Figure(
        name="benchmarks",
        title="Do both benchmarks rank the models alike?",
        caption=caption + OF_THE_RESULT,
        drawing=figure,
    )


def _draw_plane(panel: Any, first: Axis, second: Axis, models: Sequence[ModelInTwo]) -> None:
    for number, model in enumerate(models):
        x = model.first
        y = model.second
        look = _look(number)
        colour = look["color"]
        panel.plot([x.low, x.high], [y.value, y.value], color=colour, **INTERVAL)
        panel.plot([x.value, x.value], [y.low, y.high], color=colour, **INTERVAL)
        panel.plot(x.value, y.value, **look)
    panel.set_xlabel(f"{first.benchmark}: {first.score}")
    panel.set_ylabel(f"{second.benchmark}: {second.score}")
    panel.grid()
    _scale(panel.xaxis, not first.is_points)
    _scale(panel.yaxis, not second.is_points)


def _draw_changes(panel: Any, first: Axis, second: Axis, models: Sequence[ModelInTwo]) -> None:
    for number, model in enumerate(models):
        _draw_line(panel, number, np.array([0.0, 1.0]), [model.first, model.second])
    left = f"{first.benchmark}\n{first.score}"
    right = f"{second.benchmark}\n{second.score}"
    panel.set_xticks([0, 1], [left, right])
    panel.set_xlim(-0.2, 1.2)
    panel.grid(axis="y")
    _scale(panel.yaxis)


# Parts of a figure


def share(count: int, total: int) -> Point:
    """Return a count out of a total, with Wilson's interval at 0.95; NaN if the total is 0.

    >>> share(0, 10).low, round(share(0, 10).high, 3)
    (0.0, 0.278)
    """
    if not total:
        return Point()
    low, high = wilson(count, total)
    return Point(count / total, low, high)


def short(name: str) -> str:
    """Return a foreign name on one line, cut in the middle if it is too long."""
    line = one_line(name)
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST - KEPT - 3]}...{line[-KEPT:]}"


def short_names(names: Sequence[str]) -> list[str]:
    """Return foreign names as `short` does; of those that would look alike, the common beginning is cut instead.

    >>> short_names(["one-long-name-of-a-model-7b" + "-greedy" * 5, "one-long-name-of-a-model-13b" + "-greedy" * 5])
    ['...-of-a-model-7b-greedy-gree...', '...-of-a-model-13b-greedy-gre...']
    """
    alike: dict[str, set[str]] = {}
    for name in names:
        alike.setdefault(short(name), set()).add(one_line(name))
    cut_names = []
    for name in names:
        cut = short(name)
        if len(alike[cut]) > 1:
            begin = max(0, _same_at_start(alike[cut]) - KEPT)
            cut = f"...{one_line(name)[begin:]}"
        if len(cut) > LONGEST:
            cut = f"{cut[: LONGEST - 3]}..."
        cut_names.append(cut)
    return cut_names


def _same_at_start(texts: Collection[str]) -> int:
    """Return how many characters texts have in common at their start."""
    count = 0
    for characters in zip(*texts, strict=False):
        if len(set(characters)) > 1:
            break
        count += 1
    return count


def _about(best: Sequence[Shown], models: Sequence[Shown]) -> str:
    """Say what a reader must know of the models that are drawn; "" if all are, and have the same rows."""
    remark = ""
    names = short_names([model.name for model in best])
    if len(best) < len(models):
        remark += f" Of {len(models)} models, these are drawn: {', '.join(names)}."
    rows = set()
    sizes = []
    for name, model in zip(names, best, strict=True):
        ids = frozenset(item.id for item in model.items)
        rows.add(ids)
        sizes.append(f"{name} {len(ids):,}")
    if len(rows) > 1:
        remark += f" The models have different rows: {', '.join(sizes)}."
    return remark


@contextmanager
def _style() -> Iterator[None]:
    """Draw in our style, whatever the user has set."""
    with needs("A figure", "figures"):
        import matplotlib.style
    with matplotlib.style.context(STYLE, after_reset=True):
        yield


def _blank(height: float) -> Any:
    """Return an empty figure of a height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def _height(rows: int, models: int) -> float:
    """Return the height of rows in inches."""
    return rows * (ROW + POINT * models)


def _look(number: int) -> dict[str, Any]:
    """Return the colour and the marker of a model by its number."""
    turn = number // len(COLOURS)  # another marker for the next model of a colour
    colour = COLOURS[number % len(COLOURS)]
    marker = MARKERS[(number + turn) % len(MARKERS)]
    return {
        "color": colour,
        "marker": marker,
        "clip_on": False,
        "zorder": 3,
    }


def _columns(points: Sequence[Point]) -> Floats:
    """Return points as their values, the low ends of their intervals and the high ones: [3, points]."""
    columns: Floats = np.array([astuple(point) for point in points]).T
    return columns


def _draw_row_points(
    panel: Any,
    number: int,
    models: int,
    points: Sequence[Point],
) -> None:
    """Draw a model's points and intervals, one in each row, a little below those of the models before it."""
    shift = APART * ((number + 0.5) / models - 0.5)
    rows = np.arange(len(points)) + shift
    values, lows, highs = _columns(points)
    look = _look(number)
    panel.plot([lows, highs], [rows, rows], color=look["color"], **INTERVAL)
    panel.plot(values, rows, linestyle="none", **look)


def _draw_line(panel: Any, number: int, places: Floats, points: Sequence[Point]) -> None:
    """Draw a model's points and intervals above places from left to right, and a line through them."""
    values, lows, highs = _columns(points)
    look = _look(number)
    panel.plot([places, places], [lows, highs], color=look["color"], **INTERVAL)
    panel.plot(places, values, linewidth=1.2, **look)


def _label_rows(panel: Any, labels: Sequence[str]) -> None:
    """Name the rows; every second one has a faint background to guide the eye."""
    for row in range(1, len(labels), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="black", alpha=0.05, linewidth=0)
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
    panel.grid(axis="x")


def _scale(axis: Any, is_share: bool = True, ticks: int = 4) -> None:
    """Give an axis few ticks; shares are in percent, and not drawn beyond 0 and 100 %."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    if is_share:
        low, high = axis.get_view_interval()
        axis.set_view_interval(max(low, 0), min(high, 1), ignore=True)
        axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")


def _add_legend(figure: Any, models: Sequence[Shown | ModelInTwo]) -> None:
    """Say which marker is which model, if there are several; the figure becomes higher by the lines of names."""
    from matplotlib.lines import Line2D

    if len(models) < 2:
        return
    markers = [Line2D([], [], linestyle="none", **_look(number)) for number in range(len(models))]
    names = short_names([model.name for model in models])
    longest = len(max(names, key=len))
    in_a_line = LINE // (longest + 5)
    lines = math.ceil(len(names) / in_a_line)
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * (lines - 1))
    figure.legend(
        markers,
        names,
        loc="outside upper left",
        ncols=in_a_line,
        handletextpad=0.2,
    )
