"""People's marks of a grader's verdicts: the sheet, the errors, and the corrected scores."""

import json

import pandas
import pytest

import halluscope
from halluscope.reading.datasets import read_rows
from halluscope.studies.certificate import sealed
from halluscope.studies.sheet import NO_MARK, YES_MARK
from tests import small_datasets
from tests.studies.sheets import lines, save, table
from tests.studies.test_agreement import write_method

pytestmark = pytest.mark.filterwarnings("ignore")


# Benchmark -> what a judge says of the rows in turn, as `compute` takes it, and the principal score's values
VERDICTS = {
    "hqh": ("ratings", [{"correct": True, "extra_claims": 0}, {"correct": False, "extra_claims": 2}]),
    "mmhal": ("ratings", [6, 2]),
    "gavie": ("ratings", [{"relevancy": 9, "accuracy": 10}, {"relevancy": 3, "accuracy": 1}]),
    "haloquest": ("ratings", [True, False]),
    "llava_bench": ("ratings", [{"reference": 8, "model": 6}, {"reference": 9, "model": 3}]),
    "hallusionbench": ("correctness", [1, 0]),
}


def judged(name, tmp_path):
    """Score a small dataset by given verdicts, and return the run's folder."""
    dataset = small_datasets.build(name, tmp_path)
    option, verdicts = VERDICTS[name]
    rows = list(read_rows(str(dataset)))
    texts = [f"Response {place}." for place in range(len(rows))]
    given = {option: [verdicts[place % 2] for place in range(len(rows))]}
    halluscope.score(name, texts, str(dataset), out=tmp_path / "run", bootstrap=0, **given)
    return tmp_path / "run", len(rows)


def mark(folder, says):
    """Mark a sheet, and return the file; `says` gives the mark of a row."""
    return save([row | {"mark": says(row)} for row in table(folder / "sheet.csv")], folder)


@pytest.fixture
def sheet_of(ran, tmp_path):
    """Draw rows of a run for people to mark, and return the sheet's folder."""

    def make(run, sample):
        out = tmp_path / f"sheet of {run.name}"
        ran("study", "sheet", "make", run, "--marks", "verdict", "--sample", sample, "--out", out)
        return out

    return make


@pytest.mark.parametrize("name", VERDICTS)
def test_people_who_agree_with_the_judge(name, tmp_path, sheet_of, json_of):
    """Every verdict is on the sheet, without being shown; marks like the judge's give its own score again."""
    run, count = judged(name, tmp_path)
    _, verdicts = VERDICTS[name]
    with (run / "items.jsonl").open(encoding="utf-8") as file:
        order = {json.loads(line)["response"]: place for place, line in enumerate(file)}
    texts = {}

    def as_judged(row):
        texts[row["text"]] = row["response"] or texts[row["text"]]
        said = verdicts[order[texts[row["text"]]] % 2]
        value = said[row["class"]] if isinstance(said, dict) else said
        return (YES_MARK if value else NO_MARK) if row["scale"] == "yes no" else str(int(value))

    found = json_of(
        "study", "certify", mark(sheet_of(run, count), as_judged), "--run", run, "--bootstrap", "20"
    )
    assert found["marked"] == count
    whole = [one for one in found["errors"] if one["by"] == "all"]
    assert all((one["same"], one["bias"], one["kappa"]) == (1, 0, 1) for one in whole)
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    for one in found["scores"]:
        assert one["judge"] == pytest.approx(scores[one["score"]])
        assert one["value"] is None  # too few marks


