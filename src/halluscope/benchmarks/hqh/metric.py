"""What HQH's data file cannot say: the judge without a model, claims that must be in the response, and equation 5."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halluscope.benchmarks.hqh import contains
from halluscope.benchmarks.hqh.contains import places, quoted
from halluscope.errors import BuildError
from halluscope.files.opening import Readable, read_json
from halluscope.graded.metric import Case, Graded, Parts, Prompt, Verdict
from halluscope.graded.report import View
from halluscope.graded.rows import Values
from halluscope.judging.prompts import Refusal, json_object
from halluscope.judging.verdicts import Judged
from halluscope.reporting.report_items import Fact, Mark
from halluscope.reporting.tables import is_defined
from halluscope.sanitize import external_text, short_repr
from halluscope.stats.intervals import AMOUNT, Range
from halluscope.stats.ratios import Floats
from halluscope.stats.tallies import Bools
from halluscope.validation import id_of

REFERENCE_ONLY = "reference-only"
"""The judge that asks no model, and only checks whether a response contains the right answer."""

QUOTED = "quoted"
"""The counting of claims that stand in the response word for word."""


EQUAL = "extra_claims must be the number of texts in evidence"
"""The rule for a judge's own words: it quotes each claim that it counts."""


def refusal(prompt: Prompt, reply: str) -> Refusal | None:
    """Return by which rule a reply cannot be read; None if it can."""
    refused = prompt.refusal(reply)
    if refused is not None:
        return refused
    parts = json_object(reply) or {}
    quotes = len(parts["evidence"])
    if parts["extra_claims"] != quotes:
        return Refusal(
            EQUAL, f"extra_claims is {short_repr(parts['extra_claims'])}, and evidence has {quotes:,}"
        )
    return None


def read(prompt: Prompt, claims: str, reply: str, response: str) -> Verdict | None:
    if refusal(prompt, reply) is not None:
        return None
    verdict = prompt.read(reply)
    if verdict is None:
        return None
    said = verdict.notes["evidence"]
    evidence = [*quoted(said, response)] if claims == QUOTED else said
    numbers = {**verdict.numbers, "extra_claims": float(len(evidence))}
    return Verdict(numbers, {"evidence": evidence, "dropped": len(said) - len(evidence)})


