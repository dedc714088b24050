"""Figures of runs: each answers a question, and is drawn only where its data are there.

- `shares`, `classes`, `texts`, `agreement`, `results`: the numbers, as small tables of counts and ratios.
- `look`, `charts`, `files`: how they are drawn, by matplotlib (the extra `figures`).
- `answers`: which figures there are: each with the question, what it needs, and a caption.
- `plots`: those that can be drawn, for the page and for `halluscope plot`.
"""
