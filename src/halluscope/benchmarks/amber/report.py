"""Presents AMBER's results as text, and its rows: the marked words of a description, the reading of an answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.amber.metric import GROUPS, RATIOS
from halluscope.benchmarks.amber.rows import GENERATIVE, load_words
from halluscope.reporting import tables
from halluscope.reporting.report_items import (
    FOUND,
    HALLUCINATED,
    MISSED,
    UNREADABLE,
    WRONG_NO,
    WRONG_YES,
    Item,
    Kind,
    answer_error,
    answer_facts,
    badness,
    judged_texts,
    placed,
    word_facts,
)
from halluscope.reporting.tables import Cell, Declared, Named, Report, Table, is_defined, percent, score
from halluscope.signature import keys_of

ANSWERS = (*RATIOS, "f1")
IMAGINED = "imagined"

# An error in a response to a question -> how bad it is; a hallucinated word counts 1.
BADNESS = {"": 0.0, UNREADABLE: 0.25, WRONG_NO: 0.5, WRONG_YES: 1.0}


VIEW = Declared(__file__)


def report(results: Named, **_: Any) -> Report:
    """Return tables in percent, one row per LVLM and one per dimension, and the signatures."""
    named = [
        (f"{name}, {result['parser']}" if result.get("parser") else name, result) for name, result in results
    ]
    rows: list[list[Cell]] = [
        [responses, group, *(score(result, f"{name}/{group}") for name in ANSWERS)]
        for responses, result in named
        for group in GROUPS
        if is_defined(result[f"accuracy/{group}"])
    ]
    dimensions = Table("dimensions", ["responses", "dimension", *ANSWERS], rows, left=2, ranked=True)
    notes = {name: VIEW.notes(result, *_gaps(result)) for name, result in named}
    return tables.report([VIEW.table(named), dimensions], notes)


def _gaps(result: Mapping[str, Any]) -> Iterator[str]:
    if not result["descriptions"]:
        yield "no descriptions: chair, cover, hal, cog and amber are undefined"
    elif not result["questions"]:
        yield "no responses to questions: accuracy, precision, recall, f1 and amber are undefined"
    elif not is_defined(result["f1"]):
        yield "a dimension has no responses: the scores over all questions and amber are undefined"
    choices = keys_of(result["signature"])
    if choices["convention"] == "official" and choices["nouns"].startswith(("nouns-", "spacy-")):
        yield "its nouns are not those of the authors' script: add --reader nltk (extra nltk)"


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        asked = row["inputs"]["references"]
        found: dict[str, Any] = {}
        if asked["task"] == GENERATIVE:
            outcomes = [_outcome(word, row) for word in row["mentions"]]
            marks, unplaced = placed(row["mentions"], row["places"], outcomes)
            found = {
                "marks": marks,
                "facts": [
                    *unplaced,
                    *(fact for of in (IMAGINED, MISSED) for fact in word_facts(row[of], of)),
                ],
                "classes": dict.fromkeys(row[MISSED], MISSED)
                | {
                    word: FOUND if kind == "good" else HALLUCINATED
                    for word, (kind, _) in zip(row["mentions"], outcomes, strict=True)
                    if kind != "plain"
                },
            }
            errors = [error for error in (HALLUCINATED, IMAGINED, MISSED) if row[error]]
            bad = badness(row[HALLUCINATED], row[MISSED])
        else:
            error = answer_error(row["said"], row["answer"])
            found = {"question": asked["prompt"], "facts": answer_facts(row["said"], row["answer"])}
            errors, bad = [error] if error else [], BADNESS[error]
        yield Item(
            id=str(row["id"]),
            text=text,
            image=asked["file_name"],
            parts={"dimension": row["dimension"]},
            errors=errors,
            badness=bad,
            **found,
        )


def _outcome(word: str, row: Mapping[str, Any]) -> tuple[Kind, str]:
    """Return the kind and the text of a mentioned word's mark."""
    known = load_words()
    if word in row[HALLUCINATED]:
        is_imagined = any(word == other for other, _ in known.standing_for(row[IMAGINED]))
        return "bad", f"{HALLUCINATED}, and easily imagined here" if is_imagined else HALLUCINATED
    neither: tuple[Kind, str] = ("plain", "a word that AMBER counts as neither right nor wrong")
    return neither if word in known.safe else ("good", FOUND)


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what the AMBER score means."""
    parts = {
        "chair": f"of 100 mentions in descriptions {percent(scores['chair'])} are hallucinated",
        "f1": f"F1 of the responses to questions, with no as the positive class, is {percent(scores['f1'])} of 100",
    }
    known = [part for score, part in parts.items() if is_defined(scores[score])]
    if is_defined(scores["amber"]):
        return f"The AMBER score is {percent(scores['amber'])} of 100: {', and '.join(known)}."
    undefined = (
        "The AMBER score is undefined, because it needs descriptions, and responses to questions in all three "
        "dimensions"
    )
    return f"{'; '.join([undefined, *known])}."
