"""Review sheets: drawn, marked in a real browser, read back; and the arithmetic of THRONE's supplement, Table 3."""

import csv
import io
import json
import re
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from PIL import Image

from halluscope.signature import data_of, keys_of
from halluscope.stats.ratios import wilson
from halluscope.studies import sheet
from halluscope.studies.marked_sheet import read_sheet
from halluscope.studies.sheet import guarded, unguarded
from halluscope.studies.sheet_rows import Images, draw
from tests.studies.sheets import lines, printed, read_json, refused, run, save, table

HOSTILE = [
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\">",
    "=cmd|' /C calc'!A0",
    '"quoted", and; divided\r\nover two lines',
    "{{ 7 * 7 }} {% raw %} ${7 * 7} &lt;b&gt;",
    "\ud800 half a character",
]


@pytest.fixture
def rows(tmp_path):
    found = [{"id": i, "question": f"Is {i} even?", "answer": "no" if i % 2 else "yes"} for i in range(20)]
    return lines(tmp_path / "rows.jsonl", found)


def make(rows, tmp_path, *options, sample=5):
    run("study", "sheet", "make", rows, "--out", tmp_path / "review", "--sample", sample, *options)
    return tmp_path / "review"


def test_several_right_answers_stand_in_one_cell(tmp_path):
    rows = lines(tmp_path / "rows.jsonl", [{"id": 1, "question": "Which?", "answer": ["a dog", "dogs"]}])
    assert table(make(rows, tmp_path, sample=1) / "sheet.csv")[0]["answer"] == "a dog, dogs"


def test_options_are_lines_unless_they_are_one_text(tmp_path):
    asked = {"question": "Which?", "answer": "A"}
    found = [asked | {"options": options} for options in (["a cat", "a dog"], "['a cat', 'a dog']")]
    drawn = table(make(lines(tmp_path / "rows.jsonl", found), tmp_path, sample=2) / "sheet.csv")
    assert [row["question"] for row in drawn] == ["Which?\na cat\na dog", "Which?\n['a cat', 'a dog']"]


def respond(folder, said):
    """Files of responses of models {name: response to the row of an id} to the rows 0, 1, ..., 99."""
    return [
        lines(folder / f"{name}.jsonl", [{"id": i, "response": of(i)} for i in range(100)])
        for name, of in said.items()
    ]


def scores(folder, values):
    """A file of the scores {model: accuracy}."""
    found = [{"responses": name, "accuracy": v, "signature": "pope|x"} for name, v in values.items()]
    (folder / "first.json").write_text(json.dumps(found))
    return folder / "first.json"


def parquet(file, **image):
    """A dataset of one question about an image."""
    features = datasets.Features({"question": datasets.Value("string"), "image": datasets.Image()})
    rows = pa.table({"question": ["q"], "image": [{"bytes": None} | image]}, features.arrow_schema)
    pq.write_table(rows, file)
    return file


def mark(folder, marks, change=None):
    """Return the sheet as a reader's spreadsheet saves it."""
    found = table(folder / "sheet.csv")
    for row, given_mark in zip(found, marks, strict=True):
        row["mark"] = given_mark
    return save(change(found) if change else found, folder)


SAID = {"id": 1, "response": "t"}

# Making


def test_the_same_seed_draws_the_same_rows(rows, tmp_path, capsys):
    sheet = make(rows, tmp_path / "a")
    first = table(sheet / "sheet.csv")
    assert first == table(make(rows, tmp_path / "b") / "sheet.csv")
    other = table(make(rows, tmp_path / "c", "--seed", "1") / "sheet.csv")
    assert {row["id"] for row in first} != {row["id"] for row in other}
    ids = [int(row["id"]) for row in first]
    assert ids == sorted(ids) and len(set(ids)) == 5
    assert all(row["question"] == f"Is {row['id']} even?" for row in first)
    visible = (sheet / "page.html").read_text().partition('<script type="application/json"')[0]
    assert all(row["question"] in visible for row in first)
    assert "5 rows, 0 with an image" in capsys.readouterr().out


def stratified(tmp_path, *options, size=90, sample=4, marks="valid"):
    """A sheet of so many rows of each stratum, of which A has the size of 100."""
    rows = [{"id": i, "question": "q", "kind": "A" if i < size else "B"} for i in range(100)]
    source = lines(tmp_path / "rows.jsonl", rows)
    return make(source, tmp_path, "--stratum", "kind", "--marks", marks, *options, sample=sample)


