"""AMBER: hallucination in descriptions and in responses to yes/no questions, without a judge (Wang et al., 2023)."""
