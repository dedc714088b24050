"""Builds datasets: turns upstream files into a folder that `load_dataset` reads and the Hub shows.

A benchmark's `build.py` uses `spec` (what is needed), `fetch` (gets it), `images` (finds and checks them) and `output`
(writes it, with the `card`); `command` says what a builder is.
"""
