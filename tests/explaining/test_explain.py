"""`halluscope explain`: scores known by hand, the same scores as `score`, and every benchmark of the registry."""

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import halluscope
from halluscope import cli, registry
from halluscope.benchmark import Benchmark
from halluscope.cli import commands
from halluscope.cli.responses import MATCHING, chosen
from halluscope.explaining import protocols
from halluscope.explaining.explanation import Explanation
from halluscope.judging.models.language_model import LanguageModelJudge
from halluscope.options import keywords
from halluscope.scoring import FUNCTIONS
from halluscope.vocabularies import load
from tests import small_datasets
from tests.benchmarks.test_chair_nltk import data, made  # noqa: F401
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


def scores(found: dict[str, Any], score: str, *names: str) -> list[float]:
    """The values of a score by protocols, in the first file."""
    values = {protocol["name"]: protocol["results"][0]["scores"] for protocol in found["protocols"]}
    return [values[name][score] for name in names]


def reading(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """What two protocols read differently in the first file."""
    (one,) = (
        one
        for one in found["readings"]
        if [one["first"], one["second"]] == [*names] and one["responses"] == found["responses"][0]
    )
    return one


@pytest.fixture
def three(tmp_path) -> list[str]:
    """Three of POPE's questions, two about what is there, and a response to each."""
    asked = [
        {"question_id": n, "image": "1.jpg", "text": f"Is there a {thing} in the image?", "label": label}
        for n, (thing, label) in enumerate((("dog", "yes"), ("cat", "yes"), ("bus", "no")))
    ]
    said = [{"question_id": n, "response": said} for n, said in enumerate(["Yes", "Yes, a cat.", "No"])]
    files = lines(tmp_path / "m.jsonl", said), lines(tmp_path / "random.json", asked)
    return ["--responses", files[0], "--dataset", files[1]]


@needs("pope")
def test_three_responses_by_hand(three, explain, text):
    """The official rule reads all three, and is right each time: accuracy and F1 are 1.

    lmms-eval's rule does not read "Yes, a cat.": accuracy 2/3. Its way to count leaves that response out of recall: F1
    1.
    """
    found = explain("pope", *three)
    assert scores(found, "f1", "official", "lmms-eval") == [1, 1]
    assert scores(found, "accuracy", "official", "lmms-eval") == pytest.approx([1, 2 / 3])
    read = reading(found, "official", "lmms-eval")
    assert (read["read_otherwise"], read["of"]) == (1, 3)
    (example,) = read["examples"]
    assert (example["question_id"], example["text"]) == (1, "Yes, a cat.")
    assert (example["first"], example["second"]) == ({"said": "yes"}, {"said": None})
    printed = text("pope", *three, "--number", "66.7")
    assert printed.startswith("66.7 is\n") and "\n  lmms-eval: accuracy\n" in printed
    two = text("pope", *three, "--protocols", "official", "lmms-eval").splitlines()
    shown = (
        (ROOT / "docs/signatures.md").read_text().partition("score        official")[2].partition("```")[0]
    )
    assert len(shown.splitlines()) > 3 and {*f"score        official{shown}".splitlines()} <= {*two}
    for said in (
        "m does not say what was asked",
        "1 random: 'Yes, a cat.' is 'yes', or unreadable",
        "not computed: repope, because --corrected is not given",
    ):
        assert said in printed
    assert max(len(line) for line in printed.splitlines() if "signature" not in line) <= 100


def corrected(tmp_path, *texts: str) -> tuple[list[str], list[str], Path]:
    """Words about responses to POPE's six questions in each sampling, their labels, and the folder of RePOPE's."""
    built = small_datasets.build("repope", tmp_path)
    asked = [str(tmp_path / f"repope-inputs/pope-inputs/coco_pope_{name}.json") for name in SAMPLINGS]
    labels = [json.loads(line)["label"] for line in Path(asked[0]).read_text().splitlines()]
    said = [
        {"question_id": n, "sampling": name, "response": text}
        for name in SAMPLINGS
        for n, text in enumerate(texts)
    ]
    words = ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", *asked]
    return [*words, "--corrected", str(built), "--partial"], labels, built


@needs("repope")
def test_other_labels_and_the_rows_that_they_leave_out(tmp_path, explain):
    """Of six answers the last is wrong; RePOPE corrects the first label and leaves out the last row.

    Accuracy 5/6; without the last, and with the first answer corrected, 4/5.
    """
    texts = ["Yes", "No", "Yes", "No", "Yes", "Yes"]
    words, labels, built = corrected(tmp_path, *texts)
    right = [text.lower() == label for text, label in zip(texts, labels, strict=True)]
    assert right == [True] * 5 + [False]
    found = explain("pope", *words)
    by_protocol = scores(found, "accuracy", "official", "corrected", "repope")
    assert by_protocol == pytest.approx([5 / 6, 4 / 5, 4 / 5])  # the last two read all six
    own = halluscope.score("repope", words[1], built, parser="repope")
    assert own["accuracy"] == by_protocol[-1]
    popular = explain("pope", *words, "--protocols", "official", "popular")
    official, of_popular = scores(popular, "accuracy", "official", "popular")
    assert official == of_popular  # all samplings are alike here


@needs("repope")
def test_repopes_own_parser_and_counting(tmp_path, explain):
    """By RePOPE's labels no no yes no yes: "Hm." is a yes for POPE, and in none of RePOPE's counts.

    So POPE's rule has 2 of 5 right; RePOPE's also reads two noes, which makes 4 of 5, and without "Hm." 4 of 4.
    """
    words, *_ = corrected(tmp_path, "NO", "Hm.", "Yes", "It shows nothing", "A yes", "No")
    found = explain("pope", *words)
    assert scores(found, "accuracy", "corrected", "repope") == pytest.approx([2 / 5, 1])
    read = reading(found, "official", "repope")
    assert (read["read_otherwise"], read["of"]) == (9, 15)


@needs("pope")
def test_other_labels_of_other_questions(three, tmp_path, refused):
    other = {"question_id": 0, "image": "1.jpg", "text": "Is there a cow in the image?", "label": "yes"}
    words = [*three, "--corrected", lines(tmp_path / "repope_random.json", [other]), "--protocols", "repope"]
    assert "corrected has no row for question_id 0, sampling random" in refused("explain pope", *words)


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
    found = explain("pope", *words)
    assert found["responses"] == ["m", "short"]
    single = "{question} Answer the question using a single word or phrase."
    prompts = {"m": [{"prompt": None, "responses": 3}], "short": [{"prompt": single, "responses": 3}]}
    assert found["prompts"] == prompts
    (lmms_eval,) = (one for one in found["protocols"] if one["name"] == "lmms-eval")
    assert [result["responses"] for result in lmms_eval["results"]] == ["m", "short"]
    assert [result["scores"]["accuracy"] for result in lmms_eval["results"]] == pytest.approx([2 / 3, 1])
    printed = text("pope", *words)
    assert "cannot be computed from one file" not in printed
    assert "prompts: m does not say what was asked" in printed
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


@needs("chair")
def test_two_prompts_in_another_order(captions, explain):
    """CHAIR_i 1/2 and 1, whatever the order of the captions."""
    files = {"a": {1: "A dog.", 2: "A dog."}, "b": {2: "A dog and a bus.", 1: "A bus."}}
    words = captions({1: ["dog"], 2: ["cat"]}, files)
    (protocol,) = explain("chair", *words, "--protocols", "halluscope")["protocols"]
    assert [result["scores"]["chair_i"] for result in protocol["results"]] == [0.5, 1.0]


@needs("chair")
def test_files_about_other_images_are_no_two_prompts(captions, refused):
    words = captions({1: ["dog"], 2: ["cat"]}, {"a": {1: "A dog."}, "b": {2: "A dog."}})
    assert "b and a answer different rows" in refused("explain throne", *words[:5])


# What the authors' programs said of the same responses


@needs("pope")
def test_the_official_protocol_is_the_script(upstream, tmp_path, explain):
    golden = json.loads((GOLDEN / "pope_official.json").read_text())
    said = [{"question_id": n, "response": golden["texts"][i]} for n, i in enumerate(golden["answers"], 1)]
    dataset = str(upstream / "pope/coco" / golden["questions"])
    found = explain("pope", "--responses", lines(tmp_path / "m.jsonl", said), "--dataset", dataset)
    got = found["protocols"][0]["results"][0]["scores"]
    assert {name: got[name] for name in golden["expected"]} == pytest.approx(golden["expected"], abs=1e-9)


@needs("amber")
def test_the_official_protocol_is_the_script_for_answers(upstream, tmp_path, explain):
    golden = json.loads((GOLDEN / "amber_official.json").read_text())
    texts = [golden["code"][letter] for letter in golden["answers"]]
    said = [{"id": n, "response": text} for n, text in enumerate(texts, golden["answers_from"])]
    dataset = [str(upstream / "amber" / name) for name in ("annotations.json", "query/query_all.json")]
    found = explain("amber", "--responses", lines(tmp_path / "m.jsonl", said), "--dataset", *dataset)
    got = found["protocols"][0]["results"][0]["scores"]
    for score in ("Accuracy", "Precision", "Recall", "F1"):
        expected = golden["result"][f"Descriminative Task/{score}"]
        assert got[score.lower()] == pytest.approx(expected / 100), score
    read = reading(found, "official", "vlmevalkit")
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
def test_a_protocol_that_is_not_equal_says_so_and_prints_no_number(described, tmp_path, explain, text):
    """lmms-eval has other nouns and synonyms; AMBER's script finds nouns and synonyms in another way."""
    words = ["amber", *described, "--number", "50.0"]
    printed = text(*words)
    number, _, tables = printed.partition("\n\n")
    assert number.splitlines() == ["50.0 is", "  halluscope: chair", "  halluscope: cover"]
    assert "\nnot equal: lmms-eval, because it has nltk's nouns" in tables
    assert "\nnot equal: official, because its nouns are nltk's (--reader nltk)" in tables
    found = explain(*words)
    assert {one["protocol"] for one in found["number"]} == {"halluscope"}
    differs = {one["name"]: one["discrepancy"] for one in found["protocols"]}
    assert differs["halluscope"] is differs["vlmevalkit"] is None and "nltk" in differs["lmms-eval"]
    exact = explain("amber", *described, "--number", "100.0")["number"]
    assert {"responses": "m", "protocol": "official", "score": "accuracy"} in exact  # an answer has no nouns


@needs("amber")
def test_a_protocol_is_equal_with_the_options_that_it_names():
    each = {one.name: one for one in protocols.load(registry.benchmark("amber")).each}
    official, lmms_eval = each["official"], each["lmms-eval"]
    with_both = {"reader": "nltk", "similar": "amber:similar"}
    assert official.unequal({}) and official.unequal({"reader": "nltk"})
    assert not official.unequal(with_both) and lmms_eval.unequal(with_both)


# What cannot be computed is said, and the rest is


FIGURE = {"category": "VS", "subcategory": "chart", "set_id": 0, "question_id": 0}


@needs("hallusionbench")
def test_without_the_questions_that_have_no_image(tmp_path, explain):
    built = small_datasets.build("hallusionbench", tmp_path)
    texts = ("I cannot know.", "Yes.", "Both yes and no.")
    whole = [FIGURE | {"figure_id": figure, "response": said} for figure, said in enumerate(texts)]
    words = ["--responses", lines(tmp_path / "m.jsonl", whole[1:]), "--dataset", str(built)]
    found = explain("hallusionbench", *words)
    assert [one["name"] for one in found["protocols"]] == ["lmms-eval", "vlmevalkit"]
    assert "has no response to 1 of the 3 rows" in found["not_computed"]["official"]
    # Neither reads the second, which is wrong
    lmms_eval, vlmevalkit = scores(found, "aAcc", "lmms-eval", "vlmevalkit")
    assert lmms_eval == vlmevalkit
    words[1] = lines(tmp_path / "whole.jsonl", whole)
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
    found = explain("chair", *words)
    assert scores(found, "chair_s", "first-script", "halluscope") == pytest.approx([0, 2 / 3])
    assert [example["first"] for example in reading(found, "first-script", "halluscope")["examples"]] == [
        {"mentions": [["man", "person"]]},
        {"mentions": []},
    ]


@needs("chair")
def test_two_readers_of_one_caption(made, captions, explain):  # noqa: F811
    """With a tagger that reads "skiing" as a verb, a skiing trip mentions skis; with the dictionary, it does not."""
    said = {"m": {1: "The man on a skiing trip."}}
    words = captions({1: ["person"]}, said, person="person, man", skis="skis, ski")
    found = explain("chair", *words)
    assert scores(found, "chair_i", "script", "halluscope") == [0.5, 0]
    (example,) = reading(found, "script", "halluscope")["examples"]
    assert example["first"] == {"mentions": [["man", "person"], ["ski", "skis"]]}
    assert example["second"] == {"mentions": [["man", "person"]]}


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
    found = explain("throne", *words, "--judges", str(tiny_t5), "--device", "cpu", "--quiet")
    assert [one["name"] for one in found["protocols"]] == ["paper", "supplement", "released"]
    assert asked and len(asked) == len(set(asked))
    paper, released = scores(found, "f0.5_all", "paper", "released")
    assert paper != released


@needs("hallusionbench")
@pytest.mark.parametrize("fresh", [(), ("--fresh",)], ids=["kept", "fresh"])
def test_no_grader_is_asked_twice(serve, access_key, fresh, tmp_path, explain):
    """The official script counts all three verdicts, lmms-eval two of them; a reader of yes and no asks no judge."""
    server = serve(lambda prompt, count, body: reply("same" if "same" in prompt else "incorrect"))
    built = small_datasets.build("hallusionbench", tmp_path)
    said = [FIGURE | {"figure_id": figure, "response": f"It is {figure}."} for figure in range(3)]
    words = ["--responses", lines(tmp_path / "m.jsonl", said), "--dataset", str(built), "--quiet", *fresh]
    found = explain("hallusionbench", *words, "--judge", f"openai:judge@{server.url}")
    by = ["official", "halluscope", "lmms-eval", "vlmevalkit"]
    assert [one["name"] for one in found["protocols"]] == by
    assert len(server.prompts) == len(set(server.prompts)) >= 3
    assert reading(found, "official", "vlmevalkit")["read_otherwise"] == 2  # what was wrong is unreadable


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


@pytest.fixture(scope="module")
def each_explained(good) -> dict[str, tuple[Explanation, list[str]]]:  # noqa: F811
    """For each benchmark, explain a good file of responses by all protocols that can be computed, in words too."""
    return {one.values[0].name: _explained(one.values[0], *good[one.values[0].name]) for one in SCORED}


def _explained(benchmark: Benchmark, words: list[str], responses: Path) -> tuple[Explanation, list[str]]:
    stated = protocols.load(benchmark)
    words = ["explain", *(word for word in words[1:] if word != "--json")]
    for spelt in (f"--{option}" for option in stated.settled):
        if spelt in words:
            del words[words.index(spelt) : words.index(spelt) + 2]
    words += ["--responses", str(responses), "--protocols", *(one.name for one in stated.each)]
    _, bound, _ = commands.parse(words)
    given = bound.arguments
    known = {option.name for option in (*MATCHING, *benchmark.without(stated.settled).options)}
    choice = chosen(benchmark, benchmark.name, {name: given[name] for name in known if name in given})
    files = given["responses"], given["dataset"]
    found = Explanation(benchmark, stated, stated.each, *files, choice.options, choice.matching)
    found.compute()
    return found, words


@pytest.mark.parametrize("benchmark", SCORED)
def test_protocols_score_as_score_does(benchmark, each_explained):
    """A protocol's options, given to `halluscope.score`, yield the same scores and the same signature."""
    found, words = each_explained[benchmark.name]
    _, bound, _ = commands.parse(words)
    responses, dataset = bound.arguments["responses"], bound.arguments["dataset"]
    for one in found.protocols:
        if one.labels.dataset or one.labels.without:
            continue
        options = found.options(*one.ways.values())
        if found.without_effect(one):
            with pytest.raises(ValueError, match="leave .* out"):
                halluscope.score(benchmark.name, responses[0], dataset, bootstrap=0, **options)
            continue
        own = halluscope.score(benchmark.name, responses[0], dataset, bootstrap=0, **options)
        got = found.result(one, found.files[0])
        assert got["signature"] == own["signature"]
        for score in benchmark.scores:
            assert got.get(score) == own.get(score) or math.isnan(got[score]), (one.name, score)


@pytest.mark.parametrize("benchmark", SCORED)
def test_each_protocol_is_printed(benchmark, each_explained, ran, json_of):
    found, words = each_explained[benchmark.name]
    printed = ran(*words, "--number", "50.0").out
    assert all(one.name in printed for one in found.protocols)
    wide = re.compile("signature:|not computed:|not equal:|without effect:")
    assert [line for line in printed.splitlines() if len(line) > 100 and not wide.search(line)] == []
    assert json_of(*words)["benchmark"] == benchmark.name
    if len(found.known.each) == 1:
        assert f"{benchmark.title} has one protocol" in printed


@pytest.mark.parametrize("benchmark", SCORED)
def test_what_a_room_states(benchmark):
    stated, rows = protocols.load(benchmark), benchmark.module("rows")
    reading = (getattr(rows, name) for name in FUNCTIONS if hasattr(rows, name))
    known = benchmark.keywords.union(*map(keywords, reading))
    assert len({one.name for one in stated.each}) == len(stated.each) and stated.chosen()
    assert all(one.by for one in stated.each)
    assert all("{question}" in one.prompt or not one.prompt for one in stated.each) or stated.each[0].prompt
    for score in stated.shown:
        benchmark.direction(score)  # raises KeyError for a score that the benchmark does not have
    for one in stated.each:
        unless = one.discrepancy.unless if one.discrepancy else {}
        moved = one.discrepancy.scores if one.discrepancy else ()
        assert {*one.needs, *unless} <= known
        for score in (*one.scores, *moved):
            benchmark.direction(score)
        for way in one.ways.values():
            assert 0 < len(way.said) <= 88, f"{one.name}: {way} is not said, or does not fit on a line"
            assert {*way.options, *way.without, way.dataset} - {""} <= known, f"{one.name}: {way}"
            for option, value in way.options.items():
                choices = next((o.choices for o in benchmark.options if o.name == option), ())
                assert not choices or value in choices, f"{one.name}: {option}"


@needs("pope")
def test_words_that_cannot_be(three, refused):
    for words, said in (
        ("--protocols offical", "Did you mean 'official'?"),
        ("--examples -1", "--examples is -1; expected 0 or more"),
        ("--protocols repope", "--corrected is not given, and repope needs it"),
        ("--limit 0", "a whole number of responses of at least 1"),
    ):
        assert said in refused("explain pope", *three, *words.split())


@needs("pope")
def test_numbers(three, capsys, explain, text):
    for word in ("eighty", "nan", "1e999", ""):
        assert cli.main(["explain", "pope", *three, "--number", word]) == 2
        assert "expected a number, such as 0.5" in capsys.readouterr().err
    assert "12.34 is not a score of these responses" in text("pope", *three, "--number", "12.34")
    share, percent, exponent, small = (
        explain("pope", *three, "--number", word)["number"] for word in ("0.667", "66.7", "6.67e1", "1e-5")
    )
    found = {one["protocol"] for one in share if one["score"] == "accuracy"}
    assert "lmms-eval" in found and "official" not in found
    assert percent == exponent != [] and small == []


@needs("pope")
def test_what_an_lvlm_says_cannot_steer_the_terminal(three, tmp_path, text):
    said = [{"question_id": n, "response": f"Yes\x1b[31m\nofficial: {n}"} for n in range(3)]
    printed = text("pope", "--responses", lines(tmp_path / "x.jsonl", said), *three[2:])
    assert "\x1b" not in printed and r"'Yes\x1b[31m\nofficial: 0'" in printed


def test_an_older_spelling_of_a_question_is_no_other_prompt(upstream, explain):
    """LLaVA's own answers: 246 of their 8,910 prompts say "imange"."""
    (file,) = (upstream / "wild/Haoming2000__VLM-Benchmarks").glob("*llava-v1.5-13b.jsonl")
    questions = [str(file) for file in sorted((upstream / "pope/coco").glob("*.json"))]
    (prompts,) = explain("pope", "--responses", file, "--dataset", *questions)["prompts"].values()
    single = "{question} Answer the question using a single word or phrase."
    assert prompts == [{"prompt": single, "responses": 8910}]
