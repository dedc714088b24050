"""Review sheets: drawn, marked in a real browser, read back; and the arithmetic of THRONE's supplement, Table 3."""

import csv
import io
import json
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from halluscope import cli
from halluscope.errors import LimitExceeded
from halluscope.paths import PACKAGE
from halluscope.reading.datasets import read_rows
from halluscope.reliability import review, sheet
from halluscope.reliability.sheet import guarded, read_sheet, unguarded
from halluscope.signature import data_of, keys_of
from halluscope.stats.ratios import wilson
from halluscope.stats.samples import Stratum, error_rate
from tests import images as image_files
from tests.reliability.sheets import save, table

HOSTILE = [
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\">",
    "=cmd|' /C calc'!A0",
    '"quoted", and; divided\r\nover two lines',
    "{{ 7 * 7 }} {% raw %} ${7 * 7} &lt;b&gt;",
    "\ud800 half a character",
]


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.fixture
def rows(tmp_path):
    found = [
        {"id": i, "question": f"Is {i} even?", "answer": "yes" if i % 2 == 0 else "no"} for i in range(20)
    ]
    return write(tmp_path / "rows.jsonl", found)


def make(rows, tmp_path, *options, sample="5"):
    out = tmp_path / "review"
    assert cli.main(["review", "make", rows, "--out", str(out), "--sample", sample, *options]) == 0
    return out


def mark(folder, marks, change=None):
    """Return the sheet as a reader's spreadsheet saves it."""
    found = table(folder / "sheet.csv")
    for row, given_mark in zip(found, marks, strict=True):
        row["mark"] = given_mark
    return save(change(found) if change else found, folder)


# Making


def test_the_same_seed_draws_the_same_rows(rows, tmp_path, capsys):
    first = table(make(rows, tmp_path / "a") / "sheet.csv")
    assert first == table(make(rows, tmp_path / "b") / "sheet.csv")
    other = table(make(rows, tmp_path / "c", "--seed", "1") / "sheet.csv")
    assert {row["id"] for row in first} != {row["id"] for row in other}
    ids = [int(row["id"]) for row in first]
    assert ids == sorted(ids) and len(set(ids)) == 5
    assert all(row["question"] == f"Is {row['id']} even?" for row in first)
    assert "5 rows, 0 with an image" in capsys.readouterr().out


def test_strata_are_drawn_apart_and_know_their_size(tmp_path):
    found = [{"id": i, "question": "q", "answer": "a", "agree": "yes" if i < 14 else "no"} for i in range(20)]
    source = write(tmp_path / "rows.jsonl", found)
    drawn = table(make(source, tmp_path, "--stratum", "agree", "--marks", "agree", sample="8") / "sheet.csv")
    assert [row["stratum"] for row in drawn] == ["yes"] * 8 + ["no"] * 6
    assert {(row["stratum"], row["stratum_rows"]) for row in drawn} == {("yes", "14"), ("no", "6")}


def test_models_responses_are_marked_without_their_names(rows, tmp_path):
    for name in ("alpha", "beta"):
        write(tmp_path / f"{name}.jsonl", [{"id": i, "response": f"{i * 3}!"} for i in range(20)])
    responses = [str(tmp_path / "alpha.jsonl"), str(tmp_path / "beta.jsonl")]
    folder = make(rows, tmp_path, "--responses", *responses, "--marks", "agree", sample="12")
    drawn = table(folder / "sheet.csv")
    assert len(drawn) == 24 and all(row["response"] == f"{int(row['id']) * 3}!" for row in drawn)
    order = [row["model"] for row in drawn[::2]]
    assert set(order) == {"alpha", "beta"}  # now one first, now the other
    visible = (folder / "page.html").read_text().partition('<script type="application/json"')[0]
    assert "alpha" not in visible and "beta" not in visible


