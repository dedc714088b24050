"""Reads a built dataset for publishing, and checks that it is whole, fits its spec, and may be published."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features
from jinja2 import TemplateError

from halluscope import registry
from halluscope.building import built, mark, output
from halluscope.building import card as cards
from halluscope.building import spec as specs
from halluscope.building.fetch import sha256_of
from halluscope.building.spec import Spec
from halluscope.errors import HubError
from halluscope.foreign import one_line
from halluscope.hub import card
from halluscope.hub.publication import CARD, Content, Publication

FACTS, SPEC, DATA = built.STATS, mark.SPEC, mark.DATA

UNLICENSED = "unknown"
"""The Hub's identifier where no licence is stated."""


def names() -> list[str]:
    """Return the names of this project's datasets."""
    return sorted(dataset.name for dataset in registry.datasets())


def unlicensed() -> dict[str, str]:
    """Return the datasets that only their authors may publish, each with the reason."""
    specs_of = {name: specs.load(name) for name in names()}
    return {name: spec.license_note for name, spec in specs_of.items() if spec.license == UNLICENSED}


def read(name: str, organization: str, folder: Path | None = None, subset: bool = False) -> Publication:
    """Check a built dataset, and say what its repository shall hold.

    Args:
        name: the name of the dataset.
        organization: who publishes it; the card says how to load it from this organization.
        folder: where it was built (default: where `halluscope build` builds it).
        subset: whether a subset or a changed copy of the dataset may be published too.

    Raises:
        HubError: if the dataset is unknown or has no licence, was not built, does not match its spec, holds images that
            may not be published, is a subset, or its card lacks what the Hub wants.
        BuildError: if its files are not those that the builder wrote.
    """
    if name not in names():
        raise HubError(f"There is no dataset {name!r:.80} to publish; expected one of {', '.join(names())}.")
    spec = specs.load(name)
    if spec.license == UNLICENSED:
        raise HubError(
            f"{name} has no licence, so nobody but its authors may publish it: {spec.license_note} Build it where you "
            "use it."
        )
    folder = folder or output.home(name)
    again = f"Build it again: {_build(name)} --force."
    stats = _stats(spec, folder, again)
    shards = built.compare(folder, stats["tables"])
    if foreign := sorted({file for file in (folder / DATA).rglob("*") if file.is_file()} - set(shards)):
        raise HubError(f"{foreign[0]} is not a file that the builder wrote. {again}")
    features = {table["config"]: _features(folder, table) for table in stats["tables"]}
    _check_images(spec, features)
    if stats["subset"] and not subset:
        raise HubError(
            f"{folder} is a subset or a changed copy of {name}, not the dataset as published. Pass --subset to "
            "publish it all the same; its card says so."
        )
    text = _card(spec, stats, features, folder).replace(f'"datasets/{name}"', f'"{organization}/{name}"')
    card.check(text, "dataset", f"the card of {name} (dataset_cards/{name}.md)")
    files: dict[str, Content] = {CARD: text.encode(), SPEC: folder / SPEC, FACTS: folder / FACTS}
    files |= {file.relative_to(folder).as_posix(): file for file in shards}
    return Publication(
        kind="dataset",
        repository=f"{organization}/{name}",
        version=spec.version,
        tag=f"v{spec.version}",
        files=files,
        facts=FACTS,
        version_in=lambda text: _version(name, text),
        notes=("A subset or a changed copy; its card says so.",) if stats["subset"] else (),
    )


def _stats(spec: Spec, folder: Path, again: str) -> dict[str, Any]:
    """Return the facts that the builder wrote about a dataset, if it was built from today's spec.

    Raises:
        HubError: if the dataset was not built in the folder, or from another spec; the message ends with `again`.
    """
    if not (folder / FACTS).is_file() or not (folder / DATA).is_dir():
        raise HubError(f"{spec.name} was not built in {folder}. Build it first: {_build(spec.name)}.")
    stats = built.read_stats(folder / FACTS)
    if stats["name"] != spec.name:
        raise HubError(f"{folder} holds {stats['name']!r}, expected {spec.name!r}.")
    if stats["spec_sha256"] != sha256_of(spec.file) or stats["version"] != spec.version:
        raise HubError(
            f"{folder} is stale: it was built as version {stats['version']} from another spec than today's "
            f"{spec.file} (version {spec.version}). {again}"
        )
    if not (folder / SPEC).is_file() or (folder / SPEC).read_bytes() != spec.file.read_bytes():
        raise HubError(f"{folder / SPEC} is not the spec that it was built from. {again}")
    return stats


def _build(name: str) -> str:
    """Return the command that builds a dataset."""
    return f"halluscope build {name}"


def _version(name: str, text: str) -> str | None:
    """Return the version that a stats.json on the Hub states; None if it is not about this dataset."""
    try:
        stats = json.loads(text)
    except (ValueError, RecursionError):
        return None
    ours = isinstance(stats, dict) and stats.get("name") == name and isinstance(stats.get("version"), str)
    return str(stats["version"]) if ours else None


def _features(folder: Path, table: Mapping[str, Any]) -> Features:
    file = folder / table["shards"][0]["file"]
    try:
        return Features.from_arrow_schema(pq.read_schema(file))
    except Exception as error:  # pyarrow has errors of its own, and datasets may raise any
        raise HubError(
            f"{file} is not a Parquet file as a build writes it: {one_line(error, 200)}."
        ) from error


def _card(spec: Spec, stats: Mapping[str, Any], features: Mapping[str, Features], folder: Path) -> str:
    try:
        return cards.render(spec, stats, features)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise HubError(
            f"{folder / FACTS} lacks what the card of {spec.name} needs: {one_line(error, 200)}. Build it again: "
            f"{_build(spec.name)} --force."
        ) from error


def _check_images(spec: Spec, features: Mapping[str, Features]) -> None:
    if spec.publish_images:
        return
    for config, columns in features.items():
        if held := sorted(set(_pictures(columns.arrow_schema))):
            again = "; ".join(
                [*_without_images(spec), f"halluscope publish dataset {spec.name} --folder DIR"]
            )
            raise HubError(
                f"{spec.name} was built with images (column {held[0]!r} of config {config!r}), and its spec does not "
                f"let them be published: {spec.license_note} Keep this build for your own use, and publish a copy that "
                f"is built without images: {again}."
            )


def _without_images(spec: Spec) -> list[str]:
    """Return the commands that build a copy without images into a folder DIR."""
    if spec.built_from is None:
        return [f"{_build(spec.name)} --no-images --out DIR/{spec.name}"]
    source = spec.built_from
    return [
        *_without_images(specs.load(source)),
        f"{_build(spec.name)} --source DIR/{source} --out DIR/{spec.name}",
    ]


def _pictures(schema: Any, of: str = "") -> Iterator[str]:
    """Yield the columns that hold images, by name or because they hold bytes at any depth."""
    for field in schema:
        name = of or field.name
        if field.name == "image" or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            yield name
        if pa.types.is_nested(field.type):
            yield from _pictures([field.type.field(i) for i in range(field.type.num_fields)], name)
