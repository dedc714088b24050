"""The version of this package, which is the last key of each signature."""

__version__ = "0.1.0"
