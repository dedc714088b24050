"""Labels that people, or a reader, gave to a sample of texts: which classes each text implies, drawn by what chance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halluscope.judging.store_records import sha256
from halluscope.signature import data_of

PEOPLE = "people"

LARGEST_WEIGHT = 1e9
"""A label's weight is 1 / the chance that it was asked for."""


@dataclass(frozen=True)
class Labelled:
    """A text of which somebody said what it implies.

    Attributes:
        text: its sha256, in hexadecimal digits.
        answers: class -> whether the text implies it, of the classes that were asked about.
        chances: class -> with which probability its label was asked for, in (0, 1].
    """

    text: str
    answers: Mapping[str, bool]
    chances: Mapping[str, float]


@dataclass(frozen=True)
class Labels:
    """The labels of a sample of texts.

    Attributes:
        name: of the sheet, or "labels-" and a digest of the labels.
        texts: those that have labels, each once.
    """

    name: str
    texts: Sequence[Labelled]

    @property
    def count(self) -> int:
        """How many labels there are."""
        return sum(len(one.answers) for one in self.texts)


@dataclass(frozen=True)
class Population:
    """The texts that labels are about, and that they were drawn from.

    Attributes:
        texts: one per image, as they are scored.
        ids: of the images, as text.
    """

    texts: Sequence[str]
    ids: Sequence[str]

    @cached_property
    def places(self) -> dict[str, int]:
        """The sha256 of each text -> the first row that has it."""
        found: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            found.setdefault(digest(text), row)
        return found

    @property
    def name(self) -> str:
        """What tells these texts from others, in whatever order they stand."""
        return name_of(self.places)


def digest(text: str) -> str:
    """The sha256 of a text, in hexadecimal digits."""
    return sha256(text).hex()


def name_of(digests: Sequence[str] | Mapping[str, Any]) -> str:
    """What tells texts from others, by their sha256s."""
    return data_of("texts", ([one] for one in digests))


def check_texts(labelled: Iterable[str], known: Mapping[str, Any], where: str) -> None:
    """Check that labelled texts are among those that are scored.

    Raises:
        ValueError: if one is not.
    """
    if others := [text for text in labelled if text not in known]:
        raise ValueError(
            f"{where} has labels of {len(others):,} texts that are not among the {len(known):,} different texts of the "
            f"responses, such as that with the sha256 {others[0][:12]}.... Expected labels of these responses' texts."
        )
