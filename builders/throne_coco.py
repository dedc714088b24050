"""Builds throne_coco: the images of COCO val2017, each with the classes that are in it.

Does the same as `halluscope build throne_coco`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "throne_coco"] + sys.argv[1:]))
