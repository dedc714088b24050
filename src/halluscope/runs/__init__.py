"""Runs: a result and all that it was made of, in a folder from which it can be computed again, and be compared."""
