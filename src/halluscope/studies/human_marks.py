"""Certifies judges against marks that people gave to texts about images of COCO, read from the user's copy.

Two sets of marks are known. HAT (in the repository of ALOHa, which states no licence): captions of COCO val2014 by
models, in which people marked the words that are hallucinated. FaithScore (Jing et al., MIT licence): answers about 30
images of COCO, divided into atomic facts, each marked 1 if the image supports it, else 0. Its README says the reverse;
its rows say this: 81 % of the facts are 1.

A mention is a class that a text has a word for (by the lexical judge's list of words alone, which takes nothing back):
in HAT a class in a caption, which is wrong if one of its words is marked; in FaithScore a fact with all classes in it.
A judge reads classes out of the text, and the annotations say whether they are in the image: it calls a mention right
if all classes that it reads are there. If it reads none of them, it says nothing of the mention.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import registry, vocabularies
from halluscope.files.opening import json_rows
from halluscope.judging import votes as voting
from halluscope.judging.lexical import LexicalJudge
from halluscope.reading import presence
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, estimate, share
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.bootstrap import METHOD
from halluscope.stats.ratios import ratio
from halluscope.stats.samples import RATES, Judged, error_rates
from halluscope.stats.tallies import Bools
from halluscope.studies.certificate import DIGEST, LEVEL, sealed
from halluscope.vocabularies import Vocabulary

HAT = "hat"
FAITHSCORE = "faithscore"
SETS = (HAT, FAITHSCORE)

FORM = "halluscope certificate by marks of people 1"
ALL = "all"
OTHER_FACTS = "other facts"
EXISTENCE = "existence"  # FaithScore's facts "There is ..."

MEANING = {
    "false_yes": "of the mentions that people call wrong, the share that the judge calls right",
    "false_no": "of the mentions that people call right, the share that the judge calls wrong",
    "wrong_yes": "of the mentions that the judge calls right, the share that people call wrong",
    "silent": "the share of mentions of which the judge reads no class; the other shares leave them out",
}

WORDS = (
    "with --marks: read words as CHAIR does, by its list of synonyms (synonyms.txt of its repository), instead of "
    "asking judges"
)

_EXISTENCE = re.compile(r"There (?:is|are|was|were)\b", re.IGNORECASE)
_IMAGE = re.compile(r"(?:.*_)?0*(\d+)(?:\.\w+)?")  # COCO_val2014_000000016903.jpg, 000000525439


@dataclass(frozen=True)
class Mention:
    """Classes that a text names, and what people say."""

    image: int  # its id in COCO
    text: str
    classes: Sequence[str]
    is_right: bool  # by people
    kind: str


# Reading people's marks


def read_marks(path: Path, kind: str, vocabulary: Vocabulary) -> list[Mention]:
    """Read the mentions of a vocabulary's classes in a file of HAT or FaithScore."""
    reader = LexicalJudge(vocabulary)
    mentions: list[Mention] = []
    for where, row in json_rows(path):
        try:
            if kind == HAT:
                mentions += _of_caption(row, reader, vocabulary)
            else:
                mentions += _of_answer(row, reader)
        except (KeyError, TypeError, ValueError, AttributeError):
            expected = 'an object with image_path, and in grounding a list of ["word", is it hallucinated]'
            if kind == FAITHSCORE:
                expected = "an object with id, and in 'stage 2' an object of facts, each 1 (right) or 0"
            raise ValueError(f"{where}: expected {expected}; got {short_repr(row, 120)}.") from None
    if not mentions:
        raise ValueError(
            f"{path} names no class of the vocabulary {vocabulary.name!r}; expected the file of {kind}."
        )
    return mentions


