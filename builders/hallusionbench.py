"""Builds hallusionbench: yes/no questions in control pairs about original, edited and no images.

Does the same as `halluscope build hallusionbench`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "hallusionbench"] + sys.argv[1:]))
