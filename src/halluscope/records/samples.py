"""Reads what lm-eval and lmms-eval wrote with --log_samples, one line a document of one of our tasks.

lm-eval logs the whole document, lmms-eval only the text of its figures; that of the signature names task and row.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from halluscope.records.files import Read, json_rows, parse

TASK, NAMED = "task", "signature"


def reader(*tasks: str) -> Read:
    """Gives a function that reads the samples of these tasks as rows of answers, in place of `files.json_rows`."""
    return lambda file: rows(file, *tasks)


def rows(file: Path, *tasks: str) -> Iterator[tuple[str, Any]]:
    """The answers in a file of samples, each with where it stands: what finds its row, and `response`.

    Whether all rows are answered is seen when they are matched to the dataset.

    Raises:
        ValueError: for what a harness did not log for one of the tasks, or a document that comes twice.
        FileNotFoundError: if there is no such file.
    """
    places: dict[Any, str] = {}
    for where, sample in json_rows(file):
        row = _row(sample, where, tasks)
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
    if not places:
        raise ValueError(
            f"{file} holds no sample; expected what lm-eval or lmms-eval wrote with --log_samples."
        )


def _row(sample: Any, where: str, tasks: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(sample, Mapping) or not {"doc_id", "filtered_resps"} <= sample.keys():
        raise ValueError(
            f"{where} is no sample: expected doc_id and filtered_resps, as lm-eval and lmms-eval write them with "
            f"--log_samples; got {str(sample)[:120]}."
        )
    about = sample.get("doc")
    if about is None and isinstance(named := sample.get(NAMED), str) and named.startswith("{"):
        about = parse(named, f"{where}, {NAMED}")
    about = about if isinstance(about, Mapping) else {}
    task = about.get(TASK)
    if task not in tasks:
        raise ValueError(
            f"{where} is a sample of {f'the task {task!r:.80}' if task else 'another task'}; expected "
            f"{' or '.join(tasks)}, as halluscope's tasks log it."
        )
    texts = sample["filtered_resps"]
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(f"{where}: filtered_resps is {str(texts)[:120]}; expected one text.")
    return {**{name: value for name, value in about.items() if name != TASK}, "response": texts[0]}
