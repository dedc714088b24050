"""The ways of matching responses to rows: by ids, by order, by images and questions, or by the rows that they state.

Each returns the pairs that it finds, or raises an error with the first contradiction.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halluscope.responses.agreement import Pairs, agreeing
from halluscope.responses.column_facts import plain_question
from halluscope.responses.identity import (
    Key,
    are_whole,
    ids_of_files,
    images_of,
    keys_in,
    last_part,
    named,
    plain_id,
    plain_stem,
    question_of,
    values_of,
)
from halluscope.responses.names import IDS, IMAGES, RIGHT_ANSWERS
from halluscope.responses.question_runs import NOWHERE, Asked, image_by_image, images_in_any_order
from halluscope.responses.stated import SAME, Case, is_value
from halluscope.responses.table import ABSENT, picked
from halluscope.sanitize import short_repr

# The ways of matching responses by other things than ids
ORDER = "order"
IMAGE = "image"
QUESTION = "question"
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


@dataclass(frozen=True)
class _Keys:
    """What responses and rows are joined by, in forms that are equal where the same row is meant."""

    theirs: Sequence[str]  # the columns of the responses' keys
    ours: Sequence[str]  # the columns of the rows' keys
    responses: list[Key]
    rows: list[Key]

    @property
    def numbers(self) -> list[int]:
        """The number of the row that each response is about, or `NOWHERE`."""
        number_of = {key: number for number, key in enumerate(self.rows)}
        return [number_of.get(key, NOWHERE) for key in self.responses]


def by_id(case: Case, columns: Sequence[str]) -> Pairs:
    """Match by ids in some columns, and by the set of the row if all responses state it."""
    identity = case.identity
    for name in columns:
        if not case.fills(name):
            lacking = next(place for place, cell in enumerate(case.table.cells(name)) if not is_value(cell))
            raise ValueError(
                f"{case.where(lacking)} has no {name}; expected {', '.join(columns)} in each response, or in none."
            )
    sets = [name for name in identity.also if case.fills(name) and all(values_of(case.rows, name))]
    keys = _keys(case, list(columns) + sets, list(identity.id) + sets, case.wanted)
    if len(set(keys.rows)) < len(keys.rows):
        return _by_id_and_order(case, keys)
    way = " and ".join(keys.theirs)
    if keys.responses == keys.rows:
        return agreeing(case, way, case.wanted)
    numbers = keys.numbers
    _check_ids(case, keys, numbers)
    places = [place for place, number in enumerate(numbers) if number != NOWHERE]
    if not identity.partial_ok:
        places.sort(key=numbers.__getitem__)
    rows = [case.wanted[numbers[place]] for place in places]
    needed = _needed(case, rows, sets)
    pairs = agreeing(case, way, rows, places, len(needed))
    if not identity.partial_ok and len(rows) < len(needed):
        _check_none_missing(case, _missing(case, needed, rows), len(needed))
    return pairs


def _needed(case: Case, rows: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Return the rows that need a response.

    If those that have one are all rows of the sets that responses state in some columns, no other row needs one: a file
    may answer one sampling.
    """
    if case.identity.options.limit:  # what was not read may state other sets
        return case.wanted
    of_sets = case.wanted
    for name in columns:
        stated = set(case.table.cells(name))
        of_sets = [row for row in of_sets if getattr(row, name) in stated]
    if len(rows) < len(of_sets):
        return case.wanted
    return of_sets


def _keys(case: Case, theirs: Sequence[str], ours: Sequence[str], rows: Sequence[Any]) -> _Keys:
    """Return the keys of the responses, in their columns, and of some rows, in ours."""
    id_column = case.identity.id[0]
    files: dict[str, str] = {}
    if id_column in IMAGES:
        files = ids_of_files(case.rows, id_column)
    of_responses = [_ids(case, name, files) for name in theirs]
    of_rows = [values_of(rows, name) for name in ours]
    # a user may name one column where several identify a row: then no key is a row's
    for number in range(min(len(theirs), len(ours))):
        if not (are_whole(of_responses[number]) and are_whole(of_rows[number])):
            of_responses[number] = [str(key) for key in of_responses[number]]
            of_rows[number] = [plain_id(value) for value in of_rows[number]]
    return _Keys(theirs, ours, keys_in(of_responses), keys_in(of_rows))


