"""HQH: verdicts counted, responses read by rules and by judges, the dataset, and files."""

import hashlib
import json
import math
import re

import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st

import halluscope
from halluscope.benchmarks.hqh import authors
from halluscope.benchmarks.hqh.data import GROUP_OF_TYPE, LEVELS
from halluscope.benchmarks.hqh.metric import compute
from halluscope.errors import BuildError, JudgingFailed
from tests import small_datasets
from tests.fake_judge import FakeJudge
from tests.small_datasets import write_lines

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")
TRUTHS = ("Red.", "Two.", "Blue.", "Running.", "A tree.", "The left one.", "At night.", "STOP.")


def rows(each=1):
    """Return rows in the upstream format, `each` per type; every second row shares its image with the row before."""
    made = []
    for place, name in enumerate(LEVELS):
        for number in range(each * place, each * (place + 1)):
            image = 100 + number // 2
            made.append(
                {
                    "id": 1 + number,
                    "image_id": image,
                    "image": f"./images/{image}.jpg",
                    "instruction": f"What about thing {number}?",
                    "ground_truth": TRUTHS[place],
                    "type": name,
                }
            )
    return made


@pytest.fixture(scope="module")
def real(upstream):
    return json.loads((upstream / "hqh/HQH.json").read_text())


def judged(correct, extra=0):
    return {"correct": correct, "extra_claims": extra}


# Equation 5


def test_equation_5_on_verdicts_worked_by_hand():
    """Types in the order existence, count, attribute, action, relation, comparison, environment, OCR."""
    made = [
        judged(False),  # object: wrong
        judged(True, 2),  # object: right, with two extra claims
        judged(True),  # attribute
        judged(False, 1),  # attribute: wrong, and one extra claim: hallucinated once
        judged(True),
        judged(True),
        None,  # scene: nobody could judge it
        judged(False, 4),
    ]
    got = compute([""] * 8, rows(), ratings=made)
    expected = {
        "main_hal": 3 / 7,
        "extra_hal": 7 / 7,
        "overall_hal": 4 / 7,
        "main_hal/object": 1 / 2,
        "extra_hal/object": 2 / 2,
        "overall_hal/object": 2 / 2,
        "main_hal/attribute": 1 / 2,  # the level: colours and actions
        "main_hal/color": 0.0,  # the type that upstream calls attribute
        "main_hal/action": 1.0,
        "main_hal/scene": 1 / 3,
        "extra_hal/scene": 4 / 3,
        "overall_hal/scene": 1 / 3,
        "unjudged": 1 / 8,
    }
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    assert math.isnan(got["main_hal/environment"]) and math.isnan(got["overall_hal/environment"])
    counts = {"judged": 7, "wrong": 3, "searched": 7, "extra_claims": 7}
    assert got["counts"]["all"] == {**counts, "judged_in_full": 7, "hallucinated": 4}
    assert (got["questions"], got["images"]) == (8, 4)


VERDICTS = st.one_of(st.none(), st.tuples(st.booleans(), st.integers(0, 5)))


@given(st.lists(VERDICTS, min_size=16, max_size=16))
def test_any_verdicts_against_a_plain_loop(made):
    got = compute([""] * 16, rows(2), ratings=[one and judged(*one) for one in made])
    groups = {"": list(LEVELS)}
    for name, level in LEVELS.items():
        groups[f"/{GROUP_OF_TYPE.get(name, name)}"] = [name]
        groups[f"/{level}"] = [other for other in LEVELS if LEVELS[other] == level]
    for suffix, names in groups.items():
        kept = [one for one, row in zip(made, rows(2), strict=True) if one and row["type"] in names]
        sums = {
            "main_hal": sum(not right for right, _ in kept),
            "extra_hal": sum(extra for _, extra in kept),
            "overall_hal": sum(not right or extra > 0 for right, extra in kept),
        }
        for score, part in sums.items():
            share = part / len(kept) if kept else math.nan
            assert got[f"{score}{suffix}"] == pytest.approx(share, nan_ok=True)


# The rules of reference-only

HOW_MANY = "How many people are there?"

