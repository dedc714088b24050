"""The certificate of a judge: who judged what and how, people's labels of a sample of texts, and the judge's errors.

People's labels say which classes each text implies. They are read from a marked sheet (`halluscope review make --marks
implied`, which `sheet` draws), or from JSON lines {id or text, class, answer, [weight]}. A weight is 1 / the
probability that the label was asked for. Without weights, every class of each labelled text must have a label, and each
text is assumed to be equally likely to be drawn.

A certificate is one self-describing JSON file. It is cited by its digest, a checksum over all its content. The digest
reveals a label that was changed by mistake, but not one that was forged with a new digest.
"""

import hashlib
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.files.opening import json_rows, read_json
from halluscope.inputs import finite as number
from halluscope.inputs import whole
from halluscope.judging import votes as voting
from halluscope.judging.cache import Cache, sha256
from halluscope.judging.judge import Margins
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.questions import QuestionSet
from halluscope.judging.votes import OTHER, UNASKED, YES, VoteResult
from halluscope.options import nearest
from halluscope.reliability.sheet import (
    IMPLIED,
    OTHERS,
    Drawn,
    Entry,
    Sheet,
    chance_of,
    class_names,
    read_sheet,
)
from halluscope.reporting.tables import Cell, Notes, Report, Table, finite, interval, percent, share
from halluscope.responses.lengths import words
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import RESAMPLES, Bootstrap
from halluscope.stats.corrected import FEWEST_TEXTS, UNLABELLED, Sample, doubts, draw
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.samples import RATES, Judged, calibration, error_rates
from halluscope.stats.tallies import Bools
from halluscope.version import __version__
from halluscope.vocabularies import Vocabulary

FORM = "halluscope certificate 1"
DIGEST = "digest"
PEOPLE = "people"

# What a certificate is about -> its name in messages; a certificate holds for nothing else.
ABOUT = {
    "judges": "judges",
    "questions": "questions",
    "agreement": "agreement",
    "vocabulary": "vocabulary",
    "texts": "responses' texts",
}

LARGEST_WEIGHT = 1e9  # of a label: 1 / the chance that it was asked for
ANSWERS: Mapping[Any, bool] = {"yes": True, "no": False, True: True, False: False}  # 1 and 0 too
ANY_OTHER = "Any other class?"

RESAMPLING = Bootstrap(RESAMPLES)
FEWEST = 10  # a class has its own line if people or the judge say yes to it in at least this many texts
LENGTHS = ((0, 50), (50, 100), (100, None))  # numbers of words, from the first to below the second
PLAIN, UNNAMED, COMPOUND, QUESTION, QUOTATION = "plain", "no word for it", "compound", "question", "quotation"
VOTES = "single votes"
MEANING = {
    "false_yes": "of the labels no, the share to which the judges say yes",
    "false_no": "of the labels yes, the share to which the judges do not say yes",
    "wrong_yes": "of what the judges say yes to, the share that is labelled no",
}


@dataclass(frozen=True)
class Judgement:
    texts: Sequence[str]  # as they are scored, one per image
    present: Bools  # the ground truth [texts, classes]
    vocabulary: Vocabulary
    questions: QuestionSet  # what was asked about each class
    poll: VoteResult  # the votes

    @cached_property
    def labels(self) -> NDArray[np.int8]:
        return voting.label(*voting.count(self.poll.votes), self.poll.k)


@dataclass(frozen=True)
class Labels:
    name: str  # the sheet's, or "labels-" and a digest
    texts: Sequence[str]  # the sha256 of each text, in hexadecimal digits, each once
    answers: NDArray[np.int8]  # [texts, classes], 1 if the text implies the class, 0 if not, `UNLABELLED`
    chances: Floats  # [texts, classes], the probability that a label was asked for, in (0, 1]; infinite without one


def digest(text: str) -> str:
    return sha256(text).hex()


def rows_of(texts: Sequence[str]) -> dict[str, int]:
    """Return the sha256 of each text -> the first row that has it."""
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        rows.setdefault(digest(text), row)
    return rows