def _of_caption(row: Any, reader: LexicalJudge, vocabulary: Vocabulary) -> Iterator[Mention]:
    """Yield the classes of a caption of HAT; the kind is the class's group."""
    text = ""
    marked_at = []  # of each character, whether its word is marked
    for word, is_hallucinated in row["grounding"]:
        if is_hallucinated not in (True, False):
            raise ValueError
        text += f"{word} "
        marked_at += [is_hallucinated] * len(word) + [False]
    is_wrong: dict[str, bool] = {}
    for mention in reader.mentions(text):
        is_marked = any(marked_at[mention.start : mention.end])
        is_wrong[mention.object] = is_wrong.get(mention.object, False) or is_marked
    for name in is_wrong:
        yield Mention(_image(row["image_path"]), text, [name], not is_wrong[name], _group(name, vocabulary))


def _of_answer(row: Any, reader: LexicalJudge) -> Iterator[Mention]:
    """Yield the facts of an answer of FaithScore that name classes."""
    for fact, mark in row["stage 2"].items():
        if mark not in (0, 1):
            raise ValueError
        classes = sorted({mention.object for mention in reader.mentions(fact)})
        if classes:
            kind = OTHER_FACTS
            if _EXISTENCE.match(fact):
                kind = EXISTENCE
            yield Mention(_image(row["id"]), fact, classes, bool(mark), kind)


def _image(name: str) -> int:
    """Return the id of an image of COCO by its file's name or its digits."""
    match = _IMAGE.fullmatch(name.rpartition("/")[2])
    if match is None:
        raise ValueError
    return int(match[1])


def _group(name: str, vocabulary: Vocabulary) -> str:
    for group, members in vocabulary.groups.items():
        if name in members:
            return group
    return vocabulary.name


def objects_in_images(
    mentions: Sequence[Mention], dataset: Sequence[str], vocabulary: Vocabulary
) -> dict[int, frozenset[str]]:
    """Return the classes in each image by a dataset's annotations, which have all images of the mentions."""
    objects = {}
    for row in presence.load(dataset, vocabulary):
        objects[row.image_id] = frozenset(row.objects)
    lacking = sorted({mention.image for mention in mentions if mention.image not in objects})
    if lacking:
        raise ValueError(
            f"{', '.join(dataset)} lacks {len(lacking):,} of the images that people's marks are about, such as "
            f"{lacking[0]}. Expected annotations of COCO's train and val images (2014 has all): --dataset "
            "instances_train2014.json instances_val2014.json."
        )
    return objects


# Judges


@dataclass(frozen=True)
class Read:
    """Which classes a judge reads out of texts."""

    judges: Sequence[str]
    classes: Mapping[str, frozenset[str]]  # by text


def by_votes(mentions: Sequence[Mention], options: Mapping[str, Any]) -> Read:
    """Ask judges that vote about the named classes; the options are those of THRONE's metric."""
    throne: Any = registry.benchmark("throne")
    chosen = throne.chosen(options)
    vocabulary = vocabularies.load(chosen.vocabulary)
    named: dict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        named[mention.text].update(mention.classes)
    texts = list(named)
    is_named: Bools = vocabulary.presence([sorted(named[text]) for text in texts])
    poll = chosen.collect_votes(texts, is_named, vocabulary, chosen.question_set, only_present=True)
    yes, no = voting.count(poll.votes)
    says_yes = (voting.label(yes, no, poll.k) == voting.YES) & is_named
    names = np.array(vocabulary.classes)
    classes = {}
    for text, cells in zip(texts, says_yes, strict=True):
        classes[text] = frozenset(names[cells].tolist())
    return Read(poll.judges, classes)


def by_words(mentions: Sequence[Mention], synonyms: Path) -> Read:
    """Read words as CHAIR does, by the official list of synonyms."""
    texts = list(dict.fromkeys(mention.text for mention in mentions))
    chair = registry.benchmark("chair").module("metric")
    result = chair.compute(texts, [[] for _ in texts], synonyms=str(synonyms), per_image=True, bootstrap=0)
    classes = {}
    for text, row in zip(texts, result["per_image"], strict=True):
        classes[text] = frozenset(row["hallucinated"])  # all that is read, since no image has anything
    return Read(["CHAIR's words"], classes)


# The certificate


