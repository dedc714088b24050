"""Results on the Hub: a run's principal score in a model's repository, and the leaderboard that collects them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, HfApi, constants, eval_result_entries_to_yaml

from halluscope.building import spec as specs
from halluscope.building.fetch import sha256_of
from halluscope.errors import HubError
from halluscope.hub.contents import task, unfit
from halluscope.hub.publisher import RESULTS, Hub, Publication, calling
from halluscope.options import defaults
from halluscope.reporting import published
from halluscope.reporting.tables import Cell, Notes, Table, is_defined, plain
from halluscope.runs import folder as folders
from halluscope.runs.folder import Run
from halluscope.runs.results import beside, caveats, of_scores, signatures
from halluscope.sanitize import one_line, short_repr

NOTES = 200  # the most characters of notes


def publications(folder: Path, model: str, benchmark: str, source: str, hub: Hub | None) -> list[Publication]:
    """Return what publishes a run's result: its entry in the model's repository, after the run itself if that is asked.

    Args:
        folder: the run.
        model: "org/name"; a model of somebody else gets a pull request.
        benchmark: "org/name" of the dataset's repository.
        source: where the run can be seen: a URL, or "org/name", a dataset that then gets the run's folder; or "".
        hub: where the dataset's revision and the model's results are looked up; None looks up nothing.
    """
    if problem := next(folders.differences(folder), None):
        raise HubError(
            f"{folder} does not verify: {problem}. `halluscope verify {folder}` shows what differs."
        )
    run = folders.read(folder)
    record, score = run.benchmark, run.benchmark.principal
    if why := unfit(record):
        raise HubError(f"{folder} cannot stand on the Hub: {why}.")
    built = _built(folder, run)
    if not is_defined(value := run.scores.get(score)):
        raise HubError(f"{folder}: {score} is undefined; expected a number.")
    percent = published.in_percent(record, run.options, score)
    found, url = [], source
    if source and "://" not in source:
        files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
        found.append(Publication("dataset", source, f"A run of {record.name} by {model}", files))
        url = f"{constants.ENDPOINT}/datasets/{source}"
    entry = EvalResultEntry(
        dataset_id=benchmark,
        dataset_revision=hub.revision(benchmark, f"v{built['version']}") if hub else None,
        task_id=task(built["name"], built["config"]),
        value=round(100 * value, 2) if percent else round(value, 4),
        date=str(run.about["made"]),
        source_url=url or None,
        source_name="a run of halluscope" if url else None,
        notes=_notes(run) or None,
    )
    variant = re.sub(r"[\W_]", "-", entry.notes or "").strip("-").lower()
    path = f"{RESULTS}/halluscope-{f'{entry.task_id}-{variant}'.rstrip('-')[:100]}.yaml"
    proposed = hub is not None and model.partition("/")[0] not in hub.names
    notes = [f"{entry.value} in the task {entry.task_id} of {entry.dataset_id}"]
    for where, file, other in hub.results(model) if hub else ():
        if any(getattr(entry, name) != getattr(other, name) for name in ("dataset_id", "task_id", "notes")):
            continue
        if other.value == entry.value:
            notes.append(f"the same result is there already, in {file} of {where}")
        elif file != path or where != "main" or proposed:
            raise HubError(
                f"{file} of {one_line(where, 200)} states {short_repr(other.value)} for the task {entry.task_id}, and "
                f"this run {entry.value}. Nothing is sent; settle it there first."
            )
    text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True)
    sent = {} if len(notes) > 1 and proposed else {path: text.encode()}
    message = f"{entry.task_id} on {entry.dataset_id} by halluscope"
    return [*found, Publication("model", model, message, sent, proposed=proposed, notes=tuple(notes))]


def _built(folder: Path, run: Run) -> Mapping[str, Any]:
    """Return which build was scored, after a check that all its rows were."""
    matched = run.ready.matched
    if len(matched.built) != 1:
        raise HubError(
            f"{folder} does not say which build of a dataset was scored; expected one folder that `halluscope build` "
            "made. Score that again, with --out."
        )
    (built,) = matched.built
    if built["spec_sha256"] != sha256_of(specs.load(built["name"]).file):
        raise HubError(
            f"{folder} was scored on another version of {built['name']} than today's; build and score it anew."
        )
    rows, problems = len(matched.rows), caveats(run.benchmark, run.scores, run.options)
    if built["subset"]:
        problems.append("the dataset is a subset or a changed copy.")
    if matched.sampled:
        problems.append("the responses answer a sample of the rows.")
    if rows != built["rows"]:
        problems.append(f"it has {rows:,} rows; expected {built['rows']:,}.")
    if problems:
        raise HubError(
            f"{folder} is not a result on the whole benchmark, so it is not published: {problems[0]}"
        )
    return built


def _notes(run: Run) -> str:
    """Return in what a run differs from the defaults: judge, prompt, parser and other choices."""
    unless, notes = defaults(run.benchmark.compute), published.judges(run.keys)
    for option in run.benchmark.options:
        usual = unless.get(option.name)
        if option.choices and (chosen := run.options.get(option.name, usual)) != usual:
            notes.append(f"{option.name} {chosen}")
    if run.ready.matched.other_prompts:
        notes.append("with a prompt of its own")
    return one_line(", ".join(notes), NOTES)


# The leaderboard


def entries(repository: str) -> list[dict[str, Any]]:
    """Return the results for a dataset on the Hub, each with its source and how it was made."""
    with calling(f"reading the leaderboard of {repository}"):
        return [
            {
                "model": str(one.model_id),
                "value": float(one.value),
                "how": str(one.notes or ""),
                "source": str((one.source or {}).get("url") or one.filename),
                "verified": bool(one.verified),
                "proposed": one.pull_request is not None,
            }
            for one in HfApi().get_dataset_leaderboard(repository, base_model_only=False)
        ]


def report(
    found: Sequence[Mapping[str, Any]], repository: str, runs: Mapping[str, Run], scores: Sequence[str] = ()
) -> Iterator[Table | Notes]:
    """Yield a table per way of judging and asking, your own runs, and the paper's rows; none is ranked with another."""
    for how in dict.fromkeys(one["how"] for one in found):
        rows: list[list[Cell]] = [
            [
                f"{one_line(one['model'], 80)}{' (proposed)' * one['proposed']}",
                plain(one["value"], ".2f"),
                one_line(one["source"], 120),
            ]
            for one in sorted(found, key=lambda one: -one["value"])
            if one["how"] == how
        ]
        header = [one_line(how or "as by default", 80), "value", "source"]
        yield Table("leaderboard", header, rows, of=f"{repository} on the Hub")
    if not found:
        yield Notes([f"{repository} has no results on the Hub."])
    if runs:
        first = next(iter(runs.values()))
        benchmark, results = first.benchmark, [(name, run.scores) for name, run in runs.items()]
        own = of_scores(benchmark, results, scores or [benchmark.principal])
        yield own._replace(name="yours", of="your runs")
        yield from signatures(results)
        yield from beside(benchmark, results, first.options)
