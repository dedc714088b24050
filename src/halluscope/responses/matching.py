"""Matches responses to the rows of a dataset by what identifies them.

Ids are tried first, or, if no response has an id, the order. Where several sets of rows share their ids, as POPE's
samplings do, the set is taken in which nothing contradicts; where ids do not fit, the image and the question decide, or
else the questions in their order (`ways.by_content`). Whatever a response states must not contradict its row; what
cannot be compared is counted (`Matched.uncompared`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from halluscope.responses import odd_texts, text_column, ways
from halluscope.responses.agreement import PROMPTS_OR_QUESTIONS, WHOLE_PROMPTS, Pairs
from halluscope.responses.column_facts import (
    FEWEST_ROWS,
    OFTEN,
    Expected,
    are_all_labels,
    are_labels,
    are_of_other_rows,
    is_label,
    labels_in,
    mostly_ask,
    question_in,
)
from halluscope.responses.identity import (
    Identity,
    images_of,
    question_of,
    questions_of,
    single_spaced,
    values_of,
)
from halluscope.responses.names import (
    ANSWER_ID,
    IMAGES,
    PROMPT,
    QUESTIONS,
    RIGHT_ANSWERS,
    TURNS,
    is_image_file,
)
from halluscope.responses.question_runs import in_order
from halluscope.responses.reading import Responses
from halluscope.responses.repeats import some_column_is_unique
from halluscope.responses.stated import SAME, Case, with_our_names
from halluscope.responses.table import kinds, picked
from halluscope.responses.ways import STATED_ROWS, Incomplete, Repeated, UnknownId
from halluscope.sanitize import short_repr

# What is said of a column that is ignored (`Matched.uncompared`)
NOT_COMPARED = "expected a text, or a list of one, to compare with the dataset"
# What is said of responses that are no texts (`Matched.labels`)
AS_YES_NO = "labels, not texts: {} are read as yes and no"

R = TypeVar("R", bound=Any)


class Matched(NamedTuple, Generic[R]):
    """Responses and the rows that they belong to."""

    name: str  # the name of the responses
    # the rows, in the order of the responses if these determine the rows, otherwise in the dataset's order
    rows: list[R]
    texts: list[str]  # one per row
    by: str  # the columns that they were matched by, or `ORDER`
    of: int  # the number of wanted rows, with or without a response
    sampled: bool = False  # whether a harness wrote the responses
    # whether a response states, beside its id, a question or an image, which was compared with its row's
    checked: bool = False
    left_out: int = 0  # the number of responses about rows that are not scored
    # the number of responses that state a prompt other than the row's or the benchmark's
    other_prompts: int = 0
    # column -> the number of responses that state a question, prompt, image or sampling in it in no form that
    # can be compared
    uncompared: Mapping[str, int] = {}
    # the names of the prompts that the responses say were asked; "" for responses that name none
    prompts: Sequence[str] = ("",)
    # the prompt that each response states, with each run of white space as one space; "" if it states none
    asked: Sequence[str] = ()
    # what each response is called in its file, by which other people's verdicts name it; () if it is not called
    answer_ids: Sequence[str] = ()
    # what is known of a dataset that is not the published one (`halluscope.scoring`); "" for nothing
    origin: str = ""
    # of each build that was scored (`halluscope.scoring`): name, version, spec_sha256, subset, config, rows
    built: Sequence[Mapping[str, Any]] = ()
    version: str = ""  # the older published version of the questions that was answered; "" for the dataset's
    figures: Mapping[str, float] = {}  # what their file states beside them
    labels: Sequence[str] = ()  # the labels that the responses are, which are read as "yes" and "no"
    # what a user should know of the column that was taken for the responses
    column_remarks: Sequence[str] = ()
    without_response: int = 0  # the number of rows that are left out because they have no response
    repeats: int = 0  # the number of responses that repeat an earlier one about the same row
    # the last lines of files that were left out because a part of each is missing
    cut_ends: Sequence[str] = ()

    def only(self, indices: Sequence[int]) -> "Matched[R]":
        """Return only the rows at these indices, in this order, with their responses."""
        return self._replace(
            rows=picked(self.rows, indices),
            texts=picked(self.texts, indices),
            asked=picked(self.asked, indices) if self.asked else (),
            answer_ids=picked(self.answer_ids, indices) if self.answer_ids else (),
        )


def match(responses: Responses, rows: Sequence[R], identity: Identity) -> Matched[R]:
    """Match each response to its row."""
    # which column holds the responses, and which responses are about wanted rows
    read, remarks = _past_prompts(responses, rows, identity)
    named = with_our_names(read, rows, identity)
    wanted = _of_wanted_sets(named, identity)
    sorted_by_set = _in_order_of_sets(wanted, rows, identity)
    with_repeats = Case(sorted_by_set, rows, identity)
    _check_some_left(with_repeats)

    # which row each is about
    case, pairs = _paired(with_repeats)
    repeats = len(with_repeats) - len(case)
    paired = _answered(case, pairs)
    # only matched rows say which answers are right, and so which column holds responses
    with_texts = _with_text_column(case, paired)
    _check_right_answers(case, pairs, with_texts)
    _check_sorted_alike(case, pairs, with_texts)
    answered = _with_response(case, with_texts)

    # what is said of them
    column_remarks = [*remarks, *answered.remarks]
    column_remarks += _about_turns(answered)
    column_remarks += _about_texts(case, answered)
    prompts = _prompts(case, answered)
    return Matched(
        name=responses.name,
        rows=answered.rows,
        texts=answered.responses.texts,
        by=_way(case, pairs),
        of=pairs.needed,
        sampled=responses.sampled,
        checked=any(SAME in states for states in pairs.states.values()),
        left_out=len(responses) - repeats - len(set(paired.places)),
        other_prompts=prompts.unlike,
        uncompared=pairs.uncompared,
        prompts=prompts.names,
        asked=prompts.texts,
        answer_ids=_answer_ids(answered),
        version=_version(case, pairs, answered),
        figures=responses.figures,
        labels=answered.responses.labels,
        column_remarks=column_remarks,
        without_response=len(paired.rows) - len(answered.rows),
        repeats=repeats,
        cut_ends=responses.cut_ends,
    )


def _way(case: Case, pairs: Pairs) -> str:
    """Return what responses are matched by: images and questions if all state theirs, in whatever order they are."""
    if not pairs.way.endswith(ways.ORDER):
        return pairs.way
    for columns in (case.image_columns + case.address_columns, case.question_columns):
        if not any(set(pairs.states.get(column, ())) == {SAME} for column in columns):
            return pairs.way
    return f"{ways.IMAGE} and {ways.QUESTION}"


@dataclass(frozen=True)
class _Answered:
    """Rows, each with its response."""

    rows: list[Any]
    responses: Responses  # one per row
    places: Sequence[int]  # of each row's response in the file; one may belong to several rows
    remarks: Sequence[str] = ()  # what a user should know of the column with the responses

    def take(self, numbers: Sequence[int]) -> "_Answered":
        """Return some of the rows, in this order."""
        return _Answered(
            rows=picked(self.rows, numbers),
            responses=self.responses.take(numbers),
            places=picked(self.places, numbers),
            remarks=self.remarks,
        )


# Which responses are about which rows of the dataset


def _past_prompts(
    responses: Responses, rows: Sequence[Any], identity: Identity
) -> tuple[Responses, Sequence[str]]:
    """Take the column with the responses where the one that is named so asks the dataset's questions.

    Which answers are right is known only of matched rows (`_with_text_column`), but a column of questions must be known
    before, to match rows by it. Also return what is to be said of the choice.
    """
    texts = _texts(responses)
    if identity.options.text_columns or responses.is_column_known or not mostly_ask(texts):
        return responses, ()
    known = set(questions_of(rows)) - {""}
    questions = [question_in([text or ""], known) for text in texts]
    column = responses.columns[0]
    choice = text_column.decide(responses.table, column, texts, Expected(questions))
    if choice.column == column:
        return responses, ()
    return responses.of_column(choice.column), choice.remarks


def _texts(responses: Responses) -> list[str | None]:
    """Return the responses; None where a row has none."""
    texts: list[str | None] = list(responses.texts)
    for place in responses.lacking:
        texts[place] = None
    return texts


def _of_wanted_sets(responses: Responses, identity: Identity) -> Responses:
    """Leave out the responses that state other sets of rows than the wanted one."""
    for column, value in identity.only.items():
        places = []
        for place, cell in enumerate(responses.table.cells(column)):
            if not cell or value in str(cell).split(","):
                places.append(place)
        responses = responses.take(places)
    return responses


def _in_order_of_sets(responses: Responses, rows: Sequence[Any], identity: Identity) -> Responses:
    """Return the responses set after set, as the dataset has them, if all state theirs."""
    for column in identity.also:
        cells = responses.table.cells(column)
        if kinds(cells) != {str}:
            continue
        values = list(dict.fromkeys(values_of(rows, column)))
        if set(cells) <= set(values):
            order = sorted(range(len(cells)), key=lambda place: values.index(cells[place]))
            responses = responses.take(order)
    return responses


def _check_some_left(case: Case) -> None:
    """Check that the options leave some rows, and some responses."""
    only = case.identity.only
    if not case.wanted:
        present = []
        for column in only:
            values = {str(value) for value in values_of(case.rows, column)}
            present.append(f"{column} is {' or '.join(repr(value) for value in sorted(values))}")
        hint = ""
        if present:
            hint = f" (in the dataset, {'; '.join(present)}; for an upstream file, its name decides this)"
        raise ValueError(
            f"None of the {len(case.rows):,} rows is left to score: the options select no row of this dataset{hint}."
        )
    if not len(case):
        limit = case.identity.options.limit
        which = "no response is"
        if limit:
            which = f"none of the first {limit:,} responses (--limit) is"
        raise ValueError(f"{case.source}: {which} about {', '.join(only.values())}.")


def _paired(case: Case) -> tuple[Case, Pairs]:
    """Match responses; where they do not fit, try again without those that repeat an earlier one word for word."""
    try:
        return case, pairs_of(case)
    except ValueError as error:
        refusal = error
    without = case.without_repeats()
    if without is None:
        raise refusal
    try:
        pairs = pairs_of(without)
    except (Incomplete, Repeated):  # they say more than that a response is repeated
        raise
    except ValueError:
        raise refusal from None
    if not _are_told_apart(without, pairs):
        raise refusal
    return without, pairs


def _are_told_apart(case: Case, pairs: Pairs) -> bool:
    """Whether equal ids mean the same row: samplings share their ids, so a response may be another sampling's."""
    also = case.identity.also
    if len(case.identity.sets(pairs.rows)) < 2 or all(all(case.table.cells(name)) for name in also):
        return True
    return some_column_is_unique(case.stated_ids())


