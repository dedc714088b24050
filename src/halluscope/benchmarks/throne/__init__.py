"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024)."""

from halluscope.registry import declared

BENCHMARK = declared(__file__)
