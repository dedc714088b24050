"""`halluscope score NAME`: one subcommand a benchmark, each in its own module."""

import argparse

from halluscope.cli import score_chair, score_hallusionbench, score_hqh, score_pope, score_throne


def add(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks."""
    names = parser.add_subparsers(required=True, metavar="NAME")
    score_throne.add(names.add_parser("throne", help="object hallucination in free-form descriptions"))
    score_pope.add(names.add_parser("pope", help="yes/no questions about objects, sampled or complete"))
    score_chair.add(names.add_parser("chair", help="object hallucination in captions, word by word"))
    score_hallusionbench.add(names.add_parser("hallusionbench", help="control pairs of yes/no questions"))
    score_hqh.add(names.add_parser("hqh", help="free-form questions: the main answer and claims beside it"))
