"""HQM as a metric: the indicators of reliability and validity."""

from halluscope.reliability.hqm import compute

__all__ = ["compute"]
