"""CHAIR: object hallucination in image captions, word by word (Rohrbach et al., EMNLP 2018)."""

from halluscope.registry import declared

BENCHMARK = declared(__file__)
