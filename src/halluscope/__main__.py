"""Runs the command line as `python -m halluscope`."""

import sys

from halluscope.cli import main

sys.exit(main())
