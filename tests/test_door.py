"""`halluscope score` in users' situations: responses to something else are refused, common formats are accepted.

POPE's official files share their ids; HQH's and THRONE's responses come in any order, under any of the usual names.
"""

import csv
import gzip
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import halluscope
from halluscope import cli
from halluscope.benchmarks.throne import metric
from halluscope.signature import data_of, data_of_objects, keys_of
from tests import small_datasets
from tests.small_datasets import write_lines

SAMPLINGS = ("random", "popular", "adversarial")
THINGS = {"random": ("dog", "bus"), "popular": ("cat", "person"), "adversarial": ("fork", "knife")}
SAID = {1: "A dog runs.", 2: "A cat sleeps on a couch.", 3: "A bus."}
OBJECTS = {1: ["dog"], 2: ["cat"], 3: ["bus"]}


@pytest.fixture
def pope(tmp_path: Path) -> Path:
    """Three files of questions as POPE's authors have them, with ids from 1 in each."""
    image = "COCO_val2014_000000000042.jpg"
    for sampling, (first, second) in THINGS.items():
        asked = [(image, first, "no"), (image, second, "yes")]
        small_datasets.pope_file(tmp_path / f"coco_pope_{sampling}.json", asked)
    return tmp_path


def questions(pope: Path, *samplings: str) -> list[str]:
    return [str(pope / f"coco_pope_{sampling}.json") for sampling in samplings or SAMPLINGS]


@pytest.fixture
def labels(tmp_path: Path) -> str:
    file = tmp_path / "labels.json"
    file.write_text(json.dumps(OBJECTS))
    return str(file)


def throne(responses, labels: str, **options):
    return halluscope.score("throne", responses, labels, judges="lexical", progress=False, **options)


def test_a_prompt_that_has_a_name_is_in_the_signature(pope, tmp_path):
    def signed(*names: str) -> dict[str, str]:
        rows = [
            {"question_id": number, "halluscope_prompt": name, "response": "Yes"}
            for number, name in enumerate(names, 1)
        ]
        return keys_of(halluscope.score("pope", rows, questions(pope, "random"))["signature"])

    assert signed("short", "short")["prompts"] == "short" and signed("short", "")["prompts"] == "own,short"
    assert "prompts" not in signed("", "")
    with pytest.raises(
        ValueError, match=r"halluscope_prompt is 'a\|b', which names no prompt of pope; expected 'short'"
    ):
        signed("a|b", "short")


# The standard table in one run


LABELS = [(True, False), (1, 0), (1.0, 0.0), ("1", "0"), ("1.0", "0.0"), ("True", "False"), ("Y", "n.")]


@pytest.mark.parametrize("labels", LABELS)
def test_labels_are_read_as_yes_and_no(labels, pope, capsys):
    """By themselves, POPE's parsers read each of these texts as "yes"."""
    rows = [{"question_id": number, "pred": label} for number, label in enumerate(labels, 1)]
    file, dataset = write_lines(pope / "mine.jsonl", rows), questions(pope, "random")
    assert (
        cli.main(
            ["score", "pope", "--responses", str(file), "--dataset", *dataset, "--out", str(pope / "run")]
        )
        == 0
    )
    assert "are read as yes and no" in capsys.readouterr().err
    assert cli.main(["verify", str(pope / "run")]) == 0
    result = halluscope.score("pope", rows, dataset)
    with pytest.warns(UserWarning, match="responses: .*they are matched by their order"):
        yes_no = halluscope.score("pope", ["yes", "no"], dataset)
    assert result["accuracy"] == yes_no["accuracy"] == 0 and result["yes_ratio"] == 0.5
    assert keys_of(result["signature"])["labels"].split(",") == result["labels"]


