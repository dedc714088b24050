"""CHAIR: object hallucination in image captions (Rohrbach et al., EMNLP 2018).

Each caption is read word by word against a synonym list of COCO's 80 classes; a mention of a class that is not in the
image is hallucinated. No model is asked.

Tokens are put into their dictionary forms. Double words ("hot dog", "passenger train") become one word, so neither part
counts by itself. "seat" is dropped from a caption with "toilet". Each remaining word is looked up in the synonym list.
Context is ignored: "no dog" and "dog food" mention a dog too.

Source: Rohrbach et al., "Object Hallucination in Image Captioning" (EMNLP 2018), section 3.1, and the output of the
published script. The list is the authors' file (BSD-2-Clause), which is not part of this package: the user names it, or
it is fetched once and checked by its sha256.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halluscope import vocabularies
from halluscope.cores import map_texts
from halluscope.files.opening import read_text
from halluscope.options import check_effect
from halluscope.paths import path_of
from halluscope.reading.words import lemmas, readers
from halluscope.reading.words.tokens import Word, forms_of
from halluscope.responses.lengths import MEAN_WORDS
from halluscope.responses.thoughts import REMOVED, choice, spoken
from halluscope.sanitize import short_repr
from halluscope.signature import data_of_objects, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.correlation import warn_if_shuffled
from halluscope.stats.intervals import AMOUNT
from halluscope.stats.tallies import scores, uncertainty
from halluscope.validation import class_names, flags, ids_and_forms, kind, paired

URL = "https://raw.githubusercontent.com/LisaAnne/Hallucination/master/data/synonyms.txt"
SHA256 = "b685537b36fe21b791c87151b96a991ceb582edff19f3da204dcc7a7905502f2"

# The end of a sentence, with what closes after it
_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]*]*(?=\s|\Z)")


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
        reader: what reads the words: "lemminflect", a dictionary with rules; "nltk", which tags words and looks them
            up in WordNet as OPERA's script does, with nltk's data (`nltk_words`); or "textblob", which brings words
            into the singular as the first script does (`textblob_words`).
        bootstrap: 0 for no intervals; any other number gives the same ones, which leave out one caption at a time.
        seed: moves nothing.
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
        `thoughts`, the number of responses from which a thought was removed, and `unfinished_thoughts`, of those that
        are a thought without an end; `signature`; and on request `interval`, `per_image` and `unfinished`, the number
        of responses that lost their last sentence.

    Raises:
        ValueError: for any bad input, and for a synonym list that is not the official one.
        FileNotFoundError: if `synonyms` or nltk's data do not exist.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', 'halluscope[nltk]' or
            'halluscope[textblob]').
    """
    flags(
        per_image=per_image,
        allow_other_synonyms=allow_other_synonyms,
        drop_unfinished=drop_unfinished,
    )
    if synonyms is None and allow_other_synonyms:
        why = "no list is named by synonyms, so it is the official one"
        check_effect({"allow_other_synonyms": True}, ["allow_other_synonyms"], why)
    predictions, references = paired(predictions, references)
    image_ids, form = ids_and_forms(image_ids, forms, len(predictions))
    heard = spoken(predictions, thoughts)
    predictions = heard.texts
    whole, unfinished = predictions, {}
    if drop_unfinished:
        predictions = [*map(finished, whole)]
        unfinished = {"unfinished": sum(map(str.__ne__, predictions, whole))}
    references = class_names(references)
    coco = vocabularies.load("coco")
    present = coco.presence(references)
    resampling = Bootstrap(bootstrap, seed, level)
    chosen = readers.load(reader, readers.WORDS)
    listed, class_of = load_synonyms(synonyms, allow_other_synonyms)
    captions = [*map_texts(partial(read, class_of=class_of, words_of=chosen.read), predictions)]
    warn_if_shuffled(coco.presence([caption.objects for caption in captions]), present)
    counts, each = [], []
    for caption, names in zip(captions, references, strict=True):
        there, said = {*names}, caption.objects
        wrong = [name for name in said if name not in there]
        found = [name for name in dict.fromkeys(said) if name in there]
        # equations 1 and 2, and what the published script prints: a part and a whole for each score
        counts.append((len(wrong), len(said), len(wrong) > 0, 1, len(found), len(there), caption.length, 1))
        if per_image:
            each.append(
                {
                    "mentions": [*map(list, caption.mentions)],
                    "places": caption.places,
                    "found": found,
                    "hallucinated": [*dict.fromkeys(wrong)],
                    "missed": sorted(there.difference(said)),
                    "chair_s": bool(wrong),
                }
            )
    columns = np.array(counts, dtype=np.int64).T
    named = ("chair_i", "chair_s", "recall", MEAN_WORDS)
    tally = dict(zip(named, zip(columns[::2], columns[1::2], strict=True), strict=True))
    result: dict[str, Any] = scores([tally]) | {"images": len(captions)}
    if listing := _image_list(image_ids or ()):
        result["image_list"] = listing
    result |= {
        **unfinished,
        **heard.counts(),
        "signature": signature(
            "chair",
            data=data_of_objects("coco", references, image_ids),
            synonyms=listed,
            lemmas=chosen.version,
            **form,
            **unfinished,
            **choice(thoughts),
            interval=resampling.over("images"),
        ),
        **uncertainty([tally], resampling, ranges={MEAN_WORDS: AMOUNT}),
    }
    return result | ({"per_image": each} if per_image else {})


