"""The certificate of a judge: who judged what and how, people's labels of a sample of texts, and what they show.

That is how often the judge errs, and the scores of all texts, corrected for its errors (`stats.corrected`).

People's labels say which classes each text implies. They are read from a marked sheet (`halluscope study sheet make
--marks implied`, which `sheet` draws), or from JSON lines {id or text, class, answer, [weight]} with a line for every
class of a labelled text. A text's weight is 1 / the probability that it was drawn; without weights, each text is
assumed to be equally likely to be drawn.

A certificate is one self-describing JSON file. It is cited by its digest, a checksum over all its content. The digest
reveals a label that was changed by mistake, but not one that was forged with a new digest.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halluscope.files.opening import json_rows
from halluscope.judging import votes as voting
from halluscope.judging.cache import Cache, sha256
from halluscope.judging.judge import Margins
from halluscope.judging.lexical import LexicalJudge, Mention
from halluscope.judging.questions import QuestionSet
from halluscope.options import nearest
from halluscope.reliability.sheet import (
    DATA,
    IMPLIED,
    OTHERS,
    Entry,
    Sheet,
    class_names,
    read_sheet,
    rows_about,
    with_ends,
)
from halluscope.reporting.tables import (
    Cell,
    Json,
    Notes,
    Report,
    Table,
    estimate,
    finite,
    interval,
    percent,
    share,
)
from halluscope.responses.lengths import words
from halluscope.sanitize import short_repr
from halluscope.signature import data_of
from halluscope.stats.bootstrap import METHOD
from halluscope.stats.corrected import FEWEST_TEXTS, Sample, correct, draw
from halluscope.stats.ratios import Floats, ratio
from halluscope.stats.samples import RATES, Judged, calibration, error_rates
from halluscope.stats.tallies import Bools
from halluscope.validation import finite as number
from halluscope.validation import whole
from halluscope.version import __version__
from halluscope.vocabularies import Vocabulary

FORM = "halluscope certificate 1"
DIGEST = "digest"

LARGEST_WEIGHT = 1e9  # of a label: 1 / the chance that its text was drawn
ANY_OTHER = "Any other class?"

LEVEL = 0.95  # of the intervals
# The method by which `stats.corrected` makes scores and intervals; its number goes up when it changes
CORRECTION = "ppi-1"
FEWEST = 10  # a class has its own line if people or the judge say yes to it in at least this many texts
LENGTHS = ((0, 50), (50, 100), (100, None))  # numbers of words, from the first to below the second

PLAIN, UNNAMED, COMPOUND, QUESTION, QUOTATION = "plain", "no word for it", "compound", "question", "quotation"
CUES = {kind: re.compile(rf"(?<!\w)(?:{'|'.join(cues)})(?!\w)") for kind, cues in DATA["cues"].items()}
KINDS = (PLAIN, *CUES, COMPOUND, QUESTION, QUOTATION, UNNAMED)


class Judgement(NamedTuple):
    texts: Sequence[str]  # as they are scored, one per image
    present: Bools  # the ground truth [texts, classes]
    vocabulary: Vocabulary
    questions: QuestionSet  # what was asked about each class
    poll: voting.VoteResult  # the votes

    @property
    def labels(self) -> NDArray[np.int8]:
        return voting.label(*voting.count(self.poll.votes), self.poll.k)


class Labels(NamedTuple):
    name: str  # the sheet's, or "labels-" and a digest
    texts: Sequence[str]  # the sha256 of each text, in hexadecimal digits, each once
    implied: Bools  # [texts, classes], whether people say that the text implies the class
    chances: Floats  # [texts], the probability that the text was drawn, in (0, 1]


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


def sheet(judgement: Judgement, ids: Sequence[str], texts: int, seed: int = 0) -> list[Entry]:
    """Draw texts, each different text at most once, and make the rows of a sheet for them.

    A text is the likelier to be drawn, the more its votes disagree and its labels could be wrong
    (`stats.corrected.draw`). There is one row per class that a judge read out of the text, or that it
    has a word for; the last row of a text asks about all others. Texts are in random order: who
    stops early has marked a random part of the sample.
    """
    population = rows_of(judgement.texts)
    first = np.array([*population.values()])
    whole("sample", texts, 1, len(first), "a number of texts")
    present, votes, classes = judgement.present[first], judgement.poll.votes, judgement.vocabulary.classes
    yes, no = (count[first].astype(float) for count in voting.count(votes))
    outvoted = np.nan_to_num(ratio(np.minimum(yes, no), yes + no))  # the share of each cell's votes
    labels = voting.known(judgement.labels[first], present)
    rows, chances = draw(labels, present, texts, seed, outvoted)
    drawn = [*zip(first[rows].tolist(), chances.tolist(), strict=True)]
    random.Random(seed).shuffle(drawn)
    reader, names = LexicalJudge(judgement.vocabulary), class_names({*classes})
    lines: list[Entry] = []
    for row, chance in drawn:
        text = judgement.texts[row]
        named = {mention.object for mention in reader.mentions(text)}
        named.update(np.array(classes)[(votes[row] == voting.YES).any(axis=-1)].tolist())
        asked = [{"class": name, "question": names.get(name, name)} for name in classes if name in named]
        asked.append({"class": "", "question": ANY_OTHER})
        about = {"id": ids[row], "drawn_from": name_of(population), "text": digest(text)}
        lines += rows_about(about, chance, asked, {"response": text})
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
        return _of_lines(path, dict(zip(ids, map(digest, texts), strict=True)), vocabulary)
    sheet = read_sheet(path, allow_unmarked)
    sample = sheet.sample(IMPLIED, name_of(rows_of(texts)))
    implied = [_implied(entries, vocabulary, sheet) for _, entries in sample.values()]
    chances = np.array([chance for chance, _ in sample.values()])
    return Labels(sheet.name, [*sample], vocabulary.presence(implied), chances)


def _implied(entries: Sequence[Entry], vocabulary: Vocabulary, sheet: Sheet) -> list[str]:
    """Return the classes that a text implies, by the marks of its rows."""
    marks = {entry["class"]: entry["mark"] for entry in entries}
    last = next(entry for entry in entries if not entry["class"])
    classes = {name.casefold(): name for name in vocabulary.classes}
    others = {name: classes.get(name.casefold()) for name in map(str.strip, last["note"].split(",")) if name}
    wrong = [name for name, of in others.items() if not of or marks.get(of) == sheet.marks[1]]
    if wrong or (last["mark"] == OTHERS[1]) != bool(others):
        hint = nearest(wrong[0], vocabulary.classes) if wrong else ""
        raise ValueError(
            f"Row {last['row']} of the sheet {sheet.name} is marked {last['mark']!r}, but its note is "
            f"{short_repr(last['note'])}; expected no note with {OTHERS[0]!r}, and with {OTHERS[1]!r} the names of "
            f"classes of the vocabulary {vocabulary.name!r} that have no row marked {sheet.marks[1]!r}.{hint}"
        )
    own = [name for name, mark in marks.items() if name and mark == sheet.marks[0]]
    return [*own, *filter(None, others.values())]


def _of_lines(path: Path, digests: Mapping[str, str], vocabulary: Vocabulary) -> Labels:
    texts, classes = {*digests.values()}, vocabulary.classes
    lines: dict[tuple[str, str, bool, float], None] = {}  # text, class, answer, weight or 0; each once
    for where, row in json_rows(path):
        line = row if isinstance(row, dict) else {}
        text = digests.get(str(line["id"]), "") if "id" in line else digest(str(line.get("text")))
        name, answer = line.get("class"), line.get("answer")
        answer = {"yes": True, "no": False}.get(str(answer), answer)
        if text not in texts or name not in classes or answer not in (0, 1):
            raise ValueError(
                f"{where}: expected an object with the id or the text of a response, a class of the vocabulary "
                f"{vocabulary.name!r}, answer (yes or no) and perhaps weight; got {short_repr(row, 120)}."
            )
        weight = number("weight", line["weight"], 1, LARGEST_WEIGHT) if "weight" in line else 0.0
        lines[text, name, bool(answer), weight] = None
    answers = {(text, name): answer for text, name, answer, _ in lines}
    weights = {text: weight for text, *_, weight in lines}
    is_whole = len(lines) == len(answers) == len(weights) * len(classes)
    is_weighted = {weight > 0 for weight in weights.values()}
    if not is_whole or len(is_weighted) != 1 or any(weight != weights[text] for text, *_, weight in lines):
        raise ValueError(
            f"{path} has {len(lines):,} labels of {len(weights):,} texts; expected one for each of the "
            f"{len(classes):,} classes of a text, with the same weight for all, and weights of all texts or of none. A "
            "choice of classes or a second label of one would bias each estimate: label every class of a text once."
        )
    name = hashlib.sha256(repr(sorted(lines)).encode()).hexdigest()[:8]
    implied = np.array([[answers[text, name] for name in classes] for text in weights])
    chances = [1 / weight if weight else len(weights) / len(texts) for weight in weights.values()]
    return Labels(f"labels-{name}", [*weights], implied, np.array(chances))


# A judge's errors


def errors(judgement: Judgement, labels: Labels, margins: Margins) -> Json:
    """Return the errors of the judges' agreement, in all and by part, and those of each judge's single votes.

    Parts are groups of classes, classes, lengths of texts, and kinds of sentences. `margins` are log P(yes) - log P(no)
    in nats, NaN where unknown, in the shape of the votes. A judge's calibration is None if no margin is known.
    """
    poll, vocabulary = judgement.poll, judgement.vocabulary
    weights = np.broadcast_to(1 / labels.chances[:, np.newaxis], labels.implied.shape)
    judged = Judged(judgement.labels == voting.YES, labels.implied, weights)
    frequent = (judged.yes | judged.implied).sum(axis=0) >= FEWEST
    classes, lengths = np.array(vocabulary.classes), np.array(words(judgement.texts))[:, np.newaxis]
    reader = LexicalJudge(vocabulary)
    kinds_of = [kinds(reader, text, vocabulary.classes) for text in judgement.texts]
    parts = [
        *(("group", name, np.isin(classes, names)) for name, names in vocabulary.groups.items()),
        *(("class", name, classes == name) for name in classes[frequent].tolist()),
        *(("length", f"{name} words", texts) for name, texts in by_length(lengths)),
        *(("kind", kind, np.array([[kind in cell for cell in row] for row in kinds_of])) for kind in KINDS),
    ]
    among = {"all": judged} | {f"{by}/{name}": judged.among(cells) for by, name, cells in parts}
    rates = error_rates({key: part for key, part in among.items() if part.weights.any()}, LEVEL)
    found: Json = {"all": rates.pop("all"), **{by: {} for by, *_ in parts}}
    for key, rate in rates.items():
        by, _, name = key.partition("/")
        found[by][name] = rate
    of_judges = [np.split(of, len(poll.judges), axis=-1) for of in (poll.votes, margins)]
    votes = {judge: _of_votes(judged, *own) for judge, *own in zip(poll.judges, *of_judges, strict=True)}
    return {"errors": found, "votes": votes, "interval": f"{LEVEL:g},{METHOD},texts"}


def by_length(lengths: NDArray[Any]) -> Iterator[tuple[str, Bools]]:
    """Yield each range of numbers of words, and which of the lengths are in it."""
    for low, high in LENGTHS:
        yield (
            f"{low} to {high - 1}" if high else f"{low} or more",
            (low <= lengths) & (lengths < (high or np.inf)),
        )


def _of_votes(judged: Judged, votes: NDArray[np.int8], margins: Margins) -> Json:
    """Return the errors of a judge's votes [texts, classes, templates], all of which were asked for."""
    texts, _, templates = votes.shape
    implied = np.repeat(judged.implied, templates, axis=1)
    weights = np.repeat(judged.weights, templates, axis=1)
    votes, margins = votes.reshape(texts, -1), margins.reshape(texts, -1)
    known = ~np.isnan(margins)
    chances = (1 + np.tanh(np.where(known, margins, 0.0) / 2)) / 2  # 1 / (1 + exp(-margin)), at any margin
    unreadable = ratio(np.where(votes == voting.OTHER, weights, 0.0).sum(), weights.sum())
    (rates,) = error_rates({"": Judged(votes == voting.YES, implied, weights)}, LEVEL).values()
    calibrated = calibration(chances, implied, np.where(known, weights, 0.0), LEVEL) if known.any() else None
    return rates | {"unreadable": float(unreadable), "calibration": calibrated}


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
    before = re.split(r"[.!?\n]", text[: mention.start])[-1]
    after, *end = re.split(r"([.!?\n])", text[mention.end :], maxsplit=1)
    sentence = (before + text[mention.start : mention.end] + after).lower().replace("’", "'")
    cued = {kind: cue.search(sentence) for kind, cue in CUES.items()} | {
        COMPOUND: before.endswith("-") or text.startswith("-", mention.end),
        QUESTION: end[:1] == ["?"],
        QUOTATION: re.search(r'["“]', before) and re.search(r'["”]', text[mention.end :]),
    }
    return {kind for kind, found in cued.items() if found}


