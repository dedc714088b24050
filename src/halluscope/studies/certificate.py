"""The certificate of a judge: who judged what and how, people's labels of a sample of texts, and what they show.

That is how often the judge errs, and the scores of all texts, corrected for its errors (`stats.corrected`).

A certificate is one self-describing JSON file. It is cited by its digest, a checksum over all its content. The digest
reveals a label that was changed by mistake, but not one that was forged with a new digest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.judging import votes as voting
from halluscope.judging.cache import Cache
from halluscope.judging.judge import Margins
from halluscope.judging.lexical import LexicalJudge
from halluscope.reporting.tables import (
    Cell,
    Json,
    Notes,
    Report,
    Table,
    estimate,
    finite,
    interval,
    is_defined,
    percent,
    share,
)
from halluscope.responses.lengths import words
from halluscope.stats.bootstrap import METHOD
from halluscope.stats.corrected import FEWEST_TEXTS, correct
from halluscope.stats.judge_errors import RATES, Judged, calibration, error_rates
from halluscope.stats.ratios import ratio
from halluscope.stats.tallies import Bools
from halluscope.studies.judgement import Judgement, margins_of
from halluscope.studies.labels import Labels
from halluscope.studies.marked_sheet import with_ends
from halluscope.studies.mention_kinds import KINDS, kinds
from halluscope.version import __version__

FORM = "halluscope certificate 1"
DIGEST = "digest"

LEVEL = 0.95  # of the intervals
# The method by which `stats.corrected` makes scores and intervals; its number goes up when it changes
CORRECTION = "ppi-1"
FEWEST = 10  # a class has its own line if people or the judge say yes to it in at least this many texts
LENGTHS = ((0, 50), (50, 100), (100, None))  # numbers of words, from the first to below the second

MEANING = {
    "false_yes": "of the labels no, the share to which the judges say yes",
    "false_no": "of the labels yes, the share to which the judges do not say yes",
    "wrong_yes": "of what the judges say yes to, the share that is labelled no",
}

# A judge's errors


@dataclass(frozen=True)
class Part:
    """A part of the cells of texts, such as those of a class."""

    division: str  # "group", "class", "length" or "kind"
    name: str
    cells: Bools  # [texts, classes], [classes], or [texts, 1]


def errors(judgement: Judgement, labels: Labels, margins: Margins) -> Json:
    """Return the errors of the judges' agreement, in all and by part, and those of each judge's single votes.

    Parts are groups of classes, classes, lengths of texts, and kinds of sentences. `margins` are log P(yes) - log P(no)
    in nats, NaN where unknown, in the shape of the votes. A judge's calibration is None if no margin is known.
    """
    weights = np.broadcast_to(1 / labels.chances[:, np.newaxis], labels.implied.shape)
    judged = Judged(judgement.labels == voting.YES, labels.implied, weights)
    by_part: Json = {}
    among = {"all": judged}
    for part in _parts(judgement, judged):
        by_part.setdefault(part.division, {})
        cells = judged.among(part.cells)
        if cells.weights.any():
            among[f"{part.division}/{part.name}"] = cells
    rates = error_rates(among, LEVEL)
    result: Json = {"all": rates.pop("all")}
    result.update(by_part)
    for key, rate in rates.items():
        division, _, name = key.partition("/")
        result[division][name] = rate

    votes = {}
    judges = judgement.poll.judges
    votes_by_judge = np.split(judgement.poll.votes, len(judges), axis=-1)
    margins_by_judge = np.split(margins, len(judges), axis=-1)
    for judge, own_votes, own_margins in zip(judges, votes_by_judge, margins_by_judge, strict=True):
        votes[judge] = _of_votes(judged, own_votes, own_margins)
    return {"errors": result, "votes": votes, "interval": f"{LEVEL:g},{METHOD},texts"}


def _parts(judgement: Judgement, judged: Judged) -> Iterator[Part]:
    """Yield groups of classes, frequent classes, lengths of texts, and kinds of sentences."""
    vocabulary = judgement.vocabulary
    classes = np.array(vocabulary.classes)
    for name, members in vocabulary.groups.items():
        yield Part("group", name, np.isin(classes, members))
    is_frequent = (judged.yes | judged.implied).sum(axis=0) >= FEWEST
    for name in classes[is_frequent].tolist():
        yield Part("class", name, classes == name)
    lengths = np.array(words(judgement.texts))[:, np.newaxis]
    for name, texts in by_length(lengths):
        yield Part("length", f"{name} words", texts)
    reader = LexicalJudge(vocabulary)
    kinds_of = [kinds(reader, text, vocabulary.classes) for text in judgement.texts]
    for kind in KINDS:
        yield Part("kind", kind, np.array([[kind in cell for cell in row] for row in kinds_of]))


def by_length(lengths: NDArray[Any]) -> Iterator[tuple[str, Bools]]:
    """Yield each range of numbers of words, and which of the lengths are in it."""
    for low, high in LENGTHS:
        if high is None:
            yield f"{low} or more", low <= lengths
        else:
            yield f"{low} to {high - 1}", (low <= lengths) & (lengths < high)


def _of_votes(judged: Judged, votes: NDArray[np.int8], margins: Margins) -> Json:
    """Return the errors of a judge's votes [texts, classes, templates], all of which were asked for."""
    texts, _, templates = votes.shape
    implied = np.repeat(judged.implied, templates, axis=1)
    weights = np.repeat(judged.weights, templates, axis=1)
    votes = votes.reshape(texts, -1)
    margins = margins.reshape(texts, -1)
    rates = error_rates({"votes": Judged(votes == voting.YES, implied, weights)}, LEVEL)["votes"]
    unreadable = ratio(np.where(votes == voting.OTHER, weights, 0.0).sum(), weights.sum())
    is_known = ~np.isnan(margins)
    calibrated = None
    if is_known.any():
        known_margins = np.where(is_known, margins, 0.0)
        chances = (1 + np.tanh(known_margins / 2)) / 2  # 1 / (1 + exp(-margin)), without overflow
        calibrated = calibration(chances, implied, np.where(is_known, weights, 0.0), LEVEL)
    rates["unreadable"] = float(unreadable)
    rates["calibration"] = calibrated
    return rates


