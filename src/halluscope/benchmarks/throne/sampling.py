"""Draws a small set of images in which every class occurs.

The natural K-shot of Lee et al., "Rethinking Few-Shot Object Detection on a Multi-Domain Benchmark" (ECCV 2022), with
which THRONE chose its images of Objects365 (section 5.3): classes stay as frequent as they are, and none is lost.
"""

import random
from collections.abc import Collection, Iterable, Mapping

from halluscope.errors import BuildError


def natural_k_shot(
    classes_of: Mapping[int, Collection[str]], shots: int, classes: int, seed: int = 0
) -> list[int]:
    """Draw `shots` x `classes` images uniformly, then give each class without an image one in exchange for another.

    What is given away is never the one image that is kept for a class. The same content and seed give the same draw,
    in whatever order the images come.

    Args:
        classes_of: image id -> the classes in it; an image without any is never drawn.
        shots: K, at least 1.
        classes: N, the number of classes.
        seed: of the draw.

    Returns:
        The ids, sorted, `shots` x `classes` of them.

    Raises:
        BuildError: for fewer than one shot, more images than there are, or more classes in the images than `classes`.
    """
    pool = sorted(image for image, present in classes_of.items() if present)
    size = _size(shots, classes, len(pool), len(classes_of))
    every = _union(classes_of.values())
    if len(every) > classes:
        raise BuildError(f"The images hold {len(every):,} classes; expected at most {classes:,}.")
    # A key an image and not random.sample: of Python's generator, random() alone is promised never to change.
    generator = random.Random(seed)
    shuffled = sorted(pool, key=lambda _: generator.random())
    drawn, rest = shuffled[:size], shuffled[size:]
    kept = {cls: image for image in reversed(drawn) for cls in classes_of[image]}
    given = []
    for cls in sorted(every - kept.keys()):
        if cls not in kept:  # an image that was given for another class may hold it
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