def test_nouns_of_captions(tmp_path, sheet_of, json_of):
    """OpenCHAIR's nouns are marked one by one; the person finds one that the judge took for a hallucination."""
    dataset = small_datasets.build("openchair", tmp_path)
    more = len(list(read_rows(str(dataset)))) - 2
    texts = ["A dog with a ball.", "A cat.", *["Nothing."] * more]
    votes = [[("dog", "yes"), ("ball", "no")], [("cat", "yes")], *[[]] * more]
    run = tmp_path / "run"
    halluscope.score("openchair", texts, str(dataset), out=run, bootstrap=0, votes=votes)
    found = json_of("study", "certify", mark(sheet_of(run, 2), lambda row: YES_MARK), "--run", run)
    assert found["confusion"] == {"all": [[0, 1, 1], [1, 1, 2]]}
    assert found["scores"][0]["judge"] == pytest.approx(1 / 3)


def test_marks_of_a_scale_that_pandas_saved(tmp_path, sheet_of, json_of):
    """A column of numbers with a gap is one of floats."""
    run, count = judged("mmhal", tmp_path)
    marks = iter(["6", "2", *[""] * (count - 2)])
    marked = mark(sheet_of(run, count), lambda row: next(marks))
    pandas.read_csv(marked).to_csv(marked, index=False)
    assert ",6.0," in marked.read_text()
    found = json_of("study", "certify", marked, "--run", run, "--allow-unmarked", "--bootstrap", "20")
    assert {people for _, people, _ in found["confusion"]["rating"]} == {6, 2}


def test_a_judge_that_never_gives_a_criterion(tmp_path, sheet_of, json_of):
    """HQH's rules say nothing of extra claims, so the overall rate is undefined; either judge's marks serve both."""
    run, count = judged("hqh", tmp_path)
    texts, rules = [f"Response {place}." for place in range(count)], tmp_path / "rules"
    halluscope.score("hqh", texts, str(tmp_path / "hqh"), out=rules, bootstrap=0, judge="reference-only")
    for drawn, criteria in ((run, {"correct", "extra_claims"}), (rules, {"correct"})):
        marked = mark(sheet_of(drawn, 2), lambda row: NO_MARK if row["class"] == "correct" else "0")
        for certified in (run, rules):
            found = json_of("study", "certify", marked, "--run", certified)
            both = criteria if certified == run else {"correct"}
            assert {*found["confusion"]} == both and found["marked"] == 2
            assert ("overall_hal" in {one["score"] for one in found["scores"]}) == (len(both) == 2)


def test_a_dataset_names_images_by_their_files(tmp_path, ran):
    run, count = judged("haloquest", tmp_path)
    words = [
        "study",
        "sheet",
        "make",
        run,
        "--marks",
        "verdict",
        "--out",
        tmp_path / "sheet",
        "--sample",
        count,
    ]
    ran(*words, "--dataset", tmp_path / "haloquest")
    assert len(table(tmp_path / "sheet" / "sheet.csv")) == count


def test_bad_input(tmp_path, sheet_of, refused):
    run, count = judged("haloquest", tmp_path)
    (tmp_path / "other").mkdir()
    write_method(tmp_path / "throne", {("m", 1): (["dog"], [])})
    other = ("study", "sheet", "make", tmp_path / "throne", "--marks", "verdict", "--sample", 1)
    assert "no verdicts on responses" in refused(*other, "--out", tmp_path / "sheet")
    another, _ = judged("mmhal", tmp_path / "other")
    bare = ("study", "sheet", "make", run, "--sample", 1, "--out", tmp_path / "bare")
    assert "is a run; expected rows or a dataset. Mark its verdicts with --marks verdict" in refused(*bare)
    make = ("study", "sheet", "make", run, "--marks", "verdict", "--out", tmp_path / "sheet", "--sample")
    assert "a number of judged responses" in refused(*make, count + 1)
    sheet = sheet_of(run, 1)
    assert "no mark" in refused("study", "certify", sheet / "sheet.csv", "--run", run)
    marked = mark(sheet, lambda row: YES_MARK)
    assert "drawn from" in refused("study", "certify", marked, "--run", another)
    texts = [f"Response {place}." for place in range(count)]
    (drawn,) = [row["response"] for row in table(marked)]
    ratings = [None if text == drawn else True for text in texts]
    nothing = tmp_path / "nothing"
    halluscope.score(
        "haloquest", texts, str(tmp_path / "haloquest"), out=nothing, bootstrap=0, ratings=ratings
    )
    assert "is both marked and judged" in refused("study", "certify", marked, "--run", nothing)
    assert "Expected --responses and --dataset" in refused("study", "certify", marked)
    both = ("--run", run, "--responses", "a", "--dataset", "b")
    assert "--run alone for a grader" in refused("study", "certify", marked, *both)
    unused = ("--judges", "lexical", "--limit", 3)
    assert "leave out --limit, --judges beside --run" in refused(
        "study", "certify", marked, "--run", run, *unused
    )


