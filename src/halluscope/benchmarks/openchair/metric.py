"""OpenCHAIR: hallucinated nouns in captions, without a closed list of objects (Ben-Kish et al., EMNLP 2024).

The concrete nouns of an LVLM's caption are found, and judges are asked for each noun whether the image has it. In place
of the image, judges read its right caption.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halluscope import limits, options
from halluscope.benchmarks.openchair import BENCHMARK
from halluscope.errors import BuildError
from halluscope.judging import votes as voting
from halluscope.judging.options import POLLING, VoteOptions
from halluscope.judging.questions import QuestionSet, question_set
from halluscope.judging.votes import IGNORED as UNDECIDED
from halluscope.judging.votes import NO, OTHER, UNASKED, YES
from halluscope.paths import path_of
from halluscope.reading import tables
from halluscope.reading.words import readers
from halluscope.reading.words.tokens import Word, as_written, forms_of
from halluscope.responses.lengths import MEAN_WORDS, mean_words
from halluscope.responses.thoughts import REMOVED, choice, spoken
from halluscope.sanitize import short_repr
from halluscope.signature import data_of, signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.tallies import Tally, scores, uncertainty
from halluscope.validation import flags, ids_and_forms, kind, listed, paired, texts, word
from halluscope.vocabularies import Vocabulary, read_toml

RELEASED, FIRST = "released", "first"

SETS = {name: QuestionSet(**one) for name, one in read_toml(__file__, "benchmark.toml")["questions"].items()}

# Words that the released script does not count, because they name the image itself.
NO_OBJECTS = frozenset({"painting", "drawing", "photo", "picture", "portrait", "photograph"})

# A word that a given vote may be -> its label: the noun is there, is hallucinated, or neither, because too few votes
# agree, or too few say yes or no.
SAID = {"yes": YES, "no": NO, "unsure": UNDECIDED}
SHOWN = {YES: "yes", NO: "no", UNDECIDED: None}

# A word whose mean rating, from 1 to 5, is above this is concrete.
CONCRETE = 4.5

Nouns = list[list[Word]]  # the nouns of each caption; given nouns have no place in the text


def compute(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    convention: str = RELEASED,
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
        predictions: the LVLM's raw captions, one per image; an empty caption has no noun.
        references: the right captions, one per image; judges read them in place of the images.
        convention: "released" counts a noun as often as it occurs, except six words for the image itself ("photo"), and
            leaves out undecided nouns; "first", the first version of the authors' script, counts a noun once per
            caption, and counts undecided nouns as hallucinated.
        reader: what finds a caption's nouns: "lemminflect", a dictionary and a few rules; "spacy", whose en_core_web_sm
            tags words, as in the authors' script; or "nltk", which tags words too, with nltk's data.
        concreteness: a file of the ratings of Brysbaert et al. (2014): only nouns rated above 4.5 count, as in the
            paper. By default all nouns count, and the signature says so.
        nouns: the nouns of each caption in their dictionary form, repeats included, if another program has found them.
        votes: for each caption a list of its nouns with a vote each, such as ["dog", "no"]: "yes" (it is there), "no"
            (it is hallucinated) or "unsure"; if given, neither a reader nor a judge is asked.
        image_ids: the images' ids; a repeated id is an error.
        forms: the parallel form of each row (its column `form`); it is named in the signature and changes no score.
        bootstrap: 0 for no intervals; any other number gives the same ones, which leave out one image at a time.
        seed: moves nothing.
        level: the level of the interval, in (0, 1).
        per_image: also give, for each image, its nouns, their places in the caption as it was read, and the votes on
            them.
        thoughts: "removed" drops the LVLM's thoughts (`halluscope.responses.thoughts`), "kept" reads them too.
        judging: how the poll is held: judges, questions ("released", "plain" for judges that say only yes or no,
            "claims" for checkers, or templates), agreement, device, workers, leave_out,
            at_once, max_failed, store, progress; see `halluscope.judging.options.VoteOptions`. `ask` has no effect,
            because every vote is needed.

    Returns:
        Fractions in [0, 1], lower is better: `openchair`, the share of hallucinated nouns (enough votes say no) among
        the decided ones (enough votes say yes, or enough say no), NaN without any; `undecided`, the share of nouns on
        which neither enough votes say yes nor enough say no; `unreadable`, the share of votes that are neither yes nor
        no, "unsure" included (None for given votes). With convention="first" undecided nouns count as hallucinated.
        Numbers: `nouns`, those that count; `found` and `hallucinated` nouns among them; `nouns_per_caption`;
        `without_nouns`, captions without a noun that counts; `images`; `mean_words`, the captions' mean length in
        words; `thoughts`, captions from which a thought was removed; `unfinished_thoughts`, those that are a thought
        without an end.
        Also `signature`, and on request `interval` and `per_image`.

    Raises:
        ValueError: for any bad input, before a model is loaded.
        MissingExtra: without the reader's package (pip install 'halluscope[words]', [spacy] or [nltk]).
        FileNotFoundError: without spaCy's model, the data that nltk needs, or the file of ratings.
    """
    flags(per_image=per_image)
    BENCHMARK.check_choices(convention=convention)
    readers.check(reader, readers.NOUNS)
    predictions, references = _paired(predictions, references)
    image_ids, form = ids_and_forms(image_ids, forms, len(predictions))
    heard = spoken(predictions, thoughts)
    predictions = heard.texts
    resampling = Bootstrap(bootstrap, seed, level)
    if nouns is not None or votes is not None:
        why = "nouns are given, so no caption is read" if votes is None else "votes name the nouns"
        options.check_effect({"reader": reader}, ["reader"], why, {"reader": readers.LEMMINFLECT})
    poll = _poll(judging)
    concrete = None if concreteness is None else read_concrete(concreteness)
    if votes is None:
        found, found_by = _nouns(predictions, nouns, reader)
        counting = _counting(found, concrete, convention)
        labels, unread, by = _ask(poll, references, [*map(forms_of, counting)])
    else:
        if nouns is not None:
            raise ValueError(
                "votes and nouns are given; expected one of them, because votes already name their nouns."
            )
        why = "votes are given, so nobody is asked"
        usual = options.usual_values(VoteOptions) | {"questions": RELEASED}
        options.check_effect(judging, [*POLLING, "questions", "agreement"], why, usual)
        found, labels = _given(votes, len(predictions))
        counting, found_by, unread = _counting(found, concrete, convention), "given", {}
        by = {"judges": "given", "questions": "given", "agreement": "1of1"}
    codes = [[of[noun.form] for noun in each] for each, of in zip(counting, labels, strict=True)]
    there, wrong, undecided = (
        np.array([each.count(code) for each in codes], dtype=np.int64) for code in (YES, NO, UNDECIDED)
    )
    part, every = wrong + undecided if convention == FIRST else wrong, there + wrong + undecided
    tally = {"openchair": (part, there + part), "undecided": (undecided, every), **unread}
    result: dict[str, Any] = {"unreadable": None} | scores([tally])
    result |= {
        "nouns": int(every.sum()),
        "found": int(there.sum()),
        "hallucinated": int(wrong.sum()),
        "nouns_per_caption": int(every.sum()) / len(references),
        "without_nouns": int((every == 0).sum()),
        "images": len(references),
        MEAN_WORDS: mean_words(predictions),
        **heard.counts(),
        "signature": signature(
            "openchair",
            data=data_of("openchair", zip(image_ids or [""] * len(references), references, strict=True)),
            convention=convention,
            nouns=found_by,
            concreteness="no" if concrete is None else data_of("concrete", [[one] for one in concrete]),
            **by,
            **form,
            **choice(thoughts),
            interval=resampling.over("images"),
        ),
        **uncertainty([tally], resampling),
    }
    if per_image:
        result["per_image"] = [
            {
                "nouns": (forms := forms_of(each)),
                "places": [noun.place for noun in each],
                "votes": [SHOWN[of[noun]] for noun in forms],
                "hallucinated": [noun for noun in forms if of[noun] == NO],
            }
            for each, of in zip(counting, labels, strict=True)
        ]
    return result


