"""Draws texts for people to label, so that a few labels are informative, and makes the sheet for their marks."""

from collections.abc import Sequence

import numpy as np

from halluscope.judging.voters import voting
from halluscope.judging.voters.lexical import LexicalJudge
from halluscope.judging.votes import YES
from halluscope.numbers import whole
from halluscope.reliability.certifying.judgement import Judgement
from halluscope.reliability.certifying.labels import Population, digest
from halluscope.reliability.review import implied
from halluscope.reliability.review.implied import ToRead
from halluscope.reliability.review.making import Drawn
from halluscope.stats.drawn import doubts, draw
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Ints


def sheet(judgement: Judgement, ids: Sequence[str], texts: int, seed: int = 0) -> list[Drawn]:
    """Draw texts, and make the rows of a sheet for them.

    Each different text may be drawn once. The more the votes on a text disagree, and the more its labels could be
    wrong, the likelier it is to be drawn (`halluscope.stats.drawn.draw`).

    Args:
        judgement: the judges' votes on all texts.
        ids: the ids of the images.
        texts: how many to draw.
        seed: the seed of the draw, and of the order on the sheet.

    Raises:
        ValueError: for more texts than there are, or fewer than 1.
    """
    population = Population(judgement.texts, ids)
    places = np.array(list(population.places.values()), dtype=np.int64)
    whole("sample", texts, 1, len(places), "a number of texts")
    present = judgement.present[places]
    labels = voting.known(judgement.labels[places], present)
    doubt = np.maximum(doubts(labels, present), _outvoted(judgement, places))
    rows, chances = draw(labels, present, texts, seed, doubt)
    reader = LexicalJudge(judgement.vocabulary)
    drawn = []
    for row, chance in zip(places[rows].tolist(), chances.tolist(), strict=True):
        text = judgement.texts[row]
        said = (judgement.poll.votes[row] == YES).any(axis=-1)
        voted = {name for name, yes in zip(judgement.vocabulary.classes, said, strict=True) if yes}
        named = {mention.object for mention in reader.mentions(text)}
        drawn.append(ToRead(ids[row], text, digest(text), chance, voted | named))
    return implied.rows(drawn, judgement.vocabulary, population.name, seed)


def _outvoted(judgement: Judgement, rows: Ints) -> Floats:
    """Return the share of each cell's votes that are outvoted."""
    yes, no = (count[rows].astype(float) for count in voting.count(judgement.poll.votes))
    return np.nan_to_num(ratio(np.minimum(yes, no), yes + no))
