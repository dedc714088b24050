"""What a repository shall hold: a dataset, a Space of a metric, a benchmark without data, a score of a run.

A dataset is checked first: that it is whole, fits its spec, and may be published.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from halluscope.hub.publisher import CARD, EVAL, RESULTS, Hub, ModelResult, Publication, Release
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

if TYPE_CHECKING:
    from datasets import Features

REQUIREMENTS = "requirements.txt"
APP = "app.py"
FRAMEWORK = "halluscope"  # its entry in huggingface.js: CONTRIBUTING.md, "Releasing"

PIN = r"\s*(?:# )?halluscope(?:\[[\w,]+\])?==(\S+)\s*"  # the line of REQUIREMENTS that states the version

# How a page in metrics/ says what its example needs
IN_A_CLONE = re.compile(r"in a clone, after pip install \S+")

GRADIO = "6.31.0"  # the version that the Hub installs for a Space; constraints.txt has the same

ON_AN_INDEX = False
"""Whether `pip install halluscope` finds this package. CONTRIBUTING.md, "Releasing", says when that changes."""


def datasets() -> list[str]:
    return sorted(dataset.name for dataset in registry.datasets())


def unlicensed() -> dict[str, str]:
    """Return the datasets that only their authors may publish, each with the reason."""
    reasons = {}
    for name in datasets():
        spec = specs.load(name)
        if spec.license == specs.UNKNOWN:
            reasons[name] = spec.license_note
    return reasons


def dataset(
    name: str, organization: str, folder: Path | None = None, subset: bool = False, with_eval: bool = True
) -> Publication:
    """Check a dataset that was built in a folder; `subset` allows a subset or a changed copy."""
    record = registry.dataset(name)
    spec = specs.load(record.name)
    if folder is None:
        folder = home(name)
    if spec.license == specs.UNKNOWN:
        raise HubError(
            f"{name} has no licence, so nobody but its authors may publish it: {spec.license_note} Build it where you "
            "use it."
        )
    stats = _fresh_stats(spec, name, folder)
    shards = build_info.compare(folder, stats["tables"])
    with damaged(
        folder, "as a build leaves it, and gives no card", f"Build it again: halluscope build {name} --force."
    ):
        features = _features(folder, stats)
        card = cards.card(spec, stats, features)
    if not spec.publish_images:
        _check_no_images(spec, name, features)
    if stats["subset"] and not subset:
        raise HubError(
            f"{folder} is a subset or a changed copy of {name}, not the dataset as published. Pass --subset to "
            "publish it all the same; its card says so."
        )
    card = card.replace(f'"datasets/{name}"', f'"{organization}/{name}"')
    files: dict[str, Path | bytes] = {CARD: card.encode(), SPEC: spec.file, STATS: folder / STATS}
    for shard in shards:
        files[shard.relative_to(folder).as_posix()] = shard
    notes = []
    why_unfit = unfit(registry.benchmark(name))
    if stats["subset"]:
        notes.append("A subset or a changed copy; its card says so.")
    elif with_eval and not why_unfit:
        questions = [config for config in features if config != record.images]
        files[EVAL] = eval_yaml(name, questions)
    if why_unfit:
        notes.append(f"Without {EVAL}: {why_unfit}.")
    return _of_spec(spec, organization, files, notes)


def _fresh_stats(spec: specs.Spec, name: str, folder: Path) -> dict[str, Any]:
    """Return the stats.json of a build by today's spec."""
    build = f"halluscope build {name}"
    if not (folder / STATS).is_file():
        raise HubError(f"{name} was not built in {folder}. Build it first: {build}.")
    stats = build_info.read_stats(folder / STATS)
    if stats["name"] != name or stats["spec_sha256"] != sha256_of(spec.file):
        raise HubError(
            f"{folder} is stale: it holds {stats['name']} {stats['version']}, built from another spec than today's "
            f"{spec.file} ({name} {spec.version}). Build it again: {build} --force."
        )
    return stats


def _features(folder: Path, stats: Values) -> "dict[str, Features]":
    """Return the columns of each config, as the first of its files states them."""
    import pyarrow.parquet as pq
    from datasets import Features

    features = {}
    for table in stats["tables"]:
        schema = pq.read_schema(folder / table["shards"][0]["file"])
        features[table["config"]] = Features.from_arrow_schema(schema)
    return features


