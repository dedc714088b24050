"""Do the rows that RePOPE relabelled stand out among POPE's, by the share of real models that get them wrong?

    python perf/items_repope.py UPSTREAM

UPSTREAM is a folder with `wild/`, `pope/coco` and `repope`. Each published file of answers about COCO counts, read as
`halluscope score` reads it. A row is a pair of image and question; what RePOPE left out as ambiguous is left out. The
area under the ROC curve is 0.5 for a random order; its interval resamples images.
"""

import argparse
import json
import re
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from halluscope import scoring
from halluscope.benchmarks.pope.rows import ObjectQuestion, load
from halluscope.stats.bootstrap import Bootstrap
from halluscope.stats.ratios import Floats

SAMPLINGS = ("random", "popular", "adversarial")
FEWEST = 3


def main() -> None:
    """Print the models, the counts, and the area under the curve."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    upstream = parser.parse_args().upstream
    warnings.simplefilter("ignore")
    pope = [str(upstream / f"pope/coco/coco_pope_{name}.json") for name in SAMPLINGS]
    corrected = [str(upstream / f"repope/coco_repope_{name}.json") for name in SAMPLINGS]
    labels, theirs = (
        {(row.image_id, row.question): row.answer for row in load(of) if isinstance(row, ObjectQuestion)}
        for of in (pope, corrected)
    )
    models = _models(upstream, pope)
    wrong = defaultdict[tuple[int, str], dict[str, float]](dict)
    for model, files in models.items():
        for file in files:
            for row, score in _answers(file, pope):
                wrong[row][model] = 1 - score
    rows = [row for row, of in wrong.items() if len(of) >= FEWEST and row in labels and row in theirs]
    share = np.array([np.mean([*wrong[row].values()]) for row in rows])
    is_changed = np.array([labels[row] != theirs[row] for row in rows])
    images = np.unique([image for image, _ in rows], return_inverse=True)[1]
    drawn = Bootstrap(1000, 0).weights(int(images.max()) + 1)
    areas = np.concatenate([[area(share, is_changed, one[images]) for one in part] for part in drawn])
    low, high = np.quantile(areas, (0.025, 0.975))
    for model, files in models.items():
        print(f"{model} ({len(files)} files)")
    print(f"{len(models)} models; {len(rows):,} rows with at least {FEWEST}, of {len(labels):,} in POPE")
    those, others = share[is_changed].mean(), share[~is_changed].mean()
    print(f"{is_changed.sum():,} relabelled; wrong on these {those:.1%}, else {others:.1%}")
    print(
        f"area under the ROC curve {area(share, is_changed, np.ones(len(rows))):.3f}, {low:.3f} to {high:.3f}"
    )


def area(scores: Floats, is_one: np.ndarray, weights: Floats) -> float:
    """Return the weighted share of pairs of a one and a zero in which the one's score is higher; ties count a half."""
    values, place = np.unique(scores, return_inverse=True)
    ones, zeros = (np.bincount(place, weights * of, len(values)) for of in (is_one, ~is_one))
    below = np.cumsum(zeros) - zeros
    return float((ones * (below + zeros / 2)).sum() / (ones.sum() * zeros.sum()))


def _models(upstream: Path, pope: list[str]) -> dict[str, list[Path]]:
    """Return the files of each model and way of decoding, whatever its samplings."""
    found = defaultdict[str, list[Path]](list)
    for entry in json.loads((upstream / "wild/manifest.json").read_text(encoding="utf-8")):
        file = upstream / "wild" / entry["file"]
        if entry["benchmark"] == "POPE (coco)" and entry["rows"]:
            name = re.sub(r"_?(coco|pope|random|rand|popular|adversarial|adv)(?=[_.-])", "", file.stem + ".")
            found[f"{file.parent.name}: {name.strip('._')}"].append(file)
    return dict(found)


def _answers(file: Path, pope: list[str]) -> list[tuple[tuple[int, str], float]]:
    benchmark, (ready,), options = scoring.prepare_call(
        "pope", [file], pope, {"partial": True, "per_question": True, "bootstrap": 0}
    )
    table = scoring.compute(benchmark, ready, options)["per_question"]
    return [
        ((row.image_id, row.question), one["accuracy"])
        for row, one in zip(ready.matched.rows, table, strict=True)
    ]


if __name__ == "__main__":
    main()
