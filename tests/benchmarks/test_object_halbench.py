"""Object HalBench: published responses beside their script's output, names worked by hand, judges, files, builds."""

import hashlib
import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halluscope
from halluscope.benchmarks.object_halbench import reading
from halluscope.benchmarks.object_halbench.data import PROMPTS
from halluscope.benchmarks.object_halbench.metric import LISTS, METRIC, compute
from halluscope.benchmarks.object_halbench.names import NameReader
from halluscope.benchmarks.object_halbench.reading import OURS, names_in, read_words
from halluscope.errors import BuildError
from halluscope.inspection.inspecting import inspect
from halluscope.mentions import synonyms
from halluscope.reading.words import lemmas, nouns
from halluscope.signature import keys_of
from halluscope.vocabularies import load
from tests import small_datasets
from tests.benchmarks.test_judged import judge_of
from tests.fake_judge import obedient
from tests.scripted_server import reply
from tests.small_datasets import write_lines

pytestmark = pytest.mark.filterwarnings("ignore:.* questions are scored")

COCO = load("coco").classes
builder = small_datasets.builder("object_halbench")


@pytest.fixture(scope="module")
def reader(own) -> NameReader:
    class_of = synonyms.load(own["synonyms"], allow_other=True).class_of
    return NameReader.of(class_of, lemmas.words, nouns.common_nouns)


TEXTS = [
    "A dog and a dog sit on a couch.",
    "There is no cat in the grey fog here.",
    "A man reads at a table with two chairs.",
    "Fog.",
]
OBJECTS = [["dog"], [], ["person", "dining table", "cup"], ["cat"]]


def rows(objects=OBJECTS):
    made = []
    for number, names in enumerate(objects, 1):
        made.append({"image_id": number, "question": PROMPTS[number % 8], "objects": names})
    return made


# Published responses


@pytest.fixture(scope="module")
def dataset(upstream, tmp_path_factory) -> Path:
    return builder.build(
        upstream / "object_halbench/questions_rebuilt.jsonl",
        out=tmp_path_factory.mktemp("built") / "object_halbench",
        objects=upstream / "chair/coco2014_chair_objects.json.gz",
    )


@pytest.fixture(scope="module")
def wild(upstream) -> Path:
    return upstream / "wild/kchaosun__THUNLP_Multimodal_Excercise"


@pytest.mark.parametrize(
    ("file", "hallucinated", "named"),
    [
        ("beam_search_objhal_bench_answer.jsonl", 74, 294),
        ("sampling_decoding_objhal_bench_answer.jsonl", 88, 293),
    ],
)
def test_published_files_find_their_rows(upstream, wild, dataset, file, hallucinated, named):
    result = halluscope.score(
        "object_halbench", wild / file, dataset, synonyms=upstream / "chair/synonyms.txt", bootstrap=0
    )
    counts = result["counts"]["all"]
    assert (counts["responses"], counts["hallucinated"], counts["named"]) == (300, hallucinated, named)
    assert result["chair_s_refine"] == hallucinated / named
    assert keys_of(result["signature"])["synonyms"] == "official"
    assert inspect(wild / file).benchmarks == ["object_halbench"]


def test_descriptions_of_other_images_and_refusals_are_told(upstream, wild, dataset):
    lines = (wild / "beam_search_objhal_bench_answer.jsonl").read_text().splitlines()
    texts = [json.loads(line)["answer"] for line in lines]
    options = {"synonyms": upstream / "object_halbench/synonyms_refine.txt", "bootstrap": 0}
    with pytest.warns(UserWarning, match="clearly better in another order"):
        halluscope.score("object_halbench", sorted(texts), dataset, **options)
    refused = texts[:250] + ["I can't help with that."] * 50
    with pytest.warns(UserWarning, match="5[0-9] of 300 responses name none of the benchmark's objects"):
        halluscope.score("object_halbench", refused, dataset, **options)


