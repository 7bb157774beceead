"""``python -m lamina``: the command line."""

from __future__ import annotations

import sys

from lamina.cli import main

if __name__ == "__main__":
    sys.exit(main())
