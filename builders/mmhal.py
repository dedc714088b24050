"""Builds mmhal: free-form questions of eight types about images of OpenImages.

The same as `halluscope build mmhal`; --help tells the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "mmhal", *sys.argv[1:]]))
