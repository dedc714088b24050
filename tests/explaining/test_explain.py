"""`halluscope explain`: scores known by hand, the same scores as `score`, and every benchmark of the registry."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import halluscope
from halluscope import registry
from halluscope.explaining import protocols
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.vocabularies import load
from tests import small_datasets
from tests.scripted_server import reply
from tests.small_datasets import needs
from tests.test_malformed_commands import SCORED, good  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
SAMPLINGS = ("random", "popular", "adversarial")


def lines(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.fixture
def explain(json_of):
    return lambda *words: json_of("explain", *words)


@pytest.fixture
def text(ran):
    return lambda *words: ran("explain", *words).out


def scores(whole: dict[str, Any], score: str, *names: str) -> list[float]:
    """The values of a score by protocols, in the first file."""
    values = {protocol["name"]: protocol["results"][0]["scores"] for protocol in whole["protocols"]}
    return [values[name][score] for name in names]


def reading(whole: dict[str, Any], *names: str) -> dict[str, Any]:
    """What two protocols read differently in the first file."""
    readings = [reading for reading in whole["readings"] if reading["responses"] == whole["responses"][0]]
    (reading,) = (reading for reading in readings if [reading["first"], reading["second"]] == list(names))
    return reading


@pytest.fixture
def three(tmp_path) -> list[str]:
    """Three of POPE's questions, two about what is there, and a response to each."""
    asked = [("1.jpg", "dog", "yes"), ("1.jpg", "cat", "yes"), ("1.jpg", "bus", "no")]
    dataset = small_datasets.pope_file(tmp_path / "random.json", asked, first=0)
    said = [{"question_id": n, "response": said} for n, said in enumerate(["Yes", "Yes, a cat.", "No"])]
    return ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", dataset]


@needs("pope")
def test_three_responses_by_hand(three, tmp_path, explain, text):
    """The official rule reads all three, and is right each time: accuracy and F1 are 1.

    lmms-eval's rule does not read "Yes, a cat.": accuracy 2/3. Its way to count leaves that response out of recall: F1
    1.
    """
    whole = explain("pope", *three)
    assert scores(whole, "f1", "official", "lmms-eval") == [1, 1]
    assert scores(whole, "accuracy", "official", "lmms-eval") == pytest.approx([1, 2 / 3])
    read = reading(whole, "official", "lmms-eval")
    assert (read["read_otherwise"], read["of"]) == (1, 3)
    (example,) = read["examples"]
    assert (example["question_id"], example["text"]) == (1, "Yes, a cat.")
    assert (example["first"], example["second"]) == ({"said": "yes"}, {"said": None})
    printed = text("pope", *three, "--number", "66.7")
    assert printed.startswith("66.7 is\n") and "\n  lmms-eval: accuracy\n" in printed
    for line in (
        "m has no prompt, query or instruction that says what was asked",
        "1 random: 'Yes, a cat.' is 'yes', or unreadable",
        "not computed: repope, because --corrected is not given",
    ):
        assert line in printed
    assert max(len(line) for line in printed.splitlines() if "signature" not in line) <= 100
    page = (ROOT / "docs/signatures.md").read_text()
    shown = "score        official" + page.partition("score        official")[2].partition("```")[0]
    two = text("pope", *three, "--protocols", "official", "lmms-eval")
    assert len(shown.splitlines()) > 3 and set(shown.splitlines()) <= set(two.splitlines())
    said = [{"question_id": n, "response": f"Yes\x1b[31m\nofficial: {n}"} for n in range(3)]
    printed = text("pope", "--responses", lines(tmp_path / "x.jsonl", said), *three[2:])
    assert "\x1b" not in printed and r"'Yes\x1b[31m\nofficial: 0'" in printed