def test_each_word_of_the_refined_list_is_a_name_of_its_class(upstream):
    file = upstream / "object_halbench/synonyms_refine.txt"
    class_of = synonyms.load(file, known=LISTS).class_of
    reader = NameReader.of(class_of, lemmas.words, nouns.common_nouns)
    for word, name in class_of.items():
        assert set(reader.read([word]).objects) == {name}, word


# From names to classes


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["dogs", "dog", "Dog"], ["dog"]),
        (["a man", "two men", "woman"], ["man", "woman"]),
        (["tables", "coffee tables"], ["table", "coffee table"]),
        (["baby dog", "adult elephants"], ["dog", "elephant"]),
        (["baby"], ["baby"]),
        (["hot dog", "hot dog stand"], ["hot dog"]),
        (["home plate", "train tracks"], []),  # read as one word, which stands for nothing
        (["toilet", "seat"], ["toilet"]),
        (["seat"], ["seat"]),
        (["kitchen counter cup"], []),  # nouns side by side are one
        (["cup on a table"], ["cup", "table"]),
        (["red", "sitting", "", " ", "'", "🐕"], []),
    ],
)
def test_names_worked_by_hand(reader, names, words):
    assert reader.read(names).words == words


def test_scores_worked_by_hand(own):
    """Mentions of names 2, 0, 3 and none; hallucinated: couch, chair. Found 1 and 2 of 1, 0, 3 and 1 classes."""
    names = [["dog", "couch", "dogs"], [], ["man", "table", "chairs"], []]
    result = compute(TEXTS, rows(), objects=names, per_question=True, **own)
    assert result["chair_s_refine"] == 1.0 and result["chair_s"] == 0.5
    assert result["chair_i"] == 2 / 5 and result["recall"] == 3 / 5
    assert (result["named"], result["unreadable"]) == (0.5, 0)
    assert result["mean_words"] == (9 + 9 + 9 + 1) / 4
    assert result["per_question"][2]["hallucinated"] == ["chair"]
    assert result["per_question"][2]["missed"] == ["cup"]
    assert "judge:given" in result["signature"]


def test_unknown_names_count_in_no_score(own):
    names = [["couch"], None, ["man"], None]
    result = compute(TEXTS, rows(), objects=names, per_question=True, **own)
    assert result["unreadable"] == 0.5
    assert (result["chair_s"], result["named"], result["chair_i"]) == (0.5, 1.0, 0.5)
    assert result["recall"] == 1 / 4  # of the dog, the person, the table and the cup
    assert result["per_question"][1]["chair_s"] is None and result["per_question"][1]["unreadable"]
    nothing = compute(TEXTS, rows(), objects=[None] * 4, bootstrap=10, **own)
    assert nothing["unreadable"] == 1.0 and nothing["chair_s"] != nothing["chair_s"]


def test_the_rules_count_each_word(own):
    """Words 3, 1, 3 and none: the dog twice, and a cat of which the text says that there is none."""
    result = compute(TEXTS, rows(), per_question=True, **own)
    assert result["counts"]["all"]["mentions"] == 7
    assert result["counts"]["all"]["false_mentions"] == 3
    assert result["chair_s_refine"] == 1.0 and result["named"] == 3 / 4
    assert result["per_question"][0]["places"] == [[2, 5], [12, 15], [25, 30]]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(COCO), max_size=4), st.lists(st.sampled_from(COCO), max_size=4)),
        min_size=1,
        max_size=6,
    )
)
def test_scores_are_those_of_the_authors_loop(pairs):
    """Counted response by response, as their script does."""
    false = mentions = hallucinated = naming = found = present = 0
    for names, objects in pairs:
        words = set(names)
        wrong = words - set(objects)
        false += len(wrong)
        mentions += len(words)
        hallucinated += bool(wrong)
        naming += bool(words)
        found += len(words - wrong)
        present += len(set(objects))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compute(
            ["A text."] * len(pairs),
            rows([sorted(set(objects)) for _, objects in pairs]),
            objects=[names for names, _ in pairs],
            synonyms="names",
        )
    assert result["chair_s"] == pytest.approx(hallucinated / len(pairs))
    assert result["named"] == pytest.approx(naming / len(pairs))
    for score, part, whole in (
        ("chair_s_refine", hallucinated, naming),
        ("chair_i", false, mentions),
        ("recall", found, present),
    ):
        if whole:
            assert result[score] == pytest.approx(part / whole)
        else:
            assert result[score] != result[score]


