"""Builds pope: the official POPE questions, or new ones from any COCO-format file.

The same as `halluscope build pope`; --help tells the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "pope", *sys.argv[1:]]))