@needs("pope")
def test_where_a_number_is(three, explain, text):
    assert "12.34 is not a score of these responses" in text("pope", *three, "--number", "12.34")
    share, percent, exponent, small = (
        explain("pope", *three, "--number", word)["number"] for word in ("0.667", "66.7", "6.67e1", "1e-5")
    )
    assert {place["protocol"] for place in share if place["score"] == "accuracy"} >= {"lmms-eval"}
    assert "official" not in {place["protocol"] for place in share if place["score"] == "accuracy"}
    assert percent == exponent != [] and small == []


@needs("pope")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--protocols offical", "Did you mean 'official'?"),
        ("--examples -1", "--examples is -1"),
        ("--protocols repope", "--corrected is not given, and repope needs it"),
        ("--number eighty", "expected a number, such as 0.5"),
        ("--number nan", "expected a number, such as 0.5"),
    ],
)
def test_words_that_cannot_be(words, message, three, refused):
    assert message in refused("explain pope", *three, *words.split())


@needs("pope")
def test_files_that_are_not_about_the_same_rows(three, tmp_path, refused):
    two = lines(tmp_path / "two.jsonl", [{"question_id": n, "response": "Yes"} for n in range(2)])
    said = refused("explain pope", *three[:2], two, *three[2:], "--partial")
    assert "two and m answer different rows (2 and 3)" in said
    other = small_datasets.pope_file(tmp_path / "other_random.json", [("1.jpg", "dog", "yes")], first=7)
    said = refused("explain pope", *three, "--corrected", other, "--protocols", "corrected")
    assert "has no row for question_id 0" in said and "expected other labels of the same rows" in said


@needs("repope")
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        # Of six answers the last is wrong; RePOPE corrects the first label and leaves out the last row
        (["Yes", "No", "Yes", "No", "Yes", "Yes"], {"official": 5 / 6, "corrected": 4 / 5, "repope": 4 / 5}),
        # By RePOPE's labels no no yes no yes: "Hm." is a yes for POPE, and in none of RePOPE's counts. POPE's rule has
        # 2 of 5 right; RePOPE's also reads two noes, which makes 4 of 5, and without "Hm." 4 of 4
        (["NO", "Hm.", "Yes", "It shows nothing", "A yes", "No"], {"corrected": 2 / 5, "repope": 1}),
    ],
)
def test_other_labels_and_the_rows_that_they_leave_out(texts, expected, tmp_path, explain):
    built = small_datasets.build("repope", tmp_path)
    questions = [str(tmp_path / f"repope-inputs/pope-inputs/coco_pope_{name}.json") for name in SAMPLINGS]
    said = [
        {"question_id": n, "sampling": name, "response": text}
        for name in SAMPLINGS
        for n, text in enumerate(texts)
    ]
    file = lines(tmp_path / "m.jsonl", said)
    words = ["--responses", file, "--dataset", *questions, "--corrected", str(built), "--partial"]
    whole = explain("pope", *words)
    assert scores(whole, "accuracy", *expected) == pytest.approx(list(expected.values()))
    assert halluscope.score("repope", file, built, parser="repope")["accuracy"] == expected["repope"]


@needs("pope")
def test_what_a_prompt_moves_takes_two_files(three, tmp_path, explain, text):
    """Asked for one word, the model says "Yes" where it said "Yes, a cat.", and lmms-eval's rule reads it."""
    ask = "Is there a {} in the image?\nAnswer the question using a single word or phrase."
    said = [
        {"question_id": n, "prompt": ask.format(thing), "response": answer}
        for n, (thing, answer) in enumerate((("dog", "Yes"), ("cat", "Yes"), ("bus", "No")))
    ]
    short = lines(tmp_path / "short.jsonl", said)
    words = [*three[:2], short, *three[2:]]
    whole = explain("pope", *words)
    assert whole["responses"] == ["m", "short"]
    single = "{question} Answer the question using a single word or phrase."
    prompts = {"m": [{"prompt": None, "responses": 3}], "short": [{"prompt": single, "responses": 3}]}
    assert whole["prompts"] == prompts
    (lmms_eval,) = (protocol for protocol in whole["protocols"] if protocol["name"] == "lmms-eval")
    assert [result["responses"] for result in lmms_eval["results"]] == ["m", "short"]
    assert [result["scores"]["accuracy"] for result in lmms_eval["results"]] == pytest.approx([2 / 3, 1])
    printed = text("pope", *words)
    assert "cannot be computed from one file" not in printed
    assert "prompts: m has no prompt, query or instruction that says what was asked" in printed
    assert "single word or phrase.' (3)\n  which is what llava, lmms-eval ask" in printed
    assert max(len(line) for line in printed.splitlines() if "signature" not in line) <= 100


