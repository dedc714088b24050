"""Builds hqh: free-form questions of eight types about images of Visual Genome.

The same as `halluscope build hqh`; --help tells the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "hqh", *sys.argv[1:]]))
