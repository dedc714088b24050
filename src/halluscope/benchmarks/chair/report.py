"""Presents CHAIR's results as text, and its rows with each word that stands for a class marked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.chair.words import finished
from halluscope.reporting import tables
from halluscope.reporting.report_items import (
    HALLUCINATED,
    KIND_OF,
    MISSED,
    Item,
    badness,
    judged_texts,
    outcomes,
    placed,
    word_facts,
)
from halluscope.reporting.tables import (
    Named,
    Report,
    Table,
    is_defined,
    label_names,
    labels,
    percent,
    plain,
    score,
)
from halluscope.responses.lengths import MEAN_WORDS

COLUMNS = ("chair_s", "chair_i", "recall")


def report(results: Named, **_: Any) -> Report:
    """Return one row per LVLM, in percent, with any intervals, and the signatures below."""
    rows = [
        [*label, *(score(result, name) for name in COLUMNS), plain(result[MEAN_WORDS], ".1f")]
        for label, (_, result) in zip(labels(results), results, strict=True)
    ]
    header = [*label_names(results), *COLUMNS, MEAN_WORDS]
    scores = Table("scores", header, rows, ranked=True, intervals=COLUMNS)
    notes = {
        "image_list": "images: {}",
        "unfinished": "responses that lost an unfinished sentence: {:,}",
        "signature": "signature: {}",
    }
    remarks = {
        name: [text.format(result[key]) for key, text in notes.items() if key in result]
        for name, result in results
    }
    return tables.report([scores], remarks)


def items(
    rows: Sequence[Mapping[str, Any]], options: Mapping[str, Any], voters: Any = None
) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    read = finished if options.get("drop_unfinished") else str
    for row, text in zip(rows, map(read, judged_texts(rows, options)), strict=True):
        classes, names = outcomes(row), [name for _, name in row["mentions"]]
        kinds = [(KIND_OF[classes[name]], classes[name]) for name in names]
        marks, words = placed(names, row["places"], kinds)
        yield Item(
            id=str(row["image_id"]),
            text=text,
            image=str(row["image_id"]),
            marks=marks,
            facts=[*words, *word_facts(row[MISSED], MISSED)],
            errors=[error for error in (HALLUCINATED, MISSED) if row[error]],
            classes=classes,
            badness=badness([mark for mark in marks if mark.kind == "bad"], row[MISSED]),
        )


def meaning(scores: Mapping[str, Any]) -> str:
    """Say in a sentence what CHAIR_i means."""
    if not is_defined(scores["chair_i"]):
        return "CHAIR_i is undefined: no caption mentions an object."
    share = percent(scores["chair_i"])
    return f"Of 100 mentions of objects in the captions, {share} name an object that is not in the image."
