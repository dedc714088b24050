"""Put the questions to the judges: each text once, kept answers first, and only what can still move a number."""

from collections.abc import Sequence
from contextlib import closing

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from halluscope.foreign import one_line
from halluscope.judging.questions import Question
from halluscope.judging.store import AnswerStore, KeptAnswers
from halluscope.judging.voter import Judge
from halluscope.judging.voters import voting
from halluscope.judging.voters.answered import answers
from halluscope.judging.votes import NO, UNASKED

ASK = ("needed", "all")


def ask(
    judges: Sequence[Judge],
    questions: Sequence[Sequence[Question]],
    texts: Sequence[str],
    present: NDArray[np.bool_],
    k: int,
    which: str = "needed",
    store: AnswerStore | None = None,
    progress: bool = False,
) -> NDArray[np.int8]:
    """Collect the answers of N judges to M questions about each class of each text.

    Args:
        judges: the cheapest first; each is asked all its questions before the next one is loaded.
        questions: [M][classes].
        texts: one an image. An empty text mentions nothing: it gets "no" without being asked about.
        present: [images, classes], the ground truth.
        k: how many votes must agree.
        which: "all" asks every question about every cell; "needed" stops a cell as soon as its answers can no
            longer move precision or recall, which gives the same numbers (see `voting.undecided`).
        store: where kept answers are found and new ones are kept; None keeps nothing.
        progress: show a bar for each question of each judge.

    Returns:
        Answer codes [images, classes, N x M], `UNASKED` where the question was not put.
    """
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    unique, row = list(number), np.array([number[text] for text in texts], dtype=np.int64)
    votes = np.full((*present.shape, len(judges) * len(questions)), UNASKED, dtype=np.int8)
    for i, judge in enumerate(judges):
        kept = store.of(judge.key, unique) if store and judge.stored else None
        with closing(judge):
            for j, about in enumerate(questions):
                wanted = _wanted(votes, present, k, which)
                of_text = np.zeros((len(unique), len(about)), dtype=bool)
                np.logical_or.at(of_text, row, wanted)
                title = f"{one_line(judge.key.split('@')[0])}, question {j + 1} of {len(questions)}"
                given = _put(judge, about, unique, of_text, kept, title if progress else None)
                votes[:, :, i * len(questions) + j] = np.where(wanted, given[row], UNASKED)
    return votes


def _wanted(votes: NDArray[np.int8], present: NDArray[np.bool_], k: int, which: str) -> NDArray[np.bool_]:
    if which == "all":
        return np.ones(present.shape, dtype=bool)
    return voting.undecided(*voting.count(votes), n=votes.shape[-1], k=k, present=present)


def _put(
    judge: Judge,
    questions: Sequence[Question],
    texts: Sequence[str],
    wanted: NDArray[np.bool_],
    kept: KeptAnswers | None,
    title: str | None,
) -> NDArray[np.int8]:
    """One judge's answers to one question about each class: codes [texts, classes], `UNASKED` if not wanted."""
    given = np.full(wanted.shape, UNASKED, dtype=np.int8)
    given[[not text.strip() for text in texts]] = NO
    if kept:
        kept.recall(questions, given)
    pairs = np.argwhere(wanted & (given == UNASKED))
    with tqdm(total=len(pairs), desc=title, unit="question", disable=title is None, delay=1) as bar:
        for rows, codes in answers(judge, texts, questions, pairs) if len(pairs) else ():
            given[pairs[rows, 0], pairs[rows, 1]] = codes
            if kept:
                kept.keep(pairs[rows], codes)
            bar.update(len(rows))
    return given
