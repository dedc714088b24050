"""Builds pope: the official POPE questions, or new ones from any COCO-format file.

Does the same as `halluscope build pope`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "pope"] + sys.argv[1:]))