def _check_no_images(spec: specs.Spec, name: str, features: "Mapping[str, Features]") -> None:
    """Refuse columns that hold images, by name or because they hold bytes at any depth."""
    for config, columns in features.items():
        for column in columns.arrow_schema:
            if column.name == "image" or "binary" in str(column.type):
                commands = _without_images(name)
                commands.append(f"halluscope publish dataset {name} --folder DIR")
                raise HubError(
                    f"{name} was built with images (column {column.name!r} of config {config!r}), and its spec does "
                    f"not let them be published: {spec.license_note} Keep this build for your own use, and publish a "
                    f"copy that is built without images: {'; '.join(commands)}."
                )


def _without_images(name: str) -> list[str]:
    """Return the commands that build a copy without images into a folder DIR."""
    build = f"halluscope build {name}"
    source = specs.load(name).built_from
    if source is None:
        return [f"{build} --no-images --out DIR/{name}"]
    commands = _without_images(source)
    commands.append(f"{build} --source DIR/{source} --out DIR/{name}")
    return commands


def _of_spec(
    spec: specs.Spec, organization: str, files: Mapping[str, Path | bytes], notes: Sequence[str]
) -> Publication:
    """Return the publication of a version of a dataset, which a line of its spec.toml states."""
    stated = rf'name = "{spec.name}"\nversion = "(.+)"'
    return Publication(
        kind="dataset",
        repo_id=f"{organization}/{spec.name}",
        message=f"{spec.name} {spec.version}",
        files=files,
        release=Release(spec.version, f"v{spec.version}", SPEC, stated),
        notes=tuple(notes),
    )


# A benchmark: eval.yaml, and a repository of it and a card alone


def task(name: str, config: str = "") -> str:
    """Return the id of a dataset's task: its questions in a config, and the score.

    >>> task("throne_coco"), task("pope"), task("pope", "gqa")
    ('throne_coco_f0_5_cls', 'pope_accuracy', 'pope_gqa_accuracy')
    """
    score = registry.benchmark(name).principal.replace(".", "_").lower()
    if config in ("", "default", registry.dataset(name).config):
        return f"{name}_{score}"
    return f"{name}_{config}_{score}"


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
    benchmark = registry.benchmark(name)
    spec = specs.load(name)
    if not configs:
        configs = [registry.dataset(name).config or "default"]
    content = {
        "name": spec.title,
        "description": f"{benchmark.title}: {benchmark.about}. The score is {benchmark.principal}.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task(name, config), "config": config, "split": spec.split} for config in configs],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True)).encode()


def benchmark(name: str, organization: str) -> Publication:
    """Return a repository without data, for a dataset that its users build themselves."""
    benchmark = registry.benchmark(name)
    spec = specs.load(registry.dataset(name).name)
    why_unfit = unfit(benchmark)
    if why_unfit:
        raise HubError(f"{name} cannot be a benchmark on the Hub: {why_unfit}.")
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


# A metric


def metrics() -> list[str]:
    return [benchmark.name for benchmark in registry.benchmarks()]


def metric(name: str, organization: str, package: str | None = None) -> Publication:
    """Return what to publish; `package` says, as pip takes it, where the Space installs this package from.

    The tag is "halluscope-<version>": `evaluate` looks for a tag of its own version, such as v0.4.6, before main.
    """
    if name not in metrics():
        raise HubError(f"There is no metric {name!r:.80} to publish; expected one of {', '.join(metrics())}.")
    benchmark = registry.benchmark(name)
    requirements = f"{_requirement(('figures', *benchmark.extras), package)}\n"
    if package is not None:
        requirements = f"# halluscope=={__version__}\n{requirements}"
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
            CARD: _card_of_space(benchmark, organization, package).encode(),
            REQUIREMENTS: requirements.encode(),
            f"{name}.py": share("metrics", name, f"{name}.py"),
            APP: f'from halluscope.hub.space import page\n\npage("{name}").launch()\n'.encode(),
        },
        release=Release(__version__, f"halluscope-{__version__}", REQUIREMENTS, PIN),
        notes=(f"The Space installs {package or f'halluscope {__version__} from an index'}.",),
    )