def pairs_of(case: Case) -> Pairs:
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


# The responses of the rows that are scored


def _answered(case: Case, pairs: Pairs) -> _Answered:
    """Return the wanted rows and their responses."""
    rows = pairs.rows
    places = pairs.places
    # only of the dataset's rows is it said which are wanted
    if pairs.way != STATED_ROWS and len(case.wanted) < len(case.rows):
        rows = []
        places = []
        for row, place in zip(pairs.rows, pairs.places, strict=True):
            if case.identity.wanted(row):
                rows.append(row)
                places.append(place)
    if not rows:
        raise ValueError(
            f"{case.source} holds {len(pairs.rows):,} responses to other rows of the dataset, and none to those that "
            "the options select, such as --sampling. Leave the option out, or name a file that answers these rows."
        )
    is_part = len(rows) < pairs.needed and not _are_a_task(case, rows)
    if case.responses.sampled and is_part and not case.identity.options.lacking_ok:
        raise ValueError(
            f"{case.responses.name} holds samples of {len(rows)} of the {pairs.needed} rows: the run had a limit, or "
            f"was cut off. Pass --limit {len(rows)} (limit={len(rows)}) to score them anyway."
        )
    return _Answered(rows, case.responses.take(places), places)


def _are_a_task(case: Case, rows: Sequence[Any]) -> bool:
    """Whether rows are all that the dataset asks to describe, or all that it asks questions of, where it has both."""
    describe = {case.identity.set_of(row) is None for row in rows}
    if len(describe) > 1:
        return False
    alike = 0
    for row in case.wanted:
        alike += {case.identity.set_of(row) is None} == describe
    return alike == len(rows)