def test_images_from_a_dataset_and_from_a_folder(tmp_path):
    file = io.BytesIO()
    Image.new("RGB", (2000, 1000), "red").save(file, "PNG")
    features = {
        "question": datasets.Value("string"),
        "answer": datasets.Value("string"),
        "image": datasets.Image(),
    }
    found = [{"question": "q", "answer": "a", "image": {"bytes": file.getvalue(), "path": None}}]
    datasets.Dataset.from_list(found, features=datasets.Features(features)).to_parquet(
        tmp_path / "rows.parquet"
    )
    (drawn,) = review.draw(review.Images(read_rows(str(tmp_path / "rows.parquet"))), 1)
    (tmp_path / "1.png").write_bytes(file.getvalue())
    images = review.Images([{"question": "q", "answer": "a", "file_name": "1.png"}], tmp_path)
    (same,) = review.draw(images, 1)
    assert drawn["image"] == same["image"] and drawn["image"].startswith("data:image/webp;base64,")
    assert len(drawn["image"]) < 40_000  # reduced to 1,280 pixels


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        (
            {"question": "q", "file_name": "../../etc/passwd"},
            {},
            r"rows\[0\] cannot be opened: .*'../../etc/passwd' leads out of",
        ),
        ({"question": "q", "file_name": "2.png"}, {}, "which is not in"),
        ({"question": "q", "file_name": "text.png"}, {}, r"rows\[0\], .*text.png, is not a readable image"),
        ({"id": 1}, {}, r"rows\[0\] has no question"),
        ({"question": "q"}, {"stratum": "type"}, r"rows\[0\] has no 'type'"),
        (
            {"question": "q"},
            {"responses": {"a": [{"id": 1, "response": "t"}]}},
            "None of the columns question_id, id, image_id",
        ),
        (
            {"question": "q", "id": 1},
            {"responses": {"a": [{"id": 2, "response": "t"}]}},
            "a has no response to the drawn row with the id 1",
        ),
        (
            {"question": "q", "id": 1},
            {"responses": {"a": [{"id": 1, "response": "t"}] * 2}},
            r"id of a\[1\] is 1, as is id of a\[0\]",
        ),
    ],
)
def test_rows_that_make_no_sheet(tmp_path, row, options, message):
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(ValueError, match=message):
        review.draw(review.Images([row], tmp_path), 1, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (image_files.eps(), "it is EPS or PostScript"),
        (b"<svg/>", "it is an SVG"),
        (image_files.file(image_files.noise(), "PNG")[:-50], "It is cut off or damaged"),
        (image_files.several()["PNG"], "it holds several frames"),
        (image_files.png(60_000, 60_000), "is larger than the limit 'pixels'"),
        (b"", "it is empty"),
    ],
)
def test_a_broken_image_is_named_with_its_row(content, message, tmp_path, capsys):
    """In a folder and in a dataset."""
    write(tmp_path / "rows.jsonl", [{"question": "q", "file_name": "a.png"}])
    (tmp_path / "a.png").write_bytes(content)
    features = datasets.Features({"question": datasets.Value("string"), "image": datasets.Image()})
    stored = [{"question": "q", "image": {"bytes": content, "path": "a.png"}}]
    datasets.Dataset.from_list(stored, features=features).to_parquet(tmp_path / "rows.parquet")
    for rows in ("rows.jsonl", "rows.parquet"):
        command = ["review", "make", str(tmp_path / rows), "--images", str(tmp_path), "--sample", "1"]
        assert cli.main([*command, "--out", str(tmp_path / "sheet")]) == 2
        said = capsys.readouterr().err
        assert "The image of rows[0], " in said and "a.png" in said and message in said
        assert not (tmp_path / "sheet").exists()


