"""Certifies judges against marks that people gave to texts, read from the user's copy.

Cases are texts of which people say whether each says that an object is in the image: JSON lines {text, class, answer,
[kind]}, answer yes or no. A judge is right if it says what people say.

Two sets of marks about images of COCO are known. HAT (in the repository of ALOHa, which states no licence): captions of
COCO val2014 by models, in which people marked the words that are hallucinated. FaithScore (Jing et al., MIT licence):
answers about 30 images of COCO, divided into atomic facts, each marked 1 if the image supports it, else 0. Its README
says the reverse; its rows say this: 81 % of the facts are 1.

A mention is a class that a text has a word for (by the lexical judge's list of words alone, which takes nothing back):
in HAT a class in a caption, which is wrong if one of its words is marked; in FaithScore a fact with all classes in it.
A judge reads classes out of the text, and the annotations say whether they are in the image: it calls a mention right
if all classes that it reads are there. If it reads none of them, it says nothing of the mention.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import registry, vocabularies
from halluscope.files.opening import json_rows
from halluscope.judging import votes as voting
from halluscope.judging.cache import cache_of
from halluscope.judging.lexical import LexicalJudge
from halluscope.judging.models.engine import LIKELIER
from halluscope.reading import presence
from halluscope.reporting.tables import Cell, Json, Notes, Report, Table, estimate, gap, percent, share
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.bootstrap import METHOD
from halluscope.stats.ratios import ratio
from halluscope.stats.samples import RATES, Judged, error_rates
from halluscope.stats.tallies import Bools
from halluscope.studies import thresholds
from halluscope.studies.certificate import DIGEST, LEVEL, sealed
from halluscope.studies.judgement import margins_of
from halluscope.vocabularies import Vocabulary

HAT = "hat"
FAITHSCORE = "faithscore"
CASES = "cases"
SETS = (HAT, FAITHSCORE, CASES)

FORM = "halluscope certificate by marks of people 1"
ALL = "all"
OTHER_FACTS = "other facts"
NO_KIND = "no kind"  # of a case
EXISTENCE = "existence"  # FaithScore's facts "There is ..."

MEANING = {
    "false_yes": "of the mentions that people call wrong, the share that the judge calls right",
    "false_no": "of the mentions that people call right, the share that the judge calls wrong",
    "wrong_yes": "of the mentions that the judge calls right, the share that people call wrong",
    "silent": "the share of mentions of which the judge reads no class; these three shares leave them out, and in "
    "agree it is a mistake",
}
MEANING_OF_CASES = {
    "false_yes": "of the cases that people answer with no, the share to which the judge says yes",
    "false_no": "of the cases that people answer with yes, the share to which the judge does not say yes",
    "wrong_yes": "of the cases to which the judge says yes, the share that people answer with no",
}

WORDS = (
    "with --marks: read words as CHAIR does, by its list of synonyms (synonyms.txt of its repository), instead of "
    "asking judges"
)

_EXISTENCE = re.compile(r"There (?:is|are|was|were)\b", re.IGNORECASE)
_IMAGE = re.compile(r"(?:.*_)?0*(\d+)(?:\.\w+)?")  # COCO_val2014_000000016903.jpg, 000000525439


@dataclass(frozen=True)
class Mention:
    """Classes that a text names, and what people say; or a case."""

    image: int | str  # its id in COCO; of a case, the text
    text: str
    classes: Sequence[str]
    is_right: bool  # by people; of a case, whether they answer with yes
    kind: str


# Reading people's marks


def read_marks(path: Path, kind: str, vocabulary: Vocabulary) -> list[Mention]:
    """Read the mentions of a vocabulary's classes in a file of HAT or FaithScore."""
    reader = LexicalJudge(vocabulary)
    mentions: list[Mention] = []
    for where, row in json_rows(path):
        try:
            if kind == CASES:
                mentions.append(_case(row, vocabulary))
            elif kind == HAT:
                mentions += _of_caption(row, reader, vocabulary)
            else:
                mentions += _of_answer(row, reader)
        except (KeyError, TypeError, ValueError, AttributeError):
            expected = 'an object with image_path, and in grounding a list of ["word", is it hallucinated]'
            if kind == FAITHSCORE:
                expected = "an object with id, and in 'stage 2' an object of facts, each 1 (right) or 0"
            if kind == CASES:
                expected = (
                    f"an object with text, class (of the vocabulary {vocabulary.name!r}), answer (yes or no) and "
                    "perhaps kind"
                )
            raise ValueError(f"{where}: expected {expected}; got {short_repr(row, 120)}.") from None
    if not mentions:
        raise ValueError(
            f"{path} names no class of the vocabulary {vocabulary.name!r}; expected the file of {kind}."
        )
    return mentions


