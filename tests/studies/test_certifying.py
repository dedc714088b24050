"""Certificates: texts are drawn, people mark what each implies, and the labels give errors and corrected scores."""

import json
import math
import re

import numpy as np
import pytest

from halluscope import vocabularies
from halluscope.benchmarks.throne.metric import compute
from halluscope.judging.cache import Cache
from halluscope.judging.lexical import LexicalJudge
from halluscope.reporting.formats import written
from halluscope.stats.text_draw import draw
from halluscope.studies import certificate
from halluscope.studies import judgement as judgements
from halluscope.studies.judgement import digest, name_of, rows_of
from halluscope.studies.labels import Labels, read_labels
from halluscope.studies.marked_sheet import read_sheet
from halluscope.studies.mention_kinds import kinds
from tests.studies.sheets import lines, printed, refused, run, save, table

CLASSES = ["dog", "cup"]
PLAIN = ["Is there {a/an} {x} in this image?"]
ASKED = {"vocabulary": CLASSES, "questions": PLAIN, "progress": False}
SCORES = ("precision_all", "recall_all", "f0.5_all")


def judge(texts, objects, **options):
    return judgements.judge(texts, objects, options)


class Reader:
    """A judge that says yes to the classes that are listed for a text."""

    stored = False

    def __init__(self, yes, key="reader-1"):
        self.yes, self.key = yes, key

    def answer(self, texts, questions, pairs):
        codes = [questions[question].object in self.yes[texts[text]] for text, question in pairs.tolist()]
        yield np.arange(len(pairs)), np.array(codes, dtype=np.int8)

    def close(self):
        pass


def people(said, chance, classes=CLASSES):
    """Labels of whole texts, each drawn with its own chance."""
    implied = np.array([[name in of for name in classes] for of in said.values()])
    chances = np.array([chance[text] for text in said])
    return Labels("labels-by-hand", [digest(text) for text in said], implied, chances)


def certified(texts, present, reader, said, chance, classes=CLASSES, **options):
    """Make a certificate of a reader on texts, from people's labels of some."""
    rows = [texts.index(text) for text in said]
    asked = ASKED | {"vocabulary": classes, "judges": reader, "ask": "all"} | options
    judgement = judge([texts[row] for row in rows], [present[row] for row in rows], **asked)
    said_by = people(said, chance, judgement.vocabulary.classes)
    about = {"texts": name_of(rows_of(texts)), "labelled_by": "people", "responses": "mine"}
    return certificate.certify(judgement, said_by, **about, data="mine-4-0a1b2c3d")


# A judge's errors


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A dog sleeps.", {"plain"}),
        ("There is no dog. A dog sleeps.", {"plain"}),  # the second sentence says so
        ("There isn’t a dog here.", {"negation"}),
        ("Perhaps a dog isn't far.", {"hypothesis", "negation"}),
        ("A painting of a dog hangs there.", {"depiction"}),
        ("A dog-eared book lies there.", {"compound"}),
        ("Is that a dog?", {"question"}),
        ('A sign says "dog inside".', {"quotation"}),
        ("A cat sleeps.", {"no word for it"}),
        ("Nowhere, a knot, an orb: a dog.", {"plain"}),  # cues are whole words
    ],
)
def test_kinds_of_sentences(text, kind):
    assert kinds(LexicalJudge(vocabularies.load("coco")), text, ["dog"]) == [kind]


# Corrected scores

TEXTS = ["a", "b", "c", "d"]
PRESENT = [["dog"], ["dog", "cup"], [], ["dog"]]
YES = {"a": {"dog"}, "b": {"dog"}, "c": {"dog"}, "d": {"cup"}, "e": set()}
SAID = {"b": {"dog", "cup"}, "c": set()}
CHANCE = {"b": 0.5, "c": 0.5}
WHOLE = {"a": {"dog"}, "b": {"dog", "cup"}, "c": set(), "d": {"dog"}}, dict.fromkeys(TEXTS, 1.0)
"""What people say of all texts."""


