"""Puts the principal score of a run into a model's repository, where the Hub's leaderboards look for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, constants, eval_result_entries_to_yaml

from halluscope.building import spec as specs
from halluscope.building.fetch import sha256_of
from halluscope.errors import HubError
from halluscope.hub.benchmark import task, unfit
from halluscope.hub.publisher import RESULTS, Hub, Publication
from halluscope.options import defaults
from halluscope.registry import SIGNATURE
from halluscope.reporting import published
from halluscope.reporting.tables import is_defined
from halluscope.runs import folder as folders
from halluscope.runs.folder import differences
from halluscope.runs.results import caveats
from halluscope.runs.run import Run
from halluscope.sanitize import one_line, short_repr
from halluscope.signature import keys_of

NOTES = 200  # the most characters of notes


def read(
    folder: Path, model: str, benchmark: str, source: str, hub: Hub | None
) -> tuple[EvalResultEntry, list[Publication]]:
    """Return a run's result, and what to publish before it.

    Args:
        folder: the run.
        model: "org/name" of the model's repository.
        benchmark: "org/name" of the dataset's repository.
        source: where the run can be seen: a URL, or "org/name", a dataset that then gets the run's folder; or "".
        hub: where the revision of the dataset is looked up; None gives none.
    """
    if problem := next(differences(folder), None):
        raise HubError(
            f"{folder} does not verify: {problem}. `halluscope verify {folder}` shows what differs."
        )
    run = folders.read(folder)
    record, score = run.benchmark, run.benchmark.principal
    if why := unfit(record):
        raise HubError(f"{folder} cannot stand on the Hub: {why}.")
    one = _built(folder, run)
    if not is_defined(value := run.scores.get(score)):
        raise HubError(f"{folder}: {score} is undefined; expected a number.")
    percent = published.in_percent(record, run.options, score)
    first, url = [], source
    if source and "://" not in source:
        files = {
            file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()
        }
        first.append(Publication("dataset", source, f"A run of {record.name} by {model}", files))
        url = f"{constants.ENDPOINT}/datasets/{source}"
    entry = EvalResultEntry(
        dataset_id=benchmark,
        dataset_revision=hub.revision(benchmark, f"v{one['version']}") if hub else None,
        task_id=task(one["name"], one["config"]),
        value=round(100 * value, 2) if percent else round(value, 4),
        date=str(run.about["made"]),
        source_url=url or None,
        source_name="a run of halluscope" if url else None,
        notes=_notes(run) or None,
    )
    return entry, first


def publication(entry: EvalResultEntry, model: str, hub: Hub | None) -> Publication:
    """Return the file of a result, for a commit to one's own model or a pull request, after a look at what is there."""
    variant = "".join(sign if sign.isalnum() else "-" for sign in entry.notes or "").strip("-").lower()
    name = "-".join(filter(None, (entry.task_id, variant)))[:100]
    path = f"{RESULTS}/halluscope-{name}.yaml"
    text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)
    proposed = hub is not None and model.partition("/")[0] not in hub.names
    notes: list[str] = [f"{entry.value} in the task {entry.task_id} of {entry.dataset_id}"]
    for where, file, entries in hub.results(model) if hub else ():
        for other in entries:
            if _same_task(other, entry):
                if other.get("value") == entry.value:
                    notes.append(f"the same result is there already, in {file} of {where}")
                elif file != path or where != "main" or proposed:
                    raise HubError(
                        f"{file} of {one_line(where, 200)} states {short_repr(other.get('value'))} for the task "
                        f"{entry.task_id}, and this run {entry.value}. Nothing is sent; settle it there first."
                    )
    message = f"{entry.task_id} on {entry.dataset_id} by halluscope"
    files = {} if len(notes) > 1 and proposed else {path: text.encode()}
    return Publication("model", model, message, files, proposed=proposed, notes=tuple(notes))


def _same_task(other: Mapping[str, Any], entry: EvalResultEntry) -> bool:
    dataset = other.get("dataset")
    return (
        isinstance(dataset, Mapping)
        and (dataset.get("id"), dataset.get("task_id")) == (entry.dataset_id, entry.task_id)
        and (other.get("notes") or None) == entry.notes
    )


def _built(folder: Path, run: Run) -> Mapping[str, Any]:
    """Return which build was scored, after a check that all its rows were."""
    built = run.ready.matched.built
    if len(built) != 1:
        raise HubError(
            f"{folder} does not say which build of a dataset was scored; expected one folder that `halluscope build` "
            "made. Score that again, with --out."
        )
    (one,) = built
    if one["spec_sha256"] != sha256_of(specs.load(one["name"]).file):
        raise HubError(
            f"{folder} was scored on another version of {one['name']} than today's; build and score it anew."
        )
    rows = len(run.ready.matched.rows)
    problems = [
        *caveats(run.benchmark, run.scores, run.options),
        *(["the dataset is a subset or a changed copy."] if one["subset"] else []),
        *(["the responses answer a sample of the rows."] if run.ready.matched.sampled else []),
        *([f"it has {rows:,} rows; expected {one['rows']:,}."] if rows != one["rows"] else []),
    ]
    if problems:
        raise HubError(
            f"{folder} is not a result on the whole benchmark, so it is not published: {problems[0]}"
        )
    return one


def _notes(run: Run) -> str:
    """Return in what a run differs from the defaults: judge, prompt, parser and other choices."""
    keys, unless = keys_of(run.scores[SIGNATURE]), defaults(run.benchmark.compute)
    judges = [f"judged by {keys[name]}" for name in ("judges", "judge", "correctness") if name in keys]
    chosen = [
        f"{one.name} {run.options[one.name]}"
        for one in run.benchmark.options
        if one.choices and run.options.get(one.name, unless.get(one.name)) != unless.get(one.name)
    ]
    asked = ["with a prompt of its own"] if run.ready.matched.other_prompts else []
    return one_line(", ".join([*judges, *chosen, *asked]), NOTES)