def test_models_responses_are_marked_without_their_names(rows, tmp_path):
    responses = respond(tmp_path, dict.fromkeys(("alpha", "beta"), lambda i: f"{i * 3}!"))
    folder = make(rows, tmp_path, "--responses", *responses, "--marks", "agree", sample=12)
    drawn = table(folder / "sheet.csv")
    assert len(drawn) == 24 and all(row["response"] == f"{int(row['id']) * 3}!" for row in drawn)
    assert {row["model"] for row in drawn[::2]} == {"alpha", "beta"}  # now one first, now the other
    visible = (folder / "page.html").read_text().partition('<script type="application/json"')[0]
    assert "alpha" not in visible and "beta" not in visible


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"file_name": "../../etc/passwd"}, {}, r"rows\[0\] cannot be opened: .* leads out of"),
        ({"question": None}, {}, r"rows\[0\] has no question"),
        ({}, {"stratum": "type"}, r"rows\[0\] has no 'type'"),
        ({}, {"responses": {"a": [SAID]}}, "None of the columns question_id, id, image_id is in the rows"),
        ({"id": 2}, {"responses": {"a": [SAID]}}, "a has no response to the drawn row with the id 2"),
    ],
)
def test_rows_that_make_no_sheet(tmp_path, row, options, message):
    with pytest.raises(ValueError, match=message):
        draw(Images([{"question": "q"} | row], tmp_path), 1, **options)


def test_questions_are_marked_once_whoever_answers(rows, tmp_path, capsys):
    (responses,) = respond(tmp_path, {"a": lambda i: "r"})
    words = ("study", "sheet", "make", rows, "--out", tmp_path / "review", "--sample", 5)
    said = refused(capsys, *words, "--responses", responses)
    assert "--responses is for --marks agree or implied; the marks are valid" in said


def test_rows_that_share_an_id_are_matched_by_another(tmp_path):
    """As POPE's samplings share theirs: a response would stand beside another question."""
    rows = [{"question_id": 1, "id": name, "question": f"Is there a {name}?"} for name in ("dog", "cat")]
    said = [{"question_id": number, "response": "Yes."} for number in range(2)]
    with pytest.raises(ValueError, match="with another value in each row"):
        draw(Images(rows), 2, responses={"a": said})
    said = [{"question_id": 1, "id": row["id"], "response": row["id"]} for row in rows]
    assert [row["response"] for row in draw(Images(rows), 2, responses={"a": said})] == ["dog", "cat"]


def test_images_from_a_dataset_and_from_a_folder(tmp_path, capsys):
    """Both are reduced to 1,280 pixels; a broken one is named with its row, and no sheet is written."""
    Image.new("RGB", (2000, 1000), "red").save(tmp_path / "a.png")
    for content, message in (((tmp_path / "a.png").read_bytes(), ""), (b"<svg/>", "it is an SVG")):
        (tmp_path / "a.png").write_bytes(content)
        pages = []
        for rows in (
            lines(tmp_path / "rows.jsonl", [{"question": "q", "file_name": "a.png"}]),
            parquet(tmp_path / "rows.parquet", bytes=content, path="a.png"),
        ):
            out = tmp_path / f"sheet of {rows.name} {message}"
            words = ["study", "sheet", "make", rows, "--images", tmp_path, "--sample", 1, "--out", out]
            if message:
                said = refused(capsys, *words)
                assert "The image of rows[0], " in said and "a.png" in said and message in said
                assert not out.exists()
            else:
                run(*words)
                pages += re.findall(r"data:image/webp;base64,[^\"]+", (out / "page.html").read_text())
        if not message:
            assert pages[0] == pages[1] and len(pages[0]) < 40_000


def test_a_sample_that_cannot_be_and_a_sheet_that_is_there(rows, tmp_path, capsys):
    words = ["study", "sheet", "make", rows, "--out", make(rows, tmp_path), "--sample"]
    assert "holds a sheet already" in refused(capsys, *words, 5)
    words[5] = tmp_path / "x"
    for sample in (0, 21):
        said = refused(capsys, *words, sample)
        assert f"sample is {sample}; expected a number of rows from 1 to 20" in said


# The page


def saved(folder: Path) -> Path:
    """The file that the browser has downloaded: Chromium makes an empty one first, and renames the whole over it."""
    for _ in range(200):
        if found := [file for file in folder.glob("*.csv") if file.stat().st_size]:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("the browser saved nothing in ten seconds")


