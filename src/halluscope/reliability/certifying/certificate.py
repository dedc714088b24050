"""The certificate of a judge: who judged what and how, what people said of a sample of it, and the errors it shows.

One JSON file that describes itself. It is cited by its digest, a checksum over all that it says: a label that
is changed by mistake is noticed, one that is forged with a digest computed anew is not.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halluscope.files.opening import read_json
from halluscope.files.writing import new_file
from halluscope.foreign import brief, one_line
from halluscope.numbers import is_number
from halluscope.reliability.certifying.labels import (
    LARGEST_WEIGHT,
    Labelled,
    Labels,
    check_texts,
    digest,
    name_of,
)
from halluscope.reporting.tables import finite, to_json
from halluscope.stats.corrected import FEWEST_TEXTS, UNLABELLED, Sample
from halluscope.stats.tallies import Bools
from halluscope.version import __version__
from halluscope.vocabularies import Vocabulary

FORM = "halluscope certificate 1"
ABOUT = {
    "judges": "judges",
    "questions": "questions",
    "agreement": "agreement",
    "vocabulary": "vocabulary",
    "texts": "responses' texts",
}
"""What a certificate is about, and how a message calls it; it holds for nothing else."""

DIGEST = "digest"


@dataclass(frozen=True)
class Certificate:
    """What people found of a judge.

    Attributes:
        content: all that it says, as it stands in JSON; `digest` is a checksum over the rest.
    """

    content: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """By which it is cited: the first 16 hexadecimal digits of the sha256 of its content."""
        return str(self.content[DIGEST])

    @property
    def labelled_by(self) -> str:
        """Who gave the labels."""
        return str(self.content["labelled_by"])

    @property
    def count(self) -> int:
        """How many labels there are."""
        return sum(len(one["implied"]) + len(one["not_implied"]) for one in self.content["labels"])

    @property
    def texts(self) -> int:
        """Of how many texts."""
        return len({one["text"] for one in self.content["labels"]})

    @property
    def signed(self) -> dict[str, Any]:
        """What a signature says of it."""
        return {"certificate": self.digest, "labels": self.count, "labelled_by": self.labelled_by}

    def check(self, about: Mapping[str, Any]) -> None:
        """Check that it is about what is scored.

        Args:
            about: what is scored, by names in `ABOUT`; what is not known yet may be left out.

        Raises:
            ValueError: if it is about another judge, question set, agreement, vocabulary, or other texts.
        """
        for name in about:
            certified, scored = _plain(self.content[name]), _plain(about[name])
            if certified != scored:
                raise ValueError(
                    f"The certificate {self.digest} is about the {ABOUT[name]} {brief(certified, 200)}; scored are "
                    f"{brief(scored, 200)}. Score what was certified, or certify what you score: `halluscope certify`."
                )

    def check_size(self, texts: Sequence[str]) -> None:
        """Check that it has labels of enough texts to correct scores by, before judges are asked.

        Raises:
            ValueError: if it has not.
        """
        fewest = min(FEWEST_TEXTS, len(set(texts)))
        if self.texts < fewest:
            raise ValueError(
                f"The certificate {self.digest} has labels of only {self.texts:,} texts; scores are corrected by those "
                f"of {fewest:,} or more. Label more texts: `halluscope review make --marks implied`."
            )

    def sample(self, texts: Sequence[str], labels: NDArray[np.int8], vocabulary: Vocabulary) -> Sample:
        """Its labels, put to the rows that are scored.

        Args:
            texts: that are scored; a text that several rows have has its label in each.
            labels: [texts, classes] of the judge.
            vocabulary: of the classes.

        Raises:
            ValueError: for labels of texts or classes that are not scored, or a judge that now says something else.
        """
        of_text: dict[str, list[Mapping[str, Any]]] = {}
        for one in self.content["labels"]:
            of_text.setdefault(one["text"], []).append(one)
        digests = [digest(text) for text in texts]
        check_texts(of_text, dict.fromkeys(digests), f"The certificate {self.digest}")
        rows = np.array([row for row, text in enumerate(digests) if text in of_text], dtype=np.int64)
        column = {name: place for place, name in enumerate(vocabulary.classes)}
        tables = zip(*(self._cells(of_text[digests[row]], column) for row in rows), strict=True)
        told, chances, judged = map(np.array, tables)
        if (judged != (labels[rows] == 1))[told != UNLABELLED].any():
            raise ValueError(
                f"The certificate {self.digest} names judges that said something else of the labelled texts than "
                "they do now. Certify them again: `halluscope certify`."
            )
        of_texts = chances.max(axis=1)
        within = np.where(told == UNLABELLED, 1.0, chances / of_texts[:, np.newaxis])
        return Sample(rows, of_texts, told, within)

    def write(self, path: Path) -> None:
        """Write it to a new file.

        Raises:
            OSError: if it cannot be written.
        """
        with new_file(path) as file:
            file.write(to_json(self.content) + "\n")

    def _cells(
        self, entries: Sequence[Mapping[str, Any]], column: Mapping[str, int]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], Bools]:
        """Of each class what people say of a text, by what chance they were asked, and whether the judges say yes."""
        told, chances = np.full(len(column), UNLABELLED, dtype=np.int8), np.zeros(len(column))
        judged = np.zeros(len(column), dtype=bool)
        for one in entries:
            for name, answer in (("implied", 1), ("not_implied", 0)):
                cells = [self._column(cls, column) for cls in one[name]]
                told[cells], chances[cells] = answer, one["chance"]
            judged[[self._column(cls, column) for cls in one["judged"]]] = True
        return told, chances, judged

    def _column(self, name: str, column: Mapping[str, int]) -> int:
        if name not in column:
            raise ValueError(
                f"The certificate {self.digest} has a label of {brief(name)}, which is no class here."
            )
        return column[name]


def issue(
    about: Mapping[str, Any], labels: Labels, judged: Bools, classes: Sequence[str], by: str, **found: Any
) -> Certificate:
    """Make a certificate.

    Args:
        about: what it is about, by the names in `ABOUT`.
        labels: what people said.
        judged: bool [labelled texts, classes], what the judges agree to say yes to.
        classes: of the columns.
        by: who gave the labels.
        found: the judge's errors, and what else it says.
    """
    content = {
        "form": FORM,
        **{name: about[name] for name in ABOUT},
        "labelled_by": by,
        "labels_from": labels.name,
        **finite(found),
        "labels": [
            one
            for text, row in zip(labels.texts, judged, strict=True)
            for one in _entries(text, row, classes)
        ],
        "version": __version__,
    }
    return Certificate(content | {DIGEST: _digest(content)})


def read(given: "str | Path | Mapping[str, Any] | Certificate") -> Certificate:
    """Read a certificate, and check that it is as it was written.

    Args:
        given: a file, what stands in one, or a certificate.

    Raises:
        ValueError: for a file that is not there, what is no certificate, or what was changed.
    """
    if isinstance(given, Certificate):
        return given
    if not isinstance(given, str | Path | Mapping):
        raise ValueError(f"certificate is {brief(given)}; expected a file that `halluscope certify` wrote.")
    where = "certificate" if isinstance(given, Mapping) else one_line(given, 200)
    if not isinstance(given, Mapping) and not Path(given).is_file():
        raise ValueError(
            f"certificate is {brief(str(given))}, which is no file; expected one that `halluscope certify` wrote."
        )
    content = given if isinstance(given, Mapping) else read_json(Path(given))
    if not isinstance(content, Mapping) or content.get("form") != FORM or not _digest(content):
        raise ValueError(f"{where} is no certificate; expected a file that `halluscope certify` wrote.")
    if content.get(DIGEST) != _digest(content):
        raise ValueError(
            f"{where}: its content is not what its digest {brief(content.get(DIGEST))} stands for; the file was "
            "changed after it was written. Take the original, or run `halluscope certify` again."
        )
    if problem := next(_problems(content), None):
        raise ValueError(f"{where} is not complete: {problem}. Run `halluscope certify` again.")
    return Certificate(content)


def texts_of(texts: Sequence[str]) -> str:
    """What tells the texts that are scored from others, as a certificate says it."""
    return name_of(dict.fromkeys(map(digest, texts)))


def _entries(text: Labelled, judged: Bools, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A text's labels; those that were asked for by one chance stand together."""
    said_yes = {name for name, yes in zip(classes, judged, strict=True) if yes}
    for chance in sorted(set(text.chances.values())):
        names = [name for name in text.answers if text.chances[name] == chance]
        yield {
            "text": text.text,
            "chance": chance,
            "implied": [name for name in names if text.answers[name]],
            "not_implied": [name for name in names if not text.answers[name]],
            "judged": [name for name in names if name in said_yes],
        }