def _case(row: Any, vocabulary: Vocabulary) -> Mention:
    text = row["text"]
    name = row["class"]
    kind = row.get("kind", NO_KIND)
    is_known = name in vocabulary.classes and row["answer"] in ("yes", "no")
    if not is_known or not isinstance(text, str) or not isinstance(kind, str):
        raise ValueError
    return Mention(text, text, [name], row["answer"] == "yes", kind)


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
) -> dict[int | str, frozenset[str]]:
    """Return the classes in each image by a dataset's annotations, which have all images of the mentions."""
    objects: dict[int | str, frozenset[str]] = {}
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
    # By text and class the threshold below which the judge reads the class: so many of its margins are above it as
    # votes must agree. Only for a judge `likelier:MODEL` alone; else empty.
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    unreadable: float | None = None  # the share of votes that are neither yes nor no; None without votes

    def above(self, threshold: float) -> "Read":
        """Return what a judge with margins reads at another threshold."""
        classes = {}
        for text, margins in self.margins.items():
            classes[text] = frozenset(name for name, margin in margins.items() if margin > threshold)
        return Read(self.judges, classes)


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
    is_vote = poll.votes != voting.UNASKED
    unreadable = float(ratio((poll.votes == voting.OTHER).sum(), is_vote.sum()))
    margins: dict[str, dict[str, float]] = {}
    if len(poll.judges) == 1 and f":{LIKELIER}=" in poll.judges[0]:
        margins = _margins(texts, is_named, vocabulary, chosen, poll)
    return Read(poll.judges, classes, margins, unreadable)


def _margins(
    texts: Sequence[str], is_named: Bools, vocabulary: Vocabulary, chosen: Any, poll: voting.VoteResult
) -> dict[str, dict[str, float]]:
    """Return the margins of `Read` that the cache holds; {} unless it has one for every vote."""
    with closing(cache_of(chosen.store)) as cache:
        of_templates = margins_of(poll.judges[0], texts, chosen.question_set, vocabulary, cache)
    deciding = np.sort(np.stack(of_templates, axis=-1), axis=-1)[:, :, -poll.k]  # NaN comes last
    margins: dict[str, dict[str, float]] = {}
    for text, cells, is_cell in zip(texts, deciding, is_named, strict=True):
        if np.isnan(cells[is_cell]).any():
            return {}
        margins[text] = {}
        for number in np.flatnonzero(is_cell).tolist():
            margins[text][vocabulary.classes[number]] = float(cells[number])
    return margins


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
    marks: str,
    mentions: Sequence[Mention],
    objects: Mapping[int | str, frozenset[str]] | None,
    read: Read,
) -> Json:
    """Return how often a judge errs about mentions, in all and by kind; intervals leave out images, or texts of cases.

    Args:
        marks: one of `SETS`.
        mentions: what people say.
        objects: the classes in each image; None for cases.
        read: what the judge reads.

    Returns:
        `rates`: kind -> `mentions`, `images`, `right` (by people), `silent`, and `false_yes`, `false_no`, `wrong_yes`
        and `thresholds.SHARES`, each with its interval; fractions in [0, 1], NaN where undefined. `threshold` is what
        `thresholds.chosen` returns for a judge with margins, else None.
    """
    lines = []
    for mention in mentions:
        lines.append([mention.image, mention.text, *mention.classes, int(mention.is_right)])
    threshold = None
    if read.margins:
        threshold = _threshold(mentions, objects, read)
    cluster = "texts" if marks == CASES else "images"
    return sealed(
        {
            "form": FORM,
            "marks": marks,
            "data": data_of(marks, lines),
            "judges": list(read.judges),
            "unreadable": read.unreadable,
            "rates": _rates(mentions, _says(mentions, objects, read)),
            "threshold": threshold,
            "interval": f"{LEVEL:g},{METHOD},{cluster}",
        }
    )


def _says(
    mentions: Sequence[Mention], objects: Mapping[int | str, frozenset[str]] | None, read: Read
) -> list[bool | None]:
    """Return what the judge says of each mention: right or wrong, None for nothing; of a case: yes or no."""
    says: list[bool | None] = []
    for mention in mentions:
        classes = read.classes[mention.text] & set(mention.classes)
        if objects is None:
            says.append(bool(classes))
        elif classes:
            says.append(classes <= objects[mention.image])
        else:
            says.append(None)
    return says


def _rates(mentions: Sequence[Mention], says: Sequence[bool | None]) -> dict[str, Json]:
    """Return how often the judge errs, in all and by kind."""
    is_yes = _are_right(mentions)
    is_agreed = _are_agreed(mentions, says)
    rates: dict[str, Json] = {}
    for kind, errors in error_rates(_judged_by_kind(mentions, says), LEVEL).items():
        rows = [row for row, mention in enumerate(mentions) if kind in (ALL, mention.kind)]
        images = [mentions[row].image for row in rows]
        rates[kind] = {
            "mentions": len(rows),
            "images": len(set(images)),
            "right": int(is_yes[rows].sum()),
            "silent": float(ratio(len(rows) - errors["labels"], len(rows))),
        }
        for name in RATES:
            rates[kind][name] = errors[name]
        rates[kind].update(thresholds.shares(is_agreed[rows], is_yes[rows], images, LEVEL))
    return rates


