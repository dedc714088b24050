"""People's labels of a sample of texts: which classes each text implies. Judges are certified against them.

They are read from a marked sheet (`halluscope study sheet make --marks implied`, which `draw_sheet` draws), or from
JSON lines {id or text, class, answer, [weight]} with a line for every class of a labelled text. A text's weight is
1 / the probability that it was drawn; without weights, each text is assumed to be equally likely to be drawn.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halluscope.files.opening import json_rows
from halluscope.judging import votes as voting
from halluscope.judging.lexical import LexicalJudge
from halluscope.options import nearest
from halluscope.sanitize import short_repr
from halluscope.stats.corrected import FEWEST_TEXTS, Sample
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.tallies import Bools
from halluscope.stats.text_draw import draw
from halluscope.studies.judgement import Judgement, digest, name_of, rows_of
from halluscope.studies.marked_sheet import Sheet, read_sheet
from halluscope.studies.sheet import (
    IMPLIED,
    NO_OTHERS,
    OTHERS,
    Entry,
    class_names,
    number,
    rows_about,
    signed,
)
from halluscope.validation import finite, whole
from halluscope.vocabularies import Vocabulary

LARGEST_WEIGHT = 1e9  # of a label: 1 / the chance that its text was drawn
ANY_OTHER = "Any other class?"


@dataclass(frozen=True)
class Labels:
    """What people say of a sample of texts."""

    name: str  # the sheet's, or "labels-" and a digest
    texts: Sequence[str]  # the digest of each text, each once
    implied: Bools  # whether people say that the text implies the class: [texts, classes]
    chances: Floats  # the probability that the text was drawn, in (0, 1]: [texts]

    def suffice(self, texts: Sequence[str]) -> bool:
        """Whether scores of the texts can be corrected by them: they are of `FEWEST_TEXTS` texts, or of all."""
        return len(self.texts) >= min(FEWEST_TEXTS, len(set(texts)))

    def sample_of(self, texts: Sequence[str]) -> Sample:
        """Return the rows of those texts that are labelled; a text in several rows has its labels in each."""
        place_of = {text: place for place, text in enumerate(self.texts)}
        rows = []
        places = []
        for row, text in enumerate(texts):
            place = place_of.get(digest(text))
            if place is not None:
                rows.append(row)
                places.append(place)
        return Sample(np.array(rows, dtype=np.int64), self.chances[places], self.implied[places])


# Drawing texts for people to label


def draw_sheet(judgement: Judgement, ids: Sequence[str], texts: int, seed: int = 0) -> list[Entry]:
    """Draw texts, each different text at most once, and make the rows of a sheet for them.

    A text is the likelier to be drawn, the more its votes disagree and its labels could be wrong
    (`stats.text_draw.draw`). There is one row per class that a judge read out of the text, or that it
    has a word for; the last row of a text asks about all others. Texts are in random order: who
    stops early has marked a random part of the sample.
    """
    first_rows = np.array(list(rows_of(judgement.texts).values()))
    whole("sample", texts, 1, len(first_rows), "a number of texts")
    rows, chances = _draw(judgement, first_rows, texts, seed)
    sample = list(zip(rows, chances, strict=True))
    random.Random(seed).shuffle(sample)
    return _entries(judgement, ids, sample)


def draw_like(judgement: Judgement, ids: Sequence[str], sheet: Sheet) -> list[Entry]:
    """Make the rows of a sheet for the texts about the images of another model's sheet, in its order.

    Each text then has the chance of the text on that sheet, so both models' texts are one draw of images: what judges
    get wrong in both cancels in the difference of the models. That holds only if no text is about two images.
    """
    sheet.check(IMPLIED)
    count = len(rows_of(judgement.texts))
    drawn_from = sheet.rows[0]["drawn_from"]  # such as texts-5000-3f2a9c1e
    other_count = int(drawn_from.split("-")[1])
    if not len(ids) == count == other_count:
        raise ValueError(
            f"The sheet {sheet.name} was drawn from {other_count:,} different texts; these responses are {count:,} "
            f"different texts about {len(ids):,} images. The same images can be drawn only if both models have another "
            "text for each of the same images; draw with --sample."
        )
    row_of = {signed("id", name): row for row, name in enumerate(ids)}
    sample: dict[int, float] = {}
    for entry in sheet.rows:
        row = row_of.get(signed("id", entry["id"]))
        if row is None:
            raise ValueError(
                f"These responses have none to the image {short_repr(entry['id'])} of the sheet {sheet.name}; expected "
                "responses to the same images."
            )
        sample[row] = number(entry["chance"])
    return _entries(judgement, ids, list(sample.items()))


def _entries(judgement: Judgement, ids: Sequence[str], sample: Sequence[tuple[int, float]]) -> list[Entry]:
    """Return the rows of a sheet for texts, given the row of each and the chance with which it was drawn."""
    population = name_of(rows_of(judgement.texts))
    classes = judgement.vocabulary.classes
    names = class_names(set(classes))
    reader = LexicalJudge(judgement.vocabulary)
    entries: list[Entry] = []
    for row, chance in sample:
        text = judgement.texts[row]
        named = {mention.object for mention in reader.mentions(text)}
        has_yes = (judgement.poll.votes[row] == voting.YES).any(axis=-1)
        questions: list[Entry] = []
        for name, read_by_a_judge in zip(classes, has_yes, strict=True):
            if name in named or read_by_a_judge:
                questions.append({"class": name, "question": names.get(name, name)})
        questions.append({"class": "", "question": ANY_OTHER})
        origin = {"id": ids[row], "drawn_from": population, "text": digest(text)}
        entries += rows_about(origin, chance, questions, {"response": text})
    return entries


def _draw(judgement: Judgement, candidates: Any, texts: int, seed: int) -> tuple[list[int], list[float]]:
    """Return the drawn ones among these rows, and the chance of each to be drawn."""
    present = judgement.present[candidates]
    yes_votes, no_votes = voting.count(judgement.poll.votes)
    yes = yes_votes[candidates].astype(float)
    no = no_votes[candidates].astype(float)
    outvoted = np.nan_to_num(ratio(np.minimum(yes, no), yes + no))  # the share of each cell's votes
    labels = voting.known(judgement.labels[candidates], present)
    places, chances = draw(labels, present, texts, seed, outvoted)
    return candidates[places].tolist(), chances.tolist()


# Reading people's labels


def read_labels(
    path: Path,
    texts: Sequence[str],
    ids: Sequence[str],
    vocabulary: Vocabulary,
    allow_unmarked: bool = False,
) -> Labels:
    """Read labels of some of the texts, from JSON lines or from a sheet, perhaps without its unmarked texts."""
    if path.suffix in (".jsonl", ".json", ".gz"):
        digests = {name: digest(text) for name, text in zip(ids, texts, strict=True)}
        return _of_lines(path, digests, vocabulary)
    sheet = read_sheet(path, allow_unmarked)
    sample = sheet.sample(IMPLIED, name_of(rows_of(texts)))
    implied = []
    chances = []
    for text in sample.values():
        implied.append(_implied(text.entries, vocabulary, sheet))
        chances.append(text.chance)
    return Labels(sheet.name, list(sample), vocabulary.presence(implied), np.array(chances))


def _implied(entries: Sequence[Entry], vocabulary: Vocabulary, sheet: Sheet) -> list[str]:
    """Return the classes that a text implies, by the marks of its rows."""
    is_implied, is_not_implied = sheet.marks
    marks = {entry["class"]: entry["mark"] for entry in entries if entry["class"]}
    (last,) = [entry for entry in entries if not entry["class"]]  # which asks about all other classes
    classes = {name.casefold(): name for name in vocabulary.classes}
    other_classes = []
    wrong = []
    for word in last["note"].split(","):
        name = word.strip()
        if not name:
            continue
        class_name = classes.get(name.casefold())
        if class_name is None or marks.get(class_name) == is_not_implied:
            wrong.append(name)
        else:
            other_classes.append(class_name)
    if wrong or (last["mark"] == OTHERS) != bool(other_classes):
        hint = ""
        if wrong:
            hint = nearest(wrong[0], vocabulary.classes)
        raise ValueError(
            f"Row {last['row']} of the sheet {sheet.name} is marked {last['mark']!r}, but its note is "
            f"{short_repr(last['note'])}; expected no note with {NO_OTHERS!r}, and with {OTHERS!r} the names of "
            f"classes of the vocabulary {vocabulary.name!r} that have no row marked {is_not_implied!r}.{hint}"
        )
    implied = [name for name, mark in marks.items() if mark == is_implied]
    return implied + other_classes


@dataclass(frozen=True)
class Line:
    """A line of a file of labels."""

    text: str  # its digest
    class_name: str
    answer: bool
    weight: float  # 0 for none


def _of_lines(path: Path, digests: Mapping[str, str], vocabulary: Vocabulary) -> Labels:
    known_texts = set(digests.values())
    lines: dict[Line, None] = {}  # each once
    for where, row in json_rows(path):
        line = _line(row, digests, vocabulary)
        if line is None or line.text not in known_texts:
            raise ValueError(
                f"{where}: expected an object with the id or the text of a response, a class of the vocabulary "
                f"{vocabulary.name!r}, answer (yes or no) and perhaps weight; got {short_repr(row, 120)}."
            )
        lines[line] = None
    answers = {}
    weights = {}
    for line in lines:
        answers[line.text, line.class_name] = line.answer
        weights[line.text] = line.weight
    classes = vocabulary.classes
    is_each_once = len(lines) == len(answers)
    is_whole = len(answers) == len(weights) * len(classes)
    have_weights = {weight > 0 for weight in weights.values()}
    differ = any(line.weight != weights[line.text] for line in lines)
    if not is_each_once or not is_whole or len(have_weights) != 1 or differ:
        raise ValueError(
            f"{path} has {len(lines):,} labels of {len(weights):,} texts; expected one for each of the "
            f"{len(classes):,} classes of a text, with the same weight for all, and weights of all texts or of none. A "
            "choice of classes or a second label of one would bias each estimate: label every class of a text once."
        )
    chances = []
    for weight in weights.values():
        if weight:
            chances.append(1 / weight)
        else:
            chances.append(len(weights) / len(known_texts))
    table = np.array([[answers[text, name] for name in classes] for text in weights])
    content = sorted(astuple(line) for line in lines)
    name_of_labels = hashlib.sha256(repr(content).encode()).hexdigest()[:8]
    return Labels(f"labels-{name_of_labels}", list(weights), table, np.array(chances))


def _line(row: Any, digests: Mapping[str, str], vocabulary: Vocabulary) -> Line | None:
    """Return a line of labels; None if it is none."""
    if not isinstance(row, dict):
        return None
    text = digest(str(row.get("text")))
    if "id" in row:
        text = digests.get(str(row["id"]), "")
    answer = row.get("answer")
    if str(answer) in ("yes", "no"):
        answer = answer == "yes"
    class_name = row.get("class")
    if class_name not in vocabulary.classes or answer not in (0, 1):
        return None
    weight = 0.0
    if "weight" in row:
        weight = finite("weight", row["weight"], 1, LARGEST_WEIGHT)
    return Line(text, class_name, bool(answer), weight)