def _with_text_column(case: Case, answered: _Answered) -> _Answered:
    """Take the texts of another column if those that were matched are right answers or prompts."""
    responses = answered.responses
    if case.identity.options.text_columns or responses.is_column_known:
        return answered
    once = answered  # each response with one of its rows
    if len(set(answered.places)) < len(answered.places):
        number_of = {place: number for number, place in enumerate(answered.places)}
        once = answered.take(list(number_of.values()))
    column = responses.columns[0]
    expected = _expected(case, once.rows)
    choice = text_column.decide(once.responses.table, column, _texts(once.responses), expected)
    if choice.column != column:
        responses = responses.of_column(choice.column)
    return replace(answered, responses=responses, remarks=choice.remarks)


def _check_right_answers(case: Case, pairs: Pairs, answered: _Answered) -> None:
    """Check that the right answers that responses state are not those of other rows."""
    responses = answered.responses
    names = [
        name for name in RIGHT_ANSWERS if name in responses.table.columns and name not in responses.columns
    ]
    if not names:
        return
    expected = _expected(case, answered.rows)
    for name in names:
        texts = text_column.texts_of(responses.table, name)
        if are_of_other_rows(texts, expected):
            raise ValueError(
                f"{case.source}, matched by {pairs.way}: the column {name} holds right answers, but to other rows than "
                "those of the dataset. Are these responses in another order, or to another dataset? Give each the id "
                f"of its row, its image or its question. If {name} holds something else, rename it."
            )


