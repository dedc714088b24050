"""The common nouns of a text, compared by hand and with a tagger's nouns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halluscope.reading.words.nouns import common_nouns
from halluscope.reading.words.tokens import forms_of, tokenise


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
