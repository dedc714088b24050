"""What a repository on the Hub shall hold: a kind, a name, a version and its files."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Content = Path | bytes
"""A file on disk, or the content of one that was made for the Hub."""

Kind = Literal["dataset", "space"]
"""What the Hub calls a repository; a metric is a Space."""

CARD = "README.md"
"""The only file that may change without a new version, as it is prose, not data."""


@dataclass(frozen=True)
class Publication:
    """A dataset or a metric that passed all checks that need no network.

    Attributes:
        kind: the kind of the repository.
        repository: "org/name".
        version: the version of the dataset or metric.
        tag: the revision's name on the Hub.
        files: path in the repository -> content; `CARD` is among them.
        facts: the file that shows that a repository is ours, and in which version.
        version_in: reads the version from that file's text; gives None if the file is not ours.
        notes: what the user who publishes should know.
    """

    kind: Kind
    repository: str
    version: str
    tag: str
    files: Mapping[str, Content]
    facts: str
    version_in: Callable[[str], str | None]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.repository} {self.version}"


@dataclass(frozen=True)
class Stored:
    """A file as the Hub describes it.

    Attributes:
        size: in bytes.
        git_sha1: its git hash, if it is stored in git itself.
        sha256: the hash of its content, if it is stored as a large file.
    """

    size: int
    git_sha1: str
    sha256: str | None = None

    def holds(self, content: Content) -> bool:
        """Whether the Hub's file has this content."""
        if self.size != size(content):
            return False
        if self.sha256 is not None:
            return self.sha256 == _digest(content, hashlib.sha256())
        return self.git_sha1 == _digest(content, hashlib.sha1(b"blob %d\0" % self.size))


def size(content: Content) -> int:
    """Return the size of a content in bytes."""
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _digest(content: Content, digest: "hashlib._Hash") -> str:
    if isinstance(content, bytes):
        digest.update(content)
        return digest.hexdigest()
    with content.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest()
