"""The certificate of a judge: who judged what and how, people's labels of a sample, and the judge's errors.

A certificate is one self-describing JSON file. It is cited by its digest, a checksum over all its content. The digest
reveals a label that was changed by mistake, but not one that was forged with a new digest.
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
"""The things that a certificate is about -> their names in messages; a certificate holds for nothing else."""

DIGEST = "digest"


@dataclass(frozen=True)
class Certificate:
    """A judge's certificate.

    Attributes:
        content: the whole content, as in the JSON file; `digest` is a checksum over the rest.
    """

    content: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The digest by which it is cited: the first 16 hexadecimal digits of the sha256 of its content."""
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
        """How many texts have labels."""
        return len({one["text"] for one in self.content["labels"]})

    @property
    def signed(self) -> dict[str, Any]:
        """The parts of a signature that describe the certificate."""
        return {"certificate": self.digest, "labels": self.count, "labelled_by": self.labelled_by}

    def check(self, about: Mapping[str, Any]) -> None:
        """Check that the certificate is about the things being scored.

        Args:
            about: the things being scored, by their names in `ABOUT`; unknown ones may be left out.

        Raises:
            ValueError: if it is about another judge, question set, agreement, vocabulary, or other texts.
        """
        for name in about:
            certified, scored = _plain(self.content[name]), _plain(about[name])
            if certified != scored:
                raise ValueError(
                    f"The certificate {self.digest} is about the {ABOUT[name]} {brief(certified, 200)}, but this score "
                    f"uses {brief(scored, 200)}. Score what was certified, or certify what you score: `halluscope "
                    "certify`."
                )

    def check_size(self, texts: Sequence[str]) -> None:
        """Check, before judges are asked, that it has labels for enough texts to correct scores.

        Raises:
            ValueError: if it has too few.
        """
        fewest = min(FEWEST_TEXTS, len(set(texts)))
        if self.texts < fewest:
            raise ValueError(
                f"The certificate {self.digest} has labels for only {self.texts:,} texts; expected {fewest:,} or "
                f"more, to correct scores. Label more texts: `halluscope review make --marks implied`."
            )

    def sample(self, texts: Sequence[str], labels: NDArray[np.int8], vocabulary: Vocabulary) -> Sample:
        """Return its labels for the rows being scored.

        Args:
            texts: the texts being scored; a text in several rows has its labels in each row.
            labels: the judge's labels [texts, classes].
            vocabulary: the vocabulary of the classes.

        Raises:
            ValueError: for labels of texts or classes that are not scored, or if the judge has changed its verdict on a
                labelled text.
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
                f"The judges that the certificate {self.digest} names have changed their verdict on some of the "
                "labelled texts since it was made. Certify them again: `halluscope certify`."
            )
        of_texts = chances.max(axis=1)
        within = np.where(told == UNLABELLED, 1.0, chances / of_texts[:, np.newaxis])
        return Sample(rows, of_texts, told, within)

    def write(self, path: Path) -> None:
        """Write the certificate to a file, replacing any file there.

        Raises:
            OSError: if it cannot be written.
        """
        with new_file(path) as file:
            file.write(to_json(self.content) + "\n")

    def _cells(
        self, entries: Sequence[Mapping[str, Any]], column: Mapping[str, int]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], Bools]:
        """Return, per class, a text's label, the chance that it was asked for, and whether the judges say yes."""
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
                f"The certificate {self.digest} has a label for {brief(name)}, which is not a class of this vocabulary."
            )
        return column[name]


def issue(
    about: Mapping[str, Any], labels: Labels, judged: Bools, classes: Sequence[str], by: str, **found: Any
) -> Certificate:
    """Make a certificate.

    Args:
        about: the things that it is about, by their names in `ABOUT`.
        labels: people's labels.
        judged: bool [labelled texts, classes], whether the judges agree on yes.
        classes: the classes of the columns.
        by: who gave the labels.
        found: the judge's errors, and other content of the certificate.
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
    """Read a certificate, and check that it is unchanged.

    Args:
        given: a file, the content of one, or a certificate.

    Raises:
        ValueError: for a missing file, for something other than a certificate, or for a certificate that was changed.
    """
    if isinstance(given, Certificate):
        return given
    if not isinstance(given, str | Path | Mapping):
        raise ValueError(f"certificate is {brief(given)}; expected a file that `halluscope certify` wrote.")
    where = "certificate" if isinstance(given, Mapping) else one_line(given, 200)
    if not isinstance(given, Mapping) and not Path(given).is_file():
        raise ValueError(
            f"certificate is {brief(str(given))}, which is not a file; expected a file that `halluscope certify` wrote."
        )
    content = given if isinstance(given, Mapping) else read_json(Path(given))
    if not isinstance(content, Mapping) or content.get("form") != FORM or not _digest(content):
        raise ValueError(f"{where} is not a certificate; expected a file that `halluscope certify` wrote.")
    if content.get(DIGEST) != _digest(content):
        raise ValueError(
            f"{where}: the content does not match its digest {brief(content.get(DIGEST))}; the file was "
            "changed after it was written. Take the original, or run `halluscope certify` again."
        )
    if problem := next(_problems(content), None):
        raise ValueError(f"{where} is not complete: {problem}. Run `halluscope certify` again.")
    return Certificate(content)


def texts_of(texts: Sequence[str]) -> str:
    """Return the name that identifies the texts being scored, as in a certificate."""
    return name_of(dict.fromkeys(map(digest, texts)))


def _entries(text: Labelled, judged: Bools, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a text's labels; labels that were asked for with the same chance are together."""
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
    """Return a value for comparison; judges may be listed in any order."""
    return sorted(value) if isinstance(value, list | tuple) else value


def _problems(content: Mapping[str, Any]) -> Iterator[str]:
    """Say what a certificate lacks."""
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
    """Return the checksum over all content but itself; None for content that JSON cannot hold."""
    said = {name: value for name, value in content.items() if name != DIGEST}
    try:
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
    except (TypeError, ValueError, RecursionError):
        return None
