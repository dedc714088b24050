"""Several models' scores and their differences, corrected for the errors of judges that vote on the classes of texts.

Each run is corrected by labels of its own texts (`stats.corrected`). How often judges err about another model's texts
says nothing of these: most of their errors are yes votes on classes that a text has a word for and does not imply, and
how often a model writes such words is its own affair.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import vocabularies
from halluscope.errors import RunError
from halluscope.judging import votes as voting
from halluscope.reporting.tables import Json
from halluscope.responses.thoughts import take_out
from halluscope.runs.comparing import Rescored, rescored, unlike
from halluscope.runs.run import Run
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.corrected import Estimate, estimate, with_intervals
from halluscope.stats.corrected_difference import differences
from halluscope.studies import corrected_pairs
from halluscope.studies.certificate import CORRECTION, FORM
from halluscope.studies.corrected_pairs import Certificate, Correction, Pair, not_used
from halluscope.studies.judgement import name_of, rows_of
from halluscope.studies.labels import Labels
from halluscope.vocabularies import Vocabulary

MAKE = "halluscope study certify SHEET --responses RESPONSES --dataset DATASET --out FILE"
SHEET = "halluscope study sheet make DATASET --responses RESPONSES --marks implied --sample 200 --out SHEET"

CONVENTIONS = ("beta", "class_f", "all_average")  # keys of a signature that say what a score is


@dataclass(frozen=True)
class Model:
    """A run, corrected by the certificate of its texts."""

    name: str
    judged: Mapping[str, float]  # its scores by the judges, on the rows that all runs have
    estimated: Estimate
    certificate: Certificate
    labelled: int  # how many of its texts are labelled
    unlabelled: int  # how many different texts are not


def correct(runs: Mapping[str, Run], certificates: Sequence[Path], resampling: Bootstrap) -> Correction:
    """Correct runs of a benchmark whose judges vote on the classes of texts."""
    read = []
    for path in certificates:
        read.append(corrected_pairs.read_certificate(path, FORM, MAKE))
    parts = rescored(runs, resampling)
    check_conventions(parts)
    models = []
    for name, run in runs.items():
        models.append(model_of(run, parts[name], name, read))
    level = resampling.level
    scores: list[Json] = []
    uncorrected: list[str] = []
    for model in models:
        scores += scores_of(model, level)
        for score, why in model.estimated.refused.items():
            uncorrected.append(f"{model.name}, {score}: {why}")
    pairs: list[Pair] = []
    for first, second in combinations(models, 2):
        pairs += pairs_of(first, second, level)
    used = {read.index(model.certificate) for model in models}
    return Correction(
        certificates=read,
        scores=scores,
        pairs=pairs,
        uncorrected=uncorrected,
        doubts=list(not_used(read, used)),
        interval=f"{level:g},{CORRECTION}",
    )


def check_conventions(parts: Mapping[str, Rescored]) -> None:
    """Check that a score of one run is what it is of the others."""
    for key, values in unlike(list(parts.values())).items():
        if key in CONVENTIONS:
            raise RunError(
                f"The runs {', '.join(parts)} have the {key} {', '.join(values)}, so their scores are not the same; "
                f"score all with one --{key.replace('_', '-')}."
            )


def model_of(run: Run, part: Rescored, name: str, certificates: Sequence[Certificate]) -> Model:
    """Estimate the scores of a run on the rows that all runs have, its `part`."""
    poll = part.run.record.poll
    if poll is None:
        raise RunError(f"{name} holds no votes of judges; expected a run that judges voted on.")
    benchmark: Any = run.benchmark
    options = benchmark.chosen(run.options)
    vocabulary = vocabularies.load(options.vocabulary)
    population = list(rows_of(take_out(run.ready.matched.texts, options.thoughts).texts))
    certificate = certificate_of(name, population, certificates)
    labels = labels_of(certificate, vocabulary)
    if not labels.suffice(population):
        raise ValueError(
            f"{certificate.name} rests on {len(labels.texts):,} labelled texts, too few to correct scores by. Label "
            "more."
        )
    sample = labels.sample_of(take_out(part.run.ready.matched.texts, options.thoughts).texts)
    if not len(sample.texts):
        raise RunError(
            f"None of the labelled texts of {name} is about an image that all runs have; label some of these."
        )
    present = vocabulary.presence(part.run.ready.inputs["references"])
    yes, no = voting.count(poll.votes)
    judged = voting.known(voting.label(yes, no, poll.k), present)
    conventions = options.conventions
    estimated = estimate(judged, present, sample, conventions.betas, conventions.class_f)
    if conventions.all_average == "image":  # these means over images are no ratios of sums
        estimated = estimated.only([score for score in estimated.names if not score.endswith("_all")])
    return Model(
        name=name,
        judged=part.scores,
        estimated=estimated,
        certificate=certificate,
        labelled=len(labels.texts),
        unlabelled=len(population) - len(labels.texts),
    )


def certificate_of(name: str, population: Sequence[str], certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate that is about the texts of a run, given their digests."""
    name_of_texts = name_of(population)
    for certificate in certificates:
        if certificate.content["texts"] == name_of_texts:
            return certificate
    raise RunError(
        f"No certificate is about the texts of {name}, and how judges err about other texts says nothing of these. "
        f"Label a sample of them: `{SHEET}`, then `{MAKE}`, and name its certificate too."
    )


def labels_of(certificate: Certificate, vocabulary: Vocabulary) -> Labels:
    """Return the labels by people that a certificate holds."""
    content = certificate.content
    if content["vocabulary"] != vocabulary.name:
        raise RunError(
            f"{certificate.name} has labels by the vocabulary {content['vocabulary']}, but the run was judged by "
            f"{vocabulary.name}; expected one vocabulary."
        )
    texts = []
    implied = []
    chances = []
    for line in content["labels"]:
        texts.append(line["text"])
        implied.append(line["implied"])
        chances.append(line["chance"])
    return Labels(content["labels_from"], texts, vocabulary.presence(implied), np.array(chances, dtype=float))


def scores_of(model: Model, level: float) -> Iterator[Json]:
    """Yield each corrected score of a run."""
    for score, corrected in with_intervals(model.estimated, level).scores.items():
        yield {
            "run": model.name,
            "score": score,
            "judge": model.judged[score],
            **corrected,
            "marked": model.labelled,
            "marks_of": model.certificate.content["responses"],
            "own_marks": True,
        }


def pairs_of(first: Model, second: Model, level: float) -> Iterator[Pair]:
    """Yield the difference of each corrected score of two runs."""
    marked = first.labelled
    unmarked = first.unlabelled
    if first.certificate != second.certificate:
        marked += second.labelled
        unmarked += second.unlabelled
    for score, difference in differences(first.estimated, second.estimated, level).items():
        yield Pair(
            score=score,
            first=first.name,
            second=second.name,
            judge=first.judged[score] - second.judged[score],
            value=difference.value,
            low=difference.low,
            high=difference.high,
            p=difference.p,
            by_images=difference.by_images,
            by_marks=difference.by_labels,
            marked=marked,
            unmarked=unmarked,
        )
