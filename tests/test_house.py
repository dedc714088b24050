"""The order of packages ("rooms" on "floors"): a room imports only rooms below it, inside functions too."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from halluscope import registry
from halluscope.paths import PACKAGE

# From the ground floor up. The face (`halluscope`) stands outside: it opens rooms when it is called.
ROOMS = """
version, list of benchmarks, errors, signature, paths, network, sanitize, naming, terminal, limits, cores, class_labels,
validation, options, files, vocabularies, stats,
judging, judging.models, judging.lexical,
judging.resolve, judging.planning, judging.options, judging.verdicts, judging.given_verdicts,
reading, responses, benchmark, metric, rows_metric, labelled, judged,
registry, reporting, building, mentions, inspection, scoring, runs,
explaining, benchmarks, answering, harness, hub, studies, cli
"""
FLOORS = re.split(r",\s*", ROOMS.strip())

SHARED = [room for room in FLOORS if room not in ("benchmarks", "vocabularies")]
FACE = ("halluscope", "halluscope.__main__")


def modules() -> dict[str, Path]:
    """Return all modules by name."""
    return {
        ".".join(("halluscope", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): file
        for file in sorted(PACKAGE.rglob("*.py"))
    }


def imports(module: str, file: Path, known: set[str]) -> Iterator[str]:
    """Yield the modules of this package that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "halluscope":
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)


def room(module: str) -> str:
    """Return the room that a module belongs to."""
    if module == "halluscope.benchmarks":
        return "list of benchmarks"
    inside = module.removeprefix("halluscope.")
    return next(floor for floor in reversed(FLOORS) if inside == floor or inside.startswith(f"{floor}."))


MODULES = modules()
ARROWS = {
    module: sorted(set(imports(module, file, set(MODULES))))
    for module, file in MODULES.items()
    if module not in FACE
}


def test_no_room_goes_through_the_face():
    assert [module for module, others in ARROWS.items() if "halluscope" in others] == []


@pytest.mark.parametrize("module", ARROWS)
def test_what_a_room_imports_lies_below_it(module):
    above = [other for other in ARROWS[module] if FLOORS.index(room(other)) > FLOORS.index(room(module))]
    assert above == []


def test_the_guide_lists_all_rooms_from_the_top_down():
    guide = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide.partition("\n## Where things are\n")[2].partition("\n## ")[0]
    listed = []
    for line in section.splitlines():
        if line.startswith("| `"):
            names = re.findall(r"`([a-z_]+)(?:/|\.py)", line.split("|")[1])
            listed.append([FLOORS.index(name) for name in names])
    rooms = {number for number, name in enumerate(FLOORS) if "." not in name}
    assert {number for row in listed for number in row} == rooms - {FLOORS.index("list of benchmarks")}
    for above, below in pairwise(listed):
        assert min(above) > max(below)


def test_only_the_command_line_imports_studies():
    rooms = {
        room(module) for module, others in ARROWS.items() for other in others if room(other) == "studies"
    }
    assert rooms == {"studies", "cli"}


def test_no_modules_import_each_other():
    TopologicalSorter(ARROWS).prepare()  # raises CycleError, naming the circle


@pytest.mark.parametrize("module", [module for module in ARROWS if room(module) in SHARED])
def test_shared_rooms_import_no_benchmark(module):
    assert [other for other in ARROWS[module] if room(other) == "benchmarks"] == []


@pytest.mark.parametrize("name", [room.name for room in registry.records()])
def test_shared_rooms_do_not_name_a_benchmark(name):
    if name in ("throne", "pope", "hqm"):
        pytest.skip("papers of that name are sources of what is shared")
    own = PACKAGE / "benchmarks" / name
    word = re.compile(rf"\b{name}\b", re.IGNORECASE)
    named = [
        str(file.relative_to(PACKAGE))
        for file in sorted(PACKAGE.rglob("*"))
        if file.suffix in (".py", ".toml", ".html", ".js")
        and own not in file.parents
        # a paper's table may compare benchmarks; Inspect's register wants a function per dataset
        and not (file.name == "published.py" and file.parent.parent == PACKAGE / "benchmarks")
        and file.name != "inspect_tasks.py"
        and file.name != "human_marks.py"  # measures its way of reading words against people's marks
        and file != PACKAGE / "benchmarks" / "__init__.py"  # the list
        # class words, a score of that name, and the reading that this benchmark's authors brought in
        and not (
            name == "chair"
            and (
                file.parent.name in ("vocabularies", "amber", "mentions", "object_halbench")
                or file.name == "lexical.toml"
            )
        )
        and word.search(file.read_text(encoding="utf-8"))
    ]
    assert named == []


def test_a_benchmark_imports_another_only_where_its_paper_does():
    between = {
        (module.split(".")[2], other.split(".")[2])
        for module, others in ARROWS.items()
        for other in others
        if room(module) == room(other) == "benchmarks" and module.count(".") > 1 and other.count(".") > 1
    }
    assert {pair for pair in between if pair[0] != pair[1]} == {("throne", "pope")}  # supplement, section 2
