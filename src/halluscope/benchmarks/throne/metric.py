"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024).

Judges vote, for every class of the vocabulary, on whether a response implies it. Votes become labels; comparing these
with the ground truth gives precision, recall and F.
"""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halluscope import vocabularies
from halluscope.benchmark import Dataset, Judges, Score
from halluscope.benchmarks.throne import counting, equal_votes, yes_shares
from halluscope.benchmarks.throne.counting import ALL_AVERAGE, CLASS_F, Cells, Conventions, Hits
from halluscope.benchmarks.throne.questions import questions_of
from halluscope.judging import votes as voting
from halluscope.judging.options import VoteOptions
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import IGNORED, OTHER, UNASKED, VoteResult
from halluscope.mentions.nothing_named import warn_if_nothing_is_named
from halluscope.metric import Metric, Options, Scores
from halluscope.options import Option, check_effect, option, takes, usual_values
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.signature import changed, data_of_objects
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.stats.tallies import rows_of
from halluscope.validation import Id, array, class_names, ids, paired, texts, whole
from halluscope.vocabularies import Vocabulary


@dataclass(frozen=True)
class ThroneOptions(VoteOptions, Options):
    """The options of THRONE's metric."""

    vocabulary: str | Sequence[str] | Vocabulary = option(
        "coco",
        "the vocabulary of the classes that judges are asked about (default: coco, or objects365 if the benchmark is "
        "named throne_objects365)",
        about='"coco", "objects365", or the class names in the order of the columns of `votes`',
        choices=("coco", "objects365"),
        check=vocabularies.load,
    )
    beta: float = option(
        0.5,
        "the weight of recall against precision in F (default: 0.5)",
        about="the weight of recall against precision in F (equation 3)",
        least=1 / counting.LARGEST_BETA,
        most=counting.LARGEST_BETA,
        what="a number, such as 0.5,",
    )
    class_f: str = option(
        "of_means",
        "F of the class averages (of_means, default), or the average of each class's F (mean)",
        about='"of_means", F of the two class averages (Table 1), or "mean", the mean of each class\'s F (released '
        "code)",
        choices=CLASS_F,
    )
    all_average: str = option(
        "pooled",
        "count over all cells (pooled, default), or average over images (image)",
        about='"pooled", counts over all cells, or "image", the mean over images (released code)',
        choices=ALL_AVERAGE,
    )
    per_class: bool = option(
        False, "also print a table of the classes", about="also give the table `classes`"
    )
    per_image: bool = option(
        False, about="also give, for each image, which classes were found, hallucinated and missed"
    )
    explain: bool = option(
        False,
        "also say how many mentions the lexical judge found but did not count, by rule; --json lists each",
        about="also give `explained`, how the lexical judge read each mention. It changes no score",
    )

    @property
    def conventions(self) -> Conventions:
        """How labels become scores."""
        return Conventions(self.beta, self.class_f, self.all_average)  # type: ignore[arg-type]

    @property
    def question_set(self) -> QuestionSet:
        """What judges are asked."""
        return questions_of(self.questions)


@dataclass
class Images:
    """The images that were described."""

    vocabulary: Vocabulary
    objects: list[list[str]]  # the classes in each image
    present: Cells
    image_ids: list[Id] | None = None
    form_of_each: list[str] | None = None
    votes: NDArray[np.int8] | None = None  # given ones: [images, classes, judges x questions]
    # how many questions the judges of given votes were asked each; 0 if that is not known
    questions_of_votes: int = 0
    sample: Cells | None = None  # the cells on which the same votes are also scored


@dataclass(frozen=True)
class Readings:
    """What the judges say."""

    responses: Sequence[str]
    poll: VoteResult
    labels: NDArray[np.int8]  # 1, 0 or `IGNORED`: [images, classes]
    hits: Hits
    judges: list[yes_shares.JudgeCounts]  # how often each judge says yes
    equal: dict[str, equal_votes.EqualVotes]  # how often each judge votes as the others do


