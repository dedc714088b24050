"""Tables that could be read in two ways: several sheets, columns with one name, separators that the name belies."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

import halluscope
from tests import small_datasets

pytestmark = pytest.mark.filterwarnings("ignore:.*neither question nor image")

LABELS = ["yes", "no", "yes", "no", "no"]
ROWS = [(number, label) for number, label in enumerate(LABELS, 1)]
WRONG = [(number, "no" if label == "yes" else "yes") for number, label in ROWS]
HEADER = ("question_id", "response")


@pytest.fixture
def dataset(tmp_path):
    things = ("dog", "cat", "cup", "bus", "kite")
    asked = [("COCO_val2014_000000000042.jpg", *row) for row in zip(things, LABELS, strict=True)]
    return small_datasets.pope_file(tmp_path / "coco_pope_random.json", asked)


def scored(responses, dataset, **options):
    return halluscope.score("pope", responses, dataset, bootstrap=0, parser="strict", **options)


# Sheets


def workbook(file, opened, **sheets):
    """Write sheets of rows; the one that is `opened` is shown when the workbook is opened."""
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.active = [*sheets].index(opened)
    book.save(file)
    return file


RIGHT_SHEET, WRONG_SHEET = [HEADER, *ROWS], [HEADER, *WRONG]
SCORES = [("metric", "value"), ("accuracy", 0.5)]


@pytest.mark.parametrize("opened", ["scores", "answers", "empty"])
def test_the_sheet_with_responses_is_read_whichever_was_open(opened, dataset, tmp_path):
    file = workbook(tmp_path / "r.xlsx", opened, scores=SCORES, answers=RIGHT_SHEET, empty=[])
    assert scored(file, dataset)["accuracy"] == 1.0


@pytest.mark.parametrize("opened", ["first", "second"])
def test_two_sheets_with_responses_need_a_name(opened, dataset, tmp_path, ran):
    file = workbook(
        tmp_path / "r.xlsx", opened, first=RIGHT_SHEET, notes=[("note",), ("a",)], second=WRONG_SHEET
    )
    command = ["score pope --json --bootstrap 0 --parser strict --dataset", dataset, "--responses", file]
    refused = ran(*command, status=2).err
    assert "'first', 'second'" in refused and "--sheet" in refused and len(refused.strip().splitlines()) == 1
    assert "--sheet" in ran("inspect", file, status=2).err
    for name, accuracy in (("first", 1.0), ("second", 0.0)):
        assert json.loads(ran(*command, "--sheet", name).out)[0]["accuracy"] == accuracy
        assert scored(file, dataset, sheet=name)["accuracy"] == accuracy
    assert "no sheet 'third'" in ran(*command, "--sheet", "third", status=2).err


# Columns whose names are the same, or nearly


def table(file, names, rows):
    """Write a table with such columns in the form that the file's name says."""
    if file.suffix == ".parquet":
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, names), file)
    elif file.suffix == ".xlsx":
        workbook(file, "rows", rows=[names, *rows])
    elif file.suffix in (".csv", ".tsv"):
        separator = "," if file.suffix == ".csv" else "\t"
        file.write_text("\n".join(separator.join(map(str, row)) for row in [names, *rows]))
    else:
        objects = []
        for row in rows:
            cells = [f"{json.dumps(name)}: {json.dumps(cell)}" for name, cell in zip(names, row, strict=True)]
            objects.append(f"{{{', '.join(cells)}}}")
        file.write_text("\n".join(objects))
    return file


FORMS = (".csv", ".tsv", ".parquet", ".xlsx", ".jsonl")
THREE = [(number, label, "x") for number, label in ROWS]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "names",
    [
        ("question_id", "response", "response"),
        ("question_id", "response ", "Response"),
        ("question_id", "modelAnswer", "model_answer"),
    ],
)
def test_two_columns_with_one_name_are_refused(names, form, dataset, tmp_path, ran):
    file = table(tmp_path / f"r{form}", names, THREE)
    refused = ran("score pope --dataset", dataset, "--responses", file, status=2).err
    assert names[1].strip() in refused and len(refused.strip().splitlines()) == 1


# Separators


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_the_header_tells_the_separator(separator, ending, dataset, tmp_path):
    file = tmp_path / f"r.{ending}"
    lines = [separator.join(HEADER), *(f"{number}{separator}{label}" for number, label in ROWS)]
    file.write_text("\n".join(lines))
    result = scored(file, dataset)
    assert (result["accuracy"], result["matched"]) == (1.0, "question_id")