def _are_right(mentions: Sequence[Mention]) -> Bools:
    """Return whether people call each mention right, or answer each case with yes."""
    return np.array([mention.is_right for mention in mentions])


def _are_agreed(mentions: Sequence[Mention], says: Sequence[bool | None]) -> Bools:
    """Return whether the judge says of each mention what people say."""
    pairs = zip(mentions, says, strict=True)
    return np.array([said is not None and said == mention.is_right for mention, said in pairs])


def _threshold(
    mentions: Sequence[Mention], objects: Mapping[int | str, frozenset[str]] | None, read: Read
) -> Json:
    def agreed_at(threshold: float) -> Bools:
        return _are_agreed(mentions, _says(mentions, objects, read.above(threshold)))

    margins: list[float] = []
    for of_text in read.margins.values():
        margins += of_text.values()
    images = [mention.image for mention in mentions]
    return thresholds.chosen(agreed_at, margins, _are_right(mentions), images, LEVEL)


def _judged_by_kind(mentions: Sequence[Mention], says: Sequence[bool | None]) -> dict[str, Judged]:
    """Return what the judge and people say, in all and by kind.

    A table has a row per image, which holds its mentions from the left. Mentions of other kinds, and those of which the
    judge says nothing, weigh 0.
    """
    row_of: dict[int | str, int] = {}
    count_in: Counter[int] = Counter()  # how many mentions a row has
    cells = []
    for mention in mentions:
        row = row_of.setdefault(mention.image, len(row_of))
        cells.append((row, count_in[row]))
        count_in[row] += 1
    shape = (len(row_of), max(count_in.values()))
    is_right = np.zeros(shape, dtype=bool)
    is_right_by_people = np.zeros(shape, dtype=bool)
    weights = np.zeros(shape)
    cells_of = {ALL: np.ones(shape, dtype=bool)}
    for cell, mention, said in zip(cells, mentions, says, strict=True):
        is_right[cell] = bool(said)
        is_right_by_people[cell] = mention.is_right
        weights[cell] = said is not None
        cells_of.setdefault(mention.kind, np.zeros(shape, dtype=bool))[cell] = True
    judged = Judged(is_right, is_right_by_people, weights)
    return {kind: judged.among(is_of_kind) for kind, is_of_kind in cells_of.items()}


def report(content: Json) -> Report:
    """Return a table of the judge's errors by kind, its threshold if it has margins, and notes."""
    is_cases = content["marks"] == CASES
    header = ["kind", "images", "mentions", "people: right"]
    meaning = MEANING
    if is_cases:
        header = ["kind", "texts", "cases", "people: yes"]
        meaning = MEANING_OF_CASES
    header += thresholds.SHARES
    header += RATES
    if not is_cases:
        header.append("silent")
    rows: list[list[Cell]] = []
    for kind, rate in content["rates"].items():
        cells: list[Cell] = [kind, rate["images"], rate["mentions"], rate["right"]]
        cells += _shares(rate)
        cells += [estimate(rate[name]) for name in RATES]
        if not is_cases:
            cells.append(share(rate["silent"]))
        rows.append(cells)
    intervals = thresholds.SHARES + RATES
    judges = ", ".join(content["judges"])
    lines = []
    for meanings in (thresholds.MEANING, meaning):
        lines += [f"{name}: {meant}" for name, meant in meanings.items()]
    lines.append("shares are in percent")
    if content["unreadable"]:
        lines.append(
            f"votes that are neither yes nor no: {percent(content['unreadable'])} % (not counted as yes)"
        )
    lines.append(f"certificate: {content[DIGEST]}")
    blocks: list[Table | Notes] = [
        Notes([f"{judges}, against people's marks of {content['data']}"]),
        Table("by kind", header, rows, intervals=intervals),
    ]
    threshold = content["threshold"]
    if threshold:
        blocks.append(_threshold_table(threshold))
        lines.append(
            "threshold: of log P(yes) - log P(no), in nats, chosen on one half and measured on the other; to use it: "
            f"--judges likelier={threshold['threshold']:g}:MODEL"
        )
    blocks.append(Notes(lines))
    return blocks


def _shares(rate: Json) -> list[Cell]:
    gain = rate[thresholds.GAIN]
    return [
        estimate(rate[thresholds.AGREE]),
        estimate(rate[thresholds.MAJORITY]),
        gap(gain["value"], is_points=False, ends=(gain["low"], gain["high"])),
    ]


def _threshold_table(threshold: Json) -> Table:
    row: list[Cell] = [f"{threshold['threshold']:g}", threshold["chosen_on"], threshold["measured_on"]]
    row += _shares(threshold)
    header = ["threshold", "chosen on", "measured on"]
    header += thresholds.SHARES
    return Table("threshold", header, [row], intervals=thresholds.SHARES)
