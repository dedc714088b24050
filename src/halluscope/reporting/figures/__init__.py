"""Figures of runs: each answers a question, and is drawn only where its data are there.

- `shares`, `classes`, `texts`, `agreement`, `results`: the numbers, as small tables of counts and ratios.
- `look`, `charts`, `files`: how they are drawn, by matplotlib (the extra `figures`).
- `plots`: the questions, each with what it needs, its title and its caption; `halluscope plot` and the page use these.
"""
