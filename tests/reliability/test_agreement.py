"""Two methods that read classes out of responses: where they agree, and the sheet on which their errors are marked."""

import random
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from halluscope import registry
from halluscope.judging.cache import Record
from halluscope.reliability import agreement
from halluscope.reliability.agreement import Compared
from halluscope.reliability.sheet import Sheet, read_sheet
from halluscope.responses.matching import Matched
from halluscope.runs.folder import write as write_runs
from halluscope.runs.run import Run
from halluscope.scoring import Ready
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.samples import Clustered, Stratum, clustered_error_rate, error_rate
from tests.reliability.sheets import lines, printed, read_json, read_lines, refused, run, save, table

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
    run(*compared(files, "--out", files / "review", *words))
    return files / "review"


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


def test_the_signature_tells_what_was_compared(files, capsys):
    changed = write_method(files / "changed", WORDS | {("alpha", 1): ([], [], [], ["cat"])}, 2)
    one, other = (
        read_json(capsys, "study", "agree", files / "first", f"second={folder}")["signature"]
        for folder in (files / "second", changed)
    )
    assert one != other


NOTHING = ([], [])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({("m", 2): NOTHING}, "second lacks 1 of the 1 responses that first has read, .* of m to"),
        ({("m", 1): NOTHING, ("n", 1): NOTHING}, "first lacks 1 of the 2 .* of n to the image 1"),
        ({("m", 1): ([], None)}, "expected a run that reads classes out of descriptions"),
    ],
)
def test_runs_that_cannot_be_compared(tmp_path, capsys, second, message):
    write_method(tmp_path / "first", {("m", 1): NOTHING})
    write_method(tmp_path / "second", second)
    assert re.search(message, refused(capsys, *compared(tmp_path)))


def test_other_texts_of_the_same_names(files, capsys):
    """Methods that read different responses cannot be compared."""
    found = [{"found": [], "hallucinated": []}]
    for name in ("A", "B"):
        write_runs([run_of("m", {1: f"{name} dog."}, found)], files / name)
    said = "A and B have read different texts for 1 of the responses, such as that of m to the image 1"
    assert said in refused(capsys, "study", "agree", files / "A", files / "B")


NO_RUN = "There is no run in throne; expected a folder that `halluscope score NAME ... --out FOLDER` wrote"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["A={}/first", "A={}/second"], "expected two different names without ' and '"),
        (["A and B={}/first", "C={}/second"], "expected two different names without ' and '"),
        (["throne", "pope"], NO_RUN),
        (["{}/first", "{}/second", "--dataset", "x"], "--out"),
        (["{}/first", "{}/second", "--images", "x"], "--out"),
    ],
)
def test_commands_that_compare_nothing(files, words, message, capsys):
    assert message in refused(capsys, "study", "agree", *(word.format(files) for word in words))


def test_a_run_that_was_changed_is_refused(files, capsys):
    items = files / "second" / "alpha" / "items.jsonl"
    items.write_text(items.read_text().replace("dog", "cat"))
    assert "items.jsonl was changed" in refused(capsys, *compared(files))


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
    out = printed(capsys, "study", "sheet", "read", marked)
    assert "error rate of first: 33.3 % (" in out and "error rate of second: 41.7 % (" in out
    assert "false positives in the 5 responses: hallucination 1, misclassification 1, neither 1" in out


def test_what_is_annotated_is_no_false_positive(files):
    marked = mark(make(files), lambda row: "hallucination")
    with pytest.raises(ValueError, match="the mark is 'hallucination'; expected 'right' or 'wrong'"):
        read_sheet(marked)


@pytest.mark.parametrize(("column", "value"), [("read_by", "second"), ("annotated", "yes")])
def test_an_edited_row_is_refused(files, column, value):
    rows = table(mark(make(files), lambda row: "right"))
    rows[0][column] = value
    with pytest.raises(ValueError, match="are not what the sheet reading-.*-8 was made with"):
        read_sheet(save(rows, files))


def test_no_error_is_said(files, capsys):
    out = printed(capsys, "study", "sheet", "read", mark(make(files), lambda row: "right"))
    assert "No error is marked for first and second, agree; first, disagree; second" in out


def test_an_unmarked_row_is_left_out(files, capsys):
    marked = mark(make(files), lambda row: "" if row["id"] == "2" and row["model"] == "beta" else "right")
    refused(capsys, "study", "sheet", "read", marked)
    got = read_json(capsys, "study", "sheet", "read", marked, "--allow-unmarked")
    assert got["unmarked"] == 1 and [row["evaluated"] for row in got["table"]] == [2, 2, 2]