@pytest.fixture
def captions(tmp_path):
    """Words about files of captions of images, each with an object, read with a list of synonyms."""

    def words(labels, files, **synonyms):
        (tmp_path / "labels.json").write_text(json.dumps(labels))
        names = (synonyms.get(name, name) for name in load("coco").classes)
        (tmp_path / "synonyms.txt").write_text("\n".join(names))
        said = {
            name: [{"image_id": n, "prompt": name, "caption": caption} for n, caption in each.items()]
            for name, each in files.items()
        }
        files = [lines(tmp_path / f"{name}.jsonl", rows) for name, rows in said.items()]
        words = ["--responses", *files, "--dataset", str(tmp_path / "labels.json")]
        return [*words, "--synonyms", str(tmp_path / "synonyms.txt"), "--allow-other-synonyms"]

    return words


# What the authors' programs said of the same responses


@needs("pope")
@needs("amber")
def test_the_official_protocol_is_the_script(upstream, tmp_path, explain):
    golden = json.loads((GOLDEN / "pope_official.json").read_text())
    said = [{"question_id": n, "response": golden["texts"][i]} for n, i in enumerate(golden["answers"], 1)]
    dataset = str(upstream / "pope/coco" / golden["questions"])
    whole = explain("pope", "--responses", lines(tmp_path / "m.jsonl", said), "--dataset", dataset)
    computed = whole["protocols"][0]["results"][0]["scores"]
    expected = golden["expected"]
    assert {name: computed[name] for name in expected} == pytest.approx(expected, abs=1e-9)

    golden = json.loads((GOLDEN / "amber_official.json").read_text())
    texts = [golden["code"][letter] for letter in golden["answers"]]
    said = [{"id": n, "response": text} for n, text in enumerate(texts, golden["answers_from"])]
    dataset = [str(upstream / "amber" / name) for name in ("annotations.json", "query/query_all.json")]
    whole = explain("amber", "--responses", lines(tmp_path / "m.jsonl", said), "--dataset", *dataset)
    computed = whole["protocols"][0]["results"][0]["scores"]
    for score in ("Accuracy", "Precision", "Recall", "F1"):
        expected = golden["result"][f"Descriminative Task/{score}"]
        assert computed[score.lower()] == pytest.approx(expected / 100), score
    read = reading(whole, "official", "vlmevalkit")
    assert read["read_otherwise"] == sum(text in ("Yes.", "no", "yes") for text in texts)


# What is computed, but is not the number that the protocol's own program prints


@pytest.fixture
def described(tmp_path) -> list[str]:
    """A description and three answers to AMBER's small copy: CHAIR is 1/2, accuracy 3/3 by each rule."""
    built = small_datasets.build("amber", tmp_path)
    texts = {1: "A person and a dog.", **dict.fromkeys((1005, 1006, 1007), "No")}
    said = [{"id": n, "response": text} for n, text in texts.items()]
    return ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", str(built)]


