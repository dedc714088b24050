"""Made rows and texts of each benchmark, enough for every part, convention and outcome; the same on each machine."""

from typing import Any

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
        rows.append(
            {
                "question_id": number,
                "image_id": number // 6,
                "object": thing(number),
                "question": f"Is there a {thing(number)} in the image?",
                "sampling": ("random", "popular", "adversarial")[number % 3],
                "answer": ("yes", "no")[(number // 3) % 2],
            }
        )
    return rows


def dash_b() -> list[dict[str, Any]]:
    rows = []
    for number in range(60):
        rows.append(
            {
                "question_id": number,
                "file_name": f"{number // 2}.jpg",
                "source": "coco",
                "object": thing(number),
                "question": f"Can you see a {thing(number)} in this image. Please answer only with yes or no.",
                "answer": ("no", "yes")[number % 2],
            }
        )
    return rows


def mme() -> list[dict[str, Any]]:
    """Three images of each subtask but one."""
    subtasks = (
        *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork"),
        *("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
    )
    rows = []
    for number in range(3 * len(subtasks)):
        subtask = subtasks[number % len(subtasks)]
        for answer in ("yes", "no"):
            rows.append(
                {
                    "id": f"{subtask}/{number // len(subtasks)}.jpg/{answer}",
                    "subtask": subtask,
                    "file_name": f"{subtask}/{number // len(subtasks)}.jpg",
                    "question": f"Is it {thing(number)} or {answer}?",
                    "answer": answer,
                }
            )
    return rows


def humblebench() -> list[dict[str, Any]]:
    types = ("Relation", "Attribute", "Category", "Location", "Weather")
    rows = []
    for number in range(60):
        rows.append(
            {
                "question_id": number,
                "file_name": f"{number // 3}.jpg",
                "type": types[number % 5],
                "question": f"What is thing {number}?\nA. a\nB. b\nC. c\nD. d\nE. None of the above",
                "label": "ABCDE"[(number * 2 + number // 5) % 5],
            }
        )
    return rows


def amber() -> list[dict[str, Any]]:
    rows = []
    for number in range(1, 29):
        rows.append(
            {
                "id": number,
                "file_name": f"AMBER_{number}.jpg",
                "prompt": "Describe this image.",
                "task": "generative",
                "dimension": "generation",
                "answer": None,
                "truth": ["dog", "chair", thing(number)],
                "hallu": ["bus", "umbrella"],
            }
        )
    dimensions = ("existence", "state", "number", "action", "relation")
    for number in range(29, 99):
        rows.append(
            {
                "id": number,
                "file_name": f"AMBER_{number % 28 + 1}.jpg",
                "prompt": f"Is thing {number} there?",
                "task": "discriminative",
                "dimension": dimensions[number % 5],
                "answer": ("no", "yes")[(number // 5) % 2],
                "truth": [],
                "hallu": [],
            }
        )
    return rows


def hallusionbench() -> list[dict[str, Any]]:
    """Eight control pairs of each category: two VD questions about 3 figures, two VS questions about none and 2."""
    figures = {"VD": ((0, 1), (1, 2), (2, 2)), "VS": ((0, 0), (1, 1), (2, 2))}
    subcategories = {"VD": ("figure", "math"), "VS": ("chart", "map")}
    rows = []
    for set_id in range(4):
        for category, pairs in figures.items():
            for question in (0, 1):
                for figure, visual_input in pairs:
                    rows.append(
                        {
                            "category": category,
                            "subcategory": subcategories[category][set_id % 2],
                            "set_id": set_id,
                            "figure_id": figure,
                            "question_id": question,
                            "visual_input": visual_input,
                            "question": f"Is thing {question} of set {set_id} red?",
                            "gt_answer": ("no", "yes")[(figure + question + set_id) % 2],
                            "gt_answer_details": "As the figure shows.",
                        }
                    )
    return rows


def mmhal() -> list[dict[str, Any]]:
    types = (
        *("attribute", "adversarial", "comparison", "counting"),
        *("relation", "environment", "holistic", "other"),
    )
    rows = []
    for number in range(48):
        rows.append(
            {
                "id": number,
                "image_id": f"image{number // 2}",
                "question": f"What about thing {number}?",
                "answer": "There are two dogs.",
                "type": types[number % 8],
                "topic": ("animal", "food")[number % 2],
                "contents": ["Dog", thing(number)],
            }
        )
    return rows


def hqh() -> list[dict[str, Any]]:
    types = ("existence", "count", "attribute", "action", "relation", "comparison", "environment", "OCR")
    rows = []
    for number in range(48):
        rows.append(
            {
                "id": number,
                "image_id": number // 2,
                "question": f"What about thing {number}?",
                "answer": ("two dogs", "a red chair", "yes")[number % 3],
                "type": types[number % 8],
            }
        )
    return rows


def gavie() -> list[dict[str, Any]]:
    rows = []
    for number in range(40):
        region = {"phrase": f"a {thing(number)}", "x": 1, "y": 2, "width": 30, "height": 40}
        rows.append(
            {
                "id": number,
                "image_id": number // 4,
                "question": f"Describe thing {number}.",
                "regions": [region],
            }
        )
    return rows


def llava_bench() -> list[dict[str, Any]]:
    rows = []
    for number in range(36):
        rows.append(
            {
                "id": number,
                "file_name": f"{number // 3}.jpg",
                "question": f"What about {thing(number)} {number}?",
                "category": ("conv", "detail", "complex")[number % 3],
                "context": f"A picture of {thing(number)}.",
                "answer": f"It is {thing(number)}.",
            }
        )
    return rows


def haloquest() -> list[dict[str, Any]]:
    types = ("false premises", "visual challenge", "insufficient context")
    rows = []
    for number in range(48):
        rows.append(
            {
                "id": number,
                "file_name": f"{number // 2}.jpg",
                "image_type": ("generated", "real")[number // 2 % 2],
                "type": types[number % 3],
                "question": f"What about thing {number}?",
                "answers": ["There is none.", "No such thing is in the image."],
            }
        )
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
