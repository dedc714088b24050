"""`halluscope list`: what there is, what is built and where, which extras are missing, and how many votes are kept."""

import argparse
from collections.abc import Iterator
from importlib import metadata

from halluscope import registry
from halluscope.building.output import home
from halluscope.judging.store import ReadOnlyStore
from halluscope.registry import Benchmark
from halluscope.reporting.tables import aligned


def add(parser: argparse.ArgumentParser) -> None:
    """There are no options."""
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print it."""
    rows = [row for benchmark in registry.rooms() for row in _rows(benchmark)]
    print(aligned(rows, ["benchmark", "measures", "dataset", "built"], "simple", left=4))
    print("\nextras of this installation")
    for extra, missing in extras().items():
        print(f"  {extra}: {_state(extra, missing)}")
    store = ReadOnlyStore()
    votes, replies = store.count()
    store.close()
    print(f"\nkept in {store.path}: {votes:,} votes, {replies:,} replies")


def _rows(benchmark: Benchmark) -> Iterator[list[str]]:
    about = [benchmark.name, benchmark.about]
    for dataset in benchmark.datasets:
        folder = home(dataset.name)
        yield [*about, dataset.name, str(folder) if (folder / "data").is_dir() else "no"]
        about = ["", ""]
    if not benchmark.datasets:
        yield [*about, f"({', '.join(benchmark.reads)})" if benchmark.reads else "", ""]


def _state(extra: str, missing: list[str]) -> str:
    return f"lacks {', '.join(missing)}: pip install 'halluscope[{extra}]'" if missing else "there"


def extras() -> dict[str, list[str]]:
    """The extras that a user may want, each with the packages of it that are missing."""
    found: dict[str, list[str]] = {}
    for line in metadata.requires("halluscope") or ():
        requirement, _, marker = line.partition(";")
        extra = marker.partition("==")[2].strip(" \"'")
        package = requirement.strip().partition("[")[0]
        for sign in "<>=!~ ":
            package = package.partition(sign)[0]
        if extra and extra != "dev":
            missing = found.setdefault(extra, [])
            if not _is_installed(package):
                missing.append(package)
    return found


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