class Throne(Metric):
    name = "throne"
    title = "THRONE"
    description = """\
THRONE measures object hallucination in the free-form image descriptions of large vision-language models: an ensemble
of language models reads each description and votes, class by class, on whether it implies the object; the votes on
which they agree are compared with the objects annotated in the image.
"""
    citation = """\
@inproceedings{kaul2024throne,
  title={{THRONE}: An Object-based Hallucination Benchmark
         for the Free-form Generations of Large Vision-Language Models},
  author={Kaul, Prannay and Li, Zhizhong and Yang, Hao and Dukler, Yonatan
          and Swaminathan, Ashwin and Taylor, C. J. and Soatto, Stefano},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages={27228--27238},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2405.05256",)
    licence = "The released code: CC BY-NC 4.0; this code was written from scratch."
    compared = (
        "With class_f=mean and all_average=image the metric gives the released code's scores for the same votes: "
        "tests/benchmarks/test_throne.py, tests/golden/throne_released.json."
    )

    principal = "f0.5_cls"
    scores = {
        "precision_cls": Score("higher"),
        "recall_cls": Score("higher"),
        "f1_cls": Score("higher"),
        "f0.5_cls": Score("higher"),
        "precision_all": Score("higher"),
        "recall_all": Score("higher"),
        "f1_all": Score("higher"),
        "f0.5_all": Score("higher"),
        "unparsed": Score("lower"),
    }
    extra_numbers = {
        "f*_cls": Score("higher"),
        "f*_all": Score("higher"),
        "ignored": Score(),
        "ignored_present": Score(),
        "undefined_classes": Score(),
        "images": Score(),
        "median_characters": Score(is_points=True),
        "cells": Score(),
        "cells_of": Score(),
    }
    items = "per_image"
    prompt = "Describe this image in detail."
    max_new_tokens = 1024
    target = "objects"
    partial_ok = True
    judges = Judges("votes", default="flan-t5", rules=("lexical",))
    datasets = (
        Dataset("throne_coco", id=("image_id",), columns=("objects",), options={"vocabulary": "coco"}),
        Dataset(
            "throne_objects365",
            id=("image_id",),
            columns=("objects",),
            builder="build:OBJECTS365",
            options={"vocabulary": "objects365"},
        ),
    )
    options_type = ThroneOptions
    row_options = (
        Option(
            "cells",
            "score a second time, on only the cells that these POPE questions ask about",
            many=True,
            metavar="DATASET",
        ),
    )

    def read(self, responses: Sequence[str], rows: Images, options: ThroneOptions) -> Readings:
        if rows.votes is not None:
            required = voting.required(options.agreement, rows.votes.shape[-1])
            poll = VoteResult(rows.votes, required, ["given"], "given", ())
        else:
            poll = options.collect_votes(responses, rows.present, rows.vocabulary, options.question_set)
        yes, no = voting.count(poll.votes)
        labels = voting.label(yes, no, poll.k)
        votes = poll.votes
        present = rows.present
        if rows.votes is None:
            is_asked = has_text(responses, options)
            votes = votes[is_asked]
            present = present[is_asked]
        judges = names_of_judges(rows, poll)
        return Readings(
            responses,
            poll,
            labels,
            hits=Hits.of(labels, rows.present),
            judges=yes_shares.count_yes(votes, present, judges),
            equal=equal_votes.count_equal(votes, judges),
        )

    def count(self, rows: Images, readings: Readings, options: ThroneOptions) -> Tables:
        return Tables(readings.hits.counts(options.conventions))

    def score(self, rows: Images, sums: Counts, options: ThroneOptions) -> Scores:
        return counting.score(sums, options.conventions)

    def facts(
        self, rows: Images, readings: Readings, total: Counts, options: ThroneOptions
    ) -> dict[str, Any]:
        hits = readings.hits
        is_undefined = ~hits.predicted.any(axis=0) | ~hits.present.any(axis=0)
        facts: dict[str, Any] = {
            "ignored": share_ignored(rows, readings, options),
            "ignored_present": share_ignored_of_present(rows, hits),
            "yes_shares": yes_shares.shares(readings.judges),
            "equal_votes": equal_votes.shares(readings.equal),
            "unparsed": share_unparsed(rows, readings.poll),
            "unparsed_shares": shares_unparsed(rows, readings.poll),
            "undefined_classes": int(is_undefined.sum()),
            "images": len(rows.present),
            "median_characters": float(np.median([len(text) for text in readings.responses])),
            MEAN_WORDS: mean_words(readings.responses),
        }
        if rows.sample is not None:
            facts.update(self._sampled(rows, readings, total, options))
        if options.per_class:
            table = rows_of(counting.of_each_class(hits, options.beta))
            facts["classes"] = dict(zip(rows.vocabulary.classes, table, strict=True))
        if options.per_image:
            facts["per_image"] = per_image(rows, readings)
        if options.explain:
            facts["explained"] = explained(rows, readings, options)
        return facts

    def warn(
        self,
        responses: Sequence[str],
        rows: Images,
        readings: Readings,
        result: dict[str, Any],
        options: ThroneOptions,
    ) -> None:
        present = int(np.count_nonzero(rows.present))
        ignored = ignored_present(rows, readings.hits)
        yes_shares.warn_of_judges(readings.judges)
        yes_shares.warn_of_ignored(ignored, present, readings.judges)
        predicted = readings.hits.predicted
        warn_if_shuffled(predicted, rows.present)
        warn_if_nothing_is_named(responses, predicted.any(axis=1) | ~rows.present.any(axis=1))

    def refusals(self, rows: Images, total: Counts, options: ThroneOptions) -> dict[str, str]:
        return counting.class_refusals(total, options.conventions)

    def data(self, rows: Images) -> str:
        return data_of_objects(rows.vocabulary.name, rows.objects, rows.image_ids)

    def signed(self, rows: Images, readings: Readings, options: ThroneOptions) -> dict[str, Any]:
        poll = readings.poll
        return {
            "judges": poll.judges,
            "questions": poll.questions,
            "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
            "beta": f"{options.beta:g}",
            "class_f": options.class_f,
            "all_average": options.all_average,
        }

    def forms(self, rows: Images) -> Sequence[str]:
        return rows.form_of_each or ()

    def _sampled(
        self, rows: Images, readings: Readings, total: Counts, options: ThroneOptions
    ) -> dict[str, Any]:
        """Return the scores of the same votes on a sample of the cells, and how far those on all cells are off."""
        assert rows.sample is not None
        is_there = rows.sample.any(axis=1)  # an image without such a cell is left out
        labels = np.where(rows.sample, readings.labels, IGNORED)
        hits = Hits.of(labels[is_there], rows.present[is_there])
        counts = Tables(hits.counts(options.conventions))
        on_sample = self.score(rows, counts.total(), options)
        on_all = self.score(rows, total, options)
        cells = int(rows.sample.sum())
        digest = hashlib.sha256(rows.sample.tobytes()).hexdigest()[:8]
        difference: dict[str, float] = {}
        facts: dict[str, Any] = {
            "cells": cells,
            "signature/sampled": changed(self.sign(rows, readings, options), cells=f"{cells}-{digest}"),
            "difference": difference,
        }
        for name, values in on_sample.items():
            facts[f"{name}/sampled"] = float(values[0])
            difference[name] = float(on_all[name][0] - values[0])
        return facts


METRIC = Throne()


@takes(ThroneOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    votes: ArrayLike | None = None,
    cells: ArrayLike | None = None,
    cells_of: int | None = None,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an LVLM's descriptions of images.

    Args:
        predictions: the LVLM's raw responses, one per image; an empty response mentions nothing.
        references: the classes present in each image, by their names in the vocabulary.
        votes: 0/1 [images, classes, judges x questions]; if given, no judge is asked.
        cells: bool [images, classes]; the same votes are also scored on these cells alone, such as those that POPE
            asks about (supplement, section 2). An image without any such cell is left out of these scores.
        cells_of: the number of cells in the whole sample, other images included; a warning appears if most of them lie
            in images that are not scored.
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        options: the fields of `ThroneOptions`, by name: how the poll is held, and how labels become scores.

    Returns:
        `precision_all recall_all f1_all f0.5_all` over all cells and `precision_cls recall_cls f1_cls f0.5_cls` over
        classes, fractions in [0, 1], NaN where undefined; `undefined_classes`, the number of classes without a
        precision or a recall; `ignored`, the share of cells without agreement (None unless everything was asked);
        `ignored_present`, that share among the cells whose class is in the image (None if there are none);
        `yes_shares`, how often each judge says yes about classes that are in the image and about others, as
        {judge: {"present": share, "absent": share}}, of the cells that it was asked about: under ask="needed" these are
        the ones that earlier votes leave open, so that a later judge's "absent" may well be high; nobody is asked about
        empty responses; None where nothing was asked. Given votes are "vote 1" and so on, or, if `questions` says
        how many there are to a judge, "judge 1" and so on;
        `equal_votes`, how often each judge's vote equals another judge's vote on the same question about the same
        cell, as {judge: share}, over all other judges; a vote that is neither yes nor no equals none. Under
        ask="needed" only questions that both were asked count, which earlier votes leave open; None where there are
        none, as with one judge;
        `unparsed`, the share of votes that are neither yes nor no (None for given votes), and `unparsed_shares`, that
        of each judge; `images`;
        `median_characters` of the responses (L of Table 1); `mean_words`, their mean length in words; `thoughts`,
        the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that are a thought
        without an end; `signature`; and on request `interval`, `classes`, `per_image`.
        With `cells` also the scores on these cells, such as `f0.5_cls/sampled`, with `signature/sampled`, the number of
        `cells`, and `cells_of`; and `difference`, the scores on all cells minus those on the sampled ones.
        `explained` has one list per image with one row per mention: `class`, `start`, `end`, `words`, and
        `taken_back_by`, the name of the rule, or None where the mention counts; `start` and `end` are places in the
        response as judged, without thoughts.

    Raises:
        ValueError: for any bad input, before a model is loaded.
    """
    responses, references = paired(predictions, references)
    chosen = METRIC.chosen(options)
    vocabulary = vocabularies.load(chosen.vocabulary)
    objects = class_names(references)
    present = vocabulary.presence(objects)
    if votes is not None:
        if chosen.explain:
            raise ValueError(
                "explain is about judges that read the responses, but votes are given; leave votes out and pass "
                "judges='lexical' or others."
            )
        check_effect(options, ["judges"], "votes are given, so nobody is asked", usual_values(VoteOptions))
    if cells is None:
        check_effect({"cells_of": cells_of}, ["cells_of"], "it is about a sample, and cells is None")
    if chosen.explain:
        lexical_reader(chosen, vocabulary)
    size_of_sample = 0
    if cells_of is not None:
        size_of_sample = whole("cells_of", cells_of, 1)
    rows = Images(vocabulary, objects, present)
    if image_ids is not None:
        rows.image_ids = ids("image_ids", image_ids, len(responses), unique=True)
    if forms is not None:
        rows.form_of_each = texts("forms", forms, len(responses))
    if votes is not None:
        rows.votes = voting.check(votes, *present.shape).view(np.int8)
    if "questions" in options:
        rows.questions_of_votes = len(chosen.question_set.templates)
    if cells is not None:
        rows.sample = checked_sample(cells, present, size_of_sample)
    result = METRIC.evaluate(responses, rows, chosen)
    if cells is not None:
        result["cells_of"] = cells_of
    return result


