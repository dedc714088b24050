"""A metric's page stays within a gigabyte, whatever is pasted; memory is measured in another process."""

import json
import subprocess
import sys

import pytest

from halluscope import registry

pytestmark = pytest.mark.long

MOST = 1e9
"""Bytes above what the page takes for its example."""

ANSWER = """
import json, resource, sys

from halluscope.hub import space

def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

page = space.page(sys.argv[1])
chosen = [page.labels(name)[0] for name in page.choices]
boxes = page.predictions, page.references
page.example()
before = used()
for begin, each, times, end in json.loads(sys.argv[2]):
    pasted = [begin + each.replace("EXAMPLE", space.as_lines(rows[:1])) * times + end for rows in boxes]
    answer = page.answer(*pasted, *chosen)
    assert answer.scores or len(answer.message) >= 20, answer.message
print(used() - before)
"""


ANYWHERE = [
    ("", "\n", 4_999_999, ""),
    ("", "x", 5_000_001, ""),
    ("[", "[],", 1_600_000, "[]]"),
    ("", "[", 4_000_000, ""),
    ("", '{"a":', 800_000, ""),
]
"""What is pasted: a beginning, something so many times, an end; all pages refuse it in the same way."""

PASTED = [
    ("", "0.5\n1\n", 1_250, ""),
    ("", '""\n', 19_000, ""),
    ("", "EXAMPLE\n", 5_000, ""),  # which stands for the first line of the example
    ("", "\n", 20_000, ""),
    ("", "EXAMPLE ", 20_000, ""),
]


def grown(name: str, pasted: list[tuple[str, str, int, str]]) -> int:
    command = [sys.executable, "-W", "ignore", "-c", ANSWER, name, json.dumps(pasted)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.parametrize("name", [benchmark.name for benchmark in registry.benchmarks()])
def test_what_is_pasted_takes_so_much_memory_and_no_more(name):
    assert grown(name, [*PASTED, *(ANYWHERE if name == "throne" else ())]) < MOST