# Several runs, and a certificate of their grader

QUESTIONS = 120


def scored(tmp_path, name, right, asked, benchmark="haloquest", verdicts=(True, False)):
    """Score a model whose first `right` responses the judge calls right, or gives the first of two verdicts.

    `asked` are the rows of the questions, or one row that stands for all.
    """
    if isinstance(asked, dict):
        asked = [asked] * QUESTIONS
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({**row, "id": number}) for number, row in enumerate(asked)))
    texts = tmp_path / f"{name}.jsonl"
    responses = [{"id": number, "response": f"{name} says {number}"} for number in range(QUESTIONS)]
    texts.write_text("\n".join(map(json.dumps, responses)))
    ratings = [verdicts[number >= right] for number in range(QUESTIONS)]
    halluscope.score(benchmark, texts, rows, out=tmp_path / name, bootstrap=0, ratings=ratings)
    return tmp_path / name


@pytest.fixture
def runs(tmp_path):
    """Two models' runs on the same questions: the judge calls 70 responses right, and 40."""
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path)))
    return [scored(tmp_path, "one", 70, row), scored(tmp_path, "two", 40, row)]


@pytest.fixture
def certified(ran, sheet_of, tmp_path):
    """People mark all responses of a run: the first ones are right, so many; return the certificate."""

    def make(run, right, verdicts=(YES_MARK, NO_MARK)):
        texts = {}

        def by_people(row):
            texts[row["text"]] = row["response"] or texts[row["text"]]
            return verdicts[int(texts[row["text"]].split()[-1]) >= right]

        certificate = tmp_path / f"{run.name}.certificate"
        marked = mark(sheet_of(run, QUESTIONS), by_people)
        ran("study", "certify", marked, "--run", run, "--out", certificate)
        return certificate

    return make


def test_a_difference_by_one_certificate(runs, certified, json_of, ran):
    """People call 60 of the 70 right, none of the 50: 30 more by the judge are 30 / (1 - 10 / 60) more by people."""
    certificate = certified(runs[0], 60)
    options = ("--certificate", certificate, "--bootstrap", "200")
    found = json_of("study", "certify", *runs, *options)
    one, two = found["scores"]
    assert one["value"] == pytest.approx(0.5)
    assert (one["own_marks"], two["own_marks"]) == (True, False)
    (difference,) = found["differences"]
    assert difference["judge"] == pytest.approx(30 / 120)
    assert difference["value"] == pytest.approx(30 / 120 / (1 - 10 / 60))
    assert difference["low"] < difference["value"] < difference["high"]
    assert difference["beyond_chance"] and difference["more_marks"] == 0
    assert "no response of two is marked" in found["doubts"][0]
    assert "Doubtful" in ran("study", "certify", *runs, *options).out


