"""The commands: their names, in groups, with an example each, and where their functions are.

Here are names alone: a command's module is imported by who uses the command, and a benchmark's class by who names it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import BoundArguments
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter

from halluscope.benchmarks import LISTED, Listed
from halluscope.cli.pages import Formatter, page
from halluscope.terminal import say

ABOUT = "Hallucination benchmarks for vision-language models."

# What is said below each page
EVERYWHERE = "Every command takes --quiet (no notices, no progress bars)"
AT_TOP = f"`halluscope COMMAND --help` shows a command's options, with an example.\n{EVERYWHERE}."

# What follows the name of a command
BENCHMARK = "benchmark"
DATASET = "dataset"

EXAMPLE = "pope"  # the benchmark, and its dataset, of examples that need one
ALONE = "halluscope score --responses answers --out runs"  # an example of `score` without a name


@dataclass(frozen=True)
class Command:
    """A command."""

    name: str
    summary: str
    # "module:name" of its function in `halluscope.cli`; if a name `follows`, of the function that returns the `Named`
    # command of that name
    function: str = ""
    example: str = ""  # {name} is the benchmark or dataset, {dataset} a dataset of the benchmark
    follows: str = ""  # `BENCHMARK` or `DATASET` if such a name follows
    is_made: bool = False  # whether `function` returns the command, without a name
    alone: str = ""  # "module:name" of the function for no name, where one `follows`
    commands: tuple["Command", ...] = ()  # its own commands

    @property
    def path(self) -> str:
        return f"halluscope.cli.{self.function}"


COMMANDS: Mapping[str, Sequence[Command]] = {
    "From responses to a paper": (
        Command(
            "build",
            "build a dataset from its authors' files",
            "build:command_of",
            "halluscope build {name}",
            follows=DATASET,
        ),
        Command(
            "inspect",
            "say what a file is, and which command scores it",
            "inspect:inspect",
            "halluscope inspect answers.jsonl",
        ),
        Command(
            "answer",
            "ask a vision-language model a benchmark's questions",
            "answer:answer",
            "halluscope answer --model org/name --dataset pope --images val2014 --out answers.jsonl",
        ),
        Command(
            "score",
            "score responses, from files of any form",
            "score:command_of",
            "halluscope score {name} --responses answers.jsonl --dataset {dataset} --out runs/mine",
            follows=BENCHMARK,
            alone="score_folder:score_folder",
        ),
        Command(
            "table",
            "put runs side by side: a row per model, as in papers",
            "table:table",
            "halluscope table runs --format latex > table.tex",
        ),
        Command(
            "compare",
            "say whether one model is better, beyond chance",
            "runs:compare",
            "halluscope compare runs/one runs/other",
        ),
        Command(
            "report",
            "write a page that shows what went wrong, or figures",
            "report:report",
            "halluscope report runs/mine --images val2014 --out report.html",
        ),
        Command(
            "explain",
            "say why protocols score the same responses unequally",
            "explain:command_of",
            "halluscope explain {name} --responses answers.jsonl --dataset {dataset}",
            follows=BENCHMARK,
        ),
        Command(
            "list",
            "list benchmarks and datasets, or show a card",
            "list:show",
            "halluscope list pope",
        ),
    ),
    "To try it": (
        Command(
            "demo",
            "score eight descriptions, and show their errors",
            "demo:demo",
            "halluscope demo",
        ),
    ),
    "To check and to publish": (
        Command(
            "verify",
            "check that a run's scores follow from its rows",
            "runs:verify",
            "halluscope verify runs/mine",
        ),
        Command(
            "publish",
            "put datasets, metrics and results on the Hub",
            example="halluscope publish dataset pope --org me",
            commands=(
                Command(
                    "dataset",
                    "a dataset that `halluscope build` made",
                    "publish:dataset",
                    "halluscope publish dataset pope --org me",
                ),
                Command(
                    "metric",
                    "a metric, as a Space that evaluate loads and that visitors can try",
                    "publish:metric",
                    "halluscope publish metric pope --org me --package URL",
                ),
                Command(
                    "benchmark",
                    "a repository without data, whose leaderboard collects results: card and eval.yaml",
                    "publish:benchmark",
                    "halluscope publish benchmark repope --org me",
                ),
                Command(
                    "results",
                    "the principal score of a run, into the model's repository",
                    "publish:results",
                    "halluscope publish results runs/mine --model me/model --benchmark org/pope",
                ),
            ),
        ),
    ),
    "For other programs": (
        Command(
            "tasks",
            "write tasks for lm-eval or lmms-eval",
            "tasks:tasks",
            "halluscope tasks lm-eval",
        ),
        Command(
            "install-metrics",
            "let evaluate.load find the metrics by bare names",
            "tasks:install_metrics",
            "halluscope install-metrics",
        ),
    ),
    "For researchers": (
        Command(
            "study",
            "measure how far benchmarks and judges can be believed",
            example="halluscope study items runs",
            commands=(
                Command(
                    "reliability",
                    "measure whether a benchmark gives the same scores when it is run again",
                    "reliability:reliability",
                    "halluscope study reliability runs/first --retest runs/second",
                ),
                Command(
                    "hqm",
                    "give HQM's indicators of a benchmark: the paper's name for `reliability`",
                    "reliability:reliability",
                    "halluscope study hqm runs/first --retest runs/second --published",
                ),
                Command(
                    "correlate",
                    "correlate two benchmarks: do they rank the same models alike?",
                    "reliability:correlate",
                    "halluscope study correlate runs/pope runs/throne",
                ),
                Command(
                    "parallel",
                    "reword a benchmark's questions",
                    "reliability:parallel",
                    "halluscope study parallel datasets/pope --out form",
                ),
                Command(
                    "swap",
                    "compare two judges of the same responses: how often do they agree, and what happens to scores "
                    "and ranks?",
                    "runs:swap",
                    "halluscope study swap runs/by-one-judge runs/by-another",
                ),
                Command(
                    "agree",
                    "compare how two methods read classes from the same responses; draw a sheet for marking errors",
                    "agree:agree",
                    "halluscope study agree votes=runs/by-votes words=runs/by-words",
                ),
                Command(
                    "items",
                    "show how hard each row is, and how well it tells models apart: which labels may be wrong?",
                    "runs:items",
                    "halluscope study items runs",
                ),
                Command(
                    "sheet",
                    "make sheets on which people mark rows, and read the marked sheets",
                    example="halluscope study sheet make datasets/pope --sample 100 --out sheet",
                    commands=(
                        Command(
                            "make",
                            "draw a sample, and write a page and a CSV to mark it on",
                            "sheets:command",
                            "halluscope study sheet make datasets/pope --sample 100 --out sheet",
                            is_made=True,
                        ),
                        Command(
                            "read",
                            "print what a marked sheet says",
                            "sheets:read",
                            "halluscope study sheet read sheet/sheet.csv",
                        ),
                    ),
                ),
                Command(
                    "certify",
                    "measure how often judges err, by labels that people gave, and correct scores by them",
                    "certify:command",
                    "halluscope study certify sheet/sheet.csv --run runs/mine\n"
                    "  halluscope study certify runs/one runs/two --certificate one.json two.json",
                    is_made=True,
                ),
            ),
        ),
    ),
}


def run(words: Sequence[str], typed: Sequence[str]) -> None:
    """Run a command.

    Args:
        words: the words of the command line, without the options that every command takes.
        typed: all words as they were typed, which a run records.

    Raises:
        ValueError: if the words are no command.
    """
    command, bound, unparsed = parse(words)
    # by --help, or where a command's name is missing
    if getattr(command, "__func__", None) is App.help_print:
        say(page(app(words), [word for word in words if word not in ("--help", "-h")]))
        return
    if unparsed:
        bound.arguments["typed"] = typed
    command(*bound.args, **bound.kwargs)


def parse(words: Sequence[str]) -> tuple[Any, BoundArguments, dict[str, Any]]:
    """Return the function of a command, its arguments, and which it wants besides: `typed`."""
    commands = app(words)
    try:
        return commands.parse_args(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        from halluscope.cli.mistakes import told

        raise ValueError(told(error, words)) from None


def app(words: Sequence[str] = ()) -> App:
    """Return the command line; a benchmark's or a dataset's own options are there only if the words name it."""
    top = App(
        name="halluscope",
        help=ABOUT,
        help_epilogue=AT_TOP,
        help_format="plaintext",
        help_formatter=Formatter(),
        version_flags=(),
        default_parameter=Parameter(
            negative=(), consume_multiple=(1, None), show_default=False, json_list=False, json_dict=False
        ),
        group_arguments=Group("Arguments", sort_key=-2),
        group_parameters=Group("Options", sort_key=-1),
        group_commands=Group("Commands"),
        result_action="return_value",
    )
    top["--help"].show = False
    place = 0
    for title, commands in COMMANDS.items():
        group = Group.create_ordered(title)
        for command in commands:
            place += 1
            _add(top, command, words, group=group, sort_key=place)
    return top


def _add(app: App, command: Command, words: Sequence[str], **where: Any) -> None:
    """Add a command; `words` are those after the name of `app`, if the command line names `app`."""
    is_named = list(words[:1]) == [command.name]
    summary = _sentence(command.summary)
    if command.commands or command.follows:
        sub = App(name=command.name, help=summary, help_epilogue=_epilogue(_first_example(command)), **where)
        app.command(sub)
        rest = words[1:] if is_named else []
        for place, inner in enumerate(command.commands):
            _add(sub, inner, rest, sort_key=place)
        if command.alone and rest and rest[0].startswith("--"):
            sub.default(imported(f"halluscope.cli.{command.alone}"))
        if command.follows:
            for name in names_of(command):
                _add_name(sub, command, name, is_named=list(rest[:1]) == [name.typed])
        return
    function: Any = command.path
    if command.is_made and is_named:
        function = imported(function)()
    app.command(function, name=command.name, help=summary, help_epilogue=_epilogue(command.example), **where)


def _first_example(command: Command) -> str:
    """Return the example of a command that a name or another command follows."""
    if not command.follows:
        return command.example
    example = command.example.format(name=EXAMPLE, dataset=EXAMPLE)
    if command.alone:
        example += f"\n  {ALONE}"
    return example


@dataclass(frozen=True)
class Name:
    """A name that may follow a command."""

    typed: str
    benchmark: Listed
    is_shown: bool = True  # whether the command's help lists it


def names_of(command: Command) -> list[Name]:
    """Return the names that may follow a command: of datasets, or of benchmarks and their datasets."""
    names = []
    for benchmark in LISTED:
        if command.follows == DATASET:
            names += [Name(dataset, benchmark) for dataset in benchmark.datasets]
        elif benchmark.is_scored:
            names.append(Name(benchmark.name, benchmark))
            for dataset in benchmark.datasets:
                if dataset != benchmark.name:
                    names.append(Name(dataset, benchmark, is_shown=False))
    return names


def _add_name(sub: App, command: Command, name: Name, is_named: bool) -> None:
    """Add a command of a benchmark or dataset, with its options if it `is_named`."""
    function: Any = command.path
    summary = name.benchmark.about
    aliases = [dataset for dataset in name.benchmark.datasets if dataset != name.typed]
    if command.follows == DATASET:
        summary = name.benchmark.about_dataset(name.typed)
    elif aliases:
        summary += f" (also {', '.join(aliases)})"
    example = _example_of(command, name)
    if is_named:
        named = imported(function)(name.typed)
        function = named.function
        summary = named.summary
        example = " ".join([example, *named.judge])
    if example in summary:  # as builders' do
        example = ""
    sub.command(function, name=name.typed, help=summary, help_epilogue=_epilogue(example), show=name.is_shown)


def _example_of(command: Command, name: Name) -> str:
    """Return a command's example with a name, and with its dataset, or a benchmark's first one."""
    dataset = name.typed
    if dataset not in name.benchmark.datasets:
        dataset = (name.benchmark.datasets + name.benchmark.reads)[0]
    return command.example.format(name=name.typed, dataset=dataset)


def imported(path: str) -> Any:
    """Return what "module:name" is."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _sentence(summary: str) -> str:
    """Return a command's summary as a sentence."""
    sentence = summary[0].upper() + summary[1:]
    if sentence.endswith("?"):
        return sentence
    return f"{sentence}."


def _epilogue(example: str) -> str:
    """Return what is said below a command's page."""
    if not example:
        return f"{EVERYWHERE}."
    return f"Example:\n  {example}\n\n{EVERYWHERE}."
