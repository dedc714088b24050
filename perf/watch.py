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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from timing import QUICK, RATIOS

HERE = Path(__file__).parent
RESULTS = HERE / "results.toml"
README = HERE / "README.md"
QUICK_SCRIPTS = ["bench_commands", "bench_pope", "bench_scoring", "bench_texts"]
BEGIN = "<!-- ratios: python perf/watch.py --write -->"
END = "<!-- end of ratios -->"
HEADER = """\
# Written by `python perf/watch.py --write`: the time of a baseline over halluscope's, in the same process.
# A ratio below its floor fails `make bench` and `make watch`. Floors are changed by hand; seconds and memory (GB, at
# most) are those of the machine that README.md names.
"""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as its baseline something is."""

    script: str
    name: str
    ratio: float
    baseline: str
    seconds: float
    memory: float | None = None  # our peak in GB
    floor: float | None = None  # the least ratio that passes
    most: float | None = None  # the most memory that passes

    @property
    def key(self) -> tuple[str, str]:
        return self.script, self.name

    def failures(self) -> list[str]:
        """Say what does not pass."""
        failures = []
        if self.floor is not None and self.ratio < self.floor:
            failures.append(
                f"{self.script}, {self.name}: {self.ratio:.2f} times as fast; the floor is {self.floor}"
            )
        if self.most is not None and self.memory is not None and self.memory > self.most:
            failures.append(
                f"{self.script}, {self.name}: {self.memory:.2f} GB; at most {self.most} are allowed"
            )
        return failures


Ratios = dict[tuple[str, str], Ratio]


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
    failures = []
    for script in options.scripts or usual_scripts(options.quick):
        print(f"\n{script}", flush=True)
        with tempfile.NamedTemporaryFile("r") as file:
            status = run(script, file.name, options.quick)
            measured = [Ratio(**json.loads(line)) for line in file]
        if status:
            failures.append(f"{script} failed with status {status}")
        for ratio in measured:
            limited = with_limits(ratio, known)
            failures += limited.failures()
            known[limited.key] = limited
        if options.write:
            write(known)
    for failure in failures:
        print(failure)
    if failures:
        return 1
    print("every ratio is at or above its floor")
    return 0


def usual_scripts(is_quick: bool) -> list[str]:
    if is_quick:
        return QUICK_SCRIPTS
    return [file.stem for file in sorted(HERE.glob("bench_*.py"))]


def run(script: str, ratios: str, is_quick: bool) -> int:
    """Run a script in a process of its own, which appends its ratios to a file; return its exit status."""
    environment = dict(os.environ)
    environment[RATIOS] = ratios
    if is_quick:
        environment[QUICK] = "yes"
    command = [sys.executable, str(HERE / f"{script}.py")]
    return subprocess.run(command, env=environment, check=False).returncode


def with_limits(ratio: Ratio, known: Ratios) -> Ratio:
    """Return a ratio with the limits of the last one of its name."""
    last = known.get(ratio.key)
    if last is None:
        return replace(ratio, floor=round(ratio.ratio / 2, 2))
    return replace(ratio, floor=last.floor, most=last.most)


def read() -> Ratios:
    """Return the ratios of the last `--write`."""
    ratios: Ratios = {}
    if not RESULTS.exists():
        return ratios
    for script, rows in tomllib.loads(RESULTS.read_text()).items():
        for name, row in rows.items():
            ratio = Ratio(script, name, **row)
            ratios[ratio.key] = ratio
    return ratios


def write(ratios: Ratios) -> None:
    RESULTS.write_text(HEADER + as_toml(ratios))
    README.write_text(with_table(README.read_text(), read()))  # rounded as there


def as_toml(ratios: Ratios) -> str:
    """Return a table for each ratio; a JSON text is a text of TOML too."""
    text = ""
    for _, ratio in sorted(ratios.items()):
        text += f"\n[{ratio.script}.{json.dumps(ratio.name)}]\n"
        text += f"ratio = {ratio.ratio:.2f}\n"
        text += f"floor = {ratio.floor}\n"
        text += f"baseline = {json.dumps(ratio.baseline)}\n"
        text += f"seconds = {ratio.seconds:.3f}\n"
        if ratio.memory is not None:
            text += f"memory = {ratio.memory:.2f}\n"
        if ratio.most is not None:
            text += f"most = {ratio.most}\n"
    return text


def with_table(text: str, ratios: Ratios) -> str:
    """Return README's text with the ratios between its two marks."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    lines = [BEGIN]
    lines.append("| script | what | baseline | times as fast | floor | seconds | GB at most |")
    lines.append("|---|---|---|---|---|---|---|")
    for _, ratio in sorted(ratios.items()):
        lines.append(table_line(ratio))
    lines.append(END)
    return before + "\n".join(lines) + after


def table_line(ratio: Ratio) -> str:
    cells = asdict(ratio)
    cells["memory"] = ""
    if ratio.memory is not None:
        cells["memory"] = f"{ratio.memory}"
    line = "| {script} | {name} | {baseline} | {ratio:.2f} | {floor} | {seconds:.2f} | {memory} |"
    return line.format(**cells)


if __name__ == "__main__":
    sys.exit(main())
