"""`halluscope install-metrics`: installs the metrics so that evaluate.load("throne") finds them by their bare names."""

import argparse

from halluscope.terminal import say


def add(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="only show which metrics are installed")
    which.add_argument("--remove", action="store_true", help="remove what this command installed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from halluscope.hub import installed

    if options.remove:
        say(f"removed: {', '.join(installed.remove()) or 'nothing was installed'}")
        return
    say("\n".join(map(str, installed.listed() if options.list else installed.install())))
    say(f"in {installed.cache()}")
