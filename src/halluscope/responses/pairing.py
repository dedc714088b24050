"""Decides which way of matching fits responses: by ids, by their order, or by images and questions.

Ids are tried first, or, if no response has an id, the order. Where several sets of rows share their ids, as POPE's
samplings do, the set is taken in which nothing contradicts; where ids do not fit, the image and the question decide, or
else the questions in their order (`ways.by_content`).
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from halluscope.responses import ways
from halluscope.responses.agreement import Pairs
from halluscope.responses.identity import images_of, question_of, questions_of
from halluscope.responses.names import is_image_file
from halluscope.responses.question_runs import in_order
from halluscope.responses.repeats import some_column_is_unique
from halluscope.responses.stated import Case
from halluscope.responses.table import kinds
from halluscope.responses.ways import Incomplete, Repeated, UnknownId
from halluscope.sanitize import short_repr


def paired(case: Case) -> tuple[Case, Pairs]:
    """Match responses; where they do not fit, try again without those that repeat an earlier one word for word."""
    try:
        return case, _pairs_of(case)
    except ValueError as error:
        refusal = error
    without = case.without_repeats()
    if without is None:
        raise refusal
    try:
        pairs = _pairs_of(without)
    except (Incomplete, Repeated):  # they say more than that a response is repeated
        if not _are_told_apart(without, without.wanted):
            raise refusal from None
        raise
    except ValueError:
        raise refusal from None
    if not _are_told_apart(without, pairs.rows):
        raise refusal
    return without, pairs


def _are_told_apart(case: Case, rows: Sequence[Any]) -> bool:
    """Whether equal ids mean the same row: samplings share their ids, so a response may be another sampling's."""
    also = case.identity.also
    if len(case.identity.sets(rows)) < 2 or all(all(case.table.cells(name)) for name in also):
        return True
    return some_column_is_unique(case.stated_ids())


def _pairs_of(case: Case) -> Pairs:
    """Match by what identifies: ids, or the order without ids, else images and questions."""
    pairs = ways.by_cells(case)
    if pairs is None and case.identity.by_question and not case.states_ids:
        pairs = ways.by_image_and_question(case)
    if pairs is not None:
        return pairs
    id_columns = _id_columns(case)
    tried = _by_ids(case, id_columns) if id_columns else _without_ids(case)
    if isinstance(tried, Pairs):
        return tried
    # ids of their own, such as a count from 0, say nothing, but images and questions may
    are_own_ids = not id_columns or kinds(tried) == {UnknownId}
    pairs = _by_content(case, id_columns, are_own_ids)
    if pairs is None and case.identity.by_question and case.question_columns and are_own_ids:
        pairs = ways.by_questions_of_images(case)
    if pairs is None and are_own_ids and _counts_from_0(case, id_columns):
        with suppress(ValueError):  # something contradicts
            pairs = ways.by_order(case)
    if pairs is None:
        raise type(tried[0])(f"{tried[0]}{_nearest(case)}")
    return pairs


def _by_ids(case: Case, id_columns: Sequence[tuple[str, ...]]) -> Pairs | list[ValueError]:
    """Match by the first columns of ids that fit, else by other columns; if none fit, return why the ids do not."""
    refusals: list[ValueError] = []
    for columns in id_columns:
        try:
            pairs = ways.by_id(case, columns)
        except ValueError as error:
            if isinstance(error, Incomplete) and not case.identity.also:
                raise
            refusals.append(error)
            continue
        if not refusals or _is_confirmed(case, pairs, columns):
            return pairs
    other_columns = _other_columns(case)
    if other_columns:
        with suppress(ValueError):
            return ways.by_other_columns(case, other_columns)
    return refusals


def _without_ids(case: Case) -> Pairs | list[ValueError]:
    """Match by other columns that identify rows, else by the order; if neither fits, return why not."""
    refusals: list[ValueError] = []
    other_columns = _other_columns(case)
    if other_columns:
        try:
            return ways.by_other_columns(case, other_columns)
        except ValueError as error:
            refusals.append(error)
    try:
        pairs = ways.by_order(case)
    except ValueError as error:
        return refusals + [error]
    if refusals and not _is_confirmed(case, pairs, ()):
        return refusals
    return pairs


