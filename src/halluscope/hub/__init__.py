"""Publishes datasets and metrics on the Hub, and makes bare metric names known to `evaluate`.

`dataset` and `metric` check a folder and say what a repository shall hold (`publication`). `remote` reads what the Hub
holds, and is the only module that talks to it. `plan` compares the two, without a network; `publish` carries it out.
`card` checks a card's metadata against the Hub's terms; `installed` puts metrics into evaluate's module cache.
"""