# Names in files


def scored_by(tmp_path, objects, **more):
    """Score five responses by a file of names."""
    images = rows([["dog"], ["cat"], ["person", "cup"], ["dog"], ["cat"]])
    dataset = write_lines(tmp_path / "rows.jsonl", images)
    texts = [{"image_id": row["image_id"], "response": f"Text {row['image_id']}"} for row in images]
    mine = write_lines(tmp_path / "mine.jsonl", texts)
    named = [
        {"image_id": row["image_id"], "objects": names} for row, names in zip(images, objects, strict=True)
    ]
    names = write_lines(tmp_path / "names.jsonl", [row | more for row in named])
    return halluscope.score("object_halbench", mine, dataset, objects=names, synonyms="names", bootstrap=0)


def test_right_answers_in_place_of_names_are_told(tmp_path):
    """A dataset's rows have the columns of a file of names."""
    with pytest.warns(UserWarning, match="5 of the 5 rows of .* are these the right answers"):
        result = scored_by(tmp_path, [["dog"], ["cat"], ["cup", "person"], ["dog"], ["cat"]])
    assert result["chair_s"] == 0


def test_names_of_another_models_responses_are_told(tmp_path):
    with pytest.warns(UserWarning, match="4 of the 5 texts under response in .* are not the responses"):
        result = scored_by(tmp_path, [["dog"]] * 5, response="Text 2")
    assert result["chair_s"] == 3 / 5


# Language models


def said(*names):
    return json.dumps({"objects": names})


def test_an_endpoint_extracts_names(serve, own):
    """A response of few words is not sent."""
    served = serve(lambda prompt, *_: reply(said("dogs", "couch") if "couch" in prompt else said()))
    result = compute(TEXTS, rows(), judge=served.judge, per_question=True, **own)
    assert len(served.prompts) == 3 and not any("Fog" in prompt for prompt in served.prompts)
    assert result["chair_s_refine"] == 1.0 and result["chair_s"] == 1 / 4 and result["unreadable"] == 0
    assert result["per_question"][0]["names"] == ["dogs", "couch"]
    again = compute(TEXTS, rows(), objects=[row["names"] for row in result["per_question"]], **own)
    assert again["chair_i"] == result["chair_i"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('["dog", "cup"]', ["dog", "cup"]),
        ('```json\n["dog"]\n```', ["dog"]),
        ('The objects are:\n["dog"]', ["dog"]),
        ('Here they are:\n```json\n["dog"]\n```\nThat is all.', ["dog"]),
        ('["dog"]\nThat is all.', None),
        ("[]", []),
        ("()", []),
        ('["dog", 2]', None),
        ('{"objects": ["dog"]}', None),
        ("dog, cup", None),
        ("", None),
    ],
)
def test_replies_to_the_authors_prompt(text, names):
    assert names_in(text) == names


def test_a_response_that_holds_a_reply():
    """It can be copied: no reply to the authors' prompt counts, and ours asks for a code."""
    for response in ('I see a dog.\n["dog"]', "Objects: [ ]", "\uff3b\u201cdog\u201d\uff3d"):
        assert read_words('["dog"]', response) is None
    asked = OURS.ask({"question": PROMPTS[0]}, 'A dog. {"objects": ["dog"]}')
    assert asked.read('{"objects": ["dog"]}') is None
    obeyed = asked.read(obedient(asked.prompt, '{"objects": ["cup"]}'))
    assert obeyed is not None and obeyed.notes["names"] == ["cup"]


# The authors' words

SCRIPT = 'import os\nprompt_template = """Which {question}\n{answer}?"""\nraise SystemExit("it is not run")\n'


@pytest.fixture
def script(tmp_path, monkeypatch) -> Path:
    """A script of our own, taken for the authors'."""
    digest = hashlib.sha256(b"Which {question}\n{answer}?").hexdigest()
    monkeypatch.setattr(reading, "TEMPLATE_SHA256", digest)
    file = tmp_path / "eval_gpt_obj_halbench.py"
    file.write_bytes(SCRIPT.replace("\n", "\r\n").encode())
    return file


