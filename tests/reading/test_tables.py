"""Rows in every file format that users have, and files that are damaged, hostile or mislabelled."""

import csv
import gzip
import io
import json
import zipfile

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from halluscope.errors import BuildError, LimitExceeded
from halluscope.reading.tables import rows

ROWS = [{"image_id": "7", "response": "A dog."}, {"image_id": "9", "response": ""}]


def found(file, content=None):
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [row for _, row in rows(file)]


def places(file):
    return [where.removeprefix(str(file)) for where, _ in rows(file)]


def table(lines, separator=",", end="\r\n"):
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=end).writerows(lines)
    return text.getvalue()


def sheet(file, lines):
    book = Workbook()
    for line in lines:
        book.active.append(line)
    book.save(file)
    return file


LINES = [["image_id", "response"], ["7", "A dog."], ["9", ""]]


# JSON


def test_an_object_of_ids(tmp_path):
    file = tmp_path / "a.json"
    expected = [{"id": "7", "response": "A dog."}, {"id": "9.jpg", "response": ""}]
    said = {row["id"]: row["response"] for row in expected}
    for indent in (None, 2):
        assert found(file, json.dumps(said, indent=indent)) == expected
        assert places(file) == [", '7'", ", '9.jpg'"]
    rich = {"7": {"caption": "A dog."}, "9.jpg": {"caption": "", "sampling": "random"}}
    got = [{"id": "7", "caption": "A dog."}, {"id": "9.jpg", "caption": "", "sampling": "random"}]
    assert found(file, json.dumps(rich)) == found(file, json.dumps(rich, indent=1)) == got


def test_what_has_no_text_in_an_object_of_ids(tmp_path):
    """A response that is missing, and labels: they are rows too, for what follows to read or to name."""
    said = {"7": "A dog.", "8": None, "9": True}
    expected = [{"id": key, "response": value} for key, value in said.items()]
    for indent in (None, 2):
        assert found(tmp_path / "a.json", json.dumps(said, indent=indent)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"7": "A dog.",\n "8": "A c', r"a\.json is not JSON, or is cut off: .*line 2 column"),
        ('{"image_id": 7}\n{"image_id": 8', "line 2 is not JSON, or is cut off"),
        ('{"7": "A dog.", "7": "A cat."}', "'7' occurs twice in one object.* rename one, or leave it out"),
        ('{"image_id": 7}\n\0\0\0', "line 2 is not JSON.* These are null bytes"),
        ('{"a": ' * 100_000, "line 1 is not JSON"),
        (b'{"7": "caf\xe9"}', r"a\.json is not in UTF-8, or is cut off: .*Save it as UTF-8"),
        ('{"7": ""}'.encode("utf-16"), "is in UTF-16; expected UTF-8"),
        (b"ARROW1\0\0\xff", "is an Arrow or a Feather file; expected Parquet, or text. Save it as Parquet"),
        (gzip.compress(b'{"7": ""}', mtime=0), r"is packed by gzip, .*Let its name end in \.gz"),
        (b"PK\x03\x04\xff", r"is a zip, or a workbook; expected text\. Unpack it"),
        (b"PAR1\xff", r"is a Parquet file, .*Let its name end in \.parquet"),
        (b"\xd0\xcf\x11\xe0", r"is a workbook of an old Excel; .*Save it as \.xlsx or as csv"),
    ],
)
def test_json_that_is_damaged(content, message, tmp_path):
    with pytest.raises(BuildError, match=message):
        found(tmp_path / "a.json", content)


@pytest.mark.parametrize("name", ["a.json.gz", "a.csv.gz", "a.parquet.gz", "a.xlsx.gz"])
def test_packed_files_that_are_damaged(name, tmp_path):
    packed = gzip.compress(b'{"7": "A dog."}' * 100)
    for content in (packed[:-9], packed[:20] + b"\xff" * 10 + packed[30:], b"no gzip"):
        with pytest.raises(
            BuildError, match=r"a\.\w+\.gz cannot be read, or is cut off: .*Get the file again"
        ):
            found(tmp_path / name, content)