@needs("amber")
def test_a_protocol_that_is_not_equal_says_so_where_it_has_a_number(described, tmp_path, explain, text):
    """lmms-eval has other nouns and synonyms; AMBER's script finds nouns and synonyms in another way."""
    words = ["amber", *described, "--number", "50.0"]
    printed = text(*words)
    number, _, tables = printed.partition("\n\n")
    assert number.splitlines() == [
        "50.0 is",
        "  halluscope: chair",
        "  halluscope: cover",
        "50.0 is here, but the protocol's own program may print another number (not equal, below)",
        "  official: chair",
        "  official: cover",
        "  lmms-eval: chair",
        "  lmms-eval: cover",
    ]
    assert "\nnot equal: lmms-eval, because it has nltk's nouns" in tables
    assert "\nnot equal: official, because its nouns are nltk's (--reader nltk)" in tables
    whole = explain(*words)
    assert {protocol["protocol"] for protocol in whole["number"]} == {"halluscope"}
    differs = {protocol["name"]: protocol["discrepancy"] for protocol in whole["protocols"]}
    assert differs["halluscope"] is differs["vlmevalkit"] is None and "nltk" in differs["lmms-eval"]
    exact = explain("amber", *described, "--number", "100.0")["number"]
    assert {"responses": "m", "protocol": "official", "score": "accuracy"} in exact  # an answer has no nouns


# What cannot be computed is said, and the rest is


FIGURE = {"category": "VS", "subcategory": "chart", "set_id": 0, "question_id": 0}


@needs("hallusionbench")
def test_without_the_questions_that_have_no_image(tmp_path, explain):
    built = small_datasets.build("hallusionbench", tmp_path)
    texts = ("I cannot know.", "Yes.", "Both yes and no.")
    answers = [FIGURE | {"figure_id": figure, "response": said} for figure, said in enumerate(texts)]
    words = ["--responses", lines(tmp_path / "m.jsonl", answers[1:]), "--dataset", str(built)]
    whole = explain("hallusionbench", *words)
    assert [protocol["name"] for protocol in whole["protocols"]] == ["lmms-eval", "vlmevalkit"]
    assert "has no response to 1 of the 3 rows" in whole["not_computed"]["official"]
    # Neither reads the second, which is wrong
    lmms_eval, vlmevalkit = scores(whole, "aAcc", "lmms-eval", "vlmevalkit")
    assert lmms_eval == vlmevalkit
    words[1] = lines(tmp_path / "all.jsonl", answers)
    # Not to know is right without an image
    whole_scores = scores(explain("hallusionbench", *words), "aAcc", "official", "lmms-eval")
    assert whole_scores == pytest.approx([2 / 3, 1 / 2])


@needs("chair")
def test_a_reader_that_is_not_there(captions, monkeypatch, text, refused):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    words = ["chair", *captions({1: ["dog"]}, {"m": {1: "A dog."}})]
    printed = text(*words)
    assert "CHAIR is scored by one protocol here, halluscope, so there is nothing to compare" in printed
    assert "not computed: script, because reader='nltk' needs nltk's data" in printed
    assert "not computed: first-script, because reader='textblob' needs textblob" in printed
    assert "nltk.downloader" in refused("explain", *words, "--protocols", "script")


@needs("chair")
def test_the_first_script_reads_no_verbs(captions, explain):
    """To its copies "seated" names no chair, and "bus" is no plural of "bu"; to OPERA's script and here both do."""
    said = {"m": {1: "A man seated.", 2: "A bus.", 3: "Two buses and a man."}}
    truth = {1: ["person"], 2: [], 3: ["bus", "person"]}
    words = captions(truth, said, person="person, man", chair="chair, seat")
    whole = explain("chair", *words)
    assert scores(whole, "chair_s", "first-script", "halluscope") == pytest.approx([0, 2 / 3])
    assert [example["first"] for example in reading(whole, "first-script", "halluscope")["examples"]] == [
        {"mentions": [["man", "person"]]},
        {"mentions": []},
    ]


