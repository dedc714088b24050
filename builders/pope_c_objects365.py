"""Builds pope_c_objects365: POPE's question about every class of every image of throne_objects365.

Does the same as `halluscope build pope_c_objects365`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "pope_c_objects365"] + sys.argv[1:]))
