"""Builds object_halbench: images to describe, with the COCO classes in them.

Does the same as `halluscope build object_halbench`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "object_halbench"] + sys.argv[1:]))