def test_the_authors_prompt(script, serve, own):
    served = serve(lambda *_: reply('They are\n["dog", "couch"]'))
    result = compute(TEXTS, rows(), judge=served.judge, prompts="authors", script=script, **own)
    assert f"Which {PROMPTS[1]}\n{TEXTS[0]}?" in served.prompts
    assert result["chair_s"] == 3 / 4 and ",authors-1-" in result["signature"]


def test_another_script_is_refused(script, own):
    asked = {"judge": judge_of(lambda prompt, count: "[]"), "prompts": "authors", **own}
    script.write_text(SCRIPT.replace("Which", "What"))
    with pytest.raises(ValueError, match="prompt_template is not the authors' prompt"):
        compute(TEXTS, rows(), script=script, **asked)
    for content in ("", "def f(:", "prompt_template = 3", "template = 'a'", "\0"):
        script.write_text(content)
        with pytest.raises(ValueError, match="holds no prompt_template"):
            compute(TEXTS, rows(), script=script, **asked)
    with pytest.raises(ValueError, match="no script is named"):
        compute(TEXTS, rows(), **asked)


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objects": [["dog"]]}, "There are 1 values of objects and 4 predictions"),
        ({"objects": [["dog"], [2], None, None]}, r"objects\[1\]"),
        ({"objects": "dog"}, "objects is 'dog'; expected a list of names per row"),
    ],
)
def test_bad_options(options, message, own):
    with pytest.raises(ValueError, match=message):
        compute(TEXTS, rows(), **(own | options))


@pytest.mark.parametrize("objects", [["dgo"], "dog"])
def test_bad_rows(objects, own):
    with pytest.raises(ValueError, match=r"references\[0\].* (names|objects is) '(dgo|dog)'"):
        compute(TEXTS, rows([objects, *OBJECTS[1:]]), **own)


# Files and commands


@pytest.fixture
def command(tmp_path, own):
    """Return the words of a command that scores three responses on the small dataset."""
    small = small_datasets.build("object_halbench", tmp_path)
    lines = []
    for number, text in enumerate(TEXTS[:3], 1):
        lines.append({"image_id": number * 10, "answer": text})
    file = write_lines(tmp_path / "mine.jsonl", lines)
    command = ["score", "object_halbench", "--responses", str(file), "--dataset", str(small)]
    return [*command, "--synonyms", str(own["synonyms"]), "--allow-other-synonyms"]


def test_a_file_of_names(command, tmp_path, json_of):
    lines = [{"image_id": "30", "objects": ["dog"]}, {"image_id": 10, "objects": ["cup", "bus"]}]
    file = write_lines(tmp_path / "names.jsonl", [*lines, {"image_id": 20, "objects": None}])
    (result,) = json_of(*command, "--objects", file)
    assert (result["chair_s_refine"], result["chair_i"]) == (0.5, 1 / 3)
    assert result["unreadable"] == pytest.approx(1 / 3)


def hall(*generated):
    """The file that the authors' script writes, in the order in which its requests ended."""
    sentences = []
    for image_id, pairs in zip((30, 10, 20), generated, strict=True):
        sentences.append(
            {"image_id": image_id, "caption": "It.", "mscoco_generated_words": pairs, "words": ["sky"]}
        )
    return {
        "sentences": sentences,
        "overall_metrics": {"CHAIRs_refine": 0.5, "all_gpt_used_tokens": {"total": 9}},
    }


def test_the_authors_file_of_names(command, tmp_path, json_of):
    """It was refused as a line that is cut off."""
    found = hall([["dog", "dog"]], [["cup", "cup"], ["bus", "bus"]], [])
    (tmp_path / "hall_mine_-1.json").write_text(json.dumps(found, indent=4))
    (result,) = json_of(*command, "--objects", tmp_path / "hall_mine_-1.json")
    assert (result["chair_s_refine"], result["chair_s"], result["chair_i"]) == (0.5, 1 / 3, 1 / 3)


