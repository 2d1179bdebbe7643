"""A ``tux`` command that loads its data in shares however small they are: it stands before the
command, and takes its place.
"""

import sys

from tux.cli.main import main
from tux.run import why_whole

if __name__ == "__main__":
    why_whole.SMALL = 0
    sys.exit(main(sys.argv[sys.argv.index("tux") + 1 :]))
