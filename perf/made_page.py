"""Makes a report's page of any size about drawn scenes, with invented models and results."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

from PIL import Image, ImageDraw

from halluscope.judging.questions import article
from halluscope.reporting.page.content import Figure, Headline, Page, Picture
from halluscope.reporting.report_items import (
    FOUND,
    HALLUCINATED,
    MISSED,
    Fact,
    Item,
    Kind,
    Mark,
    Shown,
    plain_fact,
)
from halluscope.reporting.tables import Cell, Number, Table

SIZE = (320, 240)

# Invented model -> how often it invents or misses a class
MODELS = {"Kestrel-7B": 0.04, "Marten-13B": 0.07, "Kestrel-3B": 0.1, "Heron-8B": 0.14, "Otter-1B": 0.22}

VOTERS = ("word matching", "judge one", "judge two")
Pen = ImageDraw.ImageDraw
Draw = Callable[[Pen, int, int, random.Random], None]


def _dog(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    coat = draw.choice(["#8a5a34", "#3d3a38", "#c49a6c"])
    pen.ellipse((x, y - 22, x + 44, y - 4), coat)
    pen.ellipse((x + 34, y - 36, x + 56, y - 16), coat)
    pen.polygon([(x + 36, y - 30), (x + 33, y - 16), (x + 42, y - 26)], "#2b2624")
    for leg in (4, 12, 30, 38):
        pen.rectangle((x + leg, y - 10, x + leg + 4, y + 4), coat)
    pen.line([(x + 2, y - 16), (x - 10, y - 28)], coat, 4)
    pen.ellipse((x + 47, y - 30, x + 50, y - 27), "#111111")


def _bench(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    for rise in (14, 22, 30):
        pen.rectangle((x, y - rise, x + 70, y - rise + 4), "#7a4b2a")
    for leg in (6, 60):
        pen.rectangle((x + leg, y - 32, x + leg + 4, y + 6), "#4a4a4a")


def _umbrella(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    pen.pieslice((x, y - 78, x + 70, y - 18), 180, 360, draw.choice(["#c8413b", "#2f6fb0", "#e0a030"]))
    pen.line([(x + 35, y - 76), (x + 35, y)], "#3a3a3a", 3)


def _kite(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    y -= 130
    pen.polygon(
        [(x, y), (x + 16, y - 24), (x + 32, y), (x + 16, y + 30)], draw.choice(["#d9483b", "#7b4fa3"])
    )
    pen.line([(x + 16, y + 30), (x + 24, y + 60), (x + 8, y + 84)], "#555555", 1)


def _bird(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    y -= 145
    pen.arc((x, y, x + 20, y + 14), 190, 340, "#333333", 3)
    pen.arc((x + 18, y, x + 38, y + 14), 200, 350, "#333333", 3)


def _car(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    paint = draw.choice(["#3367a3", "#b6372f", "#4d7d54"])
    pen.rounded_rectangle((x, y - 24, x + 90, y - 4), 7, paint)
    pen.polygon([(x + 16, y - 24), (x + 28, y - 42), (x + 62, y - 42), (x + 76, y - 24)], paint)
    pen.polygon([(x + 24, y - 25), (x + 31, y - 38), (x + 60, y - 38), (x + 68, y - 25)], "#cfe3ee")
    for wheel in (14, 60):
        pen.ellipse((x + wheel, y - 13, x + wheel + 18, y + 5), "#222222", "#999999", 3)


def _boat(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    pen.polygon([(x, y - 12), (x + 72, y - 12), (x + 58, y + 4), (x + 12, y + 4)], "#6b4226")
    pen.polygon([(x + 34, y - 16), (x + 34, y - 70), (x + 66, y - 18)], "#f7f3e8")
    pen.line([(x + 32, y - 72), (x + 32, y - 12)], "#4a3020", 3)


def _ball(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    pen.ellipse((x, y - 20, x + 22, y + 2), "#e8e8e4", "#333333", 2)
    pen.polygon(
        [(x + 8, y - 12), (x + 14, y - 12), (x + 16, y - 7), (x + 11, y - 3), (x + 6, y - 7)], "#333333"
    )


def _person(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    pen.ellipse((x + 6, y - 70, x + 24, y - 52), "#c99b78")
    pen.rounded_rectangle((x + 3, y - 52, x + 27, y - 22), 6, draw.choice(["#3d6ea5", "#a54a3d", "#5d8a4a"]))
    for leg in (6, 17):
        pen.rectangle((x + leg, y - 24, x + leg + 7, y + 4), "#343a45")


DRAWN: Mapping[str, Draw] = {
    "dog": _dog,
    "bench": _bench,
    "umbrella": _umbrella,
    "kite": _kite,
    "bird": _bird,
    "car": _car,
    "boat": _boat,
    "sports ball": _ball,
    "person": _person,
}
CLASSES = sorted(DRAWN)
BEGIN = (
    "The image shows a quiet afternoon in the countryside, with green hills under a wide sky.",
    "This is a drawing of an open meadow below two rounded hills.",
    "The picture has a calm, rural setting; the sun stands low above the hills.",
)
SENTENCES = (
    "In the foreground there is {}.",
    "To the left, one can see {}.",
    "Not far from it, {} stands out against the grass.",
    "There is also {}, which seems to be the focus of the scene.",
    "Further back, {} is visible.",
    "In the background, a viewer may notice {}.",
)
END = (
    "The light is soft, and the atmosphere is calm and inviting.",
    "Overall, the scene suggests a day spent outdoors.",
    "The colours are muted, which gives the whole a peaceful mood.",
)


@dataclass(frozen=True)
class Light:
    """The colours of a scene without objects."""

    sky: str
    hill: str
    grass: str


LIGHTS = (
    Light("#bfe0f2", "#8fb59a", "#7fae5f"),
    Light("#f3d9b8", "#b59a86", "#9aa860"),
    Light("#d9e3ea", "#9fb0b5", "#86a874"),
    Light("#c9d6f0", "#8e9fc0", "#6f9e78"),
)
CREDIT = "drawn for this report, no rights reserved"
STYLE = (
    "text{font:13px Arial,sans-serif;fill:#333}rect{fill:#4477aa}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#77aadd}}"
)


def made_page(items: int = 60, models: int = 5, size: tuple[int, int] = SIZE, seed: int = 0) -> Page:
    """Return a page with this many scenes and models."""
    draw = random.Random(seed)
    scenes = {}  # the classes in each scene
    for number in range(items):
        scenes[f"{1000 + 37 * number}"] = draw.sample(CLASSES, draw.randint(2, 4))
    runs = []
    for model in list(MODELS)[:models]:
        rows = [_item(name, present, MODELS[model], draw) for name, present in scenes.items()]
        runs.append(Shown(model, scores={}, items=rows, voters=VOTERS))
    pictures = {}
    for name, present in scenes.items():
        width, height = size
        pictures[name] = Picture(_scene(present, size, draw), width, height, CREDIT)
    return Page(
        title="Drawn scenes",
        about="Which objects do models invent when they describe a picture? Each description is compared with what was "
        "drawn; three judges vote on every object.",
        headlines=[_headline(run) for run in runs],
        tables=[_table(runs)],
        figures=[
            _figure("classes", "Which classes are invented?", runs[-1], HALLUCINATED),
            _figure("missed", "Which are missed?", runs[-1], MISSED),
        ],
        runs=runs,
        pictures=pictures,
        asked="Describe this image in detail.",
        facts={
            "Data": f"{items} drawn scenes, {len(DRAWN)} classes",
            "Judges": ", ".join(VOTERS),
            "Made by": "perf/made_page.py; no model has seen these pictures",
        },
        citation="@misc{drawn,\n  title = {Drawn scenes},\n  note = {made by perf/made_page.py}\n}",
    )


def _item(name: str, present: Sequence[str], rate: float, draw: random.Random) -> Item:
    """Return a model's description of a scene; the model invents or misses a class at this rate."""
    missed = [cls for cls in present if draw.random() < rate]
    invented = []
    for cls in CLASSES:
        if cls not in present and draw.random() < rate / 1.5:
            invented.append(cls)
    mentioned = [cls for cls in present if cls not in missed]
    mentioned += invented
    draw.shuffle(mentioned)
    description = _describe(mentioned, invented, draw)
    classes = {}
    votes = {}
    for cls in mentioned:
        classes[cls] = HALLUCINATED if cls in invented else FOUND
        last_vote = draw.choices("10?", [20, 1, 0.1])[0]
        votes[cls] = "1" * (len(VOTERS) - 1) + last_vote
    facts = [plain_fact("drawn", present)]
    errors = []
    if invented:
        errors.append("hallucinated")
    if missed:
        errors.append("missed")
        facts.append(Fact("missed", [(cls, "bad") for cls in missed]))
        classes |= dict.fromkeys(missed, MISSED)
    return Item(
        id=name,
        text=description.text,
        image=name,
        marks=description.marks,
        facts=facts,
        errors=errors,
        classes=classes,
        parts={"objects": str(len(present))},
        votes=votes,
        disputed=any(len(set(signs)) > 1 for signs in votes.values()),
        badness=2.0 * len(invented) + len(missed),
    )


