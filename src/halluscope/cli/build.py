"""`halluscope build NAME`: runs a dataset's builder with the rest of the command line."""

from collections.abc import Sequence

from halluscope import registry
from halluscope.terminal import say


def run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        known = ", ".join(sorted(dataset.name for dataset in registry.datasets()))
        say(f"usage: halluscope build NAME [options]; NAME is one of {known}")
        say(
            "`halluscope build NAME --help` shows a dataset's options and examples; `halluscope list` says what each "
            "benchmark measures."
        )
        return 0
    dataset = registry.dataset(arguments[0])
    try:
        return int(registry.benchmark(dataset.name).builder(dataset).main(arguments[1:]))
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or "nothing was changed.") from None