def _check_ids(case: Case, keys: _Keys, numbers: Sequence[int]) -> None:
    """Check that each response is about a row of the dataset, wanted or not, and no two about one wanted row."""
    if NOWHERE not in numbers and len(set(numbers)) == len(numbers):
        return
    unwanted = [row for row in case.rows if not case.identity.wanted(row)]
    unwanted_keys: set[Key] = set()
    if unwanted:
        unwanted_keys.update(_keys(case, keys.theirs, keys.ours, unwanted).rows)
    first: dict[int, int] = {}  # the number of a row -> the place of the first response about it
    for place, number in enumerate(numbers):
        key = keys.responses[place]
        if number == NOWHERE and key in unwanted_keys:
            continue
        if number == NOWHERE:
            raise UnknownId(
                f"{case.where(place)}: {named(keys.theirs, key)} is not among the {len(case.wanted):,} rows of the "
                f"dataset; expected one such as {named(keys.ours, keys.rows[0])}. Are these the responses to this "
                "dataset, and to this split of it?"
            )
        if number in first:
            raise Repeated(
                f"{case.where(place)}: {named(keys.theirs, key)} is already in {case.where(first[number])}; expected "
                "one response per row. Remove one of them."
            )
        first[number] = place


def _by_id_and_order(case: Case, keys: _Keys) -> Pairs:
    """Match where several rows share their ids: then only the order of the rows will do."""
    pairs = _first_of_one_set(case, lambda one_set: by_id(one_set, keys.theirs))
    if pairs is not None:
        return pairs
    if set(keys.rows).isdisjoint(keys.responses):
        _check_ids(case, keys, keys.numbers)
    if keys.responses != keys.rows[: len(case.rows_by_order)]:
        columns = keys.theirs[: len(case.identity.id)]
        example = Counter(keys.rows).most_common(1)[0][0]
        raise ValueError(
            f"{case.source}: several of the {len(case.rows_by_order):,} rows of the dataset share their "
            f"{' and '.join(columns)}, such as {named(keys.theirs, example)}, and the "
            "responses are not in the dataset's order. Choose one config or sampling "
            f"({_choices(case)}), or give each response its {' and '.join(case.identity.also) or 'config'}, its image "
            "or its question. If they answer another version of the questions, name its file: --dataset FILE."
        )
    return agreeing(case, f"{' and '.join(keys.theirs)} and {ORDER}", case.rows_by_order)


def _choices(case: Case) -> str:
    """Say by which options a set of rows is chosen."""
    options = ["--dataset NAME:CONFIG"]
    for column, values in case.identity.also.items():
        options.append(f"--{column} {'|'.join(values)}")
    return ", ".join(options)


def _ids(case: Case, name: str, files: Mapping[str, str]) -> list[Any]:
    """Return the ids in a column, as whole numbers if all are, else as texts.

    In an id, a file name is an image's id if `files` has it or it is COCO's.
    """
    values = case.table.cells(name)
    if name in case.identity.also or are_whole(values):
        return values
    # "339761.jpg" is COCO's image 339761, but in a dataset with other file names it may be any
    is_coco = name in IMAGES and all(plain_id(last_part(file)) == files[file] for file in files)
    ids = []
    for place, cell in enumerate(values):
        value = cell
        if isinstance(value, np.generic):
            value = value.item()
        if not _is_id(value):
            raise ValueError(
                f"{case.where(place)}: {name} is {short_repr(value)}; expected a whole number or a name."
            )
        text = str(value).strip()
        key = files.get(text) or files.get(last_part(text))
        if is_coco:
            numbered = _NUMBERED.fullmatch(last_part(value))
            if numbered:
                value = numbered[1]
        ids.append(key or plain_id(value))
    return ids


