"""Builds openchair: synthetic images, each with the caption that it was made from.

Does the same as `halluscope build openchair`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "openchair"] + sys.argv[1:]))
