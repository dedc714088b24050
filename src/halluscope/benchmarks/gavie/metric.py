"""What GAVIE's data file cannot say: regions, and how a reply to the authors' prompt is read.

The authors read replies by eye, so there is no rule of theirs to follow.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from halluscope.errors import BuildError
from halluscope.files.opening import Readable, chunks, entries, entries_of
from halluscope.graded.metric import Case, Graded, Prompt, Verdict
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging import guard
from halluscope.judging.prompts import Refusal
from halluscope.reading.fields import Fields
from halluscope.sanitize import encodable, short_repr
from halluscope.validation import is_id, is_like_a_list

MOST = 10

_SCORED = re.compile(r"\bscore of (?:the )?answer ?1\b[\s*_`:]{1,12}(\d+(?:\.\d+)?)(.{0,12})", re.IGNORECASE)
_GOES_ON = re.compile(r"\s*(?:/(?!\s*10\b)|[-\u2013]\s*\d|to\b|or\b|\d)")
"""What follows digits that are not a score by themselves: 7/100, 7-8, 7 to 8."""


_HELD = re.compile(r"\b(?:score of (?:the )?answer ?1?|relevancy|accuracy)\b[^.]{0,40}?\d")
"""A score in a response, in whatever words."""

NO_SCORES = "a reply must have the headings Relevancy and Accuracy once, each with one score from 0 to 10"


def scores_of(reply: str) -> dict[str, list[str]]:
    """Return the scores under each heading of a reply, "" for one that is no single number; {} if a heading repeats."""
    scores: dict[str, list[str]] = {}
    under = ""
    for line in reply.splitlines():
        heading = line.strip(" \t*_`#>-:").lower()
        if heading in ("relevancy", "accuracy"):
            if heading in scores:
                return {}
            under = heading
            scores[under] = []
            continue
        scored = _SCORED.search(line)
        if scored:
            is_number = not _GOES_ON.match(scored[2])
            scores.setdefault(under, []).append(scored[1] if is_number else "")
    return scores


def refusal_of_words(reply: str, response: str) -> Refusal | None:
    """Return why a reply to the authors' prompt is not read; None if it is."""
    if _HELD.search(guard.plain(response)):
        return guard.HELD
    scores = scores_of(reply)
    if scores.keys() != {"relevancy", "accuracy"}:
        return Refusal(NO_SCORES)
    for name, numbers in scores.items():
        if len(numbers) != 1 or not numbers[0] or float(numbers[0]) > MOST:
            return Refusal(NO_SCORES, f"under {name} it has {short_repr(', '.join(numbers), 40)}")
    return None


def read_words(reply: str, response: str = "") -> Verdict | None:
    """Return the verdict of a reply to the authors' prompt, None unless it has both headings once, each with one score.

    If the response itself holds a score in these words, no reply is read: the judge may have copied it.

    >>> reply = ["Relevancy:", "score of the answer1: 9", "reason: a", "**Accuracy:**", "score of the answer1: 2.5/10"]
    >>> read_words("\\n".join(reply), "A cat.").numbers, read_words("\\n".join(reply[:3]), "") is None
    ({'relevancy': 9.0, 'accuracy': 2.5}, True)
    """
    if refusal_of_words(reply, response) is not None:
        return None
    numbers = {name: float(number) for name, (number,) in scores_of(reply).items()}
    return Verdict(numbers, {"reason": encodable(reply)})


PLACE = ("x", "y", "width", "height")
"""Where a region is in an image: its upper left corner and its size, in pixels."""


def region(value: Any, where: str) -> Values:
    """Return a region: a phrase, and its place in whole pixels; a value that is none is a ValueError."""
    place: list[Any] = [value.get(name) for name in PLACE] if isinstance(value, Mapping) else [None]
    if not all(map(is_id, place)) or not isinstance(value.get("phrase"), str):
        raise ValueError(
            f"{where} is {short_repr(value)}; expected a region: phrase, and {', '.join(PLACE)} in whole pixels."
        )
    return {"phrase": value["phrase"], **dict(zip(PLACE, map(int, place), strict=True))}


def regions_of(row: Fields, column: str) -> tuple[Values, ...] | None:
    """Return the regions of a row; None if they are unknown."""
    if (value := row.given.get(column)) is None:
        return None
    if not is_like_a_list(value):
        raise row.wrong(column, "a list of regions, or null")
    return tuple(region(one, f"{row.where}: {column}[{number}]") for number, one in enumerate(value))


def _feature() -> Any:
    from datasets import List, Value

    return List({"phrase": Value("string"), **{name: Value("int64") for name in PLACE}})


class GAVIE(Graded):
    """GAVIE's metric."""

    kinds: ClassVar = {"regions": (regions_of, _feature)}
    readers: ClassVar = {("authors", "strict"): read_words}

    def rename(self, row: Values) -> Values:
        return {"regions": None, **super().rename(row)}

    def written(self, prompt: Prompt, row: Any, column: str) -> str:
        if column != "regions":
            return super().written(prompt, row, column)
        height = "width" if prompt.verbatim else "height"  # as the authors' script prints it
        return "\n".join(
            f"{prompt.write(one['phrase'])} X:{one['x']} Y:{one['y']} Width:{one['width']} Height:{one[height]}"
            for one in row.regions
        )

    def check(self, rows: Sequence[Any]) -> None:
        if without := [index for index, row in enumerate(rows) if not row.regions]:
            raise ValueError(
                f"references[{without[0]}] has no regions (rows without any: {len(without):,} of {len(rows):,}); a "
                "language model needs them to know what the image shows. Build the dataset with --regions, or give "
                "ratings."
            )

    def refusal(self, prompt: Prompt, reply: str, response: str) -> Refusal | None:
        return prompt.refusal(reply) if prompt.reply else refusal_of_words(reply, response)

    def counts(self, rows: Sequence[Any]) -> Values:
        regions = {row.image_id: row.regions or () for row in rows}
        return {**super().counts(rows), "regions": sum(map(len, regions.values()))}

    def facts(self, case: Case, scores: Values) -> Values:
        rated = int(np.sum(~self.unreadable(case.verdicts.values)))
        return {**super().facts(case, scores), "rated": rated}

    def extra(self, file: Readable, images: Collection[int]) -> dict[int, Values]:
        """Return the regions of images.

        The file is region_descriptions.json, a list of {"id", "regions"}; or vg_annotation.json, which the authors'
        script reads: image id -> [{"caption", "bbox"}].
        """
        found: dict[int, list[Values]] = defaultdict(list)
        if next(chunks(file), b"").removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
            for place, entry in enumerate(entries(file), 1):
                where = f"{file}: entry {place}"
                if not isinstance(entry, Mapping) or not isinstance(entry.get("regions"), list):
                    raise BuildError(
                        f"{where} is {short_repr(entry)}; expected an object with id and regions, a list."
                    )
                if isinstance(image_id := entry.get("id"), int) and image_id in images:
                    found[image_id] += (region(one, where) for one in entry["regions"])
        else:
            for name, entry in entries_of(file, *map(str, sorted(images))):
                box = entry.get("bbox") if isinstance(entry, Mapping) else None
                if isinstance(box, list) and len(box) == len(PLACE):
                    entry = {"phrase": entry.get("caption"), **dict(zip(PLACE, box, strict=True))}
                found[int(name)].append(region(entry, f"{file}: the image {name}"))
        return {image_id: {"regions": tuple(regions)} for image_id, regions in found.items() if regions}


GRADED = GAVIE(__file__)
VIEW = View(GRADED)
compute = GRADED.compute
