"""Batch files: what a server is to be asked is written instead of sent, and what comes back is read into the store."""
