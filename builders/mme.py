"""Builds mme: yes/no questions in 14 subtasks.

Does the same as `halluscope build mme`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "mme"] + sys.argv[1:]))
