"""Object enumeration: what is listed and what is absent, by hand, by the paper's pseudocode, and by counting."""

import contextlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pycocotools.coco import COCO

from halluscope.benchmarks.object_enumeration.samples import INSTRUCTION
from halluscope.errors import BuildError
from tests import small_datasets

builder = small_datasets.builder("object_enumeration")

CLASSES = {9: "kite", 1: "person", 44: "tv", 3: "cup", 7: "dog"}
"""By id: person, cup, dog, kite, tv. The file has them out of order."""

WIDTH, HEIGHT = 90, 60
"""The lines of the grid lie at x = 30 and 60, and at y = 20 and 40."""


def coco(
    objects: dict[int, list[tuple[str, list[float]]]], classes: dict[int, str] = CLASSES
) -> dict[str, Any]:
    """A COCO file's content: image id -> names and boxes, in the order of the file."""
    id_of = {name: number for number, name in classes.items()}
    flat = [(image_id, name, box) for image_id, each in objects.items() for name, box in each]
    return {
        "images": [
            {"id": i, "file_name": f"{i:012d}.jpg", "width": WIDTH, "height": HEIGHT}
            for i in [*objects][::-1]
        ],
        "annotations": [
            # `area` is that of the outline, which does not count: here it is the wrong way round
            {"id": n, "image_id": i, "category_id": id_of[name], "bbox": box, "iscrowd": n % 2, "area": n}
            | {"segmentation": [[0.0, 0.5, 1.5]]}
            for n, (i, name, box) in enumerate(flat)
        ],
        "categories": [{"id": i, "name": name, "supercategory": "thing"} for i, name in classes.items()],
    }


ANY = [0, 0, 9, 9]

OBJECTS: dict[int, list[tuple[str, list[float]]]] = {
    # Areas 100, 400, 100, 900: the dog, the second cup, then the first and the third, which are equal, in this order.
    # Centres: (5, 5), (50, 30), (85, 55), (15, 30).
    20: [
        ("cup", [0, 0, 10, 10]),
        ("cup", [40, 20, 20, 20]),
        ("person", [80, 50, 10, 10]),
        ("dog", [0, 15, 30, 30]),
    ],
    10: [("person", ANY), ("cup", ANY)],
    # Five persons of areas 1 to 25, and between them a kite of 9: the three largest are listed, and the kite.
    30: [
        ("person", [0, 0, 1, 1]),
        ("person", [0, 0, 2, 2]),
        ("person", [60, 0, 4, 4]),
        ("person", [0, 40, 5, 5]),
        ("kite", [30, 20, 3, 3]),
        ("person", [30, 40, 3, 3]),
    ],
    40: [("tv", ANY)],
    50: [],
}
"""Together are person and cup in 2 images, person and dog in 1, cup and dog in 1, person and kite in 1; tv is alone."""

ABSENT = {
    # Persons: cup 2, dog 1, kite 1; person and cup are there: dog 1/2, kite 1/2. Cups: person 2, dog 1: dog 1.
    # Added: dog 3/2, kite 1/2; divided: 3/4, 1/4; to the 10th: dog is 3 ** 10 = 59,049 times as likely.
    # RandomState(10) begins with 0.77 and 0.02, both dog; then 0.63, and kite is all that is left.
    10: ["dog", "kite"],
    # Persons: kite 1. The cup's and the dog's company is all there, so their rows stay zero.
    20: ["kite"],
    # Persons: cup 2/3, dog 1/3 (the kite is there); the kite's company, person, is there too. Cup is 1,024 times as
    # likely. RandomState(30) begins with 0.64 and 0.38, both cup; then dog is left.
    30: ["cup", "dog"],
    # The tv has no company at all: nothing can be drawn.
    40: [],
    # Nothing is there: all five have the same chance, so that fifths of [0, 1) stand for person, cup, dog, kite, tv.
    # RandomState(50) begins with 0.4946 dog, and 0.2281, 0.2555, 0.3963, 0.3773, all cup. Thirds now stand for person,
    # kite, tv: 0.9966 tv, 0.4082 kite, 0.7719 tv. Person is all that is left.
    50: ["dog", "cup", "tv", "kite", "person"],
}