def corrected(texts, present, reader, said, chance, classes=CLASSES, **options):
    """The scores of a reader's votes on the texts, corrected by people's labels of some."""
    asked = ASKED | {"vocabulary": classes, "judges": reader} | options
    judgement = judge(texts, present, **asked)
    labels = people(said, chance, judgement.vocabulary.classes)
    return certificate.corrected_scores(judgement, labels)


def test_corrected_scores_by_hand():
    """The judge says yes to dog in a, b, c, to cup in d; of these 4, dog in a and b are present, as are 4 in all.

    People say yes to dog in a, b, d and to cup in b: all 4 that are present. Each text was read, so that nothing is
    left to chance: precision and recall are 2 / 4 raw, and 4 / 4 corrected.
    """
    raw = compute(TEXTS, PRESENT, judges=Reader(YES), **ASKED)
    found = corrected(TEXTS, PRESENT, Reader(YES), *WHOLE)
    for name in ("precision_all", "recall_all"):
        assert raw[name] == 0.5 and found["scores"][name]["value"] == pytest.approx(1.0)
    assert found["refused"] == {} and found["interval"] == "0.95,ppi-1"


def test_a_score_that_nothing_moves_is_said_to_have_no_interval():
    """The judge reads what people read, and all of it is there: precision is 1 in every image."""
    said, chance = WHOLE
    found = corrected(TEXTS, PRESENT, Reader(said), said, chance)
    assert found["scores"]["precision_all"]["value"] == 1
    content = certified(TEXTS, PRESENT, Reader(said), said, chance) | {"corrected": found}
    lines = [line for block in certificate.report(content) for line in getattr(block, "lines", ())]
    assert "precision_all has no interval: it is the same for every image, and no label moves it" in lines


def test_asking_only_what_is_needed_corrects_alike():
    """Three judges that differ: with "needed", whether an absent object is denied or ignored is not known."""
    rng = np.random.default_rng(3)
    texts = [f"text {row}" for row in range(150)]
    implied, *tables, objects = (rng.random((5, 150, 2)) < 0.5) & (rng.random((5, 150, 2)) < 0.9)
    yes = np.where(rng.random((3, 150, 2)) < 0.8, implied, tables)
    names = np.array(CLASSES)
    present = [names[row].tolist() for row in objects]
    judges = [
        Reader({text: {*names[row]} for text, row in zip(texts, of, strict=True)}, f"judge-{place}")
        for place, of in enumerate(yes)
    ]
    said = {text: {*names[row].tolist()} for text, row in zip(texts[:120], implied, strict=False)}
    chance = dict.fromkeys(said, 120 / 150)
    first, second = (corrected(texts, present, judges, said, chance, ask=ask) for ask in ("all", "needed"))
    assert compute(texts, present, judges=judges, ask="all", **ASKED)["ignored"] > 0.2
    assert repr(first) == repr(second)


def test_a_text_of_two_images_has_its_labels_in_both():
    """With labels of every text nothing is left to chance, so the scores are those of people's labels."""
    texts, present = [*TEXTS, "b"], [*PRESENT, ["cup"]]
    said, chance = WHOLE
    found = corrected(texts, present, Reader(YES), said, chance)
    implied = np.array([[name in said[text] for name in CLASSES] for text in texts])
    truth = compute(texts, present, votes=implied[:, :, None], vocabulary=CLASSES)
    for name in SCORES:
        assert found["scores"][name]["value"] == pytest.approx(truth[name])


def test_corrected_scores_are_nearer_to_the_truth_and_their_intervals_hold_it():
    """A judge with known errors, and people's labels of 120 of 400 texts."""
    rng = np.random.default_rng(0)
    coco = vocabularies.load("coco")
    implied = rng.random((400, 80)) < rng.beta(0.4, 6, 80)
    yes = np.where(implied, rng.random(implied.shape) < 0.8, rng.random(implied.shape) < 0.02)
    present = np.where(implied, rng.random(implied.shape) < 0.8, rng.random(implied.shape) < 0.02)
    names = np.array(coco.classes)
    said = [f"text {row}" for row in range(400)]
    reader = Reader({text: {*names[row].tolist()} for text, row in zip(said, yes, strict=True)})
    objects = [names[row].tolist() for row in present]
    drawn, chances = draw(yes.astype(np.int8), present, 120, 0)
    marks = {said[row]: {*names[implied[row]].tolist()} for row in drawn}
    chance = dict(zip(marks, chances.tolist(), strict=True))
    found = corrected(said, objects, reader, marks, chance, classes="coco")
    raw = compute(said, objects, **ASKED | {"judges": reader, "vocabulary": "coco"})
    truth = compute(said, objects, votes=implied[:, :, None], vocabulary="coco")
    for name in SCORES:
        score = found["scores"][name]
        assert abs(score["value"] - truth[name]) < abs(raw[name] - truth[name]) / 2
        assert score["low"] <= truth[name] <= score["high"]


