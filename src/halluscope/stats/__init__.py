"""Ratios, intervals, correlations and shares: pure functions of numbers."""
