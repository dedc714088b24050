"""The benchmarks as tasks of lm-eval and lmms-eval."""
