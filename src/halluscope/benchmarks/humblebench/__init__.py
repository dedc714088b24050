"""HumbleBench: questions with five choices, of which the last is "none of the above" (2025)."""

from halluscope.graded import record

BENCHMARK = record.record(__file__)
