"""A loader process whose share is a range of bytes of a text file of lines "source target number",
cut at ends of lines; a line "die" kills it, "stop" stops it, "sleep" makes it wait.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import DataError
from tux.loading.plan import Share
from tux.run.loader_process import Rows, serve


def read(job, number, tell):
    content = Path(job.data).read_bytes()
    n = job.plan.loaders
    cuts = [0, *(content.find(b"\n", len(content) * at // n) + 1 for at in range(1, n))]
    cuts.append(len(content))
    rows = [line.split() for line in content[cuts[number] : cuts[number + 1]].splitlines()]
    for row in rows:
        if row == [b"die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if row == [b"stop"]:
            os.kill(os.getpid(), signal.SIGSTOP)
        if row == [b"sleep"]:
            Path(sys.argv[1], ".loading", f"sleeps-{number}").touch()
            time.sleep(100)
        if len(row) != 3:
            at = content[: cuts[number]].count(b"\n") + rows.index(row) + 1
            raise DataError("a bad line", where=f"{job.data}:{at}")
    src, dst = (np.array([row[side].decode() for row in rows], STRING) for side in (0, 1))
    if all(row[0].isdigit() for row in rows):
        src = src.astype(np.int64)
    return Rows(Share(src, dst, {"value": np.array([float(row[2]) for row in rows], "f4")}), {})


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read))
