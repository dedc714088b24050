"""Presents POPE's results as text, a row per sampling and one for all, and its rows as how each response was read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halluscope.benchmarks.pope.counting import CONVENTIONS, own_convention
from halluscope.benchmarks.pope.rows import SAMPLINGS
from halluscope.reporting.report_items import (
    ABSENT,
    FOUND,
    HALLUCINATED,
    MISSED,
    UNREADABLE,
    WRONG_NO,
    WRONG_YES,
    Fact,
    Item,
    answer_error,
    answer_facts,
    answer_kind,
    judged_texts,
)
from halluscope.reporting.tables import (
    Cell,
    Named,
    Notes,
    Report,
    Table,
    class_table,
    filled,
    gap,
    is_defined,
    score,
    share,
)
from halluscope.signature import keys_of

Values = Mapping[str, Any]

POOLED = "pooled"  # the name of all rows together, beside the samplings

# Whether the object is there, and whether the response says so -> the outcome for it
OUTCOMES = {
    (True, True): FOUND,
    (True, False): MISSED,
    (False, True): HALLUCINATED,
    (False, False): ABSENT,
}

BADNESS = {"": 0.0, UNREADABLE: 1.0, WRONG_NO: 2.0, WRONG_YES: 3.0}

# The columns that every table begins with
HEADER = ("responses", "parser", "sampling", "rows")

# The scores shown, followed by the mean of the samplings' F1, which LLaVA reports.
COLUMNS = ("accuracy", "precision", "recall", "f1", "yes_ratio", "unparsed", "f1_mean")

UNDEFINED = "The accuracy is undefined: there is no response to count."

# What the scores mean, by the convention
MEANING = {
    "usual": "{accuracy} of 100 questions are answered correctly; the response is yes to {yes_ratio} of 100.",
    "lmms-eval": "{accuracy} of 100 questions are answered correctly.",
    "repope": "{accuracy} of 100 readable responses are right; they are yes to {yes_ratio} of 100.",
}


def meaning(scores: Values) -> str:
    """Say in a sentence what the accuracy means."""
    if not is_defined(scores["accuracy"]):
        return UNDEFINED
    keys = keys_of(scores["signature"])
    convention = keys.get("convention") or own_convention(keys["parser"])
    return filled(MEANING[convention], scores)


def report(results: Named, *, every: bool = False, **_: Any) -> Report:
    """Return tables of the results, in percent, and the signatures; with `every`, without rows for samplings."""
    rows = []
    for name, result in results:
        for part, scores in parts_shown(result, every).items():
            row: list[Cell] = [name, result["parser"], part, scores["rows"]]
            for column in COLUMNS:
                row.append(score(scores, column))
            rows.append(row)
    header = list(HEADER)
    header.extend(COLUMNS)
    parts: list[Table | Notes] = [
        Table("scores", header, rows, left=3, ranked=True, intervals=("accuracy", "f1"))
    ]
    if any("corrected" in result for _, result in results):
        header = list(HEADER)
        header.extend(("f1", "corrected f1", "moved", "rank", "corrected rank"))
        parts.append(Table("corrected", header, corrections(results), left=3))
    for name, result in results:
        label = f"{name}, {result['parser']}"
        parts.append(Notes([f"signature: {result['signature']}"], label))
        if "classes" in result:
            parts.append(class_table(result, label))
    return parts


def samplings(result: Values) -> dict[str, dict[str, Any]]:
    """Return each sampling's scores and intervals, by the names that the whole has."""
    parts: dict[str, dict[str, Any]] = {}
    for sampling in SAMPLINGS:
        if f"rows/{sampling}" in result:
            scores = of_part(result, sampling)
            scores["interval"] = of_part(result.get("interval", {}), sampling)
            parts[sampling] = scores
    return parts


def of_part(values: Values, part: str) -> dict[str, Any]:
    """Return a part's values, such as those of "accuracy/random", by the names of the whole."""
    end = f"/{part}"
    return {name.removesuffix(end): value for name, value in values.items() if name.endswith(end)}


