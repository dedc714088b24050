"""Builds object_enumeration: for each image its objects, their places, and what is absent.

Does the same as `halluscope build object_enumeration`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "object_enumeration"] + sys.argv[1:]))