# Corrected scores


def corrected_scores(judgement: Judgement, labels: Labels) -> Json:
    """Return the scores of all texts, corrected for the judges' errors by people's labels of a sample of them.

    Returns:
        `scores`, for each the "value", "low" and "high", fractions in [0, 1]; `refused`, why a score is not corrected;
        `interval`, the level and the method.

    Raises:
        ValueError: if the chances with which texts were drawn contradict the number of texts.
    """
    sample = labels.sample_of(judgement.texts)
    known = voting.known(judgement.labels, judgement.present)
    corrected = correct(known, judgement.present, sample, level=LEVEL)
    return {
        "scores": corrected.scores,
        "refused": corrected.refused,
        "interval": f"{LEVEL:g},{CORRECTION}",
    }


# The certificate


def certify(
    judgement: Judgement,
    labels: Labels,
    store: Cache | str | None = None,
    corrected: Json | None = None,
    **origin: str,
) -> Json:
    """Make a certificate from judges' votes on labelled texts, in the order of `labels`.

    `store` is the cache of the judges' votes; `corrected` is what `corrected_scores` gave; `origin` are `texts` (the
    name of those from which the labelled ones were drawn), `labelled_by`, `responses` and `data`.
    """
    poll = judgement.poll
    content: Json = {
        "form": FORM,
        "judges": list(poll.judges),
        "questions": poll.questions,
        "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
        "vocabulary": judgement.vocabulary.name,
        "labels_from": labels.name,
    }
    content.update(origin)
    content.update(errors(judgement, labels, _margins(judgement, store)))
    content["corrected"] = corrected
    content["labels"] = _labels(judgement, labels)
    return sealed(content)


def _margins(judgement: Judgement, store: Cache | str | None) -> Margins:
    """Return what a cache knows of the judges' margins, in the shape of the votes."""
    cache = store
    if not isinstance(cache, Cache):
        cache = Cache(cache, "read")
    margins = []
    with closing(cache):
        for judge in judgement.poll.judges:
            margins += margins_of(judge, judgement.texts, judgement.questions, judgement.vocabulary, cache)
    return np.stack(margins, axis=-1)


