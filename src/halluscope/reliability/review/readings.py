"""Review of what two methods read out of responses: are they right, and what are their false positives?

Source: THRONE, supplement, section 4. Of each model some responses are drawn on which the methods agree, and some on
which they do not (10 and 5 there). A judgement is a class that a method reads out of a response; a person says whether
the response says or implies it. What a method overlooks is no judgement. Table 3 counts errors, Table 4 divides the
false positives that were read rightly into hallucinations and misclassifications.
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
"""The marks; what is a false positive is right as well."""

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

    Only of responses out of which something is read: the others hold no judgement.

    Args:
        both: what two methods say.
        texts: the responses.
        agreeing: of how many responses on which the methods agree, of each model (all, if it has fewer).
        disagreeing: of how many on which they do not.
        seed: of the draw.
        picture: the image of an id as a data URI, or None.

    Returns:
        The rows, those of a response together, the models in an order that the reader cannot guess.

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
    """What people say of two methods.

    As in the paper, a stratum's judgements are counted together, whichever model's they are.

    Returns:
        `table`: a row for each stratum and who reads in it, with `stratum`, `methods`, `responses` (how many there
        are), `share` (of all), `evaluated` (how many were reviewed), `judgements`, `errors`, `error_rate`;
        `error_rates`: method -> `value`, `low`, `high`, weighted by the shares; an interval resamples responses;
        `false_positives`: how many there are by their marks, those that are right and neither as "neither", in how
        many `responses`; `unmarked`; `signature`. Rates and shares are fractions in [0, 1], NaN where undefined.

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
    """What to call the classes, with what their vocabulary means by them where that is more or less than the word."""
    known = map(vocabularies.load, vocabularies.names())
    plain = next((one.plain for one in known if classes <= {*one.classes}), {})
    return {name: f"{name} ({of.means})" for name, of in plain.items() if of.means}


def _sample(keys: Sequence[Key], both: Both, stratum: str, most: int, seed: int) -> list[Key]:
    """Some of a stratum's responses, of each model; what is drawn of one does not depend on the others."""
    telling: dict[str, list[Key]] = {}
    for key in keys:
        if both.classes(key):
            telling.setdefault(key[0], []).append(key)
    if keys and not telling:
        raise ValueError(
            f"Of the {len(keys):,} responses on which {AND.join(both.names)} {stratum}, no class is read out of any: "
            "there is nothing to mark. Expected responses that mention something."
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
    """A method's judgements and errors of each reviewed response, by stratum."""
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
    """Each method's counts; where they agree these are the same, and stand once."""
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
    """Table 4: what is read rightly though it is not annotated."""
    marks = Counter(entry["mark"] for entry in entries if entry["annotated"] == NO)
    return {
        **{mark: marks[mark] for mark in FALSE_POSITIVES},
        "neither": marks[RIGHT],
        "responses": len({_response(entry) for entry in entries}),
    }
