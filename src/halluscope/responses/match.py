"""Matches responses to the rows of a dataset by what identifies them.

Ids are tried first, or, if no response has an id, the order. Where several sets of rows share their ids, as POPE's
samplings do, the set is taken in which nothing contradicts; where ids do not fit, the image and the question decide, or
else the questions in their order (`by_content`). Whatever a response states must not contradict its row; what cannot be
compared is counted (`Matched.uncompared`).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from halluscope.options import MatchingOptions
from halluscope.responses import text_column
from halluscope.responses.column_facts import FEWEST_ROWS, Expected, mostly_ask, plain_question, question_in
from halluscope.responses.files import Response, Responses, Row, responses_in
from halluscope.responses.image_urls import URLS, address_in, contradicts, file_in
from halluscope.responses.names import IDS, IMAGES, PROMPT, QUESTIONS, is_image_file
from halluscope.responses.question_runs import Asked, image_by_image, in_order
from halluscope.responses.repeats import places_of_repeats, some_column_is_unique
from halluscope.responses.text_column import Table
from halluscope.sanitize import one_line, short_repr

# The ways of matching responses by other things than ids
ORDER, IMAGE, QUESTION = "order", "image", "question"
# The rows were not matched: the responses state them whole
STATED_ROWS = "their own rows"

# The columns for the whole prompt
STATED = ("prompt", "query", "instruction")
PROMPTS = (*STATED, "question")  # in datasets without questions, a question is a prompt

# A column that identifies a row together with its id -> the names that a response may use for the column. A
# name is used only if the value under it is a known one.
SYNONYMS = {"sampling": ("sampling", "category")}

# What is said of a column that is ignored (`Matched.uncompared`)
NOT_COMPARED = "expected a text, or a list of one, to compare with the dataset"
# What is said of responses that are no texts (`Matched.labels`)
AS_YES_NO = "labels, not texts: {} are read as yes and no"

# The columns that state something about the row; in them a list of one text stands for that text
_STATES = {*QUESTIONS, *IMAGES, *URLS, *chain(*SYNONYMS.values())}
_LISTS = (list, tuple, np.ndarray)

_COCO = re.compile(r"(?:COCO_(?:train|val|test)\d{4}_)?(\d{12})(?:\.(?:jpe?g|png))?", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,12})\.(?:jpe?g|png)", re.IGNORECASE)

MANY = 2**12  # How many texts are remembered in their plain form: images and questions recur
LONGEST_ID = 400  # A longer text is no number and no image's name

# What files and tables have where they state nothing, as text
NOTHING = {"", "None", "nan", "[]", "{}", "()"}

# What a response may state about its row: nothing, the same, something else, or something that cannot be compared
SILENT, SAME, OTHER, STRANGE = range(4)

R = TypeVar("R")

# Returns which rows the first responses answer, given what the rows ask and the questions of the responses
FindRows = Callable[[Sequence[Asked], Sequence[str]], list[int]]


class Identity(NamedTuple):
    """How the rows of a dataset are found."""

    id: tuple[str, ...]  # the columns that identify a row; a response that has one of them must have all
    # column -> its values; such a column identifies a row together with `id`, if all responses have it
    also: Mapping[str, tuple[str, ...]] = {}
    # whether the responses determine which rows are scored; otherwise each wanted row needs a response,
    # within the sets of `set_of`
    partial_ok: bool = False
    # returns a row's set: if any row of a set has a response, all its rows need one. None for a row that
    # never needs a response
    set_of: Callable[[Any], Hashable] = lambda row: ""
    # whether a row is scored; if not, it is left out with its response
    wanted: Callable[[Any], bool] = lambda row: True
    # column of `also` -> the value that is wanted; responses with another value are left out
    only: Mapping[str, str] = {}
    options: MatchingOptions = MatchingOptions()
    prompt: str = ""  # what an LVLM is asked if rows have neither a question nor a prompt of their own
    # returns the name of an older published version of the questions, given rows and the prompts that responses to
    # them state; its rows are whole by themselves. "" for the dataset's own version, or an unknown one
    version_of: Callable[[Sequence[Any], Sequence[str]], str] = lambda rows, prompts: ""
    target: str = ""  # the rows' column with the right answer
    # the columns whose values an `index` may join by "_"
    index_columns: tuple[str, ...] = ()
    # columns of responses that together identify a row too -> the columns of the rows
    also_by: Mapping[str, str] = {}
    # whether responses without the rows' ids state their row by its image and its question
    by_question: bool = False
    # returns a row's right answers by the other known versions of the questions
    other_answers: Callable[[Any], Sequence[Any]] = lambda row: ()
    # whether texts are the right answers to rows by a known version whose answers only a digest tells
    are_corrected: Callable[[Sequence[Any], Sequence[str | None]], bool] = lambda rows, texts: False
    # returns the row that a response states whole, with the right answer, given its place; None if it states none
    stated_row: Callable[[Mapping[str, Any], str, int], Any] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that identify a row; if it is one, all where a response's id is looked for, in this order."""
        own, *more = self.id
        images = own in IMAGES
        others = [] if more else [name for name in IDS if name != own and (images or name not in IMAGES)]
        return (*self.id, *others)


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
    # what is known of a dataset that is not the published one (`halluscope.scoring`); "" for nothing
    origin: str = ""
    # of each build that was scored (`halluscope.scoring`): name, version, spec_sha256, subset, config, rows
    built: Sequence[Mapping[str, Any]] = ()
    version: str = ""  # the older published version of the questions that was answered; "" for the dataset's
    figures: Mapping[str, float] = {}  # what their file states beside them
    labels: Sequence[str] = ()  # the labels that the responses are, which are read as "yes" and "no"
    column_remarks: Sequence[
        str
    ] = ()  # what a user should know of the column that was taken for the responses
    without_response: int = 0  # the number of rows that are left out because they have no response
    repeats: int = 0  # the number of responses that repeat an earlier one about the same row
    cut_ends: Sequence[
        str
    ] = ()  # the last lines of files that were left out because a part of each is missing

    def only(self, indices: Sequence[int]) -> "Matched[R]":
        """Return only the rows at these indices, in this order, with their responses."""
        return self._replace(
            rows=[self.rows[index] for index in indices],
            texts=[self.texts[index] for index in indices],
            asked=[self.asked[index] for index in indices] if self.asked else (),
        )


