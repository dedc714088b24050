"""HallusionBench: dataset, metric and command, on small rows made here, and on the real rows if available."""

import json
import math
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset

from halluscope.benchmarks.hallusionbench.build import BUILDER
from halluscope.benchmarks.hallusionbench.metric import chance, compute
from halluscope.reporting import published
from tests import images
from tests.fake_judge import FakeJudge
from tests.small_datasets import write_lines

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")
ROOT = Path(__file__).parents[2]
FAILURES = ("language_hallucination", "visual_illusion", "mixed")
GOLDEN = json.loads((ROOT / "tests/golden/hallusionbench_official.json").read_text())


def row(category, subcategory, set_id, figure_id, question_id, visual_input, gt_answer):
    """Return a row in the upstream format: numbers are text."""
    ids = {"set_id": set_id, "figure_id": figure_id, "question_id": question_id, "visual_input": visual_input}
    return {
        "category": category,
        "subcategory": subcategory,
        **{name: str(value) for name, value in ids.items()},
        "sample_note": "made up",
        "question": f"Is thing {question_id} of set {set_id} red?",
        "gt_answer": str(gt_answer),
        "gt_answer_details": f"Thing {question_id} is {'red' if gt_answer else 'blue'}.",
        "filename": None if visual_input == 0 else f"./{category}/{subcategory}/{set_id}_{figure_id}.png",
    }


