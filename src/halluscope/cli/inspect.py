"""`halluscope inspect FILE...`: says what files are that other people wrote, and what scores them."""

import argparse

from halluscope.cli import common
from halluscope.inspection import inspect
from halluscope.reporting.tables import to_json
from halluscope.sanitize import one_line
from halluscope.terminal import say, tell_error


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", **common.FILE, help="files of any kind: responses, scores")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Say what each file is; one that cannot be read is named, and the others are still inspected."""
    found, failed = [], []
    for file in given.files:
        try:
            found.append(inspect(file))
        except (ValueError, OSError) as error:
            failed.append(str(error))
    if given.json:
        say(to_json([one.row() for one in found]))
    else:
        for one in found:
            say(f"{one_line(one.file)}: {one}")
            if one.command:
                say(f"  {one.command}")
    for message in failed:
        tell_error(message)
    if failed:
        raise ValueError(f"{len(failed)} of {len(given.files)} files cannot be read.")
