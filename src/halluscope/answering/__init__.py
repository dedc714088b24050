"""Asks a vision-language model the questions of a benchmark, and resumes where an earlier run stopped."""