@needs("throne")
def test_no_judge_is_asked_twice(tmp_path, monkeypatch, tiny_t5, explain):
    """Three ways to count, one poll."""
    asked: list[tuple[str, str]] = []
    answer = LanguageModelJudge.answer

    def noted(self, texts, questions, pairs):
        asked.extend((texts[text], questions[question].text) for text, question in pairs.tolist())
        return answer(self, texts, questions, pairs)

    monkeypatch.setattr(LanguageModelJudge, "answer", noted)
    said = [{"image_id": 1, "response": "A dog."}, {"image_id": 2, "response": "A cat."}]
    (tmp_path / "labels.json").write_text(json.dumps({1: ["dog"], 2: ["cat", "dog"]}))
    words = ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", str(tmp_path / "labels.json")]
    whole = explain("throne", *words, "--judges", str(tiny_t5), "--device", "cpu", "--quiet")
    assert [protocol["name"] for protocol in whole["protocols"]] == ["paper", "supplement", "released"]
    assert asked and len(asked) == len(set(asked))
    paper, released = scores(whole, "f0.5_all", "paper", "released")
    assert paper != released


@needs("mmhal")
def test_two_readings_of_one_rating(serve, access_key, tmp_path, explain, text):
    """Ratings 4 and 4, and a reply without a rating: the mean is 4, or 8/3 by the script, which reads a 0."""
    server = serve(lambda prompt, count, body: reply("Hm." if "counting" in prompt else "Rating: 4"))
    built = small_datasets.build("mmhal", tmp_path)
    said = [{"id": n, "response": "Two dogs."} for n in range(3)]
    words = ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", str(built), "--quiet"]
    words += ["--max-failed", "1", "--judge", f"openai:judge@{server.url}"]
    assert scores(explain("mmhal", *words), "rating", "official", "strict") == pytest.approx([8 / 3, 4])
    assert len(server.prompts) == len(set(server.prompts)) == 3
    assert re.search(r"^ *rating +2\.667 +4\.000 *$", text("mmhal", *words), re.MULTILINE)


# Every benchmark that the registry finds


@pytest.mark.parametrize("benchmark", SCORED)
def test_each_protocol_is_computed_and_printed(benchmark, good, ran, json_of):  # noqa: F811
    known = protocols.load(benchmark)
    command, responses = good[benchmark.name]
    words = [word for word in command if word != "--json"]
    for option in known.settled:
        if f"--{option}" in words:
            place = words.index(f"--{option}")
            del words[place : place + 2]
    words = ["explain", *words[1:], "--responses", str(responses)]
    words += ["--protocols", *(protocol.name for protocol in known.each)]
    whole = json_of(*words)
    assert whole["benchmark"] == benchmark.name
    computed = [protocol["name"] for protocol in whole["protocols"]]
    assert sorted([*computed, *whole["not_computed"]]) == sorted(protocol.name for protocol in known.each)
    for protocol in whole["protocols"]:
        assert set(protocol["results"][0]["scores"]) <= {*benchmark.scores, *known.shown}
    printed = ran(*words, "--number", "50.0").out
    assert all(name in printed for name in computed)
    wide = re.compile("signature:|not computed:|not equal:|without effect:")
    assert [line for line in printed.splitlines() if len(line) > 100 and not wide.search(line)] == []


@pytest.mark.parametrize("benchmark", registry.benchmarks(), ids=lambda benchmark: benchmark.name)
def test_protocols_name_scores_and_options_that_there_are(benchmark):
    known = protocols.load(benchmark)
    options = {option.name: option for option in benchmark.options}
    for score in known.shown:
        benchmark.direction(score)  # raises KeyError for a score that the benchmark does not have
    for protocol in known.each:
        for score in protocol.scores:
            benchmark.direction(score)
        for way in protocol.ways.values():
            for option, value in way.options.items():
                choices = options[option].choices if option in options else ()
                assert not choices or value in choices, f"{protocol.name}: {option}"


def test_an_older_spelling_of_a_question_is_no_other_prompt(upstream, explain):
    """LLaVA's own answers: 246 of their 8,910 prompts say "imange"."""
    (file,) = (upstream / "wild/Haoming2000__VLM-Benchmarks").glob("*llava-v1.5-13b.jsonl")
    questions = [str(file) for file in sorted((upstream / "pope/coco").glob("*.json"))]
    (prompts,) = explain("pope", "--responses", file, "--dataset", *questions)["prompts"].values()
    single = "{question} Answer the question using a single word or phrase."
    assert prompts == [{"prompt": single, "responses": 8910}]


