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
from halluscope.stats.tallies import Bools

SAMPLINGS = ("random", "popular", "adversarial")
FEWEST = 3  # models that answered a row

Row = tuple[int, str]  # image and question


def main() -> None:
    """Print the models, the counts, and the area under the curve."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("upstream", type=Path)
    upstream = parser.parse_args().upstream
    warnings.simplefilter("ignore")
    pope = [str(upstream / f"pope/coco/coco_pope_{sampling}.json") for sampling in SAMPLINGS]
    repope = [str(upstream / f"repope/coco_repope_{sampling}.json") for sampling in SAMPLINGS]
    labels = labels_of(pope)
    corrected = labels_of(repope)

    models = files_of_models(upstream)
    errors: dict[Row, dict[str, float]] = defaultdict(dict)  # row -> model -> 1 if it is wrong
    for model, files in models.items():
        for file in files:
            for row, accuracy in accuracies(file, pope).items():
                errors[row][model] = 1 - accuracy

    rows = []
    for row, by_model in errors.items():
        if len(by_model) >= FEWEST and row in labels and row in corrected:
            rows.append(row)
    wrong_shares = np.array([np.mean(list(errors[row].values())) for row in rows])
    is_relabelled = np.array([labels[row] != corrected[row] for row in rows])

    for model, files in models.items():
        print(f"{model} ({len(files)} files)")
    print(f"{len(models)} models; {len(rows):,} rows with at least {FEWEST}, of {len(labels):,} in POPE")
    print(
        f"{is_relabelled.sum():,} relabelled; wrong on these {wrong_shares[is_relabelled].mean():.1%}, "
        f"else {wrong_shares[~is_relabelled].mean():.1%}"
    )
    value = area(wrong_shares, is_relabelled, np.ones(len(rows)))
    low, high = interval_of_area(wrong_shares, is_relabelled, [image for image, _ in rows])
    print(f"area under the ROC curve {value:.3f}, {low:.3f} to {high:.3f}")


def labels_of(files: list[str]) -> dict[Row, str]:
    """Return the right answers."""
    labels = {}
    for row in load(files):
        if isinstance(row, ObjectQuestion):
            labels[row.image_id, row.question] = row.answer
    return labels


def files_of_models(upstream: Path) -> dict[str, list[Path]]:
    """Return the files of each model and way of decoding, whatever its samplings."""
    models: dict[str, list[Path]] = defaultdict(list)
    for entry in json.loads((upstream / "wild/manifest.json").read_text(encoding="utf-8")):
        if entry["benchmark"] != "POPE (coco)" or not entry["rows"]:
            continue
        file = upstream / "wild" / entry["file"]
        name = re.sub(r"_?(coco|pope|random|rand|popular|adversarial|adv)(?=[_.-])", "", file.stem + ".")
        models[f"{file.parent.name}: {name.strip('._')}"].append(file)
    return dict(models)


def accuracies(file: Path, pope: list[str]) -> dict[Row, float]:
    """Return whether each answer in a file is right."""
    options = {"partial": True, "per_question": True, "bootstrap": 0}
    benchmark, (ready,), options = scoring.prepare_call("pope", [file], pope, options)
    questions = scoring.compute(benchmark, ready, options)["per_question"]
    accuracies = {}
    for row, question in zip(ready.matched.rows, questions, strict=True):
        accuracies[row.image_id, row.question] = question["accuracy"]
    return accuracies


def interval_of_area(scores: Floats, is_positive: Bools, images: list[int]) -> tuple[float, float]:
    """Return the 95 % interval of the area under the curve, over resampled images."""
    image_of_row = np.unique(images, return_inverse=True)[1]
    areas = []
    for block in Bootstrap(1000, 0).weights(int(image_of_row.max()) + 1):
        for weights in block:
            areas.append(area(scores, is_positive, weights[image_of_row]))
    low, high = np.quantile(areas, (0.025, 0.975))
    return float(low), float(high)


def area(scores: Floats, is_positive: Bools, weights: Floats) -> float:
    """Return the weighted share of pairs of a positive and a negative in which the positive's score is higher.

    Ties count a half.
    """
    values, place = np.unique(scores, return_inverse=True)
    positives = np.bincount(place, weights * is_positive, len(values))
    negatives = np.bincount(place, weights * ~is_positive, len(values))
    below = np.cumsum(negatives) - negatives
    won = positives * (below + negatives / 2)
    return float(won.sum() / (positives.sum() * negatives.sum()))


if __name__ == "__main__":
    main()