def questions_of(questions: str | Sequence[str] | QuestionSet) -> QuestionSet:
    """Find a question set by name, or make one from the user's templates in the frame of `plain`."""
    return question_set(questions, SETS, SETS["plain"].frame)


def _paired(predictions: Any, references: Any) -> tuple[list[str], list[str]]:
    """Return the LVLM's captions and the right captions, which are not empty."""
    predictions, references = paired(predictions, references)
    for row, caption in enumerate(references):
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"references[{row}] is {short_repr(caption)}; expected the right caption.")
    return predictions, references


def _poll(judging: Mapping[str, Any]) -> VoteOptions:
    """Read how the poll is held."""
    poll = options.build(VoteOptions, judging, "openchair", questions=RELEASED)
    poll.required(len(questions_of(poll.questions).templates))
    return poll


def read_concrete(file: str | Path) -> frozenset[str]:
    """Read the concrete words of the ratings of Brysbaert et al. (2014), a file that the user brings.

    It is xlsx, csv, tsv, JSON or Parquet with columns `Word` and `Conc.M`. Nouns are in lower case, so words with
    capitals ("TV") count for none, nor do unrated nouns, as in the authors' script (`is_concrete` in utils.py).
    """
    kind("concreteness", file, str | Path, "a file of ratings, or None")
    found = set()
    for where, row in tables.rows(path_of(file)):
        if not isinstance(row, dict) or not {"Word", "Conc.M"} <= row.keys():
            raise BuildError(
                f"concreteness: {where} is {short_repr(row, 120)}; expected the columns Word and Conc.M of the "
                "ratings of Brysbaert et al. (2014)."
            )
        rating = str(row["Conc.M"])
        if not re.fullmatch(r"[1-4](\.\d+)?|5(\.0+)?", rating):
            raise BuildError(
                f"concreteness: {where}: Conc.M is {short_repr(row['Conc.M'])}; expected a rating from 1 to 5."
            )
        if float(rating) > CONCRETE:
            found.add(str(row["Word"]))
    if not found:
        raise BuildError(
            f"concreteness: {file} has no word that is rated above {CONCRETE}; expected the ratings of Brysbaert et al."
        )
    return frozenset(found)


