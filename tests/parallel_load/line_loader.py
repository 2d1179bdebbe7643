"""A loader process whose share is a range of bytes of a text file of lines "source target number",
cut at ends of lines; a line "die" kills it, "stop" stops it, "sleep" makes it wait. So does, once,
a file beside the data whose name ends with such a word and the loader's number.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import DataError
from tux.parallel_load.algorithm.plan import InputShare
from tux.parallel_load.process.loader_process import LoaderRows, run_loader


def obey(job, number):
    for word in ("die", "stop", "sleep"):
        order = Path(f"{job.edges[''].data}.{word}-{number}")
        if order.exists():
            order.unlink()
            do(word, number)


def do(word, number):
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if word == "sleep":
        Path(sys.argv[1], ".loading", f"sleeps-{number}").touch()
        time.sleep(100)


def read(job, number, tell):
    obey(job, number)
    content = Path(job.edges[""].data).read_bytes()
    n = job.plan.loaders
    cuts = [0, *(content.find(b"\n", len(content) * at // n) + 1 for at in range(1, n))]
    cuts.append(len(content))
    rows = [line.split() for line in content[cuts[number] : cuts[number + 1]].splitlines()]
    for row in rows:
        if len(row) == 1:
            do(row[0].decode(), number)
        if len(row) != 3:
            at = content[: cuts[number]].count(b"\n") + rows.index(row) + 1
            raise DataError("a bad line", where=f"{job.edges[''].data}:{at}")
    src, dst = (np.array([row[side].decode() for row in rows], STRING) for side in (0, 1))
    if all(row[0].isdigit() for row in rows):
        src = src.astype(np.int64)
    return LoaderRows(
        InputShare(src, dst, {"value": np.array([float(row[2]) for row in rows], "f4")}), {}
    )


if __name__ == "__main__":
    sys.exit(run_loader(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read))
