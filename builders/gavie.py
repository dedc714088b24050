"""Builds gavie: instructions about images of Visual Genome.

Does the same as `halluscope build gavie`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "gavie"] + sys.argv[1:]))
