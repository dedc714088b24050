"""The one reader of responses: what an LVLM said, row by row, in whatever file it stands.

A file is JSON lines or one JSON list (.gz too), or what lm-eval and lmms-eval wrote with --log_samples. lm-eval logs
the whole document, lmms-eval only the text of its scores; that of the signature names task and row.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from halluscope.reading.files import json_rows, parse, plain_name

TEXTS = ("response", "model_prediction", "prediction", "output", "answer", "text", "caption")
"""Where a response's text is looked for: the first of these that a row has."""

LABEL = "label"
"""In a row that has this, `text` is the question."""

TASK, NAMED = "task", "signature"
SAMPLE = {"doc_id", "filtered_resps"}
"""What tells a harness' sample from other rows."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Response:
    """What an LVLM said about one row of a dataset.

    Attributes:
        where: where it stands, for messages.
        row: all that stands beside it.
        text: what was said; it may be empty.
    """

    where: str
    row: Row
    text: str


@dataclass(frozen=True)
class Responses:
    """What one LVLM said.

    Attributes:
        name: the file's name without its ending; names the LVLM in a table.
        each: at least one.
        sampled: whether a harness wrote them.
    """

    name: str
    each: Sequence[Response]
    sampled: bool = False


def read(
    source: str | Path | Sequence[Row],
    tasks: Collection[str] = (),
    limit: int | None = None,
    dataset: Collection[str] = (),
) -> Responses:
    """Read the responses of one LVLM.

    Args:
        source: a file, or rows.
        tasks: the harness tasks whose samples are meant; none takes those of any.
        limit: read only the first so many.
        dataset: the columns of the dataset; a row that has all of them, and no text of its own beside them, is a row of
            the dataset, not a response.

    Raises:
        ValueError: for a row that is no response, a sample of another task, or a document that comes twice.
        FileNotFoundError: if there is no such file.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"The limit is {limit}; expected at least 1 response.")
    located = list(islice(_located(source), limit))
    name = plain_name(Path(source)) if isinstance(source, str | Path) else "responses"
    if not located:
        raise ValueError(f"{source!s:.200} holds no response; expected one JSON object per line.")
    if sampled := _is_sample(located[0][1]):
        located = list(_of_samples(located, tasks))
    return Responses(name, [_response(where, row, dataset) for where, row in located], sampled)


def text_of(row: Any, where: str, dataset: Collection[str] = ()) -> str:
    """A response's text, of the first of `TEXTS` that the row has.

    Raises:
        ValueError: for a row without one, whose text is none, or that is a row of the dataset with these columns.
    """
    known = TEXTS if not isinstance(row, Mapping) or LABEL not in row else [n for n in TEXTS if n != "text"]
    name = next((name for name in known if isinstance(row, Mapping) and name in row), None)
    if name is None:
        raise ValueError(
            f"{where}: expected an object with the LVLM's text as {', '.join(TEXTS)}; got {str(row)[:120]}."
        )
    if name in dataset and {*dataset} <= row.keys():
        raise ValueError(
            f"{where} is a row of the dataset, whose {name!r} is the right one; expected the LVLM's text as response."
        )
    if not isinstance(row[name], str):
        raise ValueError(f"{where}: {name} is {row[name]!r:.80}; expected the LVLM's text (it may be empty).")
    return str(row[name])


def _located(source: str | Path | Sequence[Row]) -> Iterator[tuple[str, Any]]:
    if isinstance(source, str | Path):
        yield from json_rows(Path(source))
    else:
        yield from ((f"responses[{number}]", row) for number, row in enumerate(source))


def _response(where: str, row: Any, dataset: Collection[str]) -> Response:
    return Response(where, row, text_of(row, where, dataset))


def _is_sample(row: Any) -> bool:
    return isinstance(row, Mapping) and row.keys() >= SAMPLE


def _of_samples(located: Sequence[tuple[str, Any]], tasks: Collection[str]) -> Iterator[tuple[str, Row]]:
    """The responses in a file of samples, each with what finds its row."""
    places: dict[Any, str] = {}
    for where, sample in located:
        row = _of_sample(sample, where, tasks)
        doc_id = sample.get("doc_id")
        if not isinstance(doc_id, int | str):
            raise ValueError(f"{where}: doc_id is {doc_id!r:.80}; expected a number or a text.")
        if doc_id in places:
            raise ValueError(
                f"{where}: the document {doc_id!r:.80} stands in {places[doc_id]} already; expected each once. Are "
                "these the samples of two runs, or of two filters?"
            )
        places[doc_id] = where
        yield where, row


def _of_sample(sample: Any, where: str, tasks: Collection[str]) -> Row:
    if not _is_sample(sample):
        raise ValueError(
            f"{where} is no sample: expected doc_id and filtered_resps, as lm-eval and lmms-eval write them with "
            f"--log_samples; got {str(sample)[:120]}."
        )
    about = sample.get("doc")
    if about is None and isinstance(named := sample.get(NAMED), str) and named.startswith("{"):
        about = parse(named, f"{where}, {NAMED}")
    about = about if isinstance(about, Mapping) else {}
    task = about.get(TASK)
    if task is None or (tasks and task not in tasks):
        raise ValueError(
            f"{where} is a sample of {f'the task {task!r:.80}' if task else 'another task'}; expected "
            f"{' or '.join(tasks)}, as halluscope's tasks log it."
        )
    texts = sample["filtered_resps"]
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(f"{where}: filtered_resps is {str(texts)[:120]}; expected one text.")
    return {**{name: value for name, value in about.items() if name != TASK}, "response": texts[0]}