def parts_shown(result: Values, only_pooled: bool) -> dict[str, Values]:
    """Return what has a row in the table: each sampling and all together, or the only sampling."""
    parts = samplings(result)
    if len(parts) == 1:
        return dict.fromkeys(parts, result)
    if only_pooled:
        return {POOLED: result}
    return with_pooled(result)


def corrections(results: Named) -> list[list[Cell]]:
    """Return rows with each sampling's F1 and rank, by POPE's own right answers and by the corrected ones."""
    rows = []
    for part in (*SAMPLINGS, POOLED):
        rows += corrections_of(part, results)
    return rows


def corrections_of(part: str, results: Named) -> list[list[Cell]]:
    """Return the rows about a sampling; the results that have it are ranked among each other."""
    rows: list[list[Cell]] = []
    before = []
    after = []
    for name, result in results:
        own = with_pooled(result)
        corrected = with_pooled(result["corrected"])
        if part in own and part in corrected:
            rows.append([name, result["parser"], part, corrected[part]["rows"]])
            before.append(own[part]["f1"])
            after.append(corrected[part]["f1"])
    for row, f1_before, f1_after in zip(rows, before, after, strict=True):
        moved = None
        if is_defined(f1_before) and is_defined(f1_after):
            moved = f1_after - f1_before
        row += [share(f1_before), share(f1_after), gap(moved, False)]
        row += [rank(f1_before, before), rank(f1_after, after)]
    return rows


def with_pooled(result: Values) -> dict[str, Values]:
    """Return the scores of each sampling, and of all rows together."""
    parts: dict[str, Values] = dict(samplings(result))
    parts[POOLED] = result
    return parts


def rank(value: float | None, among: Sequence[float | None]) -> int | None:
    """Return a value's rank: 1 for the greatest of all, and for those equal to it; None if it is undefined."""
    if not is_defined(value):
        return None
    greater = 0
    for other in among:
        if is_defined(other) and other > value:
            greater += 1
    return 1 + greater


def items(rows: Sequence[Values], options: Values, voters: Any = None) -> Iterator[Item]:
    """Yield a run's rows as items, one per row, in order."""
    convention = options.get("convention") or own_convention(options.get("parser", ""))
    misses_unread = CONVENTIONS[convention].unread_missed
    for row, text in zip(rows, judged_texts(rows, options), strict=True):
        inputs = row["inputs"]
        error = answer_error(row["said"], row["answer"])
        image = None
        if "image_ids" in inputs:
            image = str(inputs["image_ids"])
        yield Item(
            id=f"{row['sampling']} {row['question_id']}".strip(),
            text=text,
            image=image,
            question=inputs.get("questions", ""),
            facts=known_of(row),
            errors=[error] if error else [],
            classes=outcome_of(row, misses_unread),
            parts={"sampling": row["sampling"]} if row["sampling"] else {},
            badness=BADNESS[error],
        )


def known_of(row: Values) -> list[Fact]:
    """Return what is known of a row: how its response was read, the right answer, and the corrected one."""
    facts = answer_facts(row["said"], row["answer"])
    inputs = row["inputs"]
    if "corrected" in inputs:
        answer = inputs["corrected"]
        if answer:
            facts.append(Fact("corrected answer", [(answer, answer_kind(row["said"], answer))]))
        else:
            facts.append(Fact("corrected answer", [("none: the question is ambiguous", "open")]))
    return facts


def outcome_of(row: Values, misses_unread: bool) -> dict[str, str]:
    """Return the outcome for the class that is asked about; {} if it is not known, or the row does not count for it."""
    inputs = row["inputs"]
    if "objects" not in inputs:
        return {}
    is_there = row["answer"] == "yes"
    if row["said"] is None and not (is_there and misses_unread):
        return {}
    outcome = OUTCOMES[is_there, row["said"] == "yes"]
    return {str(inputs["objects"]): outcome}