def name_of(digests: Iterable[str]) -> str:
    """Return the name that identifies texts, in any order, by their different sha256s."""
    return data_of("texts", ([one] for one in digests))


# Drawing texts for people to label


def sheet(judgement: Judgement, ids: Sequence[str], texts: int, seed: int = 0) -> list[Drawn]:
    """Draw texts, each different text at most once, and make the rows of a sheet for them.

    A text is the likelier to be drawn, the more its votes disagree and its labels could be wrong
    (`stats.corrected.draw`). There is one row per class that a judge read out of the text, or that it
    has a word for; the last row of a text asks about all others. Texts are in random order: who
    stops early has marked a random part of the sample.
    """
    population = rows_of(judgement.texts)
    first = np.array(list(population.values()), dtype=np.int64)
    whole("sample", texts, 1, len(first), "a number of texts")
    present, votes, classes = judgement.present[first], judgement.poll.votes, judgement.vocabulary.classes
    labels = voting.known(judgement.labels[first], present)
    yes, no = (count[first].astype(float) for count in voting.count(votes))
    outvoted = np.nan_to_num(ratio(np.minimum(yes, no), yes + no))  # the share of each cell's votes
    rows, chances = draw(labels, present, texts, seed, np.maximum(doubts(labels, present), outvoted))
    order = random.Random(seed)
    drawn = sorted(zip(first[rows].tolist(), chances.tolist(), strict=True), key=lambda _: order.random())
    reader, names, drawn_from = (
        LexicalJudge(judgement.vocabulary),
        class_names({*classes}),
        name_of(population),
    )
    lines: list[Drawn] = []
    for row, chance in drawn:
        text = judgement.texts[row]
        voted = (votes[row] == YES).any(axis=-1)
        named = {mention.object for mention in reader.mentions(text)}
        asked = [name for name, yes in zip(classes, voted, strict=True) if yes or name in named]
        entries = [{"class": name, "question": names.get(name, name)} for name in asked]
        entries.append({"class": "", "question": ANY_OTHER})
        entries[0]["response"] = text
        shared = {
            "id": ids[row],
            "drawn_from": drawn_from,
            "text": digest(text),
            # in plain digits, which no spreadsheet rewrites
            "chance": f"{chance:.9f}".rstrip("0").rstrip("."),
        }
        lines += [(shared | entry, None) for entry in entries]
    return lines


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
        labels = _of_lines(path, texts, ids, vocabulary)
    else:
        labels = _of_sheet(read_sheet(path, allow_unmarked), name_of(rows_of(texts)), vocabulary)
    _check_texts(labels.texts, rows_of(texts), str(path))
    return labels


def _check_texts(labelled: Iterable[str], known: Mapping[str, Any], where: str) -> None:
    if others := [text for text in labelled if text not in known]:
        raise ValueError(
            f"{where} has labels for {len(others):,} texts that are not among the {len(known):,} different texts of "
            f"the responses, such as the text with the sha256 {others[0][:12]}.... Expected labels for texts of "
            "these responses."
        )


def summary(sheet: Sheet) -> dict[str, Any]:
    """Count how much of a sheet is marked: texts, and the rows of those texts whose rows are all marked."""
    texts, unmarked = sheet.texts(), len({entry["text"] for entry in sheet.left})
    counts = Counter(entry["mark"] for entries in texts.values() for entry in entries)
    return {
        "sheet": sheet.name,
        "texts": len(texts) + unmarked,
        "unmarked_texts": unmarked,
        "marked": counts.total(),
        "marks": {mark: counts[mark] for mark in (*sheet.marks, *OTHERS)},
        "signature": signature("review", data=sheet.name, marks=IMPLIED),
    }


