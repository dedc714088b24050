"""Figures of runs: the numbers (`counts`), the drawing (`charts`), and the list of all (`plots`)."""
