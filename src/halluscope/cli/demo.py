"""`halluscope demo [NAME]`: the main job on what a benchmark's room embeds."""

import argparse

from halluscope import registry
from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    """Add the benchmarks that have a demo."""
    known = [
        benchmark.name for benchmark in registry.benchmarks() if (benchmark.folder / "demo.py").is_file()
    ]
    parser.set_defaults(run=run)
    parser.add_argument("name", nargs="?", choices=known, default=known[0], help="(default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    """Show it."""
    say(registry.benchmark(options.name).module("demo").show())