def _of_sheet(sheet: Sheet, drawn_from: str, vocabulary: Vocabulary) -> Labels:
    sheet.check(IMPLIED, drawn_from)
    texts = sheet.texts()
    if not texts:
        raise ValueError(
            f"No text of the sheet {sheet.name} has a mark in each of its rows; mark all rows of at least one text."
        )
    # texts with unmarked rows count as never drawn
    part = len(texts) / (len(texts) + len({entry["text"] for entry in sheet.left}))
    implied = [_implied(entries, vocabulary, sheet) for entries in texts.values()]
    answers = np.array([[name in of for name in vocabulary.classes] for of in implied], dtype=np.int8)
    chances = np.array([part * chance_of(entries[0]) for entries in texts.values()])
    return Labels(sheet.name, list(texts), answers, np.broadcast_to(chances[:, None], answers.shape))


def _implied(entries: Sequence[Entry], vocabulary: Vocabulary, sheet: Sheet) -> set[str]:
    """Return the classes that a text implies, by the marks of its rows."""
    marks = {entry["class"]: entry["mark"] for entry in entries}
    last = next(entry for entry in entries if not entry["class"])
    where = f"Row {last['row']} of the sheet {sheet.name}"
    classes = {name.casefold(): name for name in vocabulary.classes}
    others = []
    for name in filter(None, map(str.strip, last["note"].split(","))):
        if name.casefold() not in classes:
            raise ValueError(
                f"{where} names {short_repr(name)}, which is not a class of the vocabulary {vocabulary.name!r}."
                f"{nearest(name, vocabulary.classes)} Correct the note."
            )
        others.append(classes[name.casefold()])
    if (last["mark"] == OTHERS[1]) != bool(others):
        raise ValueError(
            f"{where} is marked {last['mark']!r}, but its note is {short_repr(last['note'])}; expected the names of "
            f"classes with {OTHERS[1]!r}, and no note with {OTHERS[0]!r}."
        )
    if denied := [name for name in others if marks.get(name) == sheet.marks[1]]:
        raise ValueError(
            f"{where} names {short_repr(denied[0])}, which has a row of its own that is marked {sheet.marks[1]!r}. "
            "Correct one of the two."
        )
    return {*others, *(name for name, mark in marks.items() if name and mark == sheet.marks[0])}


def _of_lines(path: Path, texts: Sequence[str], ids: Sequence[str], vocabulary: Vocabulary) -> Labels:
    digests = dict(zip(ids, map(digest, texts), strict=True))
    columns = {name: column for column, name in enumerate(vocabulary.classes)}
    lines: dict[tuple[str, str], tuple[bool, float]] = {}  # text, class -> answer, weight or 0
    for where, row in json_rows(path):
        text, name, answer, weight = _line(row, where, digests, vocabulary)
        if lines.setdefault((text, name), (answer, weight)) != (answer, weight):
            raise ValueError(
                f"{where}: an earlier line gives another label of the class {short_repr(name)} for the same text; "
                "expected one label. Remove one of the two."
            )
    if not lines:
        raise ValueError(f"{path} holds no labels; expected JSON lines with id or text, class and answer.")
    weighted = sum(weight > 0 for _, weight in lines.values())
    if weighted not in (0, len(lines)):
        raise ValueError(
            f"{path} has a weight in {weighted:,} of {len(lines):,} lines; expected a weight in all lines or in none."
        )
    labelled = list(dict.fromkeys(text for text, _ in lines))
    rows = {text: row for row, text in enumerate(labelled)}
    answers = np.full((len(labelled), len(columns)), UNLABELLED, dtype=np.int8)
    chances = np.full(answers.shape, np.inf)
    for (text, name), (answer, weight) in lines.items():
        answers[rows[text], columns[name]] = answer
        chances[rows[text], columns[name]] = (
            1 / weight if weight else len(labelled) / len({*digests.values()})
        )
    part = int((answers == UNLABELLED).any(axis=1).sum())
    if not weighted and part:
        raise ValueError(
            f"{path} has no weights, and {part:,} of its {len(labelled):,} texts do not have a label for all "
            f"{len(vocabulary.classes):,} classes. The choice of classes would then bias each estimate: label every "
            "class of these texts, or give each line its weight, 1 / the probability that the label was asked for."
        )
    name = hashlib.sha256(repr(sorted(lines.items())).encode()).hexdigest()[:8]
    return Labels(f"labels-{name}", labelled, answers, chances)


