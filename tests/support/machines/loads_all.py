"""A ``tux`` command that loads its data in shares however small they are: it stands before the
command, and takes its place. It says when the parts were made together with other machines, whose
loaders can be held (`held_loader.py`).
"""

import sys
from pathlib import Path

from tux.cli.main import main
from tux.inputs import in_shares, serial_reason

LOADER = [sys.executable, "-P", str(Path(__file__).with_name("held_loader.py"))]
TOGETHER = "the parts were made together"


def saying(make):
    """Return the function `make` with other loaders; it prints a line when it is used."""

    def making(*arguments, **named):
        made = make(*arguments, command=LOADER, **named)
        print(TOGETHER)
        return made

    return making


if __name__ == "__main__":
    serial_reason.SMALL = 0
    in_shares.make_parts_together = saying(in_shares.make_parts_together)
    sys.exit(main(sys.argv[sys.argv.index("tux") + 1 :]))
