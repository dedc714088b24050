"""Reviews of the classes that two methods read out of responses: are they right, and what are the false positives?

Source: THRONE, supplement, section 4. For each model, some responses are drawn on which the methods agree, and some on
which they disagree (10 and 5 in the paper). A judgement is a class that a method reads out of a response; a person says
whether the response says or implies it. A class that a method overlooks is not a judgement. Table 3 counts errors;
Table 4 divides the correctly read false positives into hallucinations and misclassifications.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halluscope import vocabularies
from halluscope.numbers import whole as whole_number
from halluscope.reliability.agreement import AND, Both, Key
from halluscope.reliability.review.making import Drawn, whole
from halluscope.reliability.review.sheet import MARKS, NO, READING, YES, Entry, Sheet
from halluscope.signature import signature
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.strata import Clustered, clustered_error_rate

AGREE, DISAGREE = "agree", "disagree"
STRATA = (AGREE, DISAGREE)

RIGHT, WRONG, *FALSE_POSITIVES = MARKS[READING]
"""The marks; a reading that is marked as a false positive is also right."""

RESAMPLING = Bootstrap(1000)


def draw(
    both: Both,
    texts: Mapping[Key, str],
    agreeing: int = 5,
    disagreeing: int = 10,
    seed: int = 0,
    picture: Callable[[str], str | None] = lambda image: None,
) -> list[Drawn]:
    """Draw responses of each model, and make a row for each class that is read out of one.

    Responses out of which no class is read are not drawn, because they hold no judgement.

    Args:
        both: the two methods.
        texts: the responses.
        agreeing: how many responses to draw, per model, on which the methods agree (all, if there are fewer).
        disagreeing: how many to draw, per model, on which they disagree.
        seed: the seed of the draw.
        picture: returns the image of an id as a data URI, or None.

    Returns:
        The rows, with those of a response together, and the models in an order that the reviewer cannot guess.

    Raises:
        ValueError: for a number below 1, or if nothing is read out of any response of a stratum.
    """
    most = {
        AGREE: whole_number("agreeing", agreeing, 1, what="a number of responses"),
        DISAGREE: whole_number("disagreeing", disagreeing, 1, what="a number of responses"),
    }
    strata: dict[str, list[Key]] = {name: [] for name in STRATA}
    for key in sorted(both.first.said):
        strata[AGREE if both.agree(key) else DISAGREE].append(key)
    drawn = [
        (key, name) for name, keys in strata.items() for key in _sample(keys, both, name, most[name], seed)
    ]
    order = random.Random(seed)
    drawn.sort(key=lambda one: (one[0][1], order.random()))
    words = words_of({name for key, _ in drawn for name in both.classes(key)})
    found = []
    for key, stratum in drawn:
        of = {"stratum": stratum, "stratum_rows": str(len(strata[stratum])), "response": texts[key]}
        image = picture(key[1])
        found += [
            Drawn(whole(_entry(both, key, name, words) | of), image) for name in sorted(both.classes(key))
        ]
    return found


def summary(sheet: Sheet) -> dict[str, Any]:
    """Summarize people's marks of two methods' readings.

    As in the paper, the judgements of a stratum are counted together for all models.

    Returns:
        `sheet`, its name; `table`, one row per stratum and method (or both methods, where they agree), with `stratum`,
        `methods`, `responses` (how many there are), `share` (of all responses), `evaluated` (how many were reviewed),
        `judgements`, `errors` and `error_rate`; `error_rates`, method -> `value`, `low` and `high`, weighted by the
        shares, with intervals that resample responses; `false_positives`, how many have each mark ("neither" counts
        those marked only as right), and the number of `responses` reviewed; `unmarked`; `signature`. Rates and shares
        are fractions in [0, 1], NaN where undefined.

    Raises:
        ValueError: as `Sheet.sizes`.
    """
    sizes = dict(sorted(sheet.sizes().items()))
    named = sorted((entry["read_by"] for entry in sheet.entries), key=len, reverse=True)
    methods = dict.fromkeys(method for names in named for method in names.split(AND))
    counted = {method: _clusters(sheet.entries, method, sizes) for method in methods}
    rows = [
        _row(name, who, one, sum(sizes.values()))
        for name in sizes
        for who, one in _by_whom(name, {method: found[name] for method, found in counted.items()})
    ]
    return {
        "sheet": sheet.name,
        "table": rows,
        "error_rates": {
            method: clustered_error_rate(list(found.values()), RESAMPLING)
            for method, found in counted.items()
        },
        "false_positives": _false_positives(sheet.entries),
        "unmarked": len(sheet.unmarked),
        "signature": signature(
            "review", data=sheet.name, marks=READING, strata=len(sizes), interval=RESAMPLING
        ),
    }


def words_of(classes: set[str]) -> dict[str, str]:
    """Return the names to show for classes, with the vocabulary's meaning if it differs from the word's."""
    known = map(vocabularies.load, vocabularies.names())
    plain = next((one.plain for one in known if classes <= {*one.classes}), {})
    return {name: f"{name} ({of.means})" for name, of in plain.items() if of.means}


def _sample(keys: Sequence[Key], both: Both, stratum: str, most: int, seed: int) -> list[Key]:
    """Draw some of a stratum's responses per model; the draw of one model does not depend on other models."""
    telling: dict[str, list[Key]] = {}
    for key in keys:
        if both.classes(key):
            telling.setdefault(key[0], []).append(key)
    if keys and not telling:
        raise ValueError(
            f"No class is read out of any of the {len(keys):,} responses on which {AND.join(both.names)} {stratum}, "
            "so there is nothing to mark. Expected responses that mention classes."
        )
    return [
        key
        for model, own in telling.items()
        for key in random.Random(f"{seed} {stratum} {model}").sample(own, min(most, len(own)))
    ]


