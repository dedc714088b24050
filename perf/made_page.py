"""Makes a report's page of any size about drawn scenes, with invented models and results."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import BytesIO

from PIL import Image, ImageDraw

from halluscope.reporting.page.content import Figure, Headline, Page, Picture
from halluscope.reporting.report_items import FOUND, HALLUCINATED, MISSED, Fact, Item, Mark, Shown
from halluscope.reporting.tables import Cell, Number, Table, share

SIZE = (320, 240)
MODELS = {"Kestrel-7B": 0.04, "Marten-13B": 0.07, "Kestrel-3B": 0.1, "Heron-8B": 0.14, "Otter-1B": 0.22}
"""Invented model -> how often it invents or misses a class."""

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
    x, y = x, y - 130
    pen.polygon(
        [(x, y), (x + 16, y - 24), (x + 32, y), (x + 16, y + 30)], draw.choice(["#d9483b", "#7b4fa3"])
    )
    pen.line([(x + 16, y + 30), (x + 24, y + 60), (x + 8, y + 84)], "#555555", 1)


def _bird(pen: Pen, x: int, y: int, draw: random.Random) -> None:
    x, y = x, y - 145
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
    "dog": _dog, "bench": _bench, "umbrella": _umbrella, "kite": _kite, "bird": _bird, "car": _car, "boat": _boat,
    "sports ball": _ball, "person": _person,
}  # fmt: skip
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


def made_page(items: int = 60, models: int = 5, size: tuple[int, int] = SIZE, seed: int = 0) -> Page:
    """Return a page with this many scenes and models."""
    draw = random.Random(seed)
    names = [f"{1000 + 37 * number}" for number in range(items)]
    there = {name: draw.sample(sorted(DRAWN), draw.randint(2, 4)) for name in names}
    runs = [
        Shown(model, {}, [_item(name, there[name], rate, draw) for name in names], voters=VOTERS)
        for model, rate in list(MODELS.items())[:models]
    ]
    credit = "drawn for this report, no rights reserved"
    return Page(
        title="Drawn scenes",
        about="Which objects do models invent when they describe a picture? Each description is compared with what was "
        "drawn; three judges vote on every object.",
        headlines=[_headline(run) for run in runs],
        tables=[_table(runs)],
        figures=[
            _figure("classes", "Which classes are invented?", runs),
            _figure("missed", "Which are missed?", runs),
        ],
        runs=runs,
        pictures={name: Picture(_scene(there[name], size, draw), *size, credit) for name in names},
        asked="Describe this image in detail.",
        facts={
            "Data": f"{items} drawn scenes, {len(DRAWN)} classes",
            "Judges": ", ".join(VOTERS),
            "Made by": "perf/made_page.py; no model has seen these pictures",
        },
        citation="@misc{drawn,\n  title = {Drawn scenes},\n  note = {made by perf/made_page.py}\n}",
    )


def _scene(classes: Sequence[str], size: tuple[int, int], draw: random.Random) -> bytes:
    image = _ground(draw.randrange(4)).copy()
    pen = ImageDraw.Draw(image)
    for place, name in enumerate(classes):
        DRAWN[name](pen, 12 + place * 76 + draw.randint(0, 14), 176 + draw.randint(0, 50), draw)
    file = BytesIO()
    image.resize(size, Image.Resampling.LANCZOS).save(file, "JPEG", quality=82)
    return file.getvalue()


@cache
def _ground(number: int) -> Image.Image:
    """Draw sky and hills in one of four lights."""
    sky, hill, grass = [
        ("#bfe0f2", "#8fb59a", "#7fae5f"), ("#f3d9b8", "#b59a86", "#9aa860"), ("#d9e3ea", "#9fb0b5", "#86a874"),
        ("#c9d6f0", "#8e9fc0", "#6f9e78"),
    ][number]  # fmt: skip
    image = Image.effect_noise((320, 240), 7).convert("RGB")
    flat = Image.new("RGB", (320, 240), sky)
    pen = ImageDraw.Draw(flat)
    pen.ellipse((230, 18, 266, 54), "#fdf3c9")
    pen.ellipse((-80, 96, 200, 300), hill)
    pen.ellipse((120, 110, 420, 320), hill)
    pen.rectangle((0, 158, 320, 240), grass)
    return Image.blend(flat, image, 0.12)


def _item(name: str, there: Sequence[str], rate: float, draw: random.Random) -> Item:
    missed = [one for one in there if draw.random() < rate]
    invented = [one for one in sorted(DRAWN) if one not in there and draw.random() < rate / 1.5]
    said = [one for one in there if one not in missed] + invented
    draw.shuffle(said)
    text, marks = _text(said, invented, draw)
    votes = {one: "1" * (len(VOTERS) - 1) + draw.choices("10?", [20, 1, 0.1])[0] for one in said}
    facts = [Fact("missed", [(one, "bad") for one in missed])] if missed else []
    return Item(
        id=name,
        text=text,
        image=name,
        marks=marks,
        facts=[Fact("drawn", [(one, "plain") for one in there]), *facts],
        errors=[word for word, found in (("hallucinated", invented), ("missed", missed)) if found],
        classes={one: HALLUCINATED if one in invented else FOUND for one in said}
        | dict.fromkeys(missed, MISSED),
        parts={"objects": str(len(there))},
        votes=votes,
        disputed=any(len({*signs}) > 1 for signs in votes.values()),
        badness=2.0 * len(invented) + len(missed),
    )


def _text(said: Sequence[str], invented: Sequence[str], draw: random.Random) -> tuple[str, list[Mark]]:
    text, marks = draw.choice(BEGIN), []
    for one, sentence in zip(said, draw.sample(SENTENCES * 2, len(said)), strict=True):
        named = f"{'an' if one[0] in 'aeiou' else 'a'} {one}"
        end = len(text) + 1 + sentence.index("{") + len(named)
        text += " " + sentence.format(named)
        kind, what = ("bad", "hallucinated") if one in invented else ("good", "found")
        marks.append(Mark(end - len(one), end, kind, f"{one}: {what}", one))  # type: ignore[arg-type]
    return f"{text} {draw.choice(END)}", marks


def _counts(run: Shown, outcome: str) -> dict[str, int]:
    return {name: sum(item.classes.get(name) == outcome for item in run.items) for name in sorted(DRAWN)}


def _share(run: Shown) -> float:
    invented = sum(_counts(run, HALLUCINATED).values())
    return invented / (invented + sum(_counts(run, FOUND).values()))


def _headline(run: Shown) -> Headline:
    share = _share(run)
    return Headline(
        run.name,
        "invented",
        f"{100 * share:.1f} %",
        f"{80 * share:.1f} to {120 * share:.1f} %",
        f"Of 100 objects that it names, about {100 * share:.0f} are not in the picture.",
        ["Made-up numbers: no model has seen these pictures."],
        f"drawn|data:scenes-{len(run.items)}|judges:three|model:{run.name}",
    )


def _table(runs: Sequence[Shown]) -> tuple[Table, str]:
    rows: list[list[Cell]] = [
        [
            run.name,
            len(run.items),
            share(_share(run))._replace(best=run is runs[0]),
            Number(sum(_counts(run, MISSED).values()), "d", best=run is runs[0]),
        ]
        for run in runs
    ]
    note = "Invented: the share of named objects that were not drawn, in percent. Best values are bold."
    return Table("All models", ["model", "pictures", "invented", "missed"], rows), note


def _figure(name: str, title: str, runs: Sequence[Shown]) -> Figure:
    """Draw one bar per class."""
    counts = _counts(runs[-1], MISSED if name == "missed" else HALLUCINATED)
    most = max(1, *counts.values())
    bars = "".join(
        f'<text x="96" y="{26 + 24 * row}" text-anchor="end">{one}</text>'
        f'<rect x="104" y="{14 + 24 * row}" width="{300 * count / most:.0f}" height="15" rx="2"/>'
        for row, (one, count) in enumerate(sorted(counts.items(), key=lambda pair: -pair[1]))
    )
    style = (
        "text{font:13px Arial,sans-serif;fill:#333}rect{fill:#4477aa}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#77aadd}}"
    )
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 232"><style>{style}</style>{bars}</svg>'
    return Figure(name, title, f"{runs[-1].name}, counts per class.", svg)