def test_a_number_that_the_file_states_itself_is_no_score_of_a_protocol(upstream, explain, text):
    """And of what readers find in a caption, only what they find differently is shown."""
    (file,) = (upstream / "wild/kchaosun__THUNLP_Multimodal_Excercise").glob("sampling-decoding-eval-chair*")
    words = ["chair", "--synonyms", str(upstream / "chair/synonyms.txt"), "--responses", str(file)]
    words += ["--dataset", str(upstream / "chair/coco2014_chair_objects.json.gz")]
    assert explain(*words, "--number", "29.0")["number"] == []
    for line in text(*words).splitlines():
        if " or [" in line:
            first, second = line.split(" is ")[1].split(", or ")
            assert first != second


@pytest.mark.parametrize("kind", ["instances", "cache"])
def test_the_first_script_is_equal_where_chairs_cache_has_the_objects_of_captions(
    tmp_path, explain, text, kind
):
    """A mention of two is wrong, in one of two captions; CHAIR's cache, image id -> classes, knows captions too."""
    pytest.importorskip("textblob")
    said = [{"image_id": 1, "caption": "A dog."}, {"image_id": 2, "caption": "A cat."}]
    objects: Any = {"1": ["dog"], "2": ["bus"]}
    if kind == "instances":
        objects = [{"image_id": 1, "objects": ["dog"]}, {"image_id": 2, "objects": ["bus"]}]
    dataset = tmp_path / "objects.json"
    dataset.write_text(json.dumps(objects))
    words = ["chair", "--responses", lines(tmp_path / "m.jsonl", said), "--dataset", str(dataset)]
    words += ["--synonyms", "names", "--protocols", "first-script", "--number", "50.0"]
    whole = explain(*words)
    is_cache = kind == "cache"
    equal = {place["score"] for place in whole["number"]}
    unequal = {place["score"] for place in whole["number_unequal"]}
    assert (equal, unequal) == (
        ({"chair_i", "chair_s", "recall"}, set()) if is_cache else (set(), {"chair_i", "chair_s", "recall"})
    )
    printed = text(*words)
    assert ("not equal: first-script" in printed) is not is_cache
    assert "is not a score of these responses" not in printed and "  first-script: chair_s" in printed


def test_a_benchmark_without_protocols_has_one_per_rule(explain, tmp_path):
    """`score` warns that another rule reads the responses otherwise, with its accuracy: `explain` finds that number."""
    built = small_datasets.build("humblebench", tmp_path)
    rows = registry.benchmark("humblebench").module("rows").load([str(built)])
    answers = [{"question_id": row.question_id, "response": f"{row.label}. A dog"} for row in rows]
    words = [
        "--responses",
        lines(tmp_path / "m.jsonl", answers),
        "--dataset",
        str(built),
        "--number",
        "100.0",
    ]
    whole = explain("humblebench", *words)
    assert [protocol["name"] for protocol in whole["protocols"]] == ["official", "strict"]
    assert scores(whole, "accuracy", "strict") == [1.0]
    assert ("strict", "accuracy") in [(place["protocol"], place["score"]) for place in whole["number"]]


@needs("hallusionbench")
def test_each_score_of_the_table_is_a_number_that_is_found(explain, tmp_path):
    """HallusionBench's `overall`, VLMEvalKit's headline, was "not a score of these responses" beside the table."""
    built = small_datasets.build("hallusionbench", tmp_path)
    answers = [{"response": said} for said in ("Yes.", "No.", "No.")]
    words = ["hallusionbench", "--responses", lines(tmp_path / "m.jsonl", answers), "--dataset", str(built)]
    shown = explain(*words)["protocols"]
    for protocol in shown:
        for name, value in protocol["results"][0]["scores"].items():
            if value is None:
                continue
            whole = explain(*words, "--number", repr(value))
            places = whole["number"] + whole["number_unequal"]
            assert (protocol["name"], name) in [(place["protocol"], place["score"]) for place in places]
