"""Figures of runs: the numbers (`points`, `counts`), the drawing (`charts`, `style`), and the list of all (`plots`)."""
