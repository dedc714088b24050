"""OpenCHAIR: hallucinated nouns in captions, without a closed list of objects (Ben-Kish et al., EMNLP 2024)."""
