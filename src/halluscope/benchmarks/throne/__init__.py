"""THRONE: object hallucination in free-form image descriptions (Kaul et al., CVPR 2024)."""