def _requirement(extras: Sequence[str], package: str | None) -> str:
    """Return what pip installs: this package with these extras, from where the user says."""
    name = "halluscope"
    if extras:
        name = f"{name}[{','.join(extras)}]"
    if package is None:
        return f"{name}=={__version__}"
    return f"{name} @ {_url_of(package)}"


def _card_of_space(benchmark: Benchmark, organization: str, package: str | None) -> str:
    """Return the card of a metric's Space: its page in metrics/, after what the Hub reads, and before the citation.

    Its example loads the metric from the Hub, where there is no clone to install the package from.
    """
    facts = {
        "title": benchmark.title,
        "emoji": "🔎",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": GRADIO,
        "python_version": "3.11",
        "app_file": APP,
        "license": "apache-2.0",
        "description": benchmark.about,
        "tags": ["evaluate", "metric", "hallucination", "vision-language-models"],
    }
    front = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)
    text = share("metrics", benchmark.name, CARD).read_text("utf-8")
    text = text.replace(f'"metrics/{benchmark.name}"', f'"{organization}/{benchmark.name}"')
    how_to_install = f'after pip install "{_requirement(benchmark.extras, package)}"'
    text = IN_A_CLONE.sub(lambda _: how_to_install, text)
    return f"---\n{front}---\n{text}\n```bibtex\n{benchmark.citation.strip()}\n```\n"


def _url_of(package: str) -> str:
    """Return the URL that the user gives for this package, as pip takes it."""
    url = re.fullmatch(r"(?:halluscope\s*@\s*)?((?:git\+)?https://\S+)", package.strip())
    if url is None:
        raise HubError(
            f"--package is {package!r:.120}; expected a URL (https://... or git+https://...), or 'halluscope @ URL'."
        )
    return url[1]


# A run's principal score in a model's repository

NOTES = 200  # the most characters of notes
# the most characters of a file's name that say what it holds; file systems allow 255 bytes in all
LONGEST = 230


def results(folder: Path, model: str, benchmark: str, source: str, hub: Hub | None) -> list[Publication]:
    """Return what publishes a run's result: its entry in the model's repository, after the run itself if that is asked.

    Args:
        folder: the run.
        model: "org/name"; a model of somebody else gets a pull request.
        benchmark: "org/name" of the dataset's repository.
        source: where the run can be seen: a URL, or "org/name", a dataset that then gets the run's folder, in a folder
            of the model and the task; or "".
        hub: where the dataset's revision and the model's results are looked up; None looks up nothing.
    """
    run, build = _whole_run(folder)
    task_id = task(build["name"], build["config"])
    run_notes = _notes(run)
    name = _name_of(task_id, run_notes)
    publications = []
    url = source
    if source and "://" not in source:
        place = f"{model}/{name}"  # a dataset may hold several runs
        message = f"A run of {run.benchmark.name} by {model}"
        publications.append(Publication("dataset", source, message, _files_at(place, folder)))
        url = f"{constants.ENDPOINT}/datasets/{source}/tree/main/{place}"
    revision = None
    if hub:
        revision = hub.revision(benchmark, f"v{build['version']}")
    entry = EvalResultEntry(
        dataset_id=benchmark,
        dataset_revision=revision,
        task_id=task_id,
        value=_value(run),
        date=str(run.about["made"]),
        source_url=url or None,
        source_name="a run of halluscope" if url else None,
        notes=run_notes or None,
    )
    publications.append(_of_entry(entry, f"{RESULTS}/halluscope-{name}.yaml", model, hub))
    return publications


def _of_entry(entry: EvalResultEntry, file: str, model: str, hub: Hub | None) -> Publication:
    """Return what puts an entry into a file of a model's repository, unless another one there states the same."""
    proposed = hub is not None and model.partition("/")[0] not in hub.names
    same = []
    if hub:
        same = _same_results(entry, file, proposed, hub.results(model))
    notes = [f"{entry.value} in the task {entry.task_id} of {entry.dataset_id}"]
    for result in same:
        notes.append(f"the same result is there already, in {result.file} of {result.where}")
    sent: dict[str, Path | bytes] = {}
    if not (same and proposed):
        content = eval_result_entries_to_yaml([entry])
        sent[file] = yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode()
    message = f"{entry.task_id} on {entry.dataset_id} by halluscope"
    return Publication("model", model, message, sent, proposed=proposed, notes=tuple(notes))