def test_errors_are_told_by_part(tmp_path, sheet_of, json_of):
    """People deny ten of the 70 that the judge calls right, all of them among the last 60 of 120 questions."""
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path)))
    types = ("false premises", "visual challenge")
    run = scored(tmp_path, "one", 70, [{**row, "type": types[number >= 60]} for number in range(QUESTIONS)])
    texts = {}

    def by_people(row):
        texts[row["text"]] = row["response"] or texts[row["text"]]
        return YES_MARK if int(texts[row["text"]].split()[-1]) < 60 else NO_MARK

    found = json_of("study", "certify", mark(sheet_of(run, QUESTIONS), by_people), "--run", run)
    same = {row["group"]: (row["of"], row["same"]) for row in found["errors"] if row["group"] in types}
    assert same == {types[0]: (60, 1), types[1]: (60, pytest.approx(50 / 60))}


def test_errors_are_of_all_responses(tmp_path, sheet_of, json_of):
    """Of 120 the judge calls 6 wrong, all of them on a sheet of 24, and people none: it errs in 5 %, not in 6 of 24."""
    row = next(iter(read_rows(str(small_datasets.build("haloquest", tmp_path)))))
    run = scored(tmp_path, "one", QUESTIONS - 6, row)
    found = json_of("study", "certify", mark(sheet_of(run, 24), lambda row: YES_MARK), "--run", run)
    assert found["confusion"] == {"correct": [[0, 1, 6], [1, 1, 18]]}
    whole = next(row for row in found["errors"] if row["by"] == "all")
    assert (whole["of"], whole["kappa"], whole["correlation"]) == (24, 0, None)
    assert (whole["same"], whole["bias"]) == (pytest.approx(0.95), pytest.approx(-0.05))
    assert 0.75 < whole["low"] < 0.95 < whole["high"] < 1


@pytest.mark.parametrize("resamples", ["0", "1"])
def test_a_corrected_score_without_an_interval(resamples, runs, sheet_of, json_of):
    """Nothing is drawn again, or only once: there is no interval, and none without a width."""
    marked = mark(sheet_of(runs[0], 60), lambda row: YES_MARK)
    found = json_of("study", "certify", marked, "--run", runs[0], "--bootstrap", resamples)
    assert found["scores"][0]["value"] is not None
    assert {score[end] for score in found["scores"] for end in ("low", "high")} == {None}


def test_a_difference_in_points(certified, json_of, tmp_path):
    """The same in ratings of 6 and 2: 0.5 of the responses at 6 are a mean of 4."""
    (row, *_) = read_rows(str(small_datasets.build("mmhal", tmp_path)))
    runs = [scored(tmp_path, name, right, row, "mmhal", (6, 2)) for name, right in (("one", 70), ("two", 40))]
    words = ("--certificate", certified(runs[0], 60, ("6", "2")), "--bootstrap", "40")
    found = json_of("study", "certify", *runs, *words)
    (one, two) = [row for row in found["scores"] if row["score"] == "rating"]
    assert one["value"] == pytest.approx(4)
    assert one["value"] - two["value"] == pytest.approx(4 * 30 / 120 / (1 - 10 / 60))


def test_a_difference_of_votes_on_nouns(sheet_of, ran, json_of, tmp_path):
    """Both models name a dog in each caption: the judge denies 50 and 80, people 60 of the first's."""
    (row, *_) = read_rows(str(small_datasets.build("openchair", tmp_path)))
    rows = lines(tmp_path / "rows.jsonl", [{**row, "image_id": number} for number in range(QUESTIONS)])
    runs = []
    for name, text, right in (("one", "A dog.", 70), ("two", "There is a dog.", 40)):
        votes = [[("dog", "yes" if number < right else "no")] for number in range(QUESTIONS)]
        runs.append(tmp_path / name)
        halluscope.score("openchair", [text] * QUESTIONS, rows, out=runs[-1], bootstrap=0, votes=votes)
    marked = mark(sheet_of(runs[0], QUESTIONS), lambda row: YES_MARK if int(row["id"]) < 60 else NO_MARK)
    certificate = tmp_path / "certificate.json"
    ran("study", "certify", marked, "--run", runs[0], "--out", certificate)
    words = ("study", "certify", *runs, "--certificate", certificate, "--bootstrap", "200")
    (difference,) = json_of(*words)["differences"]
    assert difference["judge"] == pytest.approx(-30 / 120)
    assert difference["value"] == pytest.approx(-30 / 120 / (1 - 10 / 60))


