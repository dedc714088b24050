"""A metric's page stays within a gigabyte, whatever is pasted; memory is measured in another process."""

import json
import subprocess
import sys

import pytest

from halluscope import registry
from halluscope.paths import share

pytestmark = pytest.mark.long

MOST = 1e9
"""Bytes above what the page takes for its example."""

ANSWER = """
import json, resource, runpy, sys

def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

page = runpy.run_path(sys.argv[1])["page"]
chosen = [next(iter(choice.values)) for choice in page.choices.values()]
boxes = page.predictions, page.references
page.answer("one row per line", *(box.example for box in boxes), *chosen)
before = used()
for form, begin, each, times, end in json.loads(sys.argv[2]):
    pasted = [begin + each.replace("EXAMPLE", box.example.splitlines()[0]) * times + end for box in boxes]
    answer = page.answer(form, *pasted, *chosen)
    assert answer.scores or len(answer.message) >= 20, answer.message
print(used() - before)
"""

LINES, JSON_LINES = "one row per line", "JSON lines"
EXAMPLE = "EXAMPLE"
"""Stands for the first line of a box's example."""

ANYWHERE = [
    (LINES, "", "\n", 4_999_999, ""),
    (LINES, "", "x", 5_000_001, ""),
    (JSON_LINES, "[", "[],", 1_600_000, "[]]"),
    (JSON_LINES, "", "[", 4_000_000, ""),
    (JSON_LINES, "", '{"a":', 800_000, ""),
]
"""How it is pasted, and what: a beginning, something so many times, an end; all pages refuse it in the same way."""

PASTED = [
    (LINES, "", "0.5\n1\n", 1_250, ""),
    (JSON_LINES, "", '""\n', 19_000, ""),
    (LINES, "", f"{EXAMPLE}\n", 5_000, ""),
    (LINES, "", "\n", 20_000, ""),
    (LINES, "", f"{EXAMPLE} ", 20_000, ""),
]


def grown(name: str, pasted: list[tuple[str, str, str, int, str]]) -> int:
    app = str(share("metrics", name, "app.py"))
    command = [sys.executable, "-W", "ignore", "-c", ANSWER, app, json.dumps(pasted)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.parametrize("name", [benchmark.name for benchmark in registry.benchmarks()])
def test_what_is_pasted_takes_so_much_memory_and_no_more(name):
    assert grown(name, [*PASTED, *(ANYWHERE if name == "throne" else ())]) < MOST
