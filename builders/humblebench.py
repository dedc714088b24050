"""Builds humblebench: questions with five choices.

Does the same as `halluscope build humblebench`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "humblebench"] + sys.argv[1:]))
