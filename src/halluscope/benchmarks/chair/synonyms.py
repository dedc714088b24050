"""CHAIR's synonym list: which words stand for which of COCO's 80 classes.

The list is the authors' file (BSD-2-Clause), with one line per class and the class name first. It is not part of this
package: the user names the file, or it is fetched once and checked by its sha256.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from halluscope import vocabularies
from halluscope.files.opening import check_file, read_text
from halluscope.inputs import kind
from halluscope.sanitize import one_line, short_repr

URL = "https://raw.githubusercontent.com/LisaAnne/Hallucination/master/data/synonyms.txt"
SHA256 = "b685537b36fe21b791c87151b96a991ceb582edff19f3da204dcc7a7905502f2"
BYTES = 3577
OFFICIAL = "official"


@dataclass(frozen=True)
class Synonyms:
    """A synonym list."""

    name: str  # "official", or "other-<8 hexadecimal digits of the file's sha256>"
    class_of: Mapping[str, str]  # word or double word -> class


def load(path: str | Path | None = None, allow_other: bool = False) -> Synonyms:
    """Read the synonym list."""
    from halluscope.building.fetch import sha256_of

    kind("synonyms", path, str | Path | None, "the path of a synonym list, or None")
    file = _fetch() if path is None else Path(path)
    if not file.exists():
        raise FileNotFoundError(
            f"synonyms: there is no file {one_line(file, 200)}. Leave the option out to fetch the list from {URL}."
        )
    check_file(file)
    sha256 = sha256_of(file)
    if sha256 != SHA256 and not allow_other:
        raise ValueError(
            f"{file} is not CHAIR's synonym list: its sha256 is {sha256}, expected {SHA256} ({URL}). "
            "CHAIR scores from another list cannot be compared; pass allow_other_synonyms=True "
            "(--allow-other-synonyms) if you mean it. The signature then says so."
        )
    name = OFFICIAL if sha256 == SHA256 else f"other-{sha256[:8]}"
    return Synonyms(name, _parse(file))


def _fetch() -> Path:
    from halluscope.building.fetch import download
    from halluscope.building.spec import Source

    return download(Source(URL, SHA256, BYTES), "synonyms=... (--synonyms)")


def _parse(file: Path) -> dict[str, str]:
    """Read the lines as the published script does: words are separated by a comma and one space.

    So a word after two spaces keeps one space and is never found (" motor bike", " cheesecake" in the official
    list). A word with a capital letter is never found either ("iPhone").
    """
    rows = [line.strip().split(", ") for line in read_text(file).split("\n") if line.strip()]
    _check(rows, file)
    class_of: dict[str, str] = {}
    for number, (name, *words) in enumerate(rows, 1):
        for word in (name, *words):
            if class_of.setdefault(word, name) != name:
                raise ValueError(
                    f"{file}, class {number} ({name}): {short_repr(word)} stands for {class_of[word]} already; "
                    "expected each word under one class."
                )
    return class_of


def _check(rows: list[list[str]], file: Path) -> None:
    classes = vocabularies.load("coco").classes
    if len(rows) != len(classes):
        raise ValueError(
            f"{file} has {len(rows)} lines; expected {len(classes)}, one per COCO class, with the class name first."
        )
    for name, expected in zip(sorted(row[0] for row in rows), sorted(classes), strict=True):
        if name != expected:
            raise ValueError(
                f"{file}: the first words of the lines are not COCO's {len(classes)} classes: found {short_repr(name)} "
                f"where {expected!r} was expected (in alphabetical order)."
            )
