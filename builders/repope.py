"""Builds repope: POPE's questions about COCO with corrected answers.

Does the same as `halluscope build repope`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "repope"] + sys.argv[1:]))
