"""`halluscope publish`: puts datasets and metrics on the Hub; without --upload it is a dry run."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halluscope.errors import HubError
from halluscope.terminal import say

if TYPE_CHECKING:
    from halluscope.hub.publisher import Publication

EVERY = "all"


def add(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    dataset = kinds.add_parser("dataset", help="a dataset that `halluscope build` made")
    _add_shared(dataset, "a dataset such as throne_coco", _run_dataset)
    dataset.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where it was built (default: where `halluscope build` puts it)",
    )
    dataset.add_argument(
        "--subset", action="store_true", help="publish even a subset or a changed copy of the dataset"
    )
    metric = kinds.add_parser(
        "metric", help="a metric, as a Space that evaluate loads and that visitors can try"
    )
    _add_shared(metric, "a metric such as throne", _run_metric)
    metric.add_argument(
        "--package",
        metavar="REQUIREMENT",
        help="where the Space installs this package from: the URL of a wheel, or git+https://...@TAG",
    )


def _add_shared(
    parser: argparse.ArgumentParser, example: str, run: Callable[[argparse.Namespace], None]
) -> None:
    option = parser.add_argument
    option("names", nargs="+", metavar="NAME", help=f"{example}; {EVERY!r} for all")
    option("--org", required=True, help="the organization on the Hub, or your own user name")
    option("--public", action="store_true", help="make new repositories public (default: private)")
    option("--upload", action="store_true", help="publish; without this, only show what would happen")
    parser.set_defaults(run=run)


def _run_dataset(options: argparse.Namespace) -> None:
    from halluscope.hub import dataset

    unlicensed = dataset.unlicensed() if {*options.names} == {EVERY} else {}
    for name, why in unlicensed.items():
        say(f"left out: {name} has no licence ({why})")
    folder: Path | None = options.folder
    holds_one = folder is None or (folder / "stats.json").is_file()  # or else a folder for each dataset
    _run(
        options,
        [name for name in dataset.names() if name not in unlicensed],
        lambda name: dataset.read(
            name, options.org, folder if holds_one or folder is None else folder / name, options.subset
        ),
    )


def _run_metric(options: argparse.Namespace) -> None:
    from halluscope.hub import metric

    _run(options, metric.names(), lambda name: metric.read(name, options.org, options.package))


def _run(options: argparse.Namespace, known: Sequence[str], read: Callable[[str], "Publication"]) -> None:
    """Check everything and show the plans, before anything is changed."""
    from halluscope.hub.publisher import make_plans, publish

    names = list(dict.fromkeys(options.names))
    if EVERY in names and (others := [name for name in names if name != EVERY]):
        raise HubError(f"{EVERY!r} stands for all; expected no other name with it, got {', '.join(others)}.")
    hub, plans = make_plans(
        known if EVERY in names else names, read, options.org, options.public, options.upload
    )
    say("\n".join(map(str, plans)))
    if hub is None:
        say("\nThere is no token for the Hub, so nothing was compared with the Hub.")
    if hub is None or not options.upload:
        say("\nThis was a dry run; nothing was changed. Pass --upload to publish.")
        return
    for done in publish(hub, plans):
        say(done)