def test_rows_that_name_files_of_their_dataset(tmp_path, capsys):
    """A folder of images with a list of their contents; a row cannot open a file elsewhere."""
    (tmp_path / "data").mkdir()
    for place in (tmp_path / "data", tmp_path):
        image_files.noise().save(place / "a.png")
    write(tmp_path / "data" / "metadata.jsonl", [{"question": "q", "file_name": "a.png"}])
    command = ["review", "make", str(tmp_path / "data"), "--sample", "1"]
    assert cli.main([*command, "--out", str(tmp_path / "sheet")]) == 0
    assert "1 rows, 1 with an image" in capsys.readouterr().out
    features = datasets.Features({"question": datasets.Value("string"), "image": datasets.Image()})
    table = pa.table(
        {"question": ["q"], "image": [{"bytes": None, "path": str(tmp_path / "a.png")}]},
        features.arrow_schema,
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    command = [
        "review",
        "make",
        str(tmp_path / "rows.parquet"),
        "--sample",
        "1",
        "--out",
        str(tmp_path / "two"),
    ]
    assert cli.main(command) == 2
    assert "rows[0] is not in its row, and image files are opened only in a folder" in capsys.readouterr().err
    assert cli.main([*command, "--images", str(tmp_path / "data")]) == 2
    assert "leads out of" in capsys.readouterr().err
    assert cli.main([*command, "--images", str(tmp_path)]) == 0


@pytest.mark.parametrize("sample", ["0", "21"])
def test_a_sample_that_cannot_be(rows, tmp_path, capsys, sample):
    assert cli.main(["review", "make", rows, "--out", str(tmp_path / "x"), "--sample", sample]) == 2
    assert f"sample is {sample}; expected a number of rows from 1 to 20" in capsys.readouterr().err


def test_a_sheet_is_never_overwritten(rows, tmp_path, capsys):
    folder = make(rows, tmp_path)
    assert cli.main(["review", "make", rows, "--out", str(folder), "--sample", "5"]) == 2
    assert "holds a sheet already" in capsys.readouterr().err


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

    folder = make(rows, tmp_path)
    browser.get((folder / "page.html").as_uri())
    cards = browser.find_elements(By.TAG_NAME, "article")
    assert len(cards) == 5 and cards[0].text.startswith("1 of 5\nQuestion\nIs ")
    cards[0].find_elements(By.TAG_NAME, "button")[0].click()
    cards[1].find_elements(By.TAG_NAME, "button")[1].click()
    cards[1].find_element(By.TAG_NAME, "input").send_keys('=1+1, "no"')
    browser.execute_script("arguments[0].focus()", cards[2])
    browser.switch_to.active_element.send_keys("2")  # marks, and goes on to the next
    browser.switch_to.active_element.send_keys("1")
    browser.switch_to.active_element.send_keys("1")
    browser.switch_to.active_element.send_keys(Keys.ARROW_UP)
    browser.switch_to.active_element.send_keys("2")  # another mind about the fourth
    assert browser.find_element(By.ID, "count").text == "5 of 5"

    for _ in range(20):  # a busy Chromium takes a while to hand on what a page has kept
        browser.refresh()
        if browser.find_element(By.ID, "count").text == "5 of 5":
            break
        time.sleep(0.5)
    assert browser.find_element(By.ID, "count").text == "5 of 5"
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
    assert cli.main(["review", "read", str(file)]) == 0
    assert "content validity: 40.0 %" in capsys.readouterr().out


@pytest.mark.long
def test_hostile_text_stays_text(tmp_path, browser):
    from selenium.webdriver.common.by import By

    found = [{"id": i, "question": text, "answer": text} for i, text in enumerate(HOSTILE)]
    folder = make(write(tmp_path / "rows.jsonl", found), tmp_path, sample=str(len(HOSTILE)))
    browser.get((folder / "page.html").as_uri())
    assert browser.title == "Review of rows.jsonl"
    assert not browser.find_elements(By.TAG_NAME, "img")
    shown = [one.get_attribute("textContent") for one in browser.find_elements(By.TAG_NAME, "dd")][::2]
    expected = [text.replace("\r\n", "\n").replace("\ud800", "?") for text in HOSTILE]
    assert shown == expected
    # Even if something got in, the page's policy lets no other script run.
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s);"
    )
    assert browser.title == "Review of rows.jsonl"
    for button in browser.find_elements(By.CSS_SELECTOR, "button[data-mark=valid]"):
        browser.execute_script("arguments[0].click()", button)
    browser.find_element(By.ID, "save").click()
    file = saved(tmp_path / "downloads")
    page, exported = table(file), table(folder / "sheet.csv")
    assert [row | {"mark": ""} for row in page] == exported
    cells = [cell for row in page for cell in row.values()]
    assert "'=cmd|' /C calc'!A0" in cells and not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert read_sheet(file).entries[2]["question"] == HOSTILE[2]


TRICKY = st.text(
    st.sampled_from(["=", "+", "@", "＝", "'", '"', ",", ";", "|", "\t", "\r", "\n", " ", "1", "x"])
)
"""What formulas, and the ends of cells, are made of."""


@given(st.one_of(st.text(), TRICKY))
def test_no_part_of_a_cell_is_a_formula(text):
    """With any separators of cells and lines, with or without support for quotation marks."""
    for part in re.split('[,;|"\t\r\n]', guarded(text)):
        assert not part.lstrip(" ").startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not guarded(text).startswith(("\t", "\r", "\n"))
    assert unguarded(guarded(text)) == text


