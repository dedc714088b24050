"""Builds throne_objects365: images of Objects365 v2's validation set with the classes in them.

Does the same as `halluscope build throne_objects365`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "throne_objects365"] + sys.argv[1:]))