def written(folder: Path, content: Any = None, name: str = "instances_train2017.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(coco(OBJECTS) if content is None else content))
    return folder / name


def build(folder: Path, content: Any = None, **options: Any) -> Path:
    """Build from a file's content as folder/out."""
    source = written(folder / "in", content)
    return builder.build(source, out=folder / "out", subset=True, **options)


def rows(out: Path) -> list[dict[str, Any]]:
    return pq.read_table(sorted((out / "data").glob("*.parquet"))).to_pylist()


def counts(out: Path) -> dict[str, Any]:
    return json.loads((out / "stats.json").read_text())["counts"]


def objects(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["name"], one["place"]) for one in row["objects"]]


# By hand


def test_rows_by_hand(tmp_path: Path) -> None:
    out = build(tmp_path)
    found = {row["image_id"]: row for row in rows(out)}
    assert list(found) == [10, 20, 30, 40, 50]  # by image id, whatever the order of the file
    assert objects(found[20]) == [
        ("dog", "left"),
        ("cup", "center"),
        ("cup", "top left"),
        ("person", "bottom right"),
    ]
    # Areas 25, 16, 9 (the kite, before the person of 9 that comes after it in the file), 9.
    assert objects(found[30]) == [
        ("person", "bottom left"),
        ("person", "top right"),
        ("kite", "center"),
        ("person", "bottom"),
    ]
    assert found[50]["objects"] == []
    assert {image_id: row["absent"] for image_id, row in found.items()} == ABSENT
    assert found[10] == {
        "id": "10",
        "image_id": 10,
        "file_name": "000000000010.jpg",
        "objects": [{"name": "person", "place": "top left"}, {"name": "cup", "place": "top left"}],
        "absent": ["dog", "kite"],
        "instruction": "<image> Give a list of objects and locations in the image.",
        "response": "person [top left]\ncup [top left]\ndog [absent]\nkite [absent]",
    }
    assert found[50]["response"].splitlines()[0] == "dog [absent]"


def test_without_negatives(tmp_path: Path) -> None:
    """Supplement, section 5.5: an image without objects then has nothing to list."""
    found = {row["image_id"]: row for row in rows(build(tmp_path, no_negatives=True))}
    assert [*found] == [10, 20, 30, 40] and not any(row["absent"] for row in found.values())
    assert found[10]["response"] == "person [top left]\ncup [top left]"


# By the printed pseudocode