# What a certificate holds


def test_the_labels_in_a_certificate():
    content = certified(TEXTS, PRESENT, Reader(YES), *WHOLE)
    of_b = {"text": digest("b"), "chance": 1.0, "implied": ["dog", "cup"], "judged": ["dog"]}
    assert content["judges"] == ["reader-1"] and content["labels"][1] == of_b
    assert certificate.digest_of(content) == content["digest"]
    assert certificate.digest_of(content | {"labels": "x"}) != content["digest"]


# Labels without a sheet


def given_lines(tmp_path, rows):
    file = lines(tmp_path / "labels.jsonl", rows)
    return read_labels(file, TEXTS, ["1", "2", "3", "4"], vocabularies.load(CLASSES))


LINES = [
    {"id": 2, "class": "dog", "answer": "yes"},
    {"id": 2, "class": "cup", "answer": True},
    {"text": "c", "class": "dog", "answer": "no"},
    {"text": "c", "class": "cup", "answer": 0},
]


def test_whole_texts_are_an_even_sample_unless_they_have_weights(tmp_path):
    """A weight is one over the chance."""
    found = given_lines(tmp_path, LINES)
    assert found.texts == [digest("b"), digest("c")]
    assert found.implied.tolist() == [[True, True], [False, False]] and (found.chances == 2 / 4).all()
    found = given_lines(tmp_path, [line | {"weight": 4} for line in LINES[:2]])
    assert found.implied.tolist() == [[True, True]] and found.chances.tolist() == [0.25]