def test_marks_of_both(runs, certified, json_of):
    """All responses are marked, so the corrected scores are what people say; nobody is left to be marked."""
    certificates = [certified(runs[0], 60), certified(runs[1], 59)]
    found = json_of("study", "certify", *runs, "--certificate", *certificates, "--bootstrap", "200")
    assert [score["value"] for score in found["scores"]] == pytest.approx([0.5, 59 / 120])
    (difference,) = found["differences"]
    assert not difference["beyond_chance"] and difference["more_marks"] is None
    assert found["doubts"] == []
    content = json.loads(certificates[1].read_text())
    certificates[1].write_text(json.dumps(sealed({**content, "drawn_from": "texts-1-0"})))
    found = json_of("study", "certify", *runs, "--certificate", *certificates, "--bootstrap", "40")
    assert "two.certificate was not used: it is about none of these runs" in found["doubts"][-1]


def test_a_score_that_one_of_two_judges_never_gives(sheet_of, json_of, ran, tmp_path):
    """One judge of HQH counts extra claims, the other does not: what both give is corrected."""
    (row, *_) = read_rows(str(small_datasets.build("hqh", tmp_path)))
    runs = []
    certificates = []
    for name, claims in (("one", (0, 2)), ("two", (None, None))):
        verdicts = [
            {"correct": True, "extra_claims": claims[0]},
            {"correct": False, "extra_claims": claims[1]},
        ]
        run = scored(tmp_path, name, 70, row, "hqh", verdicts)
        marked = mark(sheet_of(run, QUESTIONS), lambda row: YES_MARK if row["class"] == "correct" else "0")
        certificate = tmp_path / f"{name}.certificate"
        ran("study", "certify", marked, "--run", run, "--out", certificate)
        runs.append(run)
        certificates.append(certificate)
    found = json_of("study", "certify", *runs, "--certificate", *certificates, "--bootstrap", "40")
    assert {row["score"] for row in found["scores"]} == {"main_hal"}


def test_more_marks_settle_a_difference(sheet_of, json_of, ran, tmp_path):
    """The judge calls 70 and 58 right, people 60 and 48; first half of the responses are marked, then all."""
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path)))
    right = {"one": 60, "two": 48}
    runs = [scored(tmp_path, "one", 70, row), scored(tmp_path, "two", 58, row)]
    sheets = {run: sheet_of(run, QUESTIONS) for run in runs}

    def compared(marked):
        certificates = []
        for run, sheet in sheets.items():
            rows = table(sheet / "sheet.csv")
            for row in rows[:marked]:
                is_right = int(row["response"].split()[-1]) < right[run.name]
                row["mark"] = YES_MARK if is_right else NO_MARK
            certificates.append(tmp_path / f"{run.name} by {marked} marks.json")
            words = ("--run", run, "--allow-unmarked", "--out", certificates[-1])
            ran("study", "certify", save(rows, sheet), *words)
        return "study", "certify", *runs, "--certificate", *certificates, "--bootstrap", "400"

    with_half = compared(60)
    (half,) = json_of(*with_half)["differences"]
    assert not half["beyond_chance"] and 0 < half["more_marks"] <= 120
    assert "more marks: how many more would put" in ran(*with_half).out
    (settled,) = json_of(*compared(QUESTIONS))["differences"]
    assert settled["beyond_chance"] and settled["more_marks"] == 0


