"""`python -m crag`."""

import sys

from crag.cli import main

sys.exit(main(sys.argv[1:]))
