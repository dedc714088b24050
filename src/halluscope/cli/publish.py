"""`halluscope publish`: puts datasets, metrics and results on the Hub; without --upload it is a dry run."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halluscope import registry
from halluscope.errors import HubError
from halluscope.terminal import say

if TYPE_CHECKING:
    from halluscope.hub.publisher import Hub, Plan, Publication

EVERY = "all"


def publish_dataset(options: argparse.Namespace) -> None:
    from halluscope.hub import dataset

    unlicensed = dataset.unlicensed() if {*options.names} == {EVERY} else {}
    for name, why in unlicensed.items():
        say(f"left out: {name} has no licence ({why})")
    folder: Path | None = options.folder
    holds_one = folder is None or (folder / "stats.json").is_file()  # or else a folder for each dataset

    def read(name: str) -> "Publication":
        own = folder if holds_one or folder is None else folder / name
        return dataset.read(name, options.org, own, options.subset, not options.no_eval)

    _publish(options, [name for name in dataset.names() if name not in unlicensed], read)


def publish_metric(options: argparse.Namespace) -> None:
    from halluscope.hub import metric

    _publish(options, metric.names(), lambda name: metric.read(name, options.org, options.package))


def publish_benchmark(options: argparse.Namespace) -> None:
    from halluscope.hub import benchmark, dataset

    fit = [name for name in dataset.names() if not benchmark.unfit(registry.benchmark(name))]
    _publish(options, fit, lambda name: benchmark.read(name, options.org))


def publish_results(options: argparse.Namespace) -> None:
    from halluscope.hub import results
    from halluscope.hub.publisher import plans

    _check_names(options, "model", "benchmark")
    hub = _hub(options.source.partition("/")[0] if _is_name(options.source) else "", options.upload)
    entry, first = results.read(options.folder, options.model, options.benchmark, options.source, hub)
    publications = [*first, results.publication(entry, options.model, hub)]
    _show(options, hub, plans(publications, hub, options.public))


def publish_report(options: argparse.Namespace) -> None:
    from halluscope.hub import report_space
    from halluscope.hub.publisher import plans

    _check_names(options, "space")
    publication = report_space.read(options.folders, options.space)
    hub = _hub(options.space.partition("/")[0], options.upload)
    _show(options, hub, plans([publication], hub, options.public))


def _is_name(text: str) -> bool:
    return text.count("/") == 1


def _check_names(options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if not _is_name(given := getattr(options, name)):
            raise HubError(f"--{name} is {given!r:.80}; expected a name on the Hub, such as org/name.")


def _hub(organization: str, upload: bool) -> "Hub | None":
    from huggingface_hub import get_token

    from halluscope.hub.publisher import Hub

    return Hub(organization) if upload or get_token() else None


def _publish(options: argparse.Namespace, known: Sequence[str], read: Callable[[str], "Publication"]) -> None:
    """Check everything and show the plans, before anything is changed."""
    from halluscope.hub.publisher import make_plans

    names = [*dict.fromkeys(options.names)]
    if EVERY in names and (others := [name for name in names if name != EVERY]):
        raise HubError(f"{EVERY!r} stands for all; expected no other name with it, got {', '.join(others)}.")
    hub, plans = make_plans(
        known if EVERY in names else names, read, options.org, options.public, options.upload
    )
    _show(options, hub, plans)


def _show(options: argparse.Namespace, hub: "Hub | None", plans: "list[Plan]") -> None:
    """Show the plans, and carry them out if that is asked for."""
    from halluscope.hub.publisher import publish

    say("\n".join(map(str, plans)))
    if hub is None:
        say("\nThere is no token for the Hub, so nothing was compared with the Hub.")
    if hub is None or not options.upload:
        say("\nThis was a dry run; nothing was changed. Pass --upload to publish.")
        return
    for done in publish(hub, plans):
        say(done)
