"""HallusionBench: language hallucination and visual illusion, told apart by control pairs (Guan et al., CVPR 2024)."""
