"""Builds haloquest: 608 free-form questions about generated and real images."""

from halluscope.benchmarks.haloquest.metric import GRADED
from halluscope.graded.build import builder

BUILDER = builder(GRADED)
