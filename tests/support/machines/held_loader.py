"""A loader that waits, when it has read its share, while a file `hold-NUMBER` lies beside the
folder in which its command was started; a file `holds-NUMBER` says so.
"""

import sys
import time
from pathlib import Path

from tux.parallel_load.process.loader_process import read_rows, run_loader


def read(job, number, tell):
    rows, hold = read_rows(job, number, tell), Path("..", f"hold-{number}")
    while hold.exists():
        hold.with_name(f"holds-{number}").touch()
        time.sleep(0.02)
    return rows


if __name__ == "__main__":
    sys.exit(run_loader(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read))
