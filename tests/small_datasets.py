"""A small copy of every dataset, built by its real builder from input made here."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow

from halluscope import registry, vocabularies
from halluscope.benchmarks.mme.data import SUBTASKS
from halluscope.benchmarks.pope.rows import SAMPLINGS

COCO = vocabularies.load("coco").classes
OBJECTS = [["person", "cup"], [], ["dog"]]
"""What is in the images of throne_coco, in the order of its rows."""


def needs(*names: str) -> Any:
    """Mark a test of certain benchmarks or datasets, which is skipped if one of them is not part of the package."""
    missing = sorted({*names} - {*registry.names()})
    return pytest.mark.skipif(bool(missing), reason=f"there is no {', '.join(missing)}")


def build(name: str, folder: Path, **options: Any) -> Path:
    """Build a dataset as folder/name, with its input next to it."""
    assert name in BUILDS, f"tests/small_datasets.py has no {name}; add a function that builds it to BUILDS."
    inputs = folder / f"{name}-inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    return BUILDS[name](inputs, folder / name, {"subset": True} | options)


def write_lines(file: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON lines."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def pope_file(file: Path, asked: Iterable[tuple[str, str, str]], first: int = 1) -> str:
    """Write POPE's questions as its authors do, of an image, a thing and an answer each; return the file's name."""
    rows = []
    for number, (image, thing, answer) in enumerate(asked, first):
        text = f"Is there a {thing} in the image?"
        rows.append({"question_id": number, "image": image, "text": text, "label": answer})
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def coco_files(
    objects: dict[int, list[str]], spoken: Iterable[tuple[int, str]] = (), classes: Sequence[str] = COCO
) -> tuple[str, str]:
    """Return annotations of images with these objects, and captions of images, as COCO's JSON."""
    images = [{"id": image, "file_name": f"{image}.jpg"} for image in objects]
    categories = [{"id": number, "name": name} for number, name in enumerate(classes)]
    annotations = []
    for image, names in objects.items():
        for name in names:
            number = len(annotations)
            annotations.append({"id": number, "image_id": image, "category_id": classes.index(name)})
    captions = [{"image_id": image, "caption": text} for image, text in spoken]
    instances = {"images": images, "categories": categories, "annotations": annotations}
    return json.dumps(instances), json.dumps({"annotations": captions})


def builder(name: str) -> Any:
    """Return a dataset's builder: `.build(...)` for Python, `.main([...])` for the command line."""
    return registry.benchmark(name).builder(registry.dataset(name))


def coco_of_three(classes: dict[int, str], file_name: str) -> dict[str, Any]:
    """Return annotations of three images with three classes: the first two are in one image, the second is empty."""
    ids = list(classes)
    cells = [(10, ids[0]), (10, ids[1]), (30, ids[2])]
    return {
        "images": [
            {"id": i, "file_name": file_name.format(i), "width": 8, "height": 6} for i in (10, 20, 30)
        ],
        "annotations": [
            {"id": n, "image_id": image, "category_id": category, "iscrowd": 0, "bbox": [0, 0, 3, 3]}
            for n, (image, category) in enumerate(cells)
        ],
        "categories": [{"id": i, "name": name} for i, name in classes.items()],
    }


