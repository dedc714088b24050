"""Builds datasets: upstream files in, a folder that `load_dataset` reads and the Hub shows out.

A benchmark's room strings these modules together: spec (what must come in), fetch (get it), images (check them), output
(write Parquet, statistics and card); command is the command line that all builders share.
"""