def _is_id(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    if isinstance(value, float):
        return value.is_integer()
    return str(value).strip() != ""


def by_id_in_one_set(case: Case, columns: Sequence[str]) -> Pairs | None:
    """Match by ids if nothing contradicts in just one set of rows (one per value of `Identity.also`)."""
    return _in_one_set(case, lambda one_set: by_id(one_set, columns))


def _first_of_one_set(case: Case, match: Callable[[Case], Pairs]) -> Pairs | None:
    """Match the first responses of a file to a set that begins with their rows; None if no set does, or all were read.

    They may equally be the first of the whole dataset, whose first set then is the one that fits.
    """
    if not case.identity.options.limit or len(case.rows_by_order) == len(case.wanted):
        return None
    return _in_one_set(case, match)


def _in_one_set(case: Case, match: Callable[[Case], Pairs]) -> Pairs | None:
    """Match in some way if nothing contradicts in just one set of rows; None if it does in each."""
    sets = case.identity.sets(case.rows)
    if len(sets) < 2:
        return None
    fitting: dict[str, Pairs] = {}
    for name, rows in sets.items():
        one_set = replace(case, rows=rows)
        if not one_set.wanted:
            continue
        try:
            fitting[name] = match(one_set)
        except Incomplete:
            raise
        except ValueError:  # something contradicts
            pass
    if len(fitting) > 1:
        options = " or ".join(f"--{column}" for column in case.identity.also)
        raise ValueError(f"{case.source} fits {' and '.join(fitting)} equally well. Choose one: {options}.")
    return next(iter(fitting.values()), None)


def other_columns(case: Case) -> list[str]:
    """Return the other columns that together identify a row, as far as all responses have them."""
    columns: list[str] = []
    for name in case.identity.also_by.values():
        if case.fills(name) and name not in case.responses.columns and name not in columns:
            columns.append(name)
    return columns


def by_other_columns(case: Case, columns: Sequence[str]) -> Pairs:
    """Match by other columns that together identify a row, or take the rows that the responses state."""
    by_them = replace(case, identity=replace(case.identity, id=tuple(columns)))
    try:
        return by_id(by_them, columns)
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
    for place, expected in enumerate(case.wanted):
        row = identity.stated_row(case.table.row(place), case.where(place), place)
        if row is None or getattr(row, identity.target) != getattr(expected, identity.target):
            return None
        rows.append(row)
    return Pairs(STATED_ROWS, rows, list(range(len(rows))), len(rows))


# By the order


def by_order(case: Case) -> Pairs:
    """Match by the order of the rows."""
    pairs = _first_of_one_set(case, by_order)
    if pairs is not None:
        return pairs
    count = len(case)
    rows = case.rows
    if count == len(case.rows_by_order):
        rows = case.rows_by_order
    if count != len(rows):
        between = ", " if len(case.identity.id) > 1 else " or "
        names = between.join(case.identity.columns)
        raise ValueError(
            f"{case.source} holds {count:,} responses without an id, and the dataset has {len(case.wanted):,} "
            f"rows; expected one response per row in the same order, or an id of its own in each response: {names}."
            f"{_other_ids(case)}{_sets_of_so_many(case)}"
        )
    pairs = agreeing(case, ORDER, list(rows))
    _check_counts(case, pairs)
    return pairs


def _check_counts(case: Case, pairs: Pairs) -> None:
    """Check that no other id counts the responses in another order, where not all say what they are about."""
    numbers = range(len(case))
    from_0 = [str(number) for number in numbers]
    from_1 = [str(number + 1) for number in numbers]
    for name in IDS:
        if name in IMAGES or name in case.identity.id or name not in case.table.columns:
            continue
        ids = [plain_id(cell) for cell in case.table.cells(name)]
        if ids in (from_0, from_1):
            continue
        is_count = set(ids) in (set(from_0), set(from_1))
        if is_count and not all(map(pairs.states_same, numbers)):
            raise ValueError(
                f"{case.source}: {name} counts the responses in another order than they stand in, and nothing else "
                f"tells which row each is about. Sort them by {name}, or give each {', '.join(case.identity.id)}."
            )


def _sets_of_so_many(case: Case) -> str:
    """Say which sets of rows have as many rows as there are responses; "" for none."""
    options = []
    for name, rows in case.identity.sets(case.wanted).items():
        if name and len(rows) == len(case):
            options.append(f"--{name}")
    if not options:
        return ""
    return f" If they are in the order of one set of rows, choose it: {', '.join(options)}."


def _other_ids(case: Case) -> str:
    """Say which column holds ids of the dataset's, where it is named like an image's; "" for none."""
    if len(case.identity.id) > 1:
        return ""
    known = {plain_id(id) for id in values_of(case.rows, case.identity.id[0])}
    for name in IDS:
        if name in case.identity.columns or not case.fills(name):
            continue
        if all(plain_id(id) in known for id in case.table.cells(name)):
            return f" If {name} is this id, say so: --id-column {name} (id_column)."
    return ""


def by_order_of_needed(case: Case) -> Pairs | None:
    """Match by the order of the rows that need a response, where the others have none; None if their numbers differ.

    So are files of a dataset's questions that leave out what it asks to describe.
    """
    rows = [row for row in case.wanted if case.identity.set_of(row) is not None]
    if len(rows) != len(case) or len(rows) == len(case.wanted):
        return None
    return agreeing(case, ORDER, rows)


# By images and questions


def by_images(case: Case) -> Pairs | None:
    """Match by the images alone, if each response states one of its own and none of their rows asks a question."""
    row_of = _described(case)
    if not row_of:
        return None
    images = case.stated_images
    if not images or len(set(images)) < len(images) or not set(images) <= row_of.keys():
        return None
    return agreeing(case, IMAGE, [row_of[image] for image in images])


def _described(case: Case) -> dict[str, Any]:
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
    for image in shared:
        del rows[image]
    return rows


def describe_the_rest(case: Case) -> bool:
    """Whether the responses that state none of the dataset's questions are about images that it asks nothing of."""
    if not any(case.stated_questions):
        return False
    row_of = _described(case)
    if not row_of or not case.stated_images:
        return False
    for place, question in enumerate(case.stated_questions):
        if question:
            continue
        if case.stated_images[place] not in row_of:
            return False
        if any("?" in text for text in case.asking_texts(place)):
            return False
    return True


def by_image_and_question(case: Case) -> Pairs | None:
    """Match by the image that each response states, and by which of the image's questions stands in what it states.

    Files of images are compared without their endings. None if most responses state no image of the dataset.
    """
    rows_of_images: dict[str, list[int]] = {}
    for number, row in enumerate(case.wanted):
        rows_of_images.setdefault(plain_stem(row.file_name), []).append(number)
    images = [_image_among(case, place, rows_of_images) for place in range(len(case))]
    if 2 * images.count("") > len(images):  # a few numbers may be the names of files by chance
        return None
    place_of: dict[int, int] = {}
    for place, image in enumerate(images):
        number = _number_of_question(case, place, rows_of_images.get(image, []))
        if number in place_of:
            raise Repeated(
                f"{case.where(place)} answers {case.identity.named(case.wanted[number])}, as "
                f"{case.where(place_of[number])} does; expected one response per row. Remove one of them."
            )
        place_of[number] = place
    return _asked_alike(case, f"{IMAGE} and {QUESTION}", place_of)


def _asked_alike(case: Case, way: str, place_of: Mapping[int, int]) -> Pairs:
    """Return the rows of some numbers and their responses, which were found by the rows' own questions."""
    numbers = sorted(place_of)
    rows = picked(case.wanted, numbers)
    _check_none_missing(case, _missing(case, case.wanted, rows), len(case.wanted))
    places = [place_of[number] for number in numbers]
    states = {"question": [SAME] * len(rows)}
    return Pairs(way, rows, places, len(case.wanted), states)


def _image_among(case: Case, place: int, known: Collection[str]) -> str:
    """Return the first of the known images that a response states; "" for none."""
    for name in IMAGES:
        cell = case.table.cell(place, name)
        if cell is ABSENT:
            cell = ""
        image = plain_stem(cell)
        if name != case.responses.columns[place] and image in known:
            return image
    return ""


def _number_of_question(case: Case, place: int, numbers: Sequence[int]) -> int:
    """Return which of the rows that are about a response's image asks the question that it states."""
    texts = texts_that_ask(case, place)
    fitting = []
    for number in numbers:
        question = question_of(case.wanted[number])
        if any(question in text for text in texts):
            fitting.append((len(question), number))
    if fitting:  # a question may begin with another one
        _, number = max(fitting, key=lambda fit: fit[0])
        return number
    question = " or ".join(short_repr(text, 120) for text in texts) or "no question"
    if not numbers:
        raise UnknownId(
            f"{case.where(place)} states {question}, and no image of the {len(case.wanted):,} rows of the dataset; "
            f"expected the name of the image, such as {case.wanted[0].file_name}, in each response. Are these the "
            "responses to this dataset?"
        )
    known = " and ".join(short_repr(case.wanted[number].question, 120) for number in numbers[:4])
    raise UnknownId(
        f"{case.where(place)} states {question}; the dataset asks about {case.wanted[numbers[0]].file_name}: {known}. "
        "Are these the responses to this dataset? Remove those to other questions."
    )


def by_questions_of_images(case: Case) -> Pairs:
    """Match responses that state no image by the questions about one, which follow one another.

    Images with the same questions and right answers are taken in the dataset's order: no score tells them apart.
    """
    asked = []
    for row in case.wanted:
        asked.append(Asked(row.file_name, question_of(row), getattr(row, case.identity.target, "")))
    known = {row.question for row in asked}
    questions = []
    answers = []
    for place, answer in enumerate(_right_answers(case)):
        question = case.stated_questions[place] or _longest_question(case, place, known)
        if not question:
            break  # nor can what follows be told apart
        questions.append(question)
        answers.append(answer.strip().casefold() if isinstance(answer, str) else "")
    numbers = images_in_any_order(asked, questions, answers)
    if len(numbers) < len(case):
        raise UnknownId(
            f"{case.where(len(numbers))} states no image, and asks with the next response not what the dataset asks "
            f"about one; expected the name of the image, such as {case.wanted[0].file_name}, in each response, or the "
            "responses to the questions about an image one after the other, each with its question and right answer."
        )
    return _asked_alike(case, QUESTION, {number: place for place, number in enumerate(numbers)})


def _right_answers(case: Case) -> list[Any]:
    """Return the right answers that responses state; None for each that states none."""
    for name in (case.identity.target, *RIGHT_ANSWERS):
        cells = case.responses.cells(name)
        if all(map(is_value, cells)):
            return cells
    return [None] * len(case)


def _longest_question(case: Case, place: int, known: Collection[str]) -> str:
    """Return the longest known question that stands in what a response states; "" for none."""
    texts = texts_that_ask(case, place)
    longest = ""
    for question in known:
        if len(question) > len(longest) and any(question in text for text in texts):
            longest = question
    return longest


def texts_that_ask(case: Case, place: int) -> list[str]:
    """Return what a response states in the columns for questions, as questions are compared."""
    return [plain_question(text) for text in case.asking_texts(place)]


@dataclass(frozen=True)
class _AnsweredSet:
    """A set of rows that responses one after the other answer."""

    rows: list[Any]  # the row of each response
    wanted: list[Any]  # the rows of the set that need a response


def by_content(case: Case, rows_of: FindRows = image_by_image) -> Pairs | None:
    """Match by the questions that responses state, set after set; None where these do not decide."""
    sets = case.identity.sets(case.rows)
    answered: list[_AnsweredSet] = []
    first = 0
    while first < len(case):
        runs = {name: _run(case, rows, first, rows_of) for name, rows in sets.items()}
        _check_not_repeated(case, sets, runs, first)
        longest = _longest(runs)
        if longest is None:
            return None
        answered.append(_answered_set(case, sets.pop(longest), runs[longest], first))
        first += len(runs[longest])
    needed = 0
    rows_of_responses: list[Any] = []
    for one_set in answered:
        _check_none_missing(case, _missing(case, one_set.wanted, one_set.rows), len(one_set.wanted))
        needed += len(one_set.wanted)
        rows_of_responses += one_set.rows
    place_of = {id(row): place for place, row in enumerate(rows_of_responses)}
    rows = [row for row in case.rows if id(row) in place_of]
    places = [place_of[id(row)] for row in rows]
    way = f"{IMAGE if case.stated_images else ORDER} and {QUESTION}"
    return agreeing(case, way, rows, places, needed)


def _answered_set(case: Case, one_set: list[Any], run: list[Any], first: int) -> _AnsweredSet:
    """Return which rows of a set need a response, if those of a run have one: of an older version, no others do."""
    identity = case.identity
    if len(run) < len(one_set):
        prompts = case.responses.first_texts(case.question_columns, range(first, first + len(run)))
        if identity.version_of(run, prompts):
            one_set = run
    return _AnsweredSet(run, [row for row in one_set if identity.wanted(row)])


def _longest(runs: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the set with the longest run; None if there is none, or several are as long."""
    lengths = [len(run) for run in runs.values()]
    longest = max(lengths, default=0)
    if longest == 0 or lengths.count(longest) > 1:
        return None
    return list(runs)[lengths.index(longest)]


def _check_not_repeated(
    case: Case, sets: Mapping[str, Sequence[Any]], runs: Mapping[str, Sequence[Any]], first: int
) -> None:
    """Check that not all responses of a run that answers no set whole are about the same as earlier ones."""
    if not case.stated_images:
        return
    longest = max(map(len, runs.values()), default=0)
    shortest_set = min(map(len, sets.values()), default=0)
    if longest == 0 or longest >= shortest_set:
        return
    keys = list(zip(case.stated_images, case.stated_questions, strict=True))
    if set(keys[first : first + longest]) <= set(keys[:first]):
        raise Repeated(
            f"{case.where(first)} has the image and the question of an earlier response; expected one "
            "response per row. Remove one of them."
        )


def _run(case: Case, rows: Sequence[Any], first: int, rows_of: FindRows) -> list[Any]:
    """Return the rows of a set that the responses from the `first` on answer, up to one that fits no row.

    Args:
        case: the responses.
        rows: the rows of the set.
        first: the place of the first response.
        rows_of: finds rows by questions alone, where responses state no image.
    """
    target = case.identity.target
    questions = case.stated_questions[first:]
    if case.stated_images:
        keys = list(zip(case.stated_images[first:], questions, strict=True))
        return _run_by_image(rows, keys, target)
    asked_rows = []
    for row in rows:
        asked_rows.append(Asked(images_of(row), question_of(row), getattr(row, target, "")))
    return picked(rows, rows_of(asked_rows, questions))


def _run_by_image(rows: Sequence[Any], keys: Sequence[Hashable], target: str) -> list[Any]:
    """Return the rows of a set that the first responses answer, up to the first response that fits no row.

    Responses state an image and a question. Rows with the same of both are taken in their order if their right answers
    are equal.
    """
    alike: dict[Hashable, list[Any]] = {}
    for row in reversed(rows):  # so that `pop` takes the first
        for image in images_of(row):
            alike.setdefault((image, question_of(row)), []).append(row)
    run: list[Any] = []
    for key in keys:
        candidates = alike.get(key, [])
        answers = {getattr(row, target, "") for row in candidates}
        if len(answers) != 1:
            break
        run.append(candidates.pop())
    return run


def by_cells(case: Case) -> Pairs | None:
    """Match a file that holds each image and question once, with the names of its sets in one cell ("a,b").

    Responses with equal cells must be in the order of one of these sets. None if no cell names several sets.
    """
    column = next(iter(case.identity.also), None)
    if column is None or column not in case.table.columns:
        return None
    places_by_sets: dict[frozenset[str], list[int]] = {}
    for place, cell in enumerate(case.table.cells(column)):
        places_by_sets.setdefault(frozenset(str(cell).split(",")), []).append(place)
    if all(len(sets) < 2 for sets in places_by_sets):
        return None
    orders = _orders_of_sets(case, column)
    place_of: dict[int, int] = {}
    for sets, places in places_by_sets.items():
        questions = picked(case.stated_questions, places)
        shared_rows = _in_order_of(questions, orders.get(sets, {}))
        if shared_rows is None:
            return None
        for row_of_set, place in zip(shared_rows, places, strict=True):
            for row in row_of_set.values():
                place_of[id(row)] = place
    rows = [row for row in case.wanted if id(row) in place_of]
    without = [row for row in case.wanted if id(row) not in place_of]
    _check_none_missing(case, without, len(case.wanted))
    places = [place_of[id(row)] for row in rows]
    return agreeing(case, f"{ORDER} and {QUESTION}", rows, places)


# Rows about one image that ask one question: the name of each set that has such a row -> its row
RowOfSet = dict[str, Any]


def _orders_of_sets(case: Case, column: str) -> dict[frozenset[str], dict[str, list[RowOfSet]]]:
    """Return what some sets share and no other set has, in the order of each of them: sets -> set -> shared rows."""
    by_content: dict[Hashable, RowOfSet] = {}
    for row in case.rows:
        row_of_set = by_content.setdefault((images_of(row), question_of(row)), {})
        row_of_set[getattr(row, column)] = row
    orders: dict[frozenset[str], dict[str, list[RowOfSet]]] = {}
    for row in case.rows:
        name = getattr(row, column)
        row_of_set = by_content[images_of(row), question_of(row)]
        if row_of_set[name] is row:  # the last one, if its set asks twice
            orders.setdefault(frozenset(row_of_set), {}).setdefault(name, []).append(row_of_set)
    return orders


def _in_order_of(questions: Sequence[str], orders: Mapping[str, list[RowOfSet]]) -> list[RowOfSet] | None:
    """Return shared rows in the order of the first set that asks these questions in their order; None if none does."""
    for name, shared_rows in orders.items():
        if [question_of(row_of_set[name]) for row_of_set in shared_rows] == questions:
            return shared_rows
    return None


# Rows without a response


def _missing(case: Case, rows: Sequence[Any], answered: Sequence[Any]) -> list[Any]:
    """Return the rows without a response of the sets that are begun."""
    set_of = case.identity.set_of
    ids = set()
    begun = set()
    for row in answered:
        ids.add(id(row))
        begun.add(set_of(row))
    begun.discard(None)
    return [row for row in rows if id(row) not in ids and set_of(row) in begun]


def _check_none_missing(case: Case, rows: Sequence[Any], count: int) -> None:
    """Check that no rows are without a response, unless the user allows it."""
    if not rows or case.identity.options.lacking_ok:
        return
    remedy = "Answer them, or pass --partial (partial=True) to score the rows that have one."
    whole = case.identity.whole
    if whole:
        remedy = (
            f"Answer them. Scored together are {whole}: to leave one out, leave out all, and pass --partial "
            "(partial=True)."
        )
    raise Incomplete(
        f"{case.source} has no response to {len(rows):,} of the {count:,} rows of the dataset, such as "
        f"{case.identity.named(rows[0])}. {remedy}"
    )
