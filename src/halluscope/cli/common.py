"""What several commands share: their options, declared in commands.toml, and how results are printed."""

from argparse import SUPPRESS, ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halluscope import registry, scoring
from halluscope.arguments import Parser
from halluscope.benchmark import Benchmark
from halluscope.files.writing import check_new
from halluscope.judging.cache import cache_of, default_path
from halluscope.options import ALL, MatchingOptions
from halluscope.paths import path_of
from halluscope.reporting.formats import CSV, JSON, LATEX, text_notes, written
from halluscope.reporting.tables import Report, Values, to_json
from halluscope.scoring import Ready
from halluscope.terminal import is_quiet, say, tell
from halluscope.vocabularies import read_toml

COMMANDS = read_toml(__file__, "commands.toml")
GROUPS, SHARED = COMMANDS.pop("groups"), COMMANDS.pop("shared")

# A parser, or a group of its options
Parsing = ArgumentParser | _ArgumentGroup

# The benchmarks for which a command has a subcommand, or an option
FITTING: Mapping[str, Callable[[Benchmark], bool]] = {
    "scored": lambda one: one.is_scored,
    "judged": lambda one: bool(one.judges and one.is_scored),
    "votes": lambda one: bool(one.judges and one.judges.kind == "votes"),
}


def add_command(parser: ArgumentParser, name: str, command: Values, module: Any) -> None:
    """Add a command's subcommands or options; `parser_COMMAND` and `options_COMMAND` of its module add the rest."""
    if kinds := command.get("kinds"):
        subs = parser.add_subparsers(required=True, metavar=" | ".join(kinds))
        for kind, own in kinds.items():
            sub = subs.add_parser(kind, help=own["about"], description=f"{own['about'].capitalize()}.")
            add_command(sub, f"{name}_{kind}", own, module)
        return
    change = getattr(module, f"parser_{name}", lambda *_: None)
    choose = getattr(module, f"options_{name}", lambda benchmark: benchmark)
    run = getattr(module, name)
    if "for" not in command:
        benchmark = choose(None)
        declare(parser, command, benchmark)
        parser.set_defaults(run=run, **({"name": benchmark.name} if benchmark else {}))
        change(parser, benchmark)
        return
    names = parser.add_subparsers(required=True, metavar="NAME", parser_class=Parser)
    for benchmark in filter(FITTING[command["for"]], registry.benchmarks()):
        aliases = [one.name for one in benchmark.datasets if one.name != benchmark.name]
        about = benchmark.about + (f" (also {', '.join(aliases)})" if aliases else "")
        needs = f" Needs pip install 'halluscope[{','.join(benchmark.extras)}]'." if benchmark.extras else ""
        more = command.get("description", "").format(name=benchmark.name)
        for named in (benchmark.name, *aliases):
            help: Any = {"help": about} if named == benchmark.name else {}
            sub = names.add_parser(
                named, description=f"{benchmark.title}: {benchmark.about}.{needs} {more}", **help
            )
            declare(sub, command, choose(benchmark))
            sub.set_defaults(run=run, name=named)
            change(sub, benchmark)


def declare(parser: Parsing, command: Values, benchmark: Benchmark | None = None) -> None:
    """Add the options that a command of commands.toml takes."""
    own = command.get("options", {})
    for name in dict.fromkeys([*_flat(command.get("with", ())), *own]):
        option = {**own.get(name, {})}
        if option.keys() <= {"help", "required", "unset"}:
            option = {**SHARED.get(name, {}), **option}
        fitting = option.pop("for", None)
        if option.pop("unset", False):
            option["default"] = SUPPRESS
        if name == "benchmark" and benchmark:
            add_options(parser, benchmark)
        elif not (benchmark and fitting) or FITTING[fitting](benchmark):
            parser.add_argument(name, **option)


def _flat(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield from _flat(GROUPS[name]) if name in GROUPS else (name,)


def add_options(parser: Parsing, benchmark: Benchmark) -> None:
    """Add the benchmark's own options; one that is not named is not set."""
    for option in benchmark.options:
        more: dict[str, Any] = {"action": "store_true"}
        if not option.flag:
            choices = [*option.choices, *([ALL] if option.every else [])]
            more = {"type": option.type, "nargs": "+" if option.many else None, "choices": choices or None}
            more["metavar"] = option.metavar or None
        name = f"--{option.name.replace('_', '-')}"
        parser.add_argument(name, default=SUPPRESS, help=option.help, **more)
    if benchmark.judges:
        declare(parser, {"with": ["--device", "--store"]})


def options_of(args: Namespace, benchmark: Benchmark) -> dict[str, Any]:
    """Return the benchmark's options for Python."""
    judging = ("device", "store") if benchmark.judges else ()
    names = [*(one.name for one in benchmark.options), "thoughts", *judging]
    found = dict(benchmark.options_of(args.name))
    found |= {name: getattr(args, name) for name in names if hasattr(args, name)}
    if benchmark.judges:
        found["progress"] = not is_quiet()
    if found.get("fresh"):
        # One cache for all files: the same prompt is asked once per run.
        found["store"] = cache_of(found.get("store"), fresh=True)
    return found


def matching_options(args: Namespace) -> MatchingOptions:
    return MatchingOptions(
        args.limit, getattr(args, "partial", False), args.id_column, args.text_column, args.sheet
    )


def ready(
    args: Namespace,
    benchmark: Benchmark,
    options: Values,
    dataset: Sequence[str] | None = None,
) -> list[Ready]:
    """Return the responses, matched to the dataset."""
    return scoring.prepare(
        benchmark, args.responses, dataset or args.dataset, options, matching_options(args)
    )


def output(args: Namespace, data: Any, report: Callable[[], Report] | None = None) -> None:
    """Print a result in the format of --format: its data as JSON, or its report (without `report`, the data's own)."""
    if args.format == JSON:
        say(to_json(data))
        return
    # A table in LaTeX has no columns for intervals: where no option asks for them, they stand beside their numbers.
    with_ends = getattr(args, "intervals", args.format == LATEX)
    parts = report() if report else data.report
    say(written(parts, args.format, with_ends))
    if args.format == CSV:
        tell(text_notes(parts))


def check_output(args: Namespace, path: Path) -> None:
    """Check that a file can be written, and is not where replies are kept."""
    store = getattr(args, "store", None)
    check_new(path, [default_path(), *([path_of(store)] if store else [])])
