"""The engine of graded benchmarks: a judge gives a verdict on each free-form response.

A benchmark is its `benchmark.toml`, plus a subclass of `metric.Graded` with the functions in which it really differs.
"""
