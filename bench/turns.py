"""The cost of a turn between workers beside its computing: seconds of a clock in which a block's
rows have changed, and of a bare ZeroMQ round trip between two processes in the same run.

usage: python -m bench.turns [--repeats N]
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import zmq

from tux.arrays.networks import from_arrays
from tux.base.hashing import by_hash
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run

TURNS, EPOCHS, PINGS = 500, 3, 5_000
ROWS = (0, 1, 64, 4096)


def turn(workers: int, rows: int) -> float:
    """Return the seconds of a turn of `workers` processes on this machine, in which `rows` rows
    change, each on every worker; 0: a row that does not change. The fastest epoch counts.
    """
    block = max(rows, 1)
    blocks = min(TURNS, 200_000 // block)
    users = np.repeat(np.arange(workers), blocks * block)
    items = np.tile(np.arange(blocks * block), workers)
    star = from_arrays(users, items, ends=("user", "item"))
    name = "ChangingItems" if rows else "IdleItems"
    program = find(f"{Path(__file__).parent / 'turning.py'}:{name}").program(block=block)
    apart = next(
        s for s in range(1000) if len(set(by_hash(np.arange(workers), workers, s))) == workers
    )
    options = RunOptions(epochs=EPOCHS, workers=workers, partitioner="source", seed=apart)
    result = run(program, star, options=options)
    assert all(record["bytes_sent_item"] > 0 for record in result.records), "items are cut"
    seconds = np.diff([0.0, *(record["seconds"] for record in result.records)])
    return float(seconds.min()) / blocks


def round_trip() -> float:
    """Return the seconds of a message of 64 bytes to another process and back, by ZeroMQ."""
    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        address = f"ipc://{folder}/echo"
        other = multiprocessing.get_context("spawn").Process(target=_echo, args=(address,))
        other.start()
        with context.socket(zmq.PAIR) as socket:
            socket.bind(address)
            socket.RCVTIMEO = 20_000
            socket.recv()  # it is there
            start = time.perf_counter()
            for _ in range(PINGS):
                socket.send(bytes(64))
                socket.recv()
            seconds = time.perf_counter() - start
            socket.send(b"")
        other.join()
    return seconds / PINGS


def _echo(address: str) -> None:
    with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
        socket.connect(address)
        socket.send(b"here")
        while message := socket.recv():
            socket.send(message)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table: medians of some repetitions."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    repeats = arguments.parse_args(argv).repeats
    write = sys.stdout.write
    trip = statistics.median(round_trip() for _ in range(repeats))
    write(f"a bare round trip takes {1e6 * trip:.0f} us\n")
    write(f"{'workers':>8} {'rows':>6} {'turn, us':>9} {'round trips':>12}\n")
    for workers in (2, 4):
        for rows in ROWS:
            seconds = statistics.median(turn(workers, rows) for _ in range(repeats))
            write(f"{workers:>8} {rows:>6} {1e6 * seconds:>9.0f} {seconds / trip:>12.1f}\n")


if __name__ == "__main__":
    main()