TWICE = [line | {"weight": 2} for line in LINES[:2]] + LINES[2:]
FOREIGN = {"text": "z", "class": "dog", "answer": "yes", "weight": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (LINES[:3], "has 3 labels of 2 texts; expected one for each of the 2 classes of a text"),
        ([LINES[0] | {"weight": 2}, *LINES[1:]], "expected one .*, with the same weight for all"),
        (TWICE, "4 labels of 2 texts; .* and weights of all texts or of none"),
        ([*LINES, LINES[0] | {"answer": "no"}], "has 5 labels of 2 texts; .* or a second label of one"),
        ([LINES[0] | {"answer": "perhaps"}], "expected an object with .*; got .*perhaps"),
        ([LINES[0] | {"class": "cat"}], "a class of the vocabulary .*; got .*'cat'"),
        ([LINES[0] | {"id": 9}], "the id or the text of a response, .*; got .*9"),
        ([LINES[0] | {"weight": 0.5}], "weight is 0.5; expected a number from 1"),
        ([FOREIGN], "the id or the text of a response, .*; got .*'z'"),
        ([7], "expected an object"),
    ],
)
def test_labels_that_cannot_be_weighted(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        given_lines(tmp_path, rows)


# Margins


def test_calibration_by_the_margins_that_a_store_kept(tmp_path):
    """log P(yes) - log P(no) of log 3 is a P(yes) of 3/4: of b and c the judge says yes to dog, people to one."""
    judgement = judge(list(SAID), [[], []], judges=Reader(YES), ask="all", **ASKED)
    codes = judgement.poll.votes[:, :, 0].reshape(-1)
    margins = np.where(codes == 1, math.log(3), -math.log(3))
    questions = judgement.questions.about(judgement.vocabulary)[0]
    store = Cache(tmp_path / "votes.sqlite")
    store.keep_votes("reader-1", questions, list(SAID), np.argwhere(np.ones((2, 2))), codes, margins)
    origin = {"texts": "texts-4-00000000", "labelled_by": "people", "responses": "mine", "data": "x"}
    content = certificate.certify(judgement, people(SAID, CHANCE), store, **origin)
    calibrated = content["votes"]["reader-1"]["calibration"]
    bins = {row["from"]: row for row in calibrated["bins"]}
    assert [bins[0.7]["votes"], bins[0.2]["votes"]] == [2, 2]
    assert bins[0.7]["said"] == pytest.approx(0.75) and bins[0.7]["implied"] == 0.5
    # |0.75 - 0.5| and |0.25 - 0.5|, each of half the votes
    assert calibrated["ece"]["value"] == pytest.approx(0.25)
    shown = written(certificate.report(content), "table")
    assert "expected calibration error: 25.0" in shown and "people say yes %" in shown
    without_margins = certified(TEXTS, PRESENT, Reader(YES), SAID, CHANCE)
    assert without_margins["votes"]["reader-1"]["calibration"] is None


# From the draw to the corrected score, by the command line

SAYS = [
    "A dog sits beside a cup on a dining table.",
    "There is no dog. A man rides a horse.",
    "A cat-shaped clock hangs above a couch, and perhaps a cat sleeps there.",
    "Two people look at a painting of a boat.",
    "</script><script>document.title = 'broken'</script> A bus.",
    "=cmd|' /C calc'!A0 and a car, \"a train\"; a bench\r\nover two lines",
    "{{ 7 * 7 }} {% raw %} <img src=x onerror=\"document.title = 'broken'\"> a book",
    "",
]
OBJECTS = [["dog", "cup"], ["person", "horse"], ["couch"], ["person"], ["bus"], ["car"], ["book"], []]
IMPLIES = [
    {"dog", "cup", "dining table", "spoon"},  # people see more than is said
    {"person", "horse"},
    {"clock", "couch"},
    {"person", "boat"},
    {"bus"},
    {"car", "bench"},
    {"book"},
    set(),
]


@pytest.fixture
def folder(tmp_path):
    lines(tmp_path / "mine.jsonl", [{"image_id": place, "response": text} for place, text in enumerate(SAYS)])
    (tmp_path / "truth.json").write_text(json.dumps(dict(enumerate(OBJECTS))))
    return tmp_path


def made(folder):
    words = ["--responses", folder / "mine.jsonl", "--marks", "implied", "--judges", "lexical", "--sample", 8]
    run("study", "sheet", "make", folder / "truth.json", *words, "--out", folder / "sheet")
    return folder / "sheet"


def read_texts(rows, implied):
    """Mark the rows of a sheet by what is implied by the texts of their ids."""
    shown = {(row["id"], row["class"]) for row in rows}
    for row in rows:
        of = implied[int(row["id"])]
        if row["class"]:
            row["mark"] = "implied" if row["class"] in of else "not implied"
        else:
            others = [name for name in sorted(of) if (row["id"], name) not in shown]
            row["mark"], row["note"] = ("others", ", ".join(others)) if others else ("no others", "")
    return rows


def marked(folder, change=lambda row: row):
    """Return a new sheet as saved by a reader who marks by `IMPLIES`."""
    rows = read_texts(table(made(folder) / "sheet.csv"), IMPLIES)
    return save([change(row) for row in rows], folder)


def certify(folder, sheet, *options):
    words = [
        "study",
        "certify",
        sheet,
        "--responses",
        folder / "mine.jsonl",
        "--dataset",
        folder / "truth.json",
    ]
    return [*words, "--judges", "lexical", *options]


def certificate_of(folder, sheet, *options):
    run(*certify(folder, sheet, "--out", folder / "c.json", *options))
    return json.loads((folder / "c.json").read_text())


def test_from_the_draw_to_the_corrected_score(folder, capsys):
    sheet = marked(folder)
    assert "8 of 8 texts are marked" in printed(capsys, "study", "sheet", "read", sheet)
    found = certificate_of(folder, sheet, "--labelled-by", "two readers")
    said = capsys.readouterr().out
    assert f"certificate: {found['digest']}" in said and "against 640 labels of 8 texts" in said
    assert found["labelled_by"] == "two readers" and found["labels_from"] == table(sheet)[0]["sheet"]
    errors = found["errors"]
    assert errors["all"]["labels"] == 640 and errors["all"]["implied"] == sum(map(len, IMPLIES))
    assert set(errors["group"]) == set(vocabularies.load("coco").groups)
    # Missed: the clock (a cat-shaped one is a clock all the same) or not, the boat in the painting, the spoon.
    assert errors["kind"]["no word for it"]["false_no"]["value"] == 1.0
    assert errors["kind"]["negation"]["implied"] == 0  # "no dog"
    assert errors["kind"]["depiction"]["false_no"]["value"] > 0
    implied = np.array([[name in of for name in vocabularies.load("coco").classes] for of in IMPLIES])
    truth = compute(SAYS, OBJECTS, votes=implied[:, :, None])
    for name in SCORES:  # each text was read: nothing is left to chance
        assert found["corrected"]["scores"][name]["value"] == pytest.approx(truth[name])
    raw = compute(SAYS, OBJECTS, judges="lexical", progress=False)
    assert raw["precision_all"] != pytest.approx(truth["precision_all"])
    assert re.search(r"score +corrected", said) and "given by two readers" in said


def test_labels_as_json_lines_and_who_gave_them(folder, capsys):
    labels = []
    for place, implied in enumerate(IMPLIES):
        for name in vocabularies.load("coco").classes:
            labels.append({"id": place, "class": name, "answer": "yes" if name in implied else "no"})
    file = lines(folder / "labels.jsonl", labels)
    content = certificate_of(folder, file, "--labelled-by", "a reader called B")
    assert sum(len(text["implied"]) for text in content["labels"]) == sum(map(len, IMPLIES))
    assert content["labels_from"].startswith("labels-")
    assert "640 labels of 8 texts, given by a reader called B" in capsys.readouterr().out
    assert "--labelled-by is empty" in refused(capsys, *certify(folder, file, "--labelled-by", " "))
    refused(capsys, *certify(folder, file, "--out", file))


def test_a_sheet_says_what_was_drawn_and_hides_no_class(folder):
    rows = table(made(folder) / "sheet.csv")
    of = {}
    for row in rows:
        of.setdefault(row["id"], []).append(row["class"])
    assert of["0"] == ["dog", "cup", "dining table", ""]
    assert set(of["1"]) == {"dog", "person", "horse", ""}  # a class that a rule took back has a row too
    assert of["7"] == [""]
    assert {row["chance"] for row in rows} == {"1"}
    assert len({row["text"] for row in rows}) == 8
    assert [row["response"] != "" for row in rows].count(True) == 7  # a text stands once


def test_who_stops_early_has_marked_a_smaller_sample(folder, capsys):
    rows = read_texts(table(made(folder) / "sheet.csv"), IMPLIES)
    last = list(dict.fromkeys(row["text"] for row in rows))[4:]
    half = [row | ({"mark": "", "note": ""} if row["text"] in last else {}) for row in rows]
    sheet = save(half, folder)
    assert "have no mark" in refused(capsys, *certify(folder, sheet))
    assert "4 of 8 texts are marked" in printed(capsys, "study", "sheet", "read", sheet, "--allow-unmarked")
    first = [row | ({"mark": "", "note": ""} if place else {}) for place, row in enumerate(rows)]
    none = refused(capsys, *certify(folder, save(first, folder), "--allow-unmarked"))
    assert "mark all rows of at least one text" in none
    save(half, folder)
    capsys.readouterr()
    found = certificate_of(folder, sheet, "--allow-unmarked")
    assert len(found["labels"]) == 4 and {one["chance"] for one in found["labels"]} == {0.5}
    assert found["corrected"] is None
    assert "corrected by labels of at least 100 texts, or of all; label more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mark": "others", "note": ""}, "is marked 'others', but its note is ''; expected no note"),
        ({"mark": "no others", "note": "cup"}, "is marked 'no others', but its note is 'cup'"),
        ({"mark": "others", "note": "dgo"}, "its note is 'dgo'; expected .* Did you mean 'dog'"),
        ({"mark": "implied"}, "the mark is 'implied'; expected 'no others' or 'others'"),
        ({"chance": "0.9"}, "drawn_from, text, chance, class are not what the sheet"),
    ],
)
def test_sheets_that_contradict_themselves(folder, capsys, change, message):
    sheet = marked(folder, lambda row: row | change if row["id"] == "2" and not row["class"] else row)
    assert re.search(message, refused(capsys, *certify(folder, sheet)))


