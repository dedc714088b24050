"""Made rows and texts of each benchmark, enough for every part, convention and outcome; the same on each machine."""

from itertools import product
from typing import Any

from halluscope.benchmarks.hqh.data import LEVELS
from halluscope.benchmarks.mme.data import SUBTASKS
from halluscope.benchmarks.mmhal.data import TYPES

THINGS = ("dog", "cat", "bus", "chair", "cup", "person", "bicycle", "umbrella")

YES_NO_TEXTS = (
    "Yes",
    "No.",
    "No, there is no such thing in the image.",
    "Yes, there is one, next to the bench.",
    "**No**",
    "I cannot tell.",
    "",
    "There is not.",
    "<think>Is it there? No.</think>Yes, it is.",
    "It is a sunny day.",
    "no",
)

LETTER_TEXTS = ("A", "B", "The answer is C.", "D. A red car", "E", "e", "A dog or B", "None of them", "")

DESCRIPTIONS = (
    "A dog and a cat sit on a chair. There is no bus.",
    "Two people ride bicycles past a bus.",
    "The image shows a person with an umbrella, and a cup on the table.",
    "",
    "<think>A bus? No.</think>There are several chairs around a table. A dog may be asleep below it.",
    "A cat looks out of the window. A cat sleeps on the sofa.",
    "A man walks his dog; a woman holds a red umbrella.",
)

ANSWERS = (
    "There are two dogs.",
    "It is a cat on a red chair.",
    "I see nothing of the kind.",
    "",
    "<think>Let me count.</think>Three.",
)


def taken(values: tuple[Any, ...], rows: int, step: int = 1) -> list[Any]:
    """Return a value for each row, in turn; `step` gives another order."""
    return [values[(row * step) % len(values)] for row in range(rows)]


