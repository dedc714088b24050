"""OpenCHAIR: hallucinated nouns in captions, without a closed list of objects (Ben-Kish et al., EMNLP 2024).

The concrete nouns of an LVLM's caption are found, and judges are asked for each noun whether the image has it. In place
of the image, judges read its right caption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from halluscope.benchmark import Dataset, Judges, Score
from halluscope.benchmarks.openchair import counting
from halluscope.benchmarks.openchair.concreteness import read_concrete
from halluscope.benchmarks.openchair.nouns import (
    FIRST,
    RELEASED,
    FoundNouns,
    Nouns,
    check_reader,
    counting_nouns,
    find_nouns,
    given_nouns,
)
from halluscope.benchmarks.openchair.questions import questions_of
from halluscope.benchmarks.openchair.votes import UNDECIDED, GivenVotes, Votes, ask_judges, read_votes
from halluscope.judging.judge import ASK
from halluscope.judging.options import GIVEN, VoteOptions
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import NO, YES
from halluscope.mentions.nothing_named import warn_if_nothing_is_named
from halluscope.metric import Metric, Options, Scores
from halluscope.options import check_effect, option, takes, usual_values
from halluscope.reading.words import readers
from halluscope.reading.words.tokens import forms_of
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import Counts
from halluscope.stats.row_order import MOST_ROWS, warn_if_shuffled
from halluscope.validation import Id, ids, paired, texts

# A noun's label -> the vote that the table of images shows; None if the noun is undecided
SHOWN = {YES: "yes", NO: "no", UNDECIDED: None}


@dataclass(frozen=True)
class OpenChairOptions(VoteOptions, Options):
    """The options of OpenCHAIR's metric."""

    questions: str | Sequence[str] | QuestionSet = option(
        RELEASED,
        "what judges are asked: released (default), plain (for judges that say only yes or no), claims (for "
        "checkers), or templates with {a/an} {x}",
        about='what judges are asked: "released", "plain" (for judges that say only yes or no), "claims" (for '
        "checkers), or a list of templates",
        many=True,
    )
    ask: str = option("needed", "has no effect here, because every vote is needed", choices=ASK)
    convention: str = option(
        RELEASED,
        "count each noun as often as it occurs and leave out undecided nouns (released, default), or count each noun "
        "once per caption and undecided nouns as hallucinated (first)",
        about='"released" counts a noun as often as it occurs, except six words for the image itself ("photo"), and '
        'leaves out undecided nouns; "first", the first version of the authors\' script, counts a noun once per '
        "caption, and counts undecided nouns as hallucinated",
        choices=(RELEASED, FIRST),
    )
    reader: str = option(
        readers.LEMMINFLECT,
        "what finds nouns: lemminflect, a dictionary with a few rules (default), or nltk, a tagger (extra nltk)",
        about='what finds a caption\'s nouns: "lemminflect", a dictionary and a few rules, or "nltk", which tags words '
        "with nltk's data",
        check=check_reader,
    )
    concreteness: str | Path | None = option(
        None,
        "the ratings of Brysbaert et al. (2014): only nouns rated above 4.5 count (default: all do)",
        about="a file of the ratings of Brysbaert et al. (2014): only nouns rated above 4.5 count, as in the paper. By "
        "default all nouns count, and the signature says so",
        kinds=str | Path | None,
        what="a file of ratings, or None",
        metavar="FILE",
    )
    per_image: bool = option(
        False,
        about="also give, for each image, its nouns, their places in the caption as it was read, and the votes on them",
    )

    @property
    def question_set(self) -> QuestionSet:
        """What judges are asked."""
        return questions_of(self.questions)

    @cached_property
    def concrete(self) -> frozenset[str] | None:
        """The only words that count; None if all do."""
        if self.concreteness is None:
            return None
        return read_concrete(self.concreteness)


@dataclass
class Images:
    """The images that were described."""

    captions: list[str]  # the right ones
    image_ids: list[Id] | None = None
    form_of_each: list[str] | None = None
    nouns: Sequence[Sequence[str]] | None = None  # given ones, as the user wrote them
    votes: GivenVotes | None = None


@dataclass(frozen=True)
class Readings:
    """The nouns that count, and the votes on them."""

    responses: Sequence[str]
    nouns: Nouns
    found_by: str  # for the signature
    votes: Votes


