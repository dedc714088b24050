"""The common nouns of a text, compared by hand and with a tagger's nouns."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.errors import MissingExtra
from halluscope.reading.words import readers
from halluscope.reading.words.nouns import common_nouns
from halluscope.reading.words.tokens import forms_of, tokenise

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/spacy_nouns.json").read_text())["sentences"]


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("", ""),
        ("A dog, two cats and three mice.", "dog cat mouse"),
        ("A man cutting the bread on a cutting board", "man bread cutting board"),
        ("A woman is painting a painting of a tall building", "woman painting building"),
        ("A boy rides his bike beside a silver car; the silver is bright", "boy bike car silver"),
        ("Somebody's hoodie, a t-shirt and men's shoes", "hoodie t-shirt man shoe"),
        ("A pair of scissors on top of the logs in a bar", "pair scissors top log bar"),
        ("A dog can be seen near a trash can, and you can see two cans of cola", "dog trash can can cola"),
        ("They watch a man with a watch, who skis; he likes to ski down", "man watch"),
        ("Skiers that ski, and a bear that drinks water next to water", "skier bear water water"),
        ("A hot dog, an orange cat and an orange", "dog cat orange"),
        (
            "A pizza on a sofa, a bus, a glass of cola, tennis, two vases and leaves",
            "pizza sofa bus glass cola tennis vase leaf",
        ),
        ("The bench is visible and close to the set table, which is set", "bench table"),
        ("Lush green hills and T-shirts in a snow-covered, natural setting", "hill t-shirt setting"),
        (
            "A man in front of a brick building; others are building a wall",
            "man front brick building other wall",
        ),
        ("He does not see them: 12 m, 1.5 km, <b>, \x1b[31m", "km"),
    ],
)
def test_by_hand(text, nouns):
    assert forms_of(common_nouns(text)) == nouns.split()


def test_a_tagger_finds_nearly_the_same():
    """spaCy's nouns of 40 sentences: 149, of which these rules find 145, and 4 others."""
    found = [(Counter(forms_of(common_nouns(row["text"]))), Counter(row["nouns"])) for row in GOLDEN]
    both = sum((ours & theirs).total() for ours, theirs in found)
    assert sum(theirs.total() for _, theirs in found) == 149
    assert (both, sum(ours.total() for ours, _ in found) - both) == (145, 4)


@given(st.text(alphabet=st.sampled_from("abes '.,-\n\ud800<|{}é漢"), max_size=40))
def test_a_noun_is_one_plain_word(text):
    for noun in forms_of(common_nouns(text)):
        assert noun == noun.lower() and noun.isascii() and noun.replace("-", "").isalpha()


@given(st.text(alphabet=st.sampled_from("abes '.,-\n\ud800<|{}éİ漢\"`"), max_size=40))
def test_each_word_stands_where_it_says(text):
    """In order, none over another, and only white space between them; a noun's place is one of them."""
    tokens = tokenise(text)
    assert [text[token.start : token.end].lower() for token in tokens] == forms_of(tokens)
    ends = [0, *(end for _, start, end in tokens for end in (start, end)), len(text)]
    assert ends == sorted(ends)
    between = (text[end:start] for end, start in zip(ends[::2], ends[1::2], strict=True))
    assert all(not gap.strip(" \n`'") for gap in between)
    places = [token[1:] for token in tokens]
    assert all(noun[1:] in places for noun in common_nouns(text))


def test_a_word_repeated_without_end():
    """Many adjectives in a row, each of which looks at the next, without recursion."""
    assert forms_of(common_nouns("silver " * 20_000)) == ["silver"]
    assert len(common_nouns("dog " * 20_000)) == 20_000
    assert common_nouns("quickly " * 20_000) == []


def test_the_reader_says_what_it_reads_with():
    find, version = readers.load("lemminflect", readers.NOUNS)
    assert find is common_nouns and version.startswith("nouns-2,lemminflect-")
    with pytest.raises(ValueError, match="reader is 'nouns'; expected 'lemminflect' or 'nltk' or 'spacy'"):
        readers.load("nouns", readers.NOUNS)


def test_spacy_finds_what_it_found():
    """With the model that the golden file was made with; another version may tag otherwise."""
    pytest.importorskip("spacy")
    try:
        find, version = readers.load("spacy", readers.NOUNS)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if not version.endswith(",en_core_web_sm-3.8.0"):
        pytest.skip(f"the golden file was made with en_core_web_sm-3.8.0, not {version}")
    assert [forms_of(find(row["text"])) for row in GOLDEN] == [row["nouns"] for row in GOLDEN]


class Spacy:
    """A fake spaCy, where spaCy is not installed: it has no model, or one that tags by the word."""

    __version__ = "3.0"

    def __init__(self, tags=None):
        self._tags = tags

    def load(self, name):
        if self._tags is None:
            raise OSError("[E050] Can't find model")
        model = lambda text: [  # noqa: E731
            SimpleNamespace(
                lemma_=one.group(), pos_=self._tags[one.group()], text=one.group(), idx=one.start()
            )
            for one in re.finditer(r"\S+", text)
        ]
        model.meta = {"version": "0.1"}
        return model


@pytest.fixture
def installed(monkeypatch):
    """Install this object as spaCy."""
    readers.load_model.cache_clear()
    yield lambda module: monkeypatch.setitem(sys.modules, "spacy", module)
    readers.load_model.cache_clear()


def test_spacy_tags_in_lower_case(installed):
    installed(Spacy({"a": "DET", "dog": "NOUN", "paris": "PROPN", "runs": "VERB"}))
    find, version = readers.load("spacy", readers.NOUNS)
    assert (
        find("A DOG runs Paris dog") == [("dog", 2, 5), ("dog", 17, 20)]
        and version == "spacy-3.0,en_core_web_sm-0.1"
    )


def test_without_spacy_or_its_model(installed):
    installed(Spacy())
    with pytest.raises(FileNotFoundError, match="python -m spacy download en_core_web_sm"):
        readers.load("spacy", readers.NOUNS)
    installed(None)
    with pytest.raises(MissingExtra, match=r"pip install 'halluscope\[spacy\]'"):
        readers.load("spacy", readers.NOUNS)
