"""Votes: their labels, when a cell is decided, and what given votes are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from halluscope.judging import votes as voting
from halluscope.judging.votes import NO, OTHER, UNASKED, YES

votes = st.integers(1, 9).flatmap(lambda n: arrays(np.int8, (4, 3, n), elements=st.integers(0, 1)))


def k_of(n: int):
    return st.integers(n // 2 + 1, n)


@given(st.data(), votes)
def test_labels_follow_the_paper(data, votes):
    """Section 3.2: 1 if the sum is at least k, 0 if it is at most NM - k, else ignored."""
    n = votes.shape[-1]
    k = data.draw(k_of(n))
    labels = voting.label(*voting.count(votes), k)
    for cell in np.ndindex(labels.shape):
        total = int(votes[cell].sum())
        assert labels[cell] == (1 if total >= k else 0 if total <= n - k else voting.IGNORED)


@given(st.integers(0, 3).flatmap(lambda n: arrays(np.int8, (2, n, 4), elements=st.integers(-1, 2))))
def test_the_votes_of_a_run_are_read_as_they_were(votes):
    poll = voting.VoteResult(votes, 3, ["j"], "q", ["dog", "cat", "cow"][: votes.shape[1]])
    assert (voting.VoteResult.read(poll.lines(), poll.metadata).votes == votes).all()


def test_a_reply_that_is_neither_is_a_vote_against_yes():
    yes, no = voting.count(np.array([[[YES, OTHER, NO, UNASKED]]], dtype=np.int8))
    assert (yes.item(), no.item()) == (1, 2)


@pytest.mark.parametrize("n", range(1, 8))
def test_a_cell_is_undecided_while_votes_to_come_can_move_it(n):
    """For an absent object, precision and recall depend on an agreed yes alone."""
    for k in range(n // 2 + 1, n + 1):
        for yes in range(n + 1):
            for no in range(n + 1 - yes):
                to_come = n - yes - no
                ends = [label_of(yes + more, n - yes - more, k) for more in range(to_come + 1)]
                is_open = voting.undecided(*counts(yes, no), n, k, np.array([True, False])).tolist()
                assert is_open == [len(set(ends)) > 1, len({end == 1 for end in ends}) > 1]
                now = label_of(yes, no, k)
                assert is_open[0] or now == ends[0]
                assert is_open[1] or (now == 1) == (ends[0] == 1)


def counts(yes, no):
    return np.array([yes, yes]), np.array([no, no])


def label_of(yes, no, k):
    return voting.label(*counts(yes, no), k).tolist()[0]


@pytest.mark.parametrize("agreement", [0, 4, 10, "most", 7.5, True, None])
def test_agreement_out_of_range(agreement):
    with pytest.raises(ValueError, match="agreement is"):
        voting.required(agreement, 9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 3)), r"votes has the shape \(2, 3\); expected \(2 images, 3 classes"),
        (np.zeros((2, 3, 0)), "votes has the shape"),
        (np.full((2, 3, 1), 2), r"votes\[0, 0, 0\] is .*2.*; expected 0 \(no\) or 1 \(yes\)"),
        (np.full((2, 3, 1), np.nan), r"votes\[0, 0, 0\]"),
        (np.full((2, 3, 1), "1"), r"^votes\b.*; expected"),
        ([[[0], [1], [None]]] * 2, r"^votes\b.*; expected"),
        ([[[0], [1, 0], [1]]] * 2, r"^votes\b.*; expected"),
        (np.ma.masked_array(np.ones((2, 3, 1)), np.eye(6)[0].reshape(2, 3, 1)), r"^votes\b.*; expected"),
    ],
)
def test_bad_votes(given, message):
    with pytest.raises(ValueError, match=message):
        voting.check(given, images=2, classes=3)


@pytest.mark.parametrize("kind", [np.int8, np.float32, bool, object, list])
def test_votes_in_any_form(kind):
    plain = np.arange(18).reshape(2, 3, 3) % 2
    form = plain.tolist() if kind is list else plain.astype(kind)
    assert (voting.check(form, 2, 3) == (plain == 1)).all()


@pytest.mark.parametrize("number", [127, 32_768])
def test_any_number_of_votes_is_counted_exactly(number):
    """Counts beyond 8 and 16 bits must not overflow."""
    agreeing = number // 2 + 1
    votes = np.zeros((1, 3, number), dtype=np.int8)
    votes[0, 0] = votes[0, 1, :agreeing] = 1
    yes, no = voting.count(voting.check(votes, 1, 3).astype(np.int8))
    assert yes.tolist() == [[number, agreeing, 0]] and no.tolist() == [[0, number - agreeing, number]]
    assert voting.label(yes, no, agreeing).tolist() == [[1, 1, 0]]
    assert voting.label(yes, no, number).tolist() == [[1, voting.IGNORED, 0]]
    decided = voting.undecided(yes, no, number, agreeing, np.ones((1, 3), dtype=bool))
    assert not decided.any()
