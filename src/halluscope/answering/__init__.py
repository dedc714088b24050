"""A vision-language model answers the questions of a benchmark, and goes on where it stopped."""
