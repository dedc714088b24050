"""Builds haloquest: free-form questions about generated and real images.

Does the same as `halluscope build haloquest`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "haloquest"] + sys.argv[1:]))
