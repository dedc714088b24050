"""CHAIR's synonym list: which words stand for which of COCO's 80 classes.

The list is the authors' file (BSD-2-Clause), which is not part of this package: the user names it, or it is fetched
once and checked by its sha256.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import vocabularies
from halluscope.files.opening import read_text
from halluscope.paths import path_of
from halluscope.sanitize import short_repr
from halluscope.validation import kind

URL = "https://raw.githubusercontent.com/LisaAnne/Hallucination/master/data/synonyms.txt"
SHA256 = "b685537b36fe21b791c87151b96a991ceb582edff19f3da204dcc7a7905502f2"

NAMES = "names"  # stands for a list of the class names alone


@dataclass(frozen=True)
class Synonyms:
    """A synonym list."""

    name: str  # "official", `NAMES`, or "other-" with a digest
    class_of: dict[str, str]  # word or double word -> class


def check_path(path: Any) -> None:
    """Check the path of a synonym list."""
    kind("synonyms", path, str | Path | None, f"the path of a synonym list, {NAMES!r}, or None")


def load(path: str | Path | None = None, allow_other: bool = False) -> Synonyms:
    """Read a synonym list, by default the official one; `NAMES` has each class's name alone.

    It has one line per class, with the class name first. Words are separated by a comma and one space, as in the
    published script. So a word after two spaces keeps one and is never found (" motor bike", " cheesecake" in the
    official list), nor is one with a capital letter ("iPhone").
    """
    from halluscope.building import fetch
    from halluscope.building.spec import Upstream

    check_path(path)
    if path == NAMES:
        return Synonyms(NAMES, {name: name for name in vocabularies.load("coco").classes})
    file = path_of(path or fetch.download(Upstream(URL, SHA256), "synonyms=... (--synonyms)"))
    sha256 = fetch.sha256_of(file)
    name = "official"
    if sha256 != SHA256:
        if not allow_other:
            raise ValueError(
                f"{file} is not CHAIR's synonym list: its sha256 is {sha256}, expected {SHA256} ({URL}). "
                "CHAIR scores from another list cannot be compared; pass allow_other_synonyms=True "
                "(--allow-other-synonyms) if you mean it. The signature then says so."
            )
        name = f"other-{sha256[:8]}"
    return Synonyms(name, _class_of(_lines(file), file))


def _lines(file: Path) -> list[list[str]]:
    """Return the words of each line; the first one is the name of a class."""
    lines = []
    for line in read_text(file).split("\n"):
        if line.strip():
            lines.append(line.strip().split(", "))
    classes = vocabularies.load("coco").classes
    names = [words[0] for words in lines]
    if sorted(names) != sorted(classes):
        wrong = sorted(set(names).symmetric_difference(classes))
        raise ValueError(
            f"{file} has {len(lines)} lines; expected {len(classes)}, one per COCO class, with the class name first. "
            f"The first words of the lines are not COCO's {len(classes)} classes: {short_repr(wrong)}."
        )
    return lines


def _class_of(lines: list[list[str]], file: Path) -> dict[str, str]:
    class_of: dict[str, str] = {}
    for number, words in enumerate(lines, 1):
        name = words[0]
        for word in words:
            earlier = class_of.setdefault(word, name)
            if earlier != name:
                raise ValueError(
                    f"{file}, class {number} ({name}): {short_repr(word)} stands for {earlier} already; "
                    "expected each word under one class."
                )
    return class_of
