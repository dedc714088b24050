"""`halluscope publish`: puts datasets, metrics and results on the Hub; without --upload it is a dry run."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from halluscope import registry
from halluscope.errors import HubError
from halluscope.terminal import say

if TYPE_CHECKING:  # imported at first use, because --help needs no Hub
    from halluscope.hub.publisher import Hub, Publication

EVERY = "all"


def publish_dataset(args: Namespace) -> None:
    from halluscope.hub import contents

    unlicensed, folder = contents.unlicensed(), args.folder
    for name, why in unlicensed.items() if EVERY in args.names else ():
        say(f"left out: {name} has no licence ({why})")
    has_many = folder is not None and not (folder / "stats.json").is_file()  # a folder for each dataset
    _publish_named(
        args,
        [name for name in contents.datasets() if name not in unlicensed],
        lambda name: contents.dataset(
            name, args.org, folder / name if has_many else folder, args.subset, not args.no_eval
        ),
    )


def publish_metric(args: Namespace) -> None:
    from halluscope.hub import contents

    _publish_named(args, contents.metrics(), lambda name: contents.metric(name, args.org, args.package))


def publish_benchmark(args: Namespace) -> None:
    from halluscope.hub import contents

    fit = [name for name in contents.datasets() if not contents.unfit(registry.benchmark(name))]
    _publish_named(args, fit, lambda name: contents.benchmark(name, args.org))


def publish_results(args: Namespace) -> None:
    from halluscope.hub import contents

    _check_names(model=args.model, benchmark=args.benchmark)
    organization, _, name = args.source.partition("/")
    hub = _hub(args, organization if name and "/" not in name else "")
    found = contents.results(args.folder, args.model, args.benchmark, args.source, hub)
    _publish(args, found, hub)


def _check_names(**names: str) -> None:
    for option, name in names.items():
        if name.count("/") != 1:
            raise HubError(f"--{option} is {name!r:.80}; expected a name on the Hub, such as org/name.")


def _hub(args: Namespace, organization: str) -> "Hub | None":
    from huggingface_hub import get_token

    from halluscope.hub.publisher import Hub

    return Hub(organization) if args.upload or get_token() else None


def _publish_named(args: Namespace, known: Sequence[str], read: Callable[[str], "Publication"]) -> None:
    from halluscope.hub.publisher import each

    names = chain.from_iterable(known if name == EVERY else [name] for name in args.names)
    publications = each([*dict.fromkeys(names)], read)
    _publish(args, publications, _hub(args, args.org))


def _publish(args: Namespace, publications: Sequence["Publication"], hub: "Hub | None") -> None:
    """Check everything and show the plans, before anything is changed; carry them out if that is asked for."""
    from halluscope.hub.publisher import each, new_repository

    try:
        plans = each(publications, lambda one: (hub.plan if hub else new_repository)(one, args.public))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing was published.") from None
    say("\n".join(map(str, plans)))
    if hub is None:
        say("\nThere is no token for the Hub, so nothing was compared with the Hub.")
    if hub is None or not args.upload:
        say("\nThis was a dry run; nothing was changed. Pass --upload to publish.")
        return
    for number, plan in enumerate(plans, 1):
        try:
            say(hub.publish(plan))
        except (HubError, KeyboardInterrupt) as error:
            left = ", ".join(str(one.publication) for one in plans[number:])
            raise type(error)(f"{error}{f' Not begun: {left}.' if left else ''}") from None
