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
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Mapping
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
CHAIR = {"synonyms": "chair/synonyms.txt"}
AMBER = ("chair", "cover", "hal", "cog", "accuracy", "f1")
# What the manifest calls a benchmark -> its name, its dataset ("BUILT/..." for a built one), its options, what is shown
BENCHMARKS: dict[str, tuple[str, list[str], dict[str, Any], tuple[str, ...]]] = {
    "POPE (coco)": ("pope", POPE, {}, ("accuracy", "f1")),
    "POPE (aokvqa)": ("pope", ["pope/aokvqa/aokvqa_pope_seem_popular.json"], {}, ("accuracy", "f1")),
    "POPE (gqa)": ("pope", ["pope/gqa/gqa_pope_seem_popular.json"], {}, ("accuracy", "f1")),
    "POPE (200 questions)": ("pope", POPE, {}, ("accuracy", "f1")),
    "POPE (own questions by POPE's generator)": ("pope", [], {}, ("accuracy", "f1")),
    "CHAIR": ("chair", ["chair/coco2014_chair_objects.json.gz"], CHAIR, ("chair_s", "chair_i", "recall")),
    "AMBER (generative)": ("amber", ["BUILT/amber"], {}, AMBER),
    "AMBER (all)": ("amber", ["BUILT/amber"], {"text_column": ["response_512", "response"]}, AMBER),
    "HallusionBench": ("hallusionbench", ["hallusionbench/HallusionBench.json"], {}, ("aAcc",)),
    "MMHal-Bench": ("mmhal", ["BUILT/mmhal"], {"judge": "none"}, ("questions",)),
}
COUNTS = ("questions",)


BETWEEN = "<!-- public files: begin -->", "<!-- public files: end -->"
HEAD = "| file | rows | read as | ours | printed |\n| --- | ---: | --- | --- | --- |"


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
        template = next(one["file"] for one in manifest if "template" in one["file"])
        _build("mmhal", upstream / "wild" / template, folder)
        for entry in manifest:
            read_as, ours, result = outcome(entry, upstream, folder)
            link = f"https://github.com/{entry['repo']}/blob/{entry['commit']}/{quote(entry['path'])}"
            name = f"[{entry['repo']}: {Path(entry['path']).name}]({link})"
            cells = [name, entry["rows"] or "", read_as, ours, _figures(entry["printed"])]
            lines.append(
                f"| {' | '.join(str(cell).replace('|', '/').replace(chr(10), ' ') for cell in cells)} |"
            )
            if result and not read_as.endswith(" partial") and ours.partition(" ")[0] not in COUNTS:
                benchmark = read_as.split()[0]
                files[benchmark].append(_public_file(entry, result))
    print("\n".join(lines))
    if options.into:
        put(options.into, "\n".join(lines), BETWEEN)
        for benchmark, its_files in files.items():
            public_files.write(benchmark, its_files)


def outcome(
    entry: Mapping[str, Any], upstream: Path, built: str
) -> tuple[str, str, Mapping[str, Any] | None]:
    """Score one file as its owner would, or name it: what it is read as, the scores to show, and the result."""
    file = upstream / "wild" / entry["file"]
    if entry["benchmark"] not in BENCHMARKS:
        return str(inspect(file)), "", None
    name, dataset, options, scores = BENCHMARKS[entry["benchmark"]]
    paths = [
        path.replace("BUILT", built) if path.startswith("BUILT") else str(upstream / path) for path in dataset
    ]
    given: dict[str, Any] = {
        option: str(upstream / value) if option == "synonyms" else value for option, value in options.items()
    }
    tries: list[dict[str, Any]] = [{}, {"partial": True}]
    for more in tries:
        try:
            result = halluscope.score(
                name,
                str(file),
                paths or _questions_beside(file),
                bootstrap=0,
                **given,
                **more,
            )
        except ValueError as error:
            message = str(error)
            if "--partial" in message:
                continue
            break
        samplings = [name.removeprefix("rows/") for name in result if name.startswith("rows/")]
        parts = ", ".join(filter(None, (*samplings, result.get("questions_version"))))
        how = " ".join([name, *([f"({parts})"] if parts else []), "by", result["matched"], *more])
        shown = [_shown(score, result[score]) for score in scores if _is_defined(result[score])]
        return how, ", ".join(shown), result
    return f"refused: {message.replace(str(upstream), 'UPSTREAM')[:400]}", "", None


def _public_file(entry: Mapping[str, Any], result: Mapping[str, Any]) -> PublicFile:
    """Return one file's scores, to be kept in its benchmark's package."""
    scores = {}
    for score in BENCHMARKS[entry["benchmark"]][3]:
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
    return value is not None and value == value


def _build(name: str, source: Path, folder: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["build", name, "--source", str(source), "--out", f"{folder}/{name}"])


def _shown(score: str, value: float) -> str:
    return f"{score} {value}" if score in COUNTS else f"{score} {100 * value:.2f}"


def _questions_beside(file: Path) -> list[str]:
    """Return the question file of the same project that is about the sampling that a file's name says."""
    short = next(name for name in ("adv", "pop", "rand") if name in file.name.partition("pope_")[2])
    return [str(path) for path in file.parent.glob("data__*") if short in path.name.partition("pope_")[2]]


def _figures(printed: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (printed or {}).items())[:160]


if __name__ == "__main__":
    main()
