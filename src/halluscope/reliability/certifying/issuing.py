"""From a judge's votes and people's labels to a certificate."""

from pathlib import Path

import numpy as np

from halluscope.judging.store import AnswerStore
from halluscope.judging.voters.margins import margins
from halluscope.judging.votes import YES
from halluscope.reliability.certifying import certificate, errors
from halluscope.reliability.certifying.certificate import Certificate
from halluscope.reliability.certifying.errors import Sampled
from halluscope.reliability.certifying.judgement import Judgement
from halluscope.reliability.certifying.labels import Labels


def certify(
    judgement: Judgement,
    labels: Labels,
    drawn_from: str,
    by: str,
    *,
    responses: str,
    data: str,
    store: AnswerStore | str | Path | None = None,
) -> Certificate:
    """Make a certificate.

    Args:
        judgement: what the judges say of the labelled texts, in the order of `labels`.
        labels: what people say of them.
        drawn_from: the name of the texts that the labelled ones were drawn from.
        by: who gave the labels.
        responses: the name of the responses.
        data: what the responses are scored against, as a signature says it.
        store: where the judges' votes are kept, perhaps with margins.
    """
    sampled = Sampled(
        judgement.texts,
        labels,
        judgement.vocabulary,
        judgement.labels,
        judgement.poll.votes,
        margins(
            store, judgement.poll.judges, judgement.questions.about(judgement.vocabulary), judgement.shown
        ),
        judgement.poll.judges,
    )
    return certificate.issue(
        judgement.about(drawn_from),
        labels,
        np.equal(judgement.labels, YES),
        judgement.vocabulary.classes,
        by,
        responses=responses,
        data=data,
        **errors.summary(sampled),
    )
