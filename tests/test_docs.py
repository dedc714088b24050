"""The documentation shows existing commands, a notebook that runs, and current signatures."""

import ast
import doctest
import importlib
import json
import pkgutil
import re
import shlex
import tempfile
from pathlib import Path

import pytest
from cyclopts import App

import halluscope
from halluscope import registry
from halluscope.benchmarks.throne import metric as throne
from halluscope.cli import commands
from halluscope.responses.names import IDS, TEXTS

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "metrics").glob("*/README.md")),
]
COMMANDS = sorted(
    {
        " ".join(found.split("  #")[0].split(" > ")[0].split())
        for page in PAGES
        for found in re.findall(
            r"^\$ (halluscope (?:.*\\\n)*.*)", page.read_text("utf-8").replace("\\\n", " "), re.M
        )
    }
)


def test_the_readme_is_short():
    """But for its table of benchmarks, which has a line more for each."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines(keepends=True)
    others = [line for line in lines if not line.startswith("| [")]
    assert len("".join(others).encode()) < 7000


@pytest.mark.parametrize("name", [benchmark.name for benchmark in registry.records()])
def test_the_readme_names_it(name):
    text = (ROOT / "README.md").read_text()
    benchmark = registry.benchmark(name)
    page = f"metrics/{name}/README.md" if benchmark.has_metric else f"dataset_cards/{name}.md"
    assert f"({page})" in text, f"README.md's table of benchmarks has no link to {page}; add a line."
    assert [dataset.name for dataset in benchmark.datasets if f"`{dataset.name}`" not in text] == []


@pytest.mark.parametrize("names", [IDS, TEXTS], ids=["ids", "texts"])
def test_the_columns_that_are_looked_for_are_listed(names):
    words = [f"`{name}`" for name in names]
    listed = f"{', '.join(words[:-1])} and {words[-1]}"
    page = " ".join((ROOT / "docs/responses.md").read_text().split())
    assert listed in page, f"docs/responses.md does not list {listed}."


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_there(command):
    """Each command of the documentation has options that exist, with values of the right kind."""
    function, _, _ = commands.parse(shlex.split(command)[1:])
    assert getattr(function, "__func__", None) is not App.help_print


def test_examples_in_docstrings_give_what_they_show():
    names = [one.name for one in pkgutil.walk_packages(halluscope.__path__, "halluscope.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    failed = {module.__name__: doctest.testmod(module) for module in modules}
    assert {name: found for name, found in failed.items() if found.failed} == {}
    assert sum(found.attempted for found in failed.values()) > 80


def test_there_are_commands():
    assert len(COMMANDS) > 60


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), (page, target)


def test_a_signature_of_today_is_shown():
    page = (ROOT / "docs/signatures.md").read_text()
    shown = next(line for line in page.splitlines() if line.startswith("throne|"))
    now = throne.compute([""], [[]], judges="lexical", bootstrap=1000)["signature"]
    assert [part.split(":")[0] for part in shown.split("|")] == [
        part.split(":")[0] for part in now.split("|")
    ]


@pytest.mark.filterwarnings("error::UserWarning")  # which a notebook shows in red
def test_the_quickstart_runs(tmp_path, monkeypatch):
    """Run the notebook's cells in order, as a kernel does, and check what it says about the descriptions."""
    monkeypatch.chdir(tmp_path)
    real = tempfile.mkdtemp  # the notebook's own folder has no options
    monkeypatch.setattr("tempfile.mkdtemp", lambda *options: real(*options) if options else str(tmp_path))
    shown, names = [], {}
    for cell in json.loads((ROOT / "docs/quickstart.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            shown.append(_run("".join(cell["source"]), names))
            for output in cell["outputs"]:
                said = _without_digest("".join(output["data"]["text/plain"]))
                # a kernel breaks long lists
                is_same = said == _without_digest(repr(shown[-1])) or ast.literal_eval(said) == shown[-1]
                assert is_same, f"docs/quickstart.ipynb shows {said}; expected {shown[-1]}. Execute it again."
    # "agreeable" mentions 15 things, of which 9 are among the 12 in the pictures ("man" is a person)
    assert {"careful": (1.0, 11 / 12), "agreeable": (0.6, 0.75)} in shown
    found = [row["hallucinated"] for row in names["scores"]["agreeable"]["per_image"]]
    assert found == [["bench"], ["remote", "book"], ["knife", "dining table"], ["backpack"]]
    marked = [
        [mark.says for mark in item.marks if mark.kind == "bad"] for item in shown[-1].page.runs[0].items
    ]
    assert sorted(marked[2]) == ["dining table: hallucinated", "knife: hallucinated"] and len(marked) == 4


def _without_digest(text):
    """Return a text without the digest of the lexical judge's rules, which changes with each rule."""
    return re.sub(r"\blexical-\d+-[0-9a-f]{8}", "lexical", text)


def _run(source, names):
    """Run a cell, and return the value of its last line, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - this repository's own notebook
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # noqa: S307
