"""The ways of matching responses to rows: by ids, by order, by images and questions, or by the rows that they state.

Each returns the pairs that it finds, or raises an error with the first contradiction.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halluscope.responses.agreement import Pairs, agreeing
from halluscope.responses.identity import (
    Key,
    ids_of_files,
    images_of,
    are_whole,
    keys_in,
    last_part,
    named,
    plain_id,
    question_of,
    values_of,
)
from halluscope.responses.names import IMAGES
from halluscope.responses.question_runs import NOWHERE, Asked, image_by_image
from halluscope.responses.stated import Case, is_value
from halluscope.sanitize import short_repr

# The ways of matching responses by other things than ids
ORDER, IMAGE, QUESTION = "order", "image", "question"
# The rows were not matched: the responses state them whole
STATED_ROWS = "their own rows"

_NUMBERED = re.compile(r"(\d{1,12})\.(?:jpe?g|png)", re.IGNORECASE)

# Returns which rows the first responses answer, given what the rows ask and the questions of the responses
FindRows = Callable[[Sequence[Asked], Sequence[str]], list[int]]


class UnknownId(ValueError):
    """A response has an id that no row of the dataset has."""


class Repeated(ValueError):
    """Two responses are about one row."""


class Incomplete(ValueError):
    """Responses fit a set of rows, some of which have no response."""


# By ids


def by_id(case: Case, columns: Sequence[str]) -> Pairs:
    """Match by ids in some columns, and by the set of the row if all responses state it."""
    identity = case.identity
    for name in columns:
        if not case.fills(name):
            lacking = next(place for place, cell in enumerate(case.table.cells(name)) if not is_value(cell))
            raise ValueError(
                f"{case.where(lacking)} has no {name}; expected {', '.join(columns)} in each response, or in none."
            )
    sets = [own for own in identity.also if case.fills(own) and all(getattr(row, own) for row in case.rows)]
    names = [*columns, *sets]
    own_names = [*identity.id, *sets]
    stated, keys = _keys(case, names, own_names, case.wanted)
    numbers = dict(zip(keys, range(len(keys)), strict=True))
    if len(numbers) < len(keys):
        return _by_id_and_order(case, names, stated, keys)
    if stated == keys:
        answered = list(range(len(keys)))
    else:
        answered = [numbers.get(key, NOWHERE) for key in stated]
        _check_ids(case, names, own_names, stated, answered)
    places = [place for place, number in enumerate(answered) if number != NOWHERE]
    if not identity.partial_ok:
        places.sort(key=answered.__getitem__)
    rows = [case.wanted[answered[place]] for place in places]
    pairs = agreeing(case, " and ".join(names), rows, places, len(case.wanted))
    if not identity.partial_ok and len(rows) < len(case.wanted):
        check_none_missing(case, missing(case, case.wanted, rows), len(case.wanted))
    return pairs


def _keys(
    case: Case, names: Sequence[str], own_names: Sequence[str], rows: Sequence[Any]
) -> tuple[list[Key], list[Key]]:
    """Return the keys of the responses and those of rows, in forms that are equal where the same row is meant."""
    own_id = case.identity.id[0]
    files = ids_of_files(case.rows, own_id) if own_id in IMAGES else {}
    stated_columns: list[list[Any]] = []
    own_columns: list[list[Any]] = []
    for name, own_name in zip(names, own_names, strict=True):
        stated = _ids(case, name, files)
        own = values_of(rows, own_name)
        if not (are_whole(stated) and are_whole(own)):
            stated = [str(value) for value in stated]
            own = [plain_id(value) for value in own]
        stated_columns.append(stated)
        own_columns.append(own)
    return keys_in(stated_columns), keys_in(own_columns)


def _check_ids(
    case: Case,
    names: Sequence[str],
    own_names: Sequence[str],
    stated: Sequence[Key],
    answered: Sequence[int],
) -> None:
    """Check that each response is about a row of the dataset, and no two about one.

    Args:
        case: the responses.
        names: the columns of their keys.
        own_names: the columns of the rows' keys.
        stated: the responses' keys.
        answered: the number of each response's row, or `NOWHERE`.
    """
    if NOWHERE not in answered and len(set(answered)) == len(answered):
        return
    left_out: set[Key] = set()
    if len(case.rows) > len(case.wanted):
        kept = {id(row) for row in case.wanted}
        others = [row for row in case.rows if id(row) not in kept]
        left_out = set(_keys(case, names, own_names, others)[1])
    first: dict[int, int] = {}
    for place, number in enumerate(answered):
        key = stated[place]
        if number == NOWHERE:
            if key in left_out:
                continue
            raise UnknownId(
                f"{case.where(place)}: {named(names, key)} is not among the {len(case.wanted):,} rows of the dataset. "
                "Are these the responses to this dataset, and to this split of it?"
            )
        if number in first:
            raise Repeated(
                f"{case.where(place)}: {named(names, key)} is already in {case.where(first[number])}; expected one "
                "response per row. Remove one of them."
            )
        first[number] = place


def _by_id_and_order(case: Case, names: Sequence[str], stated: Sequence[Key], keys: list[Key]) -> Pairs:
    """Match where several rows share their ids: then only the order of the rows will do."""
    if stated != keys[: len(case.first)]:
        columns = names[: len(case.identity.id)]
        raise ValueError(
            f"{case.source}: several of the {len(case.first):,} rows of the dataset share their "
            f"{' and '.join(columns)}, such as {named(names, Counter(keys).most_common(1)[0][0])}, and the "
            "responses are not in the dataset's order. Choose one config or sampling, or give each response "
            f"its {' and '.join(case.identity.also) or 'config'}."
        )
    by = f"{' and '.join(names)} and {ORDER}"
    return agreeing(case, by, case.first, list(range(len(case))), len(case.wanted))


def _ids(case: Case, name: str, files: Mapping[str, str]) -> list[Any]:
    """Return the ids in a column, as whole numbers if all are, else as texts.

    In an id, a file name is an image's id if `files` has it or it is COCO's.
    """
    values = case.table.cells(name)
    if name in case.identity.also or are_whole(values):
        return values
    # "339761.jpg" is COCO's image 339761, but in a dataset with other file names it may be any
    is_coco = name in IMAGES and all(plain_id(last_part(file)) == key for file, key in files.items())
    ids = []
    for place, cell in enumerate(values):
        value = cell.item() if isinstance(cell, np.generic) else cell
        if not _is_id(value):
            raise ValueError(
                f"{case.where(place)}: {name} is {short_repr(value)}; expected a whole number or a name."
            )
        known = ""
        if files:
            text = str(value).strip()
            known = files.get(text) or files.get(last_part(text)) or ""
        numbered = _NUMBERED.fullmatch(last_part(value)) if is_coco else None
        ids.append(known or plain_id(numbered[1] if numbered else value))
    return ids


def _is_id(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    if isinstance(value, float):
        return value.is_integer()
    return str(value).strip() != ""


def by_id_in_one_set(case: Case, columns: Sequence[str]) -> Pairs | None:
    """Match by ids if nothing contradicts in just one set of rows (one per value of `Identity.also`)."""
    sets = case.identity.sets(case.rows)
    if len(sets) < 2:
        return None
    fitting: dict[str, Pairs] = {}
    for name, rows in sets.items():
        one_set = replace(case, rows=rows)
        if not one_set.wanted:
            continue
        try:
            fitting[name] = by_id(one_set, columns)
        except Incomplete:
            raise
        except ValueError:  # something contradicts
            pass
    if len(fitting) > 1:
        options = " or ".join(f"--{column}" for column in case.identity.also)
        raise ValueError(f"{case.source} fits {' and '.join(fitting)} equally well. Choose one: {options}.")
    return next(iter(fitting.values()), None)


def by_other_columns(case: Case) -> Pairs:
    """Match by other columns that together identify a row, or take the rows that the responses state."""
    identity = case.identity
    columns = []
    for name in dict.fromkeys(identity.also_by.values()):
        if case.fills(name) and name not in case.responses.columns:
            columns.append(name)
    if not columns:
        return by_order(case)
    try:
        return by_id(replace(case, identity=replace(identity, id=tuple(columns))), columns)
    except ValueError:
        pairs = _stated_rows(case)
        if pairs is None:
            raise
        return pairs


def _stated_rows(case: Case) -> Pairs | None:
    """Return the rows that responses state, if their labels are the dataset's in its order."""
    identity = case.identity
    if not identity.stated_row or len(case) != len(case.wanted):
        return None
    rows = []
    for place, own in enumerate(case.wanted):
        row = identity.stated_row(case.table.row(place), case.where(place), place)
        if row is None or getattr(row, identity.target) != getattr(own, identity.target):
            return None
        rows.append(row)
    return Pairs(STATED_ROWS, rows, list(range(len(rows))), len(rows))