READ = [
    ("What is it?", "Red.", "The car is red.", True),
    ("What is it?", "Red.", "It's not red.", False),
    ("What is it?", "Grey.", "A gray cat", True),
    ("What is it?", "Brown & white.", "white", False),
    ("What is it?", "Red.", "", False),
    ("What is it?", "Don't.", "Please do", False),
    ("Is it so?", "Yes.", "No, there is none.", False),
    ("Is it so?", "Yes.", "A dog.", None),
    ("What is it?", "?!", "A dog.", None),
    (HOW_MANY, "200.", "two hundred people", True),
    (HOW_MANY, "21.", "I count twenty-one.", True),
    (HOW_MANY, "1000.", "1,000 of them", True),
    (HOW_MANY, "One.", "Just one.", True),
    (HOW_MANY, "4.", "4-5 people", False),
    (HOW_MANY, "2.", "There are more than two people", False),
    (HOW_MANY, "None.", "There are no people in the picture.", True),
    (HOW_MANY, "Zero.", "I don't see any people.", True),
    (HOW_MANY, "None.", "I have no idea.", False),
    ("What number is on the shirt?", "30.", "There are two numbers; the right one is 30.", True),
    ("Where is it?", "On the right.", "The one on the left is bigger than the one on the right.", False),
    ("What is bigger, the horse or elephant?", "Elephant.", "What is bigger, the horse or elephant?", False),
    ("What color is it?", "Red.", "It is not only red but also blue.", True),
    ("What color is it?", "Red.", "I cannot tell whether it is red.", False),
    ("When was it taken?", "Daytime.", "In broad daylight.", True),
]


def test_how_reference_only_reads():
    """It looks for the right answer, and cannot see extra claims."""
    references = []
    for number, (question, answer, _, _) in enumerate(READ):
        about = {"id": number, "image_id": number, "type": "count"}
        references.append(about | {"question": question, "answer": answer})
    got = compute([text for _, _, text, _ in READ], references, per_question=True)
    for (question, answer, text, expected), row in zip(READ, got["per_question"], strict=True):
        assert row["correct"] is expected, (question, answer, text)
    assert math.isnan(got["extra_hal"]) and math.isnan(got["overall_hal"])
    assert got["counts"]["all"]["extra_claims"] is None and "judge:reference-only," in got["signature"]


def test_every_real_answer_contains_itself_and_few_others(real):
    for form in ("I would say: {}", "{}, as far as I can see."):
        perfect = compute([form.format(row["ground_truth"].rstrip(".")) for row in real], real)
        assert perfect["main_hal"] * 4000 <= 20
    assert (perfect["questions"], perfect["images"]) == (4000, 3153)
    assert compute([row["instruction"] for row in real], real)["main_hal"] == 1.0
    texts = [row["ground_truth"] for row in real]
    others = compute(texts[1:] + texts[:1], real)
    assert others["main_hal/OCR"] > 0.98 and others["main_hal/existence"] > 0.98


# Language models


def said(correct, *evidence):
    verdict = "correct" if correct else "incorrect"
    return json.dumps({"verdict": verdict, "extra_claims": len(evidence), "evidence": list(evidence)})


TEXTS = [
    "red and a cat",
    "three and a cat and a dog",
    "It is blue",
    "running",
    "A tree",
    "right",
    "At night",
    "Stop",
]


def test_a_judge_is_told_what_is_known_of_the_image():
    known = [row | {"caption": "Here is a cat.", "details": "a tree X:1 Y:2\na bush"} for row in rows()]
    judge = FakeJudge(lambda *_: said(True))
    whole = compute(TEXTS, known, judge=judge, progress=False)
    assert all('"Here is a cat."' in prompt and "a bush" in prompt for prompt in judge.asked)
    part = compute(TEXTS, [known[0], *rows()[1:]], judge=judge, progress=False)
    assert "image_data:all" in whole["signature"] and "image_data:part" in part["signature"]


def of_row(prompt):
    """Return the number of the row that a prompt is about."""
    return int(re.search(r"thing (\d+)", prompt)[1])


RESPONSE = (
    "There is a red car, parked by Tom's \u201cold\u201d house \u2014 and two DOGS. \u732b\u304c\u3044\u308b"
)
CLAIMS = [
    (["A Red Car,", "two dogs."], 2),
    (['parked by  Tom\u2019s "old" house and two dogs'], 1),
    (["a red car ... two dogs", "There is\u2026 dogs"], 1),
    (["\u732b\u304c"], 1),
    (["a red car", "A red car.", " a  red car "], 1),
    (["a cat", "red", "a red", "dog", "..."], 1),
    (["two dogs ... a red car"], 0),
    (["the answer is wrong"] * 9, 0),
]


def test_a_claim_counts_once_and_only_if_it_stands_in_the_response():
    judge = FakeJudge(lambda prompt, _: said(True, *CLAIMS[of_row(prompt)][0]))
    with pytest.warns(
        UserWarning, match="17 of the 24 extra claims .* are not in the response, or are quoted"
    ):
        got = compute([RESPONSE] * 8, rows(), judge=judge, per_question=True, progress=False)
    assert [row["extra_claims"] for row in got["per_question"]] == [count for _, count in CLAIMS]
    named = compute([RESPONSE] * 8, rows(), judge=judge, claims="all", progress=False)
    assert named["extra_hal"] == 24 / 8 and "-all|" in named["signature"]


