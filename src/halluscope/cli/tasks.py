"""Commands that put our benchmarks where other programs look for them: tasks of harnesses, metrics of `evaluate`."""

from typing import Annotated

from cyclopts import Parameter

from halluscope.cli.parameters import Folder
from halluscope.harness.tasks import HARNESSES, write
from halluscope.terminal import say


def install_metrics(*, list: bool = False, remove: bool = False) -> None:
    """Install the metrics so that evaluate.load("throne") finds them by their bare names.

    Args:
        list: only show which metrics are installed
        remove: remove what this command installed
    """
    from halluscope.hub import installed

    if remove and not list:
        say(f"removed: {', '.join(installed.remove()) or 'nothing was installed'}")
        return
    metrics = installed.listed() if list else installed.install()
    for metric in metrics:
        say(metric)
    say(f"in {installed.cache()}")


def tasks(harness: Annotated[str, Parameter(choices=HARNESSES)], /, *, out: Folder | None = None) -> None:
    """Write our tasks for a harness, and print their folder.

    Args:
        harness: the harness; use as in --include_path "$(halluscope tasks lm-eval)"
        out: where to write the tasks (default: the user's cache)
    """
    say(write(harness, out))
