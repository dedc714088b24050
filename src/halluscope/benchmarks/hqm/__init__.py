"""HQM: how far a hallucination benchmark can be believed (Yan et al., Measuring the Measurers, section III)."""

from halluscope.registry import declared

BENCHMARK = declared(__file__)