@pytest.mark.parametrize("named", ["sampling", "category", None])
def test_all_answers_in_one_file(named, pope):
    rows = [
        {"question_id": number, "response": "Yes"} | ({named: sampling} if named else {})
        for sampling in SAMPLINGS
        for number in (1, 2)
    ]
    result = halluscope.score("pope", rows, questions(pope))
    assert result["rows"] == 6
    assert result["matched"] == ("question_id and sampling" if named else "question_id and order")
    if named is None:
        with pytest.raises(ValueError, match="are not in the dataset's order"):
            halluscope.score("pope", [*rows[1:], rows[0]], questions(pope))


# Forms that are taken


def forms(folder: Path) -> dict[str, Path]:
    """The same responses in each form."""
    rows = [{"image_id": i, "response": text} for i, text in SAID.items()]
    write_lines(folder / "lines.jsonl", rows)
    (folder / "list.json").write_text(json.dumps(rows))
    (folder / "by_id.json").write_text(json.dumps(SAID))
    (folder / "by_id_indented.json").write_text(json.dumps(SAID, indent=2))
    (folder / "names.json").write_text(
        json.dumps({f"COCO_val2014_{i:012}.jpg": text for i, text in SAID.items()})
    )
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress((folder / "lines.jsonl").read_bytes()))
    for name, separator in (("table.csv", ","), ("semicolons.csv", ";"), ("table.tsv", "\t")):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file, delimiter=separator)
            writer.writerows([["image_id", "caption"], *([f"{i}.0", text] for i, text in SAID.items())])
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"question_id": list(SAID), "output": list(SAID.values())}), folder / "t.parquet")
    from openpyxl import Workbook

    book = Workbook()
    for row in (["id", "prediction"], *([float(i), text] for i, text in SAID.items())):
        book.active.append(row)
    book.save(folder / "sheet.xlsx")
    write_lines(
        folder / "files.jsonl",
        [{"image": f"val2017/{i:012}.jpg", "answer": text} for i, text in SAID.items()],
    )
    return {file.name: file for file in sorted(folder.iterdir())}


def test_each_form_gives_the_same_number_about_the_same_data(tmp_path, labels):
    folder = tmp_path / "forms"
    folder.mkdir()
    results = {name: throne(file, labels) for name, file in forms(folder).items()}
    assert len(results) == 12
    assert {result["f0.5_all"] for result in results.values()} == {throne(SAID_ROWS, labels)["f0.5_all"]}
    assert len({keys_of(result["signature"])["data"] for result in results.values()}) == 1


def test_columns_of_ones_own(tmp_path, labels):
    file = write_lines(tmp_path / "own.jsonl", [{"picture": i, "said": text} for i, text in SAID.items()])
    with pytest.raises(
        ValueError, match="expected an object with the LVLM's text under one of the keys response"
    ):
        throne(file, labels)
    assert throne(file, labels, id_column="picture", text_column="said")["images"] == 3


SAID_ROWS = [{"image_id": i, "response": text} for i, text in SAID.items()]


# What a number is about


@given(
    st.lists(st.tuples(st.integers(0, 9), st.text(max_size=5), st.sampled_from(["yes", "no"])), min_size=1)
)
def test_equal_signatures_mean_equal_data(rows):
    data = data_of("any", rows)
    assert data == data_of("any", [tuple(map(str, row)) for row in reversed(rows)])
    number, text, label = rows[0]
    changed = [(number, text, "no" if label == "yes" else "yes"), *rows[1:]]
    assert data != data_of("any", changed) or sorted(changed) == sorted(rows)
    assert data != data_of("any", [*rows, rows[0]])


def test_data_is_the_same_however_its_letters_are_composed():
    """An "é" may be one sign, which sorts after "f", or an "e" and an accent, which sort before it."""
    signatures = set()
    for form in ("NFC", "NFD"):
        names = [unicodedata.normalize(form, name) for name in ("é.jpg", "f.jpg")]
        words = [unicodedata.normalize(form, name) for name in ("étui", "fan")]
        result = metric.compute(["", ""], [["dog"], ["cat"]], image_ids=names, judges="lexical")
        signatures.add((result["signature"], data_of_objects("any", [words], None)))
    assert len(signatures) == 1


# What can be known at once is said at once