def _entry(both: Both, key: Key, name: str, words: Mapping[str, str]) -> dict[str, str]:
    return {
        "id": key[1],
        "model": key[0],
        "read_by": both.who(key, name),
        "annotated": NO if both.is_false_positive(key, name) else YES,
        "question": f"{words.get(name, name)}: does the response say or imply that this is in the image?",
    }


def _response(entry: Entry) -> Key:
    return entry["model"], entry["id"]


def _clusters(entries: Sequence[Entry], method: str, sizes: Mapping[str, float]) -> dict[str, Clustered]:
    """Count a method's judgements and errors in each reviewed response, by stratum."""
    found: dict[str, dict[Key, list[int]]] = {name: {} for name in sizes}
    for entry in entries:
        counts = found[entry["stratum"]].setdefault(_response(entry), [0, 0])
        if method in entry["read_by"].split(AND):
            counts[0] += 1
            counts[1] += entry["mark"] == WRONG
    return {
        name: Clustered(sizes[name], *np.array(list(counts.values()), dtype=np.int64).T)
        for name, counts in found.items()
    }


def _by_whom(stratum: str, counted: Mapping[str, Clustered]) -> list[tuple[str, Clustered]]:
    """Return each method's counts, or one entry for both where they agree."""
    return [(AND.join(counted), next(iter(counted.values())))] if stratum == AGREE else [*counted.items()]


def _row(stratum: str, methods: str, counts: Clustered, total: float) -> dict[str, Any]:
    judgements, errors = int(counts.judgements.sum()), int(counts.errors.sum())
    return {
        "stratum": stratum,
        "methods": methods,
        "responses": int(counts.rows),
        "share": counts.rows / total,
        "evaluated": len(counts.judgements),
        "judgements": judgements,
        "errors": errors,
        "error_rate": errors / judgements if judgements else float("nan"),
    }


def _false_positives(entries: Sequence[Entry]) -> dict[str, int]:
    """Count the correct readings of classes that are not annotated (Table 4)."""
    marks = Counter(entry["mark"] for entry in entries if entry["annotated"] == NO)
    return {
        **{mark: marks[mark] for mark in FALSE_POSITIVES},
        "neither": marks[RIGHT],
        "responses": len({_response(entry) for entry in entries}),
    }
