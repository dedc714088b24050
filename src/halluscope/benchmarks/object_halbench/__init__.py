"""Object HalBench: object hallucination in detailed descriptions (Yu et al., RLHF-V, CVPR 2024)."""