# csv and tsv


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_what_csv_quotes(separator, end, tmp_path):
    text = f'A "red"{separator} {end}\nold\tbus'
    lines = [["image_id", "response"], ["7", text], ["9", '"']]
    got = found(tmp_path / "a.csv", "\ufeff" + table(lines, separator, end))
    assert got == [{"image_id": "7", "response": text}, {"image_id": "9", "response": '"'}]


def test_tables_that_were_joined_line_by_line(tmp_path):
    """As by `cat part*.csv`: a header among the rows is no row."""
    header = ["image_id", "response"]
    lines = [header, ["7", "A dog."], header, ["9", ""], header]
    assert found(tmp_path / "joined.csv", table(lines)) == ROWS
    assert places(tmp_path / "joined.csv") == [", row 1", ", row 3"]
    # as Excel writes each: with a mark at its beginning, and rows without any cell at its end
    part = "\ufeff" + table([header, ["7", "A dog."], ["", ""]])
    last = "\ufeff" + table([header, ["9", ""]])
    assert found(tmp_path / "joined.csv", part + last) == ROWS


def test_rows_without_any_cell_at_the_end_of_a_table(tmp_path):
    """As Excel writes them; above another row, such a row lacks its cells."""
    text = table([*LINES, ["", ""], ["11", "A cat."], ["", ""], ["", ""]])
    assert found(tmp_path / "a.csv", text)[2:] == [
        {"image_id": "", "response": ""},
        {"image_id": "11", "response": "A cat."},
    ]
    assert places(tmp_path / "a.csv") == [", row 1", ", row 2", ", row 3", ", row 4"]


@pytest.mark.parametrize("line", ["9,A dog, and a cat", "9", "9,A dog\nand a cat"])
def test_a_row_of_more_or_fewer_cells_than_the_header(line, tmp_path):
    number = 3 if line.startswith("9,A dog\n") else 2
    with pytest.raises(
        BuildError,
        match=rf"a\.csv, row {number} has a different number of cells than the header: .*',' or .* in quotation marks",
    ):
        found(tmp_path / "a.csv", f"image_id,response\n7,A dog.\n{line}\n")


@pytest.mark.parametrize("line", ['8,"A dog', '8,"A dog" runs', '8,"A ""dog""'])
def test_a_quotation_mark_does_not_swallow_the_rows_below(line, tmp_path):
    """csv would otherwise read the rest as one text, and count the images there as images without a text."""
    with pytest.raises(BuildError, match=r"a\.csv cannot be read as a table after line 2: .*double its own"):
        found(tmp_path / "a.csv", f"image_id,response\n7,A bus.\n{line}\n9,A cat.\n")


# Spreadsheets


def test_cells_of_a_spreadsheet(tmp_path):
    lines = [
        ["image_id", "response", None, 2024],
        [7.0, "A dog.", "a note", True],
        [None] * 4,
        [9, None],
        [3],
        [4, 2.0],
    ]
    file = sheet(tmp_path / "a.xlsx", lines)
    remade(file, "xl/worksheets/sheet1.xml", lambda part: part.replace(b"<v>2</v>", b"<v>2.0</v>"))
    assert [(row["image_id"], row["response"], row["2024"]) for row in found(file)] == [
        (7, "A dog.", True),
        (9, "", ""),
        (3, "", ""),
        (4, "2", ""),
    ]
    assert places(file) == [", row 2", ", row 4", ", row 5", ", row 6"]
    assert found(sheet(tmp_path / "none.xlsx", [])) == []


@pytest.mark.parametrize("value", ["", "0"])
def test_a_text_that_begins_like_a_formula(value, tmp_path):
    """pandas writes it as a formula: openpyxl then gives it no value, and xlsxwriter 0."""
    lines = [
        ["index", "response"],
        ["=ROW()-2", "=== Answer ===\nYes"],
        [1, "=1+1"],
        [2, "=1=2"],
        [3, "A dog."],
    ]
    file = sheet(tmp_path / "a.xlsx", lines)

    def calculated(part):
        part = part.replace(b"ROW()-2</f><v></v>", b"ROW()-2</f><v>0</v>")
        part = part.replace(b"Yes</f><v></v>", f"Yes</f><v>{value}</v>".encode())
        part = part.replace(b"1+1</f><v></v>", b"1+1</f><v>2</v>")
        return part.replace(b"><f>1=2</f><v></v>", b' t="b"><f>1=2</f><v>0</v>')

    remade(file, "xl/worksheets/sheet1.xml", lambda part: calculated(part.replace(b"<v />", b"<v></v>")))
    texts = [(row["index"], row["response"]) for row in found(file)]
    assert texts == [(0, "=== Answer ===\nYes"), (1, "2"), (2, False), (3, "A dog.")]


