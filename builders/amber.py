"""Builds amber: images to describe, and yes/no questions about them.

Does the same as `halluscope build amber`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "amber"] + sys.argv[1:]))