def _line(
    row: Any, where: str, digests: Mapping[str, str], vocabulary: Vocabulary
) -> tuple[str, str, bool, float]:
    """Return a line's text, class, answer, and weight, or 0 if it gives none."""
    if not isinstance(row, dict) or ("id" in row) == ("text" in row):
        raise ValueError(
            f"{where}: expected an object with id or text, class, answer (yes or no) and perhaps weight; got "
            f"{short_repr(row)}."
        )
    name, answer = row.get("class"), row.get("answer")
    if name not in vocabulary.classes:
        raise ValueError(
            f"{where}: class is {short_repr(name)}, which the vocabulary {vocabulary.name!r} does not have."
        )
    if not isinstance(answer, str | bool | int) or answer not in ANSWERS:
        raise ValueError(f"{where}: answer is {short_repr(answer)}; expected yes or no.")
    if "text" in row and not isinstance(row["text"], str):
        raise ValueError(f"{where}: text is {short_repr(row['text'])}; expected a text.")
    if "text" not in row and str(row["id"]) not in digests:
        raise ValueError(
            f"{where}: no response has the id {short_repr(row['id'])}; expected one of the responses' ids."
        )
    weight = number("weight", row["weight"], 1, LARGEST_WEIGHT) if "weight" in row else 0.0
    text = digest(row["text"]) if "text" in row else digests[str(row["id"])]
    return text, name, ANSWERS[answer], weight


# A judge's errors


def errors(judgement: Judgement, labels: Labels, margins: Margins) -> dict[str, Any]:
    """Return the errors of the judges' agreement, in all and by part, and those of each judge's single votes.

    Parts are groups of classes, classes, lengths of texts, and kinds of sentences. `margins` are log P(yes) - log P(no)
    in nats, NaN where unknown, in the shape of the votes. A judge's errors are None if not every question was asked,
    and its calibration is None if no margin is known.
    """
    votes, judges, vocabulary = judgement.poll.votes, judgement.poll.judges, judgement.vocabulary
    judged = Judged(judgement.labels == YES, labels.answers == 1, 1 / labels.chances)
    counts = ((judged.yes | judged.implied) & (judged.weights > 0)).sum(axis=0)
    frequent = [name for name, count in zip(vocabulary.classes, counts, strict=True) if count >= FEWEST]
    lengths = np.array(words(judgement.texts))[:, None]
    parts: dict[str, dict[str, Bools]] = {
        "group": {name: np.isin(vocabulary.classes, list(of)) for name, of in vocabulary.groups.items()},
        "class": {name: np.isin(vocabulary.classes, [name]) for name in frequent},
        "length": {
            f"{least} to {most - 1} words" if most else f"{least} words or more": (lengths >= least)
            & (lengths < (most or np.inf))
            for least, most in LENGTHS
        },
        "kind": _kinds(judgement),
    }
    among = {(by, name): judged.among(cells) for by, of in parts.items() for name, cells in of.items()}
    labelled = {f"{by}/{name}": part for (by, name), part in among.items() if part.weights.any()}
    rates = error_rates({"all": judged} | labelled, RESAMPLING)
    return {
        "errors": {"all": rates["all"]}
        | {
            by: {name: rates[f"{by}/{name}"] for name in of if f"{by}/{name}" in labelled}
            for by, of in parts.items()
        },
        "votes": {
            judge: _of_votes(judged, *(part.reshape(len(part), -1) for part in own))
            for judge, *own in zip(
                judges, *(np.split(part, len(judges), axis=-1) for part in (votes, margins)), strict=True
            )
        },
        "interval": str(RESAMPLING),
    }


