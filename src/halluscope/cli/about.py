"""Commands about what there is: benchmarks, datasets, files, metrics and tasks."""

import inspect as python
import re
from argparse import Namespace
from collections.abc import Sequence
from importlib import metadata

from halluscope import limits, registry
from halluscope.reading.datasets import home, is_subset
from halluscope.reporting.formats import aligned
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell, tell_error

# list


def list(_: Namespace) -> None:
    """Print benchmarks, datasets and where they are built, extras, kept votes, and limits."""
    from halluscope.judging.cache import Cache

    rows = []
    for benchmark in registry.records():
        data = [(dataset.name, _built(dataset.name)) for dataset in benchmark.datasets]
        reads = f"({', '.join(benchmark.reads)})" if benchmark.reads else ""
        (first, built), *others = data or [(reads, "")]
        rows += [[benchmark.name, benchmark.about, first, built], *(["", "", *of] for of in others)]
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


# info


def info(args: Namespace) -> None:
    """Print a benchmark's card, options, scores with their direction, and citation."""
    from halluscope.building.spec import load
    from halluscope.explaining import protocols
    from halluscope.options import defaults

    benchmark = registry.benchmark(args.name)
    lines = [
        f"{benchmark.title} ({benchmark.name}): {benchmark.about}",
        f"\n{benchmark.description.strip()}",
        f"\nlicences: {benchmark.licence}",
        *(f"more: {link}" for link in benchmark.links),
    ]
    for dataset in benchmark.datasets:
        if args.name in (dataset.name, benchmark.name):
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
    if benchmark.judges and benchmark.judges.published:
        lines.append(f"\n{benchmark.judges.of_published}")
    if benchmark.has_metric:
        lines.append("\nscores")
    for name, score in benchmark.scores.items():
        better = f"{score.better} is better" if score.better else "neither way is better"
        lines.append(f"  {name}: {better}{' (the principal score)' if name == benchmark.principal else ''}")
    if benchmark.is_scored:
        lines.append("\nprotocols (halluscope explain compares them)")
        for one in protocols.load(benchmark).each:
            unequal = f" (not equal: {one.discrepancy.why})" if one.discrepancy else ""
            lines.append(f"  {one.name}: {one.by}{unequal}")
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


def build(words: Sequence[str]) -> int:
    """Run a dataset's builder with the rest of the command line."""
    if not words or words[0].startswith("-"):
        known = ", ".join(sorted(dataset.name for dataset in registry.datasets()))
        say(f"usage: halluscope build NAME [options]; NAME is one of {known}")
        say(
            "`halluscope build NAME --help` shows a dataset's options and examples; `halluscope list` says what each "
            "benchmark measures."
        )
        return 0
    dataset = registry.dataset(words[0])
    try:
        return int(registry.benchmark(dataset.name).builder(dataset).main(words[1:]))
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or "nothing was changed.") from None


def inspect(args: Namespace) -> None:
    """Say what each file is; one that cannot be read is named, and the others are still inspected."""
    from halluscope.inspection.inspecting import DATASET, inspect

    found, failed = [], []
    for file in args.files:
        try:
            found.append(inspect(file))
        except (ValueError, OSError) as error:
            failed.append(str(error))
    if args.json:
        say(to_json([one.row() for one in found]))
    else:
        for one in found:
            say(f"{one_line(one.file)}: {one}")
            if one.command:
                say(f"  {one.command}")
        if any(DATASET in one.command for one in found):
            tell(
                f"{DATASET} is what has the questions or images; `halluscope list` names datasets, or give a file."
            )
    for message in failed:
        tell_error(message)
    if failed:
        raise ValueError(f"{len(failed)} of {len(args.files)} files cannot be read.")


def install_metrics(args: Namespace) -> None:
    """Install the metrics so that evaluate.load("throne") finds them by their bare names."""
    from halluscope.hub import installed

    if args.remove and not args.list:
        say(f"removed: {', '.join(installed.remove()) or 'nothing was installed'}")
        return
    say("\n".join(map(str, installed.listed() if args.list else installed.install())))
    say(f"in {installed.cache()}")


def tasks(args: Namespace) -> None:
    """Write our tasks for a harness, and print their folder."""
    from halluscope.harness import tasks

    say(tasks.write(args.harness, args.out))