@given(st.lists(st.one_of(st.text(st.characters(exclude_categories=["Cs"])), TRICKY), min_size=1, max_size=4))
def test_no_other_reader_finds_a_formula_and_the_sheet_is_read_back(texts):
    rows = [
        {"id": i, "question": f"q {text}", "response": text, "answer": text} for i, text in enumerate(texts)
    ]
    drawn = review.draw(review.Images(rows), len(rows))
    with TemporaryDirectory() as folder:
        sheet.write(sheet.Draft(drawn, "title"), Path(folder), "valid")
        text = (Path(folder) / "sheet.csv").read_bytes().decode("utf-8-sig")
        for delimiter in ",;|\t":
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
                assert not [
                    cell for cell in row if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
                ]
        file = Path(folder) / "marked.csv"
        found = list(csv.DictReader(io.StringIO(text, newline="")))
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, found[0])
            writer.writeheader()
            writer.writerows(row | {"mark": "valid", "note": guarded(texts[0])} for row in found)
        for entry, one in zip(read_sheet(file).entries, drawn, strict=True):
            assert {name: entry[name] for name in one} == one and entry["note"] == texts[0]


def test_the_page_guards_as_the_sheet_does():
    """The two expressions are equal; the sweep in the browser tries this one."""
    script = (PACKAGE / "reliability" / "page.js").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"cell\.replace\(/(.+)/g, \"'\"\)", script)
    assert pattern == sheet._UNGUARDED.pattern.replace(r"\A", "^").replace(r"\"", '"')


def test_many_cells_ends_are_guarded_at_once():
    began = time.monotonic()
    for text in (";" * 300_000, ";'" * 300_000, "'" * 300_000, ("; " * 300_000) + "=", "\t" * 300_000):
        assert unguarded(guarded(text)) == text
    assert time.monotonic() - began < 5


# Reading back