@pytest.mark.long
def test_mark_reload_save_and_read_back(rows, tmp_path, browser, capsys):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    def count():
        return browser.find_element(By.ID, "count").text

    folder = make(rows, tmp_path)
    browser.get((folder / "page.html").as_uri())
    cards = browser.find_elements(By.TAG_NAME, "article")
    assert len(cards) == 5 and cards[0].text.startswith("1 of 5\nQuestion\nIs ")
    cards[0].find_elements(By.TAG_NAME, "button")[0].click()
    cards[1].find_elements(By.TAG_NAME, "button")[1].click()
    cards[1].find_element(By.TAG_NAME, "input").send_keys('=1+1, "no"')
    browser.execute_script("arguments[0].focus()", cards[2])
    # A key marks, and goes on to the next; then another mind about the fourth.
    for key in ("2", "1", "1", Keys.ARROW_UP, "2"):
        browser.switch_to.active_element.send_keys(key)
    assert count() == "5 of 5"

    for _ in range(20):  # a busy Chromium takes a while to hand on what a page has kept
        browser.refresh()
        if count() == "5 of 5":
            break
        time.sleep(0.5)
    assert count() == "5 of 5"
    pressed = browser.find_elements(By.CSS_SELECTOR, "button[aria-pressed=true]")
    marks = ["valid", "not valid", "not valid", "not valid", "valid"]
    assert [button.text for button in pressed] == marks
    browser.find_element(By.ID, "save").click()
    file = saved(tmp_path / "downloads")
    assert file.stem == table(folder / "sheet.csv")[0]["sheet"]

    sheet = read_sheet(file)
    assert [entry["mark"] for entry in sheet.entries] == marks
    assert sheet.entries[1]["note"] == '=1+1, "no"'
    assert '"\'=1+1, ""no"""' in file.read_text()  # no spreadsheet computes it
    assert "content validity: 40.0 %" in printed(capsys, "study", "sheet", "read", file)


@pytest.mark.long
def test_hostile_text_stays_text(tmp_path, browser):
    from selenium.webdriver.common.by import By

    found = [{"id": i, "question": text, "answer": text} for i, text in enumerate(HOSTILE)]
    folder = make(lines(tmp_path / "rows.jsonl", found), tmp_path, sample=len(HOSTILE))
    browser.get((folder / "page.html").as_uri())
    assert browser.title == "Review of rows.jsonl"
    assert not browser.find_elements(By.TAG_NAME, "img")
    shown = [one.get_attribute("textContent") for one in browser.find_elements(By.TAG_NAME, "dd")][::2]
    assert shown == [text.replace("\r\n", "\n").replace("\ud800", "?") for text in HOSTILE]
    # Even if something got in, the page's policy lets no other script run.
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s);"
    )
    assert browser.title == "Review of rows.jsonl"
    for button in browser.find_elements(By.CSS_SELECTOR, "button[data-mark=valid]"):
        browser.execute_script("arguments[0].click()", button)
    browser.find_element(By.ID, "save").click()
    file = saved(tmp_path / "downloads")
    page = table(file)
    assert [row | {"mark": ""} for row in page] == table(folder / "sheet.csv")
    cells = [cell for row in page for cell in row.values()]
    assert "'=cmd|' /C calc'!A0" in cells and not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert read_sheet(file).entries[2]["question"] == HOSTILE[2]


TRICKY = st.text(st.sampled_from([*"=+@＝'\",;|\t\r\n 1x"]))
"""What formulas, and the ends of cells, are made of."""


@given(st.one_of(st.text(), TRICKY))
def test_no_part_of_a_cell_is_a_formula(text):
    """With any separators of cells and lines, with or without support for quotation marks."""
    for part in re.split('[,;|"\t\r\n]', guarded(text)):
        assert not part.lstrip(" ").startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not guarded(text).startswith(("\t", "\r", "\n"))
    assert unguarded(guarded(text)) == text


@given(st.lists(TRICKY, min_size=1, max_size=4))
def test_no_other_reader_finds_a_formula_and_the_sheet_is_read_back(texts):
    rows = [{"id": place, "question": f"q {text}", "answer": text} for place, text in enumerate(texts)]
    drawn = draw(Images(rows), len(rows))
    with TemporaryDirectory() as folder:
        sheet.write(sheet.Draft(drawn, "title"), Path(folder), "valid")
        text = (Path(folder) / "sheet.csv").read_bytes().decode("utf-8-sig")
        for delimiter in ",;|\t":
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
                starts = ("=", "+", "-", "@", "\t", "\r")
                assert not [cell for cell in row if cell.lstrip(" ").startswith(starts)]
        marks = {"mark": "valid", "note": guarded(texts[0])}
        file = save([row | marks for row in table(Path(folder) / "sheet.csv")], Path(folder))
        for entry, expected in zip(read_sheet(file).entries, drawn, strict=True):
            assert {name: entry[name] for name in expected} == expected and entry["note"] == texts[0]