@dataclass(frozen=True)
class Description:
    """A response."""

    text: str
    marks: list[Mark]  # the classes in it


def _describe(mentioned: Sequence[str], invented: Sequence[str], draw: random.Random) -> Description:
    text = draw.choice(BEGIN)
    marks = []
    for cls, sentence in zip(mentioned, draw.sample(SENTENCES * 2, len(mentioned)), strict=True):
        before, after = sentence.split("{}")
        text += f" {before}{article(cls)} "
        start = len(text)
        text += cls
        kind: Kind = "good"
        outcome = FOUND
        if cls in invented:
            kind = "bad"
            outcome = HALLUCINATED
        marks.append(Mark(start, len(text), kind, f"{cls}: {outcome}", cls))
        text += after
    return Description(f"{text} {draw.choice(END)}", marks)


def _scene(classes: Sequence[str], size: tuple[int, int], draw: random.Random) -> bytes:
    """Return a drawing as a JPEG file."""
    image = _ground(draw.randrange(len(LIGHTS))).copy()
    pen = ImageDraw.Draw(image)
    for place, cls in enumerate(classes):
        x = 12 + place * 76 + draw.randint(0, 14)
        y = 176 + draw.randint(0, 50)
        DRAWN[cls](pen, x, y, draw)
    file = BytesIO()
    image.resize(size, Image.Resampling.LANCZOS).save(file, "JPEG", quality=82)
    return file.getvalue()


