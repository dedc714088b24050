"""The common nouns of a text: by hand, and beside what a tagger finds."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.reading.words import readers
from halluscope.reading.words.nouns import common_nouns

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
        ("He does not see them: 12 m, 1.5 km, <b>, \x1b[31m", "km"),
    ],
)
def test_by_hand(text, nouns):
    assert common_nouns(text) == nouns.split()


def test_a_tagger_finds_nearly_the_same():
    """spaCy's nouns of 40 sentences: 149, of which these rules find 146, and 8 others."""
    found = [(Counter(common_nouns(row["text"])), Counter(row["nouns"])) for row in GOLDEN]
    both = sum((ours & theirs).total() for ours, theirs in found)
    assert sum(theirs.total() for _, theirs in found) == 149
    assert (both, sum(ours.total() for ours, _ in found) - both) == (146, 8)


@given(st.text(alphabet=st.sampled_from("abes '.,-\n\ud800<|{}é漢"), max_size=40))
def test_a_noun_is_one_plain_word(text):
    for noun in common_nouns(text):
        assert noun == noun.lower() and noun.isascii() and noun.replace("-", "").isalpha()


def test_a_word_repeated_without_end():
    """Adjectives one after the other, each looking at the next: no step calls another."""
    assert common_nouns("plane " * 20_000) == ["plane"]
    assert len(common_nouns("dog " * 20_000)) == 20_000


def test_the_reader_says_what_it_reads_with():
    find, version = readers.common_nouns("lemminflect")
    assert find is common_nouns and version.startswith("nouns-1,lemminflect-")
    with pytest.raises(ValueError, match="reader is 'spacy'; expected 'lemminflect' or 'nltk'"):
        readers.common_nouns("spacy")
