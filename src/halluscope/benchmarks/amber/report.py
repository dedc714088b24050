"""Presents AMBER's results as text, and its rows: the marked words of a description, the reading of an answer."""

from collections.abc import Iterator, Sequence
from typing import Any

from halluscope.benchmarks.amber.conventions import OF_ANSWERS
from halluscope.benchmarks.amber.counting import GROUPS
from halluscope.benchmarks.amber.data import GENERATIVE
from halluscope.benchmarks.amber.metric import METRIC
from halluscope.benchmarks.amber.words import load_words
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
from halluscope.reporting.scores_report import ScoresReport
from halluscope.reporting.tables import Cell, Named, Report, Table, Values, is_defined, percent, score
from halluscope.signature import keys_of

IMAGINED = "imagined"
ERRORS_OF_DESCRIPTIONS = (HALLUCINATED, IMAGINED, MISSED)

# An error in a response to a question -> how bad it is; a hallucinated word counts 1.
BADNESS = {"": 0.0, UNREADABLE: 0.25, WRONG_NO: 0.5, WRONG_YES: 1.0}

UNDEFINED = (
    "The AMBER score is undefined, because it needs descriptions, and responses to questions in all three "
    "dimensions"
)


class AmberReport(ScoresReport):
    metric = METRIC
    columns = ("amber", "chair", "cover", "hal", "cog", "accuracy", "precision", "recall", "f1")
    intervals = {"amber": "amber", "chair": "chair", "f1": "f1"}

    def report(self, results: Named, **options: Any) -> Report:
        """Return tables in percent, one row per LVLM and one per dimension, and remarks on each result."""
        return super().report(named_by_parser(results), **options)

    def tables(self, results: Named, **options: Any) -> list[Table]:
        rows: list[list[Cell]] = []
        for name, result in results:
            for end in GROUPS:
                if end and is_defined(result[f"accuracy{end}"]):
                    row: list[Cell] = [name, end.removeprefix("/")]
                    for column in OF_ANSWERS:
                        row.append(score(result, f"{column}{end}"))
                    rows.append(row)
        header = ["responses", "dimension"]
        header.extend(OF_ANSWERS)
        dimensions = Table("dimensions", header, rows, left=2, ranked=True)
        tables = super().tables(results)
        tables.append(dimensions)
        return tables

    def sizes(self, result: Values) -> Iterator[str]:
        yield (
            f"{result['descriptions']:,} descriptions and {result['questions']:,} questions, {result['images']:,} "
            "images"
        )

    def gaps(self, result: Values) -> Iterator[str]:
        unreadable = result["unreadable"]
        if is_defined(unreadable) and unreadable > 0:
            yield f"{percent(unreadable)} % of the responses to questions are unreadable, and count as wrong"
        if not result["descriptions"]:
            yield "no descriptions: chair, cover, hal, cog and amber are undefined"
        elif not result["questions"]:
            yield "no responses to questions: accuracy, precision, recall, f1 and amber are undefined"
        elif not is_defined(result["f1"]):
            yield "a dimension has no responses: the scores over all questions and amber are undefined"
        choices = keys_of(result["signature"])
        if choices["convention"] == "official" and choices["nouns"].startswith("nouns-"):
            yield "its nouns are not those of the authors' script: add --reader nltk (extra nltk)"

    def items(self, rows: Sequence[Values], options: Values, voters: object = None) -> Iterator[Item]:
        """Yield a run's rows as items, one per row, in order."""
        for row, text in zip(rows, judged_texts(rows, options), strict=True):
            if row["inputs"]["references"]["task"] == GENERATIVE:
                yield item_of_description(row, text)
            else:
                yield item_of_answer(row, text)

    def meaning(self, scores: Values) -> str:
        """Say in a sentence what the AMBER score means."""
        known = []
        if is_defined(scores["chair"]):
            known.append(f"of 100 mentions in descriptions {percent(scores['chair'])} are hallucinated")
        if is_defined(scores["f1"]):
            known.append(
                f"F1 of the responses to questions, with no as the positive class, is {percent(scores['f1'])} of 100"
            )
        if is_defined(scores["amber"]):
            return f"The AMBER score is {percent(scores['amber'])} of 100: {', and '.join(known)}."
        known.insert(0, UNDEFINED)
        return f"{'; '.join(known)}."


VIEW = AmberReport()


def named_by_parser(results: Named) -> Named:
    """Return results with their parsers in their names, where these were chosen."""
    named = []
    for name, result in results:
        if result.get("parser"):
            name = f"{name}, {result['parser']}"
        named.append((name, result))
    return named


def item_of_description(row: Values, text: str) -> Item:
    """Return a description as an item, whose marks are the words that it mentions."""
    outcomes = [outcome_of(word, row) for word in row["mentions"]]
    marks, facts = placed(row["mentions"], row["places"], outcomes)
    facts += word_facts(row[IMAGINED], IMAGINED)
    facts += word_facts(row[MISSED], MISSED)
    classes = dict.fromkeys(row[MISSED], MISSED)
    for word, (kind, _) in zip(row["mentions"], outcomes, strict=True):
        if kind == "good":
            classes[word] = FOUND
        elif kind == "bad":
            classes[word] = HALLUCINATED
    return Item(
        id=str(row["id"]),
        text=text,
        image=row["inputs"]["references"]["file_name"],
        marks=marks,
        facts=facts,
        errors=[error for error in ERRORS_OF_DESCRIPTIONS if row[error]],
        classes=classes,
        parts={"dimension": row["dimension"]},
        badness=badness(row[HALLUCINATED], row[MISSED]),
    )


def outcome_of(word: str, row: Values) -> tuple[Kind, str]:
    """Return the kind and the text of a mentioned word's mark."""
    words = load_words()
    if word in row[HALLUCINATED]:
        if word in words.standing_for(row[IMAGINED]):
            return "bad", f"{HALLUCINATED}, and easily imagined here"
        return "bad", HALLUCINATED
    if word in words.safe:
        return "plain", "a word that AMBER counts as neither right nor wrong"
    return "good", FOUND


def item_of_answer(row: Values, text: str) -> Item:
    """Return a response to a question as an item."""
    reference = row["inputs"]["references"]
    error = answer_error(row["said"], row["answer"])
    return Item(
        id=str(row["id"]),
        text=text,
        image=reference["file_name"],
        question=reference["prompt"],
        facts=answer_facts(row["said"], row["answer"]),
        errors=[error] if error else [],
        parts={"dimension": row["dimension"]},
        badness=BADNESS[error],
    )
