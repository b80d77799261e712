"""``python -m roofline``."""

import sys

from .cli import main

sys.exit(main())
