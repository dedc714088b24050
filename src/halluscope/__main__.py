"""Runs the command line: as `halluscope`, and as `python -m halluscope`.

An interrupt while the package is still imported ends as quietly as a later one, which `halluscope.cli.main` tells.
"""

import os
import sys

INTERRUPTED = 130


def run() -> int:
    """Run the command of this process, and return its exit status."""
    # Arrow's own pool keeps memory that it no longer uses
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from halluscope.cli import main

        return main()
    except KeyboardInterrupt:
        from halluscope.terminal import tell_error

        tell_error("interrupted.")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
