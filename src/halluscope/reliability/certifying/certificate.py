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
from halluscope.inputs import is_number
from halluscope.judging.cache import Cache
from halluscope.judging.votes import YES
from halluscope.reliability.certifying.judgement import Judgement, errors
from halluscope.reliability.certifying.labels import LARGEST_WEIGHT, Labels, check_texts, digest, name_of
from halluscope.reporting.tables import finite, to_json
from halluscope.sanitize import one_line, short_repr
from halluscope.stats.corrected import FEWEST_TEXTS, UNLABELLED, Sample
from halluscope.version import __version__
from halluscope.vocabularies import Vocabulary

FORM = "halluscope certificate 1"
DIGEST = "digest"

# What a certificate is about -> its name in messages; a certificate holds for nothing else.
ABOUT = {
    "judges": "judges",
    "questions": "questions",
    "agreement": "agreement",
    "vocabulary": "vocabulary",
    "texts": "responses' texts",
}


@dataclass(frozen=True)
class Certificate:
    """A judge's certificate."""

    content: Mapping[str, Any]  # as in the JSON file

    @property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the sha256 of its content."""
        return str(self.content[DIGEST])

    @property
    def labelled_by(self) -> str:
        """Who gave the labels."""
        return str(self.content["labelled_by"])

    @property
    def count(self) -> int:
        """How many labels there are."""
        return sum(len(entry["implied"]) + len(entry["not_implied"]) for entry in self.content["labels"])

    @property
    def texts(self) -> int:
        """How many texts have labels."""
        return len({entry["text"] for entry in self.content["labels"]})

    @property
    def signed(self) -> dict[str, Any]:
        """The parts of a signature that describe the certificate."""
        return {"certificate": self.digest, "labels": self.count, "labelled_by": self.labelled_by}

    def check(self, about: Mapping[str, Any]) -> None:
        """Check that it is about what is being scored, by names in `ABOUT`; unknown ones may be left out."""
        for name in about:
            certified, scored = _plain(self.content[name]), _plain(about[name])
            if certified != scored:
                raise ValueError(
                    f"The certificate {self.digest} is about the {ABOUT[name]} {short_repr(certified, 200)}, but "
                    "this score "
                    f"uses {short_repr(scored, 200)}. Score what was certified, or certify what you score: `halluscope "
                    "certify`."
                )

    def check_size(self, texts: Sequence[str]) -> None:
        """Check, before judges are asked, that it has labels for enough texts to correct scores."""
        fewest = min(FEWEST_TEXTS, len(set(texts)))
        if self.texts < fewest:
            raise ValueError(
                f"The certificate {self.digest} has labels for only {self.texts:,} texts; expected {fewest:,} or "
                f"more, to correct scores. Label more texts: `halluscope review make --marks implied`."
            )

    def sample(self, texts: Sequence[str], labels: NDArray[np.int8], vocabulary: Vocabulary) -> Sample:
        """Return its labels for the rows being scored, of which the judge's labels are [texts, classes].

        A text in several rows has its labels in each row. A judge that has changed its verdict is an error.
        """
        of_text: dict[str, list[Mapping[str, Any]]] = {}
        for entry in self.content["labels"]:
            of_text.setdefault(entry["text"], []).append(entry)
        digests = [digest(text) for text in texts]
        check_texts(of_text, dict.fromkeys(digests), f"The certificate {self.digest}")
        rows = np.array([row for row, text in enumerate(digests) if text in of_text], dtype=np.int64)
        columns = {name: column for column, name in enumerate(vocabulary.classes)}
        people = np.full((len(rows), len(columns)), UNLABELLED, dtype=np.int8)
        chances, judged = np.zeros(people.shape), np.zeros(people.shape, dtype=bool)
        for index, row in enumerate(rows):
            for entry in of_text[digests[row]]:
                for name, label in (("implied", 1), ("not_implied", 0)):
                    cells = self._columns(entry[name], columns)
                    people[index, cells], chances[index, cells] = label, entry["chance"]
                judged[index, self._columns(entry["judged"], columns)] = True
        if (judged != (labels[rows] == 1))[people != UNLABELLED].any():
            raise ValueError(
                f"The judges that the certificate {self.digest} names have changed their verdict on some of the "
                "labelled texts since it was made. Certify them again: `halluscope certify`."
            )
        of_texts = chances.max(axis=1)
        within = np.where(people == UNLABELLED, 1.0, chances / of_texts[:, np.newaxis])
        return Sample(rows, of_texts, people, within)

    def write(self, path: Path) -> None:
        """Write the certificate to a file, replacing any file there."""
        with new_file(path) as file:
            file.write(to_json(self.content) + "\n")

    def _columns(self, names: Sequence[str], columns: Mapping[str, int]) -> list[int]:
        if unknown := [name for name in names if name not in columns]:
            raise ValueError(
                f"The certificate {self.digest} has a label for {short_repr(unknown[0])}, which is not a class of this "
                "vocabulary."
            )
        return [columns[name] for name in names]


def certify(
    judgement: Judgement,
    labels: Labels,
    drawn_from: str,
    by: str,
    *,
    responses: str,
    data: str,
    store: Cache | str | Path | None = None,
) -> Certificate:
    """Make a certificate from judges' votes on labelled texts, in the order of `labels`.

    `drawn_from` names the texts from which these were drawn; `store` is the cache of the judges' votes.
    """
    questions, classes = judgement.questions, judgement.vocabulary.classes
    shown = [questions.cut(text) for text in judgement.texts]
    cache = store if isinstance(store, Cache) else Cache(store, "read")
    about = questions.about(judgement.vocabulary)
    margins = [cache.votes(judge, asked, shown)[1] for judge in judgement.poll.judges for asked in about]
    if cache is not store:
        cache.close()
    content = {
        "form": FORM,
        **judgement.about(drawn_from),
        "labelled_by": by,
        "labels_from": labels.name,
        "responses": responses,
        "data": data,
        **finite(errors(judgement, labels, np.stack(margins, axis=-1))),
        "labels": list(_entries(labels, judgement.labels == YES, classes)),
        "version": __version__,
    }
    return Certificate(content | {DIGEST: _digest(content)})


def read(source: "str | Path | Mapping[str, Any] | Certificate") -> Certificate:
    """Read a certificate from a file or its content, and check that it is unchanged."""
    if isinstance(source, Certificate):
        return source
    expected = "expected a file that `halluscope certify` wrote"
    if not isinstance(source, str | Path | Mapping):
        raise ValueError(f"certificate is {short_repr(source)}; {expected}.")
    if isinstance(source, Mapping):
        where, content = "certificate", source
    elif Path(source).is_file():
        where, content = one_line(source, 200), read_json(Path(source))
    else:
        raise ValueError(f"certificate is {short_repr(str(source))}, which is not a file; {expected}.")
    if not isinstance(content, Mapping) or content.get("form") != FORM or not _digest(content):
        raise ValueError(f"{where} is not a certificate; {expected}.")
    if content.get(DIGEST) != _digest(content):
        raise ValueError(
            f"{where}: the content does not match its digest {short_repr(content.get(DIGEST))}; the file was "
            "changed after it was written. Take the original, or run `halluscope certify` again."
        )
    if problem := next(_problems(content), None):
        raise ValueError(f"{where} is not complete: {problem}. Run `halluscope certify` again.")
    return Certificate(content)


def texts_of(texts: Sequence[str]) -> str:
    """Return the name that identifies the texts being scored, as in a certificate."""
    return name_of(dict.fromkeys(map(digest, texts)))


def _entries(labels: Labels, judged: NDArray[np.bool_], classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield each text's labels; labels that were asked for with the same chance are together."""
    for text, row in zip(labels.texts, judged, strict=True):
        said_yes = {name for name, yes in zip(classes, row, strict=True) if yes}
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
            yield f"{name} is {short_repr(value)}"
    labels = content.get("labels")
    if not isinstance(labels, list) or not labels:
        yield f"labels is {short_repr(labels)}"
    else:
        yield from (f"a label is {short_repr(entry)}" for entry in labels if not _is_entry(entry))


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        return False
    lists = [entry.get(name) for name in ("implied", "not_implied", "judged")]
    named = all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists)
    return named and is_number(entry.get("chance")) and 1 / LARGEST_WEIGHT <= entry["chance"] <= 1


def _digest(content: Mapping[str, Any]) -> str | None:
    """Return the checksum over all content but itself; None for content that JSON cannot hold."""
    rest = {name: value for name, value in content.items() if name != DIGEST}
    try:
        return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]
    except (TypeError, ValueError, RecursionError):
        return None