Pair = tuple[Any, Response]


class _Pairs(NamedTuple):
    """What one way of matching gives."""

    by: str
    pairs: list[Pair]  # rows with their responses
    needed: int  # the number of rows that need a response
    stated: Mapping[str, Sequence[int]] = {}  # by column, what each response states in it about its row


def match(responses: Responses, rows: Sequence[R], identity: Identity) -> Matched[R]:
    """Match each response to its row."""
    responses, remarks = _past_prompts(responses, rows, identity)
    each = _with_our_names(responses.each, identity)
    for column, value in identity.only.items():  # a response has the wanted value, or does not state it
        each = [one for one in each if value in str(one.row.get(column) or value).split(",")]
    for column in identity.also:  # set after set, if all responses state theirs
        places = {value: place for place, value in enumerate(dict.fromkeys(map(attrgetter(column), rows)))}
        own = [one.row.get(column) for one in each]
        if all(isinstance(value, str) and value in places for value in own):
            each = [each[index] for index in np.argsort([places[value] for value in own], kind="stable")]
    matching = _Matching(responses.source, each, rows, identity)
    if not matching.wanted:
        held = {column: sorted({str(getattr(row, column)) for row in rows}) for column in identity.only}
        there = "; ".join(f"{column} is {' or '.join(map(repr, values))}" for column, values in held.items())
        raise ValueError(
            f"None of the {len(rows):,} rows is left to score: the options select no row of this dataset"
            f"{f' (in the dataset, {there}; for an upstream file, its name decides this)' if there else ''}."
        )
    if not each:
        raise ValueError(f"{responses.source}: no response is about {', '.join(identity.only.values())}.")
    matching, found = _matched(matching)
    repeats = len(each) - len(matching.each)
    pairs = [pair for pair in found.pairs if found.by == STATED_ROWS or identity.wanted(pair[0])]
    if not pairs:
        raise ValueError(
            f"{responses.source} holds no response to any of the {found.needed:,} rows that the options select."
        )
    if responses.sampled and len(pairs) < found.needed and not identity.options.lacking_ok:
        raise ValueError(
            f"{responses.name} holds samples of {len(pairs)} of the {found.needed} rows: the run had a limit, or was "
            f"cut off. Pass --limit {len(pairs)} (limit={len(pairs)}) to score them anyway."
        )
    decided = matching.with_text_column(pairs, responses)
    pairs, without = matching.with_response(decided.pairs)
    answered, answers = [row for row, _ in pairs], [response for _, response in pairs]
    prompts = [name for name in (PROMPTS if identity.prompt else STATED) if name in matching.columns]
    asked = [*map(single_spaced, _first_texts(answers, prompts))]
    stated = zip(asked, answered, strict=True) if any(asked) else ()
    version = STATED_ROWS
    if found.by != STATED_ROWS:
        version = identity.version_of(answered, _first_texts(answers, matching.questions))
    return Matched(
        responses.name,
        answered,
        [response.text for response in answers],
        found.by,
        found.needed,
        responses.sampled,
        any(SAME in states for states in found.stated.values()),
        len(responses.each) - repeats - len(pairs) - without,
        sum(text != "" and single_spaced(_prompt(row, identity)) not in text for text, row in stated),
        {column: states.count(STRANGE) for column, states in found.stated.items() if STRANGE in states},
        sorted({str(one.row.get(PROMPT) or "") for one in answers}) if PROMPT in matching.columns else [""],
        asked,
        version=version,
        figures=responses.figures,
        labels=decided.labels,
        column_remarks=[*remarks, *decided.remarks],
        without_response=without,
        repeats=repeats,
        cut_ends=responses.cut_ends,
    )


def _past_prompts(
    responses: Responses, rows: Sequence[Any], identity: Identity
) -> tuple[Responses, Sequence[str]]:
    """Take the column with the responses where the one that is named so asks the dataset's questions.

    Which answers are right is known only of matched rows (`_Matching.with_text_column`), but a column of questions must
    be known before, to match rows by it. Also return what is to be said of the choice.
    """
    each = responses.each
    texts = [None if response.missing else response.text for response in each]
    if identity.options.text_columns or responses.is_column_known or not mostly_ask(texts):
        return responses, ()
    known = set(map(_question, rows)) - {""}
    questions = [question_in([text or ""], known) for text in texts]
    column = each[0].column
    table = _table(responses.source, each)
    choice = text_column.decide(table, column, texts, Expected(questions))
    if choice.column == column:
        return responses, ()
    located = [(response.where, response.row) for response in each]
    again, labels = responses_in(located, (choice.column,), responses.blank)
    return responses._replace(each=again, labels=labels), choice.remarks


def _matched(matching: "_Matching") -> "tuple[_Matching, _Pairs]":
    """Match responses; where they do not fit, try again without those that repeat an earlier one word for word."""
    try:
        return matching, matching.found()
    except ValueError as error:
        without = matching.without_repeats()
        if without is None:
            raise
        try:
            found = without.found()
        except (_Incomplete, _Repeated):
            raise
        except ValueError:
            raise error from None
        if not without.are_told_apart(found):
            raise
        return without, found


class _UnknownId(ValueError):
    """A response has an id that no row of the dataset has."""


class _Repeated(ValueError):
    """Two responses are about one row."""


