"""Builds dash_b: yes/no questions about 70 objects.

Does the same as `halluscope build dash_b`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "dash_b"] + sys.argv[1:]))
