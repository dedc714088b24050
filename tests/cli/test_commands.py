"""The table of commands: every command has a function, a place in the help, and an example whose words are right."""

import re
import shlex

import pytest
from cyclopts import App

import halluscope
from halluscope import cli
from halluscope.benchmarks import LISTED
from halluscope.cli import build, commands
from halluscope.cli.commands import COMMANDS, Command, imported
from halluscope.cli.mistakes import MOVED


def leaves(given, before=()):
    """Return all commands that have no commands of their own, with the words that name them."""
    found = []
    for command in given:
        words = (*before, command.name)
        found += leaves(command.commands, words) if command.commands else [(words, command)]
    return found


ALL = leaves([command for group in COMMANDS.values() for command in group])


@pytest.mark.parametrize(("words", "command"), [pytest.param(*one, id=" ".join(one[0])) for one in ALL])
def test_a_command_has_a_function_and_a_page(words: tuple[str, ...], command: Command, capsys) -> None:
    assert callable(imported(command.path))
    names = [[name.typed] for name in commands.names_of(command)] if command.follows else [[]]
    for name in names:
        assert cli.main([*words, *name, "--help"]) == 0
        page = capsys.readouterr().out
        assert page.startswith(f"Usage: halluscope {' '.join([*words, *name])}")
        assert f"\n  halluscope {words[0]}" in page and "--limits" not in page
        assert " STR" not in page  # Python's name for a word
        assert all(len(line) <= 80 for line in page.splitlines() if not line.startswith("  halluscope "))


@pytest.mark.parametrize(("name", "judge"), [("mmhal", "--judge JUDGE"), ("throne", "--judges lexical")])
def test_an_example_has_the_judge_that_must_be_named(name: str, judge: str, ran) -> None:
    for command in ("score", "explain"):
        assert f"{judge}\n\nEvery command" in ran(f"{command} {name} --help").out


def test_datasets_of_one_benchmark_are_told_apart(ran) -> None:
    said = " ".join(ran("build --help").out.split())
    for benchmark in LISTED:
        assert set(benchmark.differences) == set(benchmark.datasets) or len(benchmark.datasets) < 2
        for difference in benchmark.differences.values():
            assert difference in said


@pytest.mark.parametrize(("words", "command"), [pytest.param(*one, id=" ".join(one[0])) for one in ALL])
def test_the_example_is_right(words: tuple[str, ...], command: Command) -> None:
    name = "throne_coco" if command.follows == commands.DATASET else "throne"
    example = command.example.format(name=name, dataset="throne_coco")
    for line in example.splitlines():
        function, _, _ = commands.parse(shlex.split(line.partition(" > ")[0])[1:])
        assert getattr(function, "__func__", None) is not App.help_print


def test_the_help_has_groups(capsys):
    """In the order of the contract, each with its commands."""
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^(\w.*):$", out, re.MULTILINE) == [*COMMANDS]
    assert cli.main(["--help"]) == 0
    assert capsys.readouterr().out == out
    assert cli.main(["score", "throne", "--help"]) == 0
    groups = ["Responses", "How they are scored", "Judges", "Intervals", "What is shown", "Example"]
    assert re.findall(r"^(\w.*):$", capsys.readouterr().out, re.MULTILINE) == groups


DATASETS = [dataset for benchmark in LISTED if benchmark.is_scored for dataset in benchmark.datasets]


@pytest.mark.parametrize("dataset", DATASETS)
def test_what_comes_after_a_build_is_a_command(dataset):
    said = build.next_step(dataset, dataset, with_images=False)
    typed = re.findall("`([^`]+)`", said)
    assert len(typed) == 2 and "--images FOLDER" in typed[0]
    for command in typed:
        function, _, _ = commands.parse(shlex.split(command)[1:])
        assert getattr(function, "__func__", None) is not App.help_print


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_says_the_new_one(old, capsys):
    assert cli.main([old, "pope"]) == 2
    said = capsys.readouterr().err
    new = re.search(r"type `halluscope ([^`]*)`", said)[1].split()
    names = [command.name for group in COMMANDS.values() for command in group]
    assert said.count("\n") == 1 and new[0] in names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "pope"], "--responses is missing"),
        (["score", "pope", "--responses"], "--responses has no value"),
        (["score", "pope", "--response", "a"], "There is no option --response. Did you mean '--responses'?"),
        (["compare"], "RUNS is missing"),
        (["compare", "a", "--format", "tabel"], "got 'tabel'; expected table, csv, markdown, latex, json."),
        (["compare", "a", "--level", "1", "--level", "2"], "--level is given twice"),
        (["compare", "a", "--all=x"], "--all: got 'x', but it takes no value"),
        (["list", "pope", "throne"], "'throne' is a word too many"),
        (["study", "reliabilty"], "There is no command study 'reliabilty'. Did you mean 'reliability'?"),
        (["compare", "a", "--bootstap=1"], "There is no option --bootstap. Did you mean '--bootstrap'?"),
    ],
)
def test_mistakes_are_one_line(words, said, capsys):
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and "--help` shows what there is." in err


def test_options_that_stand_for_the_whole_program(ran, refused):
    assert ran("--version").out == f"halluscope {halluscope.__version__}\n"
    assert "--limits has no value; expected NAME=AMOUNT" in refused("list --limits")
    assert "(default: 100,000,000)" in ran("list --limits pixels=10").out


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("scoer", "score"),
        ("score thorne", "throne"),
        ("list poep", "pope"),
        ("build thrown_coco", "throne_coco"),
    ],
)
def test_a_misspelt_name_gets_its_neighbour(words, meant, refused):
    assert f"Did you mean {meant!r}?" in refused(words)
