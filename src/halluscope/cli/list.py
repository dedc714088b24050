"""Lists what there is: benchmarks, datasets, extras, kept votes, limits; or shows one benchmark's card."""

import re
from importlib import metadata

from halluscope import limits
from halluscope.benchmarks import LISTED
from halluscope.reading.datasets import home, is_subset
from halluscope.reporting.formats import aligned
from halluscope.sanitize import one_line
from halluscope.terminal import say


def show(name: str | None = None, /) -> None:
    """Print all benchmarks, or one benchmark's card.

    Args:
        name: a benchmark, or one of its datasets: show its options, scores and whether higher or lower is better,
            protocols and citation
    """
    if name is not None:
        from halluscope.cli.card import card

        say(card(name))
        return
    _show_benchmarks()
    say("\nextras of this installation")
    for extra, missing in extras().items():
        state = "installed"
        if missing:
            state = f"lacks {', '.join(missing)}: pip install 'halluscope[{extra}]'"
        say(f"  {extra}: {state}")
    _show_cache()
    _show_limits()


def _show_benchmarks() -> None:
    rows = []
    for benchmark in LISTED:
        if benchmark.reads:
            rows.append([benchmark.name, benchmark.about, f"({', '.join(benchmark.reads)})", ""])
        elif not benchmark.datasets:
            rows.append([benchmark.name, benchmark.about, "", ""])
        for place, dataset in enumerate(benchmark.datasets):
            if place == 0:
                rows.append([benchmark.name, benchmark.about, dataset, _where_built(dataset)])
            else:
                rows.append(["", benchmark.differences.get(dataset, ""), dataset, _where_built(dataset)])
    say(aligned(rows, ["benchmark", "measures", "dataset", "built"], left=4))


def _where_built(dataset: str) -> str:
    folder = home(dataset)
    if not (folder / "data").is_dir():
        return "no"
    if is_subset(folder):
        return f"{folder} (not as published)"
    return str(folder)


# A requirement, such as: torch>=2.4; extra == 'judge'
OF_EXTRA = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra == ['\"](?P<extra>[\w.-]+)['\"]")


def extras() -> dict[str, list[str]]:
    """Return the extras, each with its missing packages."""
    missing: dict[str, list[str]] = {}
    for line in metadata.requires("halluscope") or ():
        requirement = OF_EXTRA.match(line)
        if requirement is None or requirement["extra"] == "dev":
            continue
        missing.setdefault(requirement["extra"], [])
        try:
            metadata.distribution(requirement["package"])
        except metadata.PackageNotFoundError:
            missing[requirement["extra"]].append(requirement["package"])
    return missing


def _show_cache() -> None:
    from halluscope.judging.cache import Cache

    cache = Cache(mode="read")
    votes, replies = cache.count()
    cache.close()
    say(f"\nkept in {one_line(cache.path)}: {votes:,} votes, {replies:,} replies")


def _show_limits() -> None:
    say(
        f"\nlimits; {limits.OPTION} NAME=AMOUNT,... or the environment variable {limits.VARIABLE} changes them"
    )
    rows = []
    for name, limit in limits.LIMITS.items():
        most = limits.most(name)
        unit = limit.unit
        if most != limit.default:
            unit += f" (default: {limit.default:,})"
        rows.append([name, limit.about, f"{most:,}", unit])
    say(aligned(rows, ["limit", "of", "at most", ""], left=2))
