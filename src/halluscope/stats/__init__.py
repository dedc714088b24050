"""Computes ratios, intervals, correlations and shares, by pure functions of numbers."""