def _of_votes(judged: Judged, votes: NDArray[np.int8], margins: Margins) -> dict[str, Any] | None:
    """Return the errors of one judge's single votes [texts, classes x templates]; None if some were not asked."""
    templates = votes.shape[1] // judged.implied.shape[1]
    implied = np.repeat(judged.implied, templates, axis=1)
    weights = np.repeat(judged.weights, templates, axis=1)
    if (votes == UNASKED)[weights > 0].any():
        return None
    known = ~np.isnan(margins)
    chances = (1 + np.tanh(np.where(known, margins, 0.0) / 2)) / 2  # 1 / (1 + exp(-margin)), at any margin
    unreadable = ratio(np.where(votes == OTHER, weights, 0.0).sum(), weights.sum())
    (rates,) = error_rates({"": Judged(votes == YES, implied, weights)}, RESAMPLING).values()
    calibrated = (
        calibration(chances, implied, np.where(known, weights, 0.0), RESAMPLING) if known.any() else None
    )
    return rates | {"unreadable": float(unreadable), "calibration": calibrated}


def _kinds(judgement: Judgement) -> dict[str, Bools]:
    reader = LexicalJudge(judgement.vocabulary)
    found = [kinds(reader, text, judgement.vocabulary.classes) for text in judgement.texts]
    names = (PLAIN, *_cues(), COMPOUND, QUESTION, QUOTATION, UNNAMED)
    return {kind: np.array([[kind in cell for cell in row] for row in found]) for kind in names}


def kinds(reader: LexicalJudge, text: str, classes: Sequence[str]) -> list[set[str]]:
    """Return the kinds of sentence that mention each class.

    {"no word for it"} for a class that the text has no word for; {"plain"} for a class that at least one sentence
    mentions without a cue; otherwise the kinds of all cues in the sentences that mention the class. The rule is coarse
    on purpose: it shares no rule with the judge whose errors it sorts; only the words for each class come from the
    lexical judge's word lists.
    """
    cues: dict[str, list[set[str]]] = {}
    for mention in reader.mentions(text):
        cues.setdefault(mention.object, []).append(_cues_around(text, mention))
    return [
        {UNNAMED} if name not in cues else set().union(*cues[name]) if all(cues[name]) else {PLAIN}
        for name in classes
    ]


def _cues_around(text: str, mention: Mention) -> set[str]:
    """Return the kinds of the cues in the sentence of a mention."""
    ends = re.compile(r"[.!?\n]")
    before = max((end.end() for end in ends.finditer(text, 0, mention.start)), default=0)
    end = ends.search(text, mention.end)
    sentence = text[before : end.start() if end else len(text)]
    names = {kind for kind, cue in _cues().items() if cue.search(sentence.lower().replace("’", "'"))}
    if "-" in text[max(0, mention.start - 1) : mention.start] + text[mention.end : mention.end + 1]:
        names.add(COMPOUND)
    if end and end.group() == "?":
        names.add(QUESTION)
    if re.search(r'["“]', text[before : mention.start]) and re.search(r'["”]', text[mention.end :]):
        names.add(QUOTATION)
    return names


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    known = tomllib.loads(resources.files(__package__).joinpath("kinds.toml").read_text(encoding="utf-8"))

    def pattern(cues: Sequence[str]) -> re.Pattern[str]:
        each = (word if word == "n't" else rf"(?<!\w){re.escape(word)}" for word in cues)
        return re.compile(rf"(?:{'|'.join(each)})(?!\w)")

    return {kind: pattern(cues) for kind, cues in known.items()}


# The certificate


