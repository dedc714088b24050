"""Reads which objects a caption mentions, word by word, as CHAIR does, and the list of words that stand for objects.

Tokens are put into their dictionary forms. Double words ("hot dog", "passenger train") become one word, so neither part
counts by itself. "seat" is dropped from a caption with "toilet". Each remaining word is looked up in the synonym list.
Context is ignored: "no dog" and "dog food" mention a dog too.

Source: Rohrbach et al., "Object Hallucination in Image Captioning" (EMNLP 2018), section 3.1, and the output of the
published script. The list is the authors' file (BSD-2-Clause), which is not part of this package: the user names it, or
it is fetched once and checked by its sha256.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import compress, pairwise
from pathlib import Path
from typing import NamedTuple

from halluscope import vocabularies
from halluscope.files.opening import check_file, read_text
from halluscope.inputs import kind
from halluscope.reading.words import lemmas
from halluscope.reading.words.tokens import Word, forms_of
from halluscope.sanitize import one_line, short_repr

URL = "https://raw.githubusercontent.com/LisaAnne/Hallucination/master/data/synonyms.txt"
SHA256 = "b685537b36fe21b791c87151b96a991ceb582edff19f3da204dcc7a7905502f2"
BYTES = 3577

# The end of a sentence, with what closes after it
_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]*]*(?=\s|\Z)")


class Caption(NamedTuple):
    """A caption as CHAIR reads it."""

    words: list[str]  # the dictionary forms, with double words as one and with punctuation marks
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
    words = _join(words_of(text))
    if "toilet" in forms_of(words):  # a "seat" is then its seat, not a chair
        words = [word for word in words if word.form != "seat"]
    known = [word for word in words if word.form in class_of]
    mentions = [(word.form, class_of[word.form]) for word in known]
    return Caption(forms_of(words), mentions, [word.place for word in known])


def _join(words: Sequence[Word]) -> list[Word]:
    """Join double words, from the left."""
    doubles, joined = _double_words(), list[int]()
    pairs = [*pairwise(forms_of(words))]
    for place in compress(range(len(pairs)), map(doubles.__contains__, pairs)):
        if place - 1 not in joined[-1:]:
            joined.append(place)
    words = [*words]
    for place in reversed(joined):
        words[place : place + 2] = [Word(doubles[pairs[place]], words[place].start, words[place + 1].end)]
    return words


def finished(text: str) -> str:
    """Return a text up to the end of its last whole sentence; "" if it has none.

    >>> finished("A dog sits. A man (tall.) A cat is"), finished("A dog.\\n"), finished("A dog")
    ('A dog sits. A man (tall.)', 'A dog.\\n', '')
    """
    last = max((found.end() for found in _END.finditer(text)), default=0)
    return text[:last] if text[last:].strip() else text


def image_list(image_ids: Iterable[object]) -> str | None:
    """Return the name of a published list of exactly these images; None if it is none that is known."""
    import hashlib

    known = vocabularies.read_toml(__file__, "images.toml")
    named = "\n".join(sorted(map(str, image_ids)))
    found: str | None = known.get(hashlib.sha256(named.encode(errors="replace")).hexdigest()[:12])
    return found


@cache
def _double_words() -> dict[tuple[str, ...], str]:
    """Return two words -> the word that is read in their place."""
    table = vocabularies.read_toml(__file__, "double_words.toml")
    joined = {words: words for words in table["joined"]}
    for modified in table["modified"].values():
        joined |= {f"{by} {word}": word for by in modified["by"] for word in modified["words"]}
    return {tuple(words.split()): word for words, word in (joined | table["read_as"]).items()}


class Synonyms(NamedTuple):
    """A synonym list."""

    name: str  # "official", or "other-<8 hexadecimal digits of the file's sha256>"
    class_of: Mapping[str, str]  # word or double word -> class


def synonyms(path: str | Path | None = None, allow_other: bool = False) -> Synonyms:
    """Read the synonym list: one line per class, with the class name first.

    Words are separated by a comma and one space, as in the published script. So a word after two spaces keeps one and
    is never found (" motor bike", " cheesecake" in the official list), nor is one with a capital letter ("iPhone").
    """
    from halluscope.building import fetch
    from halluscope.building.spec import Source

    kind("synonyms", path, str | Path | None, "the path of a synonym list, or None")
    file = Path(path or fetch.download(Source(URL, SHA256, BYTES), "synonyms=... (--synonyms)"))
    if not file.exists():
        raise FileNotFoundError(
            f"synonyms: there is no file {one_line(file, 200)}. Leave the option out to fetch the list from {URL}."
        )
    check_file(file)
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
    return Synonyms("official" if sha256 == SHA256 else f"other-{sha256[:8]}", class_of)
