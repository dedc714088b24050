"""`halluscope build NAME`: run a dataset's builder with the rest of the command line."""

from collections.abc import Sequence

from halluscope import registry
from halluscope.terminal import say


def run(arguments: Sequence[str]) -> int:
    """Run the builder of the dataset that the first argument names; its exit status.

    Raises:
        ValueError: if there is no such dataset.
    """
    if not arguments or arguments[0].startswith("-"):
        known = ", ".join(sorted(dataset.name for dataset in registry.datasets()))
        say(f"usage: halluscope build NAME [options]; NAME is one of {known}")
        return 0
    dataset = registry.dataset(arguments[0])
    return int(registry.benchmark(dataset.name).builder(dataset).main(arguments[1:]))
