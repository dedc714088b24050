"""Builds mmhal: free-form questions of eight types about images of OpenImages.

Does the same as `halluscope build mmhal`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "mmhal"] + sys.argv[1:]))