# What is checked before anybody is asked


def checked_sample(cells: ArrayLike, present: Cells, size: int) -> Cells:
    """Return the cells of a sample, and warn if most of the sample lies in images that are not scored."""
    meaning = "for each image and class whether it is in the sample"
    table = array("cells", cells, f"bool [images, classes]: {meaning}")
    if table.shape != present.shape or table.dtype != bool:
        raise ValueError(
            f"cells is an array of {table.dtype} with the shape {table.shape}; expected bool {present.shape}: "
            f"{meaning}."
        )
    scored = int(table.sum())
    if 2 * scored < size:
        warnings.warn(
            f"Only {scored:,} of the sample's {size:,} cells ({scored / size:.1%}) lie in the {len(present):,} "
            "images that are scored; expected most of them. POPE's official questions are about COCO val2014, but "
            "throne_coco is COCO val2017.",
            stacklevel=3,
        )
    return table


def lexical_reader(options: ThroneOptions, vocabulary: Vocabulary) -> Any:
    """Return the lexical judge among the judges, which can explain how it reads mentions."""
    from halluscope.judging.resolve import lexical

    return lexical(options.meant, vocabulary)


# What a result says of the judges and of each image


def has_text(responses: Sequence[str], options: ThroneOptions) -> NDArray[np.bool_]:
    """Return whether there is something to ask about each response; nobody is asked about an empty one."""
    questions = options.question_set
    return np.array([bool(questions.cut(response).strip()) for response in responses], dtype=bool)


