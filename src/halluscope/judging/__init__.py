"""Judges: a reply is read as a vote, yes or no, or as a verdict on a response. They know nothing of benchmarks."""