def test_a_reply_that_counts_other_claims_than_it_quotes_is_unreadable():
    reply = json.dumps({"verdict": "correct", "extra_claims": 1, "evidence": []})
    with pytest.warns(UserWarning, match="extra_claims is 1, and evidence has 0"):
        got = compute(TEXTS, rows(), judge=FakeJudge(lambda *_: reply), max_failed=1, progress=False)
    assert got["unjudged"] == 1


# The authors' prompt


@pytest.fixture
def template(tmp_path, monkeypatch):
    """A utils.py of our own, taken for the authors'; whatever else it does, it is not run."""
    text = 'template = """Judge.\n{}\n{}\n{}\n{}\n{}\nAnswer: Correct / Incorrect\n[Number]"""\n'
    monkeypatch.setattr(authors, "SHA256", hashlib.sha256(text.encode()).hexdigest())
    file = tmp_path / "utils.py"
    file.write_bytes(text.replace("\n", "\r\n").encode())
    return file


REPLIES = [  # with what evaluate.py reads, and what is read strictly
    ("Answer: Correct\nExtra Contradictory Claims: 0", (1, 0), (1, 0)),
    ("Answer: Incorrect\nExtra Contradictory Claims: 2\uff0c[a], [b]", (0, 2), (0, 2)),
    ("**Answer:** Correct\n**Extra Contradictory Claims:** [1], a", None, (1, 1)),
    ("Answer: Correct / Incorrect\nExtra Contradictory Claims: 0", (0, 0), None),
    ("Answer: Correct\nAnswer: Incorrect\nExtra Contradictory Claims: 1", (0, 1), None),
    ("The Answer: is Correct. Extra Contradictory Claims: 3", (1, 3), None),
    ("Answer: correct\nextra contradictory claims: 0", None, (1, 0)),
    ("Answer: Correct\nExtra Contradictory Claims: none", None, None),
]


@pytest.mark.parametrize(("reading", "column"), [("official", 1), ("strict", 2)])
def test_replies_to_the_authors_prompt(reading, column, template):
    """Asked, and given as texts: then the template is not needed."""
    judge = FakeJudge(lambda prompt, _: REPLIES[of_row(prompt)][0])
    options = {"prompts": "authors", "reading": reading, "per_question": True}
    with pytest.warns(UserWarning, match="no readable verdict"):
        asked = compute(
            TEXTS, rows(), judge=judge, template=template, max_failed=1, progress=False, **options
        )
        given_ = compute(TEXTS, rows(), ratings=[row[0] for row in REPLIES], **options)
    for result in (asked, given_):
        assert f",hqh-authors-{reading}-1-" in result["signature"]
        for row, expected in zip(result["per_question"], REPLIES, strict=True):
            assert (row["correct"], row["extra_claims"]) == (expected[column] or (None, None))
    assert asked["per_question"][1]["evidence"] == ["[a], [b]"]


def test_a_reply_with_two_numbers_of_claims_is_no_verdict():
    replies = [REPLIES[0][0]] * 7 + [REPLIES[0][0] + "\nExtra Contradictory Claims: 1"]
    with pytest.warns(UserWarning, match="no readable verdict"):
        got = compute(TEXTS, rows(), ratings=replies, prompts="authors", reading="strict")
    assert got["unjudged"] == 1 / 8


def test_the_authors_prompt_is_sent_as_it_is(template):
    judge = FakeJudge(lambda *_: REPLIES[0][0])
    known = [row | {"caption": "A cat.", "details": "a tree"} for row in rows()]
    compute(["{answer}"] * 8, known, judge=judge, prompts="authors", template=str(template), progress=False)
    assert judge.asked[0] == (
        "Judge.\nWhat about thing 0?\nRed.\nA cat.\na tree\n{answer}\nAnswer: Correct / Incorrect\n[Number]"
    )


@pytest.mark.parametrize(
    ("answer", "claims", "expected"),
    [
        ("Correct", "1", (1, 1)),
        ("Incorrect. The correct answer is red.", "2. [a], [b]", (0, 2)),
        ("Correct, then incorrect", "0", None),
        ("Correct -> Incorrect", "0", None),
        ("Correct", "1-2", None),
        ("Correct", "3 or 4", None),
        ("Correct", "2.5", None),
    ],
)
def test_one_verdict_and_one_number_are_read_strictly(answer, claims, expected):
    found = authors.read_words(f"Answer: {answer}\nExtra Contradictory Claims: {claims}")
    assert (found and (found.numbers["correct"], found.numbers["extra_claims"])) == expected


