"""Publishes datasets and metrics on the Hub, and makes bare metric names known to `evaluate`.

`dataset` and `metric` say what a repository shall hold; `publisher` compares it with the Hub, and carries it out.
"""
