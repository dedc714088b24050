"""Makes a certificate from a judge's votes and people's labels."""

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
        judgement: the judges' votes on the labelled texts, in the order of `labels`.
        labels: people's labels of these texts.
        drawn_from: the name of the texts from which the labelled texts were drawn.
        by: who gave the labels.
        responses: the name of the responses.
        data: the dataset that the responses are scored against, as in a signature.
        store: the store of the judges' votes, perhaps with margins.
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
