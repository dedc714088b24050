"""The errors that are more than a `ValueError`'s message; all of them are of one family."""


class HalluscopeError(ValueError):
    """Something that the user can mend; the message says what arrived, what was expected, and what to do."""


class JudgeUnavailable(HalluscopeError):
    """A judge cannot be had: unknown, without weights, or not to be downloaded."""


class MissingExtra(JudgeUnavailable, ImportError):
    """Something needs packages that are an extra of halluscope."""


class JudgingFailed(HalluscopeError):
    """Too many prompts have no readable verdict."""


class StoreError(HalluscopeError):
    """The store of votes and replies cannot be read or written."""


class HubError(HalluscopeError):
    """Something is not fit to be published, or the Hub refuses it."""


class BuildError(HalluscopeError):
    """Something that a dataset is built from is not what it has to be."""


class RunError(HalluscopeError):
    """A run's folder cannot be written or read, or is not as it was written."""


class RegistryError(HalluscopeError):
    """A benchmark's room or record lacks what the rest must know of it."""


class LimitExceeded(HalluscopeError):
    """Something is larger than what is read, kept or computed at the most (`halluscope.limits`)."""


class OutputError(HalluscopeError):
    """Something cannot be written where it is to go."""