def _other_columns(case: Case) -> list[str]:
    """Return the columns that identify rows beside their ids, where neither ids nor images and questions do."""
    identity = case.identity
    if identity.by_question or identity.options.id_column or case.holds(identity.id[0]):
        return []
    return ways.other_columns(case)


def _id_columns(case: Case) -> list[tuple[str, ...]]:
    """Return the columns that may hold the responses' ids; [] if the responses have no ids."""
    identity = case.identity
    column = identity.options.id_column
    names = identity.columns
    if column:
        names = (column,)
    filled = [name for name in names if case.holds(name)]
    if column and not filled:
        columns = ", ".join(str(name) for name in case.table.row(0))
        raise ValueError(
            f"No response has the column {column}; expected the column with the id. {case.where(0)} has {columns}."
        )
    if filled and names == identity.id:
        return [identity.id]
    return [(name,) for name in filled]


def _counts_from_0(case: Case, id_columns: Sequence[tuple[str, ...]]) -> bool:
    """Whether the ids are only the places of the responses, which answer the only set of rows whole."""
    if len(case.identity.sets(case.wanted)) != 1 or len(case) != len(case.rows_by_order):
        return False
    for name, *_ in id_columns:
        if [str(cell) for cell in case.table.cells(name)] != list(map(str, range(len(case)))):
            return False
    return True


def _is_confirmed(case: Case, pairs: Pairs, columns: Sequence[str]) -> bool:
    """Whether a second choice of an id names images, or each response states something of its row."""
    for number, place in enumerate(pairs.places):
        is_image = False
        if columns:
            is_image = is_image_file(str(case.table.cells(columns[0])[place]))
        if not is_image and not pairs.states_same(number):
            return False
    return True


def _by_content(case: Case, id_columns: Sequence[tuple[str, ...]], are_own_ids: bool) -> Pairs | None:
    """Match by images and questions where neither ids nor the order fit; None if these do not decide."""
    questions = case.stated_questions
    if are_own_ids and not any(questions):
        pairs = ways.by_images(case)
        if pairs is not None:
            return pairs
    describe = bool(id_columns) and are_own_ids and ways.describe_the_rest(case)
    if not all(questions) and not describe:
        return None
    if id_columns:
        pairs = ways.by_id_in_one_set(case, id_columns[0])
        if pairs is not None:
            return pairs
    pairs = ways.by_content(case)
    if pairs is not None:
        return pairs
    # ids of their own, such as a count, beside the questions in the dataset's order
    if len(case) == len(case.rows_by_order):
        with suppress(ValueError):  # something contradicts
            return ways.by_order(case)
    pairs = ways.by_content(case, in_order)
    if pairs is not None:
        return pairs
    with suppress(ValueError):  # something contradicts
        return ways.by_order_of_needed(case)
    return None


def _nearest(case: Case) -> str:
    """Say which set of rows has most of the questions that responses state; "" if none has any, or there is one set."""
    questions = Counter(case.stated_questions)
    del questions[""]
    sets = case.identity.sets(case.rows)
    shared = {}
    for name, rows in sets.items():
        shared[name] = (questions & Counter(questions_of(rows))).total()
    nearest = max(shared, key=lambda name: (shared[name], name))
    if not nearest or not shared[nearest]:
        return ""
    return (
        f" The nearest is {nearest}: it has {shared[nearest]:,} of the {len(case):,} questions that they state."
        f"{_first_contradiction(case, sets[nearest])}"
    )


def _first_contradiction(case: Case, rows: Sequence[Any]) -> str:
    """Say which response is the first whose question, or question about its image, no row asks; "" for none."""
    known = set()
    for row in rows:
        question = question_of(row)
        known.add(("", question))
        for image in images_of(row):
            known.add((image, question))
    images = case.stated_images or [""] * len(case)
    for place, key in enumerate(zip(images, case.stated_questions, strict=True)):
        if key in known:
            continue
        image, question = key
        if not question:
            question = " ".join(ways.texts_that_ask(case, place))
        about = ""
        if image:
            about = f" about image {image}"
        return (
            f" The first that it does not have is in {case.where(place)}: {short_repr(question, 120)}{about}."
        )
    return ""