def test_content_validity(rows, tmp_path, capsys):
    """Four of five: 0.8, with Wilson's interval."""
    file = mark(make(rows, tmp_path), ["valid", " Not  Valid ", "VALID", "valid", "valid"])
    capsys.readouterr()
    assert cli.main(["review", "read", str(file), "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert (got["value"], got["valid"], got["other"], got["unmarked"]) == (0.8, 4, 1, 0)
    assert (got["low"], got["high"]) == pytest.approx(wilson(4, 5))
    marks = data_of("marks", [[1], [0], [1], [1], [1]])
    assert marks.startswith("marks-5-")
    assert got["signature"].startswith(f"hqm|data:{marks}|responses:given|indicator:content|")


def test_a_spreadsheet_that_divides_by_semicolons(rows, tmp_path):
    folder = make(rows, tmp_path)
    file = mark(folder, ["valid"] * 5)
    with file.open(newline="") as stream:
        lines = list(csv.reader(stream))
    with file.open("w", newline="", encoding="utf-8-sig") as stream:
        csv.writer(stream, delimiter=";").writerows(lines)
    assert read_sheet(file).ones() == [1] * 5


def test_criterion_validity_and_the_way_to_reliability(rows, tmp_path, capsys):
    """Of the four drawn rows people agree with 1, 2 and 4; the benchmark gives 0.2, 0.4 and 0.8: a line."""
    agreed = {"a": 1, "b": 2, "c": 4}
    for name in agreed:
        write(tmp_path / f"{name}.jsonl", [{"id": i, "response": "r"} for i in range(20)])
    files = [str(tmp_path / f"{name}.jsonl") for name in agreed]
    folder = make(rows, tmp_path, "--responses", *files, "--marks", "agree", sample="4")
    seen = dict.fromkeys(agreed, 0)
    marks = []
    for row in table(folder / "sheet.csv"):
        seen[row["model"]] += 1
        marks.append("agree" if seen[row["model"]] <= agreed[row["model"]] else "disagree")
    capsys.readouterr()
    assert cli.main(["review", "read", str(mark(folder, marks)), "--json"]) == 0
    people = capsys.readouterr().out
    assert {row["responses"]: row["agree"] for row in json.loads(people)} == {"a": 0.25, "b": 0.5, "c": 1.0}
    (tmp_path / "people.json").write_text(people)
    scores = [{"responses": n, "accuracy": v / 5, "signature": "pope|x"} for n, v in agreed.items()]
    (tmp_path / "first.json").write_text(json.dumps(scores))
    command = [
        "reliability",
        str(tmp_path / "first.json"),
        "--criterion",
        str(tmp_path / "people.json"),
        "--json",
    ]
    assert cli.main(command) == 0
    assert json.loads(capsys.readouterr().out)["criterion"]["pearson"] == pytest.approx(1.0)


def test_content_in_the_reliability_table(rows, tmp_path, capsys):
    scores = [{"responses": n, "accuracy": v, "signature": "pope|x"} for n, v in {"a": 0.1, "b": 0.2}.items()]
    (tmp_path / "first.json").write_text(json.dumps(scores))
    file = mark(make(rows, tmp_path), ["valid"] * 4 + ["not valid"])
    assert cli.main(["reliability", str(tmp_path / "first.json"), "--content", str(file)]) == 0
    assert "content: 4 of 5 rows are valid" in capsys.readouterr().out
    other = make(rows, tmp_path / "other", "--marks", "agree")
    assert (
        cli.main(["reliability", str(tmp_path / "first.json"), "--content", str(mark(other, ["agree"] * 5))])
        == 2
    )
    assert "expected one made with --marks valid" in capsys.readouterr().err


def test_unmarked_rows_are_an_error_or_left_out_and_counted(rows, tmp_path, capsys):
    file = mark(make(rows, tmp_path), ["valid", "", "", "not valid", "valid"])
    assert cli.main(["review", "read", str(file)]) == 2
    assert "2 of the 5 rows of" in capsys.readouterr().err
    assert cli.main(["review", "read", str(file), "--allow-unmarked"]) == 0
    out = capsys.readouterr().out
    assert "2 rows without a mark are left out" in out and "66.7 %" in out


def test_a_sheet_that_nobody_marked(rows, tmp_path):
    with pytest.raises(ValueError, match="5 of the 5 rows of .* have no mark: 1, 2, 3, 4, 5"):
        read_sheet(make(rows, tmp_path) / "sheet.csv", allow_unmarked=True)


def test_a_foreign_row(rows, tmp_path):
    other = table(make(rows, tmp_path / "other", "--seed", "9") / "sheet.csv")

    def swap(found):
        return [*found[:-1], other[-1] | {"mark": "valid"}]

    with pytest.raises(ValueError, match="has 5 rows; expected each of the 5 rows of .* it lacks 5. A part"):
        read_sheet(mark(make(rows, tmp_path), ["valid"] * 5, swap))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-2], "has 3 rows; expected each of the 5 rows of .* it lacks 4, 5. A part"),
        (lambda rows: [*rows, rows[0]], "has 6 rows; expected each of the 5 rows of the sheet valid-.* once"),
        (lambda rows: [*rows[:-1], rows[-1] | {"row": "6"}], "has 5 rows; .* it lacks 5. A part"),
        (lambda rows: [*rows[:-1], rows[-1] | {"row": "5.0"}], "has 5 rows; .* it lacks 5. A part"),
        (
            lambda rows: [*rows[:-1], rows[-1] | {"mark": "perhaps"}],
            "the mark is 'perhaps'; expected 'valid' or",
        ),
        (lambda rows: [row | {"sheet": "x"} for row in rows], "sheet is 'x'; expected a sheet that"),
        (
            lambda rows: [{"row": row["row"]} for row in rows],
            "line \\d+: expected a sheet that .* with the columns sheet, row and mark",
        ),
    ],
)
def test_sheets_that_are_not_whole(rows, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read_sheet(mark(make(rows, tmp_path), ["valid"] * 5, change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 0: expected a sheet that"),
        (b"\xff\xfe\x00", "is in UTF-16; expected UTF-8"),
        (b"\x80sheet", "is not in UTF-8, or is cut off"),
        (b'"sheet","row","mark"\n"open', "line 2: expected a sheet that .*: CSV in UTF-8"),
        (b"sheet,row,mark\nvalid-00000000-1,1\n", "line 2: .* and in each line as many cells"),
        (b"sheet,row,mark\n", "line 1: expected a sheet"),
    ],
)
def test_what_is_no_sheet(tmp_path, content, message):
    (tmp_path / "sheet.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_sheet(tmp_path / "sheet.csv")


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        (
            "valid-00000000-9999999999",
            ["1"],
            "has 1 rows; expected each of the 9,999,999,999 rows .* lacks 2, 3, 4, 5, 6 and others",
        ),
        (f"valid-00000000-{'9' * 5000}", ["1"], "sheet is 'valid-"),
        ("valid-00000000-0", ["1"], "sheet is 'valid-"),
        ("valid-00000000-1", ["9" * 5000], "it lacks 1. A part"),
        ("valid-00000000-1", ["²"], "it lacks 1. A part"),
    ],
)
def test_numbers_that_a_sheet_cannot_have(tmp_path, name, rows, message):
    """Fast: nothing counts up to a number that only a file claims."""
    lines = ["sheet,row,mark", *(f"{name},{row},valid" for row in rows)]
    (tmp_path / "sheet.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=message):
        read_sheet(tmp_path / "sheet.csv")


def test_a_long_cell_of_a_sheet(rows, tmp_path, monkeypatch):
    """Python's own reader stops at 131,072 characters."""
    folder = make(rows, tmp_path)
    file = mark(folder, ["valid"] * 5, lambda found: [row | {"note": "n" * 140_000} for row in found])
    assert len(read_sheet(file).entries[0]["note"]) == 140_000
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "cell=1000")
    with pytest.raises(ValueError, match="each of at most 1,000 characters"):
        read_sheet(file)
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "file=1000")
    with pytest.raises(LimitExceeded, match="the limit 'file' of 1,000 bytes"):
        read_sheet(file)
    monkeypatch.setenv("HALLUSCOPE_LIMITS", "cell=99999999G")
    assert read_sheet(file).ones() == [1] * 5