@dataclass(frozen=True)
class _Decided:
    """The rows with their responses, once it is decided which column holds these."""

    pairs: list[Pair]
    remarks: Sequence[str]  # what a user should know of the choice
    labels: Sequence[str]  # the labels that are read as yes and no


class _Incomplete(ValueError):
    """Responses fit a set of rows, some of which have no response."""


class _Matching:
    """The ways to match: each returns what it found, or raises an error with the first contradiction."""

    def __init__(
        self, source: str, each: Sequence[Response], rows: Sequence[Any], identity: Identity
    ) -> None:
        self.source, self.each, self.rows, self.identity = source, each, rows, identity
        self.wanted = [row for row in rows if identity.wanted(row)]
        # the rows that responses may belong to by their order: the first, if only the first responses were read
        self.first = self.wanted[: len(each)] if identity.options.limit else self.wanted
        self.columns = dict.fromkeys(chain.from_iterable(one.row for one in each))
        self.questions = [name for name in QUESTIONS if name in self.columns]
        # where another column asks, the user names the responses', or none of many rows asks, `text` may hold right
        # answers or responses too
        may_say = len(self.questions) > 1 or identity.options.text_columns or len(each) >= FEWEST_ROWS
        if "text" in self.questions and may_say and not _asks(each, "text"):
            self.questions.remove("text")
        own = {*identity.id, identity.options.id_column}
        self.images = [name for name in IMAGES if name in self.columns and name not in own]
        self.urls = [name for name in URLS if name in self.columns and name not in own]

    def without_repeats(self) -> "_Matching | None":
        """Return the same without the responses that repeat an earlier one; None if no response does."""
        texts = [response.text for response in self.each]
        places = places_of_repeats(self._stated_ids(), self._stated_otherwise(), texts)
        if not places:
            return None
        each = [response for place, response in enumerate(self.each) if place not in places]
        return _Matching(self.source, each, self.rows, self.identity)

    def are_told_apart(self, found: _Pairs) -> bool:
        """Whether equal ids mean the same row: samplings share their ids, so a response may be another sampling's."""
        also = self.identity.also
        sets = {tuple(getattr(row, name) for name in also) for row, _ in found.pairs}
        states_set = all(response.row.get(name) for name in also for response in self.each)
        return len(sets) < 2 or states_set or some_column_is_unique(self._stated_ids())

    def _stated_ids(self) -> list[tuple[str, ...]]:
        """Return the ids and images that each response states."""
        names = [*self.identity.id, *IDS, *self.urls]
        if self.identity.options.id_column:
            names.append(self.identity.options.id_column)
        return self._cells(names)

    def _stated_otherwise(self) -> list[tuple[str, ...]]:
        """Return the questions and the parts of the dataset that each response states."""
        names = [*self.questions, *self.identity.also_by]
        for own in self.identity.also:
            names += [own, *SYNONYMS[own]]
        return self._cells(names)

    def _cells(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return each response's values of some columns, as names of images, ids and texts are compared."""
        images = {*IMAGES, *self.urls}
        columns = [name for name in dict.fromkeys(names) if name in self.columns]
        cells = []
        for response in self.each:
            stated = []
            for name in columns:
                value = response.row.get(name)
                if value is None or name == response.column:
                    stated.append("")
                else:
                    stated.append(_image(value) if name in images else _plain(value))
            cells.append(tuple(stated))
        return cells

    def found(self) -> _Pairs:
        """Match by what identifies: ids, or the order without ids, else images and questions."""
        if found := self.by_cells():
            return found
        if self.identity.by_question and not self._state_ids():
            found = self.by_image_and_question()
            if found:
                return found
        refusals: list[ValueError] = []
        are_ids = not self.identity.by_question  # whether the other columns identify a row
        if self.identity.also_by and are_ids and not self._holds(self.identity.id[0]):
            try:
                return self.by_other_columns()
            except ValueError as error:
                refusals.append(error)
        candidates = self.id_columns()
        for columns in candidates or [()]:
            try:
                found = self.by_id(columns) if columns else self.by_order()
            except ValueError as error:
                if isinstance(error, _Incomplete) and not self.identity.also:
                    raise
                refusals.append(error)
                continue
            # a second choice of an id is confirmed by the name of an image, or by what each response states
            if not refusals or all(
                (columns and is_image_file(str(one.row[columns[0]])))
                or any(states[index] == SAME for states in found.stated.values())
                for index, (_, one) in enumerate(found.pairs)
            ):
                return found
        questions = self._stated_questions()
        # ids of their own, such as a count from 0, say nothing, but images may
        only_images = all(isinstance(refusal, _UnknownId) for refusal in refusals) if candidates else True
        if only_images and not any(questions):
            by_image = self.by_image()
            if by_image is not None:
                return by_image
        describe = candidates and only_images and self._describe_the_rest(questions)
        if all(questions) or describe:
            in_one_set = self.by_id_in_one_set(candidates[0]) if candidates else None
            if by_content := in_one_set or self.by_content(questions):
                return by_content
            # ids of their own, such as a count, beside the questions in the dataset's order
            if len(self.each) == len(self.first):
                with suppress(ValueError):
                    return self.by_order()
            if by_content := self.by_content(questions, in_order):
                return by_content
        # which set of rows has most of the questions that responses state
        stated = Counter(filter(None, questions))
        most, named = max(
            (sum((stated & Counter(map(_question, rows))).values()), name)
            for name, rows in self._sets().items()
        )
        nearest = (
            f" The nearest is {named}: it has {most:,} of the {len(self.each):,} questions that they state."
        )
        raise type(refusals[0])(f"{refusals[0]}{nearest if most and named else ''}")

    def _holds(self, column: str) -> bool:
        return column in self.columns and any(_has(one, column) for one in self.each)

    def id_columns(self) -> list[tuple[str, ...]]:
        """Return the columns that may hold the responses' ids; [] if the responses have no ids."""
        own, column = self.identity.id, self.identity.options.id_column
        names = (column,) if column else self.identity.columns
        held = list(filter(self._holds, names))
        if column and not held:
            first = self.each[0]
            raise ValueError(
                f"No response has the column {column}; expected the column with the id. {first.where} has "
                f"{', '.join(map(str, first.row))}."
            )
        return [own] if held and names == own else [(name,) for name in held]

    def by_other_columns(self) -> _Pairs:
        """Match by other columns that together identify a row."""
        identity, each = self.identity, self.each
        columns = tuple(
            name
            for name in dict.fromkeys(identity.also_by.values())
            if all(_has(one, name) and one.column != name for one in each)
        )
        if not columns:
            return self.by_order()
        try:
            return _Matching(self.source, each, self.rows, identity._replace(id=columns)).by_id(columns)
        except ValueError:
            # the rows that the responses state, if their labels are the dataset's in its order
            if not identity.stated_row or len(each) != len(self.wanted):
                raise
            stated = [identity.stated_row(one.row, one.where, number) for number, one in enumerate(each)]
            label = attrgetter(identity.target)
            if None in stated or [*map(label, stated)] != [*map(label, self.wanted)]:
                raise
            return _Pairs(STATED_ROWS, [*zip(stated, each, strict=True)], len(stated))

    def by_id(self, columns: tuple[str, ...]) -> _Pairs:
        identity, wanted = self.identity, self.wanted
        for name in columns:
            if lacking := next((one for one in self.each if not _has(one, name)), None):
                raise ValueError(
                    f"{lacking.where} has no {name}; expected {', '.join(columns)} in each response, or in none."
                )
        # the columns that, together with the ids, identify rows: those that all responses and all rows have
        also = [
            column
            for column in identity.also
            if all(_has(one, column) for one in self.each) and all(map(attrgetter(column), self.rows))
        ]
        names, of_rows = [*columns, *also], [*identity.id, *also]
        keys, by = _keys(wanted, of_rows), " and ".join(names)
        index = dict(zip(keys, range(len(keys)), strict=True))
        files = _files(self.rows, identity.id[0]) if identity.id[0] in IMAGES else {}
        stated = [*zip(*(self._ids(name, files) for name in names), strict=True)]

        if len(index) < len(keys):  # several rows share their ids: then only the order of the rows will do
            if stated != keys[: len(self.first)]:
                raise ValueError(
                    f"{self.source}: several of the {len(self.first):,} rows of the dataset share their "
                    f"{' and '.join(columns)}, such as {_named(names, Counter(keys).most_common(1)[0][0])}, and the "
                    "responses are not in the dataset's order. Choose one config or sampling, or give each response "
                    f"its {' and '.join(identity.also) or 'config'}."
                )
            pairs = [*zip(self.first, self.each, strict=True)]
            return self._agreeing(f"{by} and {ORDER}", pairs, len(wanted))
        left_out = {*_keys(self.rows, of_rows)} - index.keys() if len(self.rows) > len(wanted) else set()
        matched: dict[int, Response] = {}
        for key, response in zip(stated, self.each, strict=True):
            if (i := index.get(key, -1)) < 0:
                if key in left_out:
                    continue
                raise _UnknownId(
                    f"{response.where}: {_named(names, key)} is not among the {len(wanted):,} rows of the dataset. Are "
                    "these the responses to this dataset, and to this split of it?"
                )
            if matched.setdefault(i, response) is not response:
                raise _Repeated(
                    f"{response.where}: {_named(names, key)} is already in {matched[i].where}; expected one "
                    "response per row. Remove one of them."
                )
        pairs = [(wanted[i], matched[i]) for i in (matched if identity.partial_ok else sorted(matched))]
        found = self._agreeing(by, pairs, len(wanted))
        if not identity.partial_ok and len(pairs) < len(wanted):
            self._check_none_missing(self._missing(wanted, [row for row, _ in pairs]), len(wanted))
        return found

    def _missing(self, rows: Sequence[Any], answered: Sequence[Any]) -> list[Any]:
        """Return the rows without a response of the sets that are begun."""
        ids, set_of = {*map(id, answered)}, self.identity.set_of
        begun = {*map(set_of, answered)} - {None}
        return [row for row in rows if id(row) not in ids and set_of(row) in begun]

    def _ids(self, name: str, files: Mapping[str, str]) -> list[str]:
        """Return a column as text; in an id, a file name is an image's id if `files` has it or it is COCO's."""
        values = [one.row[name] for one in self.each]
        if name in self.identity.also or {*map(type, values)} == {int}:
            return [*map(str, values)]
        # "339761.jpg" is COCO's image 339761, but in a dataset with other file names it may be any
        is_coco = name in IMAGES and all(_plain(_base(file)) == id for file, id in files.items())
        found = []
        for value, response in zip(values, self.each, strict=True):
            value = value.item() if isinstance(value, np.generic) else value
            good = isinstance(value, int | float | str) and not isinstance(value, bool) and str(value).strip()
            if not good or (isinstance(value, float) and not value.is_integer()):
                raise ValueError(
                    f"{response.where}: {name} is {short_repr(value)}; expected a whole number or a name."
                )
            text = str(value).strip() if files else ""
            numbered = _NUMBERED.fullmatch(_base(value)) if is_coco else None
            plain = _plain(numbered[1] if numbered else value)
            found.append(files.get(text) or files.get(_base(text)) or plain)
        return found

    def _check_none_missing(self, missing: Sequence[Any], of: int) -> None:
        if missing and not self.identity.options.lacking_ok:
            raise _Incomplete(
                f"{self.source} has no response to {len(missing):,} of the {of:,} rows of the dataset, such as "
                f"{self._named(missing[0])}. Answer them, or pass --partial (partial=True) to score the rows that "
                "have one."
            )

    def _named(self, row: Any) -> str:
        """Name a row by what identifies it."""
        names = [*self.identity.id, *filter(partial(getattr, row), self.identity.also)]
        return _named(names, *_keys([row], names))

    def by_order(self) -> _Pairs:
        count = len(self.each)
        rows = self.first if count == len(self.first) else self.rows
        if count != len(rows):
            names = (", " if len(self.identity.id) > 1 else " or ").join(self.identity.columns)
            raise ValueError(
                f"{self.source} holds {count:,} responses without an id, and the dataset has {len(self.wanted):,} "
                f"rows; expected one response per row in the same order, or an id in each response: {names}."
            )
        return self._agreeing(ORDER, [*zip(rows, self.each, strict=True)], len(self.wanted))

    def _described(self) -> dict[str, Any]:
        """Return the rows that ask no question, by the names of their images that are no other row's."""
        rows: dict[str, Any] = {}
        shared = set()  # such as "1.jpg" in two folders
        for row in self.wanted:
            if _question(row):
                continue
            for image in _images_of(row):
                if image in rows:
                    shared.add(image)
                rows[image] = row
        return {image: row for image, row in rows.items() if image not in shared}

    def _describe_the_rest(self, questions: Sequence[str]) -> bool:
        """Whether the responses that state none of the dataset's questions are about images that it asks nothing of."""
        described = self._described()
        images = self._stated_images() if described and any(questions) else []
        if not images:
            return False
        for response, question, image in zip(self.each, questions, images, strict=True):
            if question:
                continue
            texts = [response.row.get(name) for name in self.questions if name != response.column]
            asks = any(isinstance(text, str) and "?" in text for text in texts)
            if asks or image not in described:
                return False
        return True

    def by_id_in_one_set(self, columns: tuple[str, ...]) -> _Pairs | None:
        """Match by ids if nothing contradicts in just one set of rows (one per value of `Identity.also`)."""
        sets, fitting = self._sets(), dict[str, _Pairs]()
        for name, rows in sets.items() if len(sets) > 1 else ():
            one_set = _Matching(self.source, self.each, rows, self.identity)
            try:
                fitting |= {name: one_set.by_id(columns)} if one_set.wanted else {}
            except _Incomplete:
                raise
            except ValueError:  # something contradicts
                pass
        if len(fitting) > 1:
            options = " or ".join(f"--{column}" for column in self.identity.also)
            raise ValueError(
                f"{self.source} fits {' and '.join(fitting)} equally well. Choose one: {options}."
            )
        return next(iter(fitting.values()), None)

    def by_image(self) -> _Pairs | None:
        """Match by the images alone, if each response states one of its own and none of their rows asks a question."""
        rows = self._described()
        images = self._stated_images() if rows else []
        if not images or len({*images}) < len(images) or not rows.keys() >= {*images}:
            return None
        return self._agreeing(IMAGE, [*zip(map(rows.get, images), self.each, strict=True)], len(self.wanted))

    def by_content(self, questions: Sequence[str], rows_of: FindRows = image_by_image) -> _Pairs | None:
        """Match by the questions that responses state, set after set; None where these do not decide."""
        identity, sets, images = self.identity, self._sets(), self._stated_images()
        keys = [*zip(images, questions, strict=True)] if images else []
        pairs: list[Pair] = []
        needed, lacking = 0, list[tuple[Sequence[Any], int]]()
        while (first := len(pairs)) < len(questions):
            runs = {
                name: _run_by_image(rows, keys[first:], identity.target)
                if images
                else self._run(rows, questions[first:], rows_of)
                for name, rows in sets.items()
            }
            longest = max(map(len, runs.values()), default=0)
            is_part = images and all(len(rows) > longest for rows in sets.values())
            if is_part and longest and {*keys[first : first + longest]} <= {*keys[:first]}:
                raise _Repeated(
                    f"{self.each[first].where} has the image and the question of an earlier response; expected one "
                    "response per row. Remove one of them."
                )
            best = [name for name, run in runs.items() if len(run) == longest]
            if not longest or len(best) > 1:
                return None
            rows, run, part = sets.pop(best[0]), runs[best[0]], self.each[first : first + longest]
            pairs += zip(run, part, strict=True)
            if len(run) < len(rows) and identity.version_of(run, _first_texts(part, self.questions)):
                rows = run
            rows = [*filter(identity.wanted, rows)]
            needed += len(rows)
            lacking.append((self._missing(rows, run), len(rows)))
        for missing, of in lacking:
            self._check_none_missing(missing, of)
        by = f"{IMAGE if images else ORDER} and {QUESTION}"
        order = {id(row): index for index, row in enumerate(self.rows)}
        return self._agreeing(by, sorted(pairs, key=lambda pair: order[id(pair[0])]), needed)

    def _run(self, rows: Sequence[Any], questions: Sequence[str], rows_of: FindRows) -> list[Any]:
        """Return the rows of a set that the first responses answer, by their questions alone."""
        target = self.identity.target
        asked = [Asked(_images_of(row), _question(row), getattr(row, target, "")) for row in rows]
        return [rows[place] for place in rows_of(asked, questions)]

    def _state_ids(self) -> bool:
        """Whether a response has the id of a row, or the user says where ids are."""
        if self.identity.options.id_column:
            return True
        name = self.identity.id[0]
        known = {str(getattr(row, name)) for row in self.rows}
        return any(str(response.row.get(name)) in known for response in self.each)

    def by_image_and_question(self) -> _Pairs | None:
        """Match by the image that each response states, and by which of the image's questions stands in what it states.

        Files of images are compared without their endings. None if no response states an image of the dataset.
        """
        asked = defaultdict[str, list[int]](list)
        for place, row in enumerate(self.wanted):
            asked[_stem(row.file_name)].append(place)
        images = [self._image_among(response, asked) for response in self.each]
        if not any(images):
            return None
        answered: dict[int, Response] = {}
        for response, image in zip(self.each, images, strict=True):
            place = self._place_of_question(response, [*asked.get(image, ())])
            if answered.setdefault(place, response) is not response:
                raise _Repeated(
                    f"{response.where} answers {self._named(self.wanted[place])}, as {answered[place].where} does; "
                    "expected one response per row. Remove one of them."
                )
        places = sorted(answered)
        rows = [self.wanted[place] for place in places]
        self._check_none_missing(self._missing(self.wanted, rows), len(self.wanted))
        pairs = [(self.wanted[place], answered[place]) for place in places]
        return _Pairs(f"{IMAGE} and {QUESTION}", pairs, len(self.wanted), {"question": [SAME] * len(pairs)})

    def _image_among(self, response: Response, known: Collection[str]) -> str:
        """Return the first of the known images that a response states; "" for none."""
        for name in IMAGES:
            image = _stem(response.row.get(name, ""))
            if name != response.column and image in known:
                return image
        return ""

    def _place_of_question(self, response: Response, places: Sequence[int]) -> int:
        """Return which of the rows that are about a response's image asks the question that it states."""
        texts = []
        for name in self.questions:
            text = response.row.get(name)
            if name != response.column and isinstance(text, str):
                texts.append(plain_question(text))
        fitting = []
        for place in places:
            if any(_question(self.wanted[place]) in text for text in texts):
                fitting.append(place)
        if fitting:  # a question may begin with another one
            return max(fitting, key=lambda place: len(_question(self.wanted[place])))
        stated = " or ".join(short_repr(text, 120) for text in texts) or "no question"
        if not places:
            raise _UnknownId(
                f"{response.where} states {stated}, and no image of the {len(self.wanted):,} rows of the dataset; "
                f"expected the name of the image, such as {self.wanted[0].file_name}, in each response. Are these the "
                "responses to this dataset?"
            )
        own = " and ".join(short_repr(self.wanted[place].question, 120) for place in places[:4])
        raise _UnknownId(
            f"{response.where} states {stated}; the dataset asks about {self.wanted[places[0]].file_name}: {own}. Are "
            "these the responses to this dataset? Remove those to other questions."
        )

    def by_cells(self) -> _Pairs | None:
        """Match a file that holds each image and question once, with the names of its sets in one cell ("a,b").

        Responses with equal cells must be in the order of one of these sets.
        """
        column = next(iter(self.identity.also), "")
        cells = [
            frozenset(str(one.row.get(column)).split(",")) for one in self.each if column in self.columns
        ]
        if all(len(cell) < 2 for cell in cells):
            return None
        keyed = [((_images_of(row), _question(row)), getattr(row, column), row) for row in self.rows]
        alike = defaultdict[Hashable, dict[str, Any]](dict)  # the rows of an image and question, by set
        for key, name, row in keyed:
            alike[key][name] = row
        # for each cell and set, the rows of the set that are in all sets of the cell, with those alike
        ways = defaultdict[Hashable, list[tuple[Any, dict[str, Any]]]](list)
        for key, name, row in keyed:
            if row is alike[key][name]:
                ways[frozenset(alike[key]), name].append((row, alike[key]))
        stated, answered = self._stated_questions(), dict[int, Response]()
        for cell in {*cells}:
            here = [index for index, other in enumerate(cells) if other == cell]
            asked = [stated[index] for index in here]
            fitting = (ways[cell, name] for name in cell)
            way = next((way for way in fitting if [_question(row) for row, _ in way] == asked), None)
            if way is None:
                return None
            for (_, by_set), index in zip(way, here, strict=True):
                answered |= dict.fromkeys(map(id, by_set.values()), self.each[index])
        pairs = [(row, answered[id(row)]) for row in self.wanted if id(row) in answered]
        self._check_none_missing([row for row in self.wanted if id(row) not in answered], len(self.wanted))
        return self._agreeing(f"{ORDER} and {QUESTION}", pairs, len(self.wanted))

    def _sets(self) -> dict[str, list[Any]]:
        """Return the rows that an LVLM is asked, by their values of `Identity.also`."""
        sets = defaultdict[str, list[Any]](list)
        for row in self.rows:
            sets[", ".join(f"{name} {getattr(row, name)}" for name in self.identity.also)].append(row)
        return sets

    def _stated_images(self) -> list[str]:
        """Return the dataset's image that each response states, as `_images_of` writes it; [] unless all state one."""
        known, found = {name for row in self.rows for name in _images_of(row)}, []
        for one in self.each:
            values = [value for value in map(one.row.get, IMAGES) if type(value) in (str, int, float)]
            values += [file_in(address_in(one.row.get(name))) for name in self.urls]
            if not (image := next(filter(known.__contains__, map(_image, values)), "")):
                return []
            found.append(image)
        return found

    def _stated_questions(self) -> list[str]:
        """Return the dataset's question that each response states, with or without other words; "" for none."""
        asked, found = {*map(_question, self.rows)} - {""}, []
        for one in self.each:
            texts = [one.row.get(column) for column in self.questions if column != one.column]
            found.append(question_in([text for text in texts if isinstance(text, str)], asked))
        return found

    def _agreeing(self, by: str, pairs: list[Pair], needed: int) -> _Pairs:
        """Check that nothing that responses state contradicts their rows: different sets of questions share ids."""
        sets = {name for own in self.identity.also for name in SYNONYMS[own]}
        stated: dict[str, list[int]] = {}
        for column in (*self.questions, *self.images, *filter(sets.__contains__, self.columns)):
            name = "file_name" if column in IMAGES else "question" if column in QUESTIONS else column
            other = "image_id" if column in IMAGES else ""
            owns = [getattr(row, name, "") or getattr(row, other, "") for row, _ in pairs]
            values = [None if column == one.column else one.row.get(column) for _, one in pairs]
            equal = SILENT if column in sets else SAME
            stated[column] = states = [
                SILENT
                if value is None
                else equal
                if isinstance(value, str) and own == value
                else self._state(column, value, own, row)
                for value, own, (row, _) in zip(values, owns, pairs, strict=True)
            ]
            if OTHER in states:
                index = states.index(OTHER)
                row, response = pairs[index]
                raise self._contradiction(row, response, by, column, values[index], owns[index])
        stated.update(self._states_of_addresses(by, pairs))
        return _Pairs(by, pairs, needed, stated)

    def _states_of_addresses(self, by: str, pairs: Sequence[Pair]) -> dict[str, list[int]]:
        """Check that the addresses of images that responses state are not those of other rows' images.

        Return by column which are those of their rows' images.
        """
        stated: dict[str, list[int]] = {}
        known = {name for row in self.rows for name in _images_of(row)} if self.urls else set()
        for column in self.urls:
            stated[column] = []
            for row, response in pairs:
                address = address_in(response.row.get(column))
                file = file_in(address)
                own = _images_of(row)
                if file and contradicts(file, _image(file), own, known, bool(_address_of(row))):
                    shown = _address_of(row) or getattr(row, "file_name", "") or getattr(row, "image_id", "")
                    raise self._contradiction(row, response, by, column, address, shown)
                stated[column].append(SAME if file and _image(file) in own else SILENT)
        return stated

    def _contradiction(
        self, row: Any, response: Response, by: str, column: str, value: Any, own: Any
    ) -> ValueError:
        return ValueError(
            f"{response.where} ({self._named(row)}, matched by {by}) has the {column} {short_repr(value, 120)}, but "
            f"its row in the dataset has {short_repr(own, 120)}. Are these responses to another file or sampling, or "
            "in another order?"
        )

    def _state(self, column: str, value: Any, own: Any, row: Any) -> int:
        """Return what a value states about a row that has another value, or none."""
        if isinstance(value, str | float | list | tuple | Mapping) and str(value).strip() in NOTHING:
            return SILENT
        if column in IMAGES:
            return _state_of_image(value, row)
        if column not in QUESTIONS:  # it names a set
            if not isinstance(value, str):
                return STRANGE
            return OTHER if column in self.identity.also and own and own not in value.split(",") else SILENT
        if not isinstance(value, str):
            return STRANGE if own or (self.identity.prompt and column in PROMPTS) else SILENT
        if not own:
            return SILENT
        # a question agrees if the dataset's stands in it
        same = own in value or plain_question(own) in plain_question(value.replace("\\n", " "))
        return SAME if same else OTHER

    def with_text_column(self, pairs: list[Pair], responses: Responses) -> _Decided:
        """Take the texts of another column if those that were matched are right answers or prompts."""
        if self.identity.options.text_columns or responses.is_column_known:
            return _Decided(pairs, (), responses.labels)
        once = {id(response): (row, response) for row, response in pairs}  # one may belong to several rows
        rows = [row for row, _ in once.values()]
        each = [response for _, response in once.values()]
        texts = [None if response.missing else response.text for response in each]
        column = each[0].column
        choice = text_column.decide(_table(self.source, each), column, texts, self._expected(rows))
        if choice.column == column:
            return _Decided(pairs, choice.remarks, responses.labels)
        located = [(response.where, response.row) for _, response in pairs]
        again, labels = responses_in(located, (choice.column,), responses.blank)
        paired = [(row, response) for (row, _), response in zip(pairs, again, strict=True)]
        return _Decided(paired, choice.remarks, labels)

    def _expected(self, rows: Sequence[Any]) -> Expected:
        """Return what the dataset says of rows: their questions, and their right answers by each known version."""
        identity = self.identity
        questions = []
        for row in rows:
            questions.append(getattr(row, "question", None) or _prompt(row, identity))
        versions = [[getattr(row, identity.target, None) for row in rows]]
        by_row = [identity.other_answers(row) for row in rows]
        for version in range(max(map(len, by_row))):
            versions.append([answers[version] if version < len(answers) else None for answers in by_row])
        return Expected(questions, versions, partial(identity.are_corrected, rows))

    def with_response(self, pairs: list[Pair]) -> tuple[list[Pair], int]:
        """Leave out the rows that have no response, if the user allows it; also return their number."""
        lacking = [response for _, response in pairs if response.missing]
        if not lacking:
            return pairs, 0
        options = self.identity.options
        left = [pair for pair in pairs if not pair[1].missing]
        if not options.partial or not left:
            columns = options.text_columns or (lacking[0].column,)
            text_column.refuse_missing(_table(self.source, lacking), columns, len(pairs))
        return left, len(lacking)


def _table(source: str, each: Sequence[Response]) -> Table:
    return Table.of(source, [(response.where, response.row) for response in each])


def _asks(each: Sequence[Response], column: str) -> bool:
    """Whether a column has a question mark in any row where it does not hold the response."""
    return any("?" in str(response.row.get(column)) for response in each if response.column != column)


def _run_by_image(rows: Sequence[Any], stated: Sequence[tuple[str, str]], target: str) -> list[Any]:
    """Return the rows of a set that the first responses answer, up to the first response that fits no row.

    Responses state an image and a question. Rows with the same of both are taken in their order if their right answers
    are equal.
    """
    alike = defaultdict[Hashable, list[Any]](list)
    for row in reversed(rows):
        for image in _images_of(row):
            alike[image, _question(row)].append(row)
    found: list[Any] = []
    for key in stated:
        if not alike[key] or len({getattr(row, target, "") for row in alike[key]}) > 1:
            break
        found.append(alike[key].pop())
    return found


def _with_our_names(each: Sequence[Response], identity: Identity) -> Sequence[Response]:
    """Add, under our names, what responses state under other names, and the text of each list of one text."""
    columns = {*chain.from_iterable(one.row for one in each)}
    lists = [name for name in columns & _STATES if any(isinstance(one.row.get(name), _LISTS) for one in each)]
    others = {*identity.also_by, *chain.from_iterable(map(SYNONYMS.__getitem__, identity.also))}
    if identity.index_columns:
        others.add("index")
    # a column with another name that names the set of each row
    named = {
        own: name
        for own, values in identity.also.items()
        for name in columns
        if columns.isdisjoint(SYNONYMS[own])
        and all(isinstance(text := one.row.get(name), str) and text in values for one in each)
    }
    if not lists and not named and columns.isdisjoint(others):
        return each
    return [
        one._replace(
            row={
                **one.row,
                **_more(one, lists, identity),
                **{own: one.row[name] for own, name in named.items()},
            }
        )
        for one in each
    ]


def _more(response: Response, lists: Sequence[str], identity: Identity) -> Row:
    row, more = response.row, dict[str, Any]()
    for name in lists:
        value = row.get(name) if name != response.column else None
        if isinstance(value, _LISTS) and len(value) == 1:
            file = value[0].get("path") if isinstance(value[0], Mapping) else value[0]
            more |= {name: file} if isinstance(file, str) else {}
    for name, own in identity.also_by.items():
        if name in row:
            more[own] = _base(row[name]) if own == "file_name" else row[name]
    for own, values in identity.also.items():
        texts = [more.get(name, row.get(name)) for name in SYNONYMS[own]]
        known = [text for text in texts if isinstance(text, str) and {*text.split(",")} <= {*values}]
        if known and not (isinstance(row.get(own), str) and row[own]):
            more[own] = known[0]
    if len(parts := str(row.get("index", "")).split("_")) == len(identity.index_columns):
        more |= {
            name: part for name, part in zip(identity.index_columns, parts, strict=True) if name not in row
        }
    return more


def _first_texts(each: Sequence[Response], columns: Sequence[str]) -> list[str]:
    """Return each response's first text in some columns other than its own; "" for none."""
    found = [""] * len(each)
    for column in reversed(columns):
        for index, one in enumerate(each):
            if column != one.column and isinstance(text := one.row.get(column), str) and text.strip():
                found[index] = text
    return found


def _question(row: Any) -> str:
    return plain_question(getattr(row, "question", "") or "")


def _prompt(row: Any, identity: Identity) -> str:
    """Return the prompt for a row of a dataset without questions (`Identity.prompt`); "" if its rows have questions."""
    return (getattr(row, "prompt", "") or identity.prompt) if identity.prompt else ""


def _has(response: Response, column: str) -> bool:
    return response.row.get(column) not in (None, "")


def _images_of(row: Any) -> tuple[str, ...]:
    """Return the names of a row's image: its file's, its id, and its address's."""
    names = (getattr(row, "file_name", ""), getattr(row, "image_id", None), file_in(_address_of(row)))
    return tuple(dict.fromkeys(_image(name) for name in names if name not in ("", None)))


def _address_of(row: Any) -> str:
    """Return where a row's image was published; "" if that is not known."""
    return getattr(row, "url", "") or getattr(row, "image_url", "") or ""


def _state_of_image(value: Any, row: Any) -> int:
    number, file = getattr(row, "image_id", None), getattr(row, "file_name", "")
    if number is None and not file:
        return SILENT
    if isinstance(value, bool | list | tuple | np.ndarray):
        return STRANGE
    # an image itself, as in a dataset's row, instead of its name
    if not isinstance(value, str | int | float):
        return STRANGE if isinstance(value, Mapping) and "bytes" not in value else SILENT
    is_file = isinstance(value, str) and is_image_file(value)
    own = file if file and is_file else number
    if _image(value) in _images_of(row):
        return SAME
    if _plain(value).isdigit() or (file and is_file):
        return SILENT if own is None else OTHER
    return SILENT if is_file else STRANGE


def _keys(rows: Sequence[Any], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each row's values of some columns, as text."""
    columns = []
    for name in names:
        values = [*map(attrgetter(name), rows)]
        columns.append(map(str if {*map(type, values)} == {int} else _plain, values))
    return [*zip(*columns, strict=True)]


def _files(rows: Sequence[Any], own: str) -> dict[str, str]:
    """Return file name -> id as text, for images with a file name; a path's last part works too if it is unique."""
    whole = {str(row.file_name): _plain(getattr(row, own)) for row in rows if getattr(row, "file_name", "")}
    shared = Counter(map(_base, whole))
    return {_base(file): key for file, key in whole.items() if shared[_base(file)] == 1} | whole


def _plain(value: object) -> str:
    """Return an id as text: 7, 7.0, "007" and "COCO_val2014_000000000007.jpg" are the same id."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return text if type(value) is int or len(text) > LONGEST_ID else _plain_text(text)


@lru_cache(MANY)
def _plain_text(text: str) -> str:
    coco = _COCO.fullmatch(_base(text))
    text = coco[1] if coco else text
    whole = text.removesuffix(".0")
    return (whole.lstrip("0") or "0") if whole.isascii() and whole.isdigit() else text


def _image(name: object) -> str:
    base = _base(name)
    if "%" in base or "?" in base:
        base = file_in(str(name))
    return _plain(base)


def _stem(name: object) -> str:
    """Return the name of an image's file as images are compared, without its ending."""
    image = _image(name)
    if not is_image_file(image):
        return image
    return image.rpartition(".")[0]


def _base(name: object) -> str:
    return str(name).replace("\\", "/").rstrip("/").rpartition("/")[2]


def single_spaced(value: object) -> str:
    """Return a value as text with each run of white space as one space."""
    return " ".join(str(value).split())


def _named(names: Sequence[str], key: Sequence[str]) -> str:
    return ", ".join(f"{name} {one_line(value, 80)}" for name, value in zip(names, key, strict=False))