@dataclass(frozen=True)
class Certificate:
    content: Mapping[str, Any]  # as in the JSON file

    @property
    def digest(self) -> str:
        return str(self.content[DIGEST])

    @property
    def labelled_by(self) -> str:
        return str(self.content["labelled_by"])

    @property
    def count(self) -> int:
        return sum(len(entry["implied"]) + len(entry["not_implied"]) for entry in self.content["labels"])

    @property
    def texts(self) -> int:
        return len({entry["text"] for entry in self.content["labels"]})

    @property
    def signed(self) -> dict[str, Any]:
        """The parts of a signature that describe the certificate."""
        return {"certificate": self.digest, "labels": self.count, "labelled_by": self.labelled_by}

    def check(self, about: Mapping[str, Any]) -> None:
        """Check that it is about what is being scored, by names in `ABOUT`; unknown ones may be left out."""
        for name in about:
            # judges may be listed in any order
            certified, scored = (
                sorted(value) if isinstance(value, list | tuple) else value
                for value in (self.content[name], about[name])
            )
            if certified != scored:
                raise ValueError(
                    f"The certificate {self.digest} is about the {ABOUT[name]} {short_repr(certified, 200)}, but "
                    f"this score uses {short_repr(scored, 200)}. Score what was certified, or certify what you score: "
                    "`halluscope certify`."
                )

    def check_texts(self, texts: Sequence[str]) -> None:
        """Check, before judges are asked, that it is about these texts, and has enough labels to correct scores."""
        self.check({"texts": name_of(rows_of(texts))})
        fewest = min(FEWEST_TEXTS, len(set(texts)))
        if self.texts < fewest:
            raise ValueError(
                f"The certificate {self.digest} has labels for only {self.texts:,} texts; expected {fewest:,} or "
                f"more, to correct scores. Label more texts: `halluscope review make --marks implied`."
            )

    def sample(self, texts: Sequence[str], labels: NDArray[np.int8], vocabulary: Vocabulary) -> Sample:
        """Return its labels for the rows being scored, of which the judge's labels are [texts, classes].

        A text in several rows has its labels in each row. A judge that has changed its verdict is an error.
        """
        of_text: dict[str, list[Mapping[str, Any]]] = {}
        for entry in self.content["labels"]:
            of_text.setdefault(entry["text"], []).append(entry)
        digests = [digest(text) for text in texts]
        _check_texts(of_text, dict.fromkeys(digests), f"The certificate {self.digest}")
        rows = np.array([row for row, text in enumerate(digests) if text in of_text], dtype=np.int64)
        columns = {name: column for column, name in enumerate(vocabulary.classes)}
        people = np.full((len(rows), len(columns)), UNLABELLED, dtype=np.int8)
        chances, judged = np.zeros(people.shape), np.zeros(people.shape, dtype=bool)
        for index, row in enumerate(rows):
            for entry in of_text[digests[row]]:
                for name, label in (("implied", 1), ("not_implied", 0)):
                    cells = [columns[one] for one in entry[name]]
                    people[index, cells], chances[index, cells] = label, entry["chance"]
                judged[index, [columns[one] for one in entry["judged"]]] = True
        if (judged != (labels[rows] == 1))[people != UNLABELLED].any():
            raise ValueError(
                f"The judges that the certificate {self.digest} names have changed their verdict on some of the "
                "labelled texts since it was made. Certify them again: `halluscope certify`."
            )
        of_texts = chances.max(axis=1)
        within = np.where(people == UNLABELLED, 1.0, chances / of_texts[:, np.newaxis])
        return Sample(rows, of_texts, people, within)


def certify(
    judgement: Judgement,
    labels: Labels,
    drawn_from: str,
    by: str,
    *,
    responses: str,
    data: str,
    store: Cache | str | Path | None = None,
) -> Certificate:
    """Make a certificate from judges' votes on labelled texts, in the order of `labels`.

    `drawn_from` names the texts from which these were drawn; `store` is the cache of the judges' votes.
    """
    poll, questions = judgement.poll, judgement.questions
    cut = [questions.cut(text) for text in judgement.texts]
    cache = store if isinstance(store, Cache) else Cache(store, "read")
    asked = questions.about(judgement.vocabulary)
    margins = [cache.votes(judge, about, cut)[1] for judge in poll.judges for about in asked]
    if cache is not store:
        cache.close()
    classes = np.array(judgement.vocabulary.classes)
    entries = []
    for text, answers, chances, judged in zip(
        labels.texts, labels.answers, labels.chances, judgement.labels == YES, strict=True
    ):
        # labels that were asked for with the same chance are together
        for chance in np.unique(chances[answers != UNLABELLED]).tolist():
            of = (answers != UNLABELLED) & (chances == chance)
            cells = {"implied": answers == 1, "not_implied": answers == 0, "judged": judged}
            entries.append(
                {"text": text, "chance": chance}
                | {name: classes[of & cell].tolist() for name, cell in cells.items()}
            )
    content = {
        "form": FORM,
        "judges": list(poll.judges),
        "questions": poll.questions,
        "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
        "vocabulary": judgement.vocabulary.name,
        "texts": drawn_from,
        "labelled_by": by,
        "labels_from": labels.name,
        "responses": responses,
        "data": data,
        **finite(errors(judgement, labels, np.stack(margins, axis=-1))),
        "labels": entries,
        "version": __version__,
    }
    return Certificate(content | {DIGEST: digest_of(content)})