def names_of_judges(rows: Images, poll: VoteResult) -> Sequence[str]:
    """Return the judges' keys, or names for the judges of given votes."""
    if rows.votes is None:
        return poll.judges
    return names_of_given(poll.votes.shape[-1], rows.questions_of_votes)


def names_of_given(columns: int, questions: int) -> list[str]:
    """Name the judges of given votes; if it is not known how many `questions` each was asked, name each vote."""
    if questions and columns % questions == 0:
        return [f"judge {number}" for number in range(1, columns // questions + 1)]
    return [f"vote {number}" for number in range(1, columns + 1)]


def share_ignored(rows: Images, readings: Readings, options: ThroneOptions) -> float | None:
    """Return the share of cells that are ignored; None if judges were not asked about all of them."""
    if rows.votes is None and options.ask != "all":
        return None
    return float((readings.labels == IGNORED).mean())


def share_ignored_of_present(rows: Images, hits: Hits) -> float | None:
    """Return the share of present cells that are ignored; None if there are none."""
    present = int(np.count_nonzero(rows.present))
    if present == 0:
        return None
    return ignored_present(rows, hits) / present


def ignored_present(rows: Images, hits: Hits) -> int:
    """Return how many present cells are ignored."""
    return int(np.count_nonzero(rows.present)) - int(np.count_nonzero(hits.present))


def share_unparsed(rows: Images, poll: VoteResult) -> float | None:
    """Return the share of votes that are neither yes nor no; None for given votes."""
    if rows.votes is not None:
        return None
    return share_of_votes(poll.votes, OTHER)


def shares_unparsed(rows: Images, poll: VoteResult) -> dict[str, float]:
    """Return the share of each judge's votes that are neither yes nor no; {} for given votes."""
    if rows.votes is not None:
        return {}
    judges = names_of_judges(rows, poll)
    votes_by_judge = np.split(poll.votes, len(judges), axis=-1)
    return {judge: share_of_votes(votes, OTHER) for judge, votes in zip(judges, votes_by_judge, strict=True)}


def share_of_votes(votes: NDArray[np.int8], code: int) -> float:
    """Return the share of a code among the votes that were asked for; 0 if there are none."""
    asked = int(np.count_nonzero(votes != UNASKED))
    return float(np.count_nonzero(votes == code) / max(1, asked))


def per_image(rows: Images, readings: Readings) -> list[dict[str, list[str]]]:
    """Return for each image which classes were found, hallucinated and missed."""
    kinds = {
        "found": readings.hits.true,
        "hallucinated": readings.hits.predicted & ~rows.present,
        "missed": rows.present & (readings.labels == 0),
    }
    images = []
    for number in range(len(rows.present)):
        image = {}
        for kind, table in kinds.items():
            image[kind] = [rows.vocabulary.classes[index] for index in np.flatnonzero(table[number])]
        images.append(image)
    return images


def explained(rows: Images, readings: Readings, options: ThroneOptions) -> list[Any]:
    """Return how the lexical judge read each mention."""
    reader = lexical_reader(options, rows.vocabulary)
    return [reader.explain(options.question_set.cut(response)) for response in readings.responses]
