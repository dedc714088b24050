"""Draws a small set of images in which every class occurs.

The natural K-shot of Lee et al., "Rethinking Few-Shot Object Detection on a Multi-Domain Benchmark" (ECCV 2022), with
which THRONE chose its images of Objects365 (section 5.3). It keeps the classes' frequencies, and loses no class.
"""

import random
from collections.abc import Collection, Iterable, Mapping

from halluscope.errors import BuildError


def natural_k_shot(
    classes_of: Mapping[int, Collection[str]], shots: int, classes: int, seed: int = 0
) -> list[int]:
    """Draw `shots` x `classes` images uniformly, then swap in an image for each class that has none.

    The image swapped out is never the one kept for a class. The same content and seed give the same draw, whatever the
    order of the images.
    """
    pool = sorted(image for image, present in classes_of.items() if present)
    size = _size(shots, classes, len(pool), len(classes_of))
    every = _union(classes_of.values())
    if len(every) > classes:
        raise BuildError(f"The images hold {len(every):,} classes; expected at most {classes:,}.")
    # One key per image instead of random.sample: of the generator's methods, only random() will never change.
    generator = random.Random(seed)
    shuffled = sorted(pool, key=lambda _: generator.random())
    drawn, rest = shuffled[:size], shuffled[size:]
    kept = {cls: image for image in reversed(drawn) for cls in classes_of[image]}
    given = []
    for cls in sorted(every - kept.keys()):
        if cls not in kept:  # an image swapped in for another class may hold it
            image = next(image for image in rest if cls in classes_of[image])
            given.append(image)
            kept |= dict.fromkeys(set(classes_of[image]) - kept.keys(), image)
    needed = set(kept.values())
    spare = [image for image in drawn if image not in needed]
    return sorted({*drawn, *given} - set(spare[len(spare) - len(given) :]))


def _size(shots: int, classes: int, usable: int, images: int) -> int:
    if shots < 1:
        raise BuildError(f"{shots} shots were asked for; expected at least 1.")
    if shots * classes > usable:
        raise BuildError(
            f"{shots} x {classes:,} = {shots * classes:,} images were asked for, but only {usable:,} of the "
            f"{images:,} images hold any class. Ask for fewer with --shots."
        )
    return shots * classes


def _union(sets: Iterable[Collection[str]]) -> set[str]:
    return {cls for present in sets for cls in present}
