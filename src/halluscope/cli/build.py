"""`halluscope build NAME`: run a builder script with the rest of the command line."""

import runpy
from collections.abc import Sequence

from halluscope.share import share


def run(arguments: Sequence[str]) -> int:
    """Run the builder that the first argument names; its exit status.

    Raises:
        ValueError: if there is no such builder.
    """
    known = sorted(script.stem for script in share("builders").glob("*.py"))
    usage = f"usage: halluscope build NAME [options]; NAME is one of {', '.join(known)}"
    if not arguments or arguments[0].startswith("-"):
        print(usage)
        return 0
    if arguments[0] not in known:
        raise ValueError(f"There is no dataset {arguments[0]!r} to build. {usage}")
    script = runpy.run_path(str(share("builders", f"{arguments[0]}.py")))
    return int(script["main"](arguments[1:]))
