"""Matches responses to the rows of a dataset.

Before the rows are found (`pairing`), what responses state is brought under our names; once they are found, they tell
which column holds the responses. What cannot be compared with its row is counted (`Matched.uncompared`).
"""

from collections.abc import Mapping, Sequence
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
from halluscope.responses.identity import Identity, questions_of, single_spaced, values_of
from halluscope.responses.names import ANSWER_ID, IMAGES, PROMPT, QUESTIONS, RIGHT_ANSWERS, TURNS
from halluscope.responses.pairing import paired
from halluscope.responses.reading import Responses
from halluscope.responses.stated import SAME, Case, with_our_names
from halluscope.responses.table import kinds, picked

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
    case, pairs = paired(with_repeats)
    repeats = len(with_repeats) - len(case)
    matched = _answered(case, pairs)
    # only matched rows say which answers are right, and so which column holds responses
    with_texts = _with_text_column(case, matched)
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
        left_out=len(responses) - repeats - len(set(matched.places)),
        other_prompts=prompts.unlike,
        uncompared=pairs.uncompared,
        prompts=prompts.names,
        asked=prompts.texts,
        answer_ids=_answer_ids(answered),
        version=_version(case, pairs, answered),
        figures=responses.figures,
        labels=answered.responses.labels,
        column_remarks=column_remarks,
        without_response=len(matched.rows) - len(answered.rows),
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


# The responses of the rows that are scored


def _answered(case: Case, pairs: Pairs) -> _Answered:
    """Return the wanted rows and their responses."""
    rows = pairs.rows
    places = pairs.places
    # only of the dataset's rows is it said which are wanted
    if pairs.way != ways.STATED_ROWS and len(case.wanted) < len(case.rows):
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
    if pairs.way == ways.STATED_ROWS:
        return ways.STATED_ROWS
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
