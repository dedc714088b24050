"""What a repository shall hold: a dataset, a Space of a metric, a benchmark without data, a score of a run.

A dataset is checked first: that it is whole, fits its spec, and may be published.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, constants, eval_result_entries_to_yaml

from halluscope import registry
from halluscope.benchmark import HIGHER, Benchmark
from halluscope.building import build_info
from halluscope.building import card as cards
from halluscope.building import spec as specs
from halluscope.building.build_info import SPEC, STATS
from halluscope.building.fetch import sha256_of
from halluscope.errors import HubError
from halluscope.hub.publisher import CARD, EVAL, RESULTS, Hub, Publication, Release
from halluscope.options import defaults
from halluscope.paths import share
from halluscope.reading.datasets import home
from halluscope.reading.tables import damaged
from halluscope.reporting import published
from halluscope.reporting.tables import Values, is_defined
from halluscope.runs.caveats import caveats
from halluscope.runs.folder import read
from halluscope.runs.run import Run
from halluscope.runs.verifying import differences
from halluscope.sanitize import one_line, short_repr
from halluscope.version import __version__

REQUIREMENTS = "requirements.txt"
FRAMEWORK = "halluscope"  # its entry in huggingface.js: CONTRIBUTING.md, "Releasing"

PIN = r"\s*(?:# )?halluscope(?:\[[\w,]+\])?==(\S+)\s*"  # the line of REQUIREMENTS that states the version

ON_AN_INDEX = False
"""Whether `pip install halluscope` finds this package. CONTRIBUTING.md, "Releasing", says when that changes."""


def datasets() -> list[str]:
    return sorted(dataset.name for dataset in registry.datasets())


def unlicensed() -> dict[str, str]:
    """Return the datasets that only their authors may publish, each with the reason."""
    all_specs = map(specs.load, datasets())
    return {spec.name: spec.license_note for spec in all_specs if spec.license == specs.UNKNOWN}


def dataset(
    name: str, organization: str, folder: Path | None = None, subset: bool = False, with_eval: bool = True
) -> Publication:
    """Check a dataset that was built in a folder; `subset` allows a subset or a changed copy."""
    import pyarrow.parquet as pq
    from datasets import Features

    record = registry.dataset(name)
    spec, folder, build = specs.load(record.name), folder or home(name), f"halluscope build {name}"
    if spec.license == specs.UNKNOWN:
        raise HubError(
            f"{name} has no licence, so nobody but its authors may publish it: {spec.license_note} Build it where you "
            "use it."
        )
    if not (folder / STATS).is_file():
        raise HubError(f"{name} was not built in {folder}. Build it first: {build}.")
    stats = build_info.read_stats(folder / STATS)
    if (stats["name"], stats["spec_sha256"]) != (name, sha256_of(spec.file)):
        raise HubError(
            f"{folder} is stale: it holds {stats['name']} {stats['version']}, built from another spec than today's "
            f"{spec.file} ({name} {spec.version}). Build it again: {build} --force."
        )
    shards = build_info.compare(folder, stats["tables"])
    with damaged(folder, "as a build leaves it, and gives no card", f"Build it again: {build} --force."):
        features = {
            table["config"]: Features.from_arrow_schema(pq.read_schema(folder / table["shards"][0]["file"]))
            for table in stats["tables"]
        }
        card = cards.card(spec, stats, features)
    # Columns that hold images, by name or because they hold bytes at any depth
    for config, columns in features.items():
        held = [of.name for of in columns.arrow_schema if of.name == "image" or "binary" in str(of.type)]
        if held and not spec.publish_images:
            again = "; ".join([*_without_images(name), f"halluscope publish dataset {name} --folder DIR"])
            raise HubError(
                f"{name} was built with images (column {held[0]!r} of config {config!r}), and its spec does not let "
                f"them be published: {spec.license_note} Keep this build for your own use, and publish a copy that is "
                f"built without images: {again}."
            )
    if stats["subset"] and not subset:
        raise HubError(
            f"{folder} is a subset or a changed copy of {name}, not the dataset as published. Pass --subset to "
            "publish it all the same; its card says so."
        )
    card = card.replace(f'"datasets/{name}"', f'"{organization}/{name}"')
    files: dict[str, Path | bytes] = {CARD: card.encode(), SPEC: spec.file, STATS: folder / STATS}
    files |= {file.relative_to(folder).as_posix(): file for file in shards}
    why, notes = unfit(registry.benchmark(name)), []
    if stats["subset"]:
        notes.append("A subset or a changed copy; its card says so.")
    elif with_eval and not why:
        files[EVAL] = eval_yaml(name, [config for config in features if config != record.images])
    if why:
        notes.append(f"Without {EVAL}: {why}.")
    return _of_spec(spec, organization, files, notes)


def _of_spec(
    spec: specs.Spec, organization: str, files: Mapping[str, Path | bytes], notes: Sequence[str]
) -> Publication:
    stated = rf'name = "{spec.name}"\nversion = "(.+)"'
    return Publication(
        kind="dataset",
        repo_id=f"{organization}/{spec.name}",
        message=f"{spec.name} {spec.version}",
        files=files,
        release=Release(spec.version, f"v{spec.version}", SPEC, stated),
        notes=tuple(notes),
    )


def _without_images(name: str) -> list[str]:
    """Return the commands that build a copy without images into a folder DIR."""
    build, source = f"halluscope build {name}", specs.load(name).built_from
    if source is None:
        return [f"{build} --no-images --out DIR/{name}"]
    return [*_without_images(source), f"{build} --source DIR/{source} --out DIR/{name}"]


# A benchmark: eval.yaml, and a repository of it and a card alone


def task(name: str, config: str = "") -> str:
    """Return the id of a dataset's task: its questions in a config, and the score.

    >>> task("throne_coco"), task("pope"), task("pope", "gqa")
    ('throne_coco_f0_5_cls', 'pope_accuracy', 'pope_gqa_accuracy')
    """
    other = config not in ("", "default", registry.dataset(name).config)
    score = registry.benchmark(name).principal.replace(".", "_").lower()
    return f"{name}{f'_{config}' if other else ''}_{score}"


def unfit(benchmark: Benchmark) -> str:
    """Say why a benchmark's principal score cannot stand in a leaderboard of the Hub; "" if it can."""
    if not benchmark.has_metric:
        return f"{benchmark.title} is for training and has no score"
    if benchmark.direction(benchmark.principal) == HIGHER:
        return ""
    return (
        f"the principal score of {benchmark.title}, {benchmark.principal}, is not better when it is higher, and the "
        "Hub's leaderboards know no other order"
    )


