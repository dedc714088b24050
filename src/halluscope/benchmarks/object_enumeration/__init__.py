"""Object enumeration: training data that list the objects of an image, their places, and what is absent (THRONE,
section 6, and section 5 of its supplement)."""

from halluscope.registry import declared

BENCHMARK = declared(__file__)
