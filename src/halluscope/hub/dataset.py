"""What a built dataset's repository shall hold, after checks that it is whole, fits its spec, and may be published."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import Features

from halluscope import registry
from halluscope.building import build_info, output
from halluscope.building import spec as specs
from halluscope.building.build_info import SPEC, STATS
from halluscope.building.fetch import sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import HubError
from halluscope.hub import benchmark
from halluscope.hub.publisher import CARD, EVAL, Content, Publication, Release
from halluscope.reading.datasets import home
from halluscope.sanitize import one_line


def names() -> list[str]:
    """Return the names of this project's datasets."""
    return sorted(dataset.name for dataset in registry.datasets())


def unlicensed() -> dict[str, str]:
    """Return the datasets that only their authors may publish, each with the reason."""
    all_specs = map(specs.load, names())
    return {spec.name: spec.license_note for spec in all_specs if spec.license == specs.UNKNOWN}


def read(
    name: str, organization: str, folder: Path | None = None, subset: bool = False, with_eval: bool = True
) -> Publication:
    """Check a dataset that was built in a folder; `subset` allows a subset or a changed copy."""
    spec = specs.load(registry.dataset(name).name)
    if spec.license == specs.UNKNOWN:
        raise HubError(
            f"{name} has no licence, so nobody but its authors may publish it: {spec.license_note} Build it where you "
            "use it."
        )
    folder = folder or home(name)
    stats = _stats(spec, folder)
    shards = build_info.compare(folder, stats["tables"])
    try:
        features = {
            table["config"]: Features.from_arrow_schema(pq.read_schema(folder / table["shards"][0]["file"]))
            for table in stats["tables"]
        }
        card = output.card(spec, stats, features)
    except Exception as error:  # of pyarrow, datasets or jinja2
        raise HubError(
            f"{folder} is not as a build leaves it, and gives no card: {one_line(error, 200)}. Build it again: "
            f"halluscope build {name} --force."
        ) from error
    _check_images(spec, features)
    if stats["subset"] and not subset:
        raise HubError(
            f"{folder} is a subset or a changed copy of {name}, not the dataset as published. Pass --subset to "
            "publish it all the same; its card says so."
        )
    card = card.replace(f'"datasets/{name}"', f'"{organization}/{name}"')
    files: dict[str, Content] = {CARD: card.encode(), SPEC: spec.file, STATS: folder / STATS}
    why = benchmark.unfit(registry.benchmark(name))
    if with_eval and not why and not stats["subset"]:
        asked = [config for config in features if config != registry.dataset(name).images]
        files[EVAL] = benchmark.eval_yaml(name, asked)
    subset_note = "A subset or a changed copy; its card says so." if stats["subset"] else ""
    return Publication(
        kind="dataset",
        repo_id=f"{organization}/{name}",
        message=f"{name} {spec.version}",
        files=files | {file.relative_to(folder).as_posix(): file for file in shards},
        release=Release(spec.version, f"v{spec.version}", STATS, lambda text: _version(name, text)),
        notes=tuple(filter(None, (subset_note, why and f"Without {EVAL}: {why}."))),
    )


def _stats(spec: Spec, folder: Path) -> dict[str, Any]:
    """Return the stats.json of a dataset that was built from today's spec."""
    build = f"halluscope build {spec.name}"
    if not (folder / STATS).is_file():
        raise HubError(f"{spec.name} was not built in {folder}. Build it first: {build}.")
    stats = build_info.read_stats(folder / STATS)
    if (stats["name"], stats["spec_sha256"]) != (spec.name, sha256_of(spec.file)):
        raise HubError(
            f"{folder} is stale: it holds {stats['name']} {stats['version']}, built from another spec than today's "
            f"{spec.file} ({spec.name} {spec.version}). Build it again: {build} --force."
        )
    return stats


def _version(name: str, text: str) -> str | None:
    """Return the version that a stats.json on the Hub states; None if it is not about this dataset."""
    try:
        stats = json.loads(text)
        return stats["version"] if stats["name"] == name and isinstance(stats["version"], str) else None
    except (ValueError, RecursionError, TypeError, LookupError):
        return None


def _check_images(spec: Spec, features: Mapping[str, Features]) -> None:
    """Refuse columns that hold images, by name or because they hold bytes at any depth, if the spec does."""
    held = [
        (column.name, config)
        for config, columns in features.items()
        for column in columns.arrow_schema
        if column.name == "image" or "binary" in str(column.type)
    ]
    if held and not spec.publish_images:
        again = "; ".join([*_without_images(spec), f"halluscope publish dataset {spec.name} --folder DIR"])
        raise HubError(
            f"{spec.name} was built with images (column {held[0][0]!r} of config {held[0][1]!r}), and its spec does "
            f"not let them be published: {spec.license_note} Keep this build for your own use, and publish a copy that "
            f"is built without images: {again}."
        )


def _without_images(spec: Spec) -> list[str]:
    """Return the commands that build a copy without images into a folder DIR."""
    build, source = f"halluscope build {spec.name}", spec.built_from
    if source is None:
        return [f"{build} --no-images --out DIR/{spec.name}"]
    before = _without_images(specs.load(source))
    return [*before, f"{build} --source DIR/{source} --out DIR/{spec.name}"]