class HQH(Graded):
    """HQH's metric."""

    rules = (REFERENCE_ONLY,)

    def derive(self, values: Values, where: str) -> Values:
        return {"level": self.data["levels"][values["type"]]}

    def prompt(self, *, claims: str = QUOTED, **options: Any) -> Prompt:
        prompt = super().prompt(**options)
        key = prompt.key if claims == QUOTED else f"{prompt.key}-{claims}"
        return prompt._replace(key=key, reader=partial(read, prompt, claims))

    def refusal(self, prompt: Prompt, reply: str, response: str) -> Refusal | None:
        return refusal(prompt, reply)

    def read_text(self, prompt: Prompt, reply: str, response: str) -> Verdict | None:
        """Return the verdict of a judge's text; its quotes are looked for in the response."""
        return prompt.reader(reply, response) if prompt.reader else None

    def by_rule(self, rule: str, rows: Sequence[Any], texts: Sequence[str]) -> Judged:
        pairs = zip(texts, rows, strict=True)
        right = [contains.contains(text, row.answer, row.question) for text, row in pairs]
        correct = np.array([right], dtype=float)  # None is NaN
        values = {"correct": correct, "extra_claims": np.full_like(correct, np.nan)}
        return Judged(self.criteria, values, [REFERENCE_ONLY, contains.KEY])

    def warn(self, verdicts: Sequence[Sequence[Verdict | None]]) -> None:
        """Warn of claims that the judge counts but that are not in the response, or are counted twice."""
        notes = [one.notes for row in verdicts for one in row if one]
        if dropped := sum(one["dropped"] for one in notes):
            every = dropped + sum(len(one["evidence"]) for one in notes)
            warnings.warn(
                f"{dropped:,} of the {every:,} extra claims that the judge quotes are not in the response, or are "
                'quoted twice; they do not count. With --claims all (in Python claims="all") all that it names count.',
                stacklevel=4,
            )

    def parts(self, values: Mapping[str, Floats]) -> Parts:
        """Return equation 5: its overall rate counts responses with either fault, where both are known."""
        correct, claims = values["correct"], values["extra_claims"]
        either = np.where(np.isnan(correct + claims), np.nan, (correct == 0) | (claims > 0))
        return super().parts({**values, "either": either})

    def ranges(self) -> dict[str, Range]:
        return super().ranges() | {"extra_hal": AMOUNT}

    def counts(self, rows: Sequence[Any]) -> Values:
        types = Counter(row.type for row in rows)
        asked = Counter((row.image_id, row.question) for row in rows)
        return {
            "questions": len(rows),
            **{name: types[name] for name in self.data["levels"]},
            "images": len({row.image_id for row in rows}),
            "asked_more_than_once": sum(count > 1 for count in asked.values()),
            "with_caption": sum(row.caption is not None for row in rows),
            "with_details": sum(row.details is not None for row in rows),
            "questions_per_level": Counter(row.level for row in rows),
        }

    def unreadable(self, values: Values) -> Bools:
        return np.asarray(np.isnan(values["correct"]))

    def signed(self, case: Case) -> Values:
        """Return also for which rows a judge is shown upstream's image data."""
        known = [row.caption is not None or row.details is not None for row in case.rows]
        data = "all" if all(known) else "part" if any(known) else "none"
        by = case.verdicts
        return {"judge": by.key, "image_data": data if by.by_model else "no", **super().signed(case)}

    def extra(self, file: Readable, images: Collection[int]) -> dict[int, Values]:
        content, known = read_json(file), dict[int, Values]()
        for key, entry in content.items() if isinstance(content, dict) else [("", content)]:
            image_id, of = id_of(key), entry if isinstance(entry, dict) else {}
            texts = [of.get("caption"), of.get("image_information")]
            if image_id is None or not all(isinstance(text, str) for text in texts):
                raise BuildError(
                    f"{file}: the entry {short_repr(key)} is {short_repr(entry, 120)}; expected image ids, each with "
                    "texts as caption and image_information: image_data.json."
                )
            known[image_id] = {
                name: str(text).strip() or None
                for name, text in zip(("caption", "details"), texts, strict=True)
            }
        return known


class HQHView(View):
    """How HQH's results and rows are shown."""

    def gaps(self, result: Values) -> Iterator[str]:
        counts = result["counts"]["all"]
        if counts["judged"] and counts["extra_claims"] is None:
            yield "nobody looked for extra claims: there is no extra rate and no overall rate"
        elif counts["judged_in_full"] < counts["judged"]:
            yield (
                f"overall covers only the {counts['judged_in_full']:,} of {counts['judged']:,} judged responses in "
                "which extra claims were looked for; it may be below main"
            )

    def sentence(self, scores: Values) -> str:
        partly = is_defined(scores["main_hal"]) and not is_defined(scores["overall_hal"])
        return "meaning_without_claims" if partly else super().sentence(scores)

    def marks(self, row: Values, text: str) -> Sequence[Mark]:
        return sorted(
            Mark(start, end, "bad", f"claim {number}, which contradicts the image")
            for number, quote in enumerate(row.get("evidence", ()), 1)
            for start, end in places(quote, text)
        )

    def verdict(self, row: Values, text: str) -> Iterator[Fact]:
        yield from super().verdict(row, text)
        if unplaced := [quote for quote in row.get("evidence", ()) if not places(quote, text)]:
            yield Fact(
                "claims quoted in other words", [(external_text(quote, 300), "bad") for quote in unplaced]
            )

    def badness(self, row: Values) -> float:
        return float((row["correct"] is False) + (row["extra_claims"] or 0))


GRADED = HQH(__file__)
VIEW = HQHView(GRADED)
compute = GRADED.compute
