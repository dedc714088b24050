"""The benchmarks in other people's harnesses, lm-eval and lmms-eval, and what both and `halluscope answer` ask."""