def pseudocode(file: Path) -> dict[int, list[int]]:
    """The supplement's section 5.2 as printed, corrected as the card says: image id -> drawn category ids.

    It knows nothing of this package; images for which it cannot draw six are left out.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        train_dset = COCO(str(file))
    cat_ids = sorted(train_dset.getCatIds())
    num_cats = len(cat_ids)
    co_occur = np.zeros((num_cats, num_cats))
    cat_id2cont_id = {x: i for i, x in enumerate(cat_ids)}
    for iid in train_dset.getImgIds():
        anns = train_dset.loadAnns(train_dset.getAnnIds(imgIds=iid))
        pres_cats = np.unique([cat_id2cont_id[x["category_id"]] for x in anns])
        for r in pres_cats:
            for c in pres_cats:
                if r != c:
                    co_occur[int(r), int(c)] += 1
    drawn = {}
    for iid in train_dset.getImgIds():
        anns = train_dset.loadAnns(train_dset.getAnnIds(imgIds=iid))
        present_cont_ids = sorted({cat_id2cont_id[x["category_id"]] for x in anns})
        present_co_occur = co_occur[present_cont_ids].copy()
        present_co_occur[:, present_cont_ids] = 0
        present_co_occur = present_co_occur[present_co_occur.sum(axis=1) > 0]  # else it divides by zero
        present_co_occur = present_co_occur / present_co_occur.sum(axis=1, keepdims=True)
        present_co_occur = present_co_occur.sum(axis=0)
        if (present_co_occur > 0).sum() < 6:
            continue
        present_co_occur = present_co_occur / present_co_occur.sum()
        present_co_occur = present_co_occur**10
        present_co_occur = present_co_occur / present_co_occur.sum()
        rng = np.random.RandomState(iid)
        neg_ids = rng.choice(cat_ids, size=6, p=present_co_occur, replace=False)
        drawn[iid] = neg_ids.tolist()
    return drawn


def agree(file: Path, out: Path) -> int:
    """Check each row against the pseudocode and the properties, and count the rows drawn by the pseudocode."""
    content = json.loads(file.read_text())
    name_of = {category["id"]: category["name"] for category in content["categories"]}
    size = {image["id"]: (image["width"], image["height"]) for image in content["images"]}
    held: dict[int, list[dict[str, Any]]] = {image_id: [] for image_id in size}
    for annotation in content["annotations"]:
        held[annotation["image_id"]].append(annotation)
    drawn = pseudocode(file)
    found = rows(out)
    assert [row["image_id"] for row in found] == sorted(size)
    for row in found:
        there = held[row["image_id"]]
        if row["image_id"] in drawn:
            assert row["absent"] == [name_of[i] for i in drawn[row["image_id"]]]
        else:
            assert len(row["absent"]) < 6 or not there
        assert not {name_of[one["category_id"]] for one in there} & {*row["absent"]}
        assert len({*row["absent"]}) == len(row["absent"]) <= 6
        assert max(Counter(one["name"] for one in row["objects"]).values(), default=0) <= 3
        assert objects(row) == expected_objects(there, name_of, *size[row["image_id"]])
        lines = [f"{name} [{where}]" for name, where in objects(row)] + [
            f"{n} [absent]" for n in row["absent"]
        ]
        assert row["response"] == "\n".join(lines) and row["instruction"] == INSTRUCTION
    return len(drawn)


def expected_objects(
    annotations: list[dict[str, Any]], name_of: dict[int, str], width: int, height: int
) -> list[tuple[str, str]]:
    """The supplement's section 5.1, written a second time: largest remaining box first, the first of equal ones."""
    left, taken = list(annotations), []
    while left:
        areas = [one["bbox"][2] * one["bbox"][3] for one in left]
        taken.append(left.pop(areas.index(max(areas))))
    found: list[tuple[str, str]] = []
    for one in taken:
        name, (x, y, w, h) = name_of[one["category_id"]], one["bbox"]
        across, down = (x + w / 2) / width, (y + h / 2) / height
        line = "top" if down < 1 / 3 else "bottom" if down >= 2 / 3 else ""
        side = "left" if across < 1 / 3 else "right" if across >= 2 / 3 else ""
        if sum(other == name for other, _ in found) < 3:
            found.append((name, f"{line} {side}".strip() or "center"))
    return found


def test_real_images_against_the_pseudocode(upstream: Path, tmp_path: Path) -> None:
    source = upstream / "coco/tiny/instances_val2017.json"
    out = builder.build(source, out=tmp_path / "out", subset=True)
    assert agree(source, out) == 71 and counts(out)["rows_with_fewer_absences"] == 9


# LLaVA's instructions