def test_each_image_stands_on_the_page_once(files, capsys):
    page = (make(files, *pictured(files, ["1.png", "2.png", "3.png"])) / "page.html").read_text()
    assert page.count("data:image/webp;base64,") == 3 and page.count("<img data-picture=") == 8
    dataset = lines(files / "images.jsonl", [{"image_id": 9, "file_name": "9.png"}])
    said = refused(capsys, *compared(files, "--out", files / "other", "--dataset", dataset))
    assert "has no row with the image_id 1" in said


PER_MODEL = {"agree": 5, "disagree": 10}


def drawn(said, seed=0, **most):
    """Draw from what two methods say: key -> the classes of the first, and of the second; all are annotated."""
    return agreement.draw(("first", "second"), both_of(said), PER_MODEL | most, seed, lambda image: {})


def both_of(said):
    return [Compared(key, "", *map(frozenset, of), frozenset()) for key, of in sorted(said.items())]


def test_so_many_of_each_model():
    said = {
        (model, str(image)): (["dog"], ["dog"] if image % 2 else ["cat"])
        for model in ("alpha", "beta")
        for image in range(100)
    }
    chosen = {(entry["model"], entry["stratum"], entry["id"]) for entry in drawn(said, seed=1)}
    counts = Counter(one[:2] for one in chosen)
    assert counts == {(model, part): n for model in ("alpha", "beta") for part, n in PER_MODEL.items()}
    assert {entry["id"] for entry in drawn(said, seed=2)} != {one[2] for one in chosen}
    alone = {key: of for key, of in said.items() if key[0] == "beta"}
    again = {(entry["stratum"], entry["id"]) for entry in drawn(alone, seed=1)}
    assert again == {one[1:] for one in chosen if one[0] == "beta"}


def test_nothing_to_mark():
    message = "No class is read out of any of the 1 responses on which first and second agree"
    with pytest.raises(ValueError, match=message):
        drawn({("m", "1"): ([], []), ("m", "2"): (["dog"], [])})


@pytest.mark.parametrize("most", [{"agree": 0}, {"disagree": -1}])
def test_a_sample_of_none(most):
    with pytest.raises(ValueError, match="ing is .*; expected a whole number of at least 1"):
        drawn({("m", "1"): (["dog"], ["dog"]), ("m", "2"): (["dog"], [])}, **most)


# The error rates


def counted(stratum, read_by, responses, judgements, errors, size):
    """Rows of a sheet with the counts of a row of Table 3, spread over its responses."""
    return [
        {"model": "m", "id": f"{stratum} {place % responses}", "stratum": stratum, "stratum_rows": str(size)}
        | {"read_by": read_by, "annotated": "yes", "mark": "wrong" if place < errors else "right"}
        for place in range(judgements)
    ]


def summary(rows):
    return agreement.summary(Sheet(f"reading-00000000-{len(rows)}", "reading", rows, []))


def test_the_counts_of_table_3():
    """The paper prints 8.8 % and 4.3 %; of the latter its own formula gives 0.0417."""
    got = summary(
        counted("agree", "throne and other", 55, 157, 4, 38350)
        + counted("disagree", "throne", 110, 376, 30, 16650)
        + counted("disagree", "other", 110, 477, 111, 16650)
    )
    assert got["error_rates"]["other"]["value"] == pytest.approx(0.088, abs=5e-4)
    assert got["error_rates"]["throne"]["value"] == pytest.approx(0.042, abs=5e-4)
    assert [round(100 * row["error_rate"], 1) for row in got["table"]] == [2.5, 8.0, 23.3]
    assert [row["evaluated"] for row in got["table"]] == [55, 110, 110]
    assert [round(100 * row["share"], 1) for row in got["table"]] == [69.7, 30.3, 30.3]


def test_methods_that_have_nothing_in_common():
    rates = summary(counted("disagree", "one", 2, 4, 1, 9) + counted("disagree", "other", 2, 2, 1, 9))
    assert {name: rate["value"] for name, rate in rates["error_rates"].items()} == {"one": 0.25, "other": 0.5}


