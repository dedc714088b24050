import hashlib
import json

import pytest

from halluscope import vocabularies
from halluscope.benchmarks.throne.questions import RELEASED, questions_of
from halluscope.judging.questions import article

COCO = vocabularies.load("coco")


def asked(name: str, cls: str) -> list[str]:
    place = COCO.classes.index(cls)
    return [row[place].text for row in questions_of(name).about(COCO)]


def test_the_papers_questions():
    """THRONE, section 4.3."""
    assert asked("paper", "dog") == [
        "Is there a dog in this image?",
        "Does the text imply a dog is in the image?",
        "Does the text explicitly mention a dog is in the image?",
    ]


def plainly(vocabulary: str, cls: str) -> list[str]:
    known = vocabularies.load(vocabulary)
    return [row[known.classes.index(cls)].text for row in questions_of("plain").about(known)]


def test_plain_questions_state_what_coco_means_by_a_tv():
    """The supplement's example, section 4.2: to a language model, a computer monitor is not a tv."""
    assert plainly("coco", "tv") == [
        f'Here, "TV" means a television or a computer monitor. {question}'
        for question in (
            "Is there a TV in this image?",
            "Does the text imply a TV is in the image?",
            "Does the text explicitly mention a TV is in the image?",
        )
    ]


@pytest.mark.parametrize("name", ["coco", "objects365"])
def test_no_plain_question_has_a_plural_with_is_or_a_name_with_a_slash(name):
    known = vocabularies.load(name)
    assert {*known.plain} <= {*known.classes} and known.plurals <= {*known.plain}
    assert {plain.kind for plain in known.plain.values()} <= {"one", "mass", "many"}
    for row in questions_of("plain").about(known):
        for question in row:
            assert "/" not in question.text and "  " not in question.text
            plain = known.plain.get(question.object, vocabularies.Plain())
            assert (" are " in question.text or question.text.startswith("Are ")) == (plain.kind == "many")


NOUNS = {
    "a": "dog,ukulele,Ukulele,eucalyptus,ewe,unicycle,utensil,urinal,one-way sign,horse,UFO,ufo,TV,U-turn sign",
    "an": "umbrella,uninhabited house,usher,onion,hourglass,x-ray,X-ray,MP3 player,LED lamp,SUV",
}


@pytest.mark.parametrize("expected", NOUNS)
def test_the_article_follows_the_sound(expected):
    for noun in NOUNS[expected].split(","):
        assert article(noun) == expected
        (question,) = questions_of(["Is there {a/an} {x}?"]).about(vocabularies.load([noun]))[0]
        assert question.text == f"Is there {expected} {noun}?"


DIGESTS = {
    "coco": "5f535b745e5f0b241ad504a6a3bcd69a69b75bc4b2c874492c66d5a7792dde85",
    "objects365": "18eb2d258c4bfff44c89ea1e622ffb5100ef2ee1c52cc20b4112c84645979579",
}
"""The sha256 of all questions that the released code's own function makes with M = 3, [template][class], as JSON."""


@pytest.mark.parametrize("vocabulary", DIGESTS)
def test_every_question_is_the_released_codes(vocabulary):
    about = RELEASED.about(vocabularies.load(vocabulary))
    texts = json.dumps([[question.text for question in row] for row in about])
    assert hashlib.sha256(texts.encode()).hexdigest() == DIGESTS[vocabulary]


def test_own_templates():
    own = questions_of(["Can one see {a/an} {x}? And {x}?"])
    assert own.about(vocabularies.load(["owl"]))[0][0].text == "Can one see an owl? And owl?"
    assert own.name.startswith("custom-") and own.name != questions_of(["Is {x} there?"]).name
    assert questions_of(["{x}?"]).about(vocabularies.load(["owl"]))[0][0].text == "owl?"
    assert questions_of(["released"]) is questions_of("released") is RELEASED


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("imagenet", "no vocabulary 'imagenet'; known are coco"),
        (["dog", "dog"], "'dog' twice"),
    ],
)
def test_bad_vocabularies(given, message):
    with pytest.raises(ValueError, match=message):
        vocabularies.load(given)


def test_a_class_outside_the_vocabulary_gets_the_nearest_name():
    with pytest.raises(ValueError, match=r"references\[1\] names 'sofa chair'.*Did you mean 'chair'"):
        COCO.presence([["dog"], ["sofa chair"]])