# By the order


def by_order(case: Case) -> Pairs:
    """Match by the order of the rows."""
    count = len(case)
    rows = case.first if count == len(case.first) else case.rows
    if count != len(rows):
        columns = case.identity.columns
        names = (", " if len(case.identity.id) > 1 else " or ").join(columns)
        raise ValueError(
            f"{case.source} holds {count:,} responses without an id, and the dataset has {len(case.wanted):,} "
            f"rows; expected one response per row in the same order, or an id in each response: {names}."
        )
    return agreeing(case, ORDER, list(rows), list(range(count)), len(case.wanted))


# By images and questions


def by_image(case: Case) -> Pairs | None:
    """Match by the images alone, if each response states one of its own and none of their rows asks a question."""
    rows = described(case)
    images = case.stated_images if rows else []
    if not images or len(set(images)) < len(images) or not all(image in rows for image in images):
        return None
    own = [rows[image] for image in images]
    return agreeing(case, IMAGE, own, list(range(len(case))), len(case.wanted))


def described(case: Case) -> dict[str, Any]:
    """Return the rows that ask no question, by the names of their images that are no other row's."""
    rows: dict[str, Any] = {}
    shared = set()  # such as "1.jpg" in two folders
    for row in case.wanted:
        if question_of(row):
            continue
        for image in images_of(row):
            if image in rows:
                shared.add(image)
            rows[image] = row
    return {image: row for image, row in rows.items() if image not in shared}