def rows():
    """2 VD questions about 3 figures, 2 VS questions about none and 2 figures."""
    made = []
    for question in (0, 1):
        for figure, visual in ((0, 1), (1, 2), (2, 2)):
            made.append(row("VD", "ocr", 0, figure, question, visual, (figure + question) % 2))
        for figure, visual in ((0, 0), (1, 1), (2, 2)):
            made.append(row("VS", "ocr", 0, figure, question, visual, (figure // 2 + question) % 2))
    return made


@pytest.fixture(scope="module")
def real(upstream):
    """The real rows."""
    return json.loads((upstream / "hallusionbench/HallusionBench.json").read_text())


def test_an_image_of_another_category_is_no_image(tmp_path):
    """Names such as ocr/0_0.png occur in both categories; only the whole path says which is meant."""
    (tmp_path / "HallusionBench.json").write_text(json.dumps(rows()))
    pictures = tmp_path / "hallusion_bench"
    for name in ("VD/ocr/0_0.png", "ocr/0_1.png"):
        (pictures / name).parent.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_bytes(images.png(5, 5))
    out = BUILDER.build(
        tmp_path / "HallusionBench.json", pictures, tmp_path / "out", subset=True, only_images_present=True
    )
    (table,) = load_dataset(str(out), cache_dir=str(tmp_path / "hf")).values()
    stored = {row["filename"] for row in table if row["image"]}
    assert stored == {"VD/ocr/0_0.png"}


# The real rows


@pytest.mark.parametrize("case", range(len(GOLDEN["cases"])))
def test_the_official_scripts_numbers(real, case):
    given = GOLDEN["cases"][case]
    verdicts = {name: [int(digit) for digit in given[name]] for name in ("correctness", "same")}
    got = compute(predictions=[""] * len(real), references=real, **verdicts)
    assert {name: got[name] for name in given["expected"]} == pytest.approx(given["expected"], abs=1e-9)
    asked = got["counts"]
    for category in ("VD", "VS"):
        expected = of_category(real, verdicts["correctness"], category)
        assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    questions = {of: one["easy_questions"] + one["hard_questions"] for of, one in asked.items()}
    figures = {of: one["figures"] for of, one in asked.items()}
    for score, of in (("aAcc", questions), ("fAcc", figures)):
        both = sum(got[f"{score}/{category}"] * of[category] for category in of) / sum(of.values())
        assert both == pytest.approx(given["expected"][score], abs=1e-9)


def test_simple_models_have_the_scores_of_arithmetic(real):
    def scored(say, **options):
        return compute([say(one) for one in real], real, **options)

    perfect = scored(lambda one: "Yes." if one["gt_answer"] == "1" else "No.")
    assert [perfect[name] for name in ("aAcc", "qAcc", "fAcc", "easy_aAcc", "hard_aAcc", "correct")] == [
        1.0
    ] * 6
    assert perfect["pct_diff"] == 0 and math.isnan(perfect["fp_ratio"]) and math.isnan(perfect["mixed"])
    yes = scored(lambda one: "Yes.")
    assert [round(100 * yes[name], 1) for name in ("aAcc", "qAcc", "fAcc")] == [42.9, 4.0, 7.2]
    assert yes["fp_ratio"] == 1.0 and yes["pct_diff"] == pytest.approx(1 - yes["aAcc"])
    no = scored(lambda one: "No.")
    assert no["aAcc"] == pytest.approx(1 - yes["aAcc"]) and no["fp_ratio"] == 0.0
    assert no["fAcc"] == yes["wrong"]
    uncertain = scored(lambda one: "I cannot tell.")
    assert round(100 * uncertain["aAcc"], 1) == 15.8  # 178 of 1,129: right where there is no image
    assert uncertain["uncertain"] == 1.0 and uncertain["visual_illusion"] == 1.0
    for protocol in ("lmms-eval", "vlmevalkit"):
        harness = scored(lambda one: "Yes.", protocol=protocol)
        assert (harness["questions"], harness["pairs"], harness["figures"]) == (951, 455, 346)
        assert harness["fAcc"] == yes["fAcc"] and math.isnan(harness["mixed"])
        assert harness["overall"] == pytest.approx((harness["aAcc"] + harness["qAcc"] + harness["fAcc"]) / 3)
    coin = np.random.default_rng(0)
    tossed = scored(lambda one: coin.choice(["Yes", "No"]), bootstrap=200, level=0.99)
    for name, value in chance(real).items():
        if name in tossed["interval"] and not math.isnan(value):
            low, high = tossed["interval"][name]
            assert low <= value <= high, name


# The metric, against a plain count


def test_responses_in_reverse_order_are_told(real):
    right = ["Yes." if row["gt_answer"] == "1" else "No." for row in real]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute(right, real)
        compute(["Yes."] * len(real), real)
    with pytest.warns(UserWarning, match="clearly better in another order"):
        compute(right[::-1], real)


def of_category(references, correctness, category):
    """Compute the scores of one category with a plain loop, as the paper defines them."""
    answers = []
    figures, pairs, easy, hard = (defaultdict(list) for _ in range(4))
    for question, code in zip(references, correctness, strict=True):
        if question["category"] != category:
            continue
        is_right = code == 1 or (code == 2 and question["visual_input"] == "0")
        figure = (question["subcategory"], question["set_id"], question["figure_id"])
        pair = (question["subcategory"], question["set_id"], question["question_id"])
        answers.append(is_right)
        pairs[pair].append(is_right)
        if question["visual_input"] != "0":
            figures[figure].append(is_right)
        if question["visual_input"] == "2":
            hard[pair].append(is_right)
        else:
            easy[pair].append(is_right)
    scores = {"aAcc": np.mean(answers)}
    for score, groups in (("qAcc", pairs), ("fAcc", figures), ("easy_aAcc", easy), ("hard_aAcc", hard)):
        scores[score] = np.mean([all(group) for group in groups.values()])
    scores["figure_score"] = np.mean([np.mean(group) for group in figures.values()])
    return {f"{score}/{category}": value for score, value in scores.items()}


def failed_of(one, correctness, agrees, control):
    """Figure 3, as the authors' script reads it, branch by branch."""
    language, vision, mixed = FAILURES
    if one["figure_id"] == "0":
        return vision if one["category"] == "VD" else language
    if one["category"] == "VD":
        return mixed if control == 1 and correctness == 0 and agrees else vision
    if control == 0:
        return language if correctness == 0 and agrees else mixed
    if control == 1 and correctness == 0 and one["visual_input"] == "2" and agrees:
        return language
    return vision


def failure(asked, correctness, same, diagnosis):
    """Return why the second of two responses fails, by given verdicts."""
    verdicts = {"correctness": correctness, "same": same, "diagnosis": diagnosis, "per_question": True}
    return compute(["", ""], asked, **verdicts)["per_question"][1]["failure"] or ""


def test_every_branch_of_the_decision_tree():
    """All verdicts on a control and another question; the paper's third principle moves one of them."""
    asked = {"VD": [row("VD", "map", 0, 0, 0, 1, 1), row("VD", "map", 0, 1, 0, 2, 0)]}
    asked["VS original"] = [row("VS", "map", 0, 0, 0, 0, 1), row("VS", "map", 0, 1, 0, 1, 0)]
    asked["VS edited"] = [row("VS", "map", 0, 0, 0, 0, 1), row("VS", "map", 0, 1, 0, 2, 0)]
    for name, control, correctness, agrees in product(asked, (0, 1, 2), (0, 1, 2), (0, 1)):
        case = (name, control, correctness, agrees)
        expected = ""
        if correctness != 1:
            expected = failed_of(asked[name][1], correctness, agrees, control)
        assert failure(asked[name], [control, correctness], [0, agrees], "script") == expected, case
        if case == ("VD", 1, 0, 1):
            expected = "language_hallucination"
        assert failure(asked[name], [control, correctness], [0, agrees], "paper") == expected, case


def test_the_rules_find_out_whether_answers_agree():
    """A model that gives each edited image the response that was right for the original."""
    references = [row("VD", "map", 0, 0, 0, 1, 1), row("VD", "map", 0, 1, 0, 2, 0)]
    references += [row("VS", "map", 0, 0, 0, 0, 1), row("VS", "map", 0, 1, 0, 2, 0)]
    got = compute(["Yes.", "Yes, it is.", "Yes!", "yes"], references)
    assert (got["mixed"], got["language_hallucination"], got["visual_illusion"]) == (0.5, 0.5, 0.0)
    assert got["fp_ratio"] == 1.0 and got["pct_diff"] == 0.5
    unread = compute(["Yes.", "A dog.", "Yes!", "A cat."], references)
    assert (unread["unread"], unread["aAcc"], unread["visual_illusion"]) == (0.5, 0.5, 1.0)
    assert unread["pct_diff"] == 0.0  # only what could be read
    assert compute(["Yes.", "A dog.", "Yes!", "A cat."], references, bias="official")["pct_diff"] == 0.5


# Options and bad input


def changed(number, **values):
    made = rows()
    made[number] |= values
    return {"references": made}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"references": [*rows()[:11], rows()[0]]}, r"references\[11\] has the id .*, which references\[0\]"),
        ({"predictions": ["Yes"] * 11, "references": rows()[1:]}, "but its control .* without one: 2"),
        (changed(0, visual_input=3), "visual_input is 3 in VD with figure_id 0; expected 0"),
        (changed(3, visual_input=1), "visual_input is 1 in VS with figure_id 0"),
        (
            {**changed(0, question=" "), "protocol": "lmms-eval", "judge": FakeJudge(lambda *_: "")},
            "has no text in 'question' .*rows without one: 1",
        ),
        (
            {"judge": FakeJudge(lambda *_: ""), "correctness": [1] * 12, "same": [1] * 12},
            "the verdicts are given",
        ),
        (
            {"correctness": ["Hm."] * 12, "same": ["Hm."] * 12},
            "12 of the 12 texts in .* begin with no verdict",
        ),
        ({"reading": "official", "prompts": "ours"}, "reads only replies to the authors' prompts"),
        ({"predictions": ["A."], "references": [rows()[3]], "protocol": "lmms-eval"}, "No question has a"),
    ],
)
def test_bad_input_ends_in_its_own_error(bad, message):
    with pytest.raises(ValueError, match=message):
        compute(**({"predictions": ["Yes"] * 12, "references": rows()} | bad))


# Published results


def test_the_leaderboard(upstream):
    """The authors' nine rows, in their order: by `overall`, the mean of the three accuracies."""
    theirs = json.loads((upstream / "hallusionbench/leaderboard.json").read_text())
    ours = published.load("hallusionbench_leaderboard").results
    assert len(ours) == len(theirs) == 9
    for (name, printed), row in zip(ours, theirs, strict=True):
        assert name == f"{row['model']} [{row['date']}]"
        assert printed == pytest.approx({score: row[score] / 100 for score in printed})
        mean = (printed["aAcc"] + printed["fAcc"] + printed["qAcc"]) / 3
        assert printed["overall"] == pytest.approx(mean, abs=1e-3)  # one is cut off, not rounded


def test_a_coin_stands_beside_the_models(tmp_path, ran):
    """A model that says yes to all; its responses are known by five columns."""
    (tmp_path / "HallusionBench.json").write_text(json.dumps(rows()))
    write_lines(tmp_path / "yes.jsonl", [one | {"response": "Yes"} for one in rows()])
    command = ["score hallusionbench --responses", tmp_path / "yes.jsonl"]
    out = ran(*command, "--dataset", tmp_path / "HallusionBench.json").out
    assert "random chance, expected" in out