SAMPLES = [
    {
        "id": "000000000010",
        "image": "000000000010.jpg",
        "conversations": [
            {"from": "human", "value": "What is it?\n<image>"},
            {"from": "gpt", "value": "A cup <image>."},
            {"from": "human", "value": " Whose?\n"},
            {"from": "gpt", "value": "É."},
        ],
        "model": "kept",
    },
    {"id": "ab", "conversations": [{"from": "human", "value": "Hello <image>"}]},
    {
        "id": 7,
        "image": "coco/train2017/000000000030.jpg",
        "conversations": [{"from": "human", "value": "<image>\nA?"}],
    },
    {"id": "x", "image": "gqa/images/10.jpg", "conversations": [{"from": "human", "value": "<image>\nB?"}]},
    {"id": "000000000010", "image": "COCO_train2014_000000000010.jpg", "conversations": []},
]


def test_instructions_by_hand(tmp_path: Path) -> None:
    instructions, train = written(tmp_path, SAMPLES, "llava.json"), tmp_path / "train.json"
    out = build(tmp_path, instructions=instructions, conversations=train)
    assert [(row["id"], row["image_id"], row["absent"]) for row in rows(out)] == [
        ("000000000010", 10, ABSENT[10]),
        ("7", 30, ABSENT[30]),
        ("000000000010", 10, ABSENT[10]),
    ]
    counted = counts(out)
    assert (counted["rows"], counted["samples_left_as_they_are"], counted["images"]) == (3, 2, 5)
    made = json.loads(train.read_text())
    assert made[1] == SAMPLES[1] and made[3] == SAMPLES[3]
    response = "person [top left]\ncup [top left]\ndog [absent]\nkite [absent]"
    first = [
        {"from": "human", "value": "<image> Give a list of objects and locations in the image."},
        {"from": "gpt", "value": response},
    ]
    unmarked = [{"from": "human", "value": "What is it?"}, {"from": "gpt", "value": "A cup ."}]
    assert made[0] == {**SAMPLES[0], "conversations": [*first, *unmarked, *SAMPLES[0]["conversations"][2:]]}
    assert made[4] == {**SAMPLES[4], "conversations": first}
    assert made[2]["conversations"][2] == {"from": "human", "value": "A?"}
    for number in (0, 2, 4):  # as LLaVA's training wants it: the image once, in the first turn
        values = [turn["value"] for turn in made[number]["conversations"]]
        assert [value.count("<image>") for value in values] == [1] + [0] * (len(values) - 1)


def test_a_sample_may_say_that_it_has_no_image(tmp_path: Path) -> None:
    samples, train = [SAMPLES[0], SAMPLES[1] | {"image": None}], tmp_path / "train.json"
    build(tmp_path, instructions=written(tmp_path, samples, "llava.json"), conversations=train)
    assert json.loads(train.read_text())[1] == samples[1]


def test_conversations_are_written_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="is inside the folder to build"):
        build(tmp_path, conversations=tmp_path / "out" / "train.json")


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ({"id": "a"}, "expected a JSON list"),
        ([SAMPLES[0] | {"id": None}], "sample 1 is"),
        ([SAMPLES[1], SAMPLES[3]], "None of the 2 samples is about one of the 5 images"),
    ],
)
def test_bad_instructions(samples: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=message):
        build(
            tmp_path,
            instructions=written(tmp_path, samples, "llava.json"),
            conversations=tmp_path / "train.json",
        )


# Visual Genome


def genome(folder: Path, images: list[Any], objects: list[Any]) -> Path:
    written(folder, images, "image_data.json")
    written(folder, objects, "objects.json")
    return folder


def one(*names: str, at: tuple[float, float, float, float] = (0, 0, 20, 20)) -> dict[str, Any]:
    return {"object_id": 1, "names": [*names], "synsets": [], **dict(zip("xywh", at, strict=True))}


def vg_image(number: int, coco_id: int | None, width: int = 180, height: int = 120) -> dict[str, Any]:
    return {"image_id": number, "coco_id": coco_id, "width": width, "height": height, "url": ""}


