"""Reads a dataset's facts from datasets/<name>/spec.toml: its sources, licence and expected counts."""

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
    """A file at a URL, pinned by its sha256.

    Attributes:
        url: where its authors publish it.
        sha256: of the file at the URL; "unknown" if we could not download the file and its authors state no sha256. The
            user's file is then accepted, its sha256 is recorded, and only the expected counts check it.
        bytes: the file's size; absent if the sha256 is unknown.
        member: if the file is a zip, the file in it that is needed, or the folder, whose name ends in "/".
        member_sha256: of a member that is a file; "unknown" if we could not get the member. The zip's sha256 then
            checks the zip, and the expected counts check the member without its zip.
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
        """The sha256 of the member, or else of the file itself; None for a folder."""
        return self.member_sha256 if self.member else self.sha256


@dataclass(frozen=True)
class Spec:
    """The facts of one dataset.

    Attributes:
        name: the dataset's name, which is the same everywhere.
        version: the version of the built dataset; it is raised when the rows change.
        title: the name that is shown to readers.
        license: the Hub's identifier of the licence.
        license_note: details that the identifier does not say.
        publish_images: whether the licence lets anybody publish the images.
        split: the split's name.
        expected: counts that a complete dataset has, such as {"images": 5000}.
        sources: the upstream files, by the name of the builder's option.
        file: the spec.toml itself.
        vocabulary: the built-in vocabulary that the classes must belong to.
        built_from: the dataset of this project that this one is made from, if it has no sources.
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
            BuildError: if it is not, unless `subset` allows it.
        """
        found = {key: counts.get(key) for key in self.expected}
        if found != self.expected and not subset:
            raise BuildError(
                f"{self.name} is expected to hold {_listed(self.expected)}; found {_listed(found)}. "
                "Pass --subset if this is intended."
            )
        return found == self.expected


def load(name: str) -> Spec:
    """Read the spec of a dataset of this project, such as "throne_coco".

    Raises:
        FileNotFoundError: if the dataset does not exist.
        BuildError: as `read` does.
    """
    return read(share("datasets", name, "spec.toml"))


def read(file: Path) -> Spec:
    """Read a spec and check it: no key is unknown, no key is missing, and every source is pinned or "unknown".

    Raises:
        BuildError: if a check fails; the message names the file, the key, and what was expected.
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
            'expected both for a file, and only member for a folder (which ends in "/").'
        )
    return source


def _check(kind: type, facts: Mapping[str, Any], where: str) -> None:
    """Check a table against the fields of a dataclass: the names, the required ones, and the plain types."""
    known = {field.name: field for field in fields(kind)}
    known.pop("file", None)  # the path of the table itself
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