@cache
def _ground(number: int) -> Image.Image:
    """Draw sky and hills in one of the lights."""
    light = LIGHTS[number]
    noise = Image.effect_noise(SIZE, 7).convert("RGB")
    image = Image.new("RGB", SIZE, light.sky)
    pen = ImageDraw.Draw(image)
    pen.ellipse((230, 18, 266, 54), "#fdf3c9")
    pen.ellipse((-80, 96, 200, 300), light.hill)
    pen.ellipse((120, 110, 420, 320), light.hill)
    pen.rectangle((0, 158, 320, 240), light.grass)
    return Image.blend(image, noise, 0.12)


def _counts(run: Shown, outcome: str) -> dict[str, int]:
    """Return how many items have this outcome, by class."""
    counts = dict.fromkeys(CLASSES, 0)
    for item in run.items:
        for cls, item_outcome in item.classes.items():
            if item_outcome == outcome:
                counts[cls] += 1
    return counts


def _invented_share(run: Shown) -> float:
    invented = sum(_counts(run, HALLUCINATED).values())
    return invented / (invented + sum(_counts(run, FOUND).values()))


def _headline(run: Shown) -> Headline:
    percent = 100 * _invented_share(run)
    return Headline(
        name=run.name,
        score="invented",
        value=f"{percent:.1f} %",
        interval=f"{0.8 * percent:.1f} to {1.2 * percent:.1f} %",
        meaning=f"Of 100 objects that it names, about {percent:.0f} are not in the picture.",
        warnings=["Made-up numbers: no model has seen these pictures."],
        signature=f"drawn|data:scenes-{len(run.items)}|judges:three|model:{run.name}",
    )


def _table(runs: Sequence[Shown]) -> tuple[Table, str]:
    rows: list[list[Cell]] = []
    for run in runs:
        is_best = run is runs[0]
        missed = sum(_counts(run, MISSED).values())
        invented = Number(_invented_share(run), best=is_best)
        rows.append([run.name, len(run.items), invented, Number(missed, "d", best=is_best)])
    note = "Invented: the share of named objects that were not drawn, in percent. Best values are bold."
    return Table("All models", ["model", "pictures", "invented", "missed"], rows), note


def _figure(name: str, title: str, run: Shown, outcome: str) -> Figure:
    """Draw one bar per class, the longest first."""
    counts = _counts(run, outcome)
    most = max(1, max(counts.values()))
    bars = ""
    for row, cls in enumerate(sorted(CLASSES, key=lambda cls: -counts[cls])):
        bars += f'<text x="96" y="{26 + 24 * row}" text-anchor="end">{cls}</text>'
        width = 300 * counts[cls] / most
        bars += f'<rect x="104" y="{14 + 24 * row}" width="{width:.0f}" height="15" rx="2"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 232"><style>{STYLE}</style>{bars}</svg>'
    return Figure(name, title, f"{run.name}, counts per class.", svg)
