"""A dataset's facts, read from datasets/<name>/spec.toml: its sources, licence and expected counts."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halluscope.benchmark import Benchmark
from halluscope.errors import BuildError
from halluscope.files.opening import read_text
from halluscope.paths import share

# A licence that nobody states, or the sha256 of a file that we could not get: any file of a user's is then accepted,
# its sha256 is recorded, and only the expected counts check it
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Upstream:
    """A file at the URL where its authors publish it, pinned by its sha256."""

    url: str
    sha256: str  # or UNKNOWN
    member: str | None = None  # the file that is needed in a zip, or the folder, which ends in "/"
    member_sha256: str | None = None  # of a member that is a file; or UNKNOWN

    @property
    def content_sha256(self) -> str | None:
        """The sha256 of the member, or of the file itself; None for a folder."""
        return self.member_sha256 if self.member else self.sha256


@dataclass(frozen=True)
class Spec:
    """The facts of one dataset."""

    name: str
    version: str  # of the built dataset; it is raised when the rows change
    title: str
    license: str  # the Hub's identifier, or UNKNOWN
    license_note: str  # what the identifier does not say
    publish_images: bool  # whether the licence lets anybody publish the images
    split: str
    expected: Mapping[str, int]  # counts of a complete dataset, such as {"images": 5000}
    sources: Mapping[str, Upstream]  # by the names that the builder gives them
    file: Path  # the spec.toml itself
    vocabulary: str | None = None  # the built-in one that the classes must belong to
    built_from: str | None = None  # the dataset of this project that this one is made from, without sources

    def matches(self, counts: Mapping[str, Any], subset: bool = False) -> bool:
        """Whether a dataset with these counts is complete; `subset` allows one that is not.

        Raises:
            BuildError: if it is not complete, and no subset is allowed.
        """
        counted = {name: counts.get(name) for name in self.expected}
        is_complete = counted == self.expected
        if not is_complete and not subset:
            raise BuildError(
                f"{self.name} is expected to hold {_listed(self.expected)}; found {_listed(counted)}. "
                "Pass --subset if this is intended (in Python subset=True)."
            )
        return is_complete


def _listed(counts: Mapping[str, int | None]) -> str:
    parts = []
    for name, count in counts.items():
        if count is None:
            parts.append(f"no {name}")
        else:
            parts.append(f"{count:,} {name}")
    return ", ".join(parts)


def licence_of(benchmark: Benchmark) -> str:
    """Say what the licences of a benchmark's datasets allow, and of what else it reads."""
    notes = []
    for dataset in benchmark.datasets:
        spec = load(dataset.name)
        note = spec.license_note
        if len(benchmark.datasets) > 1:
            note = f"{spec.title}: {note}"
        notes.append(note)
    if benchmark.licence:
        notes.append(benchmark.licence)
    return " ".join(notes)


def load(name: str) -> Spec:
    """Read the spec.toml of a dataset of this package."""
    return read(share("datasets", name, "spec.toml"))


def read(file: Path) -> Spec:
    """Read a spec.toml; tests/building/test_building.py checks all that come with the package."""
    content = tomllib.loads(read_text(file))
    sources = {name: Upstream(**source) for name, source in content.pop("sources").items()}
    return Spec(**content, sources=sources, file=file)