def describe_the_rest(case: Case) -> bool:
    """Whether the responses that state none of the dataset's questions are about images that it asks nothing of."""
    if not any(case.stated_questions):
        return False
    rows = described(case)
    images = case.stated_images if rows else []
    if not images:
        return False
    columns = [case.responses.stated(name) for name in case.questions]
    for place, question in enumerate(case.stated_questions):
        if question:
            continue
        asks = any(isinstance(cells[place], str) and "?" in cells[place] for cells in columns)
        if asks or images[place] not in rows:
            return False
    return True


def by_content(case: Case, rows_of: FindRows = image_by_image) -> Pairs | None:
    """Match by the questions that responses state, set after set; None where these do not decide."""
    identity = case.identity
    sets = identity.sets(case.rows)
    images = case.stated_images
    questions = case.stated_questions
    keys = list(zip(images, questions, strict=True)) if images else []
    answered: list[Any] = []
    needed = 0
    lacking: list[tuple[Sequence[Any], int]] = []
    while len(answered) < len(questions):
        first = len(answered)
        runs: dict[str, list[Any]] = {}
        for name, rows in sets.items():
            if images:
                runs[name] = _run_by_image(rows, keys[first:], identity.target)
            else:
                runs[name] = _run(rows, questions[first:], rows_of, identity.target)
        longest = max((len(run) for run in runs.values()), default=0)
        if images and longest and all(len(rows) > longest for rows in sets.values()):
            _check_not_repeated(case, keys, first, longest)
        best = [name for name, run in runs.items() if len(run) == longest]
        if not longest or len(best) > 1:
            return None
        rows = sets.pop(best[0])
        run = runs[best[0]]
        answered += run
        if len(run) < len(rows):
            asked = case.responses.first_texts(case.questions, range(first, first + longest))
            if identity.version_of(run, asked):
                rows = run
        rows = list(filter(identity.wanted, rows))
        needed += len(rows)
        lacking.append((missing(case, rows, run), len(rows)))
    for rows_without, count in lacking:
        check_none_missing(case, rows_without, count)
    numbers = {id(row): number for number, row in enumerate(case.rows)}
    places = sorted(range(len(answered)), key=lambda place: numbers[id(answered[place])])
    by = f"{IMAGE if images else ORDER} and {QUESTION}"
    return agreeing(case, by, [answered[place] for place in places], places, needed)


