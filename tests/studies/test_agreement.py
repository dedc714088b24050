"""Two methods that read classes out of responses: where they agree, and the sheet on which their errors are marked."""

import re
from types import SimpleNamespace

import pytest
from PIL import Image

from halluscope import registry, vocabularies
from halluscope.judging.cache import Record
from halluscope.responses.matching import Matched
from halluscope.runs.folder import write as write_runs
from halluscope.runs.run import Run
from halluscope.scoring import Ready
from tests.studies.sheets import lines, printed, read_json, read_lines, refused, run, save, table

COCO = vocabularies.load("coco")
WORDS = {
    # the same classes, held against other ground truths
    ("alpha", 1): (["dog", "cat"], [], ["dog"], ["cat"]),
    ("alpha", 2): (["dog"], [], ["dog"], ["cup"]),
    ("alpha", 3): ([], [], [], []),
    ("beta", 1): (["dog"], ["cup"], ["dog"], []),
    ("beta", 2): ([], [], [], ["cat"]),
    ("beta", 3): ([], ["cup"], [], ["cup"]),
}
"""Model and image: what the first method finds and calls hallucinated, and the second."""


def run_of(model, texts, found):
    """A run of a model's responses {image: text}, in which this was found."""
    rows = [SimpleNamespace(image_id=image) for image in texts]
    matched = Matched(model, rows, list(texts.values()), by="image_id", of=len(rows))
    ready = Ready(matched, {"references": [[] for _ in rows]})
    return Run(registry.benchmark("throne"), ready, {}, Record(), {"signature": "throne|"}, found)


def write_method(folder, words, place=0):
    """The runs of a method; two positions in the words hold the found and the hallucinated classes."""
    runs = []
    for model in dict.fromkeys(model for model, _ in words):
        of = {image: what[place : place + 2] for (one, image), what in words.items() if one == model}
        texts = {image: f"<think>hm</think>{model} saw {image}." for image in of}
        runs.append(
            run_of(model, texts, [{"found": one, "hallucinated": other} for one, other in of.values()])
        )
    write_runs(runs, folder)
    return str(folder)


@pytest.fixture
def files(tmp_path):
    """Two methods' readings of the responses of two models."""
    for place, name in enumerate(("first", "second")):
        write_method(tmp_path / name, WORDS, 2 * place)
    return tmp_path


def compared(files, *words):
    return ["study", "agree", files / "first", files / "second", *words]


def make(files, *words):
    """Draw a sheet, and return its folder."""
    out = words[-1] if "--out" in words else files / "review"
    run(*compared(files, *words, *([] if "--out" in words else ["--out", out])))
    return out


def mark(folder, says):
    """Return the marked sheet as a spreadsheet saves it; `says` gives the mark of a row."""
    return save([row | {"mark": says(row)} for row in table(folder / "sheet.csv")], folder)


def pictured(files, names):
    """Options that name a dataset of images 1, 2, ... and their files."""
    rows = [{"image_id": i, "file_name": name} for i, name in enumerate(names, 1)]
    for place, name in enumerate(names):
        Image.new("RGB", (8, 8), (80 * place, 0, 0)).save(files / name)
    return ["--dataset", lines(files / "images.jsonl", rows), "--images", files]


# Where they agree


