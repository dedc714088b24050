"""Read every file that other projects published: what it is, our scores, and the scores that they printed.

    python perf/wild.py UPSTREAM --into docs/results.md

UPSTREAM is a folder with `wild/`, whose manifest.json says whose each file is and which scores were printed for it, and
with the datasets. Each file of responses is scored without options, except that one that lacks rows gets `--partial`,
and AMBER's two columns of texts are named. Any other file is named as `halluscope inspect` does. With `--into`, the
table goes into the page, and the scores of files that lack no rows into public_files.csv of the benchmarks' packages,
from where `score --published` shows them.
"""

import contextlib
import io
import json
import math
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import halluscope
from halluscope import cli
from halluscope.inspection.inspecting import inspect
from halluscope.reporting import public_files
from halluscope.reporting.public_files import PublicFile
from halluscope.signature import keys_of
from results import put, read_options

POPE = [f"pope/coco/coco_pope_{name}.json" for name in ("adversarial", "popular", "random")]
POPE_SCORES = ("accuracy", "f1")
AMBER_SCORES = ("chair", "cover", "hal", "cog", "accuracy", "f1")
COUNTS = ("questions",)  # what is shown of results that are no scores


@dataclass(frozen=True)
class WildBenchmark:
    """How files of a benchmark are scored."""

    name: str
    dataset: Sequence[
        str
    ]  # files below UPSTREAM, or "BUILT/..." for a built one; none: the questions beside the file
    scores: tuple[str, ...]  # what is shown
    options: Mapping[str, Any] = field(default_factory=dict)
    synonyms: str = ""  # CHAIR's file, below UPSTREAM

    def paths(self, upstream: Path, built: str) -> list[str]:
        paths = []
        for path in self.dataset:
            if path.startswith("BUILT"):
                paths.append(path.replace("BUILT", built))
            else:
                paths.append(str(upstream / path))
        return paths

    def given_options(self, upstream: Path) -> dict[str, Any]:
        options = dict(self.options)
        if self.synonyms:
            options["synonyms"] = str(upstream / self.synonyms)
        return options


# By what the manifest calls a benchmark
BENCHMARKS = {
    "POPE (coco)": WildBenchmark("pope", POPE, POPE_SCORES),
    "POPE (aokvqa)": WildBenchmark("pope", ["pope/aokvqa/aokvqa_pope_seem_popular.json"], POPE_SCORES),
    "POPE (gqa)": WildBenchmark("pope", ["pope/gqa/gqa_pope_seem_popular.json"], POPE_SCORES),
    "POPE (200 questions)": WildBenchmark("pope", POPE, POPE_SCORES),
    "POPE (own questions by POPE's generator)": WildBenchmark("pope", [], POPE_SCORES),
    "CHAIR": WildBenchmark(
        "chair",
        ["chair/coco2014_chair_objects.json.gz"],
        ("chair_s", "chair_i", "recall"),
        synonyms="chair/synonyms.txt",
    ),
    "AMBER (generative)": WildBenchmark("amber", ["BUILT/amber"], AMBER_SCORES),
    "AMBER (all)": WildBenchmark(
        "amber", ["BUILT/amber"], AMBER_SCORES, {"text_column": ["response_512", "response"]}
    ),
    "HallusionBench": WildBenchmark("hallusionbench", ["hallusionbench/HallusionBench.json"], ("aAcc",)),
    "MMHal-Bench": WildBenchmark("mmhal", ["BUILT/mmhal"], ("questions",), {"judge": "none"}),
}
BEGIN = "<!-- public files: begin -->"
END = "<!-- public files: end -->"
HEAD = "| file | rows | read as | ours | printed |\n| --- | ---: | --- | --- | --- |"


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    read_as: str
    shown: str = ""  # the scores to show
    result: Mapping[str, Any] | None = None