def _check_sorted_alike(case: Case, pairs: Pairs, answered: _Answered) -> None:
    """Check that what the dataset sorts its rows by, such as a type, is not other rows' where responses state it."""
    identity = case.identity
    responses = answered.responses
    rows = len(answered.rows)
    if rows < FEWEST_ROWS:
        return
    wanted = case.wanted  # other rows, which are not scored, may lack a column
    others = {identity.target, *identity.id, *identity.also, *QUESTIONS, *IMAGES, *responses.columns}
    for name in responses.table.columns:
        if name in others or not isinstance(getattr(wanted[0], name, None), str):
            continue
        known = set(values_of(wanted, name))
        cells = responses.table.cells(name)
        if not all(isinstance(cell, str) and cell in known for cell in cells):
            continue
        values = values_of(answered.rows, name)
        different = sum(cell != value for cell, value in zip(cells, values, strict=True))
        if different > (1 - OFTEN) * rows:
            raise ValueError(
                f"{case.source}, matched by {pairs.way}: the column {name} is another than the dataset's in "
                f"{different:,} of {rows:,} rows. Are these responses in another order, or are their ids not the "
                f"dataset's? Give each the id of its row, its image or its question. If {name} holds something else, "
                "rename it."
            )


def _about_turns(answered: _Answered) -> list[str]:
    """Say how many responses are the last of several in a chat."""
    chats = [cell for cell in answered.responses.table.cells(TURNS) if cell]
    if not chats:
        return []
    return [f"{len(chats):,} are the last of several responses in a chat, of which the others are ignored"]


def _about_texts(case: Case, answered: _Answered) -> list[str]:
    """Say what of free texts, which no labels are the right answers to, is hardly the LVLM's."""
    identity = case.identity
    answers = [getattr(row, identity.target, None) for row in answered.rows]
    if are_all_labels(answers):
        return []
    places = [place for place, answer in enumerate(answers) if not is_label(answer)]
    texts = picked(answered.responses.texts, places)
    asked = answered.responses.first_texts(PROMPTS_OR_QUESTIONS, places)
    prompts = []
    for row, prompt in zip(picked(answered.rows, places), asked, strict=True):
        prompts.append(single_spaced(prompt or identity.prompt_of(row)))
    return odd_texts.remarks(texts, prompts)


def _expected(case: Case, rows: Sequence[Any]) -> Expected:
    """Return what the dataset says of rows: their questions, and their right answers by each known version."""
    identity = case.identity
    questions = [getattr(row, "question", None) or identity.prompt_of(row) for row in rows]
    versions = [[getattr(row, identity.target, None) for row in rows]]
    other_answers = [identity.other_answers(row) for row in rows]
    for version in range(max(map(len, other_answers))):
        answers = []
        for known in other_answers:
            answers.append(known[version] if version < len(known) else None)
        versions.append(answers)
    labels: set[str] = set()
    if are_labels(versions[0]):
        labels = labels_in(getattr(row, identity.target, None) for row in case.rows)
    return Expected(questions, versions, labels, partial(identity.are_corrected, rows))


def _with_response(case: Case, answered: _Answered) -> _Answered:
    """Leave out the rows that have no response, if the user allows it."""
    responses = answered.responses
    lacking = responses.lacking
    if not lacking:
        return answered
    left = [place for place, lacks in enumerate(responses.missing) if not lacks]
    options = case.identity.options
    if not options.partial or not left:
        columns = options.text_columns or (responses.columns[lacking[0]],)
        text_column.refuse_missing(responses.table.take(lacking), columns, len(answered.rows))
    return answered.take(left)


def _version(case: Case, pairs: Pairs, answered: _Answered) -> str:
    if pairs.way == STATED_ROWS:
        return STATED_ROWS
    places = range(len(answered.rows))
    return case.identity.version_of(
        answered.rows, answered.responses.first_texts(case.question_columns, places)
    )


def _answer_ids(answered: _Answered) -> list[str]:
    """Return what each response is called; [] if they are not called."""
    table = answered.responses.table
    if ANSWER_ID not in table.columns:
        return []
    return [str(cell) for cell in table.cells(ANSWER_ID)]


@dataclass(frozen=True)
class _Prompts:
    """What responses say of their prompts."""

    names: Sequence[str]  # each once
    texts: Sequence[str]  # that of each response, with single spaces; "" for none
    unlike: int  # how many are other ones than the row's


def _prompts(case: Case, answered: _Answered) -> _Prompts:
    """Return what responses say of their prompts."""
    table = answered.responses.table
    names = [""]
    if PROMPT in table.columns:
        names = sorted({str(cell or "") for cell in table.cells(PROMPT)})
    columns = PROMPTS_OR_QUESTIONS if case.identity.prompt else WHOLE_PROMPTS
    texts = answered.responses.first_texts(columns, range(len(answered.rows)))
    if not any(texts):
        return _Prompts(names, texts, unlike=0)
    texts = list(map(single_spaced, texts))
    unlike = 0
    for row, text in zip(answered.rows, texts, strict=True):
        if text and single_spaced(case.identity.prompt_of(row)) not in text:
            unlike += 1
    return _Prompts(names, texts, unlike)
