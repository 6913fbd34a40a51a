"""`python -m gnomon` is the command `gnomon`."""

import sys

from gnomon.cli import main

sys.exit(main())
