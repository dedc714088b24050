"""Tests of reading and writing files."""