# Corrected scores


def suffices(labels: Labels, texts: Sequence[str]) -> bool:
    """Whether scores of the texts can be corrected by these labels: of `FEWEST_TEXTS` texts, or of all."""
    return len(labels.texts) >= min(FEWEST_TEXTS, len(set(texts)))


def corrected_scores(judgement: Judgement, labels: Labels) -> Json:
    """Return the scores of all texts, corrected for the judges' errors by people's labels of a sample of them.

    Returns:
        `scores`, for each the "value", "low" and "high", fractions in [0, 1]; `refused`, why a score is not corrected;
        `interval`, the level and the method.

    Raises:
        ValueError: if the chances with which texts were drawn contradict the number of texts.
    """
    place = {text: number for number, text in enumerate(labels.texts)}
    rows = []
    places = []
    for row, text in enumerate(judgement.texts):
        number = place.get(digest(text))
        if number is not None:  # a text in several rows has its labels in each
            rows.append(row)
            places.append(number)
    sample = Sample(np.array(rows), labels.chances[places], labels.implied[places])
    known = voting.known(judgement.labels, judgement.present)
    corrected = correct(known, judgement.present, sample, level=LEVEL)
    return {
        "scores": corrected.scores,
        "refused": corrected.refused,
        "interval": f"{LEVEL:g},{CORRECTION}",
    }