def _files_at(place: str, folder: Path) -> dict[str, Path | bytes]:
    """Return the files of a folder by their paths below a place in a repository."""
    files: dict[str, Path | bytes] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            files[f"{place}/{path.relative_to(folder).as_posix()}"] = path
    return files


def _whole_run(folder: Path) -> tuple[Run, Values]:
    """Return a run, and which build it scored, after a check that it is whole and as it was scored."""
    problem = next(differences(folder), None)
    if problem:
        raise HubError(
            f"{folder} does not verify: {problem}. `halluscope verify {folder}` shows what differs."
        )
    run = read(folder)
    why_unfit = unfit(run.benchmark)
    if why_unfit:
        raise HubError(f"{folder} cannot stand on the Hub: {why_unfit}.")
    build = _build_of(folder, run)
    score = run.benchmark.principal
    if not is_defined(run.scores.get(score)):
        raise HubError(f"{folder}: {score} is undefined; expected a number.")
    return run, build


def _build_of(folder: Path, run: Run) -> Values:
    """Return which build was scored, after a check that all its rows were."""
    matched = run.ready.matched
    if len(matched.built) != 1:
        raise HubError(
            f"{folder} does not say which build of a dataset was scored; expected one folder that `halluscope build` "
            "made. Score that again, with --out."
        )
    (build,) = matched.built
    if build["spec_sha256"] != sha256_of(specs.load(build["name"]).file):
        raise HubError(
            f"{folder} was scored on another version of {build['name']} than today's; build and score it anew."
        )
    rows = len(matched.rows)
    problems = caveats(run.benchmark, run.scores, run.options)
    if rows != build["rows"]:
        problems.append(f"it has {rows:,} rows; expected {build['rows']:,}.")
    if problems:
        raise HubError(
            f"{folder} is not a result on the whole benchmark, so it is not published: {problems[0]}"
        )
    return build


def _value(run: Run) -> float:
    """Return the principal score as it is printed: a share in percent, unless its paper prints it otherwise."""
    score = run.benchmark.principal
    value: float = run.scores[score]
    if published.in_percent(run.benchmark, run.options, score):
        return round(100 * value, 2)
    return round(value, 4)


def _notes(run: Run) -> str:
    """Return in what a run differs from the defaults: judge, prompt, parser and other choices."""
    notes = published.judges(run.keys)
    usual = defaults(run.benchmark.compute)
    for option in run.benchmark.options:
        name = option.name
        chosen = run.options.get(name, usual.get(name))
        if chosen == usual.get(name) or name in published.JUDGES:
            continue
        if option.choices:
            notes.append(f"{name} {chosen}")
        elif name in run.keys:
            notes.append(f"{name} {run.keys[name]}")
    if "orders" in run.keys:
        notes.append(f"{run.keys['orders']} orders")
    if run.ready.matched.other_prompts:
        notes.append("with a prompt of its own")
    return one_line(", ".join(notes), NOTES)


def _name_of(task_id: str, notes: str) -> str:
    """Return the name of a result among a model's: results under other choices have other names."""
    variant = re.sub(r"[\W_]", "-", notes).strip("-").lower()
    return f"{task_id}-{variant}"[:LONGEST].rstrip("-")


def _same_results(
    entry: EvalResultEntry, file: str, proposed: bool, results: Sequence[ModelResult]
) -> list[ModelResult]:
    """Return a model's results that state what an entry states.

    Raises:
        HubError: if one states another value for the same task, in a file that ours does not replace.
    """
    same = []
    for result in results:
        stated = result.entry
        if (stated.dataset_id, stated.task_id, stated.notes) != (
            entry.dataset_id,
            entry.task_id,
            entry.notes,
        ):
            continue
        if stated.value == entry.value:
            same.append(result)
        elif result.file != file or result.where != "main" or proposed:
            raise HubError(
                f"{result.file} of {one_line(result.where, 200)} states {short_repr(stated.value)} for the task "
                f"{entry.task_id}, and this run {entry.value}. Nothing is sent; settle it there first."
            )
    return same
