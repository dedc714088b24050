"""CHAIR: object hallucination in image captions, word by word (Rohrbach et al., EMNLP 2018)."""
