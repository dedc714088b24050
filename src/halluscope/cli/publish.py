"""`halluscope publish`: puts datasets, metrics and results on the Hub; without --upload it is a dry run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from halluscope import registry
from halluscope.cli.parameters import Folder
from halluscope.errors import HubError
from halluscope.terminal import say

if TYPE_CHECKING:  # imported at first use, because --help needs no Hub
    from halluscope.hub.publisher import Hub, Publication

EVERY = "all"


Names = Annotated[list[str], Parameter(metavar="NAME...")]
Org = Annotated[str, Parameter(metavar="ORG", help="the organization on the Hub, or your own user name")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Upload:
    """Whether anything is changed on the Hub."""

    upload: Annotated[bool, Parameter(help="publish; without this, only show what would happen")] = False
    public: Annotated[bool, Parameter(help="make new repositories public (default: private)")] = False


def dataset(
    names: Names,
    /,
    *,
    org: Org,
    folder: Folder | None = None,
    subset: bool = False,
    no_eval: bool = False,
    upload: Upload = Upload(),
) -> None:
    """Publish datasets.

    Args:
        names: a dataset such as throne_coco; 'all' for all
        folder: where it was built (default: where `halluscope build` puts it)
        subset: publish even a subset or a changed copy of the dataset
        no_eval: leave out eval.yaml, by which the Hub makes the dataset a benchmark
    """
    from halluscope.hub import contents

    unlicensed = contents.unlicensed()
    if EVERY in names:
        for name, why in unlicensed.items():
            say(f"left out: {name} has no licence ({why})")
    has_many = folder is not None and not (folder / "stats.json").is_file()  # a folder for each dataset

    def read(name: str) -> "Publication":
        place = folder
        if folder is not None and has_many:
            place = folder / name
        return contents.dataset(name, org, place, subset, not no_eval)

    known = [name for name in contents.datasets() if name not in unlicensed]
    _publish_named(names, known, read, org, upload)


def metric(
    names: Names,
    /,
    *,
    org: Org,
    package: Annotated[str | None, Parameter(metavar="URL")] = None,
    upload: Upload = Upload(),
) -> None:
    """Publish metrics.

    Args:
        names: a metric such as throne; 'all' for all
        package: where the Space installs this package from: the URL of a wheel, or git+https://...@TAG
    """
    from halluscope.hub import contents

    _publish_named(names, contents.metrics(), lambda name: contents.metric(name, org, package), org, upload)


def benchmark(names: Names, /, *, org: Org, upload: Upload = Upload()) -> None:
    """Publish repositories without data.

    Args:
        names: a dataset such as repope; 'all' for all
    """
    from halluscope.hub import contents

    fit = [name for name in contents.datasets() if not contents.unfit(registry.benchmark(name))]
    _publish_named(names, fit, lambda name: contents.benchmark(name, org), org, upload)


def results(
    run: Folder,
    /,
    *,
    model: Annotated[str, Parameter(metavar="ORG/MODEL")],
    benchmark: Annotated[str, Parameter(metavar="ORG/NAME")],
    source: Annotated[str, Parameter(metavar="URL-OR-ORG/NAME")] = "",
    upload: Upload = Upload(),
) -> None:
    """Publish a run's principal score.

    Args:
        run: a run that `halluscope score --out` wrote
        model: the model on the Hub
        benchmark: the dataset on the Hub whose leaderboard shows the result
        source: where the run can be seen: a URL, or a dataset on the Hub that gets the run, in a folder of its own
    """
    from halluscope.hub import contents

    _check_names(model=model, benchmark=benchmark)
    organization, _, name = source.partition("/")
    if not name or "/" in name:  # a URL, or nothing
        organization = ""
    hub = _hub(upload, organization)
    publications = contents.results(run, model, benchmark, source, hub)
    _publish(publications, hub, upload)


def _check_names(**names: str) -> None:
    for option, name in names.items():
        if name.count("/") != 1:
            raise HubError(f"--{option} is {name!r:.80}; expected a name on the Hub, such as org/name.")


def _hub(upload: Upload, organization: str) -> "Hub | None":
    from huggingface_hub import get_token

    from halluscope.hub.publisher import Hub

    if upload.upload or get_token():
        return Hub(organization)
    return None


def _publish_named(
    names: Sequence[str],
    known: Sequence[str],
    read: Callable[[str], "Publication"],
    org: str,
    upload: Upload,
) -> None:
    """Publish what is named, or all that is known."""
    from halluscope.hub.publisher import check_all

    wanted: list[str] = []
    for name in names:
        wanted += known if name == EVERY else [name]
    distinct = list(dict.fromkeys(wanted))
    publications = check_all(distinct, read)
    _publish(publications, _hub(upload, org), upload)


def _publish(publications: Sequence["Publication"], hub: "Hub | None", upload: Upload) -> None:
    """Check everything and show the plans, before anything is changed; carry them out if that is asked for."""
    from halluscope.hub.publisher import check_all, new_repository

    plan_one = hub.plan if hub else new_repository
    try:
        plans = check_all(publications, lambda publication: plan_one(publication, upload.public))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing was published.") from None
    for plan in plans:
        say(plan)
    if hub is None:
        say("\nThere is no token for the Hub, so nothing was compared with the Hub.")
    if hub is None or not upload.upload:
        say("\nThis was a dry run; nothing was changed. Pass --upload to publish.")
        return
    for number, plan in enumerate(plans, 1):
        try:
            say(hub.publish(plan))
        except (HubError, KeyboardInterrupt) as error:
            message = str(error)
            left = ", ".join(str(plan.publication) for plan in plans[number:])
            if left:
                message += f" Not begun: {left}."
            raise type(error)(message) from None
