"""`halluscope publish`: puts datasets and metrics on the Hub; without --upload it is a dry run."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from halluscope.errors import BuildError, HubError
from halluscope.hub.publication import Publication
from halluscope.terminal import say

EVERY = "all"

Of = TypeVar("Of")
To = TypeVar("To")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    dataset = kinds.add_parser("dataset", help="a dataset that `halluscope build` made")
    _add_shared(dataset, "a dataset such as throne_coco")
    dataset.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where it was built (default: where `halluscope build` puts it)",
    )
    dataset.add_argument(
        "--subset", action="store_true", help="publish even a subset or a changed copy of the dataset"
    )
    dataset.set_defaults(run=_run_dataset)
    metric = kinds.add_parser(
        "metric", help="a metric, as a Space that evaluate loads and that visitors can try"
    )
    _add_shared(metric, "a metric such as throne")
    metric.add_argument(
        "--package",
        metavar="REQUIREMENT",
        help="where the Space installs this package from: the URL of a wheel, or git+https://...@TAG",
    )
    metric.set_defaults(run=_run_metric)


def _add_shared(parser: argparse.ArgumentParser, example: str) -> None:
    option = parser.add_argument
    option(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"{example}; {EVERY!r} for all",
    )
    option("--org", required=True, help="the organization on the Hub, or your own user name")
    option("--public", action="store_true", help="make new repositories public (default: private)")
    option("--upload", action="store_true", help="publish; without this, only show what would happen")


def _run_dataset(options: argparse.Namespace) -> None:
    from halluscope.hub import dataset

    _check_names(options.names)
    unlicensed = dataset.unlicensed() if EVERY in options.names else {}
    for name, why in unlicensed.items():
        say(f"left out: {name} has no licence ({why})")
    known = [name for name in dataset.names() if name not in unlicensed]
    _run(options, known, lambda name: dataset.read(name, options.org, _place(options, name), options.subset))


def _place(options: argparse.Namespace, name: str) -> Path | None:
    """Return where a dataset was built: the folder that was named, or the folder of its name in it."""
    folder: Path | None = options.folder
    return folder if folder is None or (folder / "stats.json").is_file() else folder / name


def _run_metric(options: argparse.Namespace) -> None:
    from halluscope.hub import metric

    _check_names(options.names)
    _run(options, metric.names(), lambda name: metric.read(name, options.org, options.package))


def _check_names(names: Sequence[str]) -> None:
    """Refuse other names next to the one that stands for all."""
    if EVERY in names and (others := [name for name in names if name != EVERY]):
        raise HubError(f"{EVERY!r} stands for all; expected no other name with it, got {', '.join(others)}.")


def _run(options: argparse.Namespace, known: Sequence[str], read: Callable[[str], Publication]) -> None:
    """Check everything, look at the Hub, show the plans, and only then change anything."""
    from halluscope.hub.plan import plan
    from halluscope.hub.publish import publish
    from halluscope.hub.remote import Hub

    names = known if EVERY in options.names else list(dict.fromkeys(options.names))
    try:
        publications = _each(names, read)
        hub = Hub(options.org) if options.upload or Hub.has_token() else None
        looked = {str(one): (one, hub.look(one) if hub else None) for one in publications}
        plans = _each(list(looked), lambda name: plan(*looked[name], public=options.public))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing was published.") from None
    say("\n".join(map(str, plans)))
    if hub is None:
        say("\nThere is no token for the Hub, so nothing was compared with the Hub.")
    if hub is None or not options.upload:
        say("\nThis was a dry run; nothing was changed. Pass --upload to publish.")
        return
    for number, decided in enumerate(plans):
        try:
            say(publish(hub, decided))
        except (HubError, KeyboardInterrupt) as error:
            left = ", ".join(str(one.wanted) for one in plans[number + 1 :])
            raise type(error)(f"{error}{f' Not begun: {left}.' if left else ''}") from None


def _each(items: Sequence[Of], check: Callable[[Of], To]) -> list[To]:
    """Check all items, and report all their problems together."""
    found, problems = [], []
    for item in items:
        try:
            found.append(check(item))
        except (HubError, BuildError) as error:
            problems.append(str(error))
    if problems:
        raise HubError("\n".join(["nothing was published.", *problems] if len(problems) > 1 else problems))
    return found
