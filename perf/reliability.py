"""Measure on real responses how far benchmarks can be trusted: the second half of docs/results.md.

    python perf/reliability.py UPSTREAM --into docs/results.md

UPSTREAM is the folder of `real_responses.py`, which here also needs `pope/` and `hallusionbench/` (the authors'
questions). Five LVLMs described the same 2,000 images once each. The folder has neither a second set of descriptions
nor responses to POPE's questions (two other LVLMs were decoded in two ways, but two models have no correlation). So
HQM's test-retest cannot be computed, and no LVLM has answered POPE's negated form.
"""

import tempfile
from pathlib import Path

from real_responses import LABELS, read_options, show, write_annotations

BETWEEN = ("<!-- reliability: begin -->", "<!-- reliability: end -->")
HALVES = ("even", "odd")
FILES = "pope_instruction1_*.jsonl"
THRONE = (
    f"halluscope score throne --dataset {LABELS} --quiet --judges lexical --bootstrap 0 --json --responses"
)
FIVE = f"{THRONE} UPSTREAM/responses/{FILES}"
POPE = "halluscope build pope --from-annotations OUT/annotations.json --images-count 500"
PARTS = (
    "THRONE with two question sets, `paper` and `released`, as parallel forms, scored by the lexical judge. That judge "
    "ignores a question's wording, so the only difference is that `released` cuts a text at 1,024 characters. This "
    "shows that the cut does not matter here; it does not show how a language model would answer the two sets:",
    f"{FIVE} > OUT/paper.json\n{FIVE} --questions released > OUT/released.json\n"
    "halluscope reliability OUT/paper.json --parallel OUT/released.json --published",
    "Two halves of the 2,000 images, those at even and at odd positions in the files. This is a split-half "
    "correlation, not HQM's test-retest, for which each LVLM would have to describe the images twice:",
    "\n".join(f"{THRONE} OUT/{half}/{FILES} > OUT/{half}.json" for half in HALVES)
    + "\nhalluscope correlate OUT/even.json OUT/odd.json --by f0.5_cls",
    "The same descriptions on POPE's cells, with questions drawn twice from the same annotations (other images, other "
    "absent objects). These are THRONE's votes on the cells that POPE asks about, not responses to POPE's questions:",
    f"{POPE} --seed 0 --out OUT/pope0\n{POPE} --seed 1 --out OUT/pope1\n"
    f"{FIVE} --cells OUT/pope0 > OUT/cells0.json\n{FIVE} --cells OUT/pope1 > OUT/cells1.json\n"
    "halluscope reliability OUT/cells0.json --parallel OUT/cells1.json --by sampled/f0.5_cls",
    "Rules can negate all questions of POPE, and those questions of HallusionBench whose subject ends where a rule can "
    "see it. No LVLM has answered the negated questions yet:",
    "halluscope parallel UPSTREAM/pope/coco/coco_pope_adversarial.json --out OUT/pope_negated.jsonl\n"
    "halluscope parallel UPSTREAM/hallusionbench/HallusionBench.json --out OUT/hallusionbench_negated.jsonl",
)
"""The page's parts in order: prose, which ends in a colon, and commands to run."""


def main() -> None:
    """Run the blocks, print them, and put them into a page if asked."""
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        write_annotations(options.upstream, Path(folder) / "annotations.json")
        write_halves(options.upstream, Path(folder))
        show(PARTS, {"UPSTREAM": str(options.upstream), "OUT": folder}, options.into, BETWEEN)


def write_halves(upstream: Path, folder: Path) -> None:
    """Write the five LVLMs' responses in two halves; the files have the same images in the same order."""
    for half, start in zip(HALVES, (0, 1), strict=True):
        (folder / half).mkdir()
        for file in (upstream / "responses").glob(FILES):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / half / file.name).write_text("".join(lines[start::2]), encoding="utf-8")


if __name__ == "__main__":
    main()
