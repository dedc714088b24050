"""Lists what there is: benchmarks, datasets, extras, kept votes, limits; or says what one benchmark is."""

import inspect as python
import re
from collections.abc import Sequence
from importlib import metadata

from halluscope import limits, registry
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
    if name is None:
        _show_all()
    else:
        _show_card(name)


def _show_all() -> None:
    """Print benchmarks, datasets and where they are built, extras, kept votes, and limits."""
    from halluscope.judging.cache import Cache

    rows = []
    for benchmark in LISTED:
        row = [benchmark.name, benchmark.about]
        if benchmark.reads:
            rows.append([*row, f"({', '.join(benchmark.reads)})", ""])
            continue
        for dataset in benchmark.datasets or [""]:
            rows.append([*row, dataset, _built(dataset) if dataset else ""])
            row = ["", ""]
    say(aligned(rows, ["benchmark", "measures", "dataset", "built"], left=4))
    say("\nextras of this installation")
    for extra, missing in extras().items():
        lacking = f"lacks {', '.join(missing)}: pip install 'halluscope[{extra}]'"
        say(f"  {extra}: {lacking if missing else 'installed'}")
    cache = Cache(mode="read")
    votes, replies = cache.count()
    cache.close()
    say(f"\nkept in {one_line(cache.path)}: {votes:,} votes, {replies:,} replies")
    say(
        f"\nlimits; {limits.OPTION} NAME=AMOUNT,... or the environment variable {limits.VARIABLE} changes them"
    )
    rows = []
    for name, limit in limits.LIMITS.items():
        most = limits.most(name)
        usual = "" if most == limit.default else f" (default: {limit.default:,})"
        rows.append([name, limit.about, f"{most:,}", f"{limit.unit}{usual}"])
    say(aligned(rows, ["limit", "of", "at most", ""], left=2))


def _built(dataset: str) -> str:
    folder = home(dataset)
    return f"{folder}{' (subset)' if is_subset(folder) else ''}" if (folder / "data").is_dir() else "no"


# A requirement, such as: torch>=2.4; extra == 'judge'
_OF_EXTRA = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra == ['\"](?P<extra>[\w.-]+)['\"]")


def extras() -> dict[str, Sequence[str]]:
    """Return the extras, each with its missing packages."""
    found: dict[str, Sequence[str]] = {}
    for line in metadata.requires("halluscope") or ():
        if (named := _OF_EXTRA.match(line)) and named["extra"] != "dev":
            missing = found.setdefault(named["extra"], [])
            try:
                metadata.distribution(named["package"])
            except metadata.PackageNotFoundError:
                found[named["extra"]] = [*missing, named["package"]]
    return found


# One benchmark


def _show_card(name: str) -> None:
    """Print a benchmark's card, options, scores with their direction, and citation."""
    from halluscope.building.spec import load
    from halluscope.explaining import protocols
    from halluscope.options import defaults

    benchmark = registry.benchmark(name)
    lines = [
        f"{benchmark.title} ({benchmark.name}): {benchmark.about}",
        f"\n{benchmark.description.strip()}",
        f"\nlicences: {benchmark.licence}",
        *(f"more: {link}" for link in benchmark.links),
    ]
    for dataset in benchmark.datasets:
        if name in (dataset.name, benchmark.name):
            spec = load(dataset.name)
            counts = (f"{count:,} {name.replace('_', ' ')}" for name, count in spec.expected.items())
            key = f"rows are identified by {', '.join(dataset.key)}"
            lines += [
                f"\ndataset {dataset.name} {spec.version}: {', '.join(counts)}",
                f"  {key}; licence {spec.license}. {spec.license_note}",
                f"  halluscope build {dataset.name}",
            ]
    if benchmark.is_scored:
        lines.append(f"\nprompt: {benchmark.prompt} (at most {benchmark.max_new_tokens} new tokens)")
        for called, prompt in benchmark.prompts.items():
            lines.append(f"prompt {called}: {prompt}")
    if benchmark.judges and benchmark.judges.published:
        lines.append(f"\n{benchmark.judges.of_published}")
    if benchmark.has_metric:
        lines.append("\nscores")
    for score_name, score in benchmark.scores.items():
        better = f"{score.better} is better" if score.better else "neither way is better"
        lines.append(
            f"  {score_name}: {better}{' (the principal score)' if score_name == benchmark.principal else ''}"
        )
    if benchmark.is_scored:
        lines.append("\nprotocols (halluscope explain compares them)")
        for protocol in protocols.load(benchmark).each:
            unequal = f" (not equal: {protocol.discrepancy.why})" if protocol.discrepancy else ""
            lines.append(f"  {protocol.name}: {protocol.by}{unequal}")
    if benchmark.has_metric:
        lines.append("\noptions")
        for option in benchmark.options:
            choices = f" [{', '.join(option.choices)}]" if option.choices else ""
            lines.append(f"  {option.name}: {option.help}{choices}")
        known = {option.name for option in benchmark.options}
        for name, default in defaults(benchmark.compute).items():
            if name not in known:
                lines.append(f"  {name} (in Python only; default: {default!r})")
    say("\n".join([*lines, f"\n{python.cleandoc(benchmark.citation)}"]))


# The rest