def _throne_coco(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    content = coco_of_three({1: "person", 47: "cup", 18: "dog"}, "{:012d}.jpg")
    (inputs / "instances_val2017.json").write_text(json.dumps(content))
    (inputs / "val2017").mkdir(exist_ok=True)
    for image in content["images"]:
        Pillow.effect_noise((8, 6), image["id"]).convert("RGB").save(inputs / "val2017" / image["file_name"])
    options = {"with_images": False} | options
    return builder("throne_coco").build(inputs, inputs if options["with_images"] else None, out, **options)


def _throne_objects365(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    content = coco_of_three(
        {1: "Person", 2: "Sneakers", 3: "Chair"}, "images/v1/patch0/objects365_v1_{:08d}.jpg"
    )
    (inputs / "zhiyuan_objv2_val.json").write_text(json.dumps(content))
    (inputs / "names.csv").write_text("1,Person,Person\n2,Sneakers,Sneakers\n3,Chair,Chair\n")
    (inputs / "ids.txt").write_text("10\n30\n")
    lists = {"names": inputs / "names.csv", "ids": inputs / "ids.txt"}
    options = {"with_images": False} | options
    return builder("throne_objects365").build(
        inputs / "zhiyuan_objv2_val.json", None, out, **lists, **options
    )


def _pope(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    for config, prefix in {"coco": "coco_pope", "aokvqa": "aokvqa_pope_seem", "gqa": "gqa_pope_seem"}.items():
        for sampling in SAMPLINGS:
            image = "COCO_val2014_000000000010.jpg" if config != "gqa" else "10.jpg"
            things = ("dog", "cat", "cup", "bus", "bench", "kite")
            asked = [(image, thing, "no" if n % 2 else "yes") for n, thing in enumerate(things)]
            pope_file(inputs / f"{prefix}_{sampling}.json", asked, first=0)
    return builder("pope").build(inputs, out=out, **options)


def _repope(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """POPE's questions of `_pope` about COCO, with the first answer corrected and the last question left out."""
    build("pope", inputs)
    for sampling in SAMPLINGS:
        file = inputs / f"pope-inputs/coco_pope_{sampling}.json"
        rows = [json.loads(line) for line in file.read_text().splitlines()][:-1]
        rows[0]["label"] = "no"
        (inputs / f"coco_repope_{sampling}.json").write_text("\n".join(map(json.dumps, rows)))
    return builder("repope").build(inputs, out=out, **options)


def _pope_c(name: str, of: str) -> Callable[[Path, Path, dict[str, Any]], Path]:
    def build_it(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
        return builder(name).build(build(of, inputs), out=out, **options)

    return build_it


def _hallusionbench(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    rows = [
        {
            "category": "VS",
            "subcategory": "chart",
            "visual_input": str(figure),
            "set_id": "0",
            "figure_id": str(figure),
        }
        | {"sample_note": "bars", "question_id": "0", "question": "Are there more red than blue bars?"}
        | {"gt_answer_details": "As the bars show.", "gt_answer": answer}
        | {"filename": f"./hallusion_bench/VS/chart/0_{figure}.png" if figure else None}
        for figure, answer in enumerate("110")
    ]
    (inputs / "HallusionBench.json").write_text(json.dumps(rows))
    return builder("hallusionbench").build(inputs, None, out, **options)


def _hqh(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    types = ("existence", "count", "attribute", "action", "relation", "comparison", "environment", "OCR")
    rows = [
        {"id": n, "image_id": 10, "question": f"What about its {kind}?", "answer": "two dogs", "type": kind}
        for n, kind in enumerate(types)
    ]
    (inputs / "HQH.json").write_text(json.dumps(rows))
    return builder("hqh").build(inputs, None, out, **options)


def _mmhal(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    types = ("attribute", "adversarial", "counting")
    rows = [
        {"question_type": kind, "question_topic": "animal", "image_id": f"a{n}", "image_content": ["Dog"]}
        | {"image_src": f"https://example.org/{n}_o.jpg", "question": f"What about its {kind}?"}
        | {"gt_answer": "There are two dogs.", "model_answer": ""}
        for n, kind in enumerate(types)
    ]
    (inputs / "response_template.json").write_text(json.dumps(rows))
    return builder("mmhal").build(inputs, None, out, **options)


def _gavie(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    rows = [{"image_id": "10", "question": f"What about thing {n}?"} for n in range(3)]
    place = {"x": 1, "y": 2, "width": 3, "height": 4}
    regions = [{"region_id": n, "image_id": 10, "phrase": f"thing {n}", **place} for n in range(2)]
    (inputs / "evaluation_set.json").write_text(json.dumps(rows))
    (inputs / "region_descriptions.json").write_text(json.dumps([{"id": 10, "regions": regions}]))
    options = {"regions": inputs / "region_descriptions.json"} | options
    return builder("gavie").build(inputs, None, out, **options)


def _amber(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    types = ("generative", "discriminative-hallucination", "discriminative-attribute-state", "relation")
    annotations = [
        {"id": 1, "type": types[0], "truth": ["dog", "grass"], "hallu": ["person"]},
        *({"id": n, "type": kind, "truth": "no"} for n, kind in enumerate(types[1:], 1005)),
    ]
    asked = (
        "Describe this image.",
        "Is there a person in this image?",
        "Is the grass dry in this image?",
        "Is there direct contact between the dog and grass?",
    )
    queries = [
        {"id": row["id"], "image": "AMBER_1.jpg", "query": query}
        for row, query in zip(annotations, asked, strict=True)
    ]
    (inputs / "annotations.json").write_text(json.dumps(annotations))
    (inputs / "query_all.json").write_text(json.dumps(queries))
    return builder("amber").build(inputs, None, out, **options)


def _openchair(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """The authors' columns, without images."""
    captions = ["A dog sleeps on a wooden bench.", "A woman holds a red umbrella.", "Two cats on a couch."]
    source = inputs / "test-00000-of-00001.parquet"
    pq.write_table(pa.table({"text": captions}), source)
    return builder("openchair").build(source, out=out, **options)


def _haloquest(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    kinds = ("false premises", "visual challenge", "insufficient context")
    header = ",image_name,url,image type,hallucination type,question,groundtruth responses,split"
    rows = [
        f"{n},10.jpg,https://example.org/10.jpg,real,{kind},What about its {kind}?,There is none; No such thing,eval"
        for n, kind in enumerate(kinds)
    ]
    (inputs / "haloquest-eval.csv").write_text("\n".join([header, *rows]))
    return builder("haloquest").build(inputs, None, out, **options)


def _dash_b(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """Two lists that share a file's name."""
    (inputs / "dash_benchmark_neg.json").write_text(
        json.dumps({"coco": {"kite": ["10.jpg"], "beehive": ["20.jpg"]}})
    )
    (inputs / "dash_benchmark_pos.json").write_text(
        json.dumps({"flickr": {"kite": ["10.jpg"], "beehive": ["30.png"]}})
    )
    return builder("dash_b").build(inputs, None, out, **options)


def _mme(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """An image of each subtask."""
    rows = []
    for subtask in SUBTASKS:
        for answer in ("Yes", "No"):
            rows.append(
                {
                    "question": f"Is it {subtask} or {answer.lower()}? Please answer yes or no.",
                    "answer": answer,
                    "image": f"{subtask}/images/0010.jpg",
                    "type": subtask,
                }
            )
    (inputs / "mme_benchmark.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return builder("mme").build(inputs / "mme_benchmark.jsonl", None, out, **options)


def _llava_bench(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """A question of each category about one image."""
    questions = []
    answers = []
    for number, category in enumerate(("conv", "detail", "complex")):
        text = f"What about its {category}?"
        questions.append({"question_id": number, "image": "10.jpg", "text": text, "category": category})
        answers.append({"question_id": number, "prompt": text, "text": "There are two dogs."})
    contexts = [{"id": "10", "image": "10.jpg", "caption": "Two dogs on the lawn."}]
    files = {"questions": questions, "answers_gpt4": answers, "context": contexts}
    for name, rows in files.items():
        (inputs / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return builder("llava_bench").build(inputs, None, out, **options)


def _object_halbench(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    """Three images, one of which holds nothing."""
    asked = ("image", "picture", "image")
    questions = [
        {"image_id": number * 10, "question": f"Provide a thorough description of the given {word}."}
        for number, word in enumerate(asked, 1)
    ]
    (inputs / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    (inputs / "objects.json").write_text(json.dumps(dict(zip(("10", "20", "30"), OBJECTS, strict=True))))
    options = {"objects": inputs / "objects.json"} | options
    return builder("object_halbench").build(inputs / "questions.jsonl", None, out, **options)


def _humblebench(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    types = ("Relation", "Attribute", "Weather", "Location", "Category", "Object")
    rows = [
        {"question_id": n, "file_name": f"{n // 2}.jpg", "type": kind, "label": label}
        | {"question": f"Question {n}?\nA. a\nB. b\nC. c\nD. d\nE. None of the above"}
        for n, (kind, label) in enumerate(zip(types, "AECDBE", strict=True))
    ]
    (inputs / "humblebench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return builder("humblebench").build(inputs / "humblebench.jsonl", None, out, **options)


def _object_enumeration(inputs: Path, out: Path, options: dict[str, Any]) -> Path:
    content = coco_of_three({1: "person", 47: "cup", 18: "dog"}, "{:012d}.jpg")
    (inputs / "instances_train2017.json").write_text(json.dumps(content))
    return builder("object_enumeration").build(inputs, None, out, **options)


BUILDS: dict[str, Callable[[Path, Path, dict[str, Any]], Path]] = {
    "throne_coco": _throne_coco,
    "throne_objects365": _throne_objects365,
    "pope": _pope,
    "repope": _repope,
    "pope_c": _pope_c("pope_c", "throne_coco"),
    "pope_c_objects365": _pope_c("pope_c_objects365", "throne_objects365"),
    "hallusionbench": _hallusionbench,
    "hqh": _hqh,
    "mmhal": _mmhal,
    "gavie": _gavie,
    "amber": _amber,
    "openchair": _openchair,
    "haloquest": _haloquest,
    "dash_b": _dash_b,
    "mme": _mme,
    "llava_bench": _llava_bench,
    "object_halbench": _object_halbench,
    "humblebench": _humblebench,
    "object_enumeration": _object_enumeration,
}
"""How each is made; which of them there are, the registry says."""
