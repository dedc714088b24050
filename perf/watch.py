"""Runs benchmarks, and fails where a ratio is below its floor in `results.toml`.

    python perf/watch.py [--quick] [--write] [SCRIPT...]

A ratio is the time of a stated baseline over ours, both measured in turn, the best of several each. `--quick` takes
about a minute, as CI does: a few scripts, with smaller inputs. `--write` puts the ratios into `results.toml` and into
README.md's table. A new ratio gets half its value as its floor; after that a floor is only changed by hand.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timing import QUICK, RATIOS

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.toml", HERE / "README.md"
QUICK_SCRIPTS = ("bench_commands", "bench_pope", "bench_scoring", "bench_texts")
BEGIN, END = "<!-- ratios: python perf/watch.py --write -->", "<!-- end of ratios -->"
HEADER = """\
# Written by `python perf/watch.py --write`: the time of a baseline over halluscope's, in the same process.
# A ratio below its floor fails `make bench` and `make watch`. Floors are changed by hand; seconds and memory (GB, at
# most) are those of the machine that README.md names.
"""

Ratios = dict[tuple[str, str], dict[str, Any]]


def main() -> int:
    """Run the scripts; return 1 if one fails or a ratio is below its floor."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "scripts", nargs="*", metavar="SCRIPT", help="names such as bench_pope (default: all)"
    )
    parser.add_argument("--quick", action="store_true", help="only the scripts that take seconds")
    parser.add_argument("--write", action="store_true", help="write results.toml and README.md's table")
    options = parser.parse_args()
    known = read()
    scripts = options.scripts or (
        QUICK_SCRIPTS if options.quick else [file.stem for file in sorted(HERE.glob("bench_*.py"))]
    )
    failed = []
    for script in scripts:
        status, found = run(script, options.quick)
        failed += [f"{script} failed with status {status}"] if status else []
        failed += below(found, known)
        known |= found
        if options.write:
            RESULTS.write_text(HEADER + "".join(as_toml(known)))
            README.write_text(with_table(README.read_text(), read()))  # rounded as there
    print(*(failed or ["every ratio is at or above its floor"]), sep="\n")
    return bool(failed)


def run(script: str, is_quick: bool) -> tuple[int, Ratios]:
    """Run a script in a process of its own; return its exit status, and its ratios by script and name."""
    with tempfile.NamedTemporaryFile("r") as file:
        print(f"\n{script}", flush=True)
        status = subprocess.run(
            [sys.executable, str(HERE / f"{script}.py")],
            env=os.environ | {RATIOS: file.name} | ({QUICK: "yes"} if is_quick else {}),
            check=False,
        ).returncode
        rows = map(json.loads, file)
        return status, {(row["script"], row["name"]): row for row in rows}


def below(found: Ratios, known: Ratios) -> list[str]:
    """Give each ratio its floor and its most memory, and name those below or above it."""
    for key, row in found.items():
        row["floor"] = known[key]["floor"] if key in known else round(row["ratio"] / 2, 2)
    failed = []
    for (script, name), row in found.items():
        if row["ratio"] < row["floor"]:
            failed.append(f"{script}, {name}: {row['ratio']:.2f} times as fast; the floor is {row['floor']}")
        most = known.get((script, name), {}).get("most")
        if most is not None:
            row["most"] = most
            if row["memory"] > most:
                failed.append(f"{script}, {name}: {row['memory']:.2f} GB; at most {most} are allowed")
    return failed


def read() -> Ratios:
    """Return the ratios of the last `--write`."""
    tables = tomllib.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {(script, name): row for script, rows in tables.items() for name, row in rows.items()}


def as_toml(ratios: Ratios) -> Iterator[str]:
    """Yield a table for each ratio; a JSON text is a text of TOML too."""
    for (script, name), row in sorted(ratios.items()):
        yield f"\n[{script}.{json.dumps(name)}]\nratio = {row['ratio']:.2f}\nfloor = {row['floor']}\n"
        yield f"baseline = {json.dumps(row['baseline'])}\nseconds = {row['seconds']:.3f}\n"
        yield f"memory = {row['memory']:.2f}\n" if "memory" in row else ""
        yield f"most = {row['most']}\n" if "most" in row else ""


def with_table(text: str, ratios: Ratios) -> str:
    """Return README's text with the ratios between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + "\n".join(lines(ratios)) + "\n" + END + rest.partition(END)[2]


def lines(ratios: Ratios) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| script | what | baseline | times as fast | floor | seconds | GB at most |"
    yield "|---|---|---|---|---|---|---|"
    for (script, name), row in sorted(ratios.items()):
        cells = [script, name, row["baseline"], f"{row['ratio']:.2f}", row["floor"], f"{row['seconds']:.2f}"]
        yield f"| {' | '.join(map(str, cells))} | {row.get('memory', '')} |"


if __name__ == "__main__":
    sys.exit(main())