def test_other_classes_in_any_case_and_beside_their_rows(folder):
    sheet = marked(folder, lambda row: row | {"note": "Spoon , DOG,"} if row["note"] else row)
    with sheet.open("a") as file:  # as a spreadsheet saves empty lines
        file.write("," * (len(table(sheet)[0]) - 1) + "\n")
    labels = {one["text"]: one["implied"] for one in certificate_of(folder, sheet)["labels"]}
    assert set(labels[digest(SAYS[0])]) == IMPLIES[0]


def test_sheets_that_are_no_labels_of_these_responses(folder, capsys):
    sheet = marked(folder)
    file = folder / "mine.jsonl"
    file.write_text(file.read_text().replace("a book", "a cow"))
    assert "was drawn from 'texts-8-" in refused(capsys, *certify(folder, sheet))
    rows = lines(folder / "rows.jsonl", [{"id": 1, "question": "Is it?", "answer": "yes"}])
    run("study", "sheet", "make", rows, "--sample", 1, "--out", folder / "valid")
    sheet = save([row | {"mark": "valid"} for row in table(folder / "valid" / "sheet.csv")], folder)
    assert "expected one made with --marks implied" in refused(capsys, *certify(folder, sheet))


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{}"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".gz"])
def test_files_that_hold_no_labels(folder, capsys, content, ending):
    file = folder / f"labels{ending}"
    file.write_bytes(content)
    refused(capsys, *certify(folder, file, "--out", folder / "c.json"))
    assert not (folder / "c.json").exists()