def certify(
    marks: str, mentions: Sequence[Mention], objects: Mapping[int, frozenset[str]], read: Read
) -> Json:
    """Return how often a judge errs about mentions, in all and by kind; intervals leave out images.

    Returns:
        `rates`: kind -> `mentions`, `images`, `right` (by people), `silent`, and `false_yes`, `false_no` and
        `wrong_yes`, each with its interval; fractions in [0, 1], NaN where undefined.
    """
    judged = _table(mentions, objects, read)
    kinds = _kinds(mentions)
    among = {}
    for name, cells in kinds.items():
        among[name] = judged.among(cells)
    rates = {}
    for name, rate in error_rates(among, LEVEL).items():
        of_kind = [mention for mention in mentions if name in (ALL, mention.kind)]
        rates[name] = {
            "mentions": len(of_kind),
            "images": len({mention.image for mention in of_kind}),
            "right": sum(mention.is_right for mention in of_kind),
            "silent": float(ratio(len(of_kind) - rate["labels"], len(of_kind))),
        }
        for name_of_rate in RATES:
            rates[name][name_of_rate] = rate[name_of_rate]
    lines = []
    for mention in mentions:
        lines.append([mention.image, mention.text, *mention.classes, int(mention.is_right)])
    return sealed(
        {
            "form": FORM,
            "marks": marks,
            "data": data_of(marks, lines),
            "judges": list(read.judges),
            "rates": rates,
            "interval": f"{LEVEL:g},{METHOD},images",
        }
    )


def _table(mentions: Sequence[Mention], objects: Mapping[int, frozenset[str]], read: Read) -> Judged:
    """Return what the judge and people say, a row per image; mentions of which the judge says nothing weigh 0."""
    rows, columns, shape = _places(mentions)
    is_right = np.zeros(shape, dtype=bool)
    is_right_by_people = np.zeros(shape, dtype=bool)
    weights = np.zeros(shape)
    for mention, row, column in zip(mentions, rows, columns, strict=True):
        classes = read.classes[mention.text] & set(mention.classes)
        is_right[row, column] = classes <= objects[mention.image]
        is_right_by_people[row, column] = mention.is_right
        weights[row, column] = bool(classes)
    return Judged(is_right, is_right_by_people, weights)


def _kinds(mentions: Sequence[Mention]) -> dict[str, Bools]:
    """Return the places of all mentions, and of those of each kind."""
    rows, columns, shape = _places(mentions)
    kinds = {ALL: np.ones(shape, dtype=bool)}
    for mention, row, column in zip(mentions, rows, columns, strict=True):
        kinds.setdefault(mention.kind, np.zeros(shape, dtype=bool))[row, column] = True
    return kinds


def _places(mentions: Sequence[Mention]) -> tuple[list[int], list[int], tuple[int, int]]:
    """Return each mention's row, one per image, and column, and how many there are."""
    row_of: dict[int, int] = {}
    lengths: list[int] = []
    rows = []
    columns = []
    for mention in mentions:
        row = row_of.setdefault(mention.image, len(row_of))
        if row == len(lengths):
            lengths.append(0)
        rows.append(row)
        columns.append(lengths[row])
        lengths[row] += 1
    return rows, columns, (len(lengths), max(lengths))


def report(content: Json) -> Report:
    """Return a table of the judge's errors by kind, and notes."""
    rates = content["rates"]
    rows: list[list[Cell]] = []
    for kind, rate in rates.items():
        cells: list[Cell] = [kind, rate["images"], rate["mentions"], rate["right"]]
        cells += [estimate(rate[name]) for name in RATES]
        cells.append(share(rate["silent"]))
        rows.append(cells)
    header = ["kind", "images", "mentions", "people: right"]
    header += RATES
    header.append("silent")
    judges = ", ".join(content["judges"])
    lines = [f"{name}: {meaning}, in percent" for name, meaning in MEANING.items()]
    lines.append(f"certificate: {content[DIGEST]}")
    return [
        Notes([f"{judges}, against people's marks of {content['data']}"]),
        Table("by kind", header, rows, intervals=RATES),
        Notes(lines),
    ]
