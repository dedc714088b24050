"""What HaloQuest's data file cannot say: how the authors' table is read, and that two groups cross."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from halluscope.graded.metric import Graded
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.stats.tallies import Bools

_BETWEEN = ";"
_UNNAMED = ("", "Unnamed: 0")
"""The column of ids: it has no name in the authors' file, for which pandas puts another."""


class HaloQuest(Graded):
    """HaloQuest's metric."""

    def rename(self, row: Values) -> Values:
        named = {**super().rename(row), **dict([("id", row[name]) for name in _UNNAMED if name in row][:1])}
        if isinstance(answers := named["answers"], str):
            named["stated"] = answers
            named["answers"] = [" ".join(text.split()) for text in answers.split(_BETWEEN) if text.strip()]
        return named

    def derive(self, values: Values, where: str) -> Values:
        return {"stated": values["stated"] or self.columns["answers"].shown(values["answers"])}

    def groups(self, rows: Sequence[Any]) -> dict[str, Bools]:
        images, types = (
            {
                name.replace(" ", "_"): np.array([getattr(row, column) == name for row in rows])
                for name in of.values
            }
            for column, of in self.columns.items()
            if of.values
        )
        both = {f"{one}/{other}": images[one] & types[other] for one, other in product(images, types)}
        return {**images, **types, **both}

    def counts(self, rows: Sequence[Any]) -> Values:
        return {**super().counts(rows), "with_one_answer": sum(len(row.answers) == 1 for row in rows)}


GRADED = HaloQuest(__file__)
VIEW = View(GRADED)
compute = GRADED.compute
