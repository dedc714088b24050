"""The numbers of figures: counts that can be checked by hand, and that add up to the items'."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halluscope import registry
from halluscope.judging.votes import OTHER, UNASKED
from halluscope.reporting.figures import plots
from halluscope.reporting.figures.charts import Point
from halluscope.reporting.figures.plots import share
from halluscope.reporting.report_items import ABSENT, FOUND, HALLUCINATED, KINDS, MISSED, Item, Mark
from halluscope.stats.ratios import fisher

MARKS = st.builds(
    Mark,
    st.integers(0, 7),
    st.just(8),
    st.sampled_from(KINDS),
    st.just(""),
    st.sampled_from(["", "dog", "cup"]),
)
ITEM = st.builds(
    Item,
    id=st.integers(0, 99).map(str),
    text=st.text("ab ", min_size=8, max_size=40),
    image=st.none() | st.sampled_from("xyz"),
    marks=st.lists(MARKS),
    classes=st.dictionaries(st.sampled_from("pqrst"), st.sampled_from((FOUND, HALLUCINATED, MISSED, ABSENT))),
)
ITEMS = st.lists(ITEM, max_size=25)


def item(number, image=None, **came):
    return Item(str(number), "a text", image, classes=came)


def test_precision_and_recall_of_a_class():
    """Said in three rows, there in two of them, and once not said: 2 of 3, and 2 of 3."""
    rows = [
        item(1, dog=FOUND),
        item(2, dog=FOUND, cup=MISSED),
        item(3, dog=HALLUCINATED),
        item(4, dog=MISSED),
    ]
    found = plots.of_classes([*rows, item(5, dog=ABSENT, bus=ABSENT)])
    assert found == {"cup": (0, 0, 1), "dog": (2, 1, 1)}
    assert all(math.isnan(number) for number in share(0, 0)[:3]) and share(0, 1).value == 0


@settings(max_examples=25)
@given(ITEMS)
def test_counts_of_classes_add_up(items):
    said = Counter(came for one in items for came in one.classes.values())
    each = plots.of_classes(items).values()
    sums = [*map(sum, zip(*each, strict=True))] or [0, 0, 0]
    assert sums == [said[FOUND], said[HALLUCINATED], said[MISSED]]


def test_the_worst_classes_are_those_of_all_models_together():
    one = {"a": (9, 1, 0), "b": (0, 2, 0)}
    other = {"a": (9, 1, 1), "c": (0, 0, 2)}
    assert plots.worst([one, other], 2) == ["a", "b"]  # 3, 2, and 2 by the order of names


def test_a_knife_is_invented_beside_a_fork():
    """In 100 images: a fork in 20 of them; a knife is there in 10 others, and invented in 12, of which 11 have a fork.

    Of the 90 images without a knife, 20 have a fork. A dog is beside 7 of the 12, and in half of
    all images: no more than elsewhere.
    """
    came = [
        dict.fromkeys(["fork"] * (number < 20), FOUND)
        | dict.fromkeys(["knife"] * (number < 11 or number == 40), HALLUCINATED)
        | dict.fromkeys(["knife"] * (number >= 90) + ["dog"] * (number % 2 == 0), MISSED)
        for number in range(100)
    ]
    items = [item(number, **of) for number, of in enumerate(came)]
    (pair,) = plots.together(items)
    assert (pair.invented, pair.beside) == ("knife", "fork")
    assert (pair.when, pair.otherwise) == (share(11, 12), share(20, 90))
    assert pair.times == pytest.approx((11 / 12) / (20 / 90))
    assert plots.together(items, fewest=12) == []


def test_an_image_counts_once():
    """Questions about an image are merged: a class that is present by one of them is not invented in another."""
    rows = [item(f"{part} {n}", str(n), **{part: FOUND}) for n in range(40) for part in ("a", "b")]
    wrong = [item(f"w {n}", str(n), z=HALLUCINATED) for n in range(6)]
    bare = [item(n, f"bare {n}", c=MISSED) for n in range(200)]
    pairs = plots.together([*rows, *wrong, *wrong, *bare])
    found = [(one.beside, one.when, one.otherwise) for one in pairs]
    assert found == [(name, share(6, 6), share(40, 240)) for name in ("a", "b")]
    there = [item(f"t {n}", str(n), z=MISSED) for n in range(6)]
    assert plots.together([*rows, *wrong, *there, *bare]) == []


def test_chance_is_not_shown():
    """Classes are invented independently of the image: 40 sets, of which 5 % may show some pair by chance."""
    draws, any_shown = np.random.default_rng(0), 0
    for _ in range(40):
        there = draws.random((150, 12)) < draws.uniform(0.02, 0.3, 12)
        invented = (draws.random((150, 12)) < 0.1) & ~there
        came = np.where(there, MISSED, np.where(invented, HALLUCINATED, ABSENT))
        classes = [{f"c{place}": str(of) for place, of in enumerate(row)} for row in came]
        any_shown += bool(plots.together(item(row, **of) for row, of in enumerate(classes)))
    assert any_shown <= 5  # more than 5 of 40 come with a chance below 2 %


@given(st.integers(0, 8), st.integers(0, 8))
def test_fishers_test_counts_the_ways(one, other):
    """Compare with counting all ways to have two things among eight."""
    ways = [len({*taken} & {*range(other)}) for taken in combinations(range(8), one)]
    for both in range(max(0, one + other - 8), min(one, other) + 1):
        expected = sum(way >= both for way in ways) / len(ways)
        assert fisher(both, one, other, 8) == pytest.approx(expected)


def test_where_mentions_stand():
    """In a text of 20 characters, places 0 and 1 are the first tenth, and 19 is the last."""
    marks = [
        Mark(0, 3, "good", "", "dog"),
        Mark(1, 3, "bad", "", "cup"),
        Mark(1, 3, "bad", "said by another too", "cup"),
        Mark(19, 20, "bad", "", "bus"),
        Mark(10, 12, "back", "", "car"),
        Mark(10, 12, "open", "", "car"),
        Mark(10, 12, "bad", "a claim, of no class"),
    ]
    found = plots.by_tenth([Item("1", "x" * 20, marks=marks)])
    assert found == [share(1, 2), *[share(0, 0)] * 8, share(1, 1)]


@settings(max_examples=25)
@given(ITEMS)
def test_mentions_add_up(items):
    marks = {(n, one.start, one.of, one.kind) for n, row in enumerate(items) for one in row.marks if one.of}
    kinds, found = Counter(kind for *_, kind in marks), plots.by_tenth(items)
    assert sum(share.total for share in found) == kinds["good"] + kinds["bad"]
    assert sum(share.part for share in found) == kinds["bad"]


def test_bins_of_lengths():
    """20 responses of 1 to 20 words, the longer half wrong: two bins, with 1 to 9 and 10 to 20 words."""
    rows = [
        Item(str(words), "a " * words, classes={"dog": HALLUCINATED if words > 10 else FOUND, "cup": FOUND})
        for words in range(1, 21)
    ]
    short, long = plots.by_length(rows)
    assert (short.words, short.rows, short.said) == (5, share(0, 9), share(0, 18))
    assert (long.words, long.rows, long.said) == (15, share(10, 11), share(10, 22))


def test_rows_without_classes_are_wrong_by_their_errors():
    """Unjudged responses are left out."""
    errors = [["wrong"], [], ["unreadable"]]
    rows = [Item(str(number), "a " * number, errors=errors[number % 3]) for number in range(60)]
    bins = plots.by_length(rows)
    assert sum(one.rows.part for one in bins) == 20 and sum(one.rows.total for one in bins) == 40
    assert not any(one.said.total for one in bins)


@settings(max_examples=25)
@given(ITEMS.map(lambda items: items * 4))
def test_bins_hold_each_row_once(items):
    known = [one for one in items if one.classes] or items
    found = plots.by_length(items)
    assert sum(one.rows.total for one in found) in (0, len(known))
    invented = sum([*row.classes.values()].count(HALLUCINATED) for row in known)
    assert sum(one.said.part for one in found) in (0, invented)
    assert [one.words for one in found] == sorted({one.words for one in found})
    lengths = {len(one.text.split()) for one in known}
    assert len(found) <= min(plots.BINS, max(1, len(lengths)))


def test_agreement_by_hand():
    """Two voters, ten questions: both yes 3, both no 4, first alone 2, second alone 1.

    They agree on 7 of 10; by chance on 0.5 * 0.4 + 0.5 * 0.6 = 0.5; kappa is (0.7 - 0.5) / (1 - 0.5) = 0.4.
    """
    votes = np.array([[1, 1]] * 3 + [[0, 0]] * 4 + [[1, 0]] * 2 + [[0, 1]], np.int8).reshape(5, 2, 2)
    alike = plots.agreement(votes)
    assert (alike[0, 1], alike[1, 0]) == pytest.approx((0.7, 0.4)) and np.isnan(np.diag(alike)).all()


def test_votes_without_a_kappa():
    """Where asking stopped early, only questions asked of both count; or voters say the same always."""
    early = np.array([[0, UNASKED], [1, 1], [1, OTHER]], np.int8).reshape(3, 1, 2)
    for votes, same in ((early, 0.5), (np.zeros((4, 3, 2), np.int8), 1)):
        alike = plots.agreement(votes)
        assert alike[0, 1] == same and math.isnan(alike[1, 0])


def test_scores_against_each_other():
    pairs = {
        "pope": ("precision", "recall"),
        "throne": ("precision_cls", "recall_cls"),
        "chair": ("chair_i", "recall"),
        "gavie": ("accuracy", "relevancy"),
    }
    for name, pair in pairs.items():
        benchmark = registry.benchmark(name)
        full = dict.fromkeys(benchmark.scores, 0.5)
        assert plots.two_scores(benchmark, [full, full]) == pair
        alone = {score: float("nan") if score == pair[1] else None for score in benchmark.scores}
        assert plots.two_scores(benchmark, [full, alone]) == ()


def test_groups_of_a_score():
    """Groups have names with "/"; a group that is undefined everywhere is left out."""
    benchmark = registry.benchmark("hqh")
    result = {"main_hal": 0.3, "main_hal/count": 0.5, "main_hal/OCR": 0.25, "main_hal/color": None}
    result |= {"overall_hal/count": float("nan"), "interval": {"main_hal/count": (0.25, 0.75)}}
    name, (found,) = plots.groups(benchmark, [result])
    assert name == "main_hal" and [*found] == ["count", "OCR"]
    assert found["count"] == Point(0.5, 0.25, 0.75) and math.isnan(found["OCR"].low)
    sampled = {"accuracy/random": 0.5, "accuracy/popular": 0.5, "interval": {"accuracy/random": (0.4, 0.6)}}
    name, (found, nothing) = plots.groups(registry.benchmark("pope"), [sampled, {}])
    assert name == "accuracy" and found["random"] == Point(0.5, 0.4, 0.6)
    assert math.isnan(nothing["popular"].value)
    assert plots.groups(benchmark, [{"main_hal/count": 0.5}])[1] == []
