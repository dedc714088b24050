"""Figures of runs: the numbers and the list of all (`plots`), and the drawing (`charts`)."""
