"""AMBER: hallucination in descriptions and in responses to yes/no questions, without a judge (Wang et al., 2023)."""

from halluscope.registry import declared

BENCHMARK = declared(__file__)
