"""Builds mmhal: 96 free-form questions of eight types about images of OpenImages."""

from halluscope.benchmarks.mmhal.metric import GRADED
from halluscope.graded.build import builder

BUILDER = builder(GRADED)