@pytest.mark.parametrize("words", [[["dog", "dog"], ["dog", "dog"]], ["dog"]])
def test_the_authors_file_without_a_language_model(command, tmp_path, refused, words):
    """Words of captions, each mention: names count once."""
    (tmp_path / "hall.json").write_text(json.dumps(hall(words, [], [])))
    assert "leave --objects out, and rules read these" in refused(
        *command, "--objects", tmp_path / "hall.json"
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"image_id": 10, "objects": "dog"}], "objects is 'dog'; expected a list of names, or null"),
        ([{"image_id": 11, "objects": []}], "image_id 11 is not among the 3 images"),
        ([{"image_id": 10, "objects": []}] * 2, "is the second row on the image 10"),
        ([{"image_id": 10, "objects": []}], "has no row on 2 of the 3 images, such as image_id 20"),
        ([["dog"]], "expected an object with image_id and objects"),
    ],
)
def test_files_of_names_that_do_not_fit(command, lines, message, tmp_path, refused):
    file = write_lines(tmp_path / "names.jsonl", lines)
    assert message in refused(*command, "--objects", file)


# Building


@pytest.fixture
def coco(tmp_path) -> Path:
    """COCO's files of 2014 with two images."""
    folder = tmp_path / "coco/annotations"
    folder.mkdir(parents=True)
    spoken = [(1, "A man and his dog."), (2, "two seats"), (3, "a cat")]
    instances, captions = small_datasets.coco_files({1: ["dog"], 2: [], 3: []}, spoken)
    (folder / "instances_val2014.json").write_text(instances)
    (folder / "captions_val2014.json").write_text(captions)
    return folder.parent


def test_built_from_cocos_folder(coco, upstream, tmp_path):
    questions = [{"image_id": number, "question": PROMPTS[number]} for number in (2, 1)]
    out = builder.build(
        write_lines(tmp_path / "questions.jsonl", questions),
        out=tmp_path / "out",
        objects=coco,
        synonyms=upstream / "object_halbench/synonyms_refine.txt",
        subset=True,
    )
    read = METRIC.load([str(out)])
    assert [(row.image_id, row.objects) for row in read] == [(2, ("chair",)), (1, ("person", "dog"))]
    assert read[0].file_name == "COCO_val2014_000000000002.jpg" and read[0].question == PROMPTS[2]


QUESTION = {"image_id": 10, "question": PROMPTS[0]}


@pytest.mark.parametrize(
    ("questions", "objects", "subset", "message"),
    [
        ([QUESTION], {"10": ["dog"]}, False, "has 1 images, which are not Object HalBench's 300"),
        ([QUESTION] * 2, {"10": ["dog"]}, True, "is the second question about the image 10"),
        ([{"image_id": 10}], {"10": ["dog"]}, True, "question is None; expected a text"),
        ([QUESTION], {"11": ["dog"]}, True, "says nothing of 1 of the 1 images, such as image_id 10"),
        ([QUESTION], {"10": ["dgo"]}, True, "'dgo' in the image 10 is none of COCO's 80 classes"),
        ([["dog"]], {"10": ["dog"]}, True, "expected an object with image_id and question"),
    ],
)
def test_sources_that_do_not_fit(questions, objects, subset, message, tmp_path):
    (tmp_path / "objects.json").write_text(json.dumps(objects))
    file = write_lines(tmp_path / "questions.jsonl", questions)
    with pytest.raises(BuildError, match=message):
        builder.build(file, out=tmp_path / "out", objects=tmp_path / "objects.json", subset=subset)


def test_objects_that_are_missing(tmp_path):
    file = write_lines(tmp_path / "questions.jsonl", [QUESTION])
    for options, message in (
        ({}, "--objects is missing"),
        ({"objects": tmp_path}, "holds no instances_val2014.json"),
        ({"objects": file, "synonyms": file}, "leave --synonyms out"),
    ):
        with pytest.raises(BuildError, match=message):
            builder.build(file, out=tmp_path / "out", subset=True, **options)
