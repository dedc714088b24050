"""Batch files: requests to a server are written to files instead of sent, and its replies are read into the cache."""