def main() -> None:
    """Print the table, and write it down if asked."""
    options = read_options(__doc__)
    upstream: Path = options.upstream
    manifest = json.loads((upstream / "wild" / "manifest.json").read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    lines = [HEAD]
    files: dict[str, list[PublicFile]] = defaultdict(list)  # by benchmark
    with tempfile.TemporaryDirectory() as folder:
        _build("amber", upstream / "amber", folder)
        template = next(entry["file"] for entry in manifest if "template" in entry["file"])
        _build("mmhal", upstream / "wild" / template, folder)
        for entry in manifest:
            outcome = outcome_of(entry, upstream, folder)
            lines.append(table_line(entry, outcome))
            if is_kept(outcome):
                assert outcome.result is not None
                benchmark = outcome.read_as.split()[0]
                files[benchmark].append(_public_file(entry, outcome.result))
    print("\n".join(lines))
    if options.into:
        put(options.into, "\n".join(lines), BEGIN, END)
        for benchmark, its_files in files.items():
            public_files.write(benchmark, its_files)


def outcome_of(entry: Mapping[str, Any], upstream: Path, built: str) -> Outcome:
    """Score one file as its owner would, or name it."""
    file = upstream / "wild" / entry["file"]
    benchmark = BENCHMARKS.get(entry["benchmark"])
    if benchmark is None:
        return Outcome(str(inspect(file)))
    dataset = benchmark.paths(upstream, built) or _questions_beside(file)
    message = ""
    for is_partial in (False, True):
        options = benchmark.given_options(upstream)
        if is_partial:
            options["partial"] = True
        try:
            result = halluscope.score(benchmark.name, str(file), dataset, bootstrap=0, **options)
        except ValueError as error:
            message = str(error)
            if "--partial" not in message:
                break
        else:
            return _scored(benchmark, result, is_partial)
    return Outcome(f"refused: {message.replace(str(upstream), 'UPSTREAM')[:400]}")


def _scored(benchmark: WildBenchmark, result: Mapping[str, Any], is_partial: bool) -> Outcome:
    parts = [name.removeprefix("rows/") for name in result if name.startswith("rows/")]
    if result.get("questions_version"):
        parts.append(result["questions_version"])
    read_as = benchmark.name
    if parts:
        read_as += f" ({', '.join(parts)})"
    read_as += f" by {result['matched']}"
    if is_partial:
        read_as += " partial"
    scores = []
    for score in benchmark.scores:
        if _is_defined(result[score]):
            scores.append(_shown(score, result[score]))
    return Outcome(read_as, ", ".join(scores), result)


def table_line(entry: Mapping[str, Any], outcome: Outcome) -> str:
    link = f"https://github.com/{entry['repo']}/blob/{entry['commit']}/{quote(entry['path'])}"
    name = f"[{entry['repo']}: {Path(entry['path']).name}]({link})"
    cells = []
    for cell in (name, entry["rows"] or "", outcome.read_as, outcome.shown, _figures(entry["printed"])):
        cells.append(str(cell).replace("|", "/").replace("\n", " "))
    return f"| {' | '.join(cells)} |"


def is_kept(outcome: Outcome) -> bool:
    """Whether a file's scores are kept in its benchmark's package: it lacks no rows, and has scores, not counts."""
    if not outcome.result or outcome.read_as.endswith(" partial"):
        return False
    return outcome.shown.partition(" ")[0] not in COUNTS


def _public_file(entry: Mapping[str, Any], result: Mapping[str, Any]) -> PublicFile:
    """Return one file's scores, to be kept in its benchmark's package."""
    scores = {}
    for score in BENCHMARKS[entry["benchmark"]].scores:
        if _is_defined(result[score]):
            scores[score] = round(result[score], 6)
    return PublicFile(
        repository=entry["repo"],
        path=entry["path"],
        commit=entry["commit"],
        data=keys_of(result["signature"])["data"],
        printed=_figures(entry["printed"]),
        scores=scores,
    )


def _is_defined(value: Any) -> bool:
    return value is not None and not math.isnan(value)


def _build(name: str, source: Path, folder: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["build", name, "--source", str(source), "--out", f"{folder}/{name}"])


def _shown(score: str, value: float) -> str:
    if score in COUNTS:
        return f"{score} {value}"
    return f"{score} {100 * value:.2f}"


def _questions_beside(file: Path) -> list[str]:
    """Return the question file of the same project that is about the sampling that a file's name says."""
    end = file.name.partition("pope_")[2]
    sampling = next(name for name in ("adv", "pop", "rand") if name in end)
    return [str(path) for path in file.parent.glob("data__*") if sampling in path.name.partition("pope_")[2]]


def _figures(printed: Mapping[str, Any] | None) -> str:
    figures = [f"{name} {value}" for name, value in (printed or {}).items()]
    return ", ".join(figures)[:160]


if __name__ == "__main__":
    main()
