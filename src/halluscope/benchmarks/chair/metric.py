"""CHAIR: object hallucination in image captions (Rohrbach et al., EMNLP 2018).

Each caption is read word by word against a synonym list of COCO's 80 classes; a mention of a class that is not in the
image is hallucinated. No model is asked.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import vocabularies
from halluscope.benchmarks.chair import words
from halluscope.cores import map_texts
from halluscope.inputs import class_names, flags, ids, labelled, paired, texts
from halluscope.reading.words import readers
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of_texts, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.tallies import Tally, scores, uncertainty


def compute(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    synonyms: str | Path | None = None,
    allow_other_synonyms: bool = False,
    reader: str = readers.LEMMINFLECT,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    per_image: bool = False,
    drop_unfinished: bool = False,
    thoughts: str = REMOVED,
) -> dict[str, Any]:
    """Score captions or descriptions of images.

    Args:
        predictions: the LVLM's raw responses, one per image; an empty response mentions nothing.
        references: the COCO classes in each image; CHAIR takes them from annotations and captions together
            (`halluscope.benchmarks.chair.rows`).
        synonyms: the official synonym list's file; by default it is fetched once and kept in the user's cache.
        allow_other_synonyms: accept a list with another checksum; the signature says so.
        reader: what reads the words: "lemminflect", a dictionary with rules, or "nltk", which tags words and looks them
            up in WordNet as the published script does, with nltk's data (`nltk_words`).
        bootstrap: the number of resamples of the captions behind each interval; 0 for no interval.
        seed: the seed of the bootstrap.
        level: the level of the interval, in (0, 1).
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        per_image: also give, for each caption, its mentions and their places in the text as it was read, which classes
            were found, hallucinated and missed, and its part in `chair_s`.
        drop_unfinished: leave out the last sentence of each response that ends in the middle of it, as at a limit of
            tokens; a response without a whole sentence then mentions nothing.
        thoughts: "removed" drops the LVLM's thoughts (`halluscope.responses.thoughts`), "kept" scores them too.

    Returns:
        Fractions in [0, 1], NaN where undefined: `chair_i`, the share of mentions that are hallucinated; `chair_s`, the
        share of captions with a hallucinated mention; `recall`, the share of the images' classes that are mentioned.
        Lower is better, except for `recall`. Also `mean_words`, the captions' mean length as CHAIR counts it, with
        punctuation marks; `images`; `image_list`, the name of a published list of exactly these images, if it is one;
        `thoughts`, the number of responses from which a thought was removed; `signature`; and on request `interval`,
        `per_image` and `unfinished`, the number of responses that lost their last sentence.

    Raises:
        ValueError: for any bad input, and for a synonym list that is not the official one.
        FileNotFoundError: if `synonyms` or nltk's data do not exist.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', or 'halluscope[nltk]').
    """
    flags(
        per_image=per_image,
        allow_other_synonyms=allow_other_synonyms,
        drop_unfinished=drop_unfinished,
    )
    predictions, references = paired(predictions, references)
    image_ids = None if image_ids is None else ids("image_ids", image_ids, len(predictions), unique=True)
    form = form_of(() if forms is None else texts("forms", forms, len(predictions)))
    predictions, thought = take_out(predictions, thoughts)
    whole, unfinished = predictions, {}
    if drop_unfinished:
        predictions = [*map(words.finished, whole)]
        unfinished = {"unfinished": sum(map(str.__ne__, predictions, whole))}
    references = class_names(references)
    coco = vocabularies.load("coco")
    there = coco.presence(references)
    resampling = Bootstrap(bootstrap, seed, level)
    chosen = readers.load(reader, readers.WORDS)
    listed = words.synonyms(synonyms, allow_other_synonyms)
    read = partial(words.read, class_of=listed.class_of, words_of=chosen.read)
    captions = [*map_texts(read, predictions)]
    said = [caption.objects for caption in captions]
    present = [frozenset(names) for names in references]
    tally = _tally(captions, said, present)
    warn_if_shuffled(coco.presence(said), there)
    result: dict[str, Any] = scores([tally]) | {
        "images": len(captions),
        **({"image_list": listing} if (listing := words.image_list(image_ids or ())) else {}),
        **unfinished,
        "thoughts": thought,
        "signature": signature(
            "chair",
            data=data_of_texts("coco", labelled(references, image_ids)),
            synonyms=listed.name,
            lemmas=chosen.version,
            **form,
            **unfinished,
            **choice(thoughts),
            interval=resampling,
        ),
        **uncertainty([tally], resampling),
    }
    if per_image:
        result["per_image"] = list(map(_of_image, captions, said, present))
    return result


def _tally(
    captions: Sequence[words.Caption], said: Sequence[Sequence[str]], present: Sequence[frozenset[str]]
) -> Tally:
    """Count per caption what the scores are made of (equations 1 and 2, and what the published script prints)."""
    rows = [
        (
            len(of),
            sum(name not in there for name in of),
            len(there.intersection(of)),
            len(there),
            len(one.words),
        )
        for one, of, there in zip(captions, said, present, strict=True)
    ]
    mentions, hallucinated, found, known, length = np.array(rows, dtype=np.int64).T
    each = np.ones_like(mentions)
    return {
        "chair_i": (hallucinated, mentions),
        "chair_s": ((hallucinated > 0).astype(np.int64), each),
        "recall": (found, known),
        MEAN_WORDS: (length, each),
    }


def _of_image(caption: words.Caption, said: Sequence[str], present: frozenset[str]) -> dict[str, Any]:
    hallucinated = [name for name in dict.fromkeys(said) if name not in present]
    return {
        "mentions": [list(mention) for mention in caption.mentions],
        "places": caption.places,
        "found": [name for name in dict.fromkeys(said) if name in present],
        "hallucinated": hallucinated,
        "missed": sorted(present.difference(said)),
        "chair_s": bool(hallucinated),
    }