def eval_yaml(name: str, configs: Sequence[str] = ()) -> bytes:
    """Return the eval.yaml of a dataset with these configs of questions; () for the one that is asked by default."""
    benchmark, spec = registry.benchmark(name), specs.load(name)
    content = {
        "name": spec.title,
        "description": f"{benchmark.title}: {benchmark.about}. The score is {benchmark.principal}.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [
            {"id": task(name, config), "config": config, "split": spec.split}
            for config in configs or [registry.dataset(name).config or "default"]
        ],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True)).encode()


def benchmark(name: str, organization: str) -> Publication:
    """Return a repository without data, for a dataset that its users build themselves."""
    benchmark, spec = registry.benchmark(name), specs.load(registry.dataset(name).name)
    if why := unfit(benchmark):
        raise HubError(f"{name} cannot be a benchmark on the Hub: {why}.")
    sources = "\n".join(f"- <{source.url}>" for source in spec.sources.values())
    card = f"""---
pretty_name: {spec.title}
license: {spec.license}
---
# {spec.title}
{" ".join(benchmark.description.split())}

This repository holds no data. Its leaderboard collects {benchmark.principal} of models. Build the data yourself:
```console
$ halluscope build {name}
$ halluscope score {benchmark.name} --responses mine.jsonl --dataset {name} --out run
$ halluscope publish results run --model ORG/MODEL --benchmark {organization}/{name}
```

## Licence
{spec.license_note}

## Sources
{sources or f"The dataset {spec.built_from} of halluscope."}

## Citation
```bibtex
{benchmark.citation.strip()}
```
"""
    files: dict[str, Path | bytes] = {CARD: card.encode(), EVAL: eval_yaml(name), SPEC: spec.file}
    return _of_spec(spec, organization, files, ["Without data; the card says where they come from."])


# A metric, and a report


def metrics() -> list[str]:
    return [benchmark.name for benchmark in registry.benchmarks()]


def metric(name: str, organization: str, package: str | None = None) -> Publication:
    """Return what to publish; `package` says, as pip takes it, where the Space installs this package from.

    The tag is "halluscope-<version>": `evaluate` looks for a tag of its own version, such as v0.4.6, before main.
    """
    if name not in metrics():
        raise HubError(f"There is no metric {name!r:.80} to publish; expected one of {', '.join(metrics())}.")
    folder = share("metrics", name)
    card, pinned = ((folder / file).read_text("utf-8") for file in (CARD, REQUIREMENTS))
    if package is not None:
        url = re.fullmatch(r"(?:halluscope\s*@\s*)?((?:git\+)?https://\S+)", package.strip())
        if not url:
            raise HubError(
                f"--package is {package!r:.120}; expected a URL (https://... or git+https://...), or 'halluscope @ "
                "URL'."
            )
        extras = "".join(re.findall(r"\[[\w,-]+\]", pinned))
        pinned = f"# halluscope=={__version__}\nhalluscope{extras} @ {url[1]}\n"
    elif not ON_AN_INDEX:
        raise HubError(
            "halluscope is on no package index yet, so a Space that asks an index for it cannot start. Say where "
            "to install it from: --package URL, of a wheel or of a repository (git+https://...@v0.1.0)."
        )

    return Publication(
        kind="space",
        sdk="gradio",
        repo_id=f"{organization}/{name}",
        message=f"{name} {__version__}",
        files={
            CARD: card.replace(f'"metrics/{name}"', f'"{organization}/{name}"').encode(),
            REQUIREMENTS: pinned.encode(),
            f"{name}.py": folder / f"{name}.py",
            "app.py": folder / "app.py",
        },
        release=Release(__version__, f"halluscope-{__version__}", REQUIREMENTS, PIN),
        notes=(f"The Space installs {package or f'halluscope {__version__} from an index'}.",),
    )


# A run's principal score in a model's repository

NOTES = 200  # the most characters of notes


def results(folder: Path, model: str, benchmark: str, source: str, hub: Hub | None) -> list[Publication]:
    """Return what publishes a run's result: its entry in the model's repository, after the run itself if that is asked.

    Args:
        folder: the run.
        model: "org/name"; a model of somebody else gets a pull request.
        benchmark: "org/name" of the dataset's repository.
        source: where the run can be seen: a URL, or "org/name", a dataset that then gets the run's folder; or "".
        hub: where the dataset's revision and the model's results are looked up; None looks up nothing.
    """
    if problem := next(differences(folder), None):
        raise HubError(
            f"{folder} does not verify: {problem}. `halluscope verify {folder}` shows what differs."
        )
    run = read(folder)
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


def _built(folder: Path, run: Run) -> Values:
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
