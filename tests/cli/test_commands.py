"""commands.toml: what it repeats of the code is what the code has, and every command has a function."""

from importlib import import_module

import pytest

from halluscope import cli
from halluscope.cli.common import COMMANDS, SHARED
from halluscope.harness.tasks import HARNESSES
from halluscope.judging import batch
from halluscope.judging.judge import AT_ONCE
from halluscope.reliability import sheet
from halluscope.reporting.figures.charts import FORMATS as DRAWN
from halluscope.reporting.figures.plots import FIGURES
from halluscope.reporting.formats import FORMATS, LINE
from halluscope.responses.thoughts import THOUGHTS
from halluscope.stats.bootstrap import RESAMPLES


def test_defaults_and_choices_are_the_codes():
    export = COMMANDS["ask"]["kinds"]["export"]["options"]
    assert (export["--requests"]["default"], export["--bytes"]["default"]) == (
        batch.MOST_REQUESTS,
        batch.MOST_BYTES,
    )
    assert SHARED["--bootstrap"]["default"] == RESAMPLES and f"{RESAMPLES:,}" in SHARED["--bootstrap"]["help"]
    assert SHARED["--format"]["choices"] == (*FORMATS,)
    assert COMMANDS["score"]["options"]["--format"]["choices"] == (
        *FORMATS,
        LINE,
    )
    assert SHARED["--thoughts"]["choices"] == (*THOUGHTS,)
    assert f"(default: {AT_ONCE})" in COMMANDS["answer"]["options"]["--at-once"]["help"]
    assert COMMANDS["plot"]["options"]["--figures"]["default"] == (*FIGURES,)
    assert COMMANDS["plot"]["options"]["--format"]["choices"] == (*DRAWN,)
    assert COMMANDS["tasks"]["options"]["harness"]["choices"] == (*HARNESSES,)
    marks = COMMANDS["review"]["kinds"]["make"]["options"]["--marks"]["choices"]
    assert marks == (sheet.VALID, sheet.AGREE, sheet.IMPLIED, sheet.VERDICT)


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
    for folder in ("pope", "pope_c"):
        (tmp_path / "datasets" / folder).mkdir(parents=True)
        (tmp_path / "datasets" / folder / "spec.toml").write_text("version = '1'")
    (tmp_path / "a.jsonl").write_text('{"question_id": 1, "response": "Yes."}')
    assert cli.main(["score", "pope", "--responses", "a.jsonl", "--dataset", name]) == 2
    assert (
        f"There is no dataset '{name.removeprefix('datasets/').partition(':')[0]}' in"
        in capsys.readouterr().err
    )
