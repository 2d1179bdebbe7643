"""``python -m tux`` is ``tux``."""

import sys

from tux.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
