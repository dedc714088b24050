"""Figures of runs: each answers a question, and is drawn only if the runs have its data.

- `shares`, `classes`, `texts`, `agreement`, `results`: the numbers, as small tables of counts and ratios.
- `look`, `charts`, `files`: how they are drawn, by matplotlib (the extra `figures`).
- `answers`: the list of figures, each with its question, the data that it needs, and a caption.
- `plots`: the figures that can be drawn, for the page and for `halluscope plot`.
"""
