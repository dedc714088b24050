"""Judges' votes on an LVLM's responses, and their errors against people's labels, with intervals.

Errors are given overall, and by group of classes, class, length of text, and kind of sentence. Kinds are found by cue
words anywhere in the sentences that mention a class. The rule is coarse on purpose: it shares no rule with the judge
whose errors it sorts; only the words for each class come from the lexical judge's word lists.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging import voting
from halluscope.judging.judge import Margins
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import OTHER, UNASKED, YES, VoteResult
from halluscope.reliability.certifying.labels import Labels
from halluscope.responses.lengths import words
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.ratios import ratio
from halluscope.stats.samples import Judged, calibration, error_rates
from halluscope.stats.tallies import Bools
from halluscope.vocabularies import Vocabulary

RESAMPLING = Bootstrap(RESAMPLES)
FEWEST = 10  # a class has its own line if people or the judge say yes to it in at least this many texts
LENGTHS = ((0, 50), (50, 100), (100, None))  # numbers of words, from the first to below the second

PLAIN, UNNAMED, COMPOUND, QUESTION, QUOTATION = "plain", "no word for it", "compound", "question", "quotation"
_END = re.compile(r"[.!?\n]")


@dataclass(frozen=True)
class Judgement:
    """Judges' votes on texts."""

    texts: Sequence[str]  # as they are scored, one per image
    present: Bools  # the ground truth [texts, classes]
    vocabulary: Vocabulary
    questions: QuestionSet  # what was asked about each class
    poll: VoteResult  # the votes

    @cached_property
    def labels(self) -> NDArray[np.int8]:
        """The labels [texts, classes] that the votes agree on."""
        return voting.label(*voting.count(self.poll.votes), self.poll.k)

    def about(self, texts: str) -> Mapping[str, Any]:
        """Return what a certificate is about; `texts` names those from which labelled texts are drawn."""
        return {
            "judges": list(self.poll.judges),
            "questions": self.poll.questions,
            "agreement": f"{self.poll.k}of{self.poll.votes.shape[-1]}",
            "vocabulary": self.vocabulary.name,
            "texts": texts,
        }


def errors(judgement: Judgement, labels: Labels, margins: Margins) -> dict[str, Any]:
    """Return the errors of the judges' agreement, in all and by part, and those of each judge's single votes.

    `margins` are log P(yes) - log P(no) in nats, NaN where unknown, in the shape of the votes. A judge's errors are
    None if not every question was asked, and its calibration is None if no margin is known.
    """
    votes, judges, vocabulary = judgement.poll.votes, judgement.poll.judges, judgement.vocabulary
    implied = [[text.answers.get(name, False) for name in vocabulary.classes] for text in labels.texts]
    chances = [[text.chances.get(name, np.inf) for name in vocabulary.classes] for text in labels.texts]
    judged = Judged(judgement.labels == YES, np.array(implied, dtype=bool), 1 / np.array(chances))
    counts = ((judged.yes | judged.implied) & (judged.weights > 0)).sum(axis=0)
    frequent = [name for name, count in zip(vocabulary.classes, counts, strict=True) if count >= FEWEST]
    parts = {
        "group": {
            name: np.isin(vocabulary.classes, list(group)) for name, group in vocabulary.groups.items()
        },
        "class": {name: np.isin(vocabulary.classes, [name]) for name in frequent},
        "length": _lengths(judgement.texts),
        "kind": _kinds(judgement),
    }
    return {
        "errors": _tables(judged, parts),
        "votes": {
            judge: _of_votes(judged, *(part.reshape(len(part), -1) for part in own))
            for judge, *own in zip(
                judges, *(np.split(part, len(judges), axis=-1) for part in (votes, margins)), strict=True
            )
        },
        "interval": str(RESAMPLING),
    }


def _tables(judged: Judged, parts: Mapping[str, Mapping[str, Bools]]) -> dict[str, Any]:
    """Return the error rates of "all" cells, and of each part that has labels."""
    among = {
        f"{by}/{name}": judged.among(cells) for by, masks in parts.items() for name, cells in masks.items()
    }
    labelled = {key: part for key, part in among.items() if part.weights.any()}
    rates = error_rates({"all": judged} | labelled, RESAMPLING)
    return {"all": rates["all"]} | {
        by: {name: rates[f"{by}/{name}"] for name in masks if f"{by}/{name}" in labelled}
        for by, masks in parts.items()
    }


