"""Lists of synonyms: which words stand for which of COCO's 80 classes.

The published lists are their authors' files, which are not part of this package: the user names one, or it is fetched
once. They are known by their sha256.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope import vocabularies
from halluscope.building import fetch
from halluscope.building.spec import Upstream
from halluscope.files.opening import read_text
from halluscope.options import check_effect, option
from halluscope.paths import path_of
from halluscope.sanitize import short_repr
from halluscope.validation import kind

NAMES = "names"  # stands for a list of the class names alone


@dataclass(frozen=True)
class Published:
    """A published synonym list."""

    name: str  # in a signature
    title: str
    url: str
    sha256: str


# BSD-2-Clause
OFFICIAL = Published(
    "official",
    "CHAIR's synonym list",
    "https://raw.githubusercontent.com/LisaAnne/Hallucination/master/data/synonyms.txt",
    "b685537b36fe21b791c87151b96a991ceb582edff19f3da204dcc7a7905502f2",
)

# The official list with "brother", "pedestrian", "coffee table" and "remote control"
REFINED = Published(
    "refined",
    "RLAIF-V's refined synonym list",
    "https://raw.githubusercontent.com/RLHF-V/RLAIF-V/main/eval/data/synonyms_refine.txt",
    "681041d2958d7871ed6fa69c3108f34aa6a0a354eb53ed4c5a425e65f86bc72a",
)


@dataclass(frozen=True)
class Synonyms:
    """A synonym list."""

    name: str  # of a published list, `NAMES`, or "other-" with a digest
    class_of: dict[str, str]  # word or double word -> class


def check_path(path: Any) -> None:
    """Check the path of a synonym list."""
    kind("synonyms", path, str | Path | None, f"the path of a synonym list, {NAMES!r}, or None")


def allow_other_option() -> Any:
    """Return the field of the option that accepts a list which is not published."""
    return option(
        False,
        "accept a list with another checksum",
        about="accept a list with another checksum; the signature says so",
    )


def check_allow_other(path: Any, allow_other: bool) -> None:
    """Refuse that option where no list is named."""
    if path in (None, NAMES) and allow_other:
        why = "synonyms names no file"
        check_effect({"allow_other_synonyms": True}, ["allow_other_synonyms"], why)


def load(
    path: str | Path | None = None, allow_other: bool = False, known: Sequence[Published] = (OFFICIAL,)
) -> Synonyms:
    """Read a synonym list, by default the first of the known ones; `NAMES` has each class's name alone.

    It has one line per class, with the class name first. Words are separated by a comma and one space, as in the
    published script. So a word after two spaces keeps one and is never found (" motor bike", " cheesecake" in the
    official list), nor is one with a capital letter ("iPhone").
    """
    check_path(path)
    if path == NAMES:
        return Synonyms(NAMES, {name: name for name in vocabularies.load("coco").classes})
    if path is None:
        path = fetch.download(Upstream(known[0].url, known[0].sha256), "synonyms=... (--synonyms)")
    file = path_of(path)
    return Synonyms(_name_of(file, allow_other, known), _class_of(_lines(file), file))


def _name_of(file: Path, allow_other: bool, known: Sequence[Published]) -> str:
    """Return the name of a list by its sha256; one that is not known is an error unless others are allowed."""
    sha256 = fetch.sha256_of(file)
    titles = []
    expected = []
    for published in known:
        if published.sha256 == sha256:
            return published.name
        titles.append(published.title)
        expected.append(f"{published.sha256} ({published.url})")
    if allow_other:
        return f"other-{sha256[:8]}"
    raise ValueError(
        f"{file} is not {' or '.join(titles)}: its sha256 is {sha256}, expected {' or '.join(expected)}. Scores from "
        "another list cannot be compared; pass allow_other_synonyms=True (--allow-other-synonyms) if you mean it. The "
        "signature then says so."
    )


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