def thing(row: int) -> str:
    return THINGS[(row * 3 + row // 8) % len(THINGS)]


def pope() -> list[dict[str, Any]]:
    """Six questions about each of 20 images, two of each sampling."""
    rows = []
    for number in range(120):
        row = {"question_id": number, "image_id": number // 6, "object": thing(number)}
        row["question"] = f"Is there a {thing(number)} in the image?"
        row["sampling"] = ("random", "popular", "adversarial")[number % 3]
        row["answer"] = ("yes", "no")[(number // 3) % 2]
        rows.append(row)
    return rows


def dash_b() -> list[dict[str, Any]]:
    rows = []
    for number in range(60):
        row = {"question_id": number, "file_name": f"{number // 2}.jpg", "source": "coco"}
        row["object"] = thing(number)
        row["question"] = f"Can you see a {thing(number)} in this image. Please answer only with yes or no."
        row["answer"] = ("no", "yes")[number % 2]
        rows.append(row)
    return rows


def mme() -> list[dict[str, Any]]:
    """Three images of each subtask but one."""
    subtasks = [subtask for subtask in SUBTASKS if subtask != "OCR"]
    rows = []
    for number in range(3 * len(subtasks)):
        subtask = subtasks[number % len(subtasks)]
        for answer in ("yes", "no"):
            image = f"{subtask}/{number // len(subtasks)}.jpg"
            row = {"id": f"{image}/{answer}", "subtask": subtask, "file_name": image, "answer": answer}
            rows.append(row | {"question": f"Is it {thing(number)} or {answer}?"})
    return rows


def humblebench() -> list[dict[str, Any]]:
    types = ("Relation", "Attribute", "Category", "Location", "Weather")
    choices = "A. a\nB. b\nC. c\nD. d\nE. None of the above"
    rows = []
    for number in range(60):
        row = {"question_id": number, "file_name": f"{number // 3}.jpg", "type": types[number % 5]}
        row["question"] = f"What is thing {number}?\n{choices}"
        row["label"] = "ABCDE"[(number * 2 + number // 5) % 5]
        rows.append(row)
    return rows


def amber() -> list[dict[str, Any]]:
    rows = []
    for number in range(1, 29):
        row = {"id": number, "file_name": f"AMBER_{number}.jpg", "prompt": "Describe this image."}
        row |= {"task": "generative", "dimension": "generation", "answer": None}
        rows.append(row | {"truth": ["dog", "chair", thing(number)], "hallu": ["bus", "umbrella"]})
    dimensions = ("existence", "state", "number", "action", "relation")
    for number in range(29, 99):
        image = f"AMBER_{number % 28 + 1}.jpg"
        row = {"id": number, "file_name": image, "prompt": f"Is thing {number} there?"}
        row |= {"task": "discriminative", "dimension": dimensions[number % 5], "truth": [], "hallu": []}
        rows.append(row | {"answer": ("no", "yes")[(number // 5) % 2]})
    return rows


def hallusionbench() -> list[dict[str, Any]]:
    """Eight control pairs of each category: two VD questions about 3 figures, two VS questions about none and 2."""
    figures = {"VD": ((0, 1), (1, 2), (2, 2)), "VS": ((0, 0), (1, 1), (2, 2))}
    subcategories = {"VD": ("figure", "math"), "VS": ("chart", "map")}
    rows = []
    for set_id, category, question in product(range(4), figures, (0, 1)):
        for figure, visual_input in figures[category]:
            row = {"category": category, "subcategory": subcategories[category][set_id % 2]}
            row |= {"set_id": set_id, "figure_id": figure, "question_id": question}
            row |= {"visual_input": visual_input, "question": f"Is thing {question} of set {set_id} red?"}
            row["gt_answer"] = ("no", "yes")[(figure + question + set_id) % 2]
            rows.append(row | {"gt_answer_details": "As the figure shows."})
    return rows


def mmhal() -> list[dict[str, Any]]:
    rows = []
    for number in range(48):
        row = {"id": number, "image_id": f"image{number // 2}", "question": f"What about thing {number}?"}
        row |= {"answer": "There are two dogs.", "contents": ["Dog", thing(number)]}
        rows.append(row | {"type": TYPES[number % 8], "topic": ("animal", "food")[number % 2]})
    return rows


def hqh() -> list[dict[str, Any]]:
    rows = []
    for number in range(48):
        row = {"id": number, "image_id": number // 2, "question": f"What about thing {number}?"}
        row["answer"] = ("two dogs", "a red chair", "yes")[number % 3]
        rows.append(row | {"type": list(LEVELS)[number % 8]})
    return rows


def gavie() -> list[dict[str, Any]]:
    rows = []
    for number in range(40):
        region = {"phrase": f"a {thing(number)}", "x": 1, "y": 2, "width": 30, "height": 40}
        row = {"id": number, "image_id": number // 4, "question": f"Describe thing {number}."}
        rows.append(row | {"regions": [region]})
    return rows


def llava_bench() -> list[dict[str, Any]]:
    rows = []
    for number in range(36):
        row = {"id": number, "file_name": f"{number // 3}.jpg"}
        row["question"] = f"What about {thing(number)} {number}?"
        row["category"] = ("conv", "detail", "complex")[number % 3]
        rows.append(row | {"context": f"A picture of {thing(number)}.", "answer": f"It is {thing(number)}."})
    return rows


def haloquest() -> list[dict[str, Any]]:
    types = ("false premises", "visual challenge", "insufficient context")
    rows = []
    for number in range(48):
        row = {"id": number, "file_name": f"{number // 2}.jpg", "type": types[number % 3]}
        row["image_type"] = ("generated", "real")[number // 2 % 2]
        row["question"] = f"What about thing {number}?"
        rows.append(row | {"answers": ["There is none.", "No such thing is in the image."]})
    return rows


def presence() -> list[dict[str, Any]]:
    """Images with the objects in them, for THRONE and CHAIR."""
    rows = []
    for number in range(35):
        objects = sorted({thing(number), thing(number + 1), "dog"})
        rows.append({"image_id": number, "objects": objects})
    return rows


def object_halbench() -> list[dict[str, Any]]:
    """The images of `presence`, with what is asked about them."""
    rows = presence()
    for row in rows:
        row["question"] = f"What is in image {row['image_id']}?"
    return rows


def captions() -> list[str]:
    """Right captions, for OpenCHAIR."""
    return taken(("A dog sleeps on a chair.", "A woman holds a red umbrella.", "Two cats on a sofa."), 35)
