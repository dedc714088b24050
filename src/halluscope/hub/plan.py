"""Decides what publishing would change, from what is wanted and what the Hub holds, without a network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from halluscope.errors import HubError
from halluscope.foreign import one_line
from halluscope.hub.publication import CARD, Content, Publication, Stored, size
from halluscope.hub.remote import Held

State = Literal["new", "changed", "same", "deleted"]


@dataclass(frozen=True)
class Plan:
    """What publishing would do.

    Attributes:
        wanted: what the repository shall hold.
        held: what the Hub holds; None if it has no such repository.
        public: whether a new repository is to be public.
        states: what happens to each file.
        tag: whether publishing sets the tag; False if the tag exists with the same data.
    """

    wanted: Publication
    held: Held | None
    public: bool
    states: Mapping[str, State]
    tag: bool

    @property
    def changed(self) -> dict[str, Content]:
        """The files to send, with their content."""
        return {path: self.wanted.files[path] for path in self._in("new", "changed")}

    @property
    def deleted(self) -> list[str]:
        """The files to delete."""
        return self._in("deleted")

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.tag or self.changed or self.deleted)

    def __str__(self) -> str:
        """Say what would happen, and list each file with its size."""
        lines = [
            f"{self.wanted.kind} {self.wanted.repository}, version {self.wanted.version}: {self._summary()}"
        ]
        for path, state in sorted(self.states.items()):
            content = self.wanted.files.get(path)
            lines.append(
                f"  {state:8} {_bytes(size(content)) if content is not None else '':>9}  {one_line(path)}"
            )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.wanted.notes)])

    def _summary(self) -> str:
        if self.idle:
            return "it is there already; nothing to do"
        sent = f"{len(self.changed)} files ({_bytes(sum(map(size, self.changed.values())))})"
        seen = "public" if (self.public if self.held is None else not self.held.private) else "private"
        where = f"a new {seen} repository" if self.held is None else f"the {seen} repository that is there"
        parts = [f"{sent} go to {where}"] if self.changed else []
        parts += [f"{len(self.deleted)} are deleted"] if self.deleted else []
        parts += [f"tag {self.wanted.tag} is set" if self.tag else f"tag {self.wanted.tag} stays where it is"]
        return ", ".join(parts)

    def _in(self, *states: State) -> list[str]:
        return [path for path, state in self.states.items() if state in states]


def plan(wanted: Publication, held: Held | None, public: bool = False) -> Plan:
    """Compare what is wanted with what the Hub holds.

    A version is published once: the data under its tag never change. The card on main may change. If an upload was
    killed, or somebody removed files from main, the missing files are added.

    Args:
        wanted: what the repository shall hold.
        held: what the repository holds now; None if it does not exist.
        public: whether a new repository is made public, and an existing one may be public.

    Raises:
        HubError: if the version is published with other data, a later version is there and this one's tag is not, the
            repository holds files that this project did not publish, or it is public and `public` is False.
    """
    if held is None:
        return Plan(wanted, None, public, dict.fromkeys(wanted.files, "new"), tag=True)
    states = _states(wanted, held.main)
    if held.tagged is not None:
        if differing := _data(_states(wanted, held.tagged)):
            raise HubError(
                f"{wanted.repository} has a version {wanted.version} (tag {wanted.tag}) with other data: "
                f"{differing[0]} differs{f', and {len(differing) - 1} more' if len(differing) > 1 else ''}. A version "
                "is published once. Give the changed data a new version"
                + (", in its spec.toml, and build again." if wanted.kind == "dataset" else ".")
            )
        if _data(states):
            if held.version is not None and _ordered(held.version) > _ordered(wanted.version):
                return Plan(wanted, held, public, {}, tag=False)  # main went on to a later version
            _check_restorable(wanted, held, states)
    elif _data(states):
        _check_replaceable(wanted, held)
    decided = Plan(wanted, held, public, states, tag=held.tagged is None)
    if not held.private and not public and not decided.idle:
        raise HubError(
            f"{wanted.repository} is public: everyone sees at once what is sent there. Pass --public if you mean that."
        )
    return decided


def _check_replaceable(wanted: Publication, held: Held) -> None:
    """Check that the data on main may be replaced by another version."""
    data = sorted(set(held.main) - {CARD})
    if not data:
        return
    if held.version is None:
        raise HubError(
            f"{wanted.kind} {wanted.repository} holds {data[0]!r}, but no {wanted.facts} of ours: halluscope did not "
            "publish the repository, and leaves it alone. Publish under another organization, or delete it on the Hub."
        )
    if held.version == wanted.version:
        raise HubError(
            f"{wanted.repository} holds version {wanted.version} with other data, without the tag {wanted.tag}: an "
            "upload was interrupted, and the data have changed since. Give the changed data a new version."
        )
    if _ordered(held.version) > _ordered(wanted.version):
        raise HubError(
            f"{wanted.repository} holds version {one_line(held.version, 40)}, later than {wanted.version}. Publish "
            "from a newer checkout."
        )


def _check_restorable(wanted: Publication, held: Held, states: Mapping[str, State]) -> None:
    """Check that main may be restored to what the tag holds."""
    data = sorted(set(held.main) - {CARD})
    if data and held.version is None:
        raise HubError(
            f"{wanted.repository} holds {data[0]!r} and the tag {wanted.tag}, but no {wanted.facts} of ours that says "
            "its version: somebody changed main. Put that file back on the Hub; the tag holds it."
        )
    added = sorted(path for path, state in states.items() if state == "deleted")
    if added and held.version == wanted.version:
        raise HubError(
            f"{wanted.repository} holds {added[0]!r}, which is not in version {wanted.version} (tag {wanted.tag}): "
            "somebody added it to main, and halluscope leaves it alone. Delete it on the Hub, then repeat the same "
            "command."
        )


def _states(wanted: Publication, there: Mapping[str, Stored]) -> dict[str, State]:
    states: dict[str, State] = {}
    for path, content in wanted.files.items():
        stored = there.get(path)
        states[path] = "new" if stored is None else "same" if stored.holds(content) else "changed"
    return states | dict.fromkeys(set(there) - set(wanted.files), "deleted")


def _data(states: Mapping[str, State]) -> list[str]:
    """Return the files that differ, except the card."""
    return sorted(path for path, state in states.items() if state != "same" and path != CARD)


def _ordered(version: str) -> list[tuple[bool, int, str]]:
    """Return a key that orders versions number by number."""
    numbers = [int(part) if re.fullmatch("[0-9]{1,18}", part) else None for part in version.split(".")]
    return [
        (number is not None, number or 0, part)
        for number, part in zip(numbers, version.split("."), strict=True)
    ]


def _bytes(count: int) -> str:
    """Return a size in words."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"
