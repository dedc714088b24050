"""Offers the benchmarks as tasks of lm-eval, lmms-eval and Inspect."""
