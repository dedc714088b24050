"""CHAIR: reading captions, the scores, the synonym list, and the ground truth."""

import gzip
import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

import halluscope
from halluscope.benchmarks.chair import metric as chair
from halluscope.benchmarks.chair import rows
from halluscope.benchmarks.chair.report import report
from halluscope.building import fetch
from halluscope.errors import BuildError, MissingExtra
from halluscope.mentions import synonyms
from halluscope.mentions.ground_truth import ground_truth
from halluscope.mentions.reading import CaptionReader
from halluscope.signature import keys_of
from halluscope.vocabularies import load
from tests import small_datasets

ROOT = Path(__file__).parents[2]
COCO = load("coco").classes


@pytest.fixture
def class_of(own) -> dict[str, str]:
    return synonyms.load(own["synonyms"], allow_other=True).class_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The sheep and the knives, the buses and the mice", ["sheep", "knife", "bus", "mouse"]),
        ("A hot dog next to a dog", ["hot dog", "dog"]),
        ("Hot dogs and stop signs at the traffic lights", ["hot dog", "stop sign", "traffic light"]),
        ("Wine glasses, baseball gloves, potted plants", ["wine glass", "baseball glove", "potted plant"]),
        ("a glass of wine", []),
        ("He wears a bow tie and she a bow", ["tie", "tie"]),
        ("She is seated; they were seating guests", ["chair", "chair"]),
        ("A jet bearing a flag, a bearing", ["airplane", "bear"]),
        ("In addition to the seating area, providing seating, with ample seating", ["chair", "chair"]),
        ("They are training, after a training", ["train"]),
        ("A train track and a stove top oven", ["oven", "oven"]),
        ("Men with vases and smartphones", []),
        ("no dog here, only dog food", ["dog", "dog"]),
    ],
)
def test_which_objects_a_text_mentions(class_of, text, expected):
    assert CaptionReader(class_of).read(text).objects == expected


TEXTS = ["A dog and a dog on a couch.", "A hot dog.", "", "Two cats and a bear."]
OBJECTS = [["dog"], ["hot dog", "cup"], ["cat"], ["cat"]]


def test_figures_worked_by_hand(own):
    """Mentions 3, 1, 0, 2; hallucinated: couch, bear. Found 1, 1, 0, 1 of 1, 2, 1, 1. Words 9, 3, 0, 6."""
    got = chair.compute(TEXTS, OBJECTS, per_image=True, **own)
    assert got["chair_i"] == pytest.approx(2 / 6)
    assert got["chair_s"] == 0.5
    assert got["recall"] == pytest.approx(3 / 5)
    assert got["mean_words"] == 18 / 4
    assert got["per_image"][0] == {
        "mentions": [["dog", "dog"], ["dog", "dog"], ["couch", "couch"]],
        "found": ["dog"],
        "places": [[2, 5], [12, 15], [21, 26]],
        "hallucinated": ["couch"],
        "missed": [],
        "chair_s": True,
    }


def test_unfinished_sentences_are_left_out_and_counted(own):
    texts = ["A dog. A cat is", "A dog and a cat.", "A cat", '"A dog!" (A cat)', "Of 1.5 dogs, a cat"]
    got = chair.compute(texts, [["dog"]] * 5, drop_unfinished=True, per_image=True, **own)
    assert [row["found"] for row in got["per_image"]] == [["dog"], ["dog"], [], ["dog"], []]
    assert (got["unfinished"], got["chair_s"]) == (4, 1 / 5)
    assert keys_of(got["signature"])["unfinished"] == "dropped"
    plain = chair.compute(texts, [["dog"]] * 5, **own)
    assert "unfinished" not in plain and plain["chair_s"] == 1.0
    assert "responses that lost an unfinished sentence: 4" in report([("mine", got)])[-1].lines


