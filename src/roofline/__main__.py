"""``python -m roofline``."""

import sys

try:
    from .cli import main

    code = main()
except KeyboardInterrupt:  # while it was still being imported
    code = 130
sys.exit(code)
