"""Gives words their dictionary form by the very means of published scripts: nltk's tokens and tags, WordNet's forms.

Of a tag its first letter counts; what is no noun, verb, adjective or adverb is looked up as a noun. nltk comes without
its data: the user brings them once, and they are looked for where nltk looks.

Source of `words`: `caption_to_words` in the script by which captions are scored today (a fork of
LisaAnne/Hallucination, with WordNet in place of the pattern library), and the words in the output that it published. Of
`nouns`: `extract_nouns` in junyangwang0410's inference.py.
"""

import hashlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from halluscope.errors import MissingExtra

_PARTS = {"J": "a", "V": "v", "N": "n", "R": "r"}
"""The first letter of a Penn Treebank tag -> WordNet's part of speech."""

_TAGGER = "averaged_perceptron_tagger_eng"
_PLACES = {
    "punkt_tab": ["tokenizers/punkt_tab/english/"],
    _TAGGER: [f"taggers/{_TAGGER}/"],
    "wordnet": ["corpora/wordnet", "corpora/wordnet.zip"],
}
"""What nltk calls its data -> where it may lie in a folder of data."""

_FILES = {
    "punkt_tab": ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"),
    _TAGGER: tuple(f"{_TAGGER}.{name}.json" for name in ("classes", "tagdict", "weights")),
}
"""The files of data that do not name their version."""


def words(text: str) -> list[str]:
    """The dictionary forms of a text's tokens, in lower case.

    Raises:
        MissingExtra: without nltk.
        FileNotFoundError: without its data.
    """
    nltk = _nltk()
    return lemmatise(nltk.pos_tag(nltk.word_tokenize(text.lower())))


def nouns(text: str) -> list[str]:
    """The dictionary forms of a text's nouns, in the case in which they stand.

    Raises:
        MissingExtra: without nltk.
        FileNotFoundError: without its data.
    """
    nltk = _nltk()
    return [
        _lemma(token, "n") for token, tag in nltk.pos_tag(nltk.word_tokenize(text)) if tag.startswith("NN")
    ]


def common_nouns(text: str) -> list[str]:
    """The same in lower case: names count among the nouns, and no capital letter makes one of another word.

    Raises:
        MissingExtra: without nltk.
        FileNotFoundError: without its data.
    """
    return nouns(text.lower())


def lemmatise(tagged: Sequence[tuple[str, str]]) -> list[str]:
    """The dictionary forms of tokens with their Penn Treebank tags, such as ("geese", "NNS").

    Raises:
        MissingExtra: without nltk.
        FileNotFoundError: without its data.
    """
    return [_lemma(token, _PARTS.get(tag[:1], "n")) for token, tag in tagged]


@cache
def version() -> str:
    """nltk's version, WordNet's, and 8 hexadecimal digits over each of the data that name none, for a signature.

    Raises:
        MissingExtra: without nltk.
        FileNotFoundError: without its data.
    """
    nltk = _nltk()
    return ",".join(
        [
            f"nltk-{nltk.__version__}",
            f"wordnet-{nltk.corpus.wordnet.get_version()}",
            f"punkt-{_digest('punkt_tab')}",
            f"tagger-{_digest(_TAGGER)}",
        ]
    )


@lru_cache(maxsize=2**16)
def _lemma(token: str, part: str) -> str:
    """The shortest form that WordNet allows, and the token itself where it has none."""
    found: str = _nltk().stem.WordNetLemmatizer().lemmatize(token, part)
    return found


@cache
def _nltk() -> Any:
    """The library, once its data are known to be there."""
    try:
        import nltk  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("reader='nltk' needs nltk: pip install 'halluscope[nltk]'.") from error
    missing = [
        name for name, places in _PLACES.items() if not any(_is_there(nltk, place) for place in places)
    ]
    if missing:
        raise FileNotFoundError(
            f"reader='nltk' needs nltk's data {', '.join(missing)}, and there is nothing of that name in the folders "
            f"where nltk looks ({', '.join(map(str, nltk.data.path))}). Bring it with "
            f"`python -m nltk.downloader {' '.join(missing)}`; where there is no network, copy the folder nltk_data "
            "from a machine that has it, and name it in NLTK_DATA. The default reader needs no data."
        )
    nltk.corpus.wordnet.ensure_loaded()
    return nltk


def _is_there(nltk: Any, place: str) -> bool:
    try:
        nltk.data.find(place)
    except LookupError:
        return False
    return True


def _digest(name: str) -> str:
    (folder,) = _PLACES[name]
    digest = hashlib.sha256()
    for file in _FILES[name]:
        with _nltk().data.find(f"{folder}{file}").open() as opened:
            digest.update(opened.read())
    return digest.hexdigest()[:8]