def test_published_captions_of_one_sentence_are_no_refusals(upstream):
    """CHAIR's list lacks "men", so 225 of 2,000 name no object: "2 men playing tennis on a court"."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        halluscope.score(
            "chair",
            upstream / "responses/pope_instruction1_instructblip.jsonl",
            str(upstream / "chair/coco2014_chair_objects.json.gz"),
            synonyms=str(upstream / "chair/synonyms.txt"),
            bootstrap=0,
        )
    assert not [warning for warning in caught if "name none" in str(warning.message)]


def test_a_published_list_of_images_is_named(own, upstream):
    file = upstream / "responses/opera_llava-1.5_greedy.jsonl"
    image_ids = [json.loads(line)["image_id"] for line in file.read_text().splitlines()]
    got = chair.compute([""] * 500, [["dog"]] * 500, image_ids=image_ids[::-1], **own)
    assert got["image_list"].startswith("OPERA's 500 (")
    assert report([("mine", got)])[-1].lines[0].startswith("images: OPERA's 500")
    assert "image_list" not in chair.compute([""], [["dog"]], image_ids=image_ids[:1], **own)


def test_what_is_undefined(own):
    got = chair.compute(["", "Fog."], [[], []], bootstrap=5, **own)
    assert got["chair_i"] != got["chair_i"] and got["recall"] != got["recall"]
    assert got["chair_s"] == 0.0 and got["mean_words"] == 1.0
    low, high = got["interval"]["chair_s"]
    assert low == 0 and high == pytest.approx(1 - 0.025**0.5)  # Clopper and Pearson, 0 of 2
    assert got["no_interval"] == dict.fromkeys(("chair_i", "recall"), "The score is undefined.")


def test_texts_that_want_to_do_harm(own):
    long = ["dog " * 25_000, "d" * 100_000, "a. " * 33_000, "'" * 50_000 + "." * 50_000, "1,000." * 16_000]
    odd = [
        "a\x00dog \x00 dog",
        "🐕 dogs 🐈‍⬛",
        "כלב וחתול dog",
        "half a \ud83d dog \udc15s",
        "{x} %s dog",
        "cafés dog",
    ]
    got = chair.compute(long + odd, [["dog"]] * 11, per_image=True, **own)
    assert [len(row["mentions"]) for row in got["per_image"]] == [25_000, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert got["chair_i"] == 0.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n".join(COCO[:79]).encode(), "has 79 lines; expected 80"),
        ("\n".join([*COCO[:79], "unicorn"]).encode(), "are not COCO's 80 classes"),
        ("\n".join([*COCO[:79], f"{COCO[79]}, dog"]).encode(), r"'dog' stands for dog already"),
    ],
)
def test_a_synonym_list_that_is_none(tmp_path, content, message):
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        synonyms.load(tmp_path / "words.txt", allow_other=True)


def test_the_class_names_alone(tmp_path):
    """They score as a file of them does; nothing is fetched, and the signature says so."""
    file = tmp_path / "names.txt"
    file.write_text("\n".join(COCO))
    texts, objects = ["Two dogs beside a bike.", "A dining table."], [["dog"], ["couch"]]
    named = chair.compute(texts, objects, synonyms="names")
    read = chair.compute(texts, objects, synonyms=file, allow_other_synonyms=True)
    assert named.pop("signature").split("|")[3] == "synonyms:names"
    del read["signature"]
    assert named == read
    with pytest.raises(ValueError, match="synonyms names no file; leave allow_other_synonyms out"):
        chair.compute(texts, objects, synonyms="names", allow_other_synonyms=True)


def test_the_official_list_is_fetched_and_checked(own, monkeypatch):
    asked = []

    def download(source, option):
        asked.append((source.url, source.sha256, option))
        return own["synonyms"]

    monkeypatch.setattr(fetch, "download", download)
    with pytest.raises(ValueError, match="is not CHAIR's synonym list"):
        chair.compute(["A dog."], [["dog"]])
    assert asked == [(synonyms.OFFICIAL.url, synonyms.OFFICIAL.sha256, "synonyms=... (--synonyms)")]


@pytest.fixture
def coco_files(tmp_path) -> tuple[Path, Path]:
    spoken = [(1, "A dog on a bench."), (1, "A woman's dog"), (2, "two seats"), (2, ""), (3, "a cat")]
    instances, captions = small_datasets.coco_files({1: ["dog"], 2: []}, spoken)
    (tmp_path / "instances.json").write_text(instances)
    (tmp_path / "captions.json").write_text(captions)
    return tmp_path / "instances.json", tmp_path / "captions.json"


def test_ground_truth_from_annotations_and_captions(coco_files, class_of, own):
    got = ground_truth(*coco_files, CaptionReader(class_of))
    assert got == {1: ["person", "bench", "dog"], 2: ["chair"]}
    instances, captions = map(str, coco_files)
    loaded = rows.load([instances], captions=captions, **own)
    assert {image.image_id: list(image.objects) for image in loaded} == got
    with pytest.raises(ValueError, match="expected one file of instances, got 2 datasets"):
        rows.load([instances, instances], captions=captions, **own)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"image_id": 9, "caption": "A dog."}, "no caption for 2 of the 2 images .* image_id 1"),
        ({"image_id": 1, "category_id": 18}, r"as in COCO's captions"),
    ],
)
def test_captions_that_do_not_fit(coco_files, class_of, content, message):
    coco_files[1].write_text(json.dumps({"annotations": [content]}))
    with pytest.raises(BuildError, match=message):
        ground_truth(*coco_files, CaptionReader(class_of))


def test_instances_of_another_vocabulary(coco_files, class_of):
    coco_files[0].write_text(coco_files[0].read_text().replace('"dog"', '"dgo"'))
    with pytest.raises(BuildError, match=r"it lacks 1 \('dog'\) and has others: 1 \('dgo'\)"):
        ground_truth(*coco_files, CaptionReader(class_of))


# What the published script's tagger takes for something else, by image id: (too many mentions, too few).
DIFFERENT = {
    178807: ("skateboard", ""),
    225133: ("umbrella umbrella", ""),
    249550: ("potted-plant", ""),
    254644: ("oven", ""),
    396496: ("umbrella umbrella", ""),
    520109: ("umbrella", ""),
}


def test_the_published_output_word_by_word(upstream):
    """The same hallucinated classes in all 500 captions; the same mentions in all but six."""
    output = json.loads((upstream / "chair/llava-1.5_sampled_chair_output.json").read_text())
    reader = CaptionReader(synonyms.load(upstream / "chair/synonyms.txt").class_of)
    different = {}
    for row in output["sentences"]:
        caption, present = reader.read(row["caption"]), set(row["mscoco_gt_words"])
        hallucinated = {name for _, name in row["mscoco_hallucinated_words"]}
        assert set(caption.objects) - present == hallucinated, row["image_id"]
        mine, theirs = Counter(caption.objects), Counter(row["mscoco_generated_words"])
        if mine != theirs:
            listed = (sorted((mine - theirs).elements()), sorted((theirs - mine).elements()))
            different[row["image_id"]] = tuple(
                " ".join(names).replace("potted p", "potted-p") for names in listed
            )
    assert different == DIFFERENT


@pytest.mark.parametrize(
    "file",
    [
        "chair/llava-1.5_sampled_chair_output.json",
        "wild/ZhangqiJiang07__middle_layers_indicating_hallucinations/log__llava-1.5__llava_1.5_7B_CHAIR.json",
        "wild/kchaosun__THUNLP_Multimodal_Excercise/sampling-decoding-eval-chair-300_answer.json",
    ],
)
def test_opera_s_script_finds_a_hallucination_in_the_same_captions(upstream, file):
    """What OPERA's script, with nltk's tagger, made of 1,300 captions by three projects."""
    output = json.loads((upstream / file).read_text())
    rows = output["sentences"]
    got = chair.compute(
        [row["caption"] for row in rows],
        [row["mscoco_gt_words"] for row in rows],
        synonyms=upstream / "chair/synonyms.txt",
        per_image=True,
    )
    theirs = [bool(row["mscoco_hallucinated_words"]) for row in rows]
    assert [row["chair_s"] for row in got["per_image"]] == theirs
    printed = output["overall_metrics"]
    assert got["chair_s"] == pytest.approx(printed["CHAIRs"])
    assert got["chair_i"] == pytest.approx(printed["CHAIRi"], abs=0.001)
    assert got["recall"] == pytest.approx(printed["Recall"], abs=0.002)
    assert got["mean_words"] / 100 == pytest.approx(printed["Len"], abs=0.0001)


def test_the_first_script_word_by_word(upstream):
    """What the first script, with pattern's singularize, made of 500 captions: all mentions, and its printed scores."""
    file = upstream / (
        "wild/kigb__DropoutDecoding/results__0923sample_logit_0__llava_llava__coco__"
        "llava_llava_coco_num_images_500_chair_results.json"
    )
    output = json.loads(file.read_text())
    options = {"synonyms": upstream / "chair/synonyms.txt", "reader": "textblob", "per_image": True}
    with pytest.warns(UserWarning, match="500 of 123,287"):
        got = halluscope.score("chair", file, upstream / "chair/coco2014_chair_objects.json.gz", **options)
    mentions = [[name for _, name in row["mentions"]] for row in got["per_image"]]
    assert mentions == [row["mscoco_generated_words"] for row in output["sentences"]]
    assert got["chair_s"] == output["overall_metrics"]["CHAIRs"] == 0.246
    assert got["chair_i"] == pytest.approx(output["overall_metrics"]["CHAIRi"])


