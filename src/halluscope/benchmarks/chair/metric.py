"""CHAIR: object hallucination in image captions (Rohrbach et al., EMNLP 2018).

Each caption is read word by word against a synonym list of COCO's 80 classes; a mention of a class that is not in the
image is hallucinated. No model is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope import vocabularies
from halluscope.benchmark import Column, Preset, Score
from halluscope.benchmarks.chair import counting, image_lists
from halluscope.benchmarks.chair.counting import MentionCounts
from halluscope.benchmarks.chair.sentences import whole_sentences
from halluscope.cores import map_texts
from halluscope.mentions import synonyms
from halluscope.mentions.nothing_named import warn_if_nothing_is_named
from halluscope.mentions.reading import Caption, CaptionReader
from halluscope.mentions.synonyms import allow_other_option, check_allow_other
from halluscope.metric import Metric, Options, Scores
from halluscope.options import Option, option, takes
from halluscope.reading.words import readers
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.signature import data_of_objects
from halluscope.stats.counts import Tables
from halluscope.stats.intervals import AMOUNT, Counts
from halluscope.stats.row_order import warn_if_shuffled
from halluscope.validation import Id, class_names, ids, paired, texts
from halluscope.vocabularies import Vocabulary


def check_reader(name: Any) -> None:
    """Check the name of a reader of words."""
    readers.check(name, readers.WORDS)


@dataclass(frozen=True)
class ChairOptions(Options):
    """The options of CHAIR's metric."""

    synonyms: str | Path | None = option(
        None,
        "the official synonym list (default: fetched once, and checked); names: the class names alone",
        about="the official synonym list's file; by default it is fetched once and kept in the user's cache; "
        '"names" takes the class names alone, and the signature says so',
        check=synonyms.check_path,
        metavar="FILE",
    )
    allow_other_synonyms: bool = allow_other_option()
    drop_unfinished: bool = option(
        False,
        "leave out the last sentence of responses that end in the middle of it, at a limit of tokens",
        about="leave out the last sentence of each response that ends in the middle of it, as at a limit of tokens; "
        "a response without a whole sentence then mentions nothing",
    )
    reader: str = option(
        readers.LEMMINFLECT,
        "what reads words: lemminflect (default); nltk, as in CHAIR's script since OPERA (extra nltk, and nltk's "
        "data); or textblob, as in CHAIR's first script (extra textblob)",
        about='what reads the words: "lemminflect", a dictionary with rules; "nltk", which tags words and looks them '
        "up in WordNet as OPERA's script does, with nltk's data (`nltk_words`); or \"textblob\", which brings words "
        "into the singular as the first script does (`textblob_words`)",
        check=check_reader,
        metavar="NAME",
    )
    per_image: bool = option(
        False,
        about="also give, for each caption, its mentions and their places in the text as it was read, which classes "
        "were found, hallucinated and missed, and its part in `chair_s`",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_allow_other(self.synonyms, self.allow_other_synonyms)


@dataclass
class Images:
    """The images that were described."""

    vocabulary: Vocabulary
    objects: list[list[str]]  # the classes in each image
    present: NDArray[np.bool_]  # [images, classes]
    image_ids: list[Id] | None = None
    form_of_each: list[str] | None = None


@dataclass(frozen=True)
class Readings:
    """What the captions mention, and by what they were read."""

    captions: list[Caption]
    mentions: MentionCounts
    synonyms: str  # the name of the synonym list
    reader: str  # the versions of what reads the words
    unfinished: int  # how many responses lost their last sentence


class Chair(Metric):
    name = "chair"
    title = "CHAIR"
    description = """\
CHAIR measures object hallucination in image captions: words are looked up in a synonym list of COCO's 80 classes, and
a mention of a class that is not in the image is hallucinated. CHAIR_i is the share of such mentions, CHAIR_s the share
of captions with at least one.
"""
    citation = """\
@inproceedings{rohrbach2018object,
  title={Object Hallucination in Image Captioning},
  author={Rohrbach, Anna and Hendricks, Lisa Anne and Burns, Kaylee and Darrell, Trevor and Saenko, Kate},
  booktitle={Proceedings of the Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  pages={4035--4045},
  year={2018}
}
"""
    links = ("https://arxiv.org/abs/1809.02156",)
    licence = "CHAIR's synonym list: BSD-2-Clause; it is fetched from its authors, not included."

    principal = "chair_i"
    presets = {
        "decoding": Preset(
            2,
            (
                Column("chair_s", "CHAIR_s"),
                Column("chair_i", "CHAIR_i"),
                Column("recall", "Recall"),
            ),
        )
    }
    scores = {
        "chair_i": Score("lower"),
        "chair_s": Score("lower", is_mean=True),
        "recall": Score("higher"),
    }
    extra_numbers = {"images": Score(), "unfinished": Score()}
    ranges = {MEAN_WORDS: AMOUNT}
    reads = ("throne_coco",)
    other_datasets = (
        "COCO's instances_*.json (with --captions captions_*.json), such as val2014's, and CHAIR's cache as JSON, "
        "image id -> objects"
    )
    items = "per_image"
    prompt = "Describe this image in detail."
    max_new_tokens = 512
    target = "objects"
    partial_ok = True
    options_type = ChairOptions
    row_options = (
        Option(
            "captions",
            "COCO's captions_*.json, if --dataset is COCO's instances_*.json; CHAIR's cache has read them already",
            metavar="FILE",
        ),
    )

    def read(self, responses: Sequence[str], rows: Images, options: ChairOptions) -> Readings:
        words = readers.load(options.reader, readers.WORDS)
        listed = synonyms.load(options.synonyms, options.allow_other_synonyms)
        unfinished = 0
        if options.drop_unfinished:
            whole = [whole_sentences(response) for response in responses]
            for response, sentences in zip(responses, whole, strict=True):
                if sentences != response:
                    unfinished += 1
            responses = whole
        reader = CaptionReader(listed.class_of, words.read)
        captions = list(map_texts(reader.read, responses))
        return Readings(
            captions,
            mentions=MentionCounts.of(captions, rows.vocabulary.classes, rows.present),
            synonyms=listed.name,
            reader=words.version,
            unfinished=unfinished,
        )

    def count(self, rows: Images, readings: Readings, options: ChairOptions) -> Tables:
        return Tables(readings.mentions.counts())

    def score(self, rows: Images, sums: Counts, options: ChairOptions) -> Scores:
        return counting.score(sums)

    def facts(self, rows: Images, readings: Readings, total: Counts, options: ChairOptions) -> dict[str, Any]:
        facts: dict[str, Any] = {"images": len(rows.objects)}
        if rows.image_ids is not None:
            image_list = image_lists.name_of(rows.image_ids)
            if image_list is not None:
                facts["image_list"] = image_list
        if options.drop_unfinished:
            facts["unfinished"] = readings.unfinished
        if options.per_image:
            facts["per_image"] = per_image(readings.captions, rows.objects)
        return facts

    def warn(
        self,
        responses: Sequence[str],
        rows: Images,
        readings: Readings,
        result: dict[str, Any],
        options: ChairOptions,
    ) -> None:
        mentioned = readings.mentions.mentioned
        warn_if_shuffled(mentioned, rows.present)
        warn_if_nothing_is_named(responses, mentioned.any(axis=1) | ~rows.present.any(axis=1))

    def data(self, rows: Images) -> str:
        return data_of_objects(rows.vocabulary.name, rows.objects, rows.image_ids)

    def signed(self, rows: Images, readings: Readings, options: ChairOptions) -> dict[str, Any]:
        signed: dict[str, Any] = {"synonyms": readings.synonyms, "lemmas": readings.reader}
        if options.drop_unfinished:
            signed["unfinished"] = "dropped"
        return signed

    def forms(self, rows: Images) -> Sequence[str]:
        return rows.form_of_each or ()


METRIC = Chair()


@takes(ChairOptions)
def compute(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score captions or descriptions of images.

    Args:
        predictions: the LVLM's raw responses, one per image; an empty response mentions nothing.
        references: the COCO classes in each image; CHAIR takes them from annotations and captions together
            (`halluscope.benchmarks.chair.rows`).
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        options: the fields of `ChairOptions`, by name.

    Returns:
        Fractions in [0, 1], NaN where undefined: `chair_i`, the share of mentions that are hallucinated; `chair_s`, the
        share of captions with a hallucinated mention; `recall`, the share of the images' classes that are mentioned.
        Lower is better, except for `recall`. Also `mean_words`, the captions' mean length as CHAIR counts it, with
        punctuation marks; `images`; `image_list`, the name of a published list of exactly these images, if it is one;
        `thoughts`, the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that
        are a thought without an end; `signature`; and on request `interval`, `per_image` and `unfinished`, the number
        of responses that lost their last sentence.

    Raises:
        ValueError: for any bad input, and for a synonym list that is not the official one.
        FileNotFoundError: if `synonyms` or nltk's data do not exist.
        MissingExtra: without the package of another reader (pip install 'halluscope[nltk]' or
            'halluscope[textblob]').
    """
    responses, references = paired(predictions, references)
    chosen = METRIC.chosen(options)
    vocabulary = vocabularies.load("coco")
    objects = class_names(references)
    rows = Images(vocabulary, objects, vocabulary.presence(objects))
    if image_ids is not None:
        rows.image_ids = ids("image_ids", image_ids, len(responses), unique=True)
    if forms is not None:
        rows.form_of_each = texts("forms", forms, len(responses))
    return METRIC.evaluate(responses, rows, chosen)


def per_image(captions: Sequence[Caption], objects: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return for each caption its mentions, which classes it finds, hallucinates and misses, and its `chair_s`."""
    images = []
    for caption, in_image in zip(captions, objects, strict=True):
        image = caption.shown(in_image)
        image["chair_s"] = bool(image["hallucinated"])
        images.append(image)
    return images