def test_two_judges_of_one_models_responses_are_no_two_models(runs, certified, refused, tmp_path):
    """People call 60 right, whoever judges; the marks of one run were paired with the other judge's verdicts."""
    again = tmp_path / "other judge"
    ratings = [number < 40 for number in range(QUESTIONS)]
    halluscope.score(
        "haloquest", tmp_path / "one.jsonl", tmp_path / "rows.jsonl", out=again, bootstrap=0, ratings=ratings
    )
    message = refused("study", "certify", runs[0], again, "--certificate", certified(runs[0], 60))
    assert "are of the same responses" in message and "study swap" in message


def test_of_two_certificates_of_the_same_responses_the_first_counts(runs, certified, json_of, tmp_path):
    """Two people marked one run; the second calls only 50 right."""
    first = certified(runs[0], 60)
    content = json.loads(first.read_text())
    marks = [line | {"people": {"correct": 0.0}} for line in content["marks"]]
    second = tmp_path / "second.json"
    second.write_text(json.dumps(sealed({**content, "marks": marks})))
    found = json_of("study", "certify", runs[0], "--certificate", first, second, "--bootstrap", "40")
    assert found["scores"][0]["value"] == pytest.approx(0.5)
    assert "second.json was not used: " in found["doubts"][0]


def test_a_judge_that_calls_all_right_cannot_be_corrected(certified, json_of, ran, tmp_path):
    """What people say of responses that this judge calls wrong is not known."""
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path)))
    runs = [scored(tmp_path, "one", QUESTIONS, row), scored(tmp_path, "two", 40, row)]
    words = ("study", "certify", *runs, "--certificate", certified(runs[0], 60), "--bootstrap", "40")
    found = json_of(*words)
    assert [score["value"] for score in found["scores"]] == [0.5, None]
    assert "two, accuracy" in found["uncorrected"][0] and found["differences"][0]["p"] is None
    assert found["uncorrected"][0] in ran(*words).out


def test_several_differences_are_corrected_together(runs, certified, json_of, refused, tmp_path):
    """By Holm the least p of three counts three times, the next twice; 20 resamples could show no p below 2 / 21."""
    (row, *_) = read_rows(str(small_datasets.build("haloquest", tmp_path / "again")))
    runs.append(scored(tmp_path, "three", 55, row))
    words = ("study", "certify", *runs, "--certificate", certified(runs[0], 60), "--bootstrap")
    found = json_of(*words, "300")["differences"]
    least, middle, greatest = sorted(row["p"] for row in found)
    second = max(3 * least, 2 * middle)
    expected = [3 * least, second, max(second, greatest)]
    assert sorted(row["holm"] for row in found) == pytest.approx(expected)
    assert all(row["beyond_chance"] == (row["holm"] < 0.05) for row in found)
    assert "expected at least 120: --bootstrap 120" in refused(*words, "20")


def test_certificates_that_do_not_fit(runs, certified, refused, tmp_path):
    certificate = certified(runs[0], 60)
    content = json.loads(certificate.read_text())
    assert "expected one" in refused("study", "certify", *runs)
    assert "leave out" in refused("study", "certify", *runs, "--certificate", certificate, "--run", runs[0])
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps({**content, "marked": 119}))
    assert "was changed" in refused("study", "certify", *runs, "--certificate", changed)
    assert "expected a" in refused("study", "certify", *runs, "--certificate", runs[0] / "scores.json")
    other = sealed({**content, "judge": "openai:another", "drawn_from": "texts-1-0"})
    changed.write_text(json.dumps(other))
    assert "Another judge errs in other ways" in refused("study", "certify", *runs, "--certificate", changed)
    changed.write_text(json.dumps(sealed({**content, "marked": 9})))
    assert "rests on 9 marked responses" in refused("study", "certify", *runs, "--certificate", changed)
    changed.write_text(json.dumps(sealed({**content, "benchmark": "mmhal"})))
    assert "is about mmhal" in refused("study", "certify", *runs, "--certificate", changed)
    no_intervals = ("--certificate", certificate, "--bootstrap", "0")
    assert "need intervals" in refused("study", "certify", *runs, *no_intervals)
