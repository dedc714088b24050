"""Labels that people, or another reader, gave to a sample of texts: which classes each text implies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halluscope.judging.store_records import sha256
from halluscope.signature import data_of

PEOPLE = "people"

LARGEST_WEIGHT = 1e9
"""The largest weight of a label, which is 1 / the chance that the label was asked for."""


@dataclass(frozen=True)
class Labelled:
    """A labelled text.

    Attributes:
        text: the sha256 of the text, in hexadecimal digits.
        answers: class -> whether the text implies it, for the classes that were asked about.
        chances: class -> the probability that its label was asked for, in (0, 1].
    """

    text: str
    answers: Mapping[str, bool]
    chances: Mapping[str, float]


@dataclass(frozen=True)
class Labels:
    """The labels of a sample of texts.

    Attributes:
        name: the name of the sheet, or "labels-" and a digest of the labels.
        texts: the labelled texts, each once.
    """

    name: str
    texts: Sequence[Labelled]

    @property
    def count(self) -> int:
        """How many labels there are."""
        return sum(len(one.answers) for one in self.texts)


@dataclass(frozen=True)
class Population:
    """All texts that are scored, from which the labelled texts were drawn.

    Attributes:
        texts: the texts as they are scored, one per image.
        ids: the ids of the images, as text.
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
        """The name that identifies these texts, in any order."""
        return name_of(self.places)


def digest(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal digits."""
    return sha256(text).hex()


def name_of(digests: Sequence[str] | Mapping[str, Any]) -> str:
    """Return the name that identifies texts, given their sha256s."""
    return data_of("texts", ([one] for one in digests))


def check_texts(labelled: Iterable[str], known: Mapping[str, Any], where: str) -> None:
    """Check that labelled texts are among those that are scored.

    Raises:
        ValueError: if a labelled text is not.
    """
    if others := [text for text in labelled if text not in known]:
        raise ValueError(
            f"{where} has labels for {len(others):,} texts that are not among the {len(known):,} different texts of "
            f"the responses, such as the text with the sha256 {others[0][:12]}.... Expected labels for texts of "
            "these responses."
        )