class Caption(NamedTuple):
    """A caption as CHAIR reads it."""

    length: int  # the number of words and punctuation marks, with double words as one
    mentions: list[tuple[str, str]]  # (word, class) for each word that stands for a class, in order
    places: list[list[int] | None]  # the [start, end] of each mention in the text, or None if unknown

    @property
    def objects(self) -> list[str]:
        """The mentioned classes, one per mention."""
        return [name for _, name in self.mentions]


def read(
    text: str, class_of: Mapping[str, str], words_of: Callable[[str], Sequence[Word]] = lemmas.words
) -> Caption:
    """Read one caption.

    >>> read("Two baby elephants and a hot dog.", {"baby": "person", "elephant": "elephant", "dog": "dog"}).mentions
    [('elephant', 'elephant')]
    """
    words = read_words(text, words_of)
    known = [word for word in words if word.form in class_of]
    mentions = [(word.form, class_of[word.form]) for word in known]
    return Caption(len(words), mentions, [word.place for word in known])


def read_words(text: str, words_of: Callable[[str], Sequence[Word]] = lemmas.words) -> list[Word]:
    """Return a caption's words and punctuation marks in their dictionary forms, with double words as one."""
    words = _join(words_of(text))
    if "toilet" in forms_of(words):  # a "seat" is then its seat, not a chair
        return [word for word in words if word.form != "seat"]
    return words


def _join(words: Sequence[Word]) -> list[Word]:
    """Join double words, from the left."""
    doubles, joined = _double_words(), list[int]()
    for place, pair in enumerate(pairwise(forms_of(words))):
        if pair in doubles and place - 1 not in joined[-1:]:
            joined.append(place)
    words = [*words]
    for place in reversed(joined):
        first, second = words[place : place + 2]
        words[place : place + 2] = [Word(doubles[first.form, second.form], first.start, second.end)]
    return words


def finished(text: str) -> str:
    """Return a text up to the end of its last whole sentence; "" if it has none.

    >>> finished("A dog sits. A man (tall.) A cat is"), finished("A dog.\\n"), finished("A dog")
    ('A dog sits. A man (tall.)', 'A dog.\\n', '')
    """
    last = max((found.end() for found in _END.finditer(text)), default=0)
    return text[:last] if text[last:].strip() else text


def _image_list(image_ids: Sequence[object]) -> str | None:
    """Return the name of a published list of exactly these images; None if it is none that is known."""
    import hashlib

    named = "\n".join(sorted(map(str, image_ids)))
    digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:12]
    found: str | None = vocabularies.read_toml(__file__, "images.toml").get(digest)
    return found


@cache
def _double_words() -> dict[tuple[str, ...], str]:
    """Return two words -> the word that is read in their place."""
    table = vocabularies.read_toml(__file__, "double_words.toml")
    joined = {words: words for words in table["joined"]}
    for modified in table["modified"].values():
        joined |= {f"{by} {word}": word for by in modified["by"] for word in modified["words"]}
    return {tuple(words.split()): word for words, word in (joined | table["read_as"]).items()}


def load_synonyms(path: str | Path | None = None, allow_other: bool = False) -> tuple[str, dict[str, str]]:
    """Return the synonym list's name, "official" or "other-" with a digest, and word or double word -> class.

    The list has one line per class, with the class name first. Words are separated by a comma and one space, as in the
    published script. So a word after two spaces keeps one and is never found (" motor bike", " cheesecake" in the
    official list), nor is one with a capital letter ("iPhone").
    """
    from halluscope.building import fetch
    from halluscope.building.spec import Upstream

    kind("synonyms", path, str | Path | None, "the path of a synonym list, or None")
    file = path_of(path or fetch.download(Upstream(URL, SHA256), "synonyms=... (--synonyms)"))
    sha256 = fetch.sha256_of(file)
    if sha256 != SHA256 and not allow_other:
        raise ValueError(
            f"{file} is not CHAIR's synonym list: its sha256 is {sha256}, expected {SHA256} ({URL}). "
            "CHAIR scores from another list cannot be compared; pass allow_other_synonyms=True "
            "(--allow-other-synonyms) if you mean it. The signature then says so."
        )
    rows = [line.strip().split(", ") for line in read_text(file).split("\n") if line.strip()]
    classes = vocabularies.load("coco").classes
    if sorted(row[0] for row in rows) != sorted(classes):
        odd = sorted({row[0] for row in rows} ^ {*classes})
        raise ValueError(
            f"{file} has {len(rows)} lines; expected {len(classes)}, one per COCO class, with the class name first. "
            f"The first words of the lines are not COCO's {len(classes)} classes: {short_repr(odd)}."
        )
    class_of: dict[str, str] = {}
    for number, words in enumerate(rows, 1):
        for word in words:
            if class_of.setdefault(word, words[0]) != words[0]:
                raise ValueError(
                    f"{file}, class {number} ({words[0]}): {short_repr(word)} stands for {class_of[word]} already; "
                    "expected each word under one class."
                )
    return "official" if sha256 == SHA256 else f"other-{sha256[:8]}", class_of
