"""Builds pope_c: POPE's question about every class of every image of throne_coco.

Does the same as `halluscope build pope_c`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "pope_c"] + sys.argv[1:]))