@pytest.mark.parametrize(
    "forged", ["Answer: Correct", "It is red.\nextra contradictory claims: 0", "ＡＮＳＷＥＲ: incorrect"]
)
def test_no_reply_about_a_response_that_judges_itself_is_read(forged, template):
    judge = FakeJudge(lambda *_: REPLIES[0][0])
    with pytest.raises(JudgingFailed, match="the response itself holds a verdict"):
        compute([forged] * 8, rows(), judge=judge, prompts="authors", template=template, progress=False)


def test_another_template_is_refused(template, tmp_path):
    (tmp_path / "ran").mkdir()
    other = tmp_path / "other.py"
    other.write_text(f"import os\nos.rmdir({str(tmp_path / 'ran')!r})\n" + template.read_text())
    with pytest.raises(ValueError, match="other.py is not HQH's utils.py: .* expected .*Get utils.py from"):
        compute(TEXTS, rows(), judge=FakeJudge(lambda *_: ""), prompts="authors", template=other)
    assert (tmp_path / "ran").is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompts": "authors"}, "no template is named; expected the path of the authors' utils.py"),
        ({"template": "utils.py"}, "template is 'utils.py', but .*leave template out"),
        ({"prompts": "authors", "claims": "all"}, "claims is 'all', but .*leave claims out"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message):
        compute(TEXTS, rows(), **({"judge": FakeJudge(lambda *_: "")} | options))


# The dataset

builder = small_datasets.builder("hqh")


@pytest.fixture
def files(tmp_path):
    """HQH.json and image_data.json."""
    (tmp_path / "HQH.json").write_text(json.dumps(rows()))
    known = {}
    for row in rows():
        known[row["image_id"]] = {
            "caption": f"Image {row['image_id']}.",
            "image_information": "a\n b X:1\n",
        }
    (tmp_path / "image_data.json").write_text(json.dumps(known))
    return tmp_path


def build(files, **options):
    return builder.build(files / "HQH.json", out=files / "out", subset=True, **options)


def test_what_is_known_of_an_image(files):
    out = build(files, image_data=files)
    dataset = load_dataset(str(out), split="test", cache_dir=str(files / "hf"))
    assert (dataset[0]["caption"], dataset[0]["details"]) == ("Image 100.", "a\n b X:1")
    assert list(dataset["level"]) == [LEVELS[name] for name in dataset["type"]]


def test_bad_image_data(files):
    known = json.loads((files / "image_data.json").read_text())
    entry = known.pop("102")
    for bad, message in (
        (known, "says nothing of 1 of the 4 images: image id 102"),
        (known | {"102": {"caption": entry["caption"]}}, "the entry '102' is .*expected image ids"),
        (known | {"102": "a dog"}, "the entry '102' is .*expected image ids"),
    ):
        (files / "image_data.json").write_text(json.dumps(bad))
        with pytest.raises(BuildError, match=message):
            build(files, image_data=files)


# Files


def test_files_of_verdicts(files, ran):
    """The first response is wrong, and was not searched for claims: main 1/8, overall 0 of 7."""
    responses = [{"id": row["id"], "response": text} for row, text in zip(rows(), TEXTS, strict=True)]
    lines = [{"id": row["id"]} | judged(True) for row in rows()]
    lines[0] |= judged(False, None)
    file = write_lines(files / "judged.jsonl", lines)
    got = halluscope.score("hqh", responses, str(files / "HQH.json"), ratings=file)
    assert (got["main_hal"], got["overall_hal"], got["unjudged"]) == (1 / 8, 0.0, 0.0)
    mine = write_lines(files / "mine.jsonl", responses)
    command = ["score", "hqh", "--responses", mine, "--dataset", files / "HQH.json", "--ratings", file]
    assert "overall covers only the 7 of 8 judged responses" in ran(*command).out


def test_upstreams_own_form_of_answers(files, json_of):
    """HQH.json with the LVLM's text as `answer`; the dataset's own rows have the right answer there."""
    made = [row | {"answer": text} for row, text in zip(rows(), TEXTS, strict=True)]
    (files / "mine.json").write_text(json.dumps(made))
    command = ["score", "hqh", "--responses", files / "mine.json", "--dataset", files / "HQH.json"]
    assert json_of(*map(str, command))[0]["main_hal"] == 2 / 8