# The certificate


def certify(
    judgement: Judgement,
    labels: Labels,
    store: Cache | str | None = None,
    corrected: Json | None = None,
    **about: str,
) -> Json:
    """Make a certificate from judges' votes on labelled texts, in the order of `labels`.

    `store` is the cache of the judges' votes; `corrected` is what `corrected_scores` gave; `about` are `texts` (the
    name of those from which the labelled ones were drawn), `labelled_by`, `responses` and `data`.
    """
    poll, questions, vocabulary = judgement.poll, judgement.questions, judgement.vocabulary
    cut = [questions.cut(text) for text in judgement.texts]
    with closing(store if isinstance(store, Cache) else Cache(store, "read")) as cache:
        margins = [
            cache.votes(judge, asked, cut)[1]
            for judge in poll.judges
            for asked in questions.about(vocabulary)
        ]
    names = np.array(vocabulary.classes)
    each = zip(
        labels.texts, labels.chances.tolist(), labels.implied, judgement.labels == voting.YES, strict=True
    )
    return sealed(
        {
            "form": FORM,
            "judges": list(poll.judges),
            "questions": poll.questions,
            "agreement": f"{poll.k}of{poll.votes.shape[-1]}",
            "vocabulary": vocabulary.name,
            "labels_from": labels.name,
            **about,
            **errors(judgement, labels, np.stack(margins, axis=-1)),
            "corrected": corrected,
            # classes that are not named are not implied, and not judged to be
            "labels": [
                {
                    "text": text,
                    "chance": chance,
                    "implied": names[implied].tolist(),
                    "judged": names[judged].tolist(),
                }
                for text, chance, implied, judged in each
            ],
        }
    )


