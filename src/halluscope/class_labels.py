"""Class labels of the library `datasets` (`ClassLabel`): a column holds numbers, and its type the name of each."""

from collections.abc import Mapping
from typing import Any


def has_labels(feature: Any) -> bool:
    """Whether a column's type is that of class labels, or of lists of them."""
    return hasattr(feature, "int2str") or (hasattr(feature, "feature") and has_labels(feature.feature))


def named(value: Any, feature: Any) -> Any:
    """Return a value of a column of class labels by its name, or by its names; None for a row without a label."""
    if value is None:
        return None
    if hasattr(feature, "feature"):
        return [named(label, feature.feature) for label in value]
    if value < 0:  # how the library writes that there is none
        return None
    return feature.int2str(value)


def named_items(items: list[Any], features: Any) -> list[Any]:
    """Return the items of a column, or the rows of a dataset, with class labels by their names.

    Args:
        items: the values, or a mapping per row.
        features: the column's type, or the types of the columns.
    """
    if has_labels(features):
        return [named(item, features) for item in items]
    if not isinstance(features, Mapping):
        return items
    labelled = [column for column, feature in features.items() if has_labels(feature)]
    if not labelled:
        return items
    rows = []
    for item in items:
        row = dict(item)
        for column in labelled:
            row[column] = named(row[column], features[column])
        rows.append(row)
    return rows


def with_names(rows: Any) -> Any:
    """Return a loaded dataset with class labels by their names."""
    for column, feature in rows.features.items():
        if has_labels(feature):
            names = named_items(list(rows[column]), feature)
            rows = rows.remove_columns(column).add_column(column, names)
    return rows
