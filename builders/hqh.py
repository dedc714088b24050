"""Builds hqh: free-form questions of eight types about images of Visual Genome.

Does the same as `halluscope build hqh`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "hqh"] + sys.argv[1:]))
