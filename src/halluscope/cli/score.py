"""`halluscope score NAME`: one subcommand a benchmark, each in its own module."""

import argparse

from halluscope.cli import score_throne


def add(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks."""
    names = parser.add_subparsers(required=True, metavar="NAME")
    score_throne.add(names.add_parser("throne", help="object hallucination in free-form descriptions"))
