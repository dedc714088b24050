"""OpenCHAIR: hallucinated nouns in captions, without a closed list of objects (Ben-Kish et al., EMNLP 2024).

The concrete nouns of an LVLM's caption are found, and for each of them judges are asked whether the image has it, of
which they read the caption that is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import limits, options
from halluscope.benchmarks.openchair import concreteness as ratings
from halluscope.benchmarks.openchair import prompts, scoring
from halluscope.benchmarks.openchair.scoring import UNDECIDED, Labels
from halluscope.foreign import brief
from halluscope.inputs import flags, ids, is_like_a_list, listed, paired, texts, word
from halluscope.judging.cost.planning import Plan, plan_poll
from halluscope.judging.voters import voting
from halluscope.judging.voters.poll import Voting
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.reading.words import readers
from halluscope.reading.words.word import Word, forms_of
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.thoughts import REMOVED, choice, take_out
from halluscope.signature import data_of, form_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Ints, Tally, resampled, scores
from halluscope.vocabularies import Vocabulary

GIVEN = "given"

SAID = {"yes": YES, "no": NO, "unsure": UNDECIDED}
"""What a given vote may say."""

SHOWN = {YES: "yes", NO: "no", UNDECIDED: None}
"""A label, for people."""

BY_GIVEN = {"judges": GIVEN, "questions": GIVEN, "agreement": "1of1"}
"""Who voted on what, where votes are given."""

Nouns = list[list[Word]]
"""The nouns of each caption; those that were given stand nowhere."""


@dataclass(frozen=True)
class Voted:
    """What came of the votes.

    Attributes:
        nouns: of each caption, those that count.
        labels: theirs.
        unread: by image, how many replies are neither yes nor no, of how many; None for given votes.
        by: who voted on what, for the signature.
    """

    nouns: list[list[str]]
    labels: Sequence[Labels]
    unread: tuple[Ints, Ints] | None
    by: Mapping[str, object]

    @property
    def unreadable(self) -> Tally:
        """The share of replies that are neither, where there are any."""
        return {} if self.unread is None else {"unreadable": self.unread}


def compute(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    convention: str = scoring.RELEASED,
    reader: str = readers.LEMMINFLECT,
    concreteness: str | Path | None = None,
    nouns: Sequence[Sequence[str]] | None = None,
    votes: Sequence[Sequence[Sequence[str]]] | None = None,
    image_ids: Sequence[Any] | None = None,
    forms: Sequence[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
    level: float = 0.95,
    per_image: bool = False,
    thoughts: str = REMOVED,
    **judging: Any,
) -> dict[str, Any]:
    """Score an LVLM's captions of images.

    Args:
        predictions: the LVLM's raw captions, one per image; an empty one has no noun.
        references: the caption that is right, one per image; judges read it in place of the image.
        convention: "released" counts a noun as often as it comes, but for six words that speak of the image itself
            ("photo"), and leaves out what is undecided; "first", the authors' script as it stood first, counts a noun
            once per caption, and what is undecided as hallucinated.
        reader: who finds a caption's nouns: "lemminflect", a dictionary and a few rules; "spacy", whose en_core_web_sm
            tags words, as in the authors' script; or "nltk", which tags words too, with nltk's data.
        concreteness: the ratings of Brysbaert et al. (2014), a file: only nouns rated above 4.5 count, as in the paper.
            By default all nouns do, and the signature says so.
        nouns: the nouns of each caption in their dictionary form, as often as they come, where another program has
            found them.
        votes: for each caption a list of its nouns with a vote each, such as ["dog", "no"]: "yes" (it is there), "no"
            (it is hallucinated) or "unsure"; when they are given, neither a reader nor a judge is asked.
        image_ids: when they are given, an id that comes twice is an error.
        forms: which parallel form each row is of (its column `form`); the signature tells it, and no score moves.
        bootstrap: how many resamples of the images an interval is made of; 0 for none.
        seed: of the bootstrap.
        level: of the interval, in (0, 1).
        per_image: also give, for each image, its nouns, with their places in the caption as it was read, and what was
            voted.
        thoughts: "removed" takes out what the LVLM thought (`halluscope.responses.thoughts`), "kept" reads it too.
        judging: how the poll is held: judges, questions ("released", "plain" for judges that say yes or no alone,
            "claims" for checkers, or templates), agreement, device, engine, recheck, tokenizer, workers, leave_out,
            at_once, max_failed, store, progress; see `halluscope.judging.voters.poll.Voting`. Each vote is needed:
            `ask` changes nothing.

    Returns:
        `openchair`, the share of nouns that are hallucinated, a fraction in [0, 1], NaN without any: those on which
        enough votes say no, of those on which enough say yes or no. `undecided`, the share of nouns on which neither
        do: judges disagree, or say neither. `unreadable`, the share of the judges' replies that are neither yes nor no;
        a reply "unsure" is one (None for given votes). Of all these lower is better. `nouns`, how many count; `found`
        and `hallucinated`, how many of these; `nouns_per_caption`; `without_nouns`, how many captions have none;
        `images`; `mean_words`, how long the texts are; `thoughts`, how many texts held one that was removed;
        `signature`; and `interval` and `per_image` when asked for.

    Raises:
        ValueError: for any bad input, before a model is loaded.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', [spacy] or [nltk]).
        FileNotFoundError: without spaCy's model, the data that nltk needs, or the file of ratings.
    """
    flags(per_image=per_image)
    word("convention", convention, scoring.CONVENTIONS)
    readers.check_of_common_nouns(reader)
    predictions, references = _paired(predictions, references)
    image_ids = None if image_ids is None else ids("image_ids", image_ids, len(predictions), unique=True)
    form = form_of(() if forms is None else texts("forms", forms, len(predictions)))
    predictions, thought = take_out(predictions, thoughts)
    resampling = Bootstrap(bootstrap, seed, level)
    poll = _poll(judging)
    concrete = None if concreteness is None else ratings.read(concreteness)
    if votes is None:
        found, found_by = _nouns(predictions, nouns, reader)
        counted = _counted(found, concrete, convention)
        voted = _ask(poll, references, [*map(forms_of, counted)])
    else:
        found, labels = _given(votes, nouns, len(predictions))
        counted, found_by = _counted(found, concrete, convention), GIVEN
        voted = Voted([*map(forms_of, counted)], labels, None, BY_GIVEN)
    tally = {**scoring.tally(voted.nouns, voted.labels, convention), **voted.unreadable}
    result: dict[str, Any] = {"unreadable": None} | scores([tally])
    result |= {
        **_facts(voted),
        MEAN_WORDS: mean_words(predictions),
        "thoughts": thought,
        "signature": signature(
            "openchair",
            data=data_of("openchair", zip(image_ids or [""] * len(references), references, strict=True)),
            convention=convention,
            nouns=found_by,
            concreteness="no" if concrete is None else data_of("concrete", [[one] for one in concrete]),
            **voted.by,
            **form,
            **choice(thoughts),
            interval=resampling.over("images"),
        ),
    }
    if bootstrap:
        drawn = resampling.weights(len(references))
        result["interval"] = resampling.intervals(map(partial(resampled, [tally]), drawn))
    if per_image:
        result["per_image"] = list(map(_of_image, counted, voted.labels))
    return result


def _facts(voted: Voted) -> dict[str, int | float]:
    """How many nouns and captions there are, and what was voted on how many."""
    said = [of[noun] for each, of in zip(voted.nouns, voted.labels, strict=True) for noun in each]
    images = len(voted.nouns)
    return {
        "nouns": len(said),
        "found": said.count(YES),
        "hallucinated": said.count(NO),
        "nouns_per_caption": len(said) / images,
        "without_nouns": voted.nouns.count([]),
        "images": images,
    }


def plan(
    sets: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    convention: str = scoring.RELEASED,
    reader: str = readers.LEMMINFLECT,
    concreteness: str | Path | None = None,
    thoughts: str = REMOVED,
    calibrate: float = 0.0,
    prices: tuple[float, float] | None = None,
    **judging: Any,
) -> Plan:
    """What `compute` will take.

    Args:
        sets: predictions and references, as `compute` gets them, one pair per LVLM, in the order in which they are
            scored.
        convention: as `compute` has it.
        reader: as `compute` has it.
        concreteness: as `compute` has it.
        thoughts: as `compute` has it.
        calibrate: ask each language model for about so many seconds, to measure how long the rest takes; 0 for not
            at all.
        prices: of a million tokens that a judge behind an endpoint reads, and of a million that it says.
        judging: as `compute` has it.

    Raises:
        ValueError: for any bad input, as `compute` does.
    """
    word("convention", convention, scoring.CONVENTIONS)
    poll = _poll(judging)
    concrete = None if concreteness is None else ratings.read(concreteness)
    asked = []
    for predictions, references in (_paired(*one) for one in sets):
        found, _ = _nouns(take_out(predictions, thoughts)[0], None, reader)
        asked.append((references, [*map(forms_of, _counted(found, concrete, convention))]))
    classes = _classes([nouns for _, each in asked for nouns in each])
    return plan_poll(asked, classes, poll, prompts.load(poll.questions), calibrate, prices, only_present=True)


def _paired(predictions: Any, references: Any) -> tuple[list[str], list[str]]:
    """Captions, and those that are right.

    Raises:
        ValueError: as `halluscope.inputs.paired`, or for a caption that is none.
    """
    predictions, references = paired(predictions, references)
    for row, caption in enumerate(references):
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"references[{row}] is {brief(caption)}; expected the caption that is right.")
    return predictions, references


def _poll(judging: Mapping[str, Any]) -> Voting:
    """How the poll is held."""
    poll = options.build(Voting, judging, "openchair", questions=prompts.RELEASED)
    poll.required(len(prompts.load(poll.questions).templates))
    return poll


def _nouns(captions: Sequence[str], given: Any, reader: str) -> tuple[Nouns, str]:
    """The nouns of each caption, and who found them, as it stands in a signature."""
    if given is None:
        find, version = readers.common_nouns(reader)
        return [find(caption) for caption in captions], version
    lists = listed("nouns", given, "a list, one list of nouns per caption", len(captions))
    found = [texts(f"nouns[{row}]", nouns) for row, nouns in enumerate(lists)]
    for row, nouns in enumerate(found):
        _check_words(f"nouns[{row}]", nouns)
    return [[*map(Word, nouns)] for nouns in found], GIVEN


def _given(votes: Any, nouns: Any, rows: int) -> tuple[Nouns, list[dict[str, int]]]:
    """The nouns of given votes, and the label on each.

    Raises:
        ValueError: for what is no list of nouns with a vote each, two votes on a noun of one caption, or nouns too.
    """
    if nouns is not None:
        raise ValueError(
            "votes and nouns are given; expected one of them: votes name their nouns themselves."
        )
    lists = listed("votes", votes, "a list, one list of nouns with their votes per caption", rows)
    found: Nouns = []
    labels: list[dict[str, int]] = []
    for row, given in enumerate(lists):
        pairs = [
            _vote(pair, f"votes[{row}][{place}]")
            for place, pair in enumerate(listed(f"votes[{row}]", given, "a list of nouns with a vote each"))
        ]
        label = dict(pairs)
        for place, (noun, vote) in enumerate(pairs):
            if label[noun] != vote:
                raise ValueError(
                    f"votes[{row}][{place}]: {brief(noun)} has another vote in the same caption."
                )
        found.append([Word(noun) for noun, _ in pairs])
        labels.append(label)
    return found, labels


def _vote(pair: Any, where: str) -> tuple[str, int]:
    """A noun, and what a vote says of it."""
    if not is_like_a_list(pair) or len(pair) != 2:
        raise ValueError(f"{where} is {brief(pair)}; expected a noun and a vote, such as ['dog', 'no'].")
    noun, said = texts(where, pair)
    _check_words(where, [noun])
    return noun, SAID[word(where, said, tuple(SAID))]


def _check_words(where: str, nouns: Sequence[str]) -> None:
    for noun in nouns:
        if not noun.strip():
            raise ValueError(f"{where} holds {brief(noun)}; expected a noun.")


def _counted(nouns: Nouns, concrete: frozenset[str] | None, convention: str) -> Nouns:
    """The nouns of each caption that count."""
    kept = nouns if concrete is None else [[one for one in each if one.form in concrete] for each in nouns]
    return [scoring.counted(each, convention) for each in kept]


def _classes(nouns: Sequence[Sequence[str]]) -> Vocabulary:
    """All nouns, as the classes that judges are asked about."""
    classes = tuple(sorted({noun for each in nouns for noun in each}))
    limits.check("classes", len(classes), f"A vocabulary of the captions' {len(classes):,} different nouns")
    return Vocabulary("nouns", classes)


def _ask(poll: Voting, references: Sequence[str], nouns: list[list[str]]) -> Voted:
    """Have judges vote on each caption's nouns. A reply that is neither yes nor no speaks for neither label."""
    classes = _classes(nouns)
    present = classes.presence(nouns)
    held = poll.hold(references, present, classes, prompts.load(poll.questions), only_present=True)
    votes = held.votes[present]
    codes = voting.label((votes == YES).sum(axis=1), (votes == NO).sum(axis=1), held.k)
    labels: list[dict[str, int]] = [{} for _ in nouns]
    image, column = np.nonzero(present)
    for row, place, code in zip(image.tolist(), column.tolist(), codes.tolist(), strict=True):
        labels[row][classes.classes[place]] = code
    unread, asked = (
        np.bincount(image, weights=of.sum(axis=1), minlength=len(nouns)).astype(np.int64)
        for of in (votes == OTHER, votes != UNASKED)
    )
    agreement = f"{held.k}of{votes.shape[1]}"
    by = {"judges": held.judges, "questions": held.questions, "agreement": agreement}
    return Voted(nouns, labels, (unread, asked), by)


def _of_image(nouns: Sequence[Word], labels: Labels) -> dict[str, Any]:
    """What was voted on a caption's nouns, those that count, as often as they come, and where they stand."""
    found = forms_of(nouns)
    return {
        "nouns": found,
        "places": [noun.place for noun in nouns],
        "votes": [SHOWN[labels[noun]] for noun in found],
        "hallucinated": [noun for noun in found if labels[noun] == NO],
    }
