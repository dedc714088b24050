"""Publishes datasets and metrics on the Hub, and makes bare metric names known to `evaluate`.

`dataset` and `metric` check what lies in a folder and say what a repository shall hold (`publication`); `remote` looks
what the Hub holds, and is the only module that talks to it; `plan` compares the two, without a network; `publish`
carries a plan out. `card` holds a card's metadata to the Hub's terms; `installed` keeps evaluate's module cache.
"""