@pytest.mark.long
def test_mark_texts_in_the_browser(folder, browser):
    """Each text appears once, next to its classes; keys set marks, and the last row takes names."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    from tests.studies.test_review import saved

    out = made(folder)
    browser.get((out / "page.html").as_uri())
    assert browser.title == "What the responses of mine imply"
    assert not browser.find_elements(By.TAG_NAME, "img")
    assert len(browser.find_elements(By.TAG_NAME, "article")) == 8
    rows = read_texts(table(out / "sheet.csv"), IMPLIES)
    items = browser.find_elements(By.CSS_SELECTOR, "[data-row]")
    assert len(items) == len(rows)
    browser.execute_script("arguments[0].focus()", items[0])
    for row in rows:
        browser.switch_to.active_element.send_keys("1" if row["mark"] in ("implied", "no others") else "2")
        if row["note"]:
            field = browser.switch_to.active_element
            assert field.get_attribute("placeholder") == "Which? Separate them by commas."
            field.send_keys(row["note"], Keys.ENTER)  # and on to the next
    assert browser.find_element(By.ID, "count").text == f"{len(rows)} of {len(rows)}"
    browser.find_element(By.ID, "save").click()
    file = saved(folder / "downloads")
    assert [entry["mark"] for entry in read_sheet(file).entries] == [row["mark"] for row in rows]
    labels = {one["text"]: set(one["implied"]) for one in certificate_of(folder, file)["labels"]}
    assert labels == {digest(text): implied for text, implied in zip(SAYS, IMPLIES, strict=True)}


def test_the_words_for_a_spreadsheet_are_said(folder, ran):
    words = ["--responses", folder / "mine.jsonl", "--marks", "implied", "--judges", "lexical", "--sample", 8]
    printed = ran("study", "sheet", "make", folder / "truth.json", *words, "--out", folder / "sheet")
    said = " ".join((printed.out + printed.err).split())
    for word in ("'implied'", "'not implied'", "'no others'", "'others'"):
        assert word in said
