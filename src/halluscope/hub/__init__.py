"""Publishes datasets, metrics and results on the Hub, and makes bare metric names known to `evaluate`."""