class OpenChair(Metric):
    name = "openchair"
    title = "OpenCHAIR"
    description = """\
OpenCHAIR measures hallucination in captions without a closed list of objects. A language model reads the caption from
which the image was made, and says for each concrete noun of the LVLM's caption whether the image has it.
"""
    citation = """\
@inproceedings{benkish2024mitigating,
  title={Mitigating Open-Vocabulary Caption Hallucinations},
  author={Ben-Kish, Assaf and Yanuka, Moran and Alper, Morris and Giryes, Raja and Averbuch-Elor, Hadar},
  booktitle={Proceedings of the 2024 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  year={2024}
}
"""
    links = ("https://arxiv.org/abs/2312.03631", "https://github.com/assafbk/mocha_code")
    licence = (
        "The ratings of concreteness state no licence, so the user brings the file. "
        "This code was written from scratch."
    )

    principal = "openchair"
    scores = {"openchair": Score("lower"), "undecided": Score("lower"), "unreadable": Score("lower")}
    extra_numbers = {
        "nouns": Score(),
        "found": Score(),
        "hallucinated": Score(),
        "nouns_per_caption": Score(is_points=True),
        "without_nouns": Score(),
        "images": Score(),
    }
    items = "per_image"
    prompt = "Describe this image in one sentence."
    max_new_tokens = 128
    target = "true_caption"
    judges = Judges(
        "votes",
        default="flan-t5",
        rules=("lexical",),
        published="Llama-2-70b-chat in 4 bits, which you can run yourself",
    )
    datasets = (Dataset("openchair", id=("image_id",), columns=("true_caption",)),)
    options_type = OpenChairOptions

    def read(self, responses: Sequence[str], rows: Images, options: OpenChairOptions) -> Readings:
        concrete = options.concrete
        if rows.votes is not None:
            nouns = counting_nouns(rows.votes.nouns, concrete, options.convention)
            return Readings(responses, nouns, GIVEN, rows.votes.votes)
        all_nouns = nouns_in(responses, rows, options)
        nouns = counting_nouns(all_nouns.nouns, concrete, options.convention)
        votes = ask_judges(options, options.question_set, rows.captions, nouns)
        return Readings(responses, nouns, all_nouns.found_by, votes)

    def count(self, rows: Images, readings: Readings, options: OpenChairOptions) -> Tables:
        return Tables(counting.count(readings.nouns, readings.votes))

    def score(self, rows: Images, sums: Counts, options: OpenChairOptions) -> Scores:
        return counting.score(sums, options.convention)

    def facts(
        self, rows: Images, readings: Readings, total: Counts, options: OpenChairOptions
    ) -> dict[str, Any]:
        nouns = int(counting.nouns_of(total)[0])
        images = len(readings.nouns)
        facts: dict[str, Any] = {
            "nouns": nouns,
            "found": int(total[counting.FOUND_NOUNS][0]),
            "hallucinated": int(total[counting.HALLUCINATED_NOUNS][0]),
            "nouns_per_caption": nouns / images,
            "without_nouns": sum(not words for words in readings.nouns),
            "images": images,
            MEAN_WORDS: mean_words(readings.responses),
        }
        if rows.votes is not None:
            facts["unreadable"] = None
        if options.per_image:
            facts["per_image"] = per_image(readings)
        return facts

    def warn(
        self,
        responses: Sequence[str],
        rows: Images,
        readings: Readings,
        result: dict[str, Any],
        options: OpenChairOptions,
    ) -> None:
        warn_if_nothing_is_named(responses, [bool(nouns) for nouns in readings.nouns])
        # more rows are not looked at
        looked_at = slice(MOST_ROWS)
        warn_if_shuffled(*counting.mentioned_and_there(readings.nouns[looked_at], rows.captions[looked_at]))

    def data(self, rows: Images) -> str:
        image_ids = rows.image_ids or [""] * len(rows.captions)
        return data_of(self.name, zip(image_ids, rows.captions, strict=True))

    def signed(self, rows: Images, readings: Readings, options: OpenChairOptions) -> dict[str, Any]:
        concreteness = "no"
        if options.concrete is not None:
            concreteness = data_of("concrete", [[word] for word in options.concrete])
        signed = {
            "convention": options.convention,
            "nouns": readings.found_by,
            "concreteness": concreteness,
        }
        signed.update(readings.votes.signed)
        return signed

    def forms(self, rows: Images) -> Sequence[str]:
        return rows.form_of_each or ()


