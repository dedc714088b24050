"""Builds humblebench: questions with five choices."""

from halluscope.benchmarks.humblebench.metric import LABELLED
from halluscope.graded.build import builder

BUILDER = builder(LABELLED)