def test_judgements_that_err_together_tell_less():
    """Ten judgements per response that all err together give intervals as wide as one judgement per response."""
    wrong = (np.random.default_rng(0).random(200) < 0.2).astype(int)
    together = clustered_error_rate([Clustered(1, np.full(200, 10), 10 * wrong)], Bootstrap(2000))
    of_responses = error_rate([Stratum(1, 200, int(wrong.sum()))])
    naive = error_rate([Stratum(1, 2000, 10 * int(wrong.sum()))])
    assert together["value"] == pytest.approx(naive["value"])
    width = together["high"] - together["low"]
    assert width == pytest.approx(of_responses["high"] - of_responses["low"], rel=0.1)
    assert width > 2.5 * (naive["high"] - naive["low"])


def test_strata_are_drawn_again_each_for_itself():
    """The variance of a sum of independent rates is the sum of their variances."""
    rng = np.random.default_rng(1)
    strata = [Clustered(1, np.ones(300, int), (rng.random(300) < 0.3).astype(int)) for _ in range(2)]
    alone = [clustered_error_rate([one], Bootstrap(4000)) for one in strata]
    whole = clustered_error_rate(strata, Bootstrap(4000))
    width = [one["high"] - one["low"] for one in (*alone, whole)]
    assert width[2] == pytest.approx(np.hypot(width[0], width[1]) / 2, rel=0.1)


def test_a_stratum_without_judgements_is_undefined():
    silent = Clustered(1, np.zeros(3, int), np.zeros(3, int))
    assert np.isnan([*clustered_error_rate([silent], Bootstrap(10)).values()]).all()


@pytest.mark.long
def test_a_marker_with_known_error_rates_is_recovered():
    """Two methods invent classes at known rates; the sheet estimates them, and its intervals mostly contain them."""
    rng = random.Random(0)
    said, wrong = {}, set()
    for model in ("alpha", "beta", "gamma"):
        for image in range(800):
            key, first, second = (model, str(image)), set(), set()
            for number in range(rng.randint(1, 5)):
                name = f"thing {number}"
                first.add(name)
                second.add(name)
                if rng.random() < 0.03:
                    wrong.add((key, name))
            if rng.random() < 0.3:  # the second method is easily misled, the first seldom
                for number in range(rng.randint(1, 3)):
                    name = f"phantom {number}"
                    (second if rng.random() < 0.8 else first).add(name)
                    if rng.random() < 0.9:
                        wrong.add((key, name))
            said[key] = (first, second)

    def says(row):
        judged = (row["model"], row["id"]), row["question"].partition(":")[0]
        return row | {"mark": "wrong" if judged in wrong else "right"}

    truth = _true_rates(both_of(said), wrong)
    assert truth["second"] > 1.5 * truth["first"]
    rates = [
        summary([*map(says, drawn(said, seed, agree=10, disagree=20))])["error_rates"] for seed in range(40)
    ]
    for name, true in truth.items():
        of = [rate[name] for rate in rates]
        assert np.mean([rate["value"] for rate in of]) == pytest.approx(true, abs=0.006)
        assert np.mean([rate["low"] <= true <= rate["high"] for rate in of]) >= 0.85


def _true_rates(both, wrong):
    """The formula of section 4.1, over all responses."""
    rates = {}
    for name in ("first", "second"):
        value = 0.0
        for stratum in ("agree", "disagree"):
            part = [one for one in both if one.stratum == stratum]
            judged = [(one.key, word) for one in part for word in getattr(one, name)]
            value += len(part) / len(both) * sum(one in wrong for one in judged) / len(judged)
        rates[name] = value
    return rates


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


@pytest.mark.long
def test_real_responses_of_five_models(tmp_path, upstream, capsys):
    responses = sorted((upstream / "responses").glob("pope_instruction1_*.jsonl"))
    words = ["--responses", *responses, "--dataset", upstream / "chair" / "coco2014_chair_objects.json.gz"]
    words += ["--limit", 100, "--bootstrap", 0, "--quiet", "--out"]
    by_votes, by_words = tmp_path / "throne", tmp_path / "chair"
    run("score", "throne", *words, by_votes, "--judges", "lexical")
    run("score", "chair", *words, by_words, "--synonyms", upstream / "chair" / "synonyms.txt")
    got = read_json(capsys, "study", "agree", by_votes, by_words, "--out", tmp_path / "review")
    assert got["images"] == 500 and all(0.6 < one["agreement"] < 0.95 for one in got["models"])
    rows = table(tmp_path / "review" / "sheet.csv")
    chosen = Counter(one[:2] for one in {(row["model"], row["stratum"], row["id"]) for row in rows})
    assert {*chosen.values()} == {5, 10} and len(chosen) == 10