# THRONE, supplement, Table 3: rows (responses), judgements, errors.
AGREED = Stratum(38350, 157, 4)
THRONE_ALONE = Stratum(16650, 376, 30)
CHAIR_ALONE = Stratum(16650, 477, 111)


def test_the_error_rates_of_table_3():
    """CHAIR's 8.8 % as printed. THRONE's counts give 4.2 %, as does the paper's own formula; it prints 4.3 %."""
    chair, throne = (error_rate([AGREED, alone]) for alone in (CHAIR_ALONE, THRONE_ALONE))
    assert f"{chair['value']:.1%}" == "8.8%"
    assert f"{throne['value']:.1%}" == "4.2%"
    assert pytest.approx(throne["value"], abs=0.0005) == 0.697 * 0.025 + 0.303 * 0.080
    assert throne["value"] == pytest.approx(0.043, abs=0.0012)
    for found in (chair, throne):
        assert 0 < found["low"] < found["value"] < found["high"] < 1
    assert throne["high"] < chair["low"]  # the difference between the methods is no accident of the sample


def test_one_stratum_is_wilson():
    assert error_rate([Stratum(10, 20, 3)]) == pytest.approx(
        dict(zip(("value", "low", "high"), (0.15, *wilson(3, 20)), strict=True))
    )


def test_table_3_from_a_sheet(tmp_path, capsys):
    """A tenth of Table 3's shape: 70 rows agreed and 30 not; 1 of 10 and 3 of 10 wrong: 0.7 * 0.1 + 0.3 * 0.3."""
    found = [
        {"id": i, "question": "q", "answer": "a", "methods": "agree" if i < 70 else "differ"}
        for i in range(100)
    ]
    source = write(tmp_path / "rows.jsonl", found)
    folder = make(source, tmp_path, "--stratum", "methods", "--marks", "agree", sample="10")
    marks = ["disagree"] + ["agree"] * 9 + ["disagree"] * 3 + ["agree"] * 7
    assert cli.main(["review", "read", str(mark(folder, marks))]) == 0
    out = capsys.readouterr().out
    assert "agreement: 84.0 %" in out and "70.0" in out and "30.0" in out


STRATA = [
    {"id": i, "question": "q", "answer": "a", "kind": "A" if i < 90 else "B", "n": i} for i in range(100)
]


def stratified(tmp_path, *options, marks="valid"):
    """Nine tenths are of A; four rows of each are drawn."""
    source = write(tmp_path / "rows.jsonl", STRATA)
    return make(source, tmp_path, "--stratum", "kind", "--marks", marks, *options, sample="4")