def test_the_first_script_s_singulars(own):
    """It knows no verbs, takes "bus" for a plural, and leaves "ties" and "collies" without a singular."""
    texts = ["She is seated, her hair tied.", "A bus.", "Two buses.", "Three ties, a tie.", "Collies"]
    got = chair.compute(texts, [["bus"]] * 5, reader="textblob", per_image=True, **own)
    mentions = [row["mentions"] for row in got["per_image"]]
    assert mentions == [[], [], [["bus", "bus"]], [["tie", "tie"]], []]
    assert "|lemmas:textblob-" in got["signature"]


def test_without_textblob(own, monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    with pytest.raises(MissingExtra, match=r"pip install 'halluscope\[textblob\]'"):
        chair.compute(["A dog."], [["dog"]], reader="textblob", **own)


def test_the_official_ground_truth(upstream):
    """Equal except for two images, whose captions say "tied" or "snowboarding": that file has no verbs."""
    mini = upstream / "coco/mini"
    got = ground_truth(
        mini / "instances_val2017.json",
        mini / "captions_val2017.json",
        CaptionReader(synonyms.load(upstream / "chair/synonyms.txt").class_of),
    )
    with gzip.open(upstream / "chair/coco2014_chair_objects.json.gz") as file:
        official = json.load(file)
    different = {key: set(names) ^ set(official[str(key)]) for key, names in got.items()}
    assert {key: names for key, names in different.items() if names} == {
        136334: {"snowboard"},
        377575: {"tie"},
    }


def test_the_help_and_the_card_say_what_may_be_the_dataset(ran):
    for words in ("score chair --help", "list chair"):
        said = " ".join(ran(words).out.split())
        assert "--dataset also takes COCO's instances_*.json" in said and "CHAIR's cache as JSON" in said