def test_worked_by_hand(files, capsys):
    """The methods agree on alpha 1 and 3 and on beta 3: the image does not count, and reading nothing twice agrees."""
    got = read_json(capsys, *compared(files, "--each", files / "each.jsonl"))
    assert got["methods"] == ["first", "second"] and got["sheet"] is None
    assert (got["images"], got["agree"], got["agreement"]) == (6, 3, 0.5)
    of_models = [(one["responses"], one["images"], one["agree"]) for one in got["models"]]
    assert of_models == [("alpha", 3, 2), ("beta", 3, 1)]
    assert got["classes"] == {
        "cup": {"both": 1, "first": 1, "second": 1},
        "cat": {"both": 1, "first": 0, "second": 1},
        "dog": {"both": 3, "first": 0, "second": 0},
    }
    rows = read_lines(files / "each.jsonl")
    about = {"responses": "alpha", "image_id": 2, "agree": False}
    assert rows[1] == about | {"both": ["dog"], "first": [], "second": ["cup"]}
    assert [row["agree"] for row in rows] == [True, False, True, False, False, True]
    out = printed(capsys, "study", "agree", f"A={files / 'first'}", f"B={files / 'second'}/")
    shown = ["alpha 3 2 66.7", "beta 3 1 33.3", "all 6 3 50.0"]
    assert [" ".join(line.split()) for line in out.splitlines()[2:5]] == shown
    assert "only A    only B" in out and "methods:A,B" in out and "dog" not in out


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({("m", 2): ([], [])}, "second lacks 1 of the 1 responses that first has read, .* of m to"),
        ({("m", 1): ([], []), ("n", 1): ([], [])}, "first lacks 1 of the 2 .* of n to the image 1"),
        ({("n", 1): ([], [])}, "files are matched by name: score both as [mn]=FILE"),
        ({("m", 1): ([], None)}, "expected a run that reads classes out of descriptions"),
    ],
)
def test_runs_that_cannot_be_compared(tmp_path, capsys, second, message):
    write_method(tmp_path / "first", {("m", 1): ([], [])})
    write_method(tmp_path / "second", second)
    assert re.search(message, refused(capsys, *compared(tmp_path)))


def test_methods_that_cannot_be_compared(files, capsys):
    for words in (("A={}/first", "A={}/second"), ("A and B={}/first", "C={}/second")):
        paths = [word.format(files) for word in words]
        assert "expected two different names without ' and '" in refused(capsys, "study", "agree", *paths)
    for name in ("A", "B"):
        run = run_of("m", {1: f"{name} dog."}, [{"found": [], "hallucinated": []}])
        write_runs([run], files / name)
    said = "A and B have read different texts for 1 of the responses, such as that of m to the image 1"
    assert said in refused(capsys, "study", "agree", files / "A", files / "B")
    assert "--out" in refused(capsys, *compared(files, "--dataset", "x"))


def test_most_classes_on_which_methods_differ_are_left_to_json(tmp_path, capsys):
    write_method(tmp_path / "first", {("m", "a.jpg"): (list(COCO.classes[:20]), [])})
    write_method(tmp_path / "second", {("m", "a.jpg"): ([], [])})
    assert "and 5 more classes on which they differ" in printed(capsys, *compared(tmp_path))
    read_json(capsys, *compared(tmp_path, "--each", tmp_path / "each.jsonl"))
    assert read_lines(tmp_path / "each.jsonl")[0]["image_id"] == "a.jpg"


# The sheet


def test_a_row_for_each_judgement(files):
    """Alpha 3 is never drawn, because nothing is read out of it, but it counts in the size of its stratum."""
    rows = table(make(files) / "sheet.csv")
    columns = ("model", "id", "question", "read_by", "annotated", "stratum")
    found = [[re.split(r":| \(", row[name])[0] for name in columns] for row in rows]
    assert sorted(found) == [
        ["alpha", "1", "cat", "first and second", "no", "agree"],  # for the second method
        ["alpha", "1", "dog", "first and second", "yes", "agree"],
        ["alpha", "2", "cup", "second", "no", "disagree"],
        ["alpha", "2", "dog", "first and second", "yes", "disagree"],
        ["beta", "1", "cup", "first", "no", "disagree"],
        ["beta", "1", "dog", "first and second", "yes", "disagree"],
        ["beta", "2", "cat", "second", "no", "disagree"],
        ["beta", "3", "cup", "first and second", "no", "agree"],
    ]
    assert {row["stratum_rows"] for row in rows} == {"3"}
    assert all(row["response"] == f"{row['model']} saw {row['id']}." for row in rows)  # without thoughts


