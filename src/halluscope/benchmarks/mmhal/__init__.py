"""MMHal-Bench: are free-form responses informative and free of hallucination? (Sun et al., 2023)."""
