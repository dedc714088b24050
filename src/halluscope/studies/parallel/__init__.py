"""The parallel form of a benchmark: the same questions in other words (HQM, section III.A)."""