def test_rows_in_two_sheets(tmp_path):
    book = Workbook()
    for filled in (book.active, book.create_sheet("more")):
        filled.append(["id", "n"])
        filled.append([1, 2])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(BuildError, match="rows in 2 sheets: 'Sheet', 'more'"):
        found(tmp_path / "a.xlsx")


def remade(file, part, change):
    """A workbook with a part of it changed."""
    with zipfile.ZipFile(file) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(file, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return file


def test_a_spreadsheet_that_is_damaged(tmp_path):
    file = sheet(tmp_path / "a.xlsx", LINES)
    whole = file.read_bytes()
    message = r"a\.xlsx is not an xlsx file, or is damaged: "
    for content in (whole[:-10], whole[: len(whole) // 2], b"", b"id,response\n1,A dog.\n"):
        with pytest.raises(BuildError, match=message):
            found(file, content)
    for part in ("xl/worksheets/sheet1.xml", "xl/workbook.xml"):
        with pytest.raises(BuildError, match=message):
            found(remade(sheet(file, LINES), part, lambda text: text[: len(text) // 2]))


# Too large


def test_a_file_of_too_many_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "rows=2")
    for name, content in (
        ("a.csv", "id\n1\n2\n3\n"),
        ("a.json", '{"1": "", "2": "", "3": ""}'),
        ("a.json", '[{"id": 1}, {"id": 2}, {"id": 3}]'),
        ("a.jsonl", '{"id": 1}\n{"id": 2}\n{"id": 3}'),
    ):
        with pytest.raises(LimitExceeded, match="is larger than the limit 'rows' of 2 rows"):
            found(tmp_path / name, content)
    pq.write_table(pa.Table.from_pylist(ROWS * 2), tmp_path / "a.parquet")
    with pytest.raises(LimitExceeded, match="is larger than the limit 'rows' of 2 rows"):
        found(tmp_path / "a.parquet")


def test_a_cell_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "cell=10")
    with pytest.raises(
        LimitExceeded, match=r"a\.csv, after line 1: a cell is larger than the limit 'cell' of 10"
    ):
        found(tmp_path / "a.csv", "id,response\n1,A dog on a bed.\n")
    assert csv.field_size_limit() >= 131072, "csv's limit is the whole process's"


def test_ids_that_pandas_made_the_index(tmp_path):
    """Ids in even steps are not written as a column; other ids are."""
    for ids in ([10, 20, 30], [7, 1, 9]):
        frame = pandas.DataFrame({"question_id": ids, "response": ["A", "B", "C"]})
        frame.set_index("question_id").to_parquet(tmp_path / "a.parquet")
        expected = [{"question_id": key, "response": said} for key, said in zip(ids, "ABC", strict=True)]
        assert found(tmp_path / "a.parquet") == expected
    frame.to_parquet(tmp_path / "b.parquet")
    assert found(tmp_path / "b.parquet") == expected


def test_one_long_text_in_each_row_of_a_small_parquet_file(tmp_path, monkeypatch):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"id": range(500), "response": texts}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 200_000
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "unpacked=100MB")
    with pytest.raises(LimitExceeded, match=r"a\.parquet is larger than the limit 'unpacked'"):
        found(tmp_path / "a.parquet")


def test_entities_in_entities(tmp_path):
    entities = b"".join(b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 10) for i in range(1, 10))
    doctype = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "e">' + entities + b"]>"
    for part, old in (("xl/workbook.xml", b'name="Sheet"'), ("xl/worksheets/sheet1.xml", b"A dog.")):
        file = sheet(tmp_path / "a.xlsx", LINES)
        new = old.replace(b"Sheet", b"&e9;").replace(b"A dog.", b"&e9;")
        remade(file, part, lambda text, old=old, new=new: doctype + text.replace(old, new))
        with pytest.raises(BuildError, match=r"a\.xlsx is not an xlsx file, or is damaged"):
            found(file)
