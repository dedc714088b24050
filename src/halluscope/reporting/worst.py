"""The worst responses of models: as text to read on a terminal, and as CSV."""

from collections.abc import Mapping, Sequence

from halluscope.reporting.formats import CSV, written
from halluscope.reporting.marked_text import LEGEND, Part, marked
from halluscope.reporting.report_items import HALLUCINATED, MISSED, Item, Shown
from halluscope.reporting.tables import Cell, Table
from halluscope.sanitize import one_line

LONGEST_NAME = 500  # characters of a model's name, which may be the path of its run
LONGEST_QUESTION = 500

HEADER = ("benchmark", "model", "id", "image", "question", "response", "errors", "invented", MISSED)


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


def worst_csv(models: Mapping[str, Sequence[Shown]], count: int) -> str:
    """Return the worst responses of each benchmark's models, one per row; facts about them have columns of their own.

    Args:
        models: the models by the title of the benchmark.
        count: the most responses of a model.
    """
    header = list(HEADER)
    records = []
    for title, models_of_benchmark in models.items():
        for model in models_of_benchmark:
            for item in worst_of(model, count):
                record = _record(title, model, item)
                records.append(record)
                for name in record:
                    if name not in header:
                        header.append(name)
    rows: list[list[Cell]] = []
    for record in records:
        rows.append([record.get(name) for name in header])
    return written([Table("worst", header, rows)], CSV)


def _record(title: str, model: Shown, item: Item) -> dict[str, str | None]:
    record = {
        "benchmark": title,
        "model": model.name,
        "id": item.id,
        "image": item.image,
        "question": item.question,
        "response": item.text,
        "errors": "; ".join(item.errors),
        "invented": "; ".join(classes_of(item, HALLUCINATED)),
        MISSED: "; ".join(classes_of(item, MISSED)),
    }
    for fact in item.facts:
        if fact.name not in record:
            record[fact.name] = "; ".join(value for value, _ in fact.values)
    return record
