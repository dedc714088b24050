"""Gives words their dictionary forms exactly as published scripts do: by nltk's tokens and tags, and WordNet's forms.

Only the first letter of a tag counts; a word that is not a noun, verb, adjective or adverb is looked up as a noun. nltk
comes without its data: the user downloads them once into one of the folders that nltk searches.

Source of `words`: `caption_to_words` in the script by which captions are scored today (a fork of
LisaAnne/Hallucination, with WordNet in place of the pattern library), and the words in its published output. Source of
`nouns`: `extract_nouns` in junyangwang0410's inference.py.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from halluscope.errors import needs
from halluscope.reading.words.tokens import Word, as_written, in_forms

# The first letter of a Penn Treebank tag -> WordNet's part of speech
_PARTS = {"J": "a", "V": "v", "N": "n", "R": "r"}

_TAGGER = "averaged_perceptron_tagger_eng"
# nltk's name of a data set -> where it may be in a folder of nltk's data
_PLACES = {
    "punkt_tab": ["tokenizers/punkt_tab/english/"],
    _TAGGER: [f"taggers/{_TAGGER}/"],
    "wordnet": ["corpora/wordnet", "corpora/wordnet.zip"],
}

# The files of the data sets that do not state their version
_FILES = {
    "punkt_tab": ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"),
    _TAGGER: (f"{_TAGGER}.classes.json", f"{_TAGGER}.tagdict.json", f"{_TAGGER}.weights.json"),
}

# How nltk writes the mark " at the beginning and at the end of a quotation
_QUOTATION_MARKS = ("``", "''")

_NOT_SPACE = re.compile(r"\S")


def words(text: str) -> list[Word]:
    """Return a text's tokens in their dictionary forms, in lower case."""
    tokens, tagged = _tagged(text.lower())
    return as_written(in_forms(tokens, lemmatise(tagged)), text)


def nouns(text: str) -> list[Word]:
    """Return a text's nouns in their dictionary forms, with upper and lower case as in the text."""
    tokens, tagged = _tagged(text)
    nouns = []
    for token, (_, tag) in zip(tokens, tagged, strict=True):
        if tag.startswith("NN"):
            nouns.append(Word(_lemma(token.form, "n"), token.start, token.end))
    return nouns


def lemmatise(tagged: Sequence[tuple[str, str]]) -> list[str]:
    """Return the dictionary forms of tokens with Penn Treebank tags, such as ("geese", "NNS")."""
    return [_lemma(token, _PARTS.get(tag[:1], "n")) for token, tag in tagged]


@cache
def version() -> str:
    """Return for a signature the versions of nltk and WordNet, and a digest of each data set without a version."""
    nltk = _nltk()
    wordnet = nltk.corpus.wordnet.get_version()
    punkt = _digest("punkt_tab")
    tagger = _digest(_TAGGER)
    return f"nltk-{nltk.__version__},wordnet-{wordnet},punkt-{punkt},tagger-{tagger}"


def _tagged(text: str) -> tuple[list[Word], list[tuple[str, str]]]:
    """Return a text's tokens with their places, and with their tags."""
    nltk = _nltk()
    tokens: list[str] = nltk.word_tokenize(text)
    return _placed(tokens, text), nltk.pos_tag(tokens)


def _placed(tokens: Sequence[str], text: str) -> list[Word]:
    """Find the places of tokens in a text: each begins where the last one ended, or after white space.

    >>> _placed(["``", "dogs", "''", "can", "not"], '"dogs" cannot')[1:4]
    [Word(form='dogs', start=1, end=5), Word(form="''", start=5, end=6), Word(form='can', start=7, end=10)]
    """
    words = []
    end = 0
    for token in tokens:
        start = end
        match = _NOT_SPACE.search(text, end)
        if match is not None:
            start = match.start()
        end = start + len(token)
        if token in _QUOTATION_MARKS and text.startswith('"', start):
            end = start + 1
        words.append(Word(token, start, end))
    return words


@lru_cache(maxsize=2**16)
def _lemma(token: str, part: str) -> str:
    """Return the shortest form that WordNet allows, or the token itself if WordNet has no form."""
    form: str = _nltk().stem.WordNetLemmatizer().lemmatize(token, part)
    return form


@cache
def _nltk() -> Any:
    """Load nltk, and check that its data are there."""
    with needs("reader='nltk'", "nltk"):
        import nltk  # type: ignore[import-untyped]
    missing = []
    for name, places in _PLACES.items():
        if not any(_is_there(nltk, place) for place in places):
            missing.append(name)
    if missing:
        folders = ", ".join(str(folder) for folder in nltk.data.path)
        raise FileNotFoundError(
            f"reader='nltk' needs nltk's data {', '.join(missing)}, which are not in the folders that nltk searches "
            f"({folders}). Download them with "
            f"`python -m nltk.downloader {' '.join(missing)}`; without a network, copy the folder nltk_data from "
            "another machine, and name it in NLTK_DATA. The default reader needs no data."
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
    import hashlib

    folder = _PLACES[name][0]
    digest = hashlib.sha256()
    for file in _FILES[name]:
        with _nltk().data.find(f"{folder}{file}").open() as opened:
            digest.update(opened.read())
    return digest.hexdigest()[:8]