METRIC = OpenChair()


@takes(OpenChairOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    nouns: Sequence[Sequence[str]] | None = None,
    votes: Sequence[Sequence[Sequence[str]]] | None = None,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an LVLM's captions of images.

    Args:
        predictions: the LVLM's raw captions, one per image; an empty caption has no noun.
        references: the right captions, one per image; judges read them in place of the images.
        nouns: the nouns of each caption in their dictionary form, repeats included, if another program has found them.
        votes: for each caption a list of its nouns with a vote each, such as ["dog", "no"]: "yes" (it is there), "no"
            (it is hallucinated) or "unsure"; if given, neither a reader nor a judge is asked.
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        options: the fields of `OpenChairOptions`, by name: which nouns count, and how the poll is held. `ask` has no
            effect, because every vote is needed.

    Returns:
        Fractions in [0, 1], lower is better: `openchair`, the share of hallucinated nouns (enough votes say no) among
        the decided ones (enough votes say yes, or enough say no), NaN without any; `undecided`, the share of nouns on
        which neither enough votes say yes nor enough say no; `unreadable`, the share of votes that are neither yes nor
        no, "unsure" included (None for given votes). With convention="first" undecided nouns count as hallucinated.
        Numbers: `nouns`, those that count; `found` and `hallucinated` nouns among them; `nouns_per_caption`;
        `without_nouns`, captions without a noun that counts; `images`; `mean_words`, the captions' mean length in
        words; `thoughts`, captions from which a thought was removed; `unfinished_thoughts`, those that are a thought
        without an end.
        Also `signature`; with a bootstrap `interval`, by leaving out one image at a time; and on request `per_image`.

    Raises:
        ValueError: for any bad input, before a model is loaded.
        MissingExtra: without nltk, if it reads (pip install 'halluscope[nltk]').
        FileNotFoundError: without the data that nltk needs, or the file of ratings.
    """
    chosen = METRIC.chosen(options)
    responses, references = paired(predictions, references)
    rows = Images(right_captions(references), nouns=nouns)
    if image_ids is not None:
        rows.image_ids = ids("image_ids", image_ids, len(responses), unique=True)
    if forms is not None:
        rows.form_of_each = texts("forms", forms, len(responses))
    check_given(nouns, votes, options)
    if votes is not None:
        rows.votes = read_votes(votes, len(responses))
    else:
        chosen.required(len(chosen.question_set.templates))  # an error comes before captions are read
    return METRIC.evaluate(responses, rows, chosen)


def check_given(nouns: Any, votes: Any, options: Mapping[str, Any]) -> None:
    """Refuse options that cannot matter beside given nouns or votes, and both together."""
    usual = usual_values(OpenChairOptions)
    if nouns is not None and votes is not None:
        raise ValueError(
            "votes and nouns are given; expected one of them, because votes already name their nouns."
        )
    if nouns is not None:
        check_effect(options, ["reader"], "nouns are given, so no caption is read", usual)
    if votes is not None:
        check_effect(options, ["reader"], "votes name the nouns", usual)
        asking = ["judges", "questions", "agreement"]
        check_effect(options, asking, "votes are given, so nobody is asked", usual)


def right_captions(references: Sequence[Any]) -> list[str]:
    """Return the right captions, none of which may be empty."""
    for number, caption in enumerate(references):
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"references[{number}] is {short_repr(caption)}; expected the right caption.")
    return list(references)


def nouns_in(responses: Sequence[str], rows: Images, options: OpenChairOptions) -> FoundNouns:
    """Return the nouns of each response: those that the user gives, or those that a reader finds."""
    if rows.nouns is not None:
        return given_nouns(rows.nouns, responses)
    return find_nouns(responses, options.reader)


def per_image(readings: Readings) -> list[dict[str, Any]]:
    """Return each image's nouns that count, with their places and votes."""
    images = []
    for words, label_of in zip(readings.nouns, readings.votes.labels, strict=True):
        forms = forms_of(words)
        image = {
            "nouns": forms,
            "places": [word.place for word in words],
            "votes": [SHOWN[label_of[form]] for form in forms],
            "hallucinated": [form for form in forms if label_of[form] == NO],
        }
        images.append(image)
    return images
