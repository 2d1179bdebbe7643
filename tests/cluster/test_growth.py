"""The memory of a run's processes grows as docs/many-workers.md says: runs of two sizes, looked at
while they run.

What is seen is what a process cannot give back (RssAnon), which is seen too late at worst, so that
a process of the larger run seems to hold less than it does.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bench.memory import Peaks
from tux.arrays.arrow import parquet_writer

ROOT = Path(__file__).parents[2]
RANK = 32
COMMAND = """
import sys
from tux.cli.main import main
from tux.inputs import serial_reason
from tux.parallel_load.algorithm import folder
from tux.run_folder import model_files
serial_reason.SMALL = 0  # small data are loaded in shares, too
folder.ROWS = 1 << 14  # of ids that the launcher holds at a time
model_files.GROUP_BYTES = 1 << 18  # of the model, as well
sys.exit(main(sys.argv[1:]))
"""
WORDS = ["--rank", str(RANK), "--workers", "2", "--threads", "1", "--epochs", "1"]
LOOK = 0.02  # seconds
MARGIN = 24 << 20
"""Bytes by which peaks differ from run to run."""


class DataSize(NamedTuple):
    """The size of a run's data; each user has some ratings."""

    users: int
    items: int
    ratings: int


def write_ratings(path, size):
    """Write ratings as a Parquet file of many row groups."""
    random = np.random.default_rng(3)
    with parquet_writer(path) as write:
        for lo in range(0, size.ratings, 1 << 15):
            number = np.arange(lo, min(lo + (1 << 15), size.ratings))
            write(
                {
                    "user": number % size.users,
                    "item": random.integers(0, size.items, len(number)),
                    "rating": random.random(len(number), np.float32),
                }
            )


def peaks_of_run(folder, size):
    """Train on data of a size; return the most bytes that the launcher, a worker and a loader
    held.
    """
    data = folder / f"{size.users}.parquet"
    write_ratings(data, size)
    out = folder / f"{size.users}.run"
    command = [sys.executable, "-c", COMMAND, "run", "mf", str(data), *WORDS, "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        peaks = Peaks(process.pid)
        while True:
            peaks.look()
            try:
                process.wait(LOOK)
            except subprocess.TimeoutExpired:
                continue
            break
    assert process.returncode == 0
    launcher = peaks.most[process.pid]["own"]
    return launcher, *(peaks.largest(word, "own") for word in ("worker_process", "loader_process"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells it")
def test_memory_grows_as_the_table_says(tmp_path):
    small, large = DataSize(20_000, 2_000, 60_000), DataSize(420_000, 42_000, 1_260_000)
    peaks_of_run(tmp_path, DataSize(100, 10, 300))  # compiles
    before, after = peaks_of_run(tmp_path, small), peaks_of_run(tmp_path, large)
    launcher, worker, loader = (b - a for a, b in zip(before, after, strict=True))
    users, items, ratings = (b - a for a, b in zip(small, large, strict=True))
    fields = 4 * RANK
    assert launcher <= 16 * (users + items) + MARGIN, "it has the model, or a part"
    # each user's row is at one worker, and all items' are at both: cut, and half of them masters
    rows = users // 2 * fields + items * (3 * fields + 2 * RANK + (fields + RANK) // 2)
    assert worker <= 2 * (rows + ratings // 2 * (8 + 4)) + MARGIN
    assert loader <= 64 * (ratings // 2) + MARGIN, "it has more than its share"
