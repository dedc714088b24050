"""CHAIR's reader "nltk": the real nltk on data of our own making, and on WordNet 3.0 where Debian's files are."""

import gzip
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import lemminflect
import nltk
import pytest
from nltk.corpus.reader import WordNetCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from halluscope.benchmarks.amber import metric as amber
from halluscope.benchmarks.chair import metric as chair
from halluscope.benchmarks.openchair import metric as openchair
from halluscope.mentions import synonyms
from halluscope.reading.words import lemmas, nltk_words, readers
from halluscope.reading.words.tokens import forms_of
from halluscope.signature import keys_of
from halluscope.vocabularies import load

pytestmark = pytest.mark.filterwarnings("ignore:The multilingual functions")

WORDNET = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
"""Where WordNet's own tools look, and Debian's wordnet-base puts WordNet 3.0."""

NOUNS = ["man", "men", "dog", "goose", "ski", "skiing", "seat", "seating", "train", "bench", "area", "trip"]
VERBS = ["ski", "seat", "be", "train"]
ADJECTIVES = ["ample"]


def make_tagger(data: Path, tags: Mapping[str, str], classes: list[str]) -> None:
    """A tagger that gives known words their tag, and others the last of the classes."""
    folder = data / "taggers/averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (("weights", {}), ("tagdict", dict(tags)), ("classes", classes)):
        (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(table))


def make_punkt(data: Path, abbreviations: str = "st\nu.s") -> None:
    """A sentence splitter that knows a few abbreviations."""
    folder = data / "tokenizers/punkt_tab/english"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("collocations.tab", "ortho_context.tab", "sent_starters.txt"):
        (folder / name).write_text("")
    (folder / "abbrev_types.txt").write_text(abbreviations)


def make_wordnet(data: Path) -> None:
    """A WordNet in its own format: a synset per word, each at the offset of its number."""
    folder = data / "corpora/wordnet"
    folder.mkdir(parents=True)
    (folder / "lexnames").write_text("00\tall\t1\n")
    for name in ("cntlist.rev", "index.sense", "adj.exc", "adv.exc", "index.adv", "data.adv"):
        (folder / name).write_text("")
    (folder / "noun.exc").write_text("geese goose\nmen man\n")
    (folder / "verb.exc").write_text("is be\n")
    for part, forms in (("noun", NOUNS), ("verb", VERBS), ("adj", ADJECTIVES)):
        lines = [f"{word} {part[0]} 1 0 1 0 {place:08}  \n" for place, word in enumerate(forms)]
        (folder / f"index.{part}").write_text("".join(lines))
        (folder / f"data.{part}").write_text("  1 WordNet 3.0 Copyright 2006 by nobody\n")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make an empty data folder, the only one where nltk looks, and clear nltk's cache before and after."""
    folder = tmp_path / "nltk_data"
    folder.mkdir()
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    monkeypatch.setattr(nltk.corpus, "wordnet", LazyCorpusLoader("wordnet", WordNetCorpusReader, None))
    forget()
    yield folder
    forget()


def forget() -> None:
    nltk.tag._get_tagger.cache_clear()
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    for cached in (nltk_words._nltk, nltk_words._lemma, nltk_words.version):
        cached.cache_clear()


@pytest.fixture
def made(data: Path) -> Path:
    """Data of our own making."""
    make_punkt(data)
    make_tagger(data, {"skiing": "VBG", "is": "VBZ", "seated": "VBN", "the": "DT", "ample": "JJ"}, ["NN"])
    make_wordnet(data)
    return data


@pytest.fixture
def wordnet(data: Path) -> Path:
    """WordNet 3.0's files, with a splitter and a tagger of our own, for which every word is a noun."""
    if not (WORDNET / "data.noun").exists():
        pytest.skip(
            f"install Debian's wordnet-base to run this: there is no WordNet 3.0 in {WORDNET} ($WNSEARCHDIR)"
        )
    make_punkt(data)
    make_tagger(data, {}, ["NN"])
    shutil.copytree(WORDNET, data / "corpora/wordnet")
    # Debian leaves out a table of the lexicographers' files and an index by sense, which no dictionary form needs.
    (data / "corpora/wordnet/lexnames").write_text("".join(f"{n:02}\tfile{n}\t1\n" for n in range(45)))
    (data / "corpora/wordnet/index.sense").touch()
    return data


# Tokens with tags as the tagger gives them, and their dictionary forms by WordNet 3.0.
TAGGED = [
    ("two/CD men/NNS skiing/VBG", "two men ski"),
    ("their/PRP$ skiing/NN trip/NN", "their skiing trip"),
    ("to/TO the/DT seating/VBG area/NN", "to the seat area"),
    ("ample/JJ seating/NN", "ample seating"),
    ("geese/NNS geese/JJ geese/VBP", "goose geese geese"),
    ("he/PRP is/VBZ seated/VBN", "he be seat"),
    ("train/VB trains/VBZ trains/NNS training/NN training/VBG", "train train train training train"),
    ("skis/NNS benches/NNS", "ski bench"),
    (",/, ``/`` ''/''", ", `` ''"),
]


