"""Builds datasets: turns upstream files into a folder that `load_dataset` reads and the Hub shows.

A benchmark's `build.py` uses spec (says what is needed), fetch (gets it), images (checks them) and output (writes it).
"""