def test_tables_3_and_4_by_hand(files, capsys):
    """The agreed: 3 judgements, 1 wrong. First: 3 and 1 wrong of those not agreed; second: 4 and 1. Halves each."""
    wrong = {("alpha", "1", "cat"), ("alpha", "2", "cup"), ("beta", "1", "dog")}

    def says(row):
        if (row["model"], row["id"], row["question"][:3]) in wrong:
            return "wrong"
        kinds = {"beta1": "Hallucination", "beta2": " misclassification", "beta3": "right"}
        return kinds[row["model"] + row["id"]] if row["annotated"] == "no" else "right"

    marked = mark(make(files), says)
    got = read_json(capsys, "study", "sheet", "read", marked)
    columns = ("methods", "stratum", "responses", "share", "evaluated", "judgements", "errors")
    assert [tuple(row[name] for name in columns) for row in got["table"]] == [
        ("first and second", "agree", 3, 0.5, 2, 3, 1),
        ("first", "disagree", 3, 0.5, 3, 3, 1),
        ("second", "disagree", 3, 0.5, 3, 4, 2),
    ]
    assert got["error_rates"]["first"]["value"] == pytest.approx(0.5 * 1 / 3 + 0.5 * 1 / 3)
    assert got["error_rates"]["second"]["value"] == pytest.approx(0.5 * 1 / 3 + 0.5 * 2 / 4)
    kinds = dict.fromkeys(("hallucination", "misclassification", "neither"), 1)
    assert got["false_positives"] == kinds | {"responses": 5}
    out = printed(
        capsys, "study", "sheet", "read", mark(make(files, "--out", files / "all"), lambda row: "right")
    )
    assert "error rate of first: 0.0 % (0.0 to " in out and "(0.0 to 0.0)" not in out
    out = printed(capsys, "study", "sheet", "read", marked)
    assert "error rate of first: 33.3 % (" in out and "error rate of second: 41.7 % (" in out
    assert "false positives in the 5 responses: hallucination 1, misclassification 1, neither 1" in out


def test_each_image_stands_on_the_page_once(files, capsys):
    page = (make(files, *pictured(files, ["1.png", "2.png", "3.png"])) / "page.html").read_text()
    assert page.count("data:image/webp;base64,") == 3 and page.count("<img data-picture=") == 8
    dataset = lines(files / "images.jsonl", [{"image_id": 9, "file_name": "9.png"}])
    said = refused(capsys, *compared(files, "--out", files / "other", "--dataset", dataset))
    assert "has no row with the image 1" in said


def test_classes_of_ones_own_are_shown_by_their_names(tmp_path):
    for name in ("first", "second"):
        write_method(tmp_path / name, {("m", 1): (["unicorn"], []), ("m", 2): (["unicorn"], [])})
    rows = table(make(tmp_path) / "sheet.csv")
    assert rows and all(row["question"].startswith("unicorn: ") for row in rows)


def test_nothing_to_mark(tmp_path, capsys):
    write_method(tmp_path / "first", {("m", 1): ([], []), ("m", 2): (["dog"], [])})
    write_method(tmp_path / "second", {("m", 1): ([], []), ("m", 2): ([], [])})
    said = refused(capsys, *compared(tmp_path, "--out", tmp_path / "review"))
    assert "No class is read out of any of the 1 responses on which first and second agree" in said
    said = refused(capsys, *compared(tmp_path, "--out", tmp_path / "review", "--disagreeing", 0))
    assert "No class is read" in said or "disagreeing is 0" in said


# In a browser, and on real responses


@pytest.mark.long
def test_the_page_knows_four_marks(files, browser):
    from selenium.webdriver.common.by import By

    folder = make(files, *pictured(files, ["1.png"] * 3))
    annotated = [row["annotated"] == "yes" for row in table(folder / "sheet.csv")]
    browser.get((folder / "page.html").as_uri())
    cards = browser.find_elements(By.TAG_NAME, "article")
    buttons = [len(card.find_elements(By.TAG_NAME, "button")) for card in cards]
    assert buttons == [2 if there else 4 for there in annotated]
    assert all(card.find_element(By.TAG_NAME, "img").get_property("naturalWidth") == 8 for card in cards)
    browser.execute_script("arguments[0].focus()", cards[0])
    for there in annotated:
        browser.switch_to.active_element.send_keys("1" if there else "4")
    pressed = browser.find_elements(By.CSS_SELECTOR, "button[aria-pressed=true]")
    assert [one.text for one in pressed] == ["right" if there else "misclassification" for there in annotated]