def digest_of(content: Mapping[str, Any]) -> str | None:
    """Return the checksum over all content but itself; None for content that JSON cannot hold."""
    rest = {name: value for name, value in content.items() if name != DIGEST}
    try:
        return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]
    except (TypeError, ValueError, RecursionError):
        return None


def read(source: "str | Path | Mapping[str, Any] | Certificate") -> Certificate:
    """Read a certificate from a file or its content, and check that it is unchanged."""
    if isinstance(source, Certificate):
        return source
    expected = "expected a file that `halluscope certify` wrote"
    if not isinstance(source, str | Path | Mapping):
        raise ValueError(f"certificate is {short_repr(source)}; {expected}.")
    if isinstance(source, Mapping):
        where, content = "certificate", source
    elif Path(source).is_file():
        where, content = one_line(source, 200), read_json(Path(source))
    else:
        raise ValueError(f"certificate is {short_repr(str(source))}, which is not a file; {expected}.")
    if not isinstance(content, Mapping) or content.get("form") != FORM or not digest_of(content):
        raise ValueError(f"{where} is not a certificate; {expected}.")
    if content.get(DIGEST) != digest_of(content):
        raise ValueError(
            f"{where}: the content does not match its digest {short_repr(content.get(DIGEST))}; the file was "
            "changed after it was written. Take the original, or run `halluscope certify` again."
        )
    return Certificate(content)


# What is printed


def report(certificate: Certificate) -> Report:
    """Return how often the judges err: by kind of text, vote by vote, and how far their probabilities hold."""
    content = certificate.content
    whose = f"against {certificate.count:,} labels of {certificate.texts:,} texts, given by {certificate.labelled_by}"
    report: list[Table | Notes] = [Notes([", ".join(content["judges"]), whose])]
    report += [
        _table(by, {by: table} if by == "all" else table) for by, table in content["errors"].items() if table
    ]
    report.append(_table(VOTES, content["votes"]))
    for judge, rates in content["votes"].items():
        lines = [f"{judge}: {percent(rates['unreadable'])} % of the votes were neither yes nor no"]
        if known := rates["calibration"]:
            ece = known["ece"]
            ends = interval((ece["low"], ece["high"]))
            lines.append(f"expected calibration error: {percent(ece['value'])} % ({ends})")
        report.append(Notes(lines))
        if known:
            cells = [
                [interval((bin["from"], bin["to"])), bin["votes"], share(bin["said"]), share(bin["implied"])]
                for bin in known["bins"]
            ]
            header = ["P(yes) %", "votes", "mean P(yes) %", "people say yes %"]
            report.append(Table("calibration", header, cells, of=judge))
    report.append(Notes([f"{name}: {meaning}, in percent" for name, meaning in MEANING.items()]))
    how = "cue words in the sentences that mention a class decide its kinds; a label may count in several"
    return [*report, Notes([how, f"certificate: {certificate.digest}"])]


def _table(first: str, rates: Mapping[str, Mapping[str, Any]]) -> Table:
    cells: list[list[Cell]] = [
        [
            name,
            *(row[count] for count in ("texts", "labels", "implied")),
            *(share(row[rate]["value"], [row[rate][end] for end in ("low", "high")]) for rate in RATES),
        ]
        for name, row in rates.items()
    ]
    header = [first, "texts", "votes" if first == VOTES else "labels", "people: yes", *RATES]
    return Table(f"by {first}", header, cells, intervals=RATES)
