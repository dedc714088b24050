"""Builds datasets: upstream files in, a folder that `load_dataset` reads and the Hub shows out.

A builder is a short script in builders/ that strings these modules together: spec (what must come in), fetch
(get it), coco and images (read and check it), output (write Parquet, statistics and card).
"""
