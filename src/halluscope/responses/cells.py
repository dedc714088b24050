"""What a cell of a file of responses holds: a text, a list of texts, a label, or nothing."""

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from halluscope.responses.api_replies import text_in_object, text_in_parts
from halluscope.responses.table import kinds

# Labels that files have in place of the texts "yes" and "no"
_LABELS = ({"1": "yes", "0": "no"}, {"true": "yes", "false": "no"}, {"y": "yes", "n": "no"})

# What VLMEvalKit writes in place of a response where a model did not answer
FAILED = "Failed to obtain answer via API."

# How long a list may be, in characters, that is looked into: reading it takes time that grows faster than it
_LONGEST_LIST = 100_000

_HALF = re.compile("[\ud800-\udfff]")


def is_nothing(cell: Any) -> bool:
    """Whether a cell holds no value: null, pandas' NaN, or a note that there is none."""
    if isinstance(cell, str):
        return cell == FAILED
    return cell is None or (isinstance(cell, float) and cell != cell)


def are_plain(cells: Sequence[Any]) -> bool:
    """Whether all cells are texts without a character outside ASCII, which stand for themselves."""
    return kinds(cells) == {str} and all(map(str.isascii, cells))


def text_in(cell: Any) -> str | None:
    """Return the text in a cell, in a list of one, or in an API's reply; None if there is none."""
    if isinstance(cell, list | tuple) and len(cell) == 1:
        cell = cell[0]
    if isinstance(cell, Mapping):
        cell = text_in_object(cell)
    if isinstance(cell, list):
        cell = text_in_parts(cell)
    if not isinstance(cell, str):
        return None
    # each pair of surrogates is a character that JSON may spell so; a lone one is replaced by U+FFFD
    if not cell.isascii() and _HALF.search(cell):
        return cell.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return cell


def literal_list(text: str) -> list[str]:
    """Return the texts in a list that is written as text by Python or as JSON; [] if it is none."""
    if len(text) > _LONGEST_LIST:
        return []
    try:
        values = _literal(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return []
    return values


def _literal(text: str) -> Any:
    """Return the value that is written as JSON, or as Python; JSON has escapes of its own, as of emoji in two parts."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a backslash that escapes nothing, such as "\\%"
        return ast.literal_eval(text)


def label_in(cell: Any) -> str:
    """Return the label that a cell holds, in lower case; "" if it holds something longer."""
    if isinstance(cell, bool | int | float) or (isinstance(cell, str) and len(cell) <= len("false.")):
        return str(cell).strip().lower().removesuffix(".0").removesuffix(".")
    return ""


def yes_no_labels(cells: Iterable[Any]) -> Mapping[str, str]:
    """Return what each label of a column means, if all its cells are labels such as 1 and 0; {} if not."""
    labels = set()
    for cell in cells:
        if is_nothing(cell):
            continue
        labels.add(label_in(cell))
        if "" in labels or len(labels) > 2:
            return {}
    for pair in _LABELS:
        if labels and labels <= pair.keys():
            return pair
    return {}