def _nouns(captions: Sequence[str], given: Any, reader: str) -> tuple[Nouns, str]:
    """Return the nouns of each caption, which is read in lower case, and who found them."""
    found, by = readers.nouns_of([*map(str.lower, captions)], given, reader)
    return (found if given is not None else [*map(as_written, found, captions)]), by


def _given(votes: Any, rows: int) -> tuple[Nouns, list[dict[str, int]]]:
    """Return the nouns of given votes, and the label of each noun."""
    found: Nouns = []
    labels: list[dict[str, int]] = []
    for row, given in enumerate(listed("votes", votes, "a list of nouns with their votes per caption", rows)):
        found.append([])
        labels.append({})
        for place, pair in enumerate(listed(f"votes[{row}]", given, "a list of nouns with a vote each")):
            where = f"votes[{row}][{place}]"
            noun, *said = texts(where, pair) or [""]
            if not noun.strip() or len(said) != 1:
                raise ValueError(
                    f"{where} is {short_repr(pair)}; expected a noun and a vote, such as ['dog', 'no']."
                )
            vote = SAID[word(where, said[0], tuple(SAID))]
            if labels[row].setdefault(noun, vote) != vote:
                raise ValueError(f"{where}: {short_repr(noun)} has a different vote in the same caption.")
            found[row].append(Word(noun))
    return found, labels


def _counting(nouns: Nouns, concrete: frozenset[str] | None, convention: str) -> Nouns:
    """Return the nouns of each caption that count (`get_och_score` in the authors' evaluate.py, two versions).

    >>> nouns = [[Word("dog"), Word("photo"), Word("dog")]]
    >>> [[noun.form for noun in _counting(nouns, None, one)[0]] for one in (RELEASED, FIRST)]
    [['dog', 'dog'], ['dog', 'photo']]
    """
    found = [[one for one in each if concrete is None or one.form in concrete] for each in nouns]
    if convention == FIRST:  # a dict keeps the place of the first of equal nouns
        firsts = ({noun.form: noun for noun in reversed(each)} for each in found)
        return [[one for one in each if of[one.form] is one] for each, of in zip(found, firsts, strict=True)]
    return [[one for one in each if one.form not in NO_OBJECTS] for each in found]


def _classes(nouns: Sequence[Sequence[str]]) -> Vocabulary:
    """Return all nouns as the classes that judges are asked about."""
    classes = tuple(sorted({noun for each in nouns for noun in each}))
    limits.check("classes", len(classes), f"A vocabulary of the captions' {len(classes):,} different nouns")
    return Vocabulary("nouns", classes)


def _ask(
    poll: VoteOptions, references: Sequence[str], nouns: list[list[str]]
) -> tuple[list[dict[str, int]], Tally, dict[str, Any]]:
    """Have judges vote on each caption's nouns; a vote that is neither yes nor no counts for neither label.

    Returns the label of each caption's nouns, the share of unreadable votes, and who voted on what.
    """
    classes = _classes(nouns)
    present = classes.presence(nouns)
    held = poll.collect_votes(references, present, classes, questions_of(poll.questions), only_present=True)
    votes = held.votes[present]
    codes = voting.label((votes == YES).sum(axis=1), (votes == NO).sum(axis=1), held.k)
    image, column = np.nonzero(present)
    labels: list[dict[str, int]] = [{} for _ in nouns]
    for row, place, code in zip(image.tolist(), column.tolist(), codes.tolist(), strict=True):
        labels[row][classes.classes[place]] = code
    unread, asked = (
        np.bincount(image, weights=of.sum(axis=1), minlength=len(nouns)).astype(np.int64)
        for of in (votes == OTHER, votes != UNASKED)
    )
    by = {"judges": held.judges, "questions": held.questions, "agreement": f"{held.k}of{votes.shape[1]}"}
    return labels, {"unreadable": (unread, asked)}, by
