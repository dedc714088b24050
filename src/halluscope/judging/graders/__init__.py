"""Verdicts on a response: by rules, by a model behind an endpoint, or by a local model."""
