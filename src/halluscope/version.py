"""The version of this package: it stands last in each signature."""

__version__ = "0.1.0"
