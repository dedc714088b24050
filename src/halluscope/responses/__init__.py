"""Reads an LVLM's responses from files, matches them to a dataset's rows, and reads yes or no in them."""
