"""commands.toml: what it repeats of the code is what the code has, and every command has a function."""

from importlib import import_module

import pytest

from halluscope import cli
from halluscope.cli.common import COMMANDS, SHARED
from halluscope.harness.tasks import HARNESSES
from halluscope.judging.judge import AT_ONCE
from halluscope.reliability import sheet
from halluscope.reporting.figures import FORMATS as DRAWN
from halluscope.reporting.formats import FORMATS, LINE
from halluscope.responses.thoughts import THOUGHTS
from halluscope.stats.bootstrap import RESAMPLES


def test_defaults_and_choices_are_the_codes():
    def options(command, kind=None):
        of = COMMANDS[command]
        return (of["kinds"][kind] if kind else of)["options"]

    assert SHARED["--bootstrap"]["default"] == RESAMPLES and f"{RESAMPLES:,}" in SHARED["--bootstrap"]["help"]
    assert f"(default: {AT_ONCE})" in options("answer")["--at-once"]["help"]
    for option, choices in (
        (SHARED["--format"], FORMATS),
        (options("score")["--format"], (*FORMATS, LINE)),
        (SHARED["--thoughts"], THOUGHTS),
        (options("plot")["--format"], DRAWN),
        (options("tasks")["harness"], HARNESSES),
        (options("review", "make")["--marks"], (sheet.VALID, sheet.AGREE, sheet.IMPLIED, sheet.VERDICT)),
    ):
        assert option["choices"] == (*choices,)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_function_and_a_parser(name):
    module, kinds = import_module(f"halluscope.cli.{COMMANDS[name]['in']}"), COMMANDS[name].get("kinds", {})
    for one in [f"{name}_{kind}" for kind in kinds] or [name]:
        assert callable(getattr(module, one.replace("-", "_")))
    cli.parser(name)


@pytest.mark.parametrize("name", ["pope", "pope:coco", "datasets/pope", "pope_c"])
def test_a_dataset_of_a_clone_that_is_not_built(name, tmp_path, capsys, monkeypatch):
    """The folder holds the dataset's specification alone."""
    monkeypatch.chdir(tmp_path)
    dataset = name.removeprefix("datasets/").partition(":")[0]
    (tmp_path / "datasets" / dataset).mkdir(parents=True)
    (tmp_path / "datasets" / dataset / "spec.toml").write_text("version = '1'")
    (tmp_path / "a.jsonl").write_text('{"question_id": 1, "response": "Yes."}')
    assert cli.main(["score", "pope", "--responses", "a.jsonl", "--dataset", name]) == 2
    assert f"There is no dataset '{dataset}' in" in capsys.readouterr().err
