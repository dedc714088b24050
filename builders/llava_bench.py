"""Builds llava_bench: questions about images from everywhere, with GPT-4's answers.

Does the same as `halluscope build llava_bench`; --help lists the options.
"""

import sys

from halluscope.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", "llava_bench"] + sys.argv[1:]))
