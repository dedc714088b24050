"""Draws texts for people to label, so that a few labels are informative, and makes the sheet for their marks.

People read each whole text. There is one row per class that a judge read out of the text, or that the text has a word
for; the last row of a text asks about all other classes. So every class of a marked text has a label, and the chance
that the label was asked for is the chance that the text was drawn. Texts are in random order: a person who stops early
has marked a random part of the sample.
"""

import random
from collections.abc import Sequence

import numpy as np

from halluscope.inputs import whole
from halluscope.judging import voting
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.votes import YES
from halluscope.reliability.certifying.judgement import Judgement
from halluscope.reliability.certifying.labels import Population, digest
from halluscope.reliability.review.sheet import Drawn, class_names
from halluscope.stats.corrected import doubts, draw
from halluscope.stats.ratios import ratio

ANY_OTHER = "Any other class?"


def sheet(judgement: Judgement, ids: Sequence[str], texts: int, seed: int = 0) -> list[Drawn]:
    """Draw texts, each different text at most once, and make the rows of a sheet for them.

    The more the votes on a text disagree, and the more its labels could be wrong, the likelier it is to be drawn
    (`halluscope.stats.drawn.draw`).
    """
    population = Population(judgement.texts, ids)
    first = np.array(list(population.rows.values()), dtype=np.int64)
    whole("sample", texts, 1, len(first), "a number of texts")
    present, votes, classes = judgement.present[first], judgement.poll.votes, judgement.vocabulary.classes
    labels = voting.known(judgement.labels[first], present)
    yes, no = (count[first].astype(float) for count in voting.count(votes))
    outvoted = np.nan_to_num(ratio(np.minimum(yes, no), yes + no))  # the share of each cell's votes
    rows, chances = draw(labels, present, texts, seed, np.maximum(doubts(labels, present), outvoted))
    order = random.Random(seed)
    drawn = sorted(zip(first[rows].tolist(), chances.tolist(), strict=True), key=lambda _: order.random())
    reader, names = LexicalJudge(judgement.vocabulary), class_names({*classes})
    lines: list[Drawn] = []
    for row, chance in drawn:
        text = judgement.texts[row]
        voted = (votes[row] == YES).any(axis=-1)
        named = {mention.object for mention in reader.mentions(text)}
        asked = [name for name, yes in zip(classes, voted, strict=True) if yes or name in named]
        entries = [{"class": name, "question": names.get(name, name)} for name in asked]
        entries.append({"class": "", "question": ANY_OTHER})
        entries[0]["response"] = text
        shared = {
            "id": ids[row],
            "drawn_from": population.name,
            "text": digest(text),
            "chance": f"{chance:.9f}".rstrip("0").rstrip(
                "."
            ),  # in plain digits, which no spreadsheet rewrites
        }
        lines += [(shared | entry, None) for entry in entries]
    return lines