def test_a_stratum_without_a_mark_is_refused(tmp_path, capsys):
    """With A alone, the error rate over all rows would be 0."""
    file = mark(stratified(tmp_path), ["valid"] * 4 + [""] * 4)
    assert cli.main(["review", "read", str(file), "--allow-unmarked"]) == 2
    assert "no mark in the stratum 'B', which would then not count" in capsys.readouterr().err
    file = mark(file.parent, ["valid"] * 4 + ["", "", "", "not valid"])
    assert cli.main(["review", "read", str(file), "--allow-unmarked"]) == 0
    assert "content validity: 90.0 %" in capsys.readouterr().out


def test_content_validity_is_weighted_by_strata(tmp_path, capsys):
    """All of A are valid, none of B: 0.9 * 1 + 0.1 * 0, not 4 of 8."""
    file = mark(stratified(tmp_path), ["valid"] * 4 + ["not valid"] * 4)
    capsys.readouterr()
    assert cli.main(["review", "read", str(file), "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert got["value"] == pytest.approx(0.9)
    marks = data_of("marks", [["A", 90, 1]] * 4 + [["B", 10, 0]] * 4)
    assert f"|data:{marks}|responses:given|indicator:content|strata:2|" in got["signature"]
    scores = [{"responses": n, "accuracy": v, "signature": "pope|x"} for n, v in {"a": 0.1, "b": 0.2}.items()]
    (tmp_path / "first.json").write_text(json.dumps(scores))
    command = ["reliability", str(tmp_path / "first.json"), "--content", str(file), "--json"]
    assert cli.main(command) == 0
    content = json.loads(capsys.readouterr().out)["content"]
    assert content["content"] == pytest.approx(0.9) and content["low"] == pytest.approx(got["low"])


def test_the_same_marks_in_other_strata_are_other_data(tmp_path, capsys):
    """These are another value, so their signature must differ."""
    file = mark(stratified(tmp_path), ["valid"] * 4 + ["not valid"] * 4)
    found = []
    for marks in (["valid"] * 4 + ["not valid"] * 4, ["not valid"] * 4 + ["valid"] * 4):
        mark(file.parent, marks)
        capsys.readouterr()
        assert cli.main(["review", "read", str(file), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [one["value"] for one in found] == [pytest.approx(0.9), pytest.approx(0.1)]
    one, other = (keys_of(each["signature"]) for each in found)
    assert one["data"] != other["data"] and one | {"data": ""} == other | {"data": ""}


def test_models_are_weighted_by_strata(tmp_path, capsys):
    """People agree with a on A alone, and with b on B alone."""
    for name in "ab":
        write(tmp_path / f"{name}.jsonl", [{"id": i, "response": "r"} for i in range(100)])
    folder = stratified(
        tmp_path, "--responses", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), marks="agree"
    )
    of = {"a": "A", "b": "B"}
    drawn = table(folder / "sheet.csv")
    marks = ["agree" if of[row["model"]] == row["stratum"] else "disagree" for row in drawn]
    capsys.readouterr()
    assert cli.main(["review", "read", str(mark(folder, marks)), "--json"]) == 0
    got = {row["responses"]: row["agree"] for row in json.loads(capsys.readouterr().out)}
    assert got == pytest.approx({"a": 0.9, "b": 0.1})
    marks = [m if row["model"] + row["stratum"] != "bA" else "" for m, row in zip(marks, drawn, strict=True)]
    with pytest.raises(ValueError, match="no mark in the stratum 'A' of b"):
        read_sheet(mark(folder, marks), allow_unmarked=True)


@pytest.mark.parametrize(
    ("column", "value"),
    [("stratum_rows", "9"), ("stratum", "C"), ("id", "7777"), ("question", "Is it so?"), ("model", "a")],
)
def test_an_edited_row_is_refused(tmp_path, column, value):
    file = mark(
        stratified(tmp_path),
        ["valid"] * 8,
        lambda rows: [{"model": ""} | row | {column: value} for row in rows],
    )
    with pytest.raises(ValueError, match="are not what the sheet valid-.*-8 was made with"):
        read_sheet(file)


def test_what_a_spreadsheet_changes_is_no_edit(tmp_path):
    """Leading zeros, spaces and quotes."""
    source = write(tmp_path / "rows.jsonl", [{"id": "007", "question": 'a  "dog"?\r\n', "answer": "1.0"}])
    change = {"id": "7", "question": "a \u201cdog\u201d?", "answer": "1"}
    file = mark(make(source, tmp_path, sample="1"), ["valid"], lambda rows: [rows[0] | change])
    assert read_sheet(file).ones() == [1]