def sealed(content: Json) -> Json:
    """Return a certificate's content as JSON has it, with our version and the digest."""
    found: Json = finite(content | {"version": __version__})
    return found | {DIGEST: digest_of(found)}


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the checksum over all content but itself."""
    rest = {name: value for name, value in content.items() if name != DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


# What is printed


def report(content: Json) -> Report:
    """Return how often the judges err: by kind of text, vote by vote, and how far their probabilities hold."""
    errors, votes = content["errors"], content["votes"]
    whose = f"labels of {errors['all']['texts']:,} texts, given by {content['labelled_by']}"
    judges = Notes([", ".join(content["judges"]), f"against {errors['all']['labels']:,} {whose}"])
    report: list[Table | Notes] = [judges]
    for by, rows in {**errors, "all": {"all": errors["all"]}, "single votes": votes}.items():
        header = [by, "texts", "votes" if rows is votes else "labels", "people: yes", *RATES]
        cells = [
            [name, row["texts"], row["labels"], row["implied"]] + [estimate(row[rate]) for rate in RATES]
            for name, row in rows.items()
        ]
        report += [Table(f"by {by}", header, cells, intervals=RATES)] if cells else []
    for judge, of in votes.items():
        lines = [f"{judge}: {percent(of['unreadable'])} % of the votes were neither yes nor no"]
        report.append(Notes(lines))
        if known := of["calibration"]:
            lines.append(f"expected calibration error: {with_ends(known['ece'])}")
            cells = [
                [interval((bin["from"], bin["to"])), bin["votes"], share(bin["said"]), share(bin["implied"])]
                for bin in known["bins"]
            ]
            header = ["P(yes) %", "votes", "mean P(yes) %", "people say yes %"]
            report.append(Table("calibration", header, cells, of=judge))
    report += _corrected(content["corrected"])
    how = "cue words in the sentences that mention a class decide its kinds; a label may count in several"
    meaning = [f"{name}: {meaning}, in percent" for name, meaning in DATA["meaning"].items()]
    return [*report, Notes([*meaning, how, f"certificate: {content[DIGEST]}"])]


def _corrected(corrected: Json | None) -> Report:
    if corrected is None:
        return [
            Notes(
                [f"Scores are corrected by labels of at least {FEWEST_TEXTS} texts, or of all; label more."]
            )
        ]
    rows: list[list[Cell]] = []
    for name, score in corrected["scores"].items():
        rows.append([name, estimate(score)])
    report: list[Table | Notes] = [Table("corrected", ["score", "corrected"], rows, intervals=("corrected",))]
    if corrected["refused"]:
        report.append(
            Notes([f"{name} is not corrected: {why}" for name, why in corrected["refused"].items()])
        )
    return report
