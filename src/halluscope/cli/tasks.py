"""`halluscope tasks HARNESS`: where a harness finds our tasks."""

import argparse

from halluscope.share import PACKAGE

HARNESSES = {"lm-eval": "lm_eval", "lmms-eval": "lmms_eval"}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.set_defaults(run=run)
    parser.add_argument(
        "harness", choices=list(HARNESSES), help='for --include_path "$(halluscope tasks lm-eval)"'
    )


def run(options: argparse.Namespace) -> None:
    """Print the folder."""
    print(PACKAGE / "tasks" / HARNESSES[options.harness])
