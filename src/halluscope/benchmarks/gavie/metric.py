"""What GAVIE's data file cannot say: regions, and how a reply to the authors' prompt is read.

The authors read replies by eye, so there is no rule of theirs to follow.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from halluscope.benchmarks.gavie import regions
from halluscope.benchmarks.gavie.regions import PLACE, regions_of
from halluscope.files.opening import Readable
from halluscope.graded.metric import Case, Graded, Prompt, Reader, Verdict
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging.prompts import Asked
from halluscope.sanitize import encodable

MOST = 10

_SCORED = re.compile(r"\bscore of (?:the )?answer ?1\b[\s*_`:]{1,12}(\d+(?:\.\d+)?)(.{0,12})", re.IGNORECASE)
_GOES_ON = re.compile(r"\s*(?:/(?!\s*10\b)|[-\u2013]\s*\d|to\b|or\b|\d)")
"""What follows digits that are not a score by themselves: 7/100, 7-8, 7 to 8."""


def read_words(reply: str, response: str) -> Verdict | None:
    """Return the verdict of a reply to the authors' prompt, None unless it has both headings once, each with one score.

    A score that the response gives in the same words may be copied from it, and is not read.

    >>> reply = ["Relevancy:", "score of the answer1: 9", "reason: a", "**Accuracy:**", "score of the answer1: 2.5/10"]
    >>> read_words("\\n".join(reply), "A cat.").numbers, read_words("\\n".join(reply[:3]), "") is None
    ({'relevancy': 9.0, 'accuracy': 2.5}, True)
    """
    scores: dict[str, list[str]] = {}
    under = ""
    for line in reply.splitlines():
        heading = line.strip(" \t*_`#>-:").lower()
        if heading in ("relevancy", "accuracy"):
            if heading in scores:
                return None
            under = heading
            scores[under] = []
        elif scored := _SCORED.search(line):
            scores.setdefault(under, []).append("" if _GOES_ON.match(scored[2]) else scored[1])
    if scores.keys() != {"relevancy", "accuracy"} or any(len(of) != 1 or not of[0] for of in scores.values()):
        return None
    numbers = {name: float(of[0]) for name, of in scores.items()}
    if max(numbers.values()) > MOST or {*numbers.values()} & {
        float(one[1]) for one in _SCORED.finditer(response)
    }:
        return None
    return Verdict(numbers, {"reason": encodable(reply)})


def _feature() -> Any:
    from datasets import List, Value

    return List({"phrase": Value("string"), **{name: Value("int64") for name in PLACE}})


class GAVIE(Graded):
    """GAVIE's metric."""

    kinds: ClassVar = {"regions": (regions_of, _feature)}

    def rename(self, row: Values) -> Values:
        """Return a row of evaluation_set.json, which has no regions."""
        return {"regions": None, **super().rename(row)}

    def reader(self, prompts: str, **options: Any) -> tuple[str, Reader | None]:
        return "", read_words if prompts == "authors" else None

    def asked(self, prompt: Prompt, row: Any, response: str) -> Asked[Verdict]:
        height = "height" if prompt.reply else "width"
        known = [*enumerate(row.regions or ())]
        lines = "".join(
            f"{{phrase{index}}} X:{one.x} Y:{one.y} Width:{one.width} Height:{getattr(one, height)}\n"
            for index, one in known
        )
        phrases = {f"phrase{index}": one.phrase for index, one in known}
        text = prompt.text.replace("{regions}\n", lines)
        filled = replace(prompt, text=text, fields={**prompt.fields, **{name: name for name in phrases}})
        return filled.asked({"question": row.question, **phrases}, response)

    def check(self, rows: Sequence[Any]) -> None:
        if without := [index for index, row in enumerate(rows) if not row.regions]:
            raise ValueError(
                f"references[{without[0]}] has no regions (rows without any: {len(without):,} of {len(rows):,}); a "
                "language model needs them to know what the image shows. Build the dataset with --regions, or give "
                "ratings."
            )

    def counts(self, rows: Sequence[Any]) -> Values:
        regions = {row.image_id: row.regions or () for row in rows}
        return {**super().counts(rows), "regions": sum(map(len, regions.values()))}

    def facts(self, case: Case, scores: Values) -> Values:
        rated = ~self.unreadable(case.verdicts.values)
        return {**super().facts(case, scores), "rated": int(np.sum(rated))}

    def extend(self, rows: Sequence[Any], file: Readable) -> list[Any]:
        known = regions.read(file, {row.image_id for row in rows})
        return [replace(row, regions=tuple(known[row.image_id])) for row in rows]


GRADED = GAVIE(__package__)
VIEW = View(GRADED)
compute = GRADED.compute
