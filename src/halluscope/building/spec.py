"""A dataset's facts, read from datasets/<name>/spec.toml: its sources, licence and expected counts."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from halluscope.errors import BuildError
from halluscope.files.opening import read_text
from halluscope.foreign import brief, one_line
from halluscope.paths import share

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Source:
    """A file to be had at a URL, pinned by its sha256.

    Attributes:
        url: where its authors publish it.
        sha256: of the file behind the URL; "unknown" where we could not have it and its authors name none: then the
            user's file is taken, its sha256 is noted, and the expected counts are the check.
        bytes: its size; absent where the sha256 is unknown.
        member: when the file is a zip: the file in it that is meant, or the folder, which ends in "/".
        member_sha256: of a member that is a file; "unknown" where we could not have it: then the zip's sha256 is the
            check, and for the file without its zip the expected counts.
    """

    url: str
    sha256: str
    bytes: int | None = None
    member: str | None = None
    member_sha256: str | None = None

    @property
    def pinned(self) -> bool:
        """Whether its sha256 is known."""
        return self.sha256 != UNKNOWN

    @property
    def content_sha256(self) -> str | None:
        """The sha256 of what is read in the end: the member, or else the file; None for a folder."""
        return self.member_sha256 if self.member else self.sha256


@dataclass(frozen=True)
class Spec:
    """The facts of one dataset.

    Attributes:
        name: the benchmark's name, the same everywhere.
        version: of the dataset that is built; goes up when its rows change.
        title: for people.
        license: the Hub's identifier of a licence.
        license_note: what the identifier leaves open.
        publish_images: whether the licence lets anybody publish the images.
        split: the split's name.
        expected: counts that a complete dataset has, such as {"images": 5000}.
        sources: the upstream files, by the name of the builder's option.
        file: where this was read.
        vocabulary: the built-in vocabulary that the classes must belong to.
        built_from: the dataset of this project that this one is made of, instead of sources.
    """

    name: str
    version: str
    title: str
    license: str
    license_note: str
    publish_images: bool
    split: str
    expected: Mapping[str, int]
    sources: Mapping[str, Source]
    file: Path
    vocabulary: str | None = None
    built_from: str | None = None

    def matches(self, counts: Mapping[str, Any], subset: bool = False) -> bool:
        """Whether a dataset with these counts is complete.

        Raises:
            BuildError: when it is not, unless `subset` says that this is meant.
        """
        found = {key: counts.get(key) for key in self.expected}
        if found != self.expected and not subset:
            raise BuildError(
                f"{self.name} is expected to hold {_listed(self.expected)}; found {_listed(found)}. "
                "Pass --subset if you mean it."
            )
        return found == self.expected


def load(name: str) -> Spec:
    """Read the spec of a dataset of this project, such as "throne_coco".

    Raises:
        FileNotFoundError: when there is none of that name.
        BuildError: as `read` does.
    """
    return read(share("datasets", name, "spec.toml"))


def read(file: Path) -> Spec:
    """Read a spec and hold it to the rules: no unknown key, none missing, every source pinned.

    Raises:
        BuildError: naming the file, the key, and what was expected.
    """
    text = read_text(file)
    try:
        facts = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BuildError(f"{file} is not TOML: {error}. Correct it, or build the dataset again.") from error
    where = str(file)
    _check(Spec, facts, where)
    if not (facts["sources"] or facts.get("built_from")) or not facts["expected"]:
        raise BuildError(f"{where}: [sources.*] (or built_from) and [expected] must each have an entry.")
    for key, count in facts["expected"].items():
        if type(count) is not int or count < 1:
            raise BuildError(f"{where}: [expected] {key} is {brief(count)}; expected a number of at least 1.")
    sources = {key: _source(value, f"{where}: [sources.{key}]") for key, value in facts["sources"].items()}
    return Spec(**facts | {"sources": sources, "file": file})


def _source(facts: Any, where: str) -> Source:
    if not isinstance(facts, dict):
        raise BuildError(f"{where} is {brief(facts)}; expected a table with url, sha256 and bytes.")
    _check(Source, facts, where)
    source = Source(**facts)
    if not re.match(r"https?://", source.url):
        raise BuildError(f"{where}: url is {brief(source.url)}; expected http:// or https://.")
    sums = {"sha256": source.sha256, "member_sha256": source.member_sha256}
    for key, digest in sums.items():
        if digest not in (None, UNKNOWN) and not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise BuildError(f"{where}: {key} is {brief(digest)}; expected 64 lower-case hexadecimal digits.")
    if source.pinned != (source.bytes is not None):
        raise BuildError(
            f"{where}: sha256 is {source.sha256!r} and bytes is {source.bytes!r}; "
            "expected both to be known, or neither."
        )
    is_file = source.member is not None and not source.member.endswith("/")
    if is_file != (source.member_sha256 is not None):
        raise BuildError(
            f"{where}: member is {source.member!r} and member_sha256 is {source.member_sha256!r}; "
            'expected both for a file, and for a folder (which ends in "/") member alone.'
        )
    return source


def _check(kind: type, facts: Mapping[str, Any], where: str) -> None:
    """Hold a table to the fields of a dataclass: their names, which are needed, and the plain types."""
    known = {field.name: field for field in fields(kind)}
    known.pop("file", None)  # where the table was read: not in it
    needed = {name for name, field in known.items() if field.default is MISSING}
    if unknown := sorted(set(facts) - set(known)):
        raise BuildError(
            f"{where}: unknown key {', '.join(map(one_line, unknown))}; known are {', '.join(known)}."
        )
    if missing := sorted(needed - set(facts)):
        raise BuildError(f"{where}: {', '.join(missing)} is missing.")
    for name, hint in get_type_hints(kind).items():
        expected = dict if hasattr(hint, "__origin__") else hint
        if name in facts and not isinstance(facts[name], expected):
            raise BuildError(f"{where}: {name} is {brief(facts[name])}; expected {_plain(expected)}.")


def _plain(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _listed(counts: Mapping[str, int | None]) -> str:
    return ", ".join(f"{'no' if count is None else f'{count:,}'} {key}" for key, count in counts.items())