# Reading back


def test_content_validity(rows, tmp_path, capsys):
    """Four of five: 0.8, with Wilson's interval."""
    file = mark(make(rows, tmp_path), ["valid", " Not  Valid ", "VALID", "valid", "valid"])
    got = read_json(capsys, "study", "sheet", "read", file)
    assert (got["value"], got["valid"], got["other"], got["unmarked"]) == (0.8, 4, 1, 0)
    assert (got["low"], got["high"]) == pytest.approx(wilson(4, 5))
    marks = data_of("marks", [[1], [0], [1], [1], [1]])
    assert marks.startswith("marks-5-")
    assert got["signature"].startswith(f"hqm|data:{marks}|responses:given|indicator:content|")


@pytest.mark.parametrize(
    ("delimiter", "name"), [(";", "marked.csv"), ("\t", "marked.tsv"), ("\t", "marked.txt")]
)
def test_other_separators_and_empty_rows(rows, tmp_path, delimiter, name):
    found = table(mark(make(rows, tmp_path), ["valid"] * 5))
    with (tmp_path / name).open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, found[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows([*found, dict.fromkeys(found[0], "")])
    assert read_sheet(tmp_path / name).ones() == [1] * 5


def test_a_sheet_saved_as_a_workbook_is_read(rows, tmp_path):
    """Google Sheets saves each number with a decimal point."""
    found = table(mark(make(rows, tmp_path), ["valid"] * 5))
    book = Workbook()
    book.active.append([*found[0]])
    for row in found:
        numbers = {"row": float(row["row"]), "id": float(row["id"])}
        book.active.append([cell or None for cell in (row | numbers).values()])
    book.save(tmp_path / "marked.xlsx")
    sheet = read_sheet(tmp_path / "marked.xlsx")
    assert sheet.ones() == [1] * 5 and [entry["id"] for entry in sheet.entries] == [
        row["id"] for row in found
    ]


def test_criterion_validity_and_the_way_to_reliability(rows, tmp_path, capsys):
    """Of the four drawn rows people agree with 1, 2 and 4; the benchmark gives 0.2, 0.4 and 0.8: a line."""
    agreed = {"a": 1, "b": 2, "c": 4}
    files = respond(tmp_path, dict.fromkeys(agreed, lambda i: "r"))
    folder = make(rows, tmp_path, "--responses", *files, "--marks", "agree", sample=4)
    seen = Counter()
    marks = []
    for row in table(folder / "sheet.csv"):
        seen[row["model"]] += 1
        marks.append("agree" if seen[row["model"]] <= agreed[row["model"]] else "disagree")
    people = read_json(capsys, "study", "sheet", "read", mark(folder, marks))
    assert {row["responses"]: row["agree"] for row in people} == {"a": 0.25, "b": 0.5, "c": 1.0}
    (tmp_path / "people.json").write_text(json.dumps(people))
    first = scores(tmp_path, {name: v / 5 for name, v in agreed.items()})
    got = read_json(capsys, "study", "reliability", first, "--criterion", tmp_path / "people.json")
    assert got["criterion"]["pearson"] == pytest.approx(1.0)


def test_unmarked_rows_are_an_error_or_left_out_and_counted(rows, tmp_path, capsys):
    file = mark(make(rows, tmp_path), ["valid", "", "", "not valid", "valid"])
    assert "2 of the 5 rows of" in refused(capsys, "study", "sheet", "read", file)
    out = printed(capsys, "study", "sheet", "read", file, "--allow-unmarked")
    assert "2 rows without a mark are left out" in out and "66.7 %" in out
    with pytest.raises(ValueError, match="5 of the 5 rows of .* have no mark: 1, 2, 3, 4, 5"):
        read_sheet(file.parent / "sheet.csv", allow_unmarked=True)


def change_row(number, **cells):
    """Return a function that changes cells of a row."""
    return lambda rows: [row | cells if place == number else row for place, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-2], "has 3 rows; expected each of the 5 rows of .* it lacks 4, 5. A part"),
        (lambda rows: [*rows, rows[0]], "has 6 rows; expected each of the 5 rows of the sheet valid-.* once"),
        (change_row(4, sheet="valid-00000000-5"), "has 5 rows; .* it lacks 5. A part"),  # of another sheet
        (change_row(0, mark="perhaps"), "the mark is 'perhaps'; expected 'valid' or"),
        (change_row(0, question="Is it so?"), "are not what the sheet valid-.*-5 was made with"),
        (lambda rows: [{"row": row["row"]} for row in rows], "has no rows with the columns sheet, row, mark"),
    ],
)
def test_sheets_that_are_not_whole(rows, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read_sheet(mark(make(rows, tmp_path), ["valid"] * 5, change))


HEAD = b"sheet,row,mark\n"
FAR = "has 1 rows; expected each of the 9,999,999,999 rows .* lacks 2, 3, 4, 5, 6 and others"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "is in UTF-16; expected UTF-8"),
        (HEAD + b"valid-00000000-1,1\n", "row 1 has a different number of cells than the header"),
        (b"id,response\n1,valid\n", "has no rows with the columns sheet, row, mark"),
        # Fast: nothing counts up to a number that only a file claims.
        (HEAD + b"valid-00000000-9999999999,1,valid", FAR),
        (HEAD + b"valid-00000000-%b,1,valid" % (b"9" * 5000), "sheet is 'valid-"),
    ],
)
def test_what_is_no_sheet(tmp_path, content, message):
    (tmp_path / "sheet.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_sheet(tmp_path / "sheet.csv")


def test_a_stratum_without_a_mark_is_refused(tmp_path, capsys):
    """With A alone, the error rate over all rows would be 0."""
    file = mark(stratified(tmp_path), ["valid"] * 4 + [""] * 4)
    said = refused(capsys, "study", "sheet", "read", file, "--allow-unmarked")
    assert "no mark in the stratum 'B', which would then not count" in said
    mark(file.parent, ["valid"] * 4 + ["", "", "", "not valid"])
    assert "content validity: 90.0 %" in printed(capsys, "study", "sheet", "read", file, "--allow-unmarked")


def test_content_validity_is_weighted_by_strata(tmp_path, capsys):
    """All of A are valid, none of B: 0.9 * 1 + 0.1 * 0, not 4 of 8."""
    file = mark(stratified(tmp_path), ["valid"] * 4 + ["not valid"] * 4)
    got = read_json(capsys, "study", "sheet", "read", file)
    assert got["value"] == pytest.approx(0.9)
    marks = data_of("marks", [["A", 90, 1]] * 4 + [["B", 10, 0]] * 4)
    assert f"|data:{marks}|responses:given|indicator:content|strata:2|" in got["signature"]
    first = scores(tmp_path, {"a": 0.1, "b": 0.2})
    content = read_json(capsys, "study", "reliability", first, "--content", file)["content"]
    assert content["content"] == pytest.approx(0.9) and content["low"] == pytest.approx(got["low"])
    mark(file.parent, ["not valid"] * 4 + ["valid"] * 4)
    swapped = read_json(capsys, "study", "sheet", "read", file)
    assert swapped["value"] == pytest.approx(0.1)
    assert keys_of(swapped["signature"])["data"] != keys_of(got["signature"])["data"]


def test_models_are_weighted_by_strata(tmp_path, capsys):
    """People agree with a on A alone, and with b on B alone."""
    responses = respond(tmp_path, dict.fromkeys("ab", lambda i: "r"))
    folder = stratified(tmp_path, "--responses", *responses, marks="agree")
    drawn = table(folder / "sheet.csv")
    marks = ["agree" if row["model"].upper() == row["stratum"] else "disagree" for row in drawn]
    found = read_json(capsys, "study", "sheet", "read", mark(folder, marks))
    assert {row["responses"]: row["agree"] for row in found} == pytest.approx({"a": 0.9, "b": 0.1})
    marks = [m if row["model"] + row["stratum"] != "bA" else "" for m, row in zip(marks, drawn, strict=True)]
    with pytest.raises(ValueError, match="no mark in the stratum 'A' of b"):
        read_sheet(mark(folder, marks), allow_unmarked=True)


def test_a_model_without_a_mark_is_refused(rows, tmp_path):
    responses = respond(tmp_path, dict.fromkeys("ab", lambda i: "r"))
    folder = make(rows, tmp_path, "--responses", *responses, "--marks", "agree")
    marks = ["agree" if row["model"] == "a" else "" for row in table(folder / "sheet.csv")]
    with pytest.raises(ValueError, match="has no mark of b, which"):
        read_sheet(mark(folder, marks), allow_unmarked=True)


def test_what_a_spreadsheet_changes_is_no_edit(tmp_path):
    """Leading zeros, spaces and quotes."""
    source = lines(tmp_path / "rows.jsonl", [{"id": "007", "question": 'a  "dog"?\r\n', "answer": "1.0"}])
    change = {"id": "7", "question": "a \u201cdog\u201d?", "answer": "1"}
    file = mark(make(source, tmp_path, sample=1), ["valid"], lambda rows: [rows[0] | change])
    assert read_sheet(file).ones() == [1]
