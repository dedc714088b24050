"""The errors that are more than a `ValueError`'s message."""


class JudgeUnavailable(ValueError):
    """A judge cannot be had: unknown, without weights, or not to be downloaded."""


class MissingExtra(JudgeUnavailable, ImportError):
    """A judge needs packages that are an extra of halluscope."""


class JudgingFailed(ValueError):
    """Too many prompts have no readable verdict."""


class StoreError(ValueError):
    """The store of answers cannot be read or written."""


class HubError(ValueError):
    """Something is not fit to be published, or the Hub refuses it."""


class BuildError(ValueError):
    """Something that a dataset is built from is not what it has to be."""
