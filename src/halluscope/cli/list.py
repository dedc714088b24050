"""`halluscope list`: prints benchmarks, datasets and where they are built, missing extras, kept votes, and limits."""

import argparse
from collections.abc import Iterator
from importlib import metadata

from halluscope import limits, registry
from halluscope.building.output import home
from halluscope.foreign import one_line
from halluscope.judging.store import ReadOnlyStore
from halluscope.registry import Benchmark
from halluscope.reporting.formats import aligned
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    """Add no options; the command has none."""
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print the lists."""
    rows = [row for benchmark in registry.rooms() for row in _rows(benchmark)]
    say(aligned(rows, ["benchmark", "measures", "dataset", "built"], left=4))
    say("\nextras of this installation")
    for extra, missing in extras().items():
        say(f"  {extra}: {_state(extra, missing)}")
    store = ReadOnlyStore()
    votes, replies = store.count()
    store.close()
    say(f"\nkept in {one_line(store.path)}: {votes:,} votes, {replies:,} replies")
    say(
        f"\nlimits; {limits.OPTION} NAME=AMOUNT,... or the environment variable {limits.VARIABLE} changes them"
    )
    say(aligned(list(_limits()), ["limit", "of", "at most", ""], left=2))


def _limits() -> Iterator[list[str]]:
    for name, limit in limits.LIMITS.items():
        most = limits.most(name)
        usual = "" if most == limit.default else f" (default: {limit.default:,})"
        yield [name, limit.about, f"{most:,}", f"{limit.unit}{usual}"]


def _rows(benchmark: Benchmark) -> Iterator[list[str]]:
    about = [benchmark.name, benchmark.about]
    for dataset in benchmark.datasets:
        folder = home(dataset.name)
        yield [*about, dataset.name, str(folder) if (folder / "data").is_dir() else "no"]
        about = ["", ""]
    if not benchmark.datasets:
        yield [*about, f"({', '.join(benchmark.reads)})" if benchmark.reads else "", ""]


def _state(extra: str, missing: list[str]) -> str:
    return f"lacks {', '.join(missing)}: pip install 'halluscope[{extra}]'" if missing else "installed"


def extras() -> dict[str, list[str]]:
    """Return the extras that a user may want, each with its packages that are missing."""
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
