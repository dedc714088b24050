"""Runs: a result and everything it was computed from, in a folder; runs can be scored again and compared."""