def _labels(judgement: Judgement, labels: Labels) -> list[Json]:
    """Return people's and the judges' labels of each text; classes that are not named are neither implied nor judged
    to be."""
    names = np.array(judgement.vocabulary.classes)
    says_yes = judgement.labels == voting.YES
    lines = []
    for number, text in enumerate(labels.texts):
        lines.append(
            {
                "text": text,
                "chance": float(labels.chances[number]),
                "implied": names[labels.implied[number]].tolist(),
                "judged": names[says_yes[number]].tolist(),
            }
        )
    return lines


def sealed(content: Json) -> Json:
    """Return a certificate's content as JSON has it, with our version and the digest."""
    sealed_content: Json = finite(content)
    sealed_content["version"] = __version__
    sealed_content[DIGEST] = digest_of(sealed_content)
    return sealed_content


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the checksum over all content but itself."""
    rest = {name: value for name, value in content.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


# What is printed


def report(content: Json) -> Report:
    """Return how often the judges err: by kind of text, vote by vote, and how far their probabilities hold."""
    overall = content["errors"]["all"]
    whose = f"labels of {overall['texts']:,} texts, given by {content['labelled_by']}"
    blocks: list[Table | Notes] = [
        Notes([", ".join(content["judges"]), f"against {overall['labels']:,} {whose}"])
    ]
    for division, rates in content["errors"].items():
        if division == "all":
            blocks.append(_errors_table("all", {"all": rates}))
        elif rates:
            blocks.append(_errors_table(division, rates))
    blocks.append(_errors_table("single votes", content["votes"], counted="votes"))
    for judge, rates in content["votes"].items():
        blocks += _of_judge(judge, rates)
    blocks += _corrected(content["corrected"])
    lines = [f"{name}: {meaning}, in percent" for name, meaning in MEANING.items()]
    lines.append(
        "cue words in the sentences that mention a class decide its kinds; a label may count in several"
    )
    lines.append(f"certificate: {content[DIGEST]}")
    blocks.append(Notes(lines))
    return blocks


def _errors_table(division: str, rates: Mapping[str, Any], counted: str = "labels") -> Table:
    rows: list[list[Cell]] = []
    for name, row in rates.items():
        cells: list[Cell] = [name, row["texts"], row["labels"], row["implied"]]
        cells += [estimate(row[rate]) for rate in RATES]
        rows.append(cells)
    header = [division, "texts", counted, "people: yes"]
    header += RATES
    return Table(f"by {division}", header, rows, intervals=RATES)


def _of_judge(judge: str, rates: Json) -> list[Table | Notes]:
    """Return how many of a judge's votes could not be read, and how well calibrated it is."""
    lines = [f"{judge}: {percent(rates['unreadable'])} % of the votes were neither yes nor no"]
    blocks: list[Table | Notes] = [Notes(lines)]
    calibrated = rates["calibration"]
    if calibrated:
        lines.append(f"expected calibration error: {with_ends(calibrated['ece'])}")
        rows: list[list[Cell]] = []
        for row in calibrated["bins"]:
            ends = interval((row["from"], row["to"]))
            rows.append([ends, row["votes"], share(row["said"]), share(row["implied"])])
        header = ["P(yes) %", "votes", "mean P(yes) %", "people say yes %"]
        blocks.append(Table("calibration", header, rows, of=judge))
    return blocks


def _corrected(corrected: Json | None) -> Report:
    if corrected is None:
        return [
            Notes(
                [f"Scores are corrected by labels of at least {FEWEST_TEXTS} texts, or of all; label more."]
            )
        ]
    rows: list[list[Cell]] = []
    for name, score in corrected["scores"].items():
        rows.append([name, estimate(score)])
    blocks: list[Table | Notes] = [Table("corrected", ["score", "corrected"], rows, intervals=("corrected",))]
    lines = [f"{name} is not corrected: {why}" for name, why in corrected["refused"].items()]
    for name, score in corrected["scores"].items():
        if is_defined(score["value"]) and not is_defined(score["low"]):
            lines.append(f"{name} has no interval: it is the same for every image, and no label moves it")
    if lines:
        blocks.append(Notes(lines))
    return blocks
