"""The errors of this package, all of them `HalluscopeError`s; bad arguments also raise plain `ValueError`s."""

from collections.abc import Iterator
from contextlib import contextmanager


class HalluscopeError(ValueError):
    """An error that the user can correct; the message says what arrived, what was expected, and what to do."""


class JudgeUnavailable(HalluscopeError):
    """A judge cannot be used: its name is unknown, its weights are missing, or they cannot be downloaded."""


class MissingExtra(JudgeUnavailable, ImportError):
    """A feature needs a package that is not installed: an extra of halluscope, or an optional package."""


@contextmanager
def needs(feature: str, extra: str, instead: str = "") -> Iterator[None]:
    """Say which extra has the package that a feature needs, if an import fails; `instead` is said after it."""
    try:
        yield
    except ImportError as error:
        message = f"{feature} needs {error.name} ({error}): pip install 'halluscope[{extra}]'.{instead}"
        raise MissingExtra(message) from error


class JudgingFailed(HalluscopeError):
    """Too many prompts have no readable vote or verdict."""


class WithoutEffect(HalluscopeError):
    """An option cannot matter in a call.

    `name` is the option's name, and `reason` says what it is and why it cannot matter.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{reason}; leave {name} out.")
        self.name = name
        self.reason = reason


class CacheError(HalluscopeError):
    """The cache of votes and replies cannot be read or written."""


class HubError(HalluscopeError):
    """Files cannot be published as they are, or the Hub refuses them."""


class BuildError(HalluscopeError):
    """A file is missing, damaged or not in the expected form, such as a source that a dataset is built from."""


class RunError(HalluscopeError):
    """A run's folder cannot be written or read, or was changed after it was written."""


class RegistryError(HalluscopeError):
    """A benchmark's package or record is incomplete."""


class LimitExceeded(HalluscopeError):
    """An input or a computation is larger than its limit (`halluscope.limits`)."""


class NoImages(HalluscopeError):
    """A dataset that was built without images."""


class OutputError(HalluscopeError):
    """A file or folder cannot be written at the place that was named."""


class WriteError(OutputError, OSError):
    """The system refuses to write: a full disk, a quota, a disk that is read-only or broken."""
