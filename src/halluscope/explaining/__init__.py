"""Which number is that: the same responses under each protocol of a benchmark, and what makes them differ."""
