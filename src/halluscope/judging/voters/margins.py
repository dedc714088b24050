"""The margins by which stored votes were given, for tables of a judge's calibration."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from halluscope.judging.questions import Question
from halluscope.judging.store import AnswerStore, ReadOnlyStore
from halluscope.judging.store_records import Margins
from halluscope.judging.votes import UNASKED


def margins(
    store: AnswerStore | str | Path | None,
    judges: Sequence[str],
    questions: Sequence[Sequence[Question]],
    texts: Sequence[str],
) -> Margins:
    """Return the margins that a store knows.

    Args:
        store: where votes are kept; nothing is written to it.
        judges: N keys.
        questions: [M][classes].
        texts: the texts as they were shown to the judges.

    Returns:
        Margins [texts, classes, N x M], NaN if no vote is kept, or a vote without a margin.
    """
    opened = store if isinstance(store, AnswerStore) else ReadOnlyStore(store)
    kept = [opened.of(judge, texts) for judge in judges]
    found = np.full((len(texts), len(questions[0]), len(judges) * len(questions)), np.nan)
    for place in range(found.shape[-1]):
        judge, template = divmod(place, len(questions))
        unknown = np.full(found.shape[:2], UNASKED, dtype=np.int8)
        kept[judge].recall(questions[template], unknown, found[:, :, place])
    if opened is not store:
        opened.close()
    return found