def _check_not_repeated(case: Case, keys: Sequence[Hashable], first: int, count: int) -> None:
    """Check that not all of the next responses are about the same as earlier ones."""
    if set(keys[first : first + count]) <= set(keys[:first]):
        raise Repeated(
            f"{case.where(first)} has the image and the question of an earlier response; expected one "
            "response per row. Remove one of them."
        )


def _run(rows: Sequence[Any], questions: Sequence[str], rows_of: FindRows, target: str) -> list[Any]:
    """Return the rows of a set that the first responses answer, by their questions alone."""
    asked = [Asked(images_of(row), question_of(row), getattr(row, target, "")) for row in rows]
    return [rows[place] for place in rows_of(asked, questions)]


def _run_by_image(rows: Sequence[Any], stated: Sequence[Hashable], target: str) -> list[Any]:
    """Return the rows of a set that the first responses answer, up to the first response that fits no row.

    Responses state an image and a question. Rows with the same of both are taken in their order if their right answers
    are equal.
    """
    alike: dict[Hashable, list[Any]] = {}
    for row in reversed(rows):
        for image in images_of(row):
            alike.setdefault((image, question_of(row)), []).append(row)
    run: list[Any] = []
    for key in stated:
        candidates = alike.get(key, [])
        if not candidates or len({getattr(row, target, "") for row in candidates}) > 1:
            break
        run.append(candidates.pop())
    return run


def by_cells(case: Case) -> Pairs | None:
    """Match a file that holds each image and question once, with the names of its sets in one cell ("a,b").

    Responses with equal cells must be in the order of one of these sets. None if no cell names several sets.
    """
    column = next(iter(case.identity.also), "")
    if column not in case.table.columns:
        return None
    cells = [frozenset(str(cell).split(",")) for cell in case.table.cells(column)]
    if all(len(cell) < 2 for cell in cells):
        return None
    alike: dict[Hashable, dict[str, Any]] = {}  # the rows of an image and question, by set
    for row in case.rows:
        alike.setdefault((images_of(row), question_of(row)), {})[getattr(row, column)] = row
    # for each cell and set, the rows of the set that are in all sets of the cell, each with those alike
    ways: dict[Hashable, list[dict[str, Any]]] = {}
    for row in case.rows:
        by_set = alike[images_of(row), question_of(row)]
        name = getattr(row, column)
        if by_set[name] is row:
            ways.setdefault((frozenset(by_set), name), []).append(by_set)
    answered: dict[int, int] = {}
    for cell in set(cells):
        here = [place for place, other in enumerate(cells) if other == cell]
        asked = [case.stated_questions[place] for place in here]
        way = _way_in_order(ways, cell, asked)
        if way is None:
            return None
        for by_set, place in zip(way, here, strict=True):
            for row in by_set.values():
                answered[id(row)] = place
    rows = [row for row in case.wanted if id(row) in answered]
    without = [row for row in case.wanted if id(row) not in answered]
    check_none_missing(case, without, len(case.wanted))
    places = [answered[id(row)] for row in rows]
    return agreeing(case, f"{ORDER} and {QUESTION}", rows, places, len(case.wanted))


def _way_in_order(
    ways: Mapping[Hashable, list[dict[str, Any]]], cell: frozenset[str], asked: Sequence[str]
) -> list[dict[str, Any]] | None:
    """Return the rows of a set of a cell that ask these questions in this order."""
    for name in cell:
        way = ways.get((cell, name), [])
        if [question_of(by_set[name]) for by_set in way] == asked:
            return way
    return None


# Rows without a response


def missing(case: Case, rows: Sequence[Any], answered: Sequence[Any]) -> list[Any]:
    """Return the rows without a response of the sets that are begun."""
    set_of = case.identity.set_of
    ids = {id(row) for row in answered}
    begun = {set_of(row) for row in answered} - {None}
    return [row for row in rows if id(row) not in ids and set_of(row) in begun]


def check_none_missing(case: Case, rows: Sequence[Any], count: int) -> None:
    """Check that no rows are without a response, unless the user allows it."""
    if rows and not case.identity.options.lacking_ok:
        raise Incomplete(
            f"{case.source} has no response to {len(rows):,} of the {count:,} rows of the dataset, such as "
            f"{case.identity.named(rows[0])}. Answer them, or pass --partial (partial=True) to score the rows that "
            "have one."
        )