def _of_votes(judged: Judged, votes: NDArray[np.int8], margins: Margins) -> dict[str, Any] | None:
    """Return the errors of one judge's single votes [texts, classes x templates]; None if some were not asked."""
    templates = votes.shape[1] // judged.implied.shape[1]
    implied = np.repeat(judged.implied, templates, axis=1)
    weights = np.repeat(judged.weights, templates, axis=1)
    if (votes == UNASKED)[weights > 0].any():
        return None
    known = ~np.isnan(margins)
    chances = (1 + np.tanh(np.where(known, margins, 0.0) / 2)) / 2  # 1 / (1 + exp(-margin)), at any margin
    unreadable = ratio(np.where(votes == OTHER, weights, 0.0).sum(), weights.sum())
    (rates,) = error_rates({"": Judged(votes == YES, implied, weights)}, RESAMPLING).values()
    return rates | {
        "unreadable": float(unreadable),
        "calibration": calibration(chances, implied, np.where(known, weights, 0.0), RESAMPLING)
        if known.any()
        else None,
    }


def _lengths(texts: Sequence[str]) -> dict[str, Bools]:
    """Return which texts are in each group of lengths: bool [texts, 1]."""
    counts = np.array(words(texts))[:, None]
    return {
        f"{least} words or more" if most is None else f"{least} to {most - 1} words": (counts >= least)
        & (counts < (np.inf if most is None else most))
        for least, most in LENGTHS
    }


def _kinds(judgement: Judgement) -> dict[str, Bools]:
    """Return which cells are of each kind of sentence: bool [texts, classes]."""
    reader = LexicalJudge(judgement.vocabulary)
    found = [kinds(reader, text, judgement.vocabulary.classes) for text in judgement.texts]
    names = (PLAIN, *_cues(), COMPOUND, QUESTION, QUOTATION, UNNAMED)
    return {kind: np.array([[kind in cell for cell in row] for row in found]) for kind in names}


def kinds(reader: LexicalJudge, text: str, classes: Sequence[str]) -> list[set[str]]:
    """Return the kinds of sentence that mention each class.

    {"no word for it"} for a class that the text has no word for; {"plain"} for a class that at least one sentence
    mentions without a cue; otherwise the kinds of all cues in the sentences that mention the class.
    """
    cues: dict[str, list[set[str]]] = {}
    for mention in reader.mentions(text):
        cues.setdefault(mention.object, []).append(_cues_around(text, mention))
    return [
        {UNNAMED} if name not in cues else set().union(*cues[name]) if all(cues[name]) else {PLAIN}
        for name in classes
    ]


def _cues_around(text: str, mention: Mention) -> set[str]:
    """Return the kinds of the cues in the sentence of a mention."""
    before = max((end.end() for end in _END.finditer(text, 0, mention.start)), default=0)
    end = _END.search(text, mention.end)
    sentence = text[before : end.start() if end else len(text)]
    names = {kind for kind, cue in _cues().items() if cue.search(sentence.lower().replace("’", "'"))}
    if "-" in text[max(0, mention.start - 1) : mention.start] + text[mention.end : mention.end + 1]:
        names.add(COMPOUND)
    if end and end.group() == "?":
        names.add(QUESTION)
    if re.search(r'["“]', text[before : mention.start]) and re.search(r'["”]', text[mention.end :]):
        names.add(QUOTATION)
    return names


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    """Return a pattern for the cue words of each kind."""
    text = resources.files(__package__).joinpath("kinds.toml").read_text(encoding="utf-8")
    return {kind: _any_of(words) for kind, words in tomllib.loads(text).items()}


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    begins = (r"n't" if word == "n't" else rf"(?<!\w){re.escape(word)}" for word in words)
    return re.compile(rf"(?:{'|'.join(begins)})(?!\w)")