def test_visual_genome_by_hand(tmp_path: Path) -> None:
    """Image 10 is the person and the cup; image 40 the tv. Visual Genome's pictures are twice as large."""
    coco_ids = [None, 10, 40, 999, 30, 10]
    images = [vg_image(number, coco_id) for number, coco_id in enumerate(coco_ids, 1)]
    named = [
        [one("tree")],
        [one(" Cup", at=(61, 41, 9, 9)), one("table  top", "dog"), one(""), one()],
        [one("sky", at=(0, 0, 180, 120))],
        [one("sea")],
        [],
        [one("second")],
    ]
    objects_ = [{"image_id": number, "objects": of_image} for number, of_image in enumerate(named, 1)]
    out = build(tmp_path, visual_genome=genome(tmp_path / "vg", images, objects_))
    found = {row["image_id"]: row for row in rows(out)}
    # Of the centre (65.5, 45.5) the lines lie at 60 and 120, 40 and 80. The cup's row: person 2, dog 1; the person is
    # there by COCO, the dog by Visual Genome. The dog's row: person 1, cup 1, both there. Nothing can be drawn.
    assert objects(found[10]) == [("table top", "top left"), ("cup", "center")]
    assert found[10]["absent"] == []
    # The sky is no class: all but the tv, which COCO has there, are as likely, a quarter each. RandomState(40) begins
    # with 0.4077 cup, 0.0554 person, 0.7885 kite, 0.2873 cup; then dog is left.
    assert objects(found[40]) == [("sky", "center")]
    assert found[40]["absent"] == ["cup", "person", "kite", "dog"]
    # Visual Genome has no objects in image 30, and nothing of image 20: COCO's are listed.
    assert objects(found[30])[0] == ("person", "bottom left") and found[30]["absent"] == ABSENT[30]
    assert objects(found[20])[0] == ("dog", "left") and counts(out)["rows_of_visual_genome"] == 2


def test_files_about_other_images(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="is expected to hold 118,287 images"):
        builder.build(written(tmp_path / "in"), out=tmp_path / "out")
    visual_genome = genome(tmp_path / "vg", [vg_image(2, 999)], [])
    with pytest.raises(BuildError, match="have no objects for any of the 5 images"):
        build(tmp_path, visual_genome=visual_genome)


# Boxes that leave their picture, of 90 x 60


def test_a_box_that_leaves_its_picture_is_cut_if_that_is_meant(tmp_path: Path) -> None:
    """The dog sticks out by 60 of 90, so that the part that is left is smaller than the cup, and lies to the right."""
    held: list[tuple[str, list[float]]] = [
        ("dog", [60, 0, 90, 20]),
        ("cup", [0, 0, 30, 30]),
        ("tv", [95, 0, 9, 9]),
        ("kite", [-0.9, 0, 5, 5]),
    ]
    with pytest.raises(BuildError, match=r"Image 10 .* has the box .*90 x 60 pixels.*--clip"):
        build(tmp_path, coco({10: held}))
    out = build(tmp_path, coco({10: held}), clip=True)
    (row,) = rows(out)
    assert objects(row) == [("cup", "top left"), ("dog", "top right"), ("kite", "top left")]
    assert row["absent"] == []  # the tv is there, though its box is not
    assert (counts(out)["boxes_cut"], counts(out)["boxes_left_out"]) == (1, 1)


# Annotations that are not what they have to be


def changed(key: str, place: int, **values: Any) -> dict[str, Any]:
    content = coco(OBJECTS)
    content[key][place] |= values
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed("annotations", 1, bbox=[1, 2, 3, -4]), "of at least 0"),
        (changed("annotations", 1, bbox=[1, 2, 3]), "of at least 0"),
        (changed("annotations", 1, bbox=[1, 2, 3, "4"]), "of at least 0"),
        (changed("images", 1, width=0), r"images\[1\] has width 0"),
        (changed("categories", 1, name="kite"), "categories 9 and 1 are both called 'kite'"),
        (coco({-1: []}), "the image id -1; expected one from 0 to"),
    ],
)
def test_bad_annotations(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=message):
        build(tmp_path, content)