def tagged(text: str) -> list[tuple[str, str]]:
    return [(token, tag) for token, _, tag in (pair.rpartition("/") for pair in text.split())]


@pytest.mark.parametrize("folder", ["made", "wordnet"])
def test_recorded_tags(folder: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(folder)
    for given, expected in TAGGED:
        if folder == "made" and "training" in given:
            continue  # the small WordNet has no such noun
        assert nltk_words.lemmatise(tagged(given)) == expected.split(), given


def test_a_text_through_nltk(made: Path) -> None:
    text = 'The men on St. Mary\'s bench: "a man is skiing." Geese!'
    expected = "the men on st. mary 's bench : `` a man be ski . '' goose !"
    assert forms_of(nltk_words.words(text)) == expected.split()
    assert nltk_words.words("") == []
    places = [text[word.start : word.end] for word in nltk_words.words(text)]
    assert places[3:6] == ["St.", "Mary", "'s"] and places[-2:] == ["Geese", "!"]


def test_amber_reads_the_text_as_it_stands_and_openchair_in_lower_case(made: Path) -> None:
    """As each script does: in AMBER's, "MAN" is a noun that WordNet has not."""
    row = {"id": 1, "file_name": "1.jpg", "prompt": "-", "task": "generative", "dimension": "generation"}
    row |= {"answer": None, "truth": ["man"], "hallu": []}
    text = "The MAN near the man is seated."
    described = amber.compute([text], [row], reader="nltk", convention="official", per_row=True)
    assert described["per_row"][0]["mentions"] == ["man"]
    assert keys_of(described["signature"])["nouns"] == nltk_words.version()
    captioned = openchair.compute([text], ["-"], reader="nltk", judges="lexical", per_image=True)
    assert captioned["per_image"][0]["nouns"][0::2] == ["man", "man"]


def test_the_signature_names_what_reads(made: Path) -> None:
    version = readers.load("nltk", readers.WORDS).version
    parts = dict(part.split("-", 1) for part in version.split(","))
    assert parts["nltk"] == nltk.__version__ and parts["wordnet"] == "3.0"
    assert len(parts["punkt"]) == len(parts["tagger"]) == 8
    nltk_words.version.cache_clear()
    make_tagger(made, {"dog": "JJ"}, ["NN"])
    other = dict(part.split("-", 1) for part in readers.load("nltk", readers.WORDS).version.split(","))
    assert {name for name in parts if parts[name] != other[name]} == {"tagger"}


def test_chair_by_hand(made: Path, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    spoken = {"skis": "skis, ski", "bird": "bird, goose"}
    file.write_text("\n".join(spoken.get(name, name) for name in load("coco").classes))
    options = {"synonyms": file, "allow_other_synonyms": True, "reader": "nltk", "per_image": True}
    got = chair.compute(["A skiing trip, geese."], [["bird"]], **options)
    assert got["per_image"][0]["mentions"] == [["ski", "skis"], ["goose", "bird"]]
    assert keys_of(got["signature"])["lemmas"] == nltk_words.version()


@pytest.mark.parametrize("lacking", [["punkt_tab"], ["averaged_perceptron_tagger_eng", "wordnet"]])
def test_data_that_are_not_there(made: Path, lacking: list[str]) -> None:
    for name in lacking:
        (folder,) = made.glob(f"*/{name}")
        shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError) as error:
        chair.compute(["A dog."], [["dog"]], reader="nltk", synonyms="not even looked at")
    assert f"python -m nltk.downloader {' '.join(lacking)}`" in str(error.value)


@pytest.mark.long
def test_the_default_reader_has_the_forms_of_wordnet(wordnet: Path, upstream: Path) -> None:
    """The class of each word that lemminflect knows, as a noun, and as a verb where it is no plural.

    "bore" and "crew" are nouns first; a "sunken" ship is not a sink.
    """
    class_of = synonyms.load(upstream / "chair/synonyms.txt").class_of
    table = Path(str(lemminflect.__file__)).parent / "resources/lemma_lu.csv.gz"
    with gzip.open(table, "rt", encoding="utf-8") as lines:
        known = {line.split(",")[0].lower() for line in lines}
    different = set()
    for token in (token for token in known if token.isascii() and token.isalpha()):
        readings = lemmas._readings(token)
        pairs = [(readings.noun, "NN"), (readings.verb, "VB")][: 1 if readings.noun != token else 2]
        forms = [(form, nltk_words.lemmatise([(token, tag)])[0]) for form, tag in pairs]
        different |= {token for mine, theirs in forms if class_of.get(mine) != class_of.get(theirs)}
    assert different == {"bore", "crew", "sunken"}
