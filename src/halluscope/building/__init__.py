"""Builds datasets: turns upstream files into a folder that `load_dataset` reads and the Hub shows.

A benchmark's room uses these modules in turn: spec (says what is needed), fetch (gets it), images (checks them), output
(writes Parquet, statistics and card). The module command holds the command line that all builders share.
"""
