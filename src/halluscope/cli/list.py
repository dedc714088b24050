"""`halluscope list`: prints benchmarks, datasets and where they are built, missing extras, kept votes, and limits."""

import argparse
import re
from collections.abc import Iterator
from importlib import metadata

from halluscope import limits, registry
from halluscope.judging.cache import Cache
from halluscope.reading.datasets import home, is_subset
from halluscope.registry import Benchmark
from halluscope.reporting.formats import aligned
from halluscope.sanitize import one_line
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    rows = [row for benchmark in registry.rooms() for row in _rows(benchmark)]
    say(aligned(rows, ["benchmark", "measures", "dataset", "built"], left=4))
    say("\nextras of this installation")
    for extra, missing in extras().items():
        say(f"  {extra}: {_state(extra, missing)}")
    cache = Cache(mode="read")
    votes, replies = cache.count()
    cache.close()
    say(f"\nkept in {one_line(cache.path)}: {votes:,} votes, {replies:,} replies")
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
        built = f"{folder}{' (subset)' if is_subset(folder) else ''}"
        yield [*about, dataset.name, built if (folder / "data").is_dir() else "no"]
        about = ["", ""]
    if not benchmark.datasets:
        yield [*about, f"({', '.join(benchmark.reads)})" if benchmark.reads else "", ""]


def _state(extra: str, missing: list[str]) -> str:
    return f"lacks {', '.join(missing)}: pip install 'halluscope[{extra}]'" if missing else "installed"


def extras() -> dict[str, list[str]]:
    """Return the extras, each with its missing packages."""
    found: dict[str, list[str]] = {}
    for line in metadata.requires("halluscope") or ():
        if (named := _OF_EXTRA.match(line)) and named["extra"] != "dev":
            missing = found.setdefault(named["extra"], [])
            if not _is_installed(named["package"]):
                missing.append(named["package"])
    return found


# A requirement, such as: torch>=2.4; extra == 'judge'
_OF_EXTRA = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra == ['\"](?P<extra>[\w.-]+)['\"]")


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
