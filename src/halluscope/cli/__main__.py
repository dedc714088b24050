"""`python -m halluscope.cli`."""

import sys

from halluscope.cli import main

sys.exit(main())
