"""Scores the same responses under each protocol of a benchmark, and explains the differences."""
