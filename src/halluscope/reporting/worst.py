"""The worst responses of models: as text to read on a terminal, and as CSV."""

from collections.abc import Sequence

from halluscope.reporting.formats import CSV, written
from halluscope.reporting.marked_text import LEGEND, Part, marked
from halluscope.reporting.report_items import HALLUCINATED, MISSED, Item, Shown
from halluscope.reporting.tables import Cell, Table
from halluscope.sanitize import one_line

LONGEST_NAME = 80  # characters of a model's name
LONGEST_QUESTION = 500

HEADER = ("model", "id", "image", "question", "response", "errors", "invented", "missed")


def worst_of(model: Shown, count: int) -> list[Item]:
    """Return the responses with errors, the worst ones first, at most so many."""
    wrong = [item for item in model.items if item.errors]
    wrong.sort(key=lambda item: item.badness, reverse=True)
    return wrong[:count]


def classes_of(item: Item, outcome: str) -> list[str]:
    return [name for name, own_outcome in item.classes.items() if own_outcome == outcome]


# Text


def worst_text(title: str, models: Sequence[Shown], count: int) -> list[Part]:
    """Return the worst responses of each model with their errors marked; the parts, joined, are the text."""
    parts: list[Part] = [(f"{title}. {LEGEND}\n", "")]
    for model in models:
        items = worst_of(model, count)
        name = one_line(model.name, LONGEST_NAME)
        parts.append((f"\n{name}: {_number_of(items)} of {len(model.items):,}\n", ""))
        for number, item in enumerate(items, 1):
            parts.append((f"\n{number}. {_heading(item)}\n", ""))
            if item.question:
                parts.append((f"  {one_line(item.question, LONGEST_QUESTION)}\n", ""))
            parts += marked(item)
            parts.append(("\n", ""))
    return parts


def _number_of(items: Sequence[Item]) -> str:
    if not items:
        return "no wrong response"
    if len(items) == 1:
        return "the worst response"
    return f"the {len(items):,} worst responses"


def _heading(item: Item) -> str:
    heading = item.id
    if item.image and item.image != item.id:
        heading += f" (image {item.image})"
    return one_line(f"{heading}: {what_is_wrong(item)}")


def what_is_wrong(item: Item) -> str:
    """Return the errors of a response, with the words that it invents or misses."""
    texts = []
    for error in item.errors:
        names = classes_of(item, error)
        if names:
            error += f" {', '.join(names)}"
        texts.append(error)
    return "; ".join(texts)


# CSV


def worst_csv(models: Sequence[Shown], count: int) -> str:
    """Return the worst responses of each model, one per row; what is known of them has columns of its own."""
    header = list(HEADER)
    facts_of_rows = []
    rows: list[list[Cell]] = []
    for model in models:
        for item in worst_of(model, count):
            facts = {}
            for fact in item.facts:
                facts[fact.name] = "; ".join(value for value, _ in fact.values)
                if fact.name not in header:
                    header.append(fact.name)
            facts_of_rows.append(facts)
            rows.append(
                [
                    model.name,
                    item.id,
                    item.image,
                    item.question,
                    item.text,
                    "; ".join(item.errors),
                    "; ".join(classes_of(item, HALLUCINATED)),
                    "; ".join(classes_of(item, MISSED)),
                ]
            )
    for row, facts in zip(rows, facts_of_rows, strict=True):
        for name in header[len(HEADER) :]:
            row.append(facts.get(name))
    return written([Table("worst", header, rows)], CSV)