def _plain(value: Any) -> Any:
    """A value to compare; judges may vote in any order."""
    return sorted(value) if isinstance(value, list | tuple) else value


def _problems(content: Mapping[str, Any]) -> Iterator[str]:
    """What a certificate lacks."""
    for name in (*ABOUT, "labelled_by"):
        value = content.get(name)
        words = value if isinstance(value, list) and name == "judges" else [value]
        if not words or not all(isinstance(word, str) and word for word in words):
            yield f"{name} is {brief(value)}"
    labels = content.get("labels")
    if not isinstance(labels, list) or not labels:
        yield f"labels is {brief(labels)}"
    for one in labels if isinstance(labels, list) else ():
        if not _is_entry(one):
            yield f"a label is {brief(one)}"


def _is_entry(one: Any) -> bool:
    if not isinstance(one, Mapping) or not isinstance(one.get("text"), str):
        return False
    lists = [one.get(name) for name in ("implied", "not_implied", "judged")]
    named = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists)
    return named and is_number(one.get("chance")) and 1 / LARGEST_WEIGHT <= one["chance"] <= 1


def _digest(content: Mapping[str, Any]) -> str | None:
    """The checksum over all but itself; None of what no JSON says."""
    said = {name: value for name, value in content.items() if name != DIGEST}
    try:
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
    except (TypeError, ValueError, RecursionError):
        return None
